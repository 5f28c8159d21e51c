//! EDNS (RFC 6891) and the options that are answered: client subnet (RFC 7871), NSID (RFC 5001), cookie (RFC 7873),
//! keepalive (RFC 7828). An answer may say more about its error (RFC 8914).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::cookie::{Cookie, FULL_LEN};
use super::reply::{Full, Reply, Section};
use super::wire::{Fault, Rcode};
use super::{Query, Settings, Transport};
use crate::region::geo::Subnet;

/// Largest UDP answer to a query without EDNS, and the least that any client takes, in bytes (RFC 6891 6.2.3).
pub const MIN_UDP_SIZE: u16 = 512;

/// Longest NSID that is answered, in bytes: with it header, longest question and every other option still fit into
/// [`MIN_UDP_SIZE`].
pub const MAX_NSID_LEN: usize = 128;

/// Most options that are read of one query; with more it is malformed. A query has a handful; what brings more only wants
/// them skipped, at our cost.
pub const MAX_OPTIONS: usize = 64;

/// Option codes (IANA, "DNS EDNS0 Option Codes").
const NSID: u16 = 3;
const CLIENT_SUBNET: u16 = 8;
const COOKIE: u16 = 10;
const TCP_KEEPALIVE: u16 = 11;
const EXTENDED_ERROR: u16 = 15;

/// Length of an OPT record without options.
const OPT_LEN: usize = 11;
/// Length of an option's code and length.
const OPTION_HEAD_LEN: usize = 4;
/// The DO bit among the flags of the OPT record's TTL field (RFC 3225 3).
const DNSSEC_OK: u32 = 0x8000;

/// What a query's OPT record says.
#[derive(Clone, Copy, Debug)]
pub struct Edns<'a> {
    payload: u16,
    version: u8,
    dnssec_ok: bool,
    subnet: Option<ClientSubnet<'a>>,
    nsid: bool,
    cookie: Option<&'a [u8]>,
    keepalive: Option<&'a [u8]>,
}

impl<'a> Edns<'a> {
    pub(super) const fn new(class: u16, ttl: u32) -> Self {
        Self {
            payload: class,
            version: (ttl >> 16) as u8,
            dnssec_ok: ttl & DNSSEC_OK != 0,
            subnet: None,
            nsid: false,
            cookie: None,
            keepalive: None,
        }
    }

    /// Reads the options; unknown ones are ignored (RFC 6891 6.1.2). What a higher version's options mean nobody
    /// knows here, so they are not read.
    pub(super) fn read_options(&mut self, mut data: &'a [u8]) -> Result<(), Fault> {
        if self.version != 0 {
            return Ok(());
        }
        let mut left = MAX_OPTIONS;
        while !data.is_empty() {
            left = left.checked_sub(1).ok_or(Fault::Opt)?;
            let (&[c0, c1, l0, l1], rest) = data.split_first_chunk().ok_or(Fault::Opt)?;
            let len = usize::from(u16::from_be_bytes([l0, l1]));
            let (option, rest) = rest.split_at_checked(len).ok_or(Fault::Opt)?;
            match u16::from_be_bytes([c0, c1]) {
                // Of several options the first counts: RFC 7873 5.2 says so for cookies.
                CLIENT_SUBNET if self.subnet.is_none() => self.subnet = Some(ClientSubnet::parse(option)?),
                NSID => self.nsid = true, // whatever it holds (RFC 5001 2.1)
                COOKIE if self.cookie.is_none() => self.cookie = Some(option),
                TCP_KEEPALIVE if self.keepalive.is_none() => self.keepalive = Some(option),
                _ => {}
            }
            data = rest;
        }
        Ok(())
    }

    pub(super) const fn check_version(self) -> Result<(), Fault> {
        if self.version == 0 { Ok(()) } else { Err(Fault::EdnsVersion) }
    }

