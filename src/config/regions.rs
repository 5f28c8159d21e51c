//! `[routing]` and `[regions.NAME]`: which regions there are, and who is at home in each.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use crate::region::geo::Network;
use crate::region::iso::{Continent, Country};
use crate::region::{MAX_REGIONS, RegionId, Regions};

use super::nearest::suggest;
use super::reader::{Table, Value};
use super::scalar::{self, NetworkFault};
use super::{RegionRules, keys};

/// Letters of a region's name.
const NAME_LETTERS: RangeInclusive<usize> = 1..=32;
/// Requests per second.
const RATE: RangeInclusive<u64> = 1..=1_000_000_000_000;

/// Address blocks that are read as the IPv4 address inside them, so that no network in them ever matches.
const EMBEDDING: [(&str, &str); 4] = [
    ("::ffff:0:0/96", "IPv4-mapped"),
    ("64:ff9b::/96", "NAT64"),
    ("2002::/16", "6to4"),
    ("2001::/32", "Teredo"),
];

/// `[routing]`: the declared regions, in the order that is scanned.
pub(super) fn read_fallback(value: &Value<'_, '_>) -> Option<Regions> {
    let table = value.table(&keys::ROUTING, "[routing]")?;
    table.required("fallback", "fallback = [\"cn\", \"eu\", \"us\"]", |value| {
        let mut names: Vec<(String, Range<usize>)> = Vec::new();
        value.list(|item| {
            let name = read_region_name(item)?;
            if let Some((_, first)) = names.iter().find(|(other, _)| *other == name) {
                let message = format!("region `{name}` stands in the fallback order twice");
                item.reader().conflict(
                    item.span(),
                    message,
                    "keep one of the two",
                    (first.clone(), "first here"),
                );
                return None;
            }
            names.push((name, item.span()));
            Some(())
        })?;
        if value.items().is_some_and(|items| items.is_empty()) {
            return value.refuse(
                "`fallback` declares no region",
                "name at least one, for example [\"cn\", \"eu\", \"us\"]",
            );
        }
        if names.len() > MAX_REGIONS {
            let message = format!("{} regions are declared, at most {MAX_REGIONS} can be", names.len());
            return value.refuse(message, "");
        }
        if names.len() == 1 {
            value.reader().warn(value.span(), "only one region is declared: nobody can stand in for it", "");
        }
        Regions::new(names.into_iter().map(|(name, _)| name)).ok()
    })
}

/// `[regions.NAME]`, by [`RegionId::index`].
pub(super) fn read_rules(top: &Table<'_, '_>, regions: Option<&Regions>) -> Vec<RegionRules> {
    let mut rules = vec![RegionRules::default(); regions.map_or(0, Regions::count)];
    let Some(tables) = top.get("regions").and_then(|value| value.entries()) else {
        return rules;
    };
    let mut claims = Claims::default();
    for entry in tables {
        let region = regions.and_then(|regions| find_key(regions, &entry));
        let read = read_region_table(&entry, &mut claims);
        let slot = region.and_then(|region| rules.get_mut(region.index()));
        if let (Some(slot), Some(read)) = (slot, read) {
            *slot = read;
        }
    }
    rules
}

/// Says which regions will see no client of their own, and where previews will not know the load.
pub(super) fn warn_about_rules(
    top: &Table<'_, '_>,
    regions: &Regions,
    rules: &[RegionRules],
    unmapped: Option<RegionId>,
) {
    let Some(routing) = top.get("routing") else { return };
    let tables = top.get("regions").and_then(|value| value.entries()).unwrap_or_default();
    for (region, rules) in regions.iter().zip(rules) {
        let name = regions.name(region);
        let place =
            tables.iter().find(|entry| entry.key() == name).map_or(routing.key_span(), Value::key_span);
        let nobody = rules.countries.is_empty() && rules.continents.is_empty() && rules.networks.is_empty();
        if nobody && Some(region) != unmapped {
            routing.reader().warn(
                place.clone(),
                format!(
                    "no client is at home in region `{name}`: it has no countries, continents or networks"
                ),
                format!("add them to [regions.{name}]; without any it only stands in for others"),
            );
        }
        match (rules.load, rules.capacity) {
            (Some(_), None) => routing.reader().warn(
                place,
                format!("region `{name}` has a load but no capacity: what it can take over stays unknown"),
                format!("add `capacity`, in requests per second, to [regions.{name}]"),
            ),
            (Some(load), Some(capacity)) if load > capacity => routing.reader().warn(
                place,
                format!("region `{name}` has a load of {load}, above its capacity of {capacity}"),
                "",
            ),
            _ => {}
        }
    }
}

