//! dnstap, read back with the collector and the reader that Debian has; and collectors that die or do not read.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::harness::*;

const PATIENCE: Duration = Duration::from_secs(5);

/// What a test asked and got.
struct Asked {
    client: SocketAddr,
    server: SocketAddr,
    protocol: &'static str,
    id: u16,
    name: String,
    qtype: &'static str,
    query: Vec<u8>,
    answer: Vec<u8>,
}

/// A site whose configuration taps, and listens here too.
fn tapped_site(listen: &str) -> Site {
    let site = Site::new();
    let own = format!("listen = [\"{}:{DNS_PORT}\"", site.ip);
    let config = site
        .config("", "requires = []")
        .replace(&own, &format!("dnstap = {{ socket = \"tap.sock\" }}\n{own}{listen}"));
    site.write("waypost.toml", &config);
    site
}

/// Debian's collector, writing to this file.
fn capture(site: &Site, file: &str) -> Process {
    let socket = site.path("tap.sock");
    let _ = fs::remove_file(&socket);
    let mut command = Command::new("fstrm_capture");
    command.args(["-t", "protobuf:dnstap.Dnstap", "-u"]).arg(&socket).arg("-w").arg(site.path(file));
    let process = Process::spawn(&mut command, &site.path("capture.log"));
    wait_until("fstrm_capture listens", SOON, || socket.exists());
    process
}

/// The messages in a capture file, as Debian's reader decodes them: fields by name, the DNS message as text.
fn read_back(file: &Path) -> Vec<BTreeMap<String, String>> {
    let output = Command::new("dnstap-ldns").arg("-y").arg("-r").arg(file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut messages = Vec::new();
    for document in text.split("---\n").filter(|document| !document.trim().is_empty()) {
        let mut fields = BTreeMap::new();
        for line in document.lines() {
            // `type` stands outside, for the kind of payload, and then inside, for the kind of message.
            if let Some(line) = line.strip_prefix("    ") {
                let text: &mut String = fields.entry("dns".to_owned()).or_default();
                *text += &format!("{line}\n");
            } else if let Some((key, value)) = line.trim().split_once(": ") {
                fields.insert(key.to_owned(), value.trim_matches('"').to_owned());
            }
        }
        messages.push(fields);
    }
    messages
}

fn query_with(id: u16, name: &str, qtype: u16) -> Vec<u8> {
    let mut query = query_bytes(name, qtype, Some(CN));
    query[..2].copy_from_slice(&id.to_be_bytes());
    query
}

fn ask_udp(server: SocketAddr, query: &[u8]) -> (SocketAddr, Vec<u8>) {
    let any: SocketAddr =
        if server.is_ipv4() { (Ipv4Addr::LOCALHOST, 0).into() } else { "[::1]:0".parse().unwrap() };
    let socket = UdpSocket::bind(any).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.connect(server).unwrap();
    socket.send(query).unwrap();
    let mut answer = vec![0; 4096];
    let len = socket.recv(&mut answer).unwrap();
    answer.truncate(len);
    (socket.local_addr().unwrap(), answer)
}

fn ask_tcp(server: SocketAddr, query: &[u8]) -> (SocketAddr, Vec<u8>) {
    let mut stream = TcpStream::connect_timeout(&server, PATIENCE).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&[&(query.len() as u16).to_be_bytes(), query].concat()).unwrap();
    let mut len = [0; 2];
    stream.read_exact(&mut len).unwrap();
    let mut answer = vec![0; usize::from(u16::from_be_bytes(len))];
    stream.read_exact(&mut answer).unwrap();
    (stream.local_addr().unwrap(), answer)
}

/// Where the server that runs listens for DNS, as it says when it is ready.
fn listening(site: &Site) -> Vec<SocketAddr> {
    let log = site.log();
    let (_, list) = log.split_once("dns=[").unwrap_or_else(|| panic!("{log}"));
    list.split(']').next().map_or_else(Vec::new, |_| {
        let list = list.split_once("] ").map_or(list, |(list, _)| list);
        list.split(", ").map(|addr| addr.parse().unwrap_or_else(|error| panic!("{addr}: {error}"))).collect()
    })
}

