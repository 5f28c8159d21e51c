//! What the server says about itself (RULES A6; RFC 4892).

use super::*;

fn ask_chaos(id: &str, version: &str, name: &str, qtype: u16) -> Answer {
    let mut view = view();
    Arc::make_mut(&mut view.settings).chaos = Chaos { id: id.into(), version: version.into() };
    let mut bytes = query(name, qtype, Some(&opt(&[(3, &[])])));
    let class_at = 12 + wire(&full(name)).len() + 3;
    bytes[class_at] = 3;
    send_as(&view, Transport::Udp, &bytes).unwrap()
}

#[test]
fn id_and_version_are_answered_under_each_of_their_names_when_configured() {
    for (name, text) in [
        ("id.server.", "ns1"),
        ("hostname.bind.", "ns1"),
        ("version.server.", "waypost"),
        ("version.bind.", "waypost"),
        ("VERSION.Bind.", "waypost"),
    ] {
        for qtype in [TXT, ANY] {
            let answer = ask_chaos("ns1", "waypost", name, qtype);
            assert_eq!((answer.code(), answer.aa()), (0, true));
            let record = &answer.decoded.answers[0];
            assert_eq!(
                (record.ttl, u16::from(record.dns_class), record.data.to_string().as_str()),
                (0, 3, text)
            );
            assert_eq!(record.name.to_string(), name, "the case of the question");
            assert_eq!(answer.option(3).unwrap(), b"ns1");
        }
    }
}

#[test]
fn what_is_not_configured_is_refused() {
    for (id, version, name) in [
        ("", "", "id.server."),
        ("", "v", "hostname.bind."),
        ("n", "", "version.bind."),
        ("n", "", "version.server."),
        ("n", "v", "authors.bind."),
        ("n", "v", "server."),
        ("n", "v", "."),
        ("n", "v", "www"),
        ("n", "v", "x.id.server."),
    ] {
        let answer = ask_chaos(id, version, name, TXT);
        assert_eq!((answer.code(), answer.answers().len(), answer.aa()), (5, 0, false), "{name}");
    }
}

#[test]
fn another_type_of_a_configured_name_is_empty() {
    let answer = ask_chaos("ns1", "", "id.server.", A);
    assert_eq!((answer.code(), answer.answers().len(), answer.authorities().len()), (0, 0, 0));
}

#[test]
fn the_longest_text_fits_without_edns_and_the_names_are_nothing_special_in_class_in() {
    let mut view = view();
    Arc::make_mut(&mut view.settings).chaos = Chaos { id: vec![b'x'; 255], version: Vec::new() };
    let mut bytes = query("hostname.bind.", TXT, None);
    assert_eq!(send_as(&view, Transport::Udp, &bytes).unwrap().code(), 5);
    *bytes.last_mut().unwrap() = 3;
    let answer = send_as(&view, Transport::Udp, &bytes).unwrap();
    assert_eq!((answer.code(), answer.tc(), answer.answers().len()), (0, false, 1));
}
