//! `[[services]]`: the names that are answered by region.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::IpAddr;
use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use crate::region::{AllDown, RegionId, Regions};

use super::nearest::suggest;
use super::reader::{Reader, Table, Value};
use super::scalar::{self, show_duration};
use super::{Answers, Endpoint, Per, Service, keys, probes, regions};

/// A TTL: at least a second (zero makes every client ask again), at most a week.
const TTL: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(7 * 86_400);
/// Addresses of one region.
const MAX_ENDPOINTS: usize = 256;

const ENDPOINTS_EXAMPLE: &str = "[services.endpoints] with cn = [\"192.0.2.11\"]";

/// A service with what the checks across tables need.
pub(super) struct Read {
    /// The service.
    pub service: Service,
    /// Its name's place.
    pub span: Range<usize>,
    /// Places of the names in `requires`; empty when it says nothing.
    requires: Vec<Range<usize>>,
}

impl Read {
    /// The regions that it lists.
    fn regions(&self) -> Vec<RegionId> {
        match &self.service.answers {
            Answers::Endpoints(regions) => regions.iter().map(|(region, _)| *region).collect(),
            Answers::Cname(regions) => regions.iter().map(|(region, _)| *region).collect(),
        }
    }
}

/// Every service of the file.
pub(super) fn read(value: &Value<'_, '_>, regions: Option<&Regions>, probes: &[probes::Read]) -> Vec<Read> {
    let mut services: Vec<Read> = Vec::new();
    let mut names: BTreeMap<String, Range<usize>> = BTreeMap::new();
    for table in value.tables(&keys::SERVICE) {
        let Some(read) = read_service(&table, regions, probes) else { continue };
        match names.entry(read.service.name.clone()) {
            Entry::Vacant(entry) => _ = entry.insert(read.span.clone()),
            Entry::Occupied(entry) => {
                let message = format!("two services are called `{}`", read.service.name);
                let hint = "give each its own name; letter case and a trailing dot do not matter";
                let other = (entry.get().clone(), "the other one");
                value.reader().conflict(read.span.clone(), message, hint, other);
            }
        }
        services.push(read);
    }
    services
}

/// What services and probes say about each other.
pub(super) fn check_against_probes(
    reader: &Reader<'_>,
    services: &[Read],
    probes: &[probes::Read],
    regions: Option<&Regions>,
) {
    for (index, read) in probes.iter().enumerate() {
        let (probe, users) =
            (&read.probe, services.iter().filter(|service| service.service.requires.contains(&index)));
        if users.clone().next().is_none() && !reader.damaged() {
            let message = format!("probe `{}` is never run: no service requires it", probe.name);
            reader.warn(read.span.clone(), message, "add it to a service's `requires`, or take it out");
        }
        let (Some(regions), Per::Region, false) = (regions, probe.per, read.by_region) else { continue };
        let wanted = users.flat_map(Read::regions);
        let lacking = |region: &RegionId| !probe.targets.iter().any(|(target, _)| target == region);
        let mut missing: Vec<RegionId> = wanted.filter(lacking).collect();
        missing.sort_unstable();
        missing.dedup();
        if !missing.is_empty() && !reader.damaged() {
            let names: Vec<&str> = missing.iter().map(|&region| regions.name(region)).collect();
            let message = format!("probe `{}` has no target for {}", probe.name, names.join(", "));
            let hint = "add it to [probes.targets]: services that require the probe have endpoints there";
            reader.error(read.span.clone(), message, hint);
        }
    }
    for service in services.iter().filter(|service| matches!(service.service.answers, Answers::Cname(_))) {
        for (&probe, span) in service.service.requires.iter().zip(&service.requires) {
            if probes.get(probe).is_some_and(|read| read.probe.per == Per::Endpoint) {
                reader.warn(
                    span.clone(),
                    "this probe has nothing to ask here: it runs per endpoint, and an alias has none",
                    "require a probe with per = \"region\"",
                );
            }
        }
    }
}

