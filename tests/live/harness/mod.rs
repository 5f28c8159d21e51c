//! A server with its folder, its endpoints and everything that can be asked of it.

mod client;
mod endpoint;
mod geo;
mod process;

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use waypost::control::Clock;

pub(crate) use client::{Answer, Ecs, exchange, exchange_from, http_get, query_bytes, tcp_exchange};
pub(crate) use endpoint::{Behave, Endpoint};
pub(crate) use geo::{Place, mmdb, three_places, truncated, wrong_type};
pub(crate) use process::Process;

/// The program under test.
pub(crate) const WAYPOST: &str = env!("CARGO_BIN_EXE_waypost");

/// Most waits: several times every promised bound, and short enough to tell a hang.
pub(crate) const SOON: Duration = Duration::from_secs(15);

/// A change of a file is live within two seconds; three times that.
pub(crate) const LIVE: Duration = Duration::from_secs(6);

/// The port of every server's DNS, at its own address.
pub(crate) const DNS_PORT: u16 = 5300;

/// The port of every server's API.
pub(crate) const ADMIN_PORT: u16 = 8953;

/// The service that tests ask for.
pub(crate) const WWW: &str = "www.gslb.example.com";

/// Client subnets at home in cn, eu, us with [`three_places`].
pub(crate) const CN: Ecs = Ecs::v4(114, 114, 114, 0, 24);
pub(crate) const EU: Ecs = Ecs::v4(193, 0, 6, 0, 24);
pub(crate) const US: Ecs = Ecs::v4(8, 8, 8, 0, 24);

/// One A record of each region's two.
pub(crate) const CN_A: [&str; 2] = ["192.0.2.11", "192.0.2.12"];
pub(crate) const EU_A: [&str; 2] = ["198.51.100.11", "198.51.100.12"];
pub(crate) const US_A: [&str; 2] = ["203.0.113.11", "203.0.113.12"];

/// Times for probes that a test can wait for.
pub(crate) const QUICK: &str = r#"interval = "200ms"
fast_interval = "100ms"
timeout = "500ms"
fall = 2
rise = 2
cooldown = "1s""#;

/// A loopback address that no other test uses, nor another run at the same time.
pub(crate) fn own_address() -> Ipv4Addr {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    Ipv4Addr::new(127, own_block(), (number / 250) as u8, (number % 250) as u8 + 1)
}

/// The second byte of this run's addresses: a socket on the block's last address keeps others out as long as it runs.
fn own_block() -> u8 {
    static CLAIM: OnceLock<(u8, UdpSocket)> = OnceLock::new();
    let claim = |block| Some((block, UdpSocket::bind((Ipv4Addr::new(127, block, 255, 254), DNS_PORT)).ok()?));
    let first = std::process::id();
    let mut blocks = (0..120).map(|step| 100 + (first.wrapping_add(step) % 120) as u8);
    CLAIM.get_or_init(|| blocks.find_map(claim).expect("a free block of loopback addresses")).0
}

