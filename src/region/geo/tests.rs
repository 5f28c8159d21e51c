//! Placement, scopes and the stored table, by example and by property.

mod scope;
mod shipped;
mod stored;

use super::*;

fn region(index: usize) -> RegionId {
    RegionId::new(index).unwrap()
}

const CN: usize = 0;
const EU: usize = 1;
const US: usize = 2;

/// The example of the reference page: unmapped clients go to us.
fn rules(networks: &[(&str, usize)]) -> Rules {
    let countries = [("CN", CN), ("HK", CN), ("MO", CN), ("TW", CN), ("GB", EU)];
    let continents = [("AS", CN), ("OC", CN), ("EU", EU), ("AF", EU), ("NA", US), ("SA", US)];
    Rules {
        unmapped: region(US),
        networks: networks.iter().map(|(text, home)| (text.parse().unwrap(), region(*home))).collect(),
        countries: countries.map(|(code, home)| (Country::parse(code).unwrap(), region(home))).into(),
        continents: continents.map(|(code, home)| (Continent::parse(code).unwrap(), region(home))).into(),
    }
}

/// A database of these networks, ascending in each family, each with a country and perhaps a continent of its own.
fn database(networks: &[(&str, &str, &str)]) -> Arc<Database> {
    let mut database = Database::empty();
    for (network, country, continent) in networks {
        let network: Network = network.parse().unwrap();
        let place = Place { country: Country::parse(country), own_continent: Continent::parse(continent) };
        let known = database.places.iter().position(|known| *known == place);
        let id = known.unwrap_or_else(|| {
            database.places.push(place);
            database.places.len() - 1
        }) as PlaceId;
        match network.addr {
            IpAddr::V4(addr) => database.v4.append(addr.to_bits(), network.len, id).unwrap(),
            IpAddr::V6(addr) => database.v6.append(addr.to_bits(), network.len, id).unwrap(),
        }
    }
    Arc::new(database)
}

fn subnet(text: &str) -> Option<Subnet> {
    let (addr, source) = text.split_once('/').unwrap();
    Some(Subnet { addr: addr.parse().unwrap(), source: source.parse().unwrap() })
}

/// Home, cause and scope of a subnet that a resolver at 8.8.8.8 sends.
fn locate(table: &GeoTable, text: &str) -> (usize, &'static str, u8) {
    let located = table.locate(subnet(text), "8.8.8.8".parse().unwrap());
    (located.home.index(), located.by.word(), located.scope)
}

fn world(networks: &[(&str, usize)]) -> GeoTable {
    let places = [
        ("8.8.8.0/24", "US", ""),
        ("81.2.69.160/27", "GB", "EU"),
        ("110.0.0.0/8", "JP", ""),
        ("114.0.0.0/8", "CN", "AS"),
        ("196.0.0.0/8", "ZA", "AF"),
        ("197.0.0.0/8", "AQ", "AN"),
        ("2001:218::/32", "JP", "AS"),
        ("2001:da8::/32", "CN", "AS"),
        ("2a02::/16", "", "EU"),
    ];
    GeoTable::build(&rules(networks), Some(database(&places)))
}

#[test]
fn networks_beat_the_country_which_beats_the_continent_which_beats_nothing() {
    let table = world(&[("114.114.0.0/16", EU), ("114.114.114.0/24", US)]);
    assert_eq!(locate(&table, "114.114.114.0/24"), (US, "network", 24));
    assert_eq!(locate(&table, "114.114.115.0/24"), (EU, "network", 24));
    assert_eq!(locate(&table, "114.1.0.0/24"), (CN, "country", 10));
    assert_eq!(locate(&table, "110.1.0.0/24"), (CN, "continent", 8));
    assert_eq!(locate(&table, "2a02:1::/32"), (EU, "continent", 16));
    assert_eq!(locate(&table, "9.9.9.0/24"), (US, "unmapped", 7));
}

#[test]
fn a_continent_that_no_region_names_leaves_its_countries_unmapped() {
    let table = world(&[]);
    assert_eq!(locate(&table, "197.1.1.0/24").1, "unmapped");
    assert_eq!(table.describe(subnet("197.1.1.0/24"), "8.8.8.8".parse().unwrap()).detail, "AQ (AN)");
}