/// A region's name that must be declared.
pub(super) fn read_region(value: &Value<'_, '_>, regions: Option<&Regions>) -> Option<RegionId> {
    let name = value.string()?;
    find(regions?, &name, value.typed(), value, value.span())
}

/// A key that is the name of a region.
pub(super) fn find_key(regions: &Regions, entry: &Value<'_, '_>) -> Option<RegionId> {
    find(regions, entry.key(), entry.key(), entry, entry.key_span())
}

/// The region of that name, or an error at `span` that shows what was typed.
fn find(
    regions: &Regions,
    name: &str,
    typed: &str,
    value: &Value<'_, '_>,
    span: Range<usize>,
) -> Option<RegionId> {
    if let Ok(region) = regions.find(name) {
        return Some(region);
    }
    let declared: Vec<&str> = regions.iter().map(|region| regions.name(region)).collect();
    let hint = suggest(name, "declared regions", &declared);
    value.reader().error(span, format!("region `{typed}` is not declared in routing.fallback"), hint);
    None
}

/// Which region has claimed what, and where.
#[derive(Default)]
struct Claims {
    codes: BTreeMap<String, (String, Range<usize>)>,
    networks: BTreeMap<Network, (String, Range<usize>)>,
}

fn read_region_table(entry: &Value<'_, '_>, claims: &mut Claims) -> Option<RegionRules> {
    let name = entry.key();
    let table = entry.table(&keys::REGION, format!("[regions.{name}]"))?;
    let country = |text: &str| Country::parse(text);
    let continent = |text: &str| Continent::parse(text);
    Some(RegionRules {
        countries: table.or("countries", Vec::new(), |value| {
            read_codes(
                value,
                name,
                &mut claims.codes,
                "country",
                "ISO 3166-1 codes of two letters, such as \"DE\"",
                country,
            )
        }),
        continents: table.or("continents", Vec::new(), |value| {
            let codes = "the continents are AF, AN, AS, EU, NA, OC, SA";
            read_codes(value, name, &mut claims.codes, "continent", codes, continent)
        }),
        networks: table.or("networks", Vec::new(), |value| {
            value.list(|item| read_network(item, name, &mut claims.networks))
        }),
        capacity: table.optional("capacity", |value| value.integer(RATE)),
        load: table.optional("load", |value| value.integer(0..=*RATE.end())),
        manual_failback: table
            .or("failback", false, |value| value.choice(&[("auto", false), ("manual", true)])),
        location: table.optional("location", |value| {
            let table = value.table(&keys::LOCATION, "location")?;
            let lat =
                table.required("lat", "{ lat = 39.9, lon = 116.4 }", |value| value.number(-90.0..=90.0));
            let lon =
                table.required("lon", "{ lat = 39.9, lon = 116.4 }", |value| value.number(-180.0..=180.0));
            Some((lat?, lon?))
        }),
    })
}

/// Country or continent codes, each claimed by one region only.
/// Codes that people type for countries which have another one.
const MISTAKEN: [(&str, &str); 4] = [("UK", "GB"), ("EN", "GB"), ("EL", "GR"), ("USA", "US")];