fn read_service(table: &Table<'_, '_>, regions: Option<&Regions>, probes: &[probes::Read]) -> Option<Read> {
    let mut place = None;
    let name = table.required("name", "name = \"www.gslb.example.com\"", |value| {
        place = Some((value.span(), value.reader().place(value.span()).line));
        read_name(value)
    });
    let (ttl_s, ttl_min_s) = read_ttls(table);
    let mut required = Vec::new();
    let every = (0..probes.len()).collect();
    let requires = table.or("requires", every, |value| read_requires(value, probes, &mut required));
    let all_down = table.or("all_down", AllDown::Home, |value| {
        value.choice(&[("home", AllDown::Home), ("all", AllDown::All), ("servfail", AllDown::Servfail)])
    });
    let up_share = table.or("up_share", 0.5, |value| {
        let share = value.number(0.0..=1.0)?;
        if share == 0.0 {
            return value.refuse(
                "`up_share` is 0, it is above 0 and at most 1",
                "at least one endpoint always has to be up",
            );
        }
        Some(share)
    });
    let answers = read_answers(table, name.as_deref().unwrap_or("this service"), regions);
    let (span, line) = place?;
    // A faulty one is kept, so that its probes do not count as unused.
    let answers = answers.unwrap_or(Answers::Endpoints(Vec::new()));
    let service = Service { name: name?, line, ttl_s, ttl_min_s, requires, all_down, up_share, answers };
    Some(Read { service, span, requires: required })
}

fn read_name(value: &Value<'_, '_>) -> Option<String> {
    let text = value.string()?;
    match scalar::parse_name(&text) {
        Ok(name) => Some(name),
        Err(fault) => {
            let hint = if text.is_ascii() {
                ""
            } else {
                "write it in its ASCII form, with labels that begin with xn--"
            };
            value.refuse(format!("the name \"{}\" {fault}", value.typed()), hint)
        }
    }
}

fn read_ttls(table: &Table<'_, '_>) -> (u32, u32) {
    let ttl = table.or("ttl", Duration::from_secs(30), |value| read_ttl(value));
    // A default never exceeds what was typed.
    let ttl_min = table.or("ttl_min", Duration::from_secs(5).min(ttl), |value| {
        let ttl_min = read_ttl(value)?;
        if ttl_min > ttl {
            let [ttl_min, ttl] = [ttl_min, ttl].map(show_duration);
            return value.refuse(
                format!("`ttl_min` is {ttl_min}, longer than the `ttl` of {ttl}"),
                "`ttl_min` holds while something is changing: make it the shorter one",
            );
        }
        Some(ttl_min)
    });
    (ttl.as_secs() as u32, ttl_min.as_secs() as u32)
}

fn read_ttl(value: &Value<'_, '_>) -> Option<Duration> {
    let ttl = value.duration(TTL)?;
    if ttl.subsec_nanos() != 0 {
        return value
            .refuse(format!("`{}` is {}, DNS counts whole seconds", value.key(), show_duration(ttl)), "");
    }
    Some(ttl)
}

fn read_requires(
    value: &Value<'_, '_>,
    probes: &[probes::Read],
    places: &mut Vec<Range<usize>>,
) -> Option<Vec<usize>> {
    let mut required: Vec<usize> = Vec::new();
    value.list(|item| {
        let name = item.string()?;
        let Some(index) = probes.iter().position(|read| read.probe.name == name) else {
            if item.reader().damaged() {
                return None;
            }
            let names: Vec<&str> = probes.iter().map(|read| read.probe.name.as_str()).collect();
            return item
                .refuse(format!("there is no probe `{}`", item.typed()), suggest(&name, "probes", &names));
        };
        if let Some(first) = required.iter().position(|&other| other == index) {
            let other = (places.get(first).cloned().unwrap_or_default(), "first here");
            item.reader().conflict(
                item.span(),
                format!("probe `{name}` is required twice"),
                "keep one of the two",
                other,
            );
            return None;
        }
        required.push(index);
        places.push(item.span());
        Some(())
    })?;
    Some(required)
}

