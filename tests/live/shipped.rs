//! The shipped configuration, zone and database, asked with `dig`.

use std::net::Ipv4Addr;
use std::process::Command;

use maxminddb::{Reader, WithinOptions, path};
use waypost::region::iso::{Continent, Country};

use crate::harness::*;

const DATABASE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/geoip/dbip-country.mmdb");

/// The shipped files on an address of their own, with loopback sources at home in the three regions.
fn shipped() -> Site {
    let site = Site::new();
    let root = env!("CARGO_MANIFEST_DIR");
    let text = std::fs::read_to_string(format!("{root}/waypost.toml")).unwrap();
    let mut text = text
        .replace("127.0.0.1:5300\"]", &format!("{}:{DNS_PORT}\"]", site.ip))
        .replace("listen = \"127.0.0.1:8953\"", &format!("listen = \"{}:{ADMIN_PORT}\"", site.ip))
        .replace("geoip/dbip-country.mmdb", DATABASE);
    for (region, network) in [("cn", "127.1.0.0/16"), ("eu", "127.2.0.0/16"), ("us", "127.3.0.0/16")] {
        let table = format!("[regions.{region}]\n");
        text = text.replace(&table, &format!("{table}networks = [\"{network}\"]\n"));
    }
    site.write("waypost.toml", &text);
    let zone = std::fs::read_to_string(format!("{root}/zones/gslb.example.com.zone")).unwrap();
    site.write("zones/gslb.example.com.zone", &zone);
    site.started()
}

fn dig(site: &Site, arguments: &[&str]) -> String {
    let server = format!("@{}", site.ip);
    let port = DNS_PORT.to_string();
    let output =
        Command::new("dig").args([&server, "-p", &port, "+time=3", "+tries=2"]).args(arguments).output();
    String::from_utf8(output.expect("dig is installed (tests/run.sh does it)").stdout).unwrap()
}

/// Addresses of an answer, sorted.
fn addresses(text: &str) -> Vec<String> {
    let mut found: Vec<String> = text
        .lines()
        .filter(|line| !line.starts_with(';') && (line.contains("\tA\t") || line.contains("\tAAAA\t")))
        .filter_map(|line| Some(line.split_whitespace().last()?.to_owned()))
        .collect();
    found.sort();
    found
}

/// The scope that dig shows: `; CLIENT-SUBNET: ADDR/SOURCE/SCOPE`.
fn scope(text: &str) -> u8 {
    let line = text.lines().find(|line| line.contains("CLIENT-SUBNET")).expect(text);
    line.rsplit('/').next().unwrap().trim().parse().unwrap()
}

#[test]
fn dig_gets_each_subnets_region_over_udp_and_tcp_for_both_families() {
    let site = shipped();
    let regions = [
        ("114.114.114.0/24", "192.0.2.1", "2001:db8:c::1"),
        ("193.0.6.0/24", "198.51.100.1", "2001:db8:e::1"),
        ("8.8.8.0/24", "203.0.113.1", "2001:db8:a::1"),
        ("2001:da8::/48", "192.0.2.1", "2001:db8:c::1"),
    ];
    for (subnet, v4, v6) in regions {
        for transport in ["+notcp", "+tcp"] {
            let client = format!("+subnet={subnet}");
            let a = dig(&site, &[transport, &client, WWW, "A"]);
            assert_eq!(addresses(&a), [format!("{v4}1"), format!("{v4}2")], "{subnet} {transport}\n{a}");
            let aaaa = dig(&site, &[transport, &client, WWW, "AAAA"]);
            assert_eq!(
                addresses(&aaaa),
                [format!("{v6}1"), format!("{v6}2")],
                "{subnet} {transport}\n{aaaa}"
            );
            assert_eq!(scope(&a), scope(&aaaa));
            assert!(a.contains(" aa"), "{a}");
        }
    }
    // Without a subnet, by the source; and no scope without an option.
    for (source, v4) in
        [("127.1.0.1", "192.0.2.1"), ("127.2.0.1", "198.51.100.1"), ("127.3.0.1", "203.0.113.1")]
    {
        let answer = dig(&site, &["-b", source, "+nosubnet", WWW, "A"]);
        assert_eq!(addresses(&answer), [format!("{v4}1"), format!("{v4}2")], "{source}\n{answer}");
        assert!(!answer.contains("CLIENT-SUBNET"), "{answer}");
        // A client that wants no tailoring by subnet is placed by its source, too: scope 0.
        let answer = dig(&site, &["-b", source, "+subnet=0.0.0.0/0", WWW, "A"]);
        assert_eq!((addresses(&answer).len(), scope(&answer)), (2, 0), "{answer}");
        assert!(addresses(&answer)[0].starts_with(v4), "{answer}");
    }
    let alias = dig(&site, &["+subnet=193.0.6.0/24", "shop.gslb.example.com", "A"]);
    assert_eq!(addresses(&alias), ["198.51.100.11", "198.51.100.12"], "{alias}");
}

