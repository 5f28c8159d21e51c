//! The fields of each type's data, in order.

use domain::base::iana::Rtype;

/// Numbers with a name that may stand for them.
pub(super) type Codes = &'static [(&'static str, u16)];

/// One field of record data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    U8,
    U16,
    U32,
    /// An 8-bit number or its name.
    Code8(Codes),
    /// A 16-bit number or its name.
    Code16(Codes),
    /// 32 bits, with the units of a TTL.
    Seconds,
    /// Seconds since 1970, or `YYYYMMDDHHmmSS` (RFC 4034 3.2).
    Time,
    /// A record type.
    Type,
    Name,
    Ipv4,
    Ipv6,
    /// A text of up to 255 bytes behind its length.
    Text,
    /// Such a text that is a decimal number, of this size at most whatever its sign (RFC 1712 3).
    Decimal(Option<u8>),
    /// Such texts up to the end, at least one.
    Texts,
    /// A text of letters and digits behind its length, not empty (RFC 8659 4.1).
    Tag,
    /// One text to the end, without a length; it may be empty.
    Rest,
    /// One text to the end, without a length, not empty (RFC 7553 4.4).
    Target,
    /// Hexadecimal to the end, not empty.
    Hex,
    /// Base64 to the end, not empty.
    Base64,
    /// Hexadecimal behind its length; `-` for none (RFC 5155 3.3).
    Salt,
    /// Base32 with the hex alphabet, behind its length (RFC 5155 3.3).
    NextHash,
    /// Record types to the end, as a bitmap (RFC 4034 4.1.2).
    Types,
    /// So many bytes, in hexadecimal with hyphens (RFC 7043).
    Eui(usize),
    /// 64 bits, as four groups of hexadecimal (RFC 6742).
    Groups,
    /// IPSECKEY's gateway, whose kind stands in the byte before the algorithm, and key, which the algorithm may leave
    /// out (RFC 4025).
    Gateway,
    /// SvcParams to the end (RFC 9460).
    Params,
    /// The whole of LOC data (RFC 1876).
    Location,
    /// Address prefixes to the end, possibly none (RFC 3123).
    Prefixes,
}

/// DNSSEC algorithms.
const ALGORITHMS: Codes = &[
    ("RSAMD5", 1),
    ("DH", 2),
    ("DSA", 3),
    ("RSASHA1", 5),
    ("DSA-NSEC3-SHA1", 6),
    ("NSEC3RSASHA1", 7),
    ("RSASHA1-NSEC3-SHA1", 7),
    ("RSASHA256", 8),
    ("RSASHA512", 10),
    ("ECC-GOST", 12),
    ("ECDSAP256SHA256", 13),
    ("ECDSAP384SHA384", 14),
    ("ED25519", 15),
    ("ED448", 16),
    ("INDIRECT", 252),
    ("PRIVATEDNS", 253),
    ("PRIVATEOID", 254),
];

/// CERT types (RFC 4398 2.1).
const CERT_TYPES: Codes = &[
    ("PKIX", 1),
    ("SPKI", 2),
    ("PGP", 3),
    ("IPKIX", 4),
    ("ISPKI", 5),
    ("IPGP", 6),
    ("ACPKIX", 7),
    ("IACPKIX", 8),
    ("URI", 253),
    ("OID", 254),
];

/// DSYNC schemes (RFC 9859 2.1).
const SCHEMES: Codes = &[("NOTIFY", 1)];

/// The fields of a type; `None` for a type that only the generic form can write.
pub(crate) fn fields(rtype: Rtype) -> Option<&'static [Field]> {
    use Field::*;
    Some(match rtype {
        Rtype::A => &[Ipv4],
        Rtype::AAAA => &[Ipv6],
        Rtype::NS | Rtype::CNAME | Rtype::DNAME | Rtype::PTR | Rtype::NSAPPTR => &[Name],
        Rtype::MD | Rtype::MF | Rtype::MB | Rtype::MG | Rtype::MR => &[Name],
        Rtype::SOA => &[Name, Name, U32, Seconds, Seconds, Seconds, Seconds],
        Rtype::MINFO | Rtype::RP | Rtype::TALINK => &[Name, Name],
        Rtype::MX | Rtype::AFSDB | Rtype::RT | Rtype::KX | Rtype::LP => &[U16, Name],
        Rtype::PX => &[U16, Name, Name],
        Rtype::SRV => &[U16, U16, U16, Name],
        Rtype::NAPTR => &[U16, U16, Text, Text, Text, Name],
        Rtype::TXT | Rtype::SPF | Rtype::AVC | Rtype::NINFO | Rtype::RESINFO | Rtype::WALLET => &[Texts],
        Rtype::HINFO => &[Text, Text],
        Rtype::X25 => &[Text],
        // The words of RFC 1712 have the longitude first, its bounds and examples the latitude.
        Rtype::GPOS => &[Decimal(Some(90)), Decimal(Some(180)), Decimal(None)],
        Rtype::LOC => &[Location],
        Rtype::APL => &[Prefixes],
        Rtype::URI => &[U16, U16, Target],
        Rtype::CAA => &[U8, Tag, Rest],
        Rtype::SVCB | Rtype::HTTPS => &[U16, Name, Params],
        Rtype::TLSA | Rtype::SMIMEA => &[U8, U8, U8, Hex],
        Rtype::SSHFP => &[U8, U8, Hex],
        Rtype::CERT => &[Code16(CERT_TYPES), U16, Code8(ALGORITHMS), Base64],
        Rtype::OPENPGPKEY | Rtype::DHCID => &[Base64],
        Rtype::IPSECKEY => &[U8, U8, U8, Gateway],
        Rtype::DS | Rtype::CDS | Rtype::DLV | Rtype::TA => &[U16, Code8(ALGORITHMS), U8, Hex],
        Rtype::DNSKEY | Rtype::CDNSKEY | Rtype::KEY => &[U16, U8, Code8(ALGORITHMS), Base64],
        Rtype::RRSIG => &[Type, Code8(ALGORITHMS), U8, Seconds, Time, Time, U16, Name, Base64],
        Rtype::NSEC => &[Name, Types],
        Rtype::NSEC3 => &[U8, U8, U16, Salt, NextHash, Types],
        Rtype::NSEC3PARAM => &[U8, U8, U16, Salt],
        Rtype::CSYNC => &[U32, U16, Types],
        Rtype::DSYNC => &[Type, Code8(SCHEMES), U16, Name],
        Rtype::ZONEMD => &[U32, U8, U8, Hex],
        Rtype::EUI48 => &[Eui(6)],
        Rtype::EUI64 => &[Eui(8)],
        Rtype::NID | Rtype::L64 => &[U16, Groups],
        Rtype::L32 => &[U16, Ipv4],
        _ => return None,
    })
}

