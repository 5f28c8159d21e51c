//! The demo's files: a configuration as anybody could write it, the shipped zone, the shipped geo database.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::stage::{REGIONS, WEB_HOSTS, address, db_address};

/// The zone and the geo database that the project ships. They are part of the program (8 MB), so that one that was
/// copied somewhere without its folders still has its demo.
const ZONE: &str = include_str!("../../../zones/gslb.example.com.zone");
const GEO: &[u8] = include_bytes!("../../../geoip/dbip-country.mmdb");

/// The head of the configuration; ports are put in.
const HEAD: &str = r#"# The configuration of `waypost demo`. It is gone when the demo ends: copy it to keep it.

version = 1
node    = "demo"

[log]
level = "error"                       # the demo prints changes itself

[routing]
fallback = ["cn", "eu", "us"]         # eu's users go to cn first, and so do us's

# Who is at home where. The networks let `dig -b` stand for a client without a client subnet.
[regions.cn]
continents = ["AS", "OC"]
networks   = ["127.0.1.0/24"]

[regions.eu]
continents = ["EU", "AF"]
networks   = ["127.0.2.0/24"]

[regions.us]
continents = ["NA", "SA", "AN"]
networks   = ["127.0.3.0/24"]

[geo]
database = "dbip-country.mmdb"
unmapped = "us"

[dns]
listen = ["127.0.0.1:{dns}"]
zones  = "zones"

[admin]
listen = "127.0.0.1:{admin}"

# Are the web endpoints alive? Fast, and back soon, so that there is something to see.
[[probes]]
name          = "web"
type          = "http"
url           = "http://{address}:{web}/healthz"
interval      = "1s"
fast_interval = "500ms"
timeout       = "500ms"
fall          = 2
rise          = 3
cooldown      = "5s"

# Can the region's database be written? Its web endpoints do not know.
[[probes]]
name          = "db"
type          = "http"
per           = "region"
json          = { path = "$.writable", failed = "!= true" }
interval      = "1s"
fast_interval = "500ms"
timeout       = "500ms"
fall          = 2
rise          = 3
cooldown      = "5s"
"#;

/// The services: the addresses of each family in the answers, and whether the database is needed.
const SERVICES: [Service; 2] = [
    Service { name: "www.gslb.example.com", host: 1, requires: r#"["web", "db"]"#, note: "" },
    Service {
        name: "api.gslb.example.com",
        host: 2,
        requires: r#"["web"]"#,
        note: " # only reads: it does not need the database",
    },
];

struct Service {
    name: &'static str,
    /// The tens of the last part of its addresses: 11 and 12, or 21 and 22.
    host: u8,
    requires: &'static str,
    note: &'static str,
}

/// Documentation networks (RFC 5737, RFC 3849) by region.
pub(super) const NETWORKS: [(&str, &str); 3] =
    [("192.0.2.", "2001:db8:c::"), ("198.51.100.", "2001:db8:e::"), ("203.0.113.", "2001:db8:a::")];

/// The ports that the demo has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ports {
    pub(super) dns: u16,
    pub(super) admin: u16,
    pub(super) web: u16,
}

/// Writes zone and geo database.
///
/// Errors: the disk's.
pub(super) fn write_data(folder: &Path) -> io::Result<()> {
    let zones = folder.join("zones");
    fs::create_dir(&zones)?;
    fs::write(zones.join("gslb.example.com.zone"), ZONE)?;
    fs::write(folder.join("dbip-country.mmdb"), GEO)
}

/// Writes the configuration, and says where it is.
///
/// Errors: the disk's.
pub(super) fn write_config(folder: &Path, ports: Ports) -> io::Result<PathBuf> {
    let path = folder.join("waypost.toml");
    fs::write(&path, config(ports))?;
    Ok(path)
}

/// The configuration's text.
pub(super) fn config(ports: Ports) -> String {
    let mut text = HEAD.to_owned();
    for (key, port) in [("{dns}", ports.dns), ("{admin}", ports.admin), ("{web}", ports.web)] {
        text = text.replace(key, &port.to_string());
    }
    text.push_str("[probes.targets]\n");
    for (index, region) in REGIONS.iter().enumerate() {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "{region} = \"http://{}:{}/db\"", db_address(index), ports.web);
    }
    text.push_str(
        "\n# `probe`: documentation addresses answer nobody, so the fake regions on loopback are asked instead.\n",
    );
    for service in SERVICES {
        service.write(&mut text);
    }
    text
}

impl Service {
    fn write(&self, text: &mut String) {
        let Self { name, requires, note, .. } = self;
        let _ = writeln!(text, "[[services]]\nname     = \"{name}\"\nttl      = \"30s\"\nttl_min  = \"5s\"");
        let _ = writeln!(text, "requires = {requires}{note}\n[services.endpoints]");
        for (index, (region, (v4, v6))) in REGIONS.iter().zip(NETWORKS).enumerate() {
            let _ = writeln!(text, "{region} = [");
            for network in [v4, v6] {
                for (number, host) in (1..).zip(WEB_HOSTS) {
                    let answered = format!("{network}{}{number}", self.host);
                    let asked = address(index, host);
                    let _ = writeln!(text, "  {{ address = \"{answered}\", probe = \"{asked}\" }},");
                }
            }
            text.push_str("]\n");
        }
        text.push('\n');
    }
}
