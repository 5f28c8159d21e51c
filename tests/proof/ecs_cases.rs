//! Situations that other servers' tests describe (`tests/cases/gslb_ecs.json`), put to ours.
//!
//! Every case is in exactly one list: put to the wire as it stands; put to it in words of its own, since what it asks
//! for is said in prose or we decided otherwise; or left out, with the rule or the reason.

mod special;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use waypost::config::admin::{AdminFile, Entry, Forced};
use waypost::control::inputs::Orders;
use waypost::control::model::{Model, Remembered};
use waypost::control::plan::{Check, EndpointPlan, Plan, RegionPlan, ServicePlan};
use waypost::control::publish::{DnsParts, Press};
use waypost::dns::zone::{BoundService, ZoneFile, Zones};
use waypost::dns::{Transport, View, Worker};
use waypost::health::{Impact, Level};
use waypost::region::AllDown;
use waypost::region::geo::{Database, GeoTable, Network, Rules, Subnet};
use waypost::region::iso::{Continent, Country};

use crate::day::load;
use crate::world::{Wire, after_ms, ask_over, ecs_value, settings};

/// Cases that are not `direct`, and hold here as they stand all the same.
const AS_THEY_STAND: [&str; 8] =
    ["g-cname-na", "g-cname-eu", "n-v6-5", "n-v6-6", "n-v6-7", "r-best-v6-over-v6", "md-v6-06", "md-v6-07"];

/// Cases that do not apply, or that a rule decides otherwise; what we do instead is tested in [`special`] or where the
/// reason says.
const LEFT_OUT: [(&str, &str); 30] = [
    (
        "g-pinned-ap",
        "R5: a service cannot change the order; one that is in a single region has that region's scope",
    ),
    ("g-nested-default", "services do not nest"),
    ("g-skip-first-eu", "R5: no order of its own for a location"),
    ("g-weighted-one", "A2: all addresses that are up are answered, turned; no weights in DNS"),
    ("n-v6-4", "G2: the embedding forms are IPv4-mapped, 6to4, NAT64, Teredo; SIIT is IPv6"),
    ("n-all6", "G2: an IPv6 network never covers IPv4"),
    ("p-tcp-connect", "about probes: see the probes' own tests"),
    ("u-weighted-low", "A2: no weights in DNS; up_share is a share of addresses"),
    ("u-ignore-health-1down", "A2: above up_share only the addresses that are up are answered"),
    ("w-single", "A2: no weights in DNS"),
    ("w-cname", "A2: no weights in DNS"),
    ("w-multi", "A2: no weights in DNS"),
    ("m-inner-failed", "services do not nest"),
    ("m-two-levels", "services do not nest"),
    ("a-sequence", "interface 2: orders are about regions and services, not addresses, and set no TTL (A3)"),
    ("a-delete-file", "interface 2: deleting the file changes nothing; see the admin file's own tests"),
    ("x-file-direct-2", "A3: a state file sets no TTL"),
    ("x-cmd-up", "about probes: see the probes' own tests"),
    ("x-cmd-timeout", "about probes: see the probes' own tests"),
    ("l-string-match", "about probes: see the probes' own tests"),
    ("l-expected-404", "about probes: see the probes' own tests"),
    ("l-bad-header", "about probes: see the probes' own tests"),
    ("l-closest-1", "G2: networks, countries, continents; no distances"),
    ("l-closest-2", "G2: networks, countries, continents; no distances"),
    ("l-hash-stable", "A2: all addresses that are up are answered, turned by the query's id"),
    ("l-view-no-match", "G2: `unmapped` is required, so there is always a home"),
    ("md-v6-10", "G2: NAT64 is read as the IPv4 address inside, whatever the file says"),
    (
        "a-down-plus-real-down",
        "R4: an address forced down counts as drained: the failed one goes before it (special)",
    ),
    ("l-sets-first-with-up", "R3: others' users go to a healthy region before a degraded one (special)"),
    ("k-no-shadow", "A4: other types than the service's own may stand beside it (special)"),
];

