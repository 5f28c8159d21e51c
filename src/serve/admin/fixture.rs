//! A listener for tests: real sockets, a real writer on the shipped zone and geo file, a fake operator.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::metrics::{Counted, DnstapNumbers, Durations};
use super::*;
use crate::config::admin::AdminFile;
use crate::control::cookie_key::Access;
use crate::control::desk::Desk;
use crate::control::load::{LoadOptions, Loaded, load_named, parse};
use crate::control::operate::{Done, Order, Refusal, RefusalKind, Verb};
use crate::control::preview::{Move, Preview};
use crate::control::recorder::Recorder;
use crate::control::run;

/// Three regions, two services, a probe per address that nobody runs.
pub(crate) const CONFIG: &str = r#"
version = 1
node = "ns1"
[routing]
fallback = ["cn", "eu", "us"]
[regions.cn]
continents = ["AS", "OC"]
load = 20000
capacity = 50000
[regions.eu]
continents = ["EU", "AF"]
[regions.us]
continents = ["NA", "SA", "AN"]
[geo]
database = "ROOT/geoip/dbip-country.mmdb"
unmapped = "us"
[dns]
listen = ["127.0.0.1:0"]
zones = "ROOT/zones"
[[probes]]
name = "web"
type = "tcp"
address = "{address}:80"
[[services]]
name = "www.gslb.example.com"
[services.endpoints]
cn = ["192.0.2.11", "192.0.2.12"]
eu = ["198.51.100.11"]
us = ["203.0.113.11"]
[[services]]
name = "api.gslb.example.com"
requires = []
[services.endpoints]
cn = ["192.0.2.21"]
us = ["203.0.113.21"]
[admin]
listen = "127.0.0.1:0"
"#;

/// [`CONFIG`] with the paths of this machine.
pub(crate) fn config_text() -> String {
    CONFIG.replace("ROOT", env!("CARGO_MANIFEST_DIR"))
}

/// The configuration, loaded once for all tests: compiling a geo file takes its time.
pub(crate) fn loaded() -> Loaded {
    static LOADED: OnceLock<Loaded> = OnceLock::new();
    let load = || {
        let config = parse(&config_text(), Path::new("/nowhere/waypost.toml")).unwrap();
        let now = Clock::start().now();
        let options = LoadOptions {
            generation: 1,
            now,
            in_use: None,
            accept_geo: false,
            stand_in: false,
            cookie_key: Access::Untouched,
        };
        load_named(config, options).unwrap()
    };
    LOADED.get_or_init(load).clone()
}

/// An operator that notes what it is asked, and answers what it was told to.
#[derive(Debug, Default)]
pub(crate) struct Fake {
    asked: Mutex<Vec<String>>,
    refusal: Mutex<Option<Refusal>>,
}

impl Fake {
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn refuse(&self, kind: RefusalKind, text: &str) {
        let moves = vec![Move {
            service: "www.gslb.example.com".into(),
            home: "cn".into(),
            from: "cn".into(),
            to: "eu".into(),
        }];
        let preview = (kind == RefusalKind::Guard).then(|| Box::new(Preview { moves, ..Preview::default() }));
        let refusal = Refusal { kind, text: text.into(), hint: "think again".into(), preview };
        *self.refusal.lock().unwrap() = Some(refusal);
    }

    fn answer<T: Send + 'static>(&self, asked: String, value: T) -> Answer<'_, T> {
        self.asked.lock().unwrap().push(asked);
        let refusal = self.refusal.lock().unwrap().clone();
        Box::pin(async move { refusal.map_or(Ok(value), Err) })
    }
}

impl Operate for Fake {
    fn order<'a>(&'a self, verb: Verb, order: Order, by: &'a str) -> Answer<'a, Done> {
        assert_ne!(order.region, "panic", "a fault on purpose");
        let done = Done {
            serial: (!order.dry_run).then_some(7),
            live: !order.dry_run,
            changed: true,
            text: format!("{} {}", verb.word(), order.region),
            preview: Some(Preview::default()),
            warnings: vec!["so it is".into()],
            still: Vec::new(),
        };
        self.answer(format!("{} {} by {by}", verb.word(), serde_json::to_string(&order).unwrap()), done)
    }

