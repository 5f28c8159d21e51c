//! From the text of `waypost.toml` to a [`Config`]: the order of reading, and what ties the parts together.

use std::ops::RangeInclusive;
use std::path::Path;

use super::diagnostic::Diagnostic;
use super::reader::{Env, Reader, Table, Value};
use super::{Config, Log, LogFormat, LogLevel, Places, dns, keys, probes, regions, sections, services};

/// The only `version` there is.
const VERSION: u64 = 1;

/// Letters of a node's name.
const NODE_LETTERS: RangeInclusive<usize> = 1..=255;

impl Config {
    /// Reads `waypost.toml`: its text, where it lies, the environment, the machine's name. Touches nothing else:
    /// whether zones and geo file are there is the loader's matter.
    ///
    /// Errors: everything that is wrong, in file order.
    pub fn parse(
        text: &str,
        path: &Path,
        env: &dyn Fn(&str) -> Option<String>,
        hostname: &str,
    ) -> Result<Self, Vec<Diagnostic>> {
        let env: Env<'_> = env;
        let (root, reader) = Reader::open(text, path, Some(env));
        let config = read(&Table::top(&reader, &root, &keys::TOP), &reader, path, hostname);
        let warnings = reader.finish()?;
        // Nothing was wrong, so everything was read; the other case would be a fault of the reading itself.
        config.map(|config| Self { warnings, ..config }).ok_or_else(|| {
            vec![Diagnostic::error(
                path,
                Default::default(),
                "the file could not be read",
                "report this as a bug",
            )]
        })
    }
}

fn read(top: &Table<'_, '_>, reader: &Reader<'_>, path: &Path, hostname: &str) -> Option<Config> {
    let folder = path.parent().unwrap_or(Path::new(""));
    top.required("version", "version = 1", read_version);
    let declared =
        top.required("routing", "[routing] with fallback = [\"cn\", \"eu\", \"us\"]", regions::read_fallback);
    let names = declared.as_ref();
    let region_rules = regions::read_rules(top, names);
    let geo = top.optional("geo", |value| sections::read_geo(value, folder, names));
    let dns = top.optional("dns", |value| dns::read_dns(value, folder));
    let probes = top.or("probes", Vec::new(), |value| Some(probes::read(value, folder, names)));
    let services = top.or("services", Vec::new(), |value| Some(services::read(value, names, &probes)));
    services::check_against_probes(reader, &services, &probes, names);

    if let (Some(dns), None, false) = (top.get("dns"), top.get("geo"), reader.damaged()) {
        let hint = "add [geo] with `database` and `unmapped`: answers depend on where a client is";
        reader.error(dns.key_span(), "[dns] needs [geo], and the file has none", hint);
    }
    if top.get("dns").is_none() {
        let hint = "add [dns] with `listen` and `zones`";
        reader.warn(0..0, "this node answers nobody: the file has no [dns]", hint);
    }
    if let (Some(regions), true) = (names, top.get("geo").is_some()) {
        let unmapped = geo.as_ref().map(|geo| geo.unmapped);
        regions::warn_about_rules(top, regions, &region_rules, unmapped);
    }
    let places = Places {
        database: place_of(top, reader, "geo", "database"),
        zones: place_of(top, reader, "dns", "zones"),
        services: services.iter().map(|service| reader.place(service.span.clone())).collect(),
    };
    Some(Config {
        path: path.to_owned(),
        node: top.optional("node", read_node).unwrap_or_else(|| hostname.to_owned()),
        state_dir: sections::read_path(top, "state_dir", "state", folder),
        admin_file: sections::read_path(top, "admin_file", "admin.toml", folder),
        log: top.or("log", Log { level: LogLevel::Info, format: LogFormat::Text }, sections::read_log),
        regions: declared?,
        region_rules,
        geo,
        dns,
        probes: probes.into_iter().map(|probe| probe.probe).collect(),
        services: services.into_iter().map(|service| service.service).collect(),
        admin: sections::read_admin(top)?,
        places,
        warnings: Vec::new(),
    })
}

fn read_version(value: &Value<'_, '_>) -> Option<()> {
    match value.integer(0..=u64::MAX)? {
        VERSION => Some(()),
        other => value.refuse(
            format!("`version` is {other}, this program reads version {VERSION}"),
            "write version = 1",
        ),
    }
}

fn read_node(value: &Value<'_, '_>) -> Option<String> {
    let node = value.filled()?;
    if !NODE_LETTERS.contains(&node.len()) {
        return value.refuse("`node` is longer than 255 letters", "");
    }
    Some(node)
}

/// Where `key` of `[table]` has its value.
fn place_of(
    top: &Table<'_, '_>,
    reader: &Reader<'_>,
    table: &'static str,
    key: &str,
) -> Option<super::Place> {
    let entries = top.get(table)?;
    if !entries.is_table() {
        return None;
    }
    entries.entries()?.iter().find(|entry| entry.key() == key).map(|entry| reader.place(entry.span()))
}