#[test]
fn every_case_is_answered_as_it_says_or_as_our_rules_say() {
    let text = include_str!("../cases/gslb_ecs.json");
    let file: Value = serde_json::from_str(text).unwrap();
    let (mut done, mut left_out, mut skipped) = (0, 0, 0);
    for case in file["cases"].as_array().unwrap() {
        let id = case["id"].as_str().unwrap();
        let listed = LEFT_OUT.iter().any(|(known, _)| *known == id);
        let special = special::CASES.iter().find(|(known, _)| *known == id);
        let plain = case["applies"] == "direct" && special.is_none() || AS_THEY_STAND.contains(&id);
        match (listed, special, plain) {
            (true, _, false) => left_out += 1,
            (false, Some((_, show)), false) => {
                show();
                done += 1;
            }
            (false, None, true) => match Stage::of(case, &file["worlds"]) {
                Some(stage) => {
                    stage.show(case);
                    done += 1;
                }
                None => skipped += 1,
            },
            _ => panic!("{id} is in no list, or in two"),
        }
    }
    for (id, show) in special::CASES.iter().filter(|(id, _)| LEFT_OUT.iter().any(|(known, _)| known == id)) {
        println!("{id}: what we do instead");
        show();
    }
    if skipped > 0 {
        println!("{skipped} cases left out: ../shared/cases/mmdb/GeoLite2-Country-Test.mmdb is not there");
    }
    assert_eq!(done + left_out + skipped, file["cases"].as_array().unwrap().len());
    assert!(done + skipped >= 55 && left_out == LEFT_OUT.len(), "{done} done, {left_out} left out");
}

/// One region's data: addresses, or an alias.
#[derive(Clone, Debug)]
pub(super) enum Pool {
    Addresses(Vec<IpAddr>),
    Alias(String),
}

/// A case made real: a service `svc.example.com` in some regions.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    /// In fallback order.
    pub(super) regions: Vec<String>,
    /// By region.
    pub(super) pools: BTreeMap<String, Pool>,
    /// Which networks are at home where.
    pub(super) networks: Vec<(String, String)>,
    pub(super) unmapped: String,
    /// Regions or addresses whose checks have failed.
    pub(super) down: Vec<String>,
    /// Regions that operators force.
    pub(super) forced: Vec<(String, Forced)>,
    pub(super) all_down: AllDown,
    pub(super) database: Option<Arc<Database>>,
    pub(super) ecs: bool,
    /// Further records of the zone.
    pub(super) records: String,
}

impl Stage {
    /// Regions with nothing else.
    pub(super) fn new(regions: &[&str]) -> Self {
        Self {
            regions: regions.iter().map(|&region| region.to_owned()).collect(),
            pools: BTreeMap::new(),
            networks: Vec::new(),
            unmapped: regions[0].to_owned(),
            down: Vec::new(),
            forced: Vec::new(),
            all_down: AllDown::Home,
            database: None,
            ecs: true,
            records: "static-mx IN MX 10 mail\nmail IN A 192.0.2.200\n".to_owned(),
        }
    }

    /// The stage of a case; absent when the file that it needs is not there.
    fn of(case: &Value, worlds: &Value) -> Option<Self> {
        let name = case["world"].as_str().unwrap();
        let mut stage = match name {
            "geolite-country-test" => Self::of_geolite()?,
            "none" => Self::of_sets(case),
            "any" => Self::of_world(&worlds["halves"]),
            _ => Self::of_world(&worlds[name]),
        };
        if let Some(pool) = case["pool"].as_object().filter(|_| name != "none") {
            stage.pools = pool.iter().map(|(region, data)| (region.clone(), Pool::of(data))).collect();
        }
        if let Some(health) = case["health"].as_object() {
            let down = health.iter().filter(|(_, state)| *state == "down");
            stage.down = down.map(|(what, _)| what.clone()).collect();
        }
        // Where a case names no data, each region has an address of its own for each family.
        for (number, region) in (1..).zip(&stage.regions) {
            if stage.pools.is_empty() || !stage.pools.contains_key(region) && case["pool"].is_null() {
                let own = [format!("192.0.2.{number}"), format!("2001:db8::{number}")];
                let own = own.iter().map(|address| address.parse().unwrap()).collect();
                stage.pools.insert(region.clone(), Pool::Addresses(own));
            }
        }
        Some(stage)
    }