/// Queries of both protocols and families, also to sockets that listen on every address.
fn ask_everywhere(site: &Site) -> Vec<Asked> {
    let mut asked = Vec::new();
    for listener in listening(site) {
        let ip = match listener.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => site.ip.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => "::1".parse().unwrap(),
            ip => ip,
        };
        let server = SocketAddr::new(ip, listener.port());
        for number in 0..26_u16 {
            let id = 1000 + asked.len() as u16;
            let name = match number % 3 {
                0 => WWW.to_owned(),
                1 => "static.gslb.example.com".to_owned(),
                _ => format!("n{number}.gslb.example.com"),
            };
            let (qtype, number_of_type) = if number % 5 == 0 { ("TXT", 16) } else { ("A", 1) };
            let query = query_with(id, &name, number_of_type);
            let is_udp = number % 2 == 0;
            let (protocol, (client, answer)) =
                if is_udp { ("UDP", ask_udp(server, &query)) } else { ("TCP", ask_tcp(server, &query)) };
            asked.push(Asked { client, server, protocol, id, name, qtype, query, answer });
        }
    }
    asked
}

fn holds(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

fn wall() -> Duration {
    #[allow(clippy::disallowed_methods)] // What the program's own clock is compared with.
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

fn connected(site: &Site) -> bool {
    site.metric("waypost_dns_dnstap_connected") == Some(1.0)
}

#[test]
fn debians_collector_and_reader_see_every_query_and_answer() {
    let has_ipv6 = UdpSocket::bind("[::1]:0").is_ok();
    let others = if has_ipv6 { ", \"[::1]:0\", \"0.0.0.0:0\", \"[::]:0\"" } else { ", \"0.0.0.0:0\"" };
    let mut site = tapped_site(others);
    let collector = capture(&site, "capture.fstrm");
    site.start();
    wait_until("connected", SOON, || connected(&site));
    let begun = wall();
    let asked = ask_everywhere(&site);
    let window = begun.as_secs_f64() - 0.001..wall().as_secs_f64() + 0.001;
    assert!(asked.len() >= if has_ipv6 { 100 } else { 50 });
    let wanted = asked.len() as f64 * 2.0;
    wait_until("all sent", SOON, || site.metric("waypost_dns_dnstap_frames_total") == Some(wanted));
    assert_eq!(site.metric("waypost_dns_dnstap_dropped_total"), Some(0.0));
    assert_eq!(site.stop(), Some(0));
    assert_eq!(collector.stop(), Some(0));

    let file = site.path("capture.fstrm");
    let bytes = fs::read(&file).unwrap();
    let messages = read_back(&file);
    assert_eq!(messages.len(), asked.len() * 2);
    for asked in &asked {
        for kind in ["AUTH_QUERY", "AUTH_RESPONSE"] {
            check(asked, kind, &messages, &window);
        }
        assert!(holds(&bytes, &asked.query), "the query as it was sent");
        assert!(holds(&bytes, &asked.answer), "the answer as it came");
    }
}

fn check(asked: &Asked, kind: &str, messages: &[BTreeMap<String, String>], window: &std::ops::Range<f64>) {
    let id = format!("id: {}\n", asked.id);
    let found: Vec<_> =
        messages.iter().filter(|message| message["type"] == kind && message["dns"].contains(&id)).collect();
    let [message] = found[..] else { panic!("{} of {kind} {id}: {messages:#?}", found.len()) };
    let question = format!(";{}.\tIN\t{}\n", asked.name, asked.qtype);
    assert!(message["dns"].contains(&question), "{question}: {message:#?}");
    let (is_v6, is_query) = (asked.client.is_ipv6(), kind == "AUTH_QUERY");
    for (field, wanted) in [
        ("identity", "live".to_owned()),
        ("version", format!("waypost {}", env!("CARGO_PKG_VERSION"))),
        ("socket_family", if is_v6 { "INET6" } else { "INET" }.to_owned()),
        ("socket_protocol", asked.protocol.to_owned()),
        ("query_address", asked.client.ip().to_string()),
        ("query_port", asked.client.port().to_string()),
        ("response_address", asked.server.ip().to_string()),
        ("response_port", asked.server.port().to_string()),
    ] {
        assert_eq!(message.get(field), Some(&wanted), "{field}: {message:#?}");
    }
    let time = &message[if is_query { "query_time" } else { "response_time" }];
    assert!(window.contains(&seconds(time)), "{time} in {window:?}");
}

/// `!!timestamp 2026-12-01 01:02:03.456789` as seconds since 1970.
fn seconds(text: &str) -> f64 {
    let digits: Vec<f64> = text
        .trim_start_matches("!!timestamp ")
        .split(['-', ' ', ':', 'T', 'Z'])
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().unwrap_or_else(|_| panic!("{text}")))
        .collect();
    let [year, month, day, hour, minute, second] = digits[..] else { panic!("{text}") };
    let month = time::Month::try_from(month as u8).unwrap();
    let date = time::Date::from_calendar_date(year as i32, month, day as u8).unwrap();
    let midnight = date.midnight().assume_utc().unix_timestamp() as f64;
    midnight + hour * 3600.0 + minute * 60.0 + second
}

/// Queries of 1,100 bytes, which fill a queue of 2 MiB soon; all are answered.
fn flood(site: &Site, count: u16) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.connect((site.ip, DNS_PORT)).unwrap();
    let mut query = query_bytes(WWW, 1, None);
    // An option from the range for local use.
    let option = [&[0xff, 0xe0, 4, 0][..], &[0; 1024]].concat();
    let len = query.len();
    query[len - 2..].copy_from_slice(&(option.len() as u16).to_be_bytes());
    query.extend(option);
    let mut answer = [0; 4096];
    for batch in 0..count / 50 {
        for number in 0..50 {
            query[..2].copy_from_slice(&(batch * 50 + number).to_be_bytes());
            socket.send(&query).unwrap();
        }
        for _ in 0..50 {
            let len = socket.recv(&mut answer).expect("every query is answered");
            assert!(len > 12 && answer[3] & 0x0f == 0, "with addresses");
        }
    }
}

