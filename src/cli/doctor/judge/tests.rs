use std::collections::BTreeMap;

use domain::base::iana::Rtype;

use super::super::exchange::{Answer, Proto, Trouble};
use super::super::facts::{
    Asked, BADVERS, GeoFile, Machine, NOERROR, NXDOMAIN, OpenFiles, Parent, Running, View, Zone,
};
use super::super::finding::Level;
use super::super::message::{Data, Edns, Manner, Question, Record, Reply};
use super::*;

const ZONE: &str = "gslb.example.com";
const NS1: &str = "ns1.gslb.example.com";
const NS2: &str = "ns2.gslb.example.com";

fn record(owner: &str, data: Data) -> Record {
    Record { owner: owner.to_owned(), ttl_s: 300, data }
}

fn ns(name: &str) -> Record {
    record(ZONE, Data::NameServer(name.to_owned()))
}

fn address(name: &str, address: &str) -> Record {
    record(name, Data::Address(address.parse().unwrap()))
}

fn reply(rcode: u16, authoritative: bool) -> Reply {
    Reply { rcode, authoritative, ..Reply::default() }
}

fn referral() -> Reply {
    Reply {
        authority: vec![ns(NS1), ns(NS2)],
        additional: vec![address(NS1, "192.0.2.53"), address(NS2, "198.51.100.53")],
        ..reply(NOERROR, false)
    }
}

fn nothing() -> Answer {
    Ok(reply(NOERROR, true))
}

/// A zone whose parent answers like this to NS and DS.
fn zone(ns: Answer, ds: Answer) -> Zone {
    let view = View { server: "192.0.2.1:53".parse().unwrap(), parent: "example.com".to_owned(), ns, ds };
    let own = [(NS1, "192.0.2.53"), (NS2, "198.51.100.53")];
    Zone {
        name: ZONE.to_owned(),
        apex: [NS1, NS2].map(str::to_owned).into(),
        own: own.map(|(name, ip)| (name.to_owned(), vec![ip.parse().unwrap()])).into(),
        elsewhere: BTreeMap::new(),
        parent: Parent::Asked(vec![view]),
    }
}

fn with_zone(zone: Zone) -> Facts {
    let listen = vec!["192.0.2.53:53".parse().unwrap()];
    Facts { zones: vec![zone], listen, port: 53, ..Facts::default() }
}

/// Check, level, text, fix of what is not in order; the machine, of which these facts know nothing, left out.
fn troubles(facts: &Facts) -> Vec<(&'static str, Level, String, String)> {
    let found = judge(facts).into_iter().filter(|finding| finding.level != Level::Ok);
    found.map(|finding| (finding.check, finding.level, finding.text, finding.fix)).collect()
}

#[track_caller]
fn one(facts: &Facts, check: &str, level: Level, text: &str, fix: &str) {
    let found = troubles(facts);
    let is_it = |it: &&(&str, Level, String, String)| {
        it.0 == check && it.1 == level && it.2.contains(text) && it.3.contains(fix)
    };
    assert_eq!(found.iter().filter(is_it).count(), 1, "{check} {level:?} {text} {fix}: {found:#?}");
}

#[test]
fn a_right_delegation_is_in_order() {
    assert_eq!(troubles(&with_zone(zone(Ok(referral()), nothing()))), []);
}