/// Homes of all IPv4 by the file's own reader: where a run begins, and its home.
fn runs() -> Vec<(u32, &'static str)> {
    let reader = Reader::from_source(std::fs::read(DATABASE).unwrap()).unwrap();
    let mut runs: Vec<(u32, &'static str)> = Vec::new();
    for found in reader.networks(WithinOptions::default().include_networks_without_data()).unwrap() {
        let found = found.unwrap();
        let network = found.network().unwrap();
        let std::net::IpAddr::V4(addr) = network.ip() else { continue };
        let code: Option<&str> = found.decode_path(&path!["country_code"]).unwrap();
        let home = match code.and_then(Country::parse).and_then(Country::continent) {
            Some(continent) if ["AS", "OC"].map(Continent::parse).contains(&Some(continent)) => "cn",
            Some(continent) if ["EU", "AF"].map(Continent::parse).contains(&Some(continent)) => "eu",
            _ => "us",
        };
        if runs.last().is_none_or(|&(_, last)| last != home) {
            runs.push((addr.to_bits(), home));
        }
    }
    runs
}

/// The homes in a block.
fn homes(runs: &[(u32, &'static str)], addr: u32, len: u8) -> Vec<&'static str> {
    let (first, last) = (first_of(addr, len), last_of(addr, len));
    let at = runs.partition_point(|&(start, _)| start <= first) - 1;
    runs[at..].iter().take_while(|&&(start, _)| start <= last).map(|&(_, home)| home).collect()
}

fn first_of(addr: u32, len: u8) -> u32 {
    addr & u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0)
}

fn last_of(addr: u32, len: u8) -> u32 {
    first_of(addr, len) | u32::MAX.checked_shr(u32::from(len)).unwrap_or(0)
}

#[test]
fn each_scope_is_the_largest_block_with_one_home_by_the_files_own_reader() {
    let site = shipped();
    let runs = runs();
    let spread = (1..400_u32).map(|number| number.wrapping_mul(0x9e37_79b1) & !0xff);
    let unicast = spread.filter(|addr| {
        (1..224).contains(&(addr >> 24)) && ![10, 100, 127, 169, 172, 192, 198].contains(&(addr >> 24))
    });
    let known = [[114, 114, 114, 0], [193, 0, 6, 0], [8, 8, 8, 0]].map(u32::from_be_bytes);
    let mut checked = 0;
    for addr in known.into_iter().chain(unicast) {
        let client = Ecs(Ipv4Addr::from(addr).into(), 24);
        let answer = site.ask(client);
        let len = answer.scope().unwrap();
        let within = homes(&runs, addr, len);
        assert_eq!(within.len(), 1, "{client}/{len}: {within:?}");
        let home = match &answer.addresses()[0][..] {
            "192.0.2.11" => "cn",
            "198.51.100.11" => "eu",
            _ => "us",
        };
        assert_eq!(within[0], home, "{client}");
        // Twice as large a block has another home in it, or a local network, which has the source's.
        let local = [
            10_u32 << 24,
            (100 << 24) | (64 << 16),
            127 << 24,
            (169 << 24) | (254 << 16),
            (172 << 24) | (16 << 16),
            (192 << 24) | (168 << 16),
        ];
        if len > 0 {
            let (first, last) = (first_of(addr, len - 1), last_of(addr, len - 1));
            let touches_local = local.iter().any(|&block| (first..=last).contains(&block));
            assert!(
                touches_local || homes(&runs, addr, len - 1).len() > 1,
                "{client}: /{len} is not the shortest"
            );
        }
        checked += 1;
    }
    assert!(checked > 250, "{checked}");
    let over_tcp = tcp_exchange(site.ip, &query_bytes(WWW, 1, Some(CN))).unwrap();
    assert_eq!(over_tcp.scope(), site.ask(CN).scope());
    let by_source = exchange_from(Ipv4Addr::new(127, 2, 0, 9), site.ip, &query_bytes(WWW, 1, None)).unwrap();
    assert_eq!((by_source.addresses(), by_source.scope()), (EU_A.map(str::to_owned).to_vec(), None));
}