    /// A world of the file: the first region of a network's order is its home.
    fn of_world(world: &Value) -> Self {
        let words = |list: &Value| -> Vec<String> {
            list.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
        };
        let order = words(&world["default_order"]);
        let mut stage = Self::new(&order.iter().map(String::as_str).collect::<Vec<_>>());
        for network in world["networks"].as_array().unwrap() {
            let of_place = |key: &str| network[key].as_str().and_then(|place| world["order"].get(place));
            let list = network.get("order").or_else(|| of_place("country")).or_else(|| of_place("continent"));
            let home = list.map_or_else(|| order[0].clone(), |list| words(list)[0].clone());
            stage.networks.push((network["net"].as_str().unwrap().to_owned(), home));
        }
        if let Some(pools) = world["pools"].as_object() {
            stage.pools = pools.iter().map(|(region, data)| (region.clone(), Pool::of(data))).collect();
            // Each region has both families or none has: the world's own data is IPv4, and AAAA is asked as well.
            for (number, pool) in (1..).zip(stage.pools.values_mut()) {
                if let Pool::Addresses(addresses) = pool {
                    addresses.push(format!("2001:db8::{number}").parse().unwrap());
                }
            }
        }
        stage
    }

    /// Ordered sets of addresses: a region each, in that order.
    fn of_sets(case: &Value) -> Self {
        let one = |address: &Value| Value::Array(vec![address.clone()]);
        let sets: Vec<Value> = match (case["pool"]["sets"].as_array(), case["pool"]["ordered"].as_array()) {
            (Some(sets), _) => sets.clone(),
            (None, Some(ordered)) => ordered.iter().map(one).collect(),
            (None, None) => panic!("{} has no data", case["id"]),
        };
        let names: Vec<String> = (0..sets.len()).map(|number| format!("r{number}")).collect();
        let mut stage = Self::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
        stage.pools = names.iter().cloned().zip(sets.iter().map(Pool::of)).collect();
        stage
    }

    fn of_geolite() -> Option<Self> {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/cases/mmdb/GeoLite2-Country-Test.mmdb");
        let bytes = std::fs::read(path).ok()?;
        let mut stage = Self::new(&["cn", "eu", "us", "default"]);
        stage.unmapped = "default".to_owned();
        stage.database = Some(Arc::new(Database::from_mmdb(bytes).unwrap()));
        Some(stage)
    }

    /// The case's query, and what it expects of the answer.
    fn show(&self, case: &Value) {
        let (id, query, expect) = (&case["id"], &case["query"], &case["expect"]);
        let wire = self.ask(
            query["name"].as_str().unwrap(),
            query["type"].as_str().unwrap(),
            query["source"].as_str().unwrap(),
            query["ecs"].as_str(),
        );
        assert_eq!(wire.rcode, expect["rcode"].as_str().unwrap(), "{id}");
        let region = expect["region"].as_str().or_else(|| expect["order"][0].as_str());
        if let Some(region) = region {
            assert_eq!(self.region_of(&wire), Some(region), "{id}: {wire:?}");
        }
        if let Some(answers) = expect["answers"].as_array() {
            let mut wanted: Vec<&str> = answers.iter().map(|answer| answer.as_str().unwrap()).collect();
            let mut told: Vec<String> = wire
                .answers
                .iter()
                .map(|(rtype, data, _)| match rtype {
                    hickory_proto::rr::RecordType::CNAME => format!("CNAME {data}"),
                    _ => data.clone(),
                })
                .collect();
            wanted.sort_unstable();
            told.sort_unstable();
            assert_eq!(expect["select"], "all", "{id}");
            assert_eq!(told, wanted, "{id}");
        }
        match (&expect["scope"], query["ecs"].as_str()) {
            (Value::Object(range), Some(ecs)) => {
                let scope = u64::from(wire.scope().unwrap());
                let (min, max) = (range["min"].as_u64().unwrap(), range["max"].as_u64().unwrap());
                assert!((min..=max).contains(&scope), "{id}: scope {scope} is not in {min}..={max}");
                // Family, source and address come back as they were sent (RFC 7871 7.2.1).
                let mut echoed = wire.ecs.unwrap();
                echoed[3] = 0;
                assert_eq!(echoed, ecs_value(parse_subnet(ecs)), "{id}");
            }
            (Value::String(absent), _) if absent == "absent" => assert_eq!(wire.ecs, None, "{id}"),
            (_, None) => assert_eq!(wire.ecs, None, "{id}"),
            (other, _) => panic!("{id}: scope {other}"),
        }
    }

