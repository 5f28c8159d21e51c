//! Which keys stand where: the one list that readers, hints and "belongs to" messages share.

/// A table of the file: how it is called, what it may hold.
#[derive(Debug)]
pub(super) struct Section {
    /// As people write it.
    pub title: &'static str,
    /// What it may hold.
    pub keys: &'static [&'static str],
    /// What the documentation names and this version does not do, with the words for it.
    pub later: &'static [(&'static str, &'static str)],
}

impl Section {
    /// How the table is written where `key` has something else: `typed`, when that is a string.
    pub(super) fn form(&self, key: &str, typed: Option<&str>) -> String {
        match (typed, self.keys) {
            _ if self.title.starts_with('[') => {
                format!("write {} as a line of its own, its keys below it", self.title)
            }
            (Some(typed), [only]) => format!("write `{key} = {{ {only} = \"{typed}\" }}`"),
            (_, keys) => format!("write `{key} = {{ … }}` with keys of {}", keys.join(", ")),
        }
    }
}

pub(super) const TOP: Section = Section {
    title: "the top of the file",
    keys: &[
        "version",
        "node",
        "state_dir",
        "admin_file",
        "log",
        "routing",
        "regions",
        "geo",
        "dns",
        "probes",
        "services",
        "admin",
    ],
    later: &[("split", "the HTTP split")],
};
pub(super) const LOG: Section = plain("[log]", &["level", "format"]);
pub(super) const ROUTING: Section = plain("[routing]", &["fallback"]);
pub(super) const REGION: Section = plain(
    "[regions.NAME]",
    &["countries", "continents", "networks", "capacity", "load", "failback", "location"],
);
pub(super) const LOCATION: Section = plain("location", &["lat", "lon"]);
pub(super) const GEO: Section = plain("[geo]", &["database", "unmapped", "max_moved"]);
pub(super) const DNS: Section = plain(
    "[dns]",
    &[
        "listen",
        "zones",
        "udp_workers",
        "max_udp_size",
        "nsid",
        "ecs",
        "tcp",
        "cookies",
        "chaos",
        "rate_limit",
        "dnstap",
    ],
);
pub(super) const TCP: Section = plain("dns.tcp", &["max_connections", "per_client", "idle"]);
pub(super) const CHAOS: Section = plain("dns.chaos", &["id", "version"]);
pub(super) const RATE_LIMIT: Section = plain("dns.rate_limit", &["per_second", "burst", "dry_run", "exempt"]);
pub(super) const DNSTAP: Section = plain("dns.dnstap", &["socket"]);
pub(super) const COOKIES: Section = plain("dns.cookies", &["enabled", "unverified_udp"]);
pub(super) const PROBE: Section = Section {
    title: "[[probes]]",
    keys: &[
        "name",
        "type",
        "per",
        "interval",
        "fast_interval",
        "timeout",
        "fall",
        "rise",
        "cooldown",
        "impact",
        "targets",
        "url",
        "host",
        "method",
        "headers",
        "status",
        "body",
        "json",
        "address",
        "command",
        "path",
        "max_age",
    ],
    later: &[
        ("writable", DATABASES),
        ("grace", DATABASES),
        ("password_file", DATABASES),
        ("lag", DATABASES),
        ("replicas", DATABASES),
    ],
};
pub(super) const JSON: Section = plain("json", &["path", "degraded", "failed"]);
pub(super) const SERVICE: Section = plain(
    "[[services]]",
    &["name", "ttl", "ttl_min", "requires", "all_down", "up_share", "endpoints", "cname"],
);
pub(super) const ENDPOINT: Section = plain("an endpoint", &["address", "probe"]);
pub(super) const ADMIN: Section = Section {
    title: "[admin]",
    keys: &["listen", "metrics_per_service"],
    later: &[("tokens", "access by token"), ("tls", "TLS on the admin listener")],
};

pub(super) const ADMIN_FILE: Section = plain("the top of the admin file", &["drain", "force", "emergency"]);
pub(super) const DRAIN: Section = plain("[[drain]]", &["region", "service", "from", "until", "reason"]);
pub(super) const FORCE: Section =
    plain("[[force]]", &["region", "state", "service", "from", "until", "reason"]);
pub(super) const EMERGENCY: Section = plain("[[emergency]]", &["reason", "backend"]);

/// Words for what database probes will bring.
pub(super) const DATABASES: &str = "the probing of databases";

/// The tables of `waypost.toml` in which a misplaced key is looked for.
const HOMES: [&Section; 9] = [&TOP, &LOG, &ROUTING, &REGION, &GEO, &DNS, &PROBE, &SERVICE, &ADMIN];

/// The tables of `admin.toml`.
const ADMIN_SECTIONS: [&Section; 4] = [&ADMIN_FILE, &DRAIN, &FORCE, &EMERGENCY];

/// The other tables of the same file that hold a key of this name.
pub(super) fn homes_of(key: &str, not: &Section) -> Vec<&'static str> {
    if ADMIN_SECTIONS.iter().any(|section| section.title == not.title) {
        return Vec::new();
    }
    let holds = |section: &&&Section| section.title != not.title && section.keys.contains(&key);
    HOMES.iter().filter(holds).map(|section| section.title).collect()
}

const fn plain(title: &'static str, keys: &'static [&'static str]) -> Section {
    Section { title, keys, later: &[] }
}