/// How a record of the type is written, for hints.
pub(super) const fn form(rtype: Rtype) -> &'static str {
    match rtype {
        Rtype::A => "an IPv4 address, as in `www A 192.0.2.1`",
        Rtype::AAAA => "an IPv6 address, as in `www AAAA 2001:db8::1`",
        Rtype::NS => "a name, as in `@ NS ns1`",
        Rtype::CNAME => "a name, as in `www CNAME web`",
        Rtype::PTR => "a name, as in `1 PTR www.example.com.`",
        Rtype::DNAME => "a name, as in `old DNAME new.example.com.`",
        Rtype::MX => "a preference and a name, as in `@ MX 10 mail`",
        Rtype::SRV => "priority, weight, port and a name, as in `_sip._tcp SRV 0 5 5060 sip`",
        Rtype::TXT => "texts of up to 255 bytes each, as in `@ TXT \"one\" \"two\"`",
        Rtype::CAA => "flags, a tag and a text, as in `@ CAA 0 issue \"ca.example.net\"`",
        Rtype::SOA => {
            "primary name server, mailbox, serial, refresh, retry, expire, minimum, as in \
             `@ SOA ns1 hostmaster 1 1h 15m 7d 5m`"
        }
        Rtype::DS | Rtype::CDS => "key tag, algorithm, digest type and digest in hexadecimal",
        Rtype::DNSKEY | Rtype::CDNSKEY => "flags, protocol, algorithm and key in Base64",
        Rtype::SVCB | Rtype::HTTPS => "priority, target and parameters, as in `@ HTTPS 1 . alpn=h2`",
        Rtype::LOC => {
            "latitude, longitude, altitude and up to three sizes, as in `@ LOC 52 22 23 N 4 53 32 E -2m 1m 100m 10m`"
        }
        Rtype::GPOS => {
            "latitude, longitude and altitude in decimal numbers, as in `@ GPOS -32.6882 116.8652 10.0`"
        }
        Rtype::URI => "priority, weight and a URI, as in `_http._tcp URI 10 1 \"https://www.example.com/\"`",
        Rtype::TLSA | Rtype::SMIMEA => {
            "usage, selector, matching type and data in hexadecimal, as in `_443._tcp.www TLSA 3 1 1 ab12…`"
        }
        Rtype::SSHFP => "algorithm, fingerprint type and fingerprint in hexadecimal",
        Rtype::NAPTR => {
            "order, preference, flags, services, expression and a name, as in \
             `@ NAPTR 10 20 \"S\" \"SIP+D2T\" \"\" _sip._tcp`"
        }
        Rtype::HINFO => "two texts, as in `host HINFO \"PC\" \"Linux\"`",
        Rtype::RP => "a mailbox and a name, as in `host RP admin.example.com. info.example.com.`",
        Rtype::AFSDB => "a subtype and a name, as in `@ AFSDB 1 afs`",
        Rtype::APL => "prefixes, as in `@ APL 1:192.0.2.0/24 !2:2001:db8::/32`",
        Rtype::CERT => "type, key tag, algorithm and certificate in Base64",
        Rtype::OPENPGPKEY | Rtype::DHCID => "Base64",
        Rtype::EUI48 => "an address, as in `host EUI48 00-00-5e-00-53-2a`",
        Rtype::EUI64 => "an address, as in `host EUI64 00-00-5e-ef-10-00-00-2a`",
        Rtype::NID | Rtype::L64 => "a preference and 64 bits, as in `host NID 10 0014:4fff:ff20:ee64`",
        Rtype::IPSECKEY => "precedence, gateway type, algorithm, gateway and key in Base64",
        _ => "",
    }
}