    /// Asks over UDP, and over TCP for the same answer.
    pub(super) fn ask(&self, name: &str, rtype: &str, source: &str, ecs: Option<&str>) -> Wire {
        let view = self.view();
        let rtype = match rtype {
            "A" => 1,
            "MX" => 15,
            "AAAA" => 28,
            "ANY" => 255,
            other => panic!("type {other}"),
        };
        let name = if name == "@" { "example.com".to_owned() } else { format!("{name}.example.com") };
        let ecs = ecs.map(|ecs| ecs_value(parse_subnet(ecs)));
        let ask = |transport| {
            let peer: IpAddr = source.parse().unwrap();
            let when = (transport, after_ms(0).mono);
            ask_over(&view, &mut Worker::uncounted(), when, (&name, rtype), peer, ecs.as_deref())
        };
        let wire = ask(Transport::Udp);
        assert_eq!(wire, ask(Transport::Tcp), "the same over TCP");
        wire
    }

    /// The region whose data an answer is.
    pub(super) fn region_of(&self, wire: &Wire) -> Option<&str> {
        let (_, data, _) = wire.answers.first()?;
        let has = |pool: &Pool| match pool {
            Pool::Addresses(addresses) => addresses.iter().any(|address| address.to_string() == *data),
            Pool::Alias(target) => target == data,
        };
        self.pools.iter().find(|(_, pool)| has(pool)).map(|(region, _)| region.as_str())
    }

    /// What the wire sees.
    pub(super) fn view(&self) -> View {
        let plan = self.plan();
        let levels = plan.checks.iter().map(|check| {
            let address = check.address.map(|address| address.to_string());
            let region = plan.region_name(check.region);
            let down = self
                .down
                .iter()
                .any(|what| what == region || Some(what) == address.as_ref() || what == "all");
            Some(if down { Level::Down } else { Level::Up })
        });
        let remembered = Remembered { levels: levels.collect(), ..Remembered::default() };
        let forces = self.forced.iter().map(|(region, forced)| {
            let region = plan.region(region).unwrap();
            let (from_ms, until_ms, reason) = (None, None, String::new());
            (Entry { line: 1, region, service: None, from_ms, until_ms, reason }, *forced)
        });
        let orders = AdminFile { forces: forces.collect(), ..AdminFile::default() };
        let orders = Orders::of(&orders, &plan);
        let model = Model::new(load(plan, &orders), &remembered, after_ms(0));
        let press = Press::new(Some(self.parts(model.plan())), &model, true, after_ms(0));
        press.snapshot(1).view.unwrap()
    }

