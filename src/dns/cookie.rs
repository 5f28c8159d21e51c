//! DNS cookies (RFC 7873) in the form that servers of every make share (RFC 9018): who shows one that was made for its
//! address gets what is sent there, so its address is not forged.
//!
//! A server cookie is version, reserved bytes, time and a SipHash-2-4 of all that, the client's half and the client's
//! address. Nothing is remembered about clients; servers that share a secret accept each other's cookies.

use std::fmt;
use std::net::IpAddr;

use siphasher::sip::SipHasher24;

use super::wire::{Fault, Rcode};

/// Length of a secret, in bytes (RFC 9018 4.4).
pub const SECRET_LEN: usize = 16;

/// Length of a client cookie, in bytes (RFC 7873 4).
pub const CLIENT_LEN: usize = 8;

/// Length of a server cookie as it is made here, in bytes (RFC 9018 4).
pub const SERVER_LEN: usize = 16;

/// Length of an answered cookie option's data: the client's half and the server's, in bytes.
pub(super) const FULL_LEN: usize = CLIENT_LEN + SERVER_LEN;

/// Lengths of an option with both halves, in bytes (RFC 7873 4).
const BOTH_LENS: std::ops::RangeInclusive<usize> = 16..=40;

/// The only version of server cookies (RFC 9018 4.1).
const VERSION: u8 = 1;

/// Oldest cookie that is valid, in seconds (RFC 9018 4.3).
const MAX_AGE_S: i32 = 3600;
/// How far a cookie's time may lie ahead, in seconds: clocks of servers that share a secret differ (RFC 9018 4.3).
const MAX_AHEAD_S: i32 = 300;
/// Age from which a valid cookie is replaced, in seconds (RFC 9018 4.3).
const RENEW_AGE_S: i32 = 1800;

/// A secret that server cookies are made with. Never shown, not even by `Debug`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret([u8; SECRET_LEN]);

impl Secret {
    /// The secret of these bytes, which come from the system's randomness.
    pub const fn new(bytes: [u8; SECRET_LEN]) -> Self {
        Self(bytes)
    }