#[test]
fn each_fault_of_a_delegation_has_its_finding_and_fix() {
    let ask = |ns: Reply| with_zone(zone(Ok(ns), nothing()));
    let lines = "`gslb.example.com. NS ns1.gslb.example.com.`";
    let glue = "`ns1.gslb.example.com. A 192.0.2.53`";

    let none = ask(reply(NXDOMAIN, true));
    one(&none, "delegation", Level::Error, "no such name", lines);
    one(&none, "delegation", Level::Error, "no such name", glue);
    one(&ask(reply(NOERROR, true)), "delegation", Level::Error, "does not delegate it", lines);
    one(&ask(reply(5, false)), "delegation", Level::Error, "answers REFUSED", "--parent");

    let itself = Reply { answers: vec![ns(NS1), ns(NS2)], ..reply(NOERROR, true) };
    let itself = |server: &str| {
        let mut zone = zone(Ok(itself.clone()), nothing());
        if let Parent::Asked(views) = &mut zone.parent {
            views[0].server = server.parse().unwrap();
        }
        with_zone(zone)
    };
    one(&itself("192.0.2.1:53"), "delegation", Level::Error, "answers for the zone itself", "take the zone");
    let mut child = itself("192.0.2.53:53");
    one(&child, "delegation", Level::Warning, "delegation, glue and DS are not checked", "--parent");
    let soa = Record { owner: "example.com".to_owned(), ..record(ZONE, Data::Serial(1)) };
    if let Parent::Asked(views) = &mut child.zones[0].parent {
        views[0].ds = Ok(Reply { authority: vec![soa], ..reply(NOERROR, true) });
    }
    assert_eq!(troubles(&child), [], "one server for parent and child");
    let above = Record { owner: "com".to_owned(), ..ns("a.gtld-servers.net") };
    let above = Reply { authority: vec![above], ..reply(NOERROR, false) };
    one(&ask(above), "delegation", Level::Error, "refers to com", "--parent");

    let mut single = referral();
    single.authority.pop();
    one(
        &ask(single.clone()),
        "delegation",
        Level::Warning,
        "the parent does not",
        "`gslb.example.com. NS ns2",
    );
    one(&ask(single), "delegation", Level::Warning, "one name server only", "second Waypost");
    let mut extra = referral();
    extra.authority.push(ns("ns.example.net"));
    one(&ask(extra.clone()), "delegation", Level::Warning, "names ns.example.net", "take them out");
    one(&ask(extra), "address", Level::Error, "ns.example.net", "in its own zone");
    let mut short = referral();
    short.authority.iter_mut().for_each(|record| record.ttl_s = 0);
    one(&ask(short), "delegation", Level::Warning, "TTL is 0", "300");
}

#[test]
fn each_fault_of_the_glue_has_its_finding_and_fix() {
    let ask = |ns: Reply| with_zone(zone(Ok(ns), nothing()));
    let mut missing = referral();
    missing.additional.remove(0);
    let fix = "add glue to the parent's zone: `ns1.gslb.example.com. A 192.0.2.53`";
    one(&ask(missing), "glue", Level::Error, "no address of ns1", fix);

    let mut wrong = referral();
    wrong.additional[0] = address(NS1, "192.0.2.99");
    one(&ask(wrong), "glue", Level::Error, "is 192.0.2.99", "correct the glue at the parent: `ns1");

    let mut both = with_zone(zone(Ok(referral()), nothing()));
    both.zones[0].own.get_mut(NS1).unwrap().push("2001:db8::53".parse().unwrap());
    one(&both, "glue", Level::Warning, "is also 2001:db8::53", "AAAA 2001:db8::53`");

    let mut unknown = with_zone(zone(Ok(referral()), nothing()));
    unknown.zones[0].own.remove(NS1);
    one(&unknown, "glue", Level::Error, "the zone does not", "add to the zone file: `ns1");
}

#[test]
fn a_ds_record_above_an_unsigned_zone_is_an_error() {
    let ds = Reply { answers: vec![record(ZONE, Data::Ds)], ..reply(NOERROR, true) };
    let facts = with_zone(zone(Ok(referral()), Ok(ds)));
    one(&facts, "ds", Level::Error, "SERVFAIL", "take the DS records of gslb.example.com out");
}