fn read_answers(table: &Table<'_, '_>, name: &str, regions: Option<&Regions>) -> Option<Answers> {
    match (table.get("endpoints"), table.get("cname")) {
        (Some(endpoints), Some(cname)) => {
            let message =
                format!("{name} has both endpoints and an alias: a name that is an alias has nothing else");
            let other = (endpoints.key_span(), "the endpoints");
            cname.reader().conflict(cname.key_span(), message, "keep one of the two", other);
            None
        }
        (Some(endpoints), None) => read_endpoints(&endpoints, name, regions).map(Answers::Endpoints),
        (None, Some(cname)) => read_cname(&cname, name, regions).map(Answers::Cname),
        (None, None) => {
            table.required("endpoints", ENDPOINTS_EXAMPLE, |_| Some(()));
            None
        }
    }
}

fn read_endpoints(
    value: &Value<'_, '_>,
    name: &str,
    regions: Option<&Regions>,
) -> Option<Vec<(RegionId, Vec<Endpoint>)>> {
    let mut listed: Vec<(RegionId, Vec<Endpoint>, Range<usize>)> = Vec::new();
    let entries = value.entries()?;
    let mut whole = true;
    for entry in &entries {
        let region = regions.and_then(|regions| regions::find_key(regions, entry));
        let endpoints = read_region_endpoints(entry);
        whole &= endpoints
            .as_ref()
            .is_some_and(|read| entry.items().is_some_and(|items| items.len() == read.len()));
        if let (Some(region), Some(endpoints)) = (region, endpoints) {
            listed.push((region, endpoints, entry.key_span()));
        }
    }
    if entries.is_empty() {
        let message = format!("{name} has no endpoints");
        value.reader().error(value.key_span(), message, format!("write, for example: {ENDPOINTS_EXAMPLE}"));
    }
    if whole && let Some(regions) = regions {
        check_families(value, name, regions, &listed);
        warn_about_endpoints(value, name, regions, &listed);
    }
    Some(listed.into_iter().map(|(region, endpoints, _)| (region, endpoints)).collect())
}

/// Per address family every listed region has addresses or none has: else an answer would depend on place in whether
/// it is there at all.
fn check_families(
    value: &Value<'_, '_>,
    name: &str,
    regions: &Regions,
    listed: &[(RegionId, Vec<Endpoint>, Range<usize>)],
) {
    for (family, is_v4) in [("IPv4", true), ("IPv6", false)] {
        let has =
            |endpoints: &[Endpoint]| endpoints.iter().any(|endpoint| endpoint.address.is_ipv4() == is_v4);
        let Some((with, _, place)) = listed.iter().find(|(_, endpoints, _)| has(endpoints)) else { continue };
        for (without, endpoints, span) in listed {
            if endpoints.is_empty() || has(endpoints) {
                continue;
            }
            let (with, without) = (regions.name(*with), regions.name(*without));
            value.reader().conflict(
                span.clone(),
                format!("{name} has {family} addresses in region `{with}` and none in `{without}`"),
                format!("add an {family} address to `{without}`, or leave {family} out everywhere"),
                (place.clone(), "has some"),
            );
        }
    }
}

fn warn_about_endpoints(
    value: &Value<'_, '_>,
    name: &str,
    regions: &Regions,
    listed: &[(RegionId, Vec<Endpoint>, Range<usize>)],
) {
    if let ([(region, _, span)], true) = (listed, regions.count() > 1) {
        let message =
            format!("{name} is in region `{}` alone: nobody can stand in for it", regions.name(*region));
        value.reader().warn(span.clone(), message, "add endpoints in another region");
    }
    for (index, (region, endpoints, span)) in listed.iter().enumerate() {
        for (other, others, _) in listed.iter().take(index) {
            let shared = |one: &&Endpoint| others.iter().any(|other| other.address == one.address);
            if let Some(one) = endpoints.iter().find(shared) {
                let (region, other) = (regions.name(*region), regions.name(*other));
                let message = format!("{name} has {} in two regions, `{other}` and `{region}`", one.address);
                value.reader().warn(
                    span.clone(),
                    message,
                    "when one of the two fails the other is the same machine",
                );
            }
        }
    }
}