    fn plan(&self) -> Plan {
        let mut plan = Plan {
            regions: self.regions.clone(),
            manual_failback: vec![false; self.regions.len()],
            ..Plan::default()
        };
        let mut regions = Vec::new();
        for region in plan.region_ids() {
            let listed = self.pools.get(&self.regions[region.index()]).map(|pool| match pool {
                Pool::Alias(target) => {
                    plan.checks.push(Check {
                        probe: "web".into(),
                        region,
                        address: None,
                        impact: Impact::Fail,
                    });
                    let cname = Some(target.trim_end_matches('.').to_owned());
                    RegionPlan { endpoints: Vec::new(), cname, checks: vec![plan.checks.len() as u32 - 1] }
                }
                Pool::Addresses(addresses) => {
                    let endpoints = addresses.iter().map(|&address| {
                        let check = Check {
                            probe: "web".into(),
                            region,
                            address: Some(address),
                            impact: Impact::Fail,
                        };
                        plan.checks.push(check);
                        EndpointPlan { address, checks: vec![plan.checks.len() as u32 - 1] }
                    });
                    RegionPlan { endpoints: endpoints.collect(), ..RegionPlan::default() }
                }
            });
            regions.push(listed);
        }
        let service = |name: &str| ServicePlan {
            name: name.to_owned(),
            ttl_s: 42,
            ttl_min_s: 5,
            all_down: self.all_down,
            up_share: 0.5,
            regions: regions.clone(),
        };
        plan.services = vec![service("svc.example.com"), service("example.com")];
        if self.pools.values().any(|pool| matches!(pool, Pool::Alias(_))) {
            plan.services.pop();
        }
        plan
    }

    fn parts(&self, plan: &Plan) -> DnsParts {
        let listed = |v4: bool| {
            let listed = self.pools.values().filter_map(|pool| match pool {
                Pool::Addresses(addresses) => Some(addresses),
                Pool::Alias(_) => None,
            });
            listed.flatten().any(|address| address.is_ipv4() == v4)
        };
        let cname = self.pools.values().any(|pool| matches!(pool, Pool::Alias(_)));
        let bound = plan.services.iter().map(|service| BoundService {
            name: service.name.clone(),
            line: 1,
            a: listed(true),
            aaaa: listed(false),
            cname,
        });
        let text = format!(
            "$ORIGIN example.com.\n$TTL 300\n@ IN SOA ns1 hostmaster 1 7200 900 1209600 60\n@ IN NS ns1\n\
             ns1 IN A 192.0.2.53\n{}",
            self.records
        );
        let file = ZoneFile { path: "example.com.zone".into(), text };
        let (zones, _) =
            Zones::build(&[file], &bound.collect::<Vec<_>>()).unwrap_or_else(|e| panic!("{e:?}"));
        let home = |region: &String| plan.region(region).unwrap();
        let network = |(text, region): &(String, String)| {
            let (address, len) = text.split_once('/').unwrap();
            (Network::around(address.parse().unwrap(), len.parse().unwrap()).unwrap(), home(region))
        };
        let mut rules = Rules {
            networks: self.networks.iter().map(network).collect(),
            ..Rules::everybody(home(&self.unmapped))
        };
        if self.database.is_some() {
            let country =
                |code: &str, region: &str| (Country::parse(code).unwrap(), plan.region(region).unwrap());
            rules.countries = vec![country("CN", "cn"), country("US", "us")];
            rules.continents = vec![(Continent::parse("EU").unwrap(), plan.region("eu").unwrap())];
        }
        let geo = Arc::new(GeoTable::build(&rules, self.database.clone()));
        DnsParts { zones: Arc::new(zones), geo, settings: settings(self.ecs) }
    }
}

impl Pool {
    fn of(data: &Value) -> Self {
        match data {
            Value::String(alias) => Self::Alias(alias.strip_prefix("CNAME ").unwrap().to_owned()),
            Value::Array(addresses) => {
                Self::Addresses(addresses.iter().map(|a| a.as_str().unwrap().parse().unwrap()).collect())
            }
            other => panic!("a pool: {other}"),
        }
    }
}

/// `address/length`.
pub(super) fn parse_subnet(text: &str) -> Subnet {
    let (address, len) = text.split_once('/').unwrap();
    Subnet { addr: address.parse().unwrap(), source: len.parse().unwrap() }
}