#[test]
fn a_parent_that_cannot_be_found_or_asked_is_a_finding() {
    let silent = with_zone(zone(Err(Trouble::Silent), Err(Trouble::Silent)));
    one(&silent, "delegation", Level::Error, "does not answer in time", "--node-only");
    let mut unknown = zone(nothing(), nothing());
    unknown.parent = Parent::NotFound("no resolver".to_owned());
    one(&with_zone(unknown), "delegation", Level::Error, "no resolver", "--resolver");

    // One silent server of several matters to nobody.
    let mut several = zone(Err(Trouble::Silent), Err(Trouble::Silent));
    if let Parent::Asked(views) = &mut several.parent {
        views.push(View {
            server: "192.0.2.2:53".parse().unwrap(),
            parent: "example.com".to_owned(),
            ns: Ok(referral()),
            ds: nothing(),
        });
    }
    assert_eq!(troubles(&with_zone(several)), []);
}

#[test]
fn a_node_that_is_no_name_server_or_not_at_port_53_is_told() {
    let mut facts = with_zone(zone(Ok(referral()), nothing()));
    facts.listen = vec!["127.0.0.1:5300".parse().unwrap()];
    one(&facts, "listen", Level::Warning, "no name server's address", "dns.listen");
    facts.listen = vec!["192.0.2.53:5300".parse().unwrap()];
    one(&facts, "listen", Level::Error, "listens on port 5300", "listen on port 53");
    facts.listen = vec!["0.0.0.0:5300".parse().unwrap()];
    assert_eq!(troubles(&facts), []);
}

fn soa(serial: u32) -> Reply {
    Reply { answers: vec![record(ZONE, Data::Serial(serial))], ..reply(NOERROR, true) }
}

fn edns(rcode: u16, subnet: Option<Vec<u8>>, payload: u16) -> Reply {
    Reply { edns: Some(Edns { version: 0, payload, subnet }), ..reply(rcode, true) }
}

/// A name server that answers everything as it should.
fn server() -> Server {
    let asked = |proto, name: &str, rtype, manner, reply: Reply| Asked {
        proto,
        question: Question::new(name, rtype, manner),
        expected: reply.clone(),
        got: Ok(reply),
    };
    let www = "www.gslb.example.com";
    let a = Reply { answers: vec![address(www, "192.0.2.11")], ..reply(NOERROR, true) };
    let subnet = edns(NOERROR, Some(vec![0, 1, 24, 20, 203, 0, 113]), 1232);
    Server {
        addr: "192.0.2.53:53".parse().unwrap(),
        is_node: false,
        names: vec![NS1.to_owned()],
        asked: vec![
            asked(Proto::Udp, ZONE, Rtype::SOA, Manner::Plain, soa(7)),
            asked(Proto::Tcp, ZONE, Rtype::SOA, Manner::Plain, soa(7)),
            asked(Proto::Udp, ".", Rtype::SOA, Manner::Recursive, reply(5, false)),
            asked(Proto::Udp, www, Rtype::A, Manner::Subnet, subnet),
            asked(Proto::Udp, ZONE, Rtype::SOA, Manner::Version1, edns(BADVERS, None, 1232)),
            asked(Proto::Udp, www, Rtype::A, Manner::Plain, a),
            asked(Proto::Udp, www, Rtype::AAAA, Manner::Plain, reply(NOERROR, true)),
        ],
    }
}

/// A name server of which this answer is another.
fn with_answer(at: usize, got: Answer) -> Facts {
    let mut server = server();
    server.asked[at].got = got;
    Facts { servers: vec![server], subnets_decide: true, ..Facts::default() }
}

#[test]
fn a_server_that_answers_as_the_files_say_is_in_order() {
    let facts = with_answer(0, Ok(soa(7)));
    assert_eq!(troubles(&facts), []);
    assert!(judge(&facts).len() >= 7);
}

