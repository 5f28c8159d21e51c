//! RFC 3596, DNS Extensions to Support IP Version 6.

use crate::ask::{A, AAAA, NOERROR, NS, NXDOMAIN, PTR};
use crate::server::Server;

#[test]
fn s2_1_aaaa_records_are_sixteen_octets() {
    let answer = Server::zone("example.", "a AAAA 2001:db8::1").ask("a.example.", AAAA);
    assert_eq!(answer.answers(), ["a.example. 600 AAAA 2001:db8::1"]);
}

#[test]
fn s2_2_one_family_missing_is_no_data_and_never_nxdomain() {
    let server = Server::zone("example.", "six AAAA 2001:db8::1\nfour A 192.0.2.1");
    server.ask("six.example.", A).assert_negative(NOERROR, "example.");
    server.ask("four.example.", AAAA).assert_negative(NOERROR, "example.");
    server.ask("none.example.", AAAA).assert_negative(NXDOMAIN, "example.");
}

#[test]
fn s2_5_reverse_names_have_a_label_for_each_nibble() {
    let zone = "8.b.d.0.1.0.0.2.ip6.arpa.";
    let server = Server::bare(
        zone,
        "@ SOA ns.example. hostmaster.example. 1 2 3 4 5\n@ NS ns.example.\n1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0 PTR a.example.",
    );
    let name = format!("1.{}{zone}", "0.".repeat(23));
    assert_eq!(server.ask(&name, PTR).answers(), [format!("{name} 600 PTR a.example.")]);
    server.ask(&name[8..], PTR).assert_negative(NOERROR, zone);
}

#[test]
fn s3_additional_data_has_addresses_of_both_families() {
    let server = Server::zone("example.", "@ 3600 NS six\nsix AAAA 2001:db8::53");
    let mut additionals = server.ask("example.", NS).additionals();
    additionals.sort();
    assert_eq!(additionals, ["ns.example. 3600 A 192.0.2.53", "six.example. 600 AAAA 2001:db8::53"]);
}
