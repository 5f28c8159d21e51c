//! Connections that end with a reset: in the middle of a message, behind a query, before the server has taken them in.

use crate::client::{Client, framed, query};
use crate::honest::Honest;
use crate::server::Server;

/// Resets of each kind.
const RESETS: usize = 3_000;

#[test]
fn thousands_of_resets_leave_nothing_behind() {
    let server = Server::start("max_connections = 500");
    let honest = Honest::ask(server.ip());
    let whole = framed(&query(1));
    for number in 0..RESETS {
        for bytes in [&[][..], &whole[..9], &whole[..], &whole.repeat(50)] {
            let mut client = Client::number(number, server.ip());
            let _ = client.send(bytes);
            client.reset();
        }
    }
    honest.were_served();
    server.recovers();
}