#[test]
fn each_wrong_answer_of_a_server_has_its_finding_and_fix() {
    let (udp, tcp, recursion, subnet, version, a) = (0, 1, 2, 3, 4, 5);
    let error = Level::Error;
    one(&with_answer(tcp, Err(Trouble::Refused)), "tcp", error, "refuses", "tcp/53 through the firewall");
    one(&with_answer(udp, Ok(reply(5, false))), "udp", error, "REFUSED without the flag aa", "it is lame");
    one(&with_answer(udp, Ok(soa(6))), "serial", Level::Warning, "serial 6", "`waypost reload` there");
    let open = Reply { recursion: true, ..reply(NOERROR, false) };
    one(&with_answer(recursion, Ok(open)), "recursion", error, "offers recursion", "switch recursion off");
    let no_edns = Ok(reply(NOERROR, true));
    one(&with_answer(subnet, no_edns), "subnet", error, "no EDNS", "firewall");
    let changed = edns(NOERROR, Some(vec![0, 1, 24, 20, 203, 0, 112]), 1232);
    one(&with_answer(subnet, Ok(changed)), "subnet", error, "comes back changed", "is it a Waypost");
    let bare = Ok(edns(NOERROR, None, 1232));
    one(&with_answer(subnet, bare), "subnet", error, "not answered", "is it a Waypost");
    let wider = edns(NOERROR, Some(vec![0, 1, 24, 8, 203, 0, 113]), 1232);
    one(&with_answer(subnet, Ok(wider)), "subnet", Level::Warning, "scope 8", "geo database differ");
    let large = edns(NOERROR, Some(vec![0, 1, 24, 20, 203, 0, 113]), 4096);
    one(&with_answer(subnet, Ok(large)), "edns", Level::Warning, "4096", "dns.max_udp_size");
    one(&with_answer(subnet, Err(Trouble::Silent)), "subnet", error, "in time", "RFC 8906");
    let old = Ok(edns(NOERROR, None, 1232));
    one(&with_answer(version, old), "edns", Level::Warning, "not BADVERS", "RFC 6891");
    one(&with_answer(a, Ok(reply(NOERROR, true))), "service", error, "empty", "same configuration");
    one(&with_answer(a, Ok(reply(NXDOMAIN, true))), "service", error, "NXDOMAIN", "waypost explain");
}

#[test]
fn a_server_that_is_silent_altogether_is_told_once_and_one_without_a_route_only_warns() {
    let silent = |trouble: Trouble| {
        let mut server = server();
        server.asked.truncate(2);
        server.asked.iter_mut().for_each(|asked| asked.got = Err(trouble.clone()));
        Facts { servers: vec![server], ..Facts::default() }
    };
    let facts = silent(Trouble::Silent);
    assert_eq!(troubles(&facts).len(), 1);
    one(&facts, "udp", Level::Error, "over UDP and TCP", "firewall");
    let facts = silent(Trouble::NoRoute);
    assert_eq!(troubles(&facts).len(), 1);
    one(&facts, "udp", Level::Warning, "no route", "route there");

    let mut facts = silent(Trouble::Refused);
    facts.node = std::mem::take(&mut facts.servers);
    facts.node[0].is_node = true;
    assert!(is_down(&facts));
    one(&facts, "udp", Level::Error, "refuses", "waypost serve");
}

fn on_machine(change: impl FnOnce(&mut Machine)) -> Facts {
    let mut machine = Machine {
        wall_ms: 1_800_000_000_000,
        program_s: Some(1_790_000_000),
        synchronised: Some(true),
        running: Some(Running { ahead_ms: 3, ..Running::default() }),
        geo: Some(GeoFile { path: "country.mmdb".to_owned(), build_s: Some(1_799_000_000) }),
        files: Some(OpenFiles { soft: 20_000, hard: 20_000, pid: Some(7) }),
        files_needed: 4_160,
        receive_max: Some(4 << 20),
        backlog_max: Some(4096),
        may_bind: Some(true),
        ..Machine::default()
    };
    machine.state_dir.path = "state".to_owned();
    machine.state_dir.mode = Some(0o700);
    machine.state_dir.free = Some(10 << 30);
    change(&mut machine);
    Facts { machine, ..Facts::default() }
}

#[test]
fn a_machine_that_is_as_it_should_be_is_in_order() {
    assert_eq!(troubles(&on_machine(|_| {})), []);
    assert_eq!(troubles(&on_machine(|machine| machine.synchronised = None)), []);
}

