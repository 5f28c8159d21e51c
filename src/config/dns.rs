//! `[dns]`: listeners, limits, and what answers carry.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::time::Duration;

use crate::region::geo::Network;

use super::reader::Value;
use super::regions::parse_network;
use super::sections::read_socket;
use super::{Chaos, Cookies, Dns, Dnstap, RateLimit, Tcp, keys};

/// UDP workers; 0: one per core.
const UDP_WORKERS: RangeInclusive<u64> = 0..=1024;
/// Bytes of a UDP answer: RFC 1035 4.2.1 below, what survives without fragments on no path above.
const UDP_BYTES: RangeInclusive<u64> = 512..=4096;
/// TCP connections in all.
const CONNECTIONS: RangeInclusive<u64> = 1..=1_000_000;
/// How long a TCP connection may be silent.
const IDLE: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(3600);
/// Bytes of an NSID, which goes into every answer that asks for it.
const NSID_BYTES: usize = 128;
/// Bytes of a text in a CHAOS answer: one character-string (RFC 1035 3.3).
const CHAOS_BYTES: usize = 255;
/// Answers per second that one client address gets before limiting begins.
const PER_SECOND: RangeInclusive<u64> = 1..=1_000_000;
/// Bytes of a Unix socket's path, the ending zero not counted (unix(7)).
const SOCKET_PATH_BYTES: usize = 107;

/// `[dns]`.
pub(super) fn read_dns(value: &Value<'_, '_>, folder: &Path) -> Option<Dns> {
    let table = value.table(&keys::DNS, "[dns]")?;
    let listen = table.required("listen", "listen = [\"127.0.0.1:5300\"]", read_listen);
    let zones =
        table.required("zones", "zones = \"zones\"", |value| value.filled().map(|path| folder.join(path)));
    let tcp = Tcp { max_connections: 4096, per_client: 64, idle: Duration::from_secs(10) };
    let cookies = Cookies { enabled: true, unverified_udp: 1232 };
    Some(Dns {
        udp_workers: table.or("udp_workers", 0, |value| value.integer(UDP_WORKERS)) as usize,
        max_udp_size: table.or("max_udp_size", 1232, |value| value.integer(UDP_BYTES)) as u16,
        nsid: table.or("nsid", String::new(), |value| read_text(value, "nsid", NSID_BYTES)),
        ecs: table.or("ecs", true, Value::boolean),
        tcp: table.or("tcp", tcp, |value| read_tcp(value, tcp)),
        cookies: table.or("cookies", cookies, |value| read_cookies(value, cookies)),
        chaos: table.or("chaos", Chaos::default(), read_chaos),
        rate_limit: table.optional("rate_limit", read_rate_limit),
        dnstap: table.optional("dnstap", |value| read_dnstap(value, folder)),
        listen: listen?,
        zones: zones?,
    })
}

fn read_listen(value: &Value<'_, '_>) -> Option<Vec<SocketAddr>> {
    let mut listen: Vec<(SocketAddr, Range<usize>)> = Vec::new();
    let items = value.items().map_or_else(|| value.wrong_type("a list of addresses in [ ]"), Some)?;
    for item in &items {
        let Some(address) = read_socket(item) else { continue };
        // Port 0 asks the system for a free one, so two of them are two.
        match listen.iter().find(|(other, _)| *other == address && address.port() != 0) {
            Some((_, first)) => item.reader().conflict(
                item.span(),
                format!("{address} is listed twice"),
                "keep one of the two",
                (first.clone(), "first here"),
            ),
            None => listen.push((address, item.span())),
        }
    }
    if items.is_empty() {
        return value
            .refuse("`listen` names no address", "write, for example: listen = [\"127.0.0.1:5300\"]");
    }
    Some(listen.into_iter().map(|(address, _)| address).collect())
}

/// A text of at most that many bytes, which goes into answers.
fn read_text(value: &Value<'_, '_>, key: &str, most: usize) -> Option<String> {
    let text = value.string()?;
    if text.len() > most {
        return value.refuse(format!("`{key}` has {} bytes, at most {most} are answered", text.len()), "");
    }
    Some(text)
}