    /// The client's subnet, when it gave one (RFC 7871 7.1.2: a source length of 0 says "do not use any").
    pub(super) fn subnet(&self) -> Option<Subnet> {
        let option = self.subnet?;
        (option.source > 0).then_some(Subnet { addr: option.addr, source: option.source })
    }

    /// Reads what depends on how the query came: its cookie, if cookies are on, and over TCP its keepalive, which is
    /// ignored over UDP (RFC 7828 3.3.1).
    pub(super) fn read_session(
        &self,
        settings: &Settings,
        query: &Query<'_>,
    ) -> Result<Option<Cookie>, Fault> {
        if query.transport == Transport::Tcp && self.keepalive.is_some_and(|data| !data.is_empty()) {
            return Err(Fault::Keepalive);
        }
        let (Some(option), Some(cookies)) = (self.cookie, &settings.cookies) else { return Ok(None) };
        cookies.secrets.answer(option, query.peer, query.wall_s).map(Some)
    }

    /// Largest answer over UDP, in bytes.
    pub(super) fn udp_size(&self, settings: &Settings, cookie: Option<&Cookie>) -> u16 {
        let size = self.payload.min(settings.max_udp_size);
        let size = match &settings.cookies {
            Some(cookies) if !cookie.is_some_and(Cookie::is_verified) => size.min(cookies.unverified_udp),
            _ => size,
        };
        size.max(MIN_UDP_SIZE)
    }

    /// What the answer's OPT record will say.
    pub(super) fn answer<'s>(
        &self,
        settings: &'s Settings,
        transport: Transport,
        cookie: Option<&'s Cookie>,
    ) -> OptAnswer<'s>
    where
        'a: 's,
    {
        let nsid = if settings.nsid.len() <= MAX_NSID_LEN { settings.nsid.as_slice() } else { &[] };
        OptAnswer {
            udp_size: settings.max_udp_size,
            dnssec_ok: self.dnssec_ok,
            subnet: self.subnet.map(|subnet| subnet.raw),
            nsid: if self.nsid { nsid } else { &[] },
            cookie: cookie.map(|cookie| &cookie.full),
            keepalive: self
                .keepalive
                .filter(|_| transport == Transport::Tcp)
                .map(|_| settings.tcp_idle_100ms),
        }
    }
}

/// An answer's OPT record. Its length is known before the answer is, so that its room can be kept free.
#[derive(Clone, Copy, Debug)]
pub(super) struct OptAnswer<'a> {
    udp_size: u16,
    dnssec_ok: bool,
    subnet: Option<&'a [u8]>,
    nsid: &'a [u8],
    cookie: Option<&'a [u8; FULL_LEN]>,
    keepalive: Option<u16>,
}

