//! The plain tables: `[log]`, `[geo]`, `[dns]`, `[admin]`.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::region::Regions;

use super::reader::{Table, Value};
use super::regions::read_region;
use super::{Admin, Cookies, Dns, Geo, Log, LogFormat, LogLevel, Tcp, keys};

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
/// Where the admin listener listens when nothing is said.
const ADMIN_LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8953);

/// `[log]`.
pub(super) fn read_log(value: &Value<'_, '_>) -> Option<Log> {
    let table = value.table(&keys::LOG, "[log]")?;
    let levels = [
        ("error", LogLevel::Error),
        ("warn", LogLevel::Warn),
        ("info", LogLevel::Info),
        ("debug", LogLevel::Debug),
        ("trace", LogLevel::Trace),
    ];
    let formats = [("text", LogFormat::Text), ("json", LogFormat::Json)];
    Some(Log {
        level: table.or("level", LogLevel::Info, |value| value.choice(&levels)),
        format: table.or("format", LogFormat::Text, |value| value.choice(&formats)),
    })
}

/// `[geo]`.
pub(super) fn read_geo(value: &Value<'_, '_>, folder: &Path, regions: Option<&Regions>) -> Option<Geo> {
    let table = value.table(&keys::GEO, "[geo]")?;
    let database = table.required("database", "database = \"geoip/dbip-country.mmdb\"", |value| {
        value.filled().map(|path| folder.join(path))
    });
    let unmapped = table.required("unmapped", "unmapped = \"us\"", |value| read_region(value, regions));
    let max_moved = table.or("max_moved", 0.2, |value| value.number(0.0..=1.0));
    Some(Geo { database: database?, unmapped: unmapped?, max_moved })
}

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
        nsid: table.or("nsid", String::new(), read_nsid),
        ecs: table.or("ecs", true, Value::boolean),
        tcp: table.or("tcp", tcp, |value| read_tcp(value, tcp)),
        cookies: table.or("cookies", cookies, |value| read_cookies(value, cookies)),
        listen: listen?,
        zones: zones?,
    })
}

/// `[admin]`.
pub(super) fn read_admin(top: &Table<'_, '_>) -> Option<Admin> {
    let default = Admin { listen: ADMIN_LISTEN, metrics_per_service: true };
    let Some(value) = top.get("admin") else {
        return Some(default);
    };
    let table = value.table(&keys::ADMIN, "[admin]")?;
    let listen = table.or("listen", ADMIN_LISTEN, |value| {
        let address = read_socket(value)?;
        if !address.ip().to_canonical().is_loopback() {
            return value.refuse(
                format!("`listen` is {address}, which others can reach: that needs tokens and TLS"),
                "tokens and TLS are not in this version; listen on a loopback address such as \"127.0.0.1:8953\"",
            );
        }
        Some(address)
    });
    let metrics_per_service = table.or("metrics_per_service", true, Value::boolean);
    Some(Admin { listen, metrics_per_service })
}

/// A path at the top of the file, relative ones from the file's folder.
pub(super) fn read_path(top: &Table<'_, '_>, key: &'static str, default: &str, folder: &Path) -> PathBuf {
    folder.join(top.or(key, default.to_owned(), Value::filled))
}

fn read_listen(value: &Value<'_, '_>) -> Option<Vec<SocketAddr>> {
    let mut listen: Vec<(SocketAddr, std::ops::Range<usize>)> = Vec::new();
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

fn read_socket(value: &Value<'_, '_>) -> Option<SocketAddr> {
    let text = value.string()?;
    text.parse().map_or_else(
        |_| {
            value.refuse(
                format!("\"{}\" is not an address with a port", value.typed()),
                "write an IP address and a port: \"127.0.0.1:5300\", \"[::1]:5300\"",
            )
        },
        Some,
    )
}

fn read_nsid(value: &Value<'_, '_>) -> Option<String> {
    let nsid = value.string()?;
    if nsid.len() > NSID_BYTES {
        return value
            .refuse(format!("`nsid` has {} bytes, at most {NSID_BYTES} are answered", nsid.len()), "");
    }
    Some(nsid)
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
    let enabled = table.or("enabled", default.enabled, Value::boolean);
    if enabled {
        // Read, so that a file for a later version serves this one; but nobody may think that it protects him.
        let message = "DNS cookies are not in this version: `cookies` has no effect yet";
        value.reader().warn(value.span(), message, "take `cookies` out, or write `enabled = false`");
    }
    Some(Cookies {
        enabled,
        unverified_udp: table.or("unverified_udp", unverified, |value| value.integer(UDP_BYTES)) as u16,
    })
}
