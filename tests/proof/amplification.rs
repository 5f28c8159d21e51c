//! How much longer answers are than queries, by kind, for the shipped zone: bounded, and as `docs/amplification.md` says.
//!
//! `UPDATE=1 cargo test --test proof amplification` writes the page's table anew.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use waypost::config::admin::AdminFile;
use waypost::control::Now;
use waypost::control::cookie_key::Access;
use waypost::control::load::{LoadOptions, load};
use waypost::control::model::{Load, Model, Remembered};
use waypost::control::publish::Press;
use waypost::dns::cookie::{SECRET_LEN, SERVER_LEN, Secret, Secrets};
use waypost::dns::limit::{Rule, Table};
use waypost::dns::{Cookies, MAX_TCP_SIZE, Query, Settings, Transport, View, Worker, respond};
use waypost::health::Mono;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/amplification.md");
const TABLE_BEGINS: &str = "<!-- The table is written by tests/proof/amplification.rs. -->\n";
const TABLE_ENDS: &str = "<!-- Here it ends. -->\n";

/// The shipped `max_udp_size`, and what a query without EDNS gets at most.
const MAX_UDP_SIZE: usize = 1232;
const PLAIN_SIZE: usize = 512;

/// Something to ask for: in words, name, type, class, and how many times as long as the query the answer may be, without
/// EDNS and with it.
type Kind = (&'static str, &'static str, u16, u16, [f64; 2]);

const KINDS: [Kind; 23] = [
    ("service, A (two addresses)", "www.gslb.example.com", 1, IN, [2.0, 2.0]),
    ("service, AAAA (two addresses)", "www.gslb.example.com", 28, IN, [2.5, 2.2]),
    ("service, A (one address)", "api.gslb.example.com", 1, IN, [2.0, 2.0]),
    ("service, AAAA (one address)", "api.gslb.example.com", 28, IN, [2.0, 2.0]),
    ("host, A", "static.gslb.example.com", 1, IN, [2.0, 2.0]),
    ("host, AAAA", "static.gslb.example.com", 28, IN, [2.0, 2.0]),
    ("wildcard, A", "a.b.preview.gslb.example.com", 1, IN, [2.0, 2.0]),
    ("alias into a service, A", "shop.gslb.example.com", 1, IN, [2.5, 2.0]),
    ("alias into a service, AAAA", "shop.gslb.example.com", 28, IN, [3.0, 2.5]),
    ("alias to a host, A", "docs.gslb.example.com", 1, IN, [2.0, 2.0]),
    ("TXT", "gslb.example.com", 16, IN, [2.0, 2.0]),
    ("CAA", "gslb.example.com", 257, IN, [2.0, 2.0]),
    ("MX", "gslb.example.com", 15, IN, [3.0, 2.5]),
    ("SRV", "_imaps._tcp.gslb.example.com", 33, IN, [3.0, 3.0]),
    ("NS", "gslb.example.com", 2, IN, [5.0, 4.0]),
    ("SOA", "gslb.example.com", 6, IN, [2.5, 2.5]),
    ("no such data: DNSKEY", "gslb.example.com", 48, IN, [2.5, 2.5]),
    ("no such data: HTTPS of a service", "www.gslb.example.com", 65, IN, [2.5, 2.5]),
    ("no such name", "nothing.gslb.example.com", 1, IN, [2.5, 2.0]),
    ("referral", "host.lab.gslb.example.com", 1, IN, [3.5, 3.0]),
    ("ANY", "gslb.example.com", 255, IN, [1.7, 1.5]),
    ("CHAOS `version.bind`", "version.bind", 16, 3, [1.0, 1.25]),
    ("outside every zone", "www.example.org", 1, IN, [1.0, 1.25]),
];
const IN: u16 = 1;

const NSID: &[u8] = b"ns1.gslb.example.com";

/// Codes and data of a query's options; absent: without EDNS.
type Options = Option<&'static [(u16, &'static [u8])]>;

/// How a query is dressed, in words and in options.
const DRESSES: [(&str, Options); 4] = [
    ("without EDNS", None),
    ("EDNS", Some(&[])),
    ("with subnet", Some(&[(8, &[0, 1, 24, 0, 193, 0, 6])])),
    ("with NSID", Some(&[(3, &[])])),
];

/// The shipped configuration, answering an NSID request as a real node would.
static SHIPPED: LazyLock<View> = LazyLock::new(|| {
    let now = Now::default();
    let options = LoadOptions {
        generation: 1,
        now,
        in_use: None,
        accept_geo: false,
        stand_in: false,
        cookie_key: Access::Untouched,
    };
    let loaded = load(&Path::new(ROOT).join("waypost.toml"), options).unwrap();
    let load = Load { plan: loaded.plan, damping: loaded.damping, orders: AdminFile::default() };
    let model = Model::new(load, &Remembered::default(), now);
    let view = Press::new(loaded.dns, &model, false, now).snapshot(1).view.unwrap();
    let settings = Settings { nsid: NSID.to_vec(), ..(*view.settings).clone() };
    View { settings: Arc::new(settings), ..view }
});