#[test]
fn each_fault_of_the_machine_has_its_finding_and_fix() {
    let (error, warning) = (Level::Error, Level::Warning);
    let ntp = "set-ntp true";
    one(&on_machine(|m| m.program_s = Some(1_900_000_000)), "clock", error, "is behind", ntp);
    one(&on_machine(|m| m.running.as_mut().unwrap().ahead_ms = -90_000), "clock", warning, "-90 s", ntp);
    one(&on_machine(|m| m.synchronised = Some(false)), "clock", warning, "not synchronised", ntp);
    let few = OpenFiles { soft: 1024, hard: 1024, pid: None };
    one(&on_machine(|m| m.files = Some(few)), "open_files", warning, "1024", "LimitNOFILE=4160");
    one(&on_machine(|m| m.receive_max = Some(212_992)), "kernel", warning, "212992", "rmem_max=4194304");
    one(&on_machine(|m| m.backlog_max = Some(128)), "kernel", warning, "128", "somaxconn=1024");
    one(&on_machine(|m| m.state_dir.mode = Some(0o755)), "state_dir", warning, "0755", "chmod 700");
    let key = |m: &mut Machine| m.state_dir.cookie_key_mode = Some(0o640);
    one(&on_machine(key), "state_dir", warning, "cookie.key", "chmod 600");
    let fault = ("cookie.key:1:1: this is no hexadecimal digit".to_owned(), "write one".to_owned());
    let both = on_machine(|m| {
        m.state_dir.cookie_key_mode = Some(0o644);
        m.state_dir.cookie_key_fault = Some(fault);
    });
    one(&both, "state_dir", warning, "may be read by others", "chmod 600");
    one(&both, "state_dir", error, "no hexadecimal digit", "write one");
    one(&on_machine(|m| m.state_dir.free = Some(100 << 20)), "state_dir", warning, "100 MiB", "make room");
    one(&on_machine(|m| m.state_dir.free = Some(1 << 20)), "state_dir", error, "1 MiB", "make room");
    let old = |m: &mut Machine| m.geo = Some(GeoFile { path: String::new(), build_s: Some(1_780_000_000) });
    one(&on_machine(old), "geo", warning, "231 days", "publisher");
    let shipped = |m: &mut Machine| {
        let path = "geoip/dbip-country.mmdb".to_owned();
        m.geo = Some(GeoFile { path, build_s: Some(1_780_000_000) });
    };
    one(&on_machine(shipped), "geo", warning, "231 days", "https://db-ip.com");
    one(&on_machine(|m| m.geo = Some(GeoFile::default())), "geo", warning, "future", "clock");
}

#[test]
fn ports_below_1024_are_told_only_while_nothing_answers() {
    let mut facts = on_machine(|machine| machine.may_bind = Some(false));
    facts.node = vec![server()];
    assert_eq!(troubles(&facts).iter().filter(|found| found.0 == "port").count(), 0);
    facts.node[0].asked.iter_mut().for_each(|asked| asked.got = Err(Trouble::Refused));
    one(&facts, "port", Level::Warning, "below 1024", "CAP_NET_BIND_SERVICE");
}

#[test]
fn what_answers_without_dns_is_told_as_another_program_and_not_as_a_firewall() {
    let mut server = server();
    server.asked.truncate(2);
    server.asked[0].got = Err(Trouble::Broken);
    server.asked[1].got = Err(Trouble::Silent);
    let facts = Facts { servers: vec![server], ..Facts::default() };
    one(&facts, "udp", Level::Error, "over UDP it answers with something that is no DNS", "ss -lnup");
    one(&facts, "tcp", Level::Error, "does not answer in time", "firewall");
}

#[test]
fn what_was_not_asked_in_time_is_a_warning_and_no_silence() {
    let mut server = server();
    server.asked.iter_mut().skip(3).for_each(|asked| asked.got = Err(Trouble::NotAsked));
    let facts = Facts { servers: vec![server], ..Facts::default() };
    assert_eq!(troubles(&facts).len(), 1);
    one(&facts, "time", Level::Warning, "4 questions were not asked", "--zone NAME");
    let late = with_zone(zone(Err(Trouble::NotAsked), Err(Trouble::NotAsked)));
    one(&late, "delegation", Level::Warning, "was not asked", "--zone NAME");
    let cut = with_zone(zone(Err(Trouble::CutShort), Err(Trouble::CutShort)));
    one(&cut, "delegation", Level::Error, "cuts its answer short over TCP", "Name fewer");
}