fn dropped(site: &Site) -> f64 {
    site.metric("waypost_dns_dnstap_dropped_total").unwrap()
}

#[test]
fn answers_go_on_without_the_collector_and_it_is_found_again() {
    let mut site = tapped_site("");
    let collector = capture(&site, "first.fstrm");
    site.start();
    wait_until("connected", SOON, || connected(&site));
    flood(&site, 50);
    collector.kill();
    wait_until("its end is noticed", SOON, || !connected(&site));
    flood(&site, 5_000);
    let lost = dropped(&site);
    assert!(lost > 1_000.0, "a queue is bounded: {lost}");
    let hint = "no collector listens there: start it, or correct dns.dnstap.socket";
    wait_until("it is told", SOON, || site.log().contains(hint));
    let warning = site.wait_warning("dnstap");
    assert!(warning.contains("no dnstap collector") && warning.contains("tap.sock"), "{warning}");

    let collector = capture(&site, "second.fstrm");
    wait_until("connected again", SOON, || connected(&site));
    site.wait_no_warning("dnstap");
    wait_until("what was queued is sent", SOON, || {
        site.metric("waypost_dns_dnstap_frames_total").unwrap() + lost >= 2.0 * 5_050.0
    });
    assert_eq!(dropped(&site), lost);
    let query = query_with(777, "again.gslb.example.com", 1);
    ask_udp(SocketAddr::from((site.ip, DNS_PORT)), &query);
    assert_eq!(site.stop(), Some(0));
    assert_eq!(collector.stop(), Some(0));
    let messages = read_back(&site.path("second.fstrm"));
    let last = messages.last().unwrap();
    assert!(
        last["dns"].contains("again.gslb.example.com"),
        "the last message is sent before the end: {last:?}"
    );
}

#[test]
fn a_collector_that_never_reads_holds_up_neither_answers_nor_the_end() {
    let mut site = tapped_site("");
    let listener = UnixListener::bind(site.path("tap.sock")).unwrap();
    site.start();
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut greeting = [0; 42];
    stream.read_exact(&mut greeting).unwrap();
    // ACCEPT is READY with another type.
    greeting[11] = 1;
    stream.write_all(&greeting).unwrap();
    flood(&site, 6_000);
    let lost = dropped(&site);
    assert!(lost > 1_000.0, "{lost}");
    let before = site.process().resident();
    flood(&site, 10_000);
    assert!(dropped(&site) >= lost + 19_000.0, "nothing fits any more");
    let grown = site.process().resident().saturating_sub(before);
    assert!(grown < 2 << 20, "memory grows by {grown} bytes");
    wait_until("it is told", SOON, || site.log().contains("the collector does not read"));
    let warning = site.wait_warning("dnstap");
    assert!(warning.contains("slower than the queries"), "{warning}");
    assert_eq!(site.stop(), Some(0));
}

#[test]
fn switching_dnstap_needs_a_restart() {
    let site = Site::new().started();
    assert_eq!(site.metric("waypost_dns_dnstap_frames_total"), None, "off, and not shown");
    let config = site.read("waypost.toml").replace("[dns]\n", "[dns]\ndnstap = { socket = \"tap.sock\" }\n");
    site.write("waypost.toml", &config);
    let reload = site.run(&["reload"]);
    assert_eq!(reload.code, 1, "{reload:?}");
    assert!(reload.err.contains("dns.dnstap changed, which needs a restart"), "{reload:?}");
}