fn query(kind: &Kind, options: Options) -> Vec<u8> {
    let (_, name, qtype, class, _) = kind;
    let mut bytes = vec![0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, u8::from(options.is_some())];
    for label in name.split('.') {
        bytes.push(label.len() as u8);
        bytes.extend(label.as_bytes());
    }
    bytes.push(0);
    bytes.extend([qtype.to_be_bytes(), class.to_be_bytes()].concat());
    if let Some(options) = options {
        let data: Vec<u8> = options
            .iter()
            .flat_map(|(code, data)| {
                [&code.to_be_bytes()[..], &(data.len() as u16).to_be_bytes(), data].concat()
            })
            .collect();
        bytes.extend([0, 0, 41, 0x10, 0, 0, 0, 0, 0]);
        bytes.extend((data.len() as u16).to_be_bytes());
        bytes.extend(data);
    }
    bytes
}

fn answer_len(view: &View, worker: &mut Worker, query: &[u8]) -> usize {
    let query = Query {
        bytes: query,
        peer: [198, 18, 0, 1].into(),
        transport: Transport::Udp,
        now: Mono(0),
        wall_s: 0,
    };
    respond(view, worker, query, &mut vec![0; MAX_TCP_SIZE])
}

#[test]
fn no_answer_over_udp_is_much_longer_than_its_query() {
    let (view, mut worker) = (&*SHIPPED, Worker::uncounted());
    for kind in KINDS {
        for (dress, options) in DRESSES {
            let asked = query(&kind, options);
            let answered = answer_len(view, &mut worker, &asked);
            let bound = kind.4[usize::from(options.is_some())];
            let nsid = if dress == "with NSID" { NSID.len() } else { 0 };
            let most = (asked.len() as f64 * bound) as usize + nsid;
            assert!(answered <= most, "{}, {dress}: {} bytes for {}", kind.0, answered, asked.len());
            assert!(answered <= if options.is_some() { MAX_UDP_SIZE } else { PLAIN_SIZE });
        }
    }
}

#[test]
fn beyond_the_rate_limit_no_answer_is_longer_than_its_query_but_for_half_a_cookie() {
    let view = &*SHIPPED;
    let rate_limit = Some(Rule::new(1, 1, false, &[]));
    let secrets = Secrets { first: Secret::new([1; SECRET_LEN]), second: None };
    let cookies = Some(Cookies { secrets, unverified_udp: MAX_UDP_SIZE as u16 });
    let settings = Settings { rate_limit, cookies, ..(*view.settings).clone() };
    let view = View { settings: Arc::new(settings), ..view.clone() };
    let mut worker = Worker::limiting(Arc::new(Table::new([1, 2, 3, 4])));
    answer_len(&view, &mut worker, &query(&KINDS[0], None));
    for kind in KINDS {
        for (dress, options) in DRESSES {
            let asked = query(&kind, options);
            assert!(answer_len(&view, &mut worker, &asked) <= asked.len(), "{}, {dress}", kind.0);
        }
        // Who sends a client's half gets the server's half on top.
        let asked = query(&kind, Some(&[(10, &[7; 8])]));
        assert_eq!(answer_len(&view, &mut worker, &asked), asked.len() + SERVER_LEN, "{}", kind.0);
    }
}

#[test]
fn the_page_on_amplification_says_what_the_code_does() {
    let (view, mut worker) = (&*SHIPPED, Worker::uncounted());
    let mut table = "| asked for |".to_owned();
    DRESSES.iter().for_each(|(dress, _)| write!(table, " {dress} |").unwrap());
    write!(table, "\n|---|{}\n", "---|".repeat(DRESSES.len())).unwrap();
    for kind in KINDS {
        write!(table, "| {} |", kind.0).unwrap();
        for (_, options) in DRESSES {
            let asked = query(&kind, options);
            let answered = answer_len(view, &mut worker, &asked);
            let ratio = answered as f64 / asked.len() as f64;
            write!(table, " {} → {answered} ({ratio:.2}) |", asked.len()).unwrap();
        }
        table.push('\n');
    }
    let page = fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(TABLE_BEGINS).unwrap();
    let (_, after) = rest.split_once(TABLE_ENDS).unwrap();
    let expected = format!("{before}{TABLE_BEGINS}\n{table}\n{TABLE_ENDS}{after}");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(PAGE, &expected).unwrap();
    }
    assert!(
        fs::read_to_string(PAGE).unwrap() == expected,
        "docs/amplification.md is out of date: UPDATE=1 cargo test --test proof amplification, then read it"
    );
}
