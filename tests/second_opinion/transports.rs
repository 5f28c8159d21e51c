//! What may differ between an answer over UDP and the one over TCP.

use crate::corpus::{COOKIE, Case, KEEPALIVE};
use crate::decoded::Decoded;

/// Whether both say the same; `Ok(false)`: the one over UDP is cut, as it may be. Errors: what must not be.
pub(crate) fn compare(case: &Case, udp: &[u8], tcp: &[u8]) -> Result<bool, &'static str> {
    if udp == tcp {
        return Ok(true);
    }
    let (short, whole) = (Decoded::read(udp).ok_or("unreadable")?, Decoded::read(tcp).ok_or("unreadable")?);
    if whole.is_cut() {
        return Err("cut over TCP");
    }
    if tcp.len() > case.udp_limit() {
        return too_long(&short, &whole);
    }
    // How long a connection is kept belongs to TCP alone (RFC 7828 3.3.1); a cookie tells the second it was made in.
    let may_differ = case.query.asks_for(KEEPALIVE) || case.query.asks_for(COOKIE);
    if may_differ && short == whole.without_option(KEEPALIVE) { Ok(true) } else { Err("other bytes") }
}

/// What does not fit is left out: all of it, with TC set; or, without, what is merely helpful (RFC 2181 9).
fn too_long(short: &Decoded, whole: &Decoded) -> Result<bool, &'static str> {
    if short.is_cut() {
        let is_referral = whole.kind() == "NoError referral";
        return if short.has_no_records() || is_referral && short.is_part_of(whole) {
            Ok(false)
        } else {
            Err("cut, and not empty")
        };
    }
    if short.is_whole_but_for_help(whole) { Ok(false) } else { Err("less, and not cut") }
}
