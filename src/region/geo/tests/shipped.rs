//! The shipped database, compiled.

use std::path::Path;
use std::sync::LazyLock;

use maxminddb::{Reader, WithinOptions, path};

use super::*;

static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("geoip/dbip-country.mmdb");
    std::fs::read(path).unwrap()
});
pub(super) static DATABASE: LazyLock<Arc<Database>> =
    LazyLock::new(|| Arc::new(Database::from_mmdb(BYTES.clone()).unwrap()));
static TABLE: LazyLock<GeoTable> = LazyLock::new(|| GeoTable::build(&rules(&[]), Some(DATABASE.clone())));

#[test]
fn the_four_places_of_the_issue_have_their_homes() {
    assert_eq!(locate(&TABLE, "114.114.114.0/24").0, CN);
    assert_eq!(locate(&TABLE, "193.0.6.0/24").0, EU);
    assert_eq!(locate(&TABLE, "8.8.8.0/24").0, US);
    assert_eq!(locate(&TABLE, "2001:da8::/48").0, CN);
}

/// First and last address of every network, through the file's own reader and through ours.
#[test]
fn the_compiled_table_agrees_with_the_files_own_reader_for_every_network() {
    let reader = Reader::from_source(BYTES.as_slice()).unwrap();
    let rules = rules(&[]);
    let mut networks = 0;
    for found in reader.networks(WithinOptions::default().include_networks_without_data()).unwrap() {
        let found = found.unwrap();
        let network = Network { addr: found.network().unwrap().ip(), len: found.network().unwrap().prefix() };
        let code: Option<&str> = found.decode_path(&path!["country_code"]).unwrap();
        let place = Place { country: code.and_then(Country::parse), own_continent: None };
        let (first, last) = match network.ends::<u32>() {
            Some((first, last)) => (first.to_addr(), last.to_addr()),
            None => network.ends::<u128>().map(|(first, last)| (first.to_addr(), last.to_addr())).unwrap(),
        };
        for addr in [first, last].into_iter().filter(|addr| !carries_v4(*addr)) {
            let located = TABLE.locate(None, addr);
            assert_eq!((located.home, located.by), rules.home(place), "{network} {code:?}");
        }
        networks += 1;
    }
    assert!(networks > 1_000_000, "{networks}");
}

/// First addresses of the IPv6 ranges of one answer by the file's own reader and the list of special blocks: a home, or
/// what is neither here.
fn runs_v6() -> Vec<(u128, Option<RegionId>)> {
    let reader = Reader::from_source(BYTES.as_slice()).unwrap();
    let rules = rules(&[]);
    let mut starts: Vec<(u128, RegionId)> = Vec::new();
    for found in reader.networks(WithinOptions::default().include_networks_without_data()).unwrap() {
        let found = found.unwrap();
        let IpAddr::V6(addr) = found.network().unwrap().ip() else { continue };
        let code: Option<&str> = found.decode_path(&path!["country_code"]).unwrap();
        let place = Place { country: code.and_then(Country::parse), own_continent: None };
        starts.push((addr.to_bits(), rules.home(place).0));
    }
    let special: Vec<(u128, u128)> =
        EMBEDDING.iter().chain(&LOCAL_V6).map(|&(addr, len)| (addr, addr.last_of_block(len))).collect();
    let mut cuts: Vec<u128> = starts.iter().map(|&(start, _)| start).collect();
    cuts.extend(special.iter().flat_map(|&(first, last)| [Some(first), last.after()]).flatten());
    cuts.sort_unstable();
    let at = |addr: u128| match special.iter().any(|&(first, last)| (first..=last).contains(&addr)) {
        true => None,
        false => {
            let after = starts.partition_point(|&(start, _)| start <= addr);
            Some(after.checked_sub(1).map_or(rules.unmapped, |at| starts[at].1))
        }
    };
    let mut runs: Vec<(u128, Option<RegionId>)> = cuts.into_iter().map(|cut| (cut, at(cut))).collect();
    runs.dedup_by_key(|&mut (_, home)| home);
    runs
}

#[test]
fn each_ipv6_scope_is_the_largest_block_with_one_home_by_the_files_own_reader() {
    let runs = runs_v6();
    let homes = |addr: u128, len: u8| {
        let (first, last) = (addr.first_of_block(len), addr.last_of_block(len));
        let at = runs.partition_point(|&(start, _)| start <= first).saturating_sub(1);
        runs[at..].iter().take_while(|&&(start, _)| start <= last).map(|&(_, home)| home).collect::<Vec<_>>()
    };
    let drawn = (0..2_000_u64).map(|number| {
        let noise = u128::from(crate::region::enumerate::scramble(number));
        let block = [0x2001_0200 << 96, 0x2400 << 112, 0x2600 << 112, 0x2a00 << 112_u32][number as usize % 4];
        block | noise << 48 >> 4
    });
    let ours = "2001:da8::".parse::<std::net::Ipv6Addr>().unwrap().to_bits();
    for addr in std::iter::once(ours).chain(drawn.filter(|addr| embedded(*addr).is_none())) {
        let subnet = Subnet { addr: addr.first_of_block(48).to_addr(), source: 48 };
        let located = TABLE.locate(Some(subnet), "8.8.8.8".parse().unwrap());
        assert_eq!(homes(addr, located.scope), [Some(located.home)], "{subnet:?} {located:?}");
        if let Some(shorter) = located.scope.checked_sub(1) {
            assert!(homes(addr, shorter).len() > 1, "{subnet:?}: /{} is not the shortest", located.scope);
        }
    }
}

fn carries_v4(addr: IpAddr) -> bool {
    match addr {
        IpAddr::V4(_) => false,
        IpAddr::V6(addr) => embedded(addr.to_bits()).is_some(),
    }
}

#[test]
fn the_table_of_a_real_file_keeps_to_its_size() {
    assert!(TABLE.hot_bytes() <= 16 << 20, "{}", TABLE.hot_bytes());
    println!("hot {} cold {} ranges {}", TABLE.hot_bytes(), TABLE.cold_bytes(), TABLE.ranges());
    assert_eq!(TABLE.database().unwrap().unknown_codes(), 0);
}

#[test]
fn the_sample_tells_an_unchanged_file_from_a_changed_one() {
    assert!(TABLE.moved(&TABLE).abs() < f64::EPSILON);
    let unmapped = TABLE.unmapped_share();
    assert!(unmapped < 0.1, "{unmapped}");
    // Everybody to eu: all that was cn's or us's moves.
    let eu = GeoTable::build(&Rules { unmapped: region(EU), ..Rules::everybody(region(EU)) }, None);
    let moved = TABLE.moved(&eu);
    assert!((0.5..1.0).contains(&moved), "{moved}");
    assert!((eu.moved(&TABLE) - moved).abs() < f64::EPSILON, "moving is symmetric");
    // A file that lost IPv6 stands out.
    let mut without_v6 = Database::clone(&DATABASE);
    without_v6.v6 = Spans::new();
    let moved = TABLE.moved(&GeoTable::build(&rules(&[]), Some(Arc::new(without_v6))));
    assert!(moved > 0.2, "{moved}");
}

#[test]
fn the_stored_table_of_a_real_file_comes_back_equal() {
    let bytes = DATABASE.to_bytes();
    println!("stored {} bytes", bytes.len());
    assert_eq!(Database::from_bytes(&bytes).as_ref(), Ok(&**DATABASE));
}