/// Waits until `condition` gives something.
pub(crate) fn wait_for<T>(what: &str, deadline: Duration, mut condition: impl FnMut() -> Option<T>) -> T {
    let clock = Clock::start();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(clock.elapsed() < deadline, "{what}: not within {deadline:?}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// Waits until `condition` holds.
pub(crate) fn wait_until(what: &str, deadline: Duration, mut condition: impl FnMut() -> bool) {
    wait_for(what, deadline, || condition().then_some(()));
}

/// A folder with everything a server needs, and the server, if it runs.
pub(crate) struct Site {
    pub(crate) dir: TempDir,
    pub(crate) ip: Ipv4Addr,
    pub(crate) process: Option<Process>,
    /// Endpoints by region: cn's two, eu's two, us's two; empty without probes.
    pub(crate) endpoints: Vec<Endpoint>,
    logs: u32,
}

impl Site {
    /// A folder without a running server: three regions, a small geo file, nothing probed.
    pub(crate) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let site = Self { dir, ip: own_address(), process: None, endpoints: Vec::new(), logs: 0 };
        fs::create_dir(site.path("zones")).unwrap();
        site.write("zones/gslb.example.com.zone", ZONE);
        fs::write(site.path("country.mmdb"), mmdb(&three_places(), 1_700_000_000)).unwrap();
        site.write("waypost.toml", &site.config("", "requires = []"));
        site
    }

    /// The same with two real endpoints in each region, probed over HTTP with `probe`'s settings.
    pub(crate) fn probed(probe: &str) -> Self {
        let mut site = Self::new();
        site.endpoints = (0..6).map(|_| Endpoint::start(own_address())).collect();
        site.write("waypost.toml", &site.config(&web(probe), ""));
        site
    }

    /// The configuration, with these probes and this of the service.
    pub(crate) fn config(&self, probes: &str, service: &str) -> String {
        let addresses = [CN_A, EU_A, US_A];
        let mut regions = String::new();
        for (index, region) in ["cn", "eu", "us"].iter().enumerate() {
            let list: Vec<String> = addresses[index]
                .iter()
                .enumerate()
                .map(|(number, address)| match self.endpoints.get(index * 2 + number) {
                    Some(endpoint) => {
                        format!("{{ address = \"{address}\", probe = \"{}\" }}", endpoint.ip)
                    }
                    None => format!("\"{address}\""),
                })
                .collect();
            regions += &format!("{region} = [{}]\n", list.join(", "));
        }
        let ip = self.ip;
        format!(
            r#"version = 1
node = "live"
[routing]
fallback = ["cn", "eu", "us"]
[regions.cn]
countries = ["CN"]
networks = ["127.1.0.0/16"]
[regions.eu]
countries = ["NL"]
networks = ["127.2.0.0/16"]
[regions.us]
countries = ["US"]
networks = ["127.3.0.0/16"]
[geo]
database = "country.mmdb"
unmapped = "us"
[dns]
listen = ["{ip}:{DNS_PORT}"]
zones = "zones"
udp_workers = 1
[admin]
listen = "{ip}:{ADMIN_PORT}"
{probes}
[[services]]
name = "{WWW}"
ttl = "30s"
ttl_min = "5s"
{service}
[services.endpoints]
{regions}"#
        )
    }

    /// Starts a server that is ready when this returns.
    pub(crate) fn started(mut self) -> Self {
        self.start();
        self
    }

    pub(crate) fn start(&mut self) {
        self.spawn();
        self.wait_ready();
    }

    /// Starts a server and does not wait for it.
    pub(crate) fn spawn(&mut self) {
        assert!(self.process.is_none(), "it runs already");
        self.logs += 1;
        let log = self.path(&format!("log.{}", self.logs));
        self.process =
            Some(Process::spawn(Command::new(WAYPOST).current_dir(self.dir.path()).arg("serve"), &log));
    }

    pub(crate) fn wait_ready(&mut self) {
        wait_until("readyz", SOON, || {
            if let Some(process) = &mut self.process {
                assert_eq!(process.exited(), None, "it ended: {}", process.log());
            }
            http_get(self.ip, "/readyz").is_some_and(|(status, _)| status == 200)
        });
    }

    pub(crate) fn process(&mut self) -> &mut Process {
        self.process.as_mut().expect("it runs")
    }

    /// Ends the server with SIGTERM and returns its exit code.
    pub(crate) fn stop(&mut self) -> Option<i32> {
        self.process.take().expect("it runs").stop()
    }

    /// Ends the server as a crash would.
    pub(crate) fn kill(&mut self) {
        self.process.take().expect("it runs").kill();
    }

    /// What the server that runs, or ran last, has logged.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path(&format!("log.{}", self.logs))).unwrap_or_default()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Puts a file in the place of another, as good tools do.
    pub(crate) fn replace(&self, name: &str, bytes: &[u8]) {
        let aside = self.path(&format!("{name}.new"));
        fs::write(&aside, bytes).unwrap();
        fs::rename(aside, self.path(name)).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs a verb of the command line.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        let output = Command::new(WAYPOST).current_dir(self.dir.path()).args(arguments).output().unwrap();
        Ran::of(&output)
    }

    pub(crate) fn status(&self) -> Value {
        let (code, body) = http_get(self.ip, "/api/v1/status").expect("the API answers");
        assert_eq!(code, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    /// The text of a warning in the status.
    pub(crate) fn warning(&self, code: &str) -> Option<String> {
        let status = self.status();
        let warnings = status["warnings"].as_array().unwrap().clone();
        warnings
            .iter()
            .find(|warning| warning["code"] == code)
            .map(|w| w["text"].as_str().unwrap().to_owned())
    }

    pub(crate) fn wait_warning(&self, code: &str) -> String {
        wait_for(&format!("warning {code}"), SOON, || self.warning(code))
    }

    pub(crate) fn wait_no_warning(&self, code: &str) {
        wait_until(&format!("no warning {code}"), SOON, || self.warning(code).is_none());
    }

    /// A metric's value; the name with its labels, as it stands in the text.
    pub(crate) fn metric(&self, name: &str) -> Option<f64> {
        let (_, text) = http_get(self.ip, "/metrics")?;
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
    }

    /// Asks for the service's A records.
    pub(crate) fn ask(&self, client: Ecs) -> Answer {
        exchange(self.ip, &query_bytes(WWW, 1, Some(client))).expect("an answer")
    }

    /// Waits until a client gets these addresses, in any order.
    pub(crate) fn wait_answer(&self, client: Ecs, addresses: &[&str], deadline: Duration) -> Answer {
        wait_for(&format!("{addresses:?} for {client:?}"), deadline, || {
            Some(self.ask(client)).filter(|answer| answer.addresses() == addresses)
        })
    }
}

/// What a verb came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code().unwrap_or(-1),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }

    pub(crate) fn done(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// An HTTP probe of every endpoint, with these settings.
pub(crate) fn web(settings: &str) -> String {
    format!(
        "[[probes]]\nname = \"web\"\ntype = \"http\"\nurl = \"http://{{address}}:8080/healthz\"\n{settings}\n"
    )
}

const ZONE: &str = "$TTL 60
@ SOA ns1 hostmaster 1 3600 900 604800 30
@ NS ns1
ns1 A 192.0.2.53
static A 192.0.2.80
";