    /// What `cookie` hashes to; the first bytes of a server cookie are hashed as they came, the reserved ones too
    /// (RFC 9018 4.2).
    fn hash(&self, client: [u8; CLIENT_LEN], head: [u8; 8], peer: IpAddr) -> [u8; 8] {
        let mut input = [0; CLIENT_LEN + 8 + 16];
        let (front, address) = input.split_at_mut(CLIENT_LEN + 8);
        front[..CLIENT_LEN].copy_from_slice(&client);
        front[CLIENT_LEN..].copy_from_slice(&head);
        // An IPv4 client of a socket for both families is the client that it is to an IPv4 socket.
        let address_len = match peer.to_canonical() {
            IpAddr::V4(peer) => {
                address[..4].copy_from_slice(&peer.octets());
                4
            }
            IpAddr::V6(peer) => {
                address.copy_from_slice(&peer.octets());
                16
            }
        };
        let hashed = &input[..CLIENT_LEN + 8 + address_len];
        SipHasher24::new_with_key(&self.0).hash(hashed).to_le_bytes()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The live secrets. Two of them let a set of servers change theirs one by one (RFC 9018 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Secrets {
    /// Makes cookies, and verifies them.
    pub first: Secret,
    /// Verifies cookies that other servers make with it, or that this one made until lately.
    pub second: Option<Secret>,
}

impl Secrets {
    /// The server cookie for a client and its address at `now_s`, seconds since 1970 modulo 2^32 (RFC 9018 4).
    pub fn make(&self, client: [u8; CLIENT_LEN], peer: IpAddr, now_s: u32) -> [u8; SERVER_LEN] {
        let [t0, t1, t2, t3] = now_s.to_be_bytes();
        let head = [VERSION, 0, 0, 0, t0, t1, t2, t3];
        let [h0, h1, h2, h3, h4, h5, h6, h7] = self.first.hash(client, head, peer);
        [VERSION, 0, 0, 0, t0, t1, t2, t3, h0, h1, h2, h3, h4, h5, h6, h7]
    }

    /// The age of a valid server cookie in seconds, below zero when it is of a clock ahead; `None`: it is not valid.
    fn age_s(
        &self,
        client: [u8; CLIENT_LEN],
        server: &[u8; SERVER_LEN],
        peer: IpAddr,
        now_s: u32,
    ) -> Option<i32> {
        let [version, r0, r1, r2, t0, t1, t2, t3, h0, h1, h2, h3, h4, h5, h6, h7] = *server;
        let head = [version, r0, r1, r2, t0, t1, t2, t3];
        // Serial number arithmetic (RFC 1982 3.2): right across 2038 and 2106.
        let age_s = now_s.wrapping_sub(u32::from_be_bytes([t0, t1, t2, t3])) as i32;
        if version != VERSION || !(-MAX_AHEAD_S..=MAX_AGE_S).contains(&age_s) {
            return None;
        }
        let hash = u64::from_ne_bytes([h0, h1, h2, h3, h4, h5, h6, h7]);
        // Compared as one number, so that the time it takes tells nothing about the hash.
        let is_by = |secret: &Secret| u64::from_ne_bytes(secret.hash(client, head, peer)) == hash;
        (is_by(&self.first) || self.second.as_ref().is_some_and(is_by)).then_some(age_s)
    }

    /// Reads a query's cookie option and prepares the answer's.
    ///
    /// Errors: the option has a length that no cookie has (RFC 7873 5.2.2).
    pub(super) fn answer(&self, option: &[u8], peer: IpAddr, now_s: u32) -> Result<Cookie, Fault> {
        let (&client, server) = option.split_first_chunk::<CLIENT_LEN>().ok_or(Fault::Cookie)?;
        if !server.is_empty() && !BOTH_LENS.contains(&option.len()) {
            return Err(Fault::Cookie);
        }
        let known_form = <&[u8; SERVER_LEN]>::try_from(server).ok();
        let valid = known_form.and_then(|server| Some((server, self.age_s(client, server, peer, now_s)?)));
        let standing = match valid {
            Some(_) => Standing::Valid,
            None if server.is_empty() => Standing::ClientOnly,
            None => Standing::Invalid,
        };
        let mut full = [0; FULL_LEN];
        let (own, rest) = full.split_at_mut(CLIENT_LEN);
        own.copy_from_slice(&client);
        // A young one is kept, so that servers that know different first secrets do not pass a client to and fro.
        match valid {
            Some((server, ..RENEW_AGE_S)) => rest.copy_from_slice(server),
            _ => rest.copy_from_slice(&self.make(client, peer, now_s)),
        }
        Ok(Cookie { standing, full })
    }
}

/// What the operator set for cookies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookies {
    /// What they are made with.
    pub secrets: Secrets,
    /// Largest UDP answer to a query without a valid cookie, in bytes; less than [`super::edns::MIN_UDP_SIZE`] counts
    /// as that.
    pub unverified_udp: u16,
}

/// What a cookie option says about who sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The client's half alone: a client that asks for the first time.
    ClientOnly,
    /// A server's half that was made for this client, address and time.
    Valid,
    /// Any other server's half: forged, expired, of another address or secret.
    Invalid,
}

impl Standing {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::ClientOnly, Self::Valid, Self::Invalid];

    /// The word that people and scripts see.
    pub const fn word(self) -> &'static str {
        match self {
            Self::ClientOnly => "client_only",
            Self::Valid => "valid",
            Self::Invalid => "invalid",
        }
    }
}

/// A well-formed cookie option.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cookie {
    /// What it says.
    pub(super) standing: Standing,
    /// The data of the answer's option.
    pub(super) full: [u8; FULL_LEN],
}

impl Cookie {
    /// Whether the client's address is not forged: it has seen what was sent there.
    pub(super) fn is_verified(&self) -> bool {
        self.standing == Standing::Valid
    }

    /// What a query without a question, which asks for nothing but a cookie, is answered with (RFC 7873 5.4).
    pub(super) fn fetched(&self) -> Rcode {
        if self.standing == Standing::Invalid { Rcode::BadCookie } else { Rcode::NoError }
    }
}

#[cfg(test)]
mod tests;
