//! What is neither a query nor an attack, and ends as it should.

use std::net::Shutdown;
use std::time::Duration;

use crate::client::{Client, framed, is_answer, query};
use crate::honest::Honest;
use crate::server::Server;

/// Three times the two seconds in which a message must arrive.
const CUT: Duration = Duration::from_secs(6);

#[test]
fn who_closes_its_side_behind_its_queries_still_gets_every_answer() {
    let server = Server::start("");
    let honest = Honest::ask(server.ip());
    let queries: Vec<u8> = (0..500).flat_map(|id| framed(&query(id))).collect();
    for number in 0..50 {
        let mut client = Client::number(number, server.ip());
        assert!(client.send(&queries));
        client.stream().shutdown(Shutdown::Write).unwrap();
        for id in 0..500 {
            let message = client.receive().unwrap_or_else(|| panic!("no answer to query {id}"));
            assert!(is_answer(&message, id));
        }
        assert!(client.is_closed_within(CUT));
    }
    honest.were_served();
    server.recovers();
}

#[test]
fn a_message_that_is_none_closes_its_connection_behind_the_answers_before_it() {
    let server = Server::start("");
    let honest = Honest::ask(server.ip());
    let mut answer_bit = query(2);
    answer_bit[2] |= 0x80;
    let too_short = (0..12).map(|len| query(2)[..len].to_vec());
    for (number, nonsense) in too_short.chain([answer_bit]).enumerate() {
        let mut client = Client::number(number, server.ip());
        let bytes = [framed(&query(1)), framed(&nonsense), framed(&query(3))].concat();
        assert!(client.send(&bytes));
        assert!(client.receive().is_some_and(|message| is_answer(&message, 1)));
        assert_eq!(client.receive(), None, "{nonsense:?}");
        assert!(client.is_closed_within(CUT), "{nonsense:?}");
    }
    honest.were_served();
    server.recovers();
}

#[test]
fn a_length_that_nothing_follows_is_not_waited_for() {
    let server = Server::start(r#"idle = "120s""#);
    let honest = Honest::ask(server.ip());
    for beginning in [&[0xff, 0xff][..], &[0xff][..], &[0xff, 0xff, 0, 1][..], &[0, 12, 0][..]] {
        let mut client = Client::number(0, server.ip());
        assert!(client.ask(1));
        assert!(client.send(beginning));
        assert!(client.is_closed_within(CUT), "{beginning:?}");
    }
    assert_eq!(server.closed_for("slow_writer"), 4);
    honest.were_served();
    server.recovers();
}