impl OptAnswer<'_> {
    /// The record's length in bytes.
    pub(super) fn len(&self) -> usize {
        OPT_LEN + self.options_len()
    }

    fn options_len(&self) -> usize {
        let subnet = self.subnet.map_or(0, |subnet| OPTION_HEAD_LEN + subnet.len());
        let nsid = if self.nsid.is_empty() { 0 } else { OPTION_HEAD_LEN + self.nsid.len() };
        let cookie = self.cookie.map_or(0, |cookie| OPTION_HEAD_LEN + cookie.len());
        let keepalive = self.keepalive.map_or(0, |_| OPTION_HEAD_LEN + 2);
        subnet + nsid + cookie + keepalive
    }

    /// Leaves out what answers an option: for faults that make the options meaningless.
    pub(super) const fn without_options(self) -> Self {
        Self { subnet: None, nsid: &[], cookie: None, keepalive: None, ..self }
    }

    /// Leaves out what would make the answer longer than the query.
    pub(super) const fn without_growth(self) -> Self {
        Self { nsid: &[], ..self }
    }

    /// Writes the record; `scope` goes into the subnet option (RFC 7871 7.2.1). The answer's extended error, for which
    /// no room is kept, comes along if there is some.
    pub(super) fn write(&self, reply: &mut Reply<'_>, rcode: Rcode, scope: u8) -> Result<(), Full> {
        let [s0, s1] = self.udp_size.to_be_bytes();
        let options_len = self.options_len();
        let extended = reply.extended.map(|extended| (extended, OPTION_HEAD_LEN + 2 + extended.text().len()));
        let extended = extended.filter(|(_, len)| OPT_LEN + options_len + len <= reply.room());
        let options_len = options_len + extended.map_or(0, |(_, len)| len);
        let [l0, l1] = (options_len as u16).to_be_bytes(); // bounded by MAX_NSID_LEN; the others are short
        let upper_rcode = (rcode.code() >> 4) as u8;
        reply.put(&[0, 0, 41, s0, s1, upper_rcode, 0, u8::from(self.dnssec_ok) << 7, 0, l0, l1])?;
        if let Some(&[f0, f1, source, _, ref address @ ..]) = self.subnet {
            put_option_head(reply, CLIENT_SUBNET, 4 + address.len())?;
            reply.put(&[f0, f1, source, scope])?;
            reply.put(address)?;
        }
        if !self.nsid.is_empty() {
            put_option_head(reply, NSID, self.nsid.len())?;
            reply.put(self.nsid)?;
        }
        if let Some(cookie) = self.cookie {
            put_option_head(reply, COOKIE, cookie.len())?;
            reply.put(cookie)?;
        }
        if let Some(idle) = self.keepalive {
            put_option_head(reply, TCP_KEEPALIVE, 2)?;
            reply.put(&idle.to_be_bytes())?;
        }
        if let Some((extended, len)) = extended {
            put_option_head(reply, EXTENDED_ERROR, len - OPTION_HEAD_LEN)?;
            reply.put(&extended.info_code().to_be_bytes())?;
            reply.put(extended.text())?;
        }
        reply.count(Section::Additional, 1);
        Ok(())
    }
}

fn put_option_head(reply: &mut Reply<'_>, code: u16, len: usize) -> Result<(), Full> {
    let ([c0, c1], [l0, l1]) = (code.to_be_bytes(), (len as u16).to_be_bytes());
    reply.put(&[c0, c1, l0, l1])
}

/// A well-formed client subnet option.
#[derive(Clone, Copy, Debug)]
struct ClientSubnet<'a> {
    /// The option's data, to be echoed byte for byte but for the scope.
    raw: &'a [u8],
    addr: IpAddr,
    source: u8,
}

impl<'a> ClientSubnet<'a> {
    /// Reads the option (RFC 7871 6). Malformed is: shorter than its fixed part; a scope in a query; a family that
    /// does not exist; a prefix longer than the family's addresses; more or fewer address bytes than the prefix needs;
    /// bits set beyond it.
    fn parse(raw: &'a [u8]) -> Result<Self, Fault> {
        let (&[f0, f1, source, scope], address) = raw.split_first_chunk().ok_or(Fault::Subnet)?;
        if scope != 0 {
            return Err(Fault::Subnet);
        }
        let addr = match u16::from_be_bytes([f0, f1]) {
            1 => IpAddr::V4(Ipv4Addr::from(padded::<4>(address, source)?)),
            2 => IpAddr::V6(Ipv6Addr::from(padded::<16>(address, source)?)),
            _ => return Err(Fault::Subnet),
        };
        Ok(Self { raw, addr, source })
    }
}

/// The address bytes, filled up with zeros.
fn padded<const LEN: usize>(address: &[u8], source: u8) -> Result<[u8; LEN], Fault> {
    if usize::from(source) > 8 * LEN || address.len() != usize::from(source).div_ceil(8) {
        return Err(Fault::Subnet);
    }
    if let (Some(last), used @ 1..) = (address.last(), source % 8)
        && last << used != 0
    {
        return Err(Fault::Subnet);
    }
    let mut bytes = [0; LEN];
    bytes.get_mut(..address.len()).ok_or(Fault::Subnet)?.copy_from_slice(address);
    Ok(bytes)
}