fn read_tcp(value: &Value<'_, '_>, default: Tcp) -> Option<Tcp> {
    let table = value.table(&keys::TCP, "dns.tcp")?;
    let max_connections =
        table.or("max_connections", default.max_connections as u64, |value| value.integer(CONNECTIONS));
    // A default never exceeds what was typed.
    let per_client = table.or("per_client", (default.per_client as u64).min(max_connections), |value| {
        let per_client = value.integer(CONNECTIONS)?;
        if per_client > max_connections {
            return value.refuse(
                format!("`per_client` is {per_client}, more than the {max_connections} connections in all"),
                "lower it, or raise `max_connections`",
            );
        }
        Some(per_client)
    });
    let idle = table.or("idle", default.idle, |value| value.duration(IDLE));
    Some(Tcp { max_connections: max_connections as usize, per_client: per_client as usize, idle })
}

fn read_cookies(value: &Value<'_, '_>, default: Cookies) -> Option<Cookies> {
    let table = value.table(&keys::COOKIES, "dns.cookies")?;
    let unverified = u64::from(default.unverified_udp);
    Some(Cookies {
        enabled: table.or("enabled", default.enabled, Value::boolean),
        unverified_udp: table.or("unverified_udp", unverified, |value| value.integer(UDP_BYTES)) as u16,
    })
}

fn read_chaos(value: &Value<'_, '_>) -> Option<Chaos> {
    let table = value.table(&keys::CHAOS, "dns.chaos")?;
    Some(Chaos {
        id: table.or("id", String::new(), |value| read_text(value, "id", CHAOS_BYTES)),
        version: table.or("version", String::new(), |value| read_text(value, "version", CHAOS_BYTES)),
    })
}

fn read_rate_limit(value: &Value<'_, '_>) -> Option<RateLimit> {
    let default = RateLimit::default();
    let table = value.table(&keys::RATE_LIMIT, "dns.rate_limit")?;
    let per_second =
        table.or("per_second", default.per_second.into(), |value| value.integer(PER_SECOND)) as u32;
    // A default is never below what was typed.
    let burst = table.or("burst", u64::from(default.burst.max(per_second)), |value| {
        let burst = value.integer(PER_SECOND)?;
        if burst < u64::from(per_second) {
            return value.refuse(
                format!("`burst` is {burst}, less than the {per_second} answers of one second"),
                "raise it, or lower `per_second`",
            );
        }
        Some(burst)
    });
    Some(RateLimit {
        per_second,
        burst: burst as u32,
        dry_run: table.or("dry_run", default.dry_run, Value::boolean),
        exempt: table.or("exempt", default.exempt, read_exempt),
    })
}

fn read_exempt(value: &Value<'_, '_>) -> Option<Vec<Network>> {
    let mut networks: Vec<(Network, Range<usize>)> = Vec::new();
    for item in &value.items().map_or_else(|| value.wrong_type("a list of networks in [ ]"), Some)? {
        let Some(network) = parse_network(item) else { continue };
        match networks.iter().find(|(other, _)| *other == network) {
            Some((_, first)) => item.reader().conflict(
                item.span(),
                format!("network {} is listed twice", item.typed()),
                "keep one of the two",
                (first.clone(), "first here"),
            ),
            None => networks.push((network, item.span())),
        }
    }
    Some(networks.into_iter().map(|(network, _)| network).collect())
}

fn read_dnstap(value: &Value<'_, '_>, folder: &Path) -> Option<Dnstap> {
    let table = value.table(&keys::DNSTAP, "dns.dnstap")?;
    let socket = table.required("socket", "socket = \"/run/dnstap.sock\"", |value| {
        let path = folder.join(value.filled()?);
        let len = path.as_os_str().len();
        if len > SOCKET_PATH_BYTES {
            return value.refuse(
                format!("the path of a Unix socket has at most {SOCKET_PATH_BYTES} bytes, this one {len}"),
                "put the socket into a shorter path, for example below /run",
            );
        }
        Some(path)
    });
    Some(Dnstap { socket: socket? })
}

impl Default for RateLimit {
    fn default() -> Self {
        let loopback_v4 = Network { addr: IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), len: 8 };
        let loopback_v6 = Network { addr: IpAddr::V6(Ipv6Addr::LOCALHOST), len: 128 };
        Self { per_second: 1000, burst: 2500, dry_run: false, exempt: vec![loopback_v4, loopback_v6] }
    }
}
