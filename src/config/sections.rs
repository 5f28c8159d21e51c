//! The plain tables: `[log]`, `[geo]`, `[admin]`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::region::Regions;

use super::reader::{Table, Value};
use super::regions::read_region;
use super::{Admin, Geo, Log, LogFormat, LogLevel, keys};

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

/// An address with a port.
pub(super) fn read_socket(value: &Value<'_, '_>) -> Option<SocketAddr> {
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
