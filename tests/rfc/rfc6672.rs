//! RFC 6672, DNAME Redirection in the DNS.

use crate::ask::{A, ANY, Ask, CNAME, DNAME, MX, NOERROR, NXDOMAIN, TXT, YXDOMAIN, wire};
use crate::server::Server;

/// A server whose only redirection is this one, in a zone that begins at its owner.
fn redirecting(owner: &str, target: &str) -> Server {
    let text = format!(
        "@ SOA ns.elsewhere. hostmaster.elsewhere. 1 2 3 4 5\n@ NS ns.elsewhere.\n@ 120 DNAME {target}"
    );
    Server::bare(owner, &text)
}

/// The section's table: query name, owner, target, and the name that comes of it.
#[test]
fn s2_2_the_substitution_table() {
    for (name, owner, target, becomes) in [
        ("com.", "example.com.", "example.net.", None),
        ("example.com.", "example.com.", "example.net.", None),
        ("a.example.com.", "example.com.", "example.net.", Some("a.example.net.")),
        ("a.b.example.com.", "example.com.", "example.net.", Some("a.b.example.net.")),
        ("ab.example.com.", "b.example.com.", "example.net.", None),
        ("foo.example.com.", "example.com.", "example.net.", Some("foo.example.net.")),
        ("a.x.example.com.", "x.example.com.", "example.net.", Some("a.example.net.")),
        ("a.example.com.", "example.com.", "y.example.net.", Some("a.y.example.net.")),
        ("cyc.example.com.", "example.com.", "example.com.", Some("cyc.example.com.")),
        ("cyc.example.com.", "example.com.", "c.example.com.", Some("cyc.c.example.com.")),
        ("shortloop.x.x.", "x.", ".", Some("shortloop.x.")),
        ("shortloop.x.", "x.", ".", Some("shortloop.")),
    ] {
        let answers = redirecting(owner, target).tcp(&Ask::new(name, A)).answers();
        let alias = becomes.map(|becomes| format!("{name} 120 CNAME {becomes}"));
        assert_eq!(
            answers.iter().find(|text| text.contains(" CNAME ")),
            alias.as_ref(),
            "{name} {owner} {target}"
        );
        let first = alias.map(|_| format!("{owner} 120 DNAME {target}"));
        assert_eq!(answers.first(), first.as_ref(), "the DNAME comes first");
    }
}

#[test]
fn s2_3_the_owner_itself_is_not_redirected_and_may_have_other_data() {
    let server = Server::zone("example.", "old DNAME new\nold MX 10 mail\nold TXT \"x\"\nmail A 192.0.2.1");
    assert_eq!(server.ask("old.example.", DNAME).answers(), ["old.example. 600 DNAME new.example."]);
    assert_eq!(server.ask("old.example.", MX).answers(), ["old.example. 600 MX 10 mail.example."]);
    server.ask("old.example.", A).assert_negative(NOERROR, "example.");
}

#[test]
fn s2_4_nothing_stands_below_a_dname_and_no_alias_or_second_one_beside_it() {
    for (text, complaint) in [
        ("old DNAME new\na.old A 192.0.2.1", "lies below the DNAME"),
        ("old DNAME new\nold CNAME other", "CNAME beside DNAME"),
        ("old DNAME new\nold DNAME newer", "two DNAME records"),
    ] {
        let refusal = Server::refusal("example.", text);
        assert!(refusal.contains(complaint), "{refusal}");
    }
}

#[test]
fn s2_2_a_name_that_grows_too_long_is_yxdomain_with_the_dname_alone() {
    // Below `a.example.`, 243 octets and 244; the target is one longer than the owner by 12.
    let server = Server::zone("example.", "a DNAME twelve-octets");
    let owner = wire("a.example.").len();
    let grown = wire("twelve-octets.example.").len() - owner;
    let label = |len: usize| "x".repeat(len);
    for (room, fits) in [(255 - grown, true), (256 - grown, false)] {
        let last = room - owner - 3 * 64 - 1;
        let name = format!("{0}.{0}.{0}.{1}.a.example.", label(63), label(last));
        assert_eq!(wire(&name).len(), room);
        let answer = server.ask(&name, A);
        let (rcode, answers) = if fits { (NXDOMAIN, 2) } else { (YXDOMAIN, 1) };
        assert_eq!((answer.rcode(), answer.answers().len()), (rcode, answers));
        assert_eq!(answer.answers()[0], "a.example. 600 DNAME twelve-octets.example.");
    }
}

#[test]
fn s3_1_the_alias_has_the_dnames_ttl_and_is_sent_to_everybody() {
    let server = Server::zone("example.", "old 77 DNAME new\na.new A 192.0.2.1");
    for ask in [Ask::new("a.old.example.", A), Ask::new("a.old.example.", A).edns(1232)] {
        assert_eq!(
            server.udp(&ask).answers(),
            [
                "old.example. 77 DNAME new.example.",
                "a.old.example. 77 CNAME a.new.example.",
                "a.new.example. 600 A 192.0.2.1"
            ]
        );
    }
}

#[test]
fn s3_2_the_search_goes_on_at_the_new_name() {
    let server = Server::zone(
        "example.",
        "one DNAME two\ntwo DNAME three\na.three CNAME end\nend TXT \"x\"\n*.w TXT \"wild\"\nto-w DNAME w",
    );
    let answer = server.ask("a.one.example.", TXT);
    let types: Vec<String> =
        answer.message.answers.iter().map(|record| record.record_type().to_string()).collect();
    assert_eq!(types.len(), 6, "two redirections with their aliases, an alias, a text: {types:?}");
    assert_eq!(answer.answers()[5], "end.example. 600 TXT x");
    server_ends(&server, "nothing.one.example.", NXDOMAIN, 4);
    server_ends(&server, "a.one.example.", NOERROR, 6);
    assert_eq!(server.ask("q.to-w.example.", TXT).answers()[2], "q.w.example. 600 TXT wild");
}

fn server_ends(server: &Server, name: &str, rcode: u16, answers: usize) {
    let answer = server.ask(name, TXT);
    assert_eq!((answer.rcode(), answer.answers().len()), (rcode, answers), "{name}");
}

#[test]
fn s3_2_asked_for_the_alias_itself_the_search_ends_with_it() {
    let server = Server::zone("example.", "old DNAME new\na.new CNAME end");
    assert_eq!(server.ask("a.old.example.", CNAME).answers().len(), 2);
}

#[test]
fn s3_2_a_redirection_to_itself_ends() {
    for (target, name) in [("loop.example.", "a.loop.example."), ("b.loop.example.", "a.loop.example.")] {
        let answer = Server::zone("example.", &format!("loop DNAME {target}")).tcp(&Ask::new(name, A));
        assert!(answer.aa() && [NOERROR, YXDOMAIN].contains(&answer.rcode()), "{}", answer.rcode());
        assert!(answer.answers().len() <= 2 * 17);
    }
}

#[test]
fn s5_2_a_redirection_beside_wildcards_takes_what_is_below_it() {
    let server = Server::zone("example.", "* TXT \"wild\"\nold DNAME new");
    assert!(server.ask("a.old.example.", TXT).answers()[0].contains(" DNAME "));
    assert_eq!(server.ask("a.example.", TXT).answers(), ["a.example. 600 TXT wild"]);
}

#[test]
fn s3_2_any_at_the_owner_is_answered_there() {
    let answer = Server::zone("example.", "old DNAME new").ask("old.example.", ANY);
    assert_eq!((answer.rcode(), answer.answers().len()), (NOERROR, 1));
}
