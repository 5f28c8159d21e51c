//! RFC 2308, Negative Caching of DNS Queries.

use crate::ask::{A, NOERROR, NXDOMAIN, TXT};
use crate::server::Server;

const TEXT: &str = "a A 192.0.2.1
to-a CNAME a
to-no CNAME no
far CNAME to-no
far-a CNAME to-a";

fn server() -> Server {
    Server::zone("example.", TEXT)
}

#[test]
fn s2_1_a_name_that_is_not_there_is_nxdomain_with_the_soa_and_no_ns() {
    // With SOA and without NS records no resolver takes it for a referral (types 2 and 3 of the section).
    server().ask("no.example.", A).assert_negative(NXDOMAIN, "example.");
}

#[test]
fn s2_1_nxdomain_behind_aliases_speaks_of_the_last_of_them() {
    for (name, aliases) in [("to-no.example.", 1), ("far.example.", 2)] {
        let answer = server().ask(name, A);
        assert_eq!((answer.rcode(), answer.aa(), answer.answers().len()), (NXDOMAIN, true, aliases));
        answer.assert_soa("example.");
    }
}

#[test]
fn s2_2_no_data_is_noerror_with_the_soa_and_no_ns() {
    server().ask("a.example.", TXT).assert_negative(NOERROR, "example.");
}

#[test]
fn s2_2_no_data_behind_aliases_has_them_in_the_answer() {
    for (name, aliases) in [("to-a.example.", 1), ("far-a.example.", 2)] {
        let answer = server().ask(name, TXT);
        assert_eq!((answer.rcode(), answer.aa(), answer.answers().len()), (NOERROR, true, aliases));
        answer.assert_soa("example.");
    }
}

#[test]
fn s3_the_soas_ttl_is_the_lower_of_its_own_and_its_minimum() {
    for (ttl, minimum, expected) in [(3600, 300, 300), (300, 3600, 300), (60, 60, 60), (600, 0, 0)] {
        let soa = format!("@ {ttl} SOA ns hostmaster 1 7200 900 1209600 {minimum}\n@ NS ns\nns A 192.0.2.53");
        let server = Server::bare("example.", &soa);
        for name in ["no.example.", "ns.example."] {
            let answer = server.ask(name, TXT);
            assert_eq!(answer.message.authorities[0].ttl, expected, "{ttl} {minimum}");
            assert!(
                answer.authorities()[0].ends_with(&format!(" {minimum}")),
                "the minimum itself is as written"
            );
        }
        assert_eq!(server.ask("example.", 6).message.answers[0].ttl, ttl, "asked for, it has its own");
    }
}

#[test]
fn s5_a_negative_answer_of_a_child_zone_has_the_childs_soa() {
    let server = Server::zones(&[("example.", ""), ("sub.example.", "")]);
    server.ask("no.sub.example.", A).assert_negative(NXDOMAIN, "sub.example.");
    server.ask("no.example.", A).assert_negative(NXDOMAIN, "example.");
}
