//! A question for `explain` as people write it: the API's parameters, the command line's arguments.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr as _;

use domain::base::iana::Rtype;

use crate::control::explain::{Client, Question};
use crate::control::plan::Plan;
use crate::region::geo::Subnet;

/// Why a question can't be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadQuestion {
    /// No such type.
    Type(String),
    /// Not `ADDR` or `ADDR/LEN`.
    Client(String),
    /// No such region; the regions that there are.
    Region(String, String),
}

impl fmt::Display for BadQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type(text) => write!(f, "`{text}` is not a record type: write A, AAAA, TXT or TYPE65"),
            Self::Client(text) => write!(
                f,
                "`{text}` is not a client: write ADDR (a source address) or ADDR/LEN (a client subnet, LEN from 1 \
                 to 32, or 128 for IPv6)"
            ),
            Self::Region(name, known) => write!(f, "there is no region `{name}`: the regions are {known}"),
        }
    }
}

/// Reads a question against a plan, which knows the regions. `rtype` absent: A, also for an IPv6 client, whose own family
/// says nothing about what it asks for.
///
/// Errors: the first thing that makes no sense. Whether the name is served is not looked at.
pub fn question(
    plan: &Plan,
    name: &str,
    rtype: Option<&str>,
    client: &str,
    down: &[String],
) -> Result<Question, BadQuestion> {
    let down = down.iter().map(|name| {
        plan.region(name).ok_or_else(|| BadQuestion::Region(name.clone(), plan.regions.join(", ")))
    });
    let rtype = rtype.unwrap_or("A");
    Ok(Question {
        name: name.to_owned(),
        rtype: Rtype::from_str(rtype).map_err(|_| BadQuestion::Type(rtype.to_owned()))?.to_int(),
        client: parse_client(client).ok_or_else(|| BadQuestion::Client(client.to_owned()))?,
        down: down.collect::<Result<_, _>>()?,
    })
}

/// `ADDR` or `ADDR/LEN`; bits beyond LEN are cleared, as a client would (RFC 7871 6).
pub fn parse_client(text: &str) -> Option<Client> {
    let Some((address, length)) = text.split_once('/') else {
        return text.parse().ok().map(Client::Address);
    };
    let address: IpAddr = address.parse().ok()?;
    let source: u8 = length.parse().ok()?;
    let addr = match address {
        IpAddr::V4(address) if (1..=32).contains(&source) => {
            IpAddr::from((address.to_bits() & (u32::MAX << (32 - source))).to_be_bytes())
        }
        IpAddr::V6(address) if (1..=128).contains(&source) => {
            IpAddr::from((address.to_bits() & (u128::MAX << (128 - source))).to_be_bytes())
        }
        _ => return None,
    };
    Some(Client::Subnet(Subnet { addr, source }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subnet_loses_the_bits_beyond_its_length_as_a_client_would_send_it() {
        let subnet = |text: &str, addr: &str, source| {
            let addr = addr.parse().unwrap();
            assert_eq!(parse_client(text), Some(Client::Subnet(Subnet { addr, source })), "{text}");
        };
        subnet("114.114.114.114/24", "114.114.114.0", 24);
        subnet("8.8.8.8/32", "8.8.8.8", 32);
        subnet("255.255.255.255/1", "128.0.0.0", 1);
        subnet("2001:da8:1234::1/33", "2001:da8::", 33);
        subnet("2001:db8::1/128", "2001:db8::1", 128);
    }

    #[test]
    fn a_plain_address_is_a_source() {
        assert_eq!(parse_client("192.0.2.1"), Some(Client::Address([192, 0, 2, 1].into())));
    }

    #[test]
    fn what_is_no_client_is_refused() {
        for text in
            ["", "x", "192.0.2.1/", "192.0.2.1/0", "192.0.2.1/33", "::1/129", "::/0", "1.2.3/8", "1.2.3.4/-1"]
        {
            assert_eq!(parse_client(text), None, "{text}");
        }
    }

    #[test]
    fn an_unknown_region_is_answered_with_the_ones_that_there_are() {
        let plan = Plan { regions: vec!["cn".into(), "eu".into()], ..Plan::default() };
        let asked = question(&plan, "www.example.com", None, "192.0.2.1", &["uk".into()]);
        assert_eq!(asked, Err(BadQuestion::Region("uk".into(), "cn, eu".into())));
    }

    #[test]
    fn types_are_read_by_name_and_by_number() {
        let rtype = |text| {
            question(&Plan::default(), "a.example", Some(text), "::1", &[]).map(|question| question.rtype)
        };
        assert_eq!(rtype("AAAA"), Ok(28));
        assert_eq!(rtype("txt"), Ok(16));
        assert_eq!(rtype("TYPE65"), Ok(65));
        assert_eq!(rtype("QUUX"), Err(BadQuestion::Type("QUUX".into())));
    }
}