fn read_codes<T>(
    value: &Value<'_, '_>,
    region: &str,
    claims: &mut BTreeMap<String, (String, Range<usize>)>,
    what: &'static str,
    hint: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Option<Vec<T>> {
    value.list(|item| {
        let text = item.string()?;
        let Some(code) = parse(&text) else {
            let upper = text.to_ascii_uppercase();
            let meant = MISTAKEN.iter().find(|(typed, _)| what == "country" && *typed == upper);
            let hint = meant.map_or(hint.to_owned(), |(_, code)| format!("did you mean \"{code}\"?"));
            return item.refuse(format!("there is no {what} `{}`", item.typed()), hint);
        };
        let claim = format!("{what} {}", text.to_ascii_uppercase());
        if let Some((owner, first)) = claims.get(&claim) {
            let message = if owner == region {
                format!("{claim} is listed twice")
            } else {
                format!("{claim} is in two regions, `{owner}` and `{region}`")
            };
            item.reader().conflict(
                item.span(),
                message,
                "keep one of the two",
                (first.clone(), "first here"),
            );
            return None;
        }
        claims.insert(claim, (region.to_owned(), item.span()));
        Some(code)
    })
}

fn read_network(
    item: &Value<'_, '_>,
    region: &str,
    claims: &mut BTreeMap<Network, (String, Range<usize>)>,
) -> Option<Network> {
    let network = parse_network(item)?;
    let typed = item.typed();
    if let Some((owner, first)) = claims.get(&network) {
        let message = if owner == region {
            format!("network {typed} is listed twice")
        } else {
            format!("network {typed} is in two regions, `{owner}` and `{region}`")
        };
        item.reader().conflict(item.span(), message, "keep one of the two", (first.clone(), "first here"));
        return None;
    }
    claims.insert(network, (region.to_owned(), item.span()));
    if let Some(form) = embeds_ipv4(network) {
        item.reader().warn(
            item.span(),
            format!(
                "network {typed} never matches: {form} addresses are read as the IPv4 address inside them"
            ),
            "write the IPv4 network instead",
        );
    }
    Some(network)
}

/// Reads a network.
pub(super) fn parse_network(item: &Value<'_, '_>) -> Option<Network> {
    let text = item.string()?;
    let typed = item.typed();
    match scalar::parse_network(&text) {
        Ok(network) => Some(network),
        Err(NetworkFault::HostBits(masked)) => item.refuse(
            format!("network {typed} has bits set beyond its prefix length"),
            format!("did you mean \"{}/{}\"?", masked.addr, masked.len),
        ),
        Err(NetworkFault::NoLength(addr)) => {
            let len = if addr.is_ipv4() { 32 } else { 128 };
            item.refuse(
                format!("network {typed} has no length"),
                format!("for this one address write \"{addr}/{len}\""),
            )
        }
        Err(NetworkFault::TooLong(longest)) => {
            item.refuse(format!("network {typed} has a length above {longest}"), "")
        }
        Err(NetworkFault::Malformed) => {
            let hint = "write an address and a length: \"203.0.113.0/24\", \"2001:db8::/32\"";
            item.refuse(format!("\"{typed}\" is not a network"), hint)
        }
    }
}

/// The name of the form in which addresses of this network hold an IPv4 address.
fn embeds_ipv4(network: Network) -> Option<&'static str> {
    let inside = |block: &str| {
        let Ok(Network { addr, len }) = scalar::parse_network(block) else { return false };
        network.addr.is_ipv6() && network.len >= len && scalar::mask(network.addr, len) == addr
    };
    EMBEDDING.iter().find(|(block, _)| inside(block)).map(|(_, form)| *form)
}

fn read_region_name(item: &Value<'_, '_>) -> Option<String> {
    let name = item.string()?;
    let of_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if NAME_LETTERS.contains(&name.len()) && name.bytes().all(of_name) {
        return Some(name);
    }
    item.refuse(
        format!("\"{}\" can't be the name of a region", item.typed()),
        "write 1 to 32 of the letters a-z, 0-9 and `-`",
    )
}