#[test]
fn without_a_subnet_the_source_address_places_and_the_scope_is_zero() {
    let table = world(&[("127.0.0.1/32", EU)]);
    let home = |source: &str| table.locate(None, source.parse().unwrap());
    assert_eq!(home("114.114.114.114"), Located { home: region(CN), by: By::Country, scope: 0 });
    assert_eq!(home("127.0.0.1"), Located { home: region(EU), by: By::Network, scope: 0 });
    assert_eq!(home("10.1.2.3"), Located { home: region(US), by: By::Unmapped, scope: 0 });
    // A dual-stack socket's peer.
    assert_eq!(home("::ffff:114.1.1.1"), Located { home: region(CN), by: By::Country, scope: 0 });
}

#[test]
fn without_a_database_networks_and_the_home_of_the_unmapped_are_left() {
    let table = GeoTable::build(&rules(&[("203.0.113.0/24", CN)]), None);
    assert_eq!(locate(&table, "203.0.113.7/32"), (CN, "network", 24));
    assert_eq!(locate(&table, "203.0.112.7/32"), (US, "unmapped", 24));
    assert_eq!(locate(&GeoTable::default(), "1.2.3.0/24").0, 0);
}

#[test]
fn an_ipv6_network_never_covers_ipv4() {
    let table = world(&[("::/0", EU)]);
    assert_eq!(locate(&table, "114.1.1.0/24").0, CN);
    assert_eq!(locate(&table, "::ffff:114.1.1.0/120"), (CN, "country", 104));
    assert_eq!(locate(&table, "2001:da8::/48"), (EU, "network", 21), "up to Teredo's 2001::/32");
    assert_eq!(locate(&table, "fe80::/64"), (EU, "network", 1), "a network of ours names it");
}

#[test]
fn ipv4_inside_ipv6_is_read_with_the_scope_moved_behind_the_prefix() {
    let table = world(&[]);
    assert_eq!(locate(&table, "81.2.69.160/32"), (EU, "country", 27));
    assert_eq!(locate(&table, "::ffff:81.2.69.160/128"), (EU, "country", 123));
    assert_eq!(locate(&table, "64:ff9b::81.2.69.160/128"), (EU, "country", 123));
    assert_eq!(locate(&table, "2002:5102:45a0::/48"), (EU, "country", 43));
    // Teredo: the client's address, each bit inverted, is at the end; the server's, before it, does not matter.
    assert_eq!(locate(&table, "2001:0:7272:7272::aefd:ba5f/128"), (EU, "country", 123));
    // Not of the four forms: plain IPv6.
    assert_eq!(locate(&table, "::ffff:0:81.2.69.160/128").1, "unmapped");
    assert_eq!(locate(&table, "::81.2.69.160/128").1, "unmapped");
}

#[test]
fn an_embedding_form_that_ends_before_the_ipv4_address_is_unmapped() {
    let table = world(&[]);
    for text in
        ["::ffff:0:0/96", "64:ff9b::/96", "2002::/16", "2001::/32", "2001:0:4136:e378::/64", "2001::/16"]
    {
        assert_eq!(locate(&table, text).1, "unmapped", "{text}");
    }
    assert_eq!(locate(&table, "2002::/16"), (US, "unmapped", 16 + 5));
    // The first addresses of that block have another home: what says nothing shares its answer with 0.0.0.0 alone, and
    // the scopes of that one's neighbours leave it out.
    let table = world(&[("0.0.0.0/8", CN)]);
    assert_eq!(locate(&table, "2002::/16"), (US, "unmapped", 48));
    assert_eq!(locate(&table, "2002:0001::/32"), (CN, "network", 32));
}

#[test]
fn a_local_subnet_is_located_by_its_sender_with_the_blocks_length_as_scope() {
    let table = world(&[]);
    let sent_from = |text: &str, source: &str| {
        let located = table.locate(subnet(text), source.parse().unwrap());
        (located.home.index(), located.by.word(), located.scope)
    };
    for (text, scope) in [
        ("10.1.2.0/24", 8),
        ("172.31.0.0/16", 12),
        ("192.168.1.0/24", 16),
        ("127.0.0.1/32", 8),
        ("169.254.7.0/24", 16),
        ("100.64.1.0/24", 10),
        ("::1/128", 128),
        ("fe80::1/64", 10),
        ("fd00:1::/48", 7),
        ("::ffff:10.0.0.0/104", 104),
        ("2002:0a00:0001::/48", 24),
    ] {
        assert_eq!(sent_from(text, "114.1.1.1"), (CN, "country", scope), "{text}");
        assert_eq!(sent_from(text, "81.2.69.161"), (EU, "country", scope), "{text}");
    }
    assert!(table.describe(subnet("10.1.2.0/24"), "114.1.1.1".parse().unwrap()).by_sender);
}