#[test]
fn thousands_of_name_servers_are_told_in_few_lines() {
    let mut many = referral();
    many.authority.extend((0..3_500).map(|number| ns(&format!("ns{number}.example.net"))));
    let found = troubles(&with_zone(zone(Ok(many), nothing())));
    assert!(found.len() <= 16, "{}", found.len());
    assert!(found.iter().all(|found| found.2.len() + found.3.len() < 2_000), "{found:#?}");
    assert!(found.iter().any(|found| found.2.contains("of which 13 are looked at")), "{found:#?}");
}

#[test]
fn one_forgotten_reload_is_told_once_for_all_addresses_of_this_node_with_the_reload_as_its_fix() {
    let behind = |addr: &str, is_node: bool, name: &str| {
        let mut server = Server { is_node, names: vec![name.to_owned()], ..server() };
        server.addr = addr.parse().unwrap();
        server.asked.iter_mut().take(2).for_each(|asked| asked.got = Ok(soa(6)));
        server
    };
    let node = vec![behind("192.0.2.53:53", true, NS1), behind("[2001:db8::53]:53", true, NS1)];
    let mut facts = Facts { node, subnets_decide: true, ..Facts::default() };
    assert_eq!(troubles(&facts).len(), 1);
    one(&facts, "serial", Level::Warning, "serial 6 there, and 7", "since it was read: `waypost reload`");
    let target = &judge(&facts).into_iter().find(|finding| finding.check == "serial").unwrap().target;
    assert!(target.contains("192.0.2.53:53") && target.contains("[2001:db8::53]:53"), "{target}");

    facts.servers.push(behind("198.51.100.53:53", false, NS2));
    assert_eq!(troubles(&facts).len(), 2, "another node is another thing to do");
    one(&facts, "serial", Level::Warning, "serial 6", "`waypost reload` there");
}

#[test]
fn what_the_running_server_finds_odd_is_told_with_its_fix_and_another_servers_answer_is_noticed() {
    let warning = Level::Warning;
    let running = |change: fn(&mut Running)| on_machine(|m| change(m.running.as_mut().unwrap()));
    let refused = running(|running| running.warnings.push(("reload".to_owned(), "line 3 is odd".to_owned())));
    assert_eq!(troubles(&refused).len(), 1);
    one(&refused, "server", warning, "reload: line 3 is odd", "waypost check");
    let new = running(|running| running.warnings.push(("of_another_version".to_owned(), "x".to_owned())));
    one(&new, "server", warning, "of_another_version: x", "waypost status");
    one(&running(|running| running.node = "demo".to_owned()), "server", warning, "node `demo`", "--config");
    one(&on_machine(|m| m.state_dir.mode = None), "state_dir", warning, "a server runs", "--config");
    let alone = on_machine(|m| {
        m.running = None;
        m.state_dir.mode = None;
    });
    assert_eq!(troubles(&alone), [], "a server that starts makes it");
}

#[test]
fn a_dnstap_collector_that_is_away_is_a_warning_told_once() {
    let tap = |collector| {
        on_machine(|m| {
            m.dnstap = Some("tap.sock".to_owned());
            let running = m.running.as_mut().unwrap();
            running.collector = collector;
            running.warnings.push(("dnstap".to_owned(), "no collector".to_owned()));
        })
    };
    assert_eq!(troubles(&tap(Some(true))), []);
    assert_eq!(troubles(&tap(Some(false))).len(), 1);
    one(&tap(Some(false)), "dnstap", Level::Warning, "no collector is connected", "write to it");
    one(&tap(None), "dnstap", Level::Warning, "has no collector configured", "waypost reload");
}