    fn release<'a>(&'a self, region: &'a str, by: &'a str) -> Answer<'a, Done> {
        self.answer(format!("release {region} by {by}"), Done { text: "released".into(), ..Done::default() })
    }

    fn reload<'a>(&'a self, accept_geo: bool, force: bool, by: &'a str) -> Answer<'a, Done> {
        let done = Done { text: "reloaded".into(), ..Done::default() };
        self.answer(format!("reload {accept_geo} {force} by {by}"), done)
    }

    fn probe<'a>(&'a self, name: &'a str, region: Option<&'a str>) -> Answer<'a, Vec<ProbeRun>> {
        let verdict = if name == "bad" { "failed" } else { "ok" };
        let run = ProbeRun {
            probe: name.to_owned(),
            region: region.unwrap_or("cn").to_owned(),
            address: None,
            verdict: verdict.into(),
            detail: String::new(),
            duration_ms: 12,
            lag_s: None,
            steps: vec![ProbeRunStep { name: "connect".into(), ms: 3 }],
        };
        self.answer(format!("probe {name} {region:?}"), vec![run])
    }

    fn admin_file_error(&self) -> Option<usize> {
        Some(12)
    }
}

/// A demo's routes.
struct Extra;

impl ExtraRoutes for Extra {
    fn has(&self, path: &str) -> bool {
        path == "/demo/break"
    }

    fn post<'a>(&'a self, path: &'a str, body: Value) -> Answer<'a, Value> {
        Box::pin(async move { Ok(json!({ "path": path, "body": body })) })
    }
}

/// Counters that never move.
struct Counts;

impl DnsCounts for Counts {
    fn numbers(&self) -> DnsNumbers {
        let one = |label, count| Counted { labels: [label], count };
        DnsNumbers {
            queries: vec![Counted { labels: ["udp", "ipv4", "A"], count: 5 }],
            responses: vec![Counted { labels: ["udp", "NOERROR"], count: 5 }],
            dropped: vec![one("short", 1)],
            rate_limited: Vec::new(),
            cookies: vec![one("valid", 2)],
            lookups: vec![one("country", 4), one("unmapped", 1)],
            durations: Durations { bounds_ns: &[1_000, 2_000], counts: vec![2, 2, 1], sum_ns: 9_000 },
            tcp_connections: 3,
            tcp_accepted: 4,
            tcp_closed: vec![one("idle", 1)],
            panics: 0,
            dnstap: Some(DnstapNumbers { sent: 8, dropped: 2, is_connected: true }),
        }
    }

    fn decisions(&self, slot: u32) -> u64 {
        u64::from(slot) + 1
    }
}

/// A running listener.
pub(crate) struct Running {
    pub(crate) addr: SocketAddr,
    pub(crate) operator: Arc<Fake>,
    pub(crate) handle: Handle,
    pub(crate) ready: Arc<AtomicBool>,
    pub(crate) dir: TempDir,
    pub(crate) served: JoinHandle<()>,
    pub(crate) stop: watch::Sender<bool>,
}

/// Starts one, ready.
pub(crate) async fn start() -> Running {
    let clock = Clock::start();
    let (handle, messages) = Handle::pair();
    let (stop, stopped) = watch::channel(false);
    let desk = Desk::new(loaded(), AdminFile::default(), None, Recorder::nowhere(), clock.now());
    tokio::spawn(run::run(desk, messages, clock, stopped.clone(), |_, _, _| {}));
    let dir = tempfile::tempdir().unwrap();
    let operator = Arc::new(Fake::default());
    let ready = Arc::new(AtomicBool::new(true));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let state_dir: PathBuf = dir.path().to_owned();
    let mut state = AdminState::new(handle.clone(), Arc::clone(&ready), clock, operator.clone(), state_dir);
    state.dns = Some(Arc::new(Counts));
    state.extra = Some(Arc::new(Extra));
    let served = tokio::spawn(serve(listener, Arc::new(state), stopped));
    Running { addr, operator, handle, ready, dir, served, stop }
}

/// An answer, read to the end of the connection.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// As sent, lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}

impl Running {
    pub(crate) fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Release);
    }

    /// Sends these bytes and reads what comes until the server closes.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> Reply {
        let mut stream = TcpStream::connect(self.addr).await.unwrap();
        // The server may answer, and close, before it has read everything.
        let _ = stream.write_all(bytes).await;
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let _ = timeout(Duration::from_secs(20), read).await.expect("the server closes");
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Reply { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    pub(crate) async fn get(&self, target: &str) -> Reply {
        self.raw(format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").as_bytes())
            .await
    }

    pub(crate) async fn post(&self, target: &str, body: &str) -> Reply {
        self.post_with(target, "Host: 127.0.0.1:8953\r\nContent-Type: application/json\r\n", body).await
    }

    pub(crate) async fn post_with(&self, target: &str, headers: &str, body: &str) -> Reply {
        let length = body.len();
        let head = format!(
            "POST {target} HTTP/1.1\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        self.raw(format!("{head}{body}").as_bytes()).await
    }
}