#[test]
fn a_network_of_ours_inside_a_local_block_is_placed_and_lengthens_the_scope_around_it() {
    let table = world(&[("10.1.0.0/16", EU)]);
    assert_eq!(locate(&table, "10.1.2.0/24"), (EU, "network", 16));
    assert_eq!(locate(&table, "10.0.2.0/24"), (US, "continent", 16));
    assert_eq!(locate(&table, "10.128.0.0/24"), (US, "continent", 9));
}

#[test]
fn scopes_are_about_homes_and_not_about_what_placed_the_client() {
    // JP by continent, CN by country, then a network of cn's own: one run of one home.
    let places = database(&[("112.0.0.0/6", "JP", ""), ("116.0.0.0/6", "CN", "")]);
    let table = GeoTable::build(&rules(&[("114.5.0.0/16", CN)]), Some(places));
    for text in ["112.1.0.0/24", "117.1.0.0/24", "114.5.5.0/24"] {
        assert_eq!((locate(&table, text).0, locate(&table, text).2), (CN, 5), "{text}");
    }
}

#[test]
fn a_world_of_one_home_has_scope_zero() {
    let table = GeoTable::build(&Rules { networks: vec![], ..rules(&[]) }, None);
    // Local blocks are exempt: their home is their sender's.
    assert_eq!(locate(&table, "9.9.9.0/24").2, 7);
    let table = GeoTable::build(&rules(&[("0.0.0.0/0", EU), ("::/0", EU)]), None);
    assert_eq!(locate(&table, "9.9.9.0/24"), (EU, "network", 0));
    assert_eq!(locate(&table, "10.9.9.0/24"), (EU, "network", 0));
}

#[test]
fn networks_side_by_side_do_not_cut_each_other() {
    let table =
        world(&[("5.0.0.0/24", CN), ("5.0.1.0/24", EU), ("5.0.2.0/24", EU), ("255.255.255.255/32", CN)]);
    assert_eq!(locate(&table, "5.0.0.9/32"), (CN, "network", 24));
    assert_eq!(locate(&table, "5.0.1.9/32"), (EU, "network", 24));
    assert_eq!(locate(&table, "5.0.2.9/32"), (EU, "network", 24));
    assert_eq!(locate(&table, "5.0.3.9/32"), (US, "unmapped", 24));
    assert_eq!(locate(&table, "255.255.255.255/32"), (CN, "network", 32));
}

#[test]
fn people_are_told_what_placed_a_client() {
    let table = world(&[("114.114.114.0/24", US)]);
    let told = |text: &str| table.describe(subnet(text), "8.8.8.8".parse().unwrap());
    assert_eq!(told("114.114.114.0/24").detail, "114.114.114.0/24");
    assert_eq!(told("114.114.114.0/24").place.to_string(), "CN (AS)");
    assert_eq!(told("114.1.0.0/24").detail, "CN");
    assert_eq!(told("114.1.0.0/24").network, Some("114.0.0.0/8".parse().unwrap()));
    assert_eq!(told("110.1.0.0/24").detail, "AS");
    assert_eq!(told("9.9.9.0/24").detail, "");
    assert_eq!(told("::ffff:114.1.0.0/128").looked_up, "114.1.0.0".parse::<IpAddr>().unwrap());
    assert!(told("2002::/16").detail.contains("ends before"));
    let placed = told("114.1.0.0/24").located;
    assert_eq!(placed, table.locate(subnet("114.1.0.0/24"), "8.8.8.8".parse().unwrap()));
}

#[test]
fn networks_are_read_strictly_and_written_back() {
    for text in ["0.0.0.0/0", "192.0.2.0/24", "::/0", "2001:db8::/32", "::1/128"] {
        assert_eq!(text.parse::<Network>().unwrap().to_string(), text);
    }
    let errors = [
        ("192.0.2.0", NetworkError::Syntax),
        ("192.0.2.0/", NetworkError::Syntax),
        ("192.0.2.0/+8", NetworkError::Syntax),
        ("192.0.2/24", NetworkError::Syntax),
        ("192.0.2.0/33", NetworkError::Length),
        ("2001:db8::/129", NetworkError::Length),
        ("192.0.2.0/999", NetworkError::Length),
        ("192.0.2.1/24", NetworkError::HostBits("192.0.2.0/24".parse().unwrap())),
    ];
    for (text, error) in errors {
        assert_eq!(text.parse::<Network>(), Err(error), "{text}");
    }
}