fn read_region_endpoints(entry: &Value<'_, '_>) -> Option<Vec<Endpoint>> {
    let mut endpoints: Vec<(Endpoint, Range<usize>)> = Vec::new();
    let region = entry.key();
    entry.list(|item| {
        let endpoint = read_endpoint(item)?;
        if let Some((_, first)) = endpoints.iter().find(|(other, _)| other.address == endpoint.address) {
            let message = format!("{} stands twice in region `{region}`", endpoint.address);
            item.reader().conflict(
                item.span(),
                message,
                "keep one of the two",
                (first.clone(), "first here"),
            );
            return None;
        }
        endpoints.push((endpoint, item.span()));
        Some(())
    })?;
    if entry.items().is_some_and(|items| items.is_empty()) {
        return entry.refuse(
            format!("region `{region}` is listed without an address"),
            "add one, or leave the region out: it is then passed over",
        );
    }
    if endpoints.len() > MAX_ENDPOINTS {
        let message =
            format!("region `{region}` has {} addresses, at most {MAX_ENDPOINTS} go", endpoints.len());
        return entry.refuse(message, "");
    }
    Some(endpoints.into_iter().map(|(endpoint, _)| endpoint).collect())
}

/// `"192.0.2.1"` or `{ address = …, probe = … }`.
fn read_endpoint(item: &Value<'_, '_>) -> Option<Endpoint> {
    if !item.is_table() {
        let address = read_address(item)?;
        return Some(Endpoint { address, probe: address });
    }
    let table = item.table(&keys::ENDPOINT, "an endpoint")?;
    let address =
        table.required("address", "{ address = \"192.0.2.11\", probe = \"10.0.0.11\" }", read_address);
    let probe = table.optional("probe", read_address);
    let address = address?;
    Some(Endpoint { address, probe: probe.unwrap_or(address) })
}

fn read_address(value: &Value<'_, '_>) -> Option<IpAddr> {
    let text = value.string()?;
    let typed = value.typed();
    let Ok(address) = text.parse::<IpAddr>() else {
        let hint = if text.contains('/') {
            "write one address, without a length"
        } else if text.parse::<std::net::SocketAddr>().is_ok() {
            "write the address alone: DNS answers have no ports; the port belongs into the probe's template"
        } else {
            "write an IPv4 or IPv6 address; for a name use [services.cname]"
        };
        return value.refuse(format!("\"{typed}\" is not an IP address"), hint);
    };
    if address.to_canonical() != address {
        return value.refuse(
            format!("{typed} is an IPv4 address in IPv6 clothes"),
            format!("write \"{}\"", address.to_canonical()),
        );
    }
    let broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    if address.is_unspecified() || address.is_multicast() || broadcast {
        return value.refuse(format!("{typed} is not the address of a host"), "");
    }
    Some(address)
}

fn read_cname(
    value: &Value<'_, '_>,
    name: &str,
    regions: Option<&Regions>,
) -> Option<Vec<(RegionId, String)>> {
    let mut aliases = Vec::new();
    let entries = value.entries()?;
    for entry in &entries {
        let region = regions.and_then(|regions| regions::find_key(regions, entry));
        aliases.extend(region.zip(read_target(entry, name)));
    }
    let regions = regions?;
    let lacking = |region: &RegionId| !entries.iter().any(|entry| entry.key() == regions.name(*region));
    let missing: Vec<&str> = regions.iter().filter(lacking).map(|region| regions.name(region)).collect();
    if !missing.is_empty() {
        let message = format!("{name} has no alias for {}", missing.join(", "));
        value.reader().error(value.key_span(), message, "an alias is needed for every region");
    }
    Some(aliases)
}

fn read_target(entry: &Value<'_, '_>, name: &str) -> Option<String> {
    let text = entry.string()?;
    let target = match scalar::parse_name(&text) {
        Ok(target) => target,
        Err(fault) => return entry.refuse(format!("the name \"{}\" {fault}", entry.typed()), ""),
    };
    if target.starts_with('*') {
        return entry.refuse(format!("\"{}\" is a wildcard: an alias leads to one name", entry.typed()), "");
    }
    if !target.contains('.') {
        return entry.refuse(
            format!("\"{}\" is not a whole name", entry.typed()),
            "write it down to the top: \"cn.cdn.example.net.\"",
        );
    }
    if target == name {
        return entry.refuse(format!("{name} is an alias of itself"), "");
    }
    Some(target)
}
