//! The small languages inside strings: durations, the environment, networks, DNS names.

use std::net::IpAddr;
use std::time::Duration;

use crate::region::geo::Network;

/// Units of a duration, the longest first, in milliseconds.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// `"500ms"`, `"5s"`, `"1m30s"`: whole numbers, each with a unit, the longer unit first. `None`: not a duration.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total_ms: u64 = 0;
    let mut next_unit = 0;
    while !rest.is_empty() {
        let (number, after) = rest.split_at_checked(rest.bytes().take_while(u8::is_ascii_digit).count())?;
        let (unit, after) =
            after.split_at_checked(after.bytes().take_while(u8::is_ascii_lowercase).count())?;
        let position = UNITS.iter().position(|(name, _)| *name == unit).filter(|&at| at >= next_unit)?;
        let ms = number.parse::<u64>().ok()?.checked_mul(UNITS.get(position)?.1)?;
        total_ms = total_ms.checked_add(ms)?;
        next_unit = position + 1;
        rest = after;
    }
    (!text.is_empty()).then(|| Duration::from_millis(total_ms))
}

/// A duration as [`parse_duration`] reads it.
pub(super) fn show_duration(span: Duration) -> String {
    let mut left_ms = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    let mut out = String::new();
    for (unit, ms) in UNITS {
        if left_ms >= ms {
            out.push_str(&format!("{}{unit}", left_ms / ms));
            left_ms %= ms;
        }
    }
    if out.is_empty() { "0s".to_owned() } else { out }
}

/// Why a string with `$` in it can't be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum EnvFault {
    /// No such variable.
    Missing(String),
    /// `${` without `}`, or with something between them that is no name.
    Malformed,
}

/// Puts the environment's values in the place of `${NAME}` and a dollar in that of `$$`. Any other dollar stays: JSON
/// paths begin with one.
pub(super) fn expand(text: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<String, EnvFault> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some(after) = after.strip_prefix('{') {
            let (name, after) = after.split_once('}').ok_or(EnvFault::Malformed)?;
            let of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            if name.is_empty() || !name.bytes().all(of_name) {
                return Err(EnvFault::Malformed);
            }
            out.push_str(&env(name).ok_or_else(|| EnvFault::Missing(name.to_owned()))?);
            rest = after;
        } else {
            out.push('$');
            rest = after;
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// Why something is no network.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NetworkFault {
    /// An address without a length.
    NoLength(IpAddr),
    /// Longer than the family's addresses: the longest.
    TooLong(u8),
    /// Bits are set behind the length; the network that has them cleared.
    HostBits(Network),
    /// Nothing like one.
    Malformed,
}

/// `"203.0.113.0/24"`.
pub(super) fn parse_network(text: &str) -> Result<Network, NetworkFault> {
    let Some((addr, len)) = text.split_once('/') else {
        return Err(text.parse().map_or(NetworkFault::Malformed, NetworkFault::NoLength));
    };
    let addr: IpAddr = addr.parse().map_err(|_| NetworkFault::Malformed)?;
    if len.is_empty() || !len.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NetworkFault::Malformed);
    }
    let longest = if addr.is_ipv4() { 32 } else { 128 };
    let len = len.parse::<u8>().ok().filter(|&len| len <= longest).ok_or(NetworkFault::TooLong(longest))?;
    let masked = Network { addr: mask(addr, len), len };
    if masked.addr == addr { Ok(masked) } else { Err(NetworkFault::HostBits(masked)) }
}

/// `addr` with the bits behind the first `len` cleared.
pub(super) fn mask(addr: IpAddr, len: u8) -> IpAddr {
    match addr {
        IpAddr::V4(addr) => {
            let bits = u32::MAX.checked_shl(32 - u32::from(len.min(32))).unwrap_or(0);
            IpAddr::V4((addr.to_bits() & bits).into())
        }
        IpAddr::V6(addr) => {
            let bits = u128::MAX.checked_shl(128 - u32::from(len.min(128))).unwrap_or(0);
            IpAddr::V6((addr.to_bits() & bits).into())
        }
    }
}

/// A DNS name in lower case without the trailing dot.
///
/// Errors: what is wrong with it, in words that follow "the name".
pub(super) fn parse_name(text: &str) -> Result<String, &'static str> {
    let name = text.strip_suffix('.').unwrap_or(text);
    if name.is_empty() {
        return Err("is empty");
    }
    // RFC 1035 2.3.4: 255 octets on the wire, which is 253 written without the last dot.
    if name.len() > 253 {
        return Err("is longer than 253 letters");
    }
    if !name.is_ascii() {
        return Err("has letters beyond ASCII");
    }
    for (index, label) in name.split('.').enumerate() {
        if label.is_empty() {
            return Err("has an empty label");
        }
        if label.len() > 63 {
            return Err("has a label longer than 63 letters");
        }
        let of_label = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if label == "*" && index == 0 && name.len() > 1 {
            continue;
        }
        if label.contains('*') {
            return Err("has a `*` that is not the whole first label");
        }
        if !label.bytes().all(of_label) {
            return Err("has a letter other than a-z, 0-9, `-`, `_`");
        }
    }
    Ok(name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_are_whole_numbers_with_units_the_longest_first() {
        for (text, ms) in [
            ("500ms", 500),
            ("5s", 5000),
            ("1m30s", 90_000),
            ("2h", 7_200_000),
            ("1d1ms", 86_400_001),
            ("0s", 0),
        ] {
            assert_eq!(parse_duration(text), Some(Duration::from_millis(ms)), "{text}");
        }
        for text in [
            "",
            "5",
            "s",
            "1.5s",
            "30s1m",
            "1s1s",
            "5 s",
            "-5s",
            "5S",
            "99999999999999999999d",
            "9999999999999999d",
        ] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    #[test]
    fn the_environment_is_put_in_and_other_dollars_stay() {
        let env = |name: &str| (name == "HOST").then(|| "a$b".to_owned());
        assert_eq!(expand("x ${HOST} y", &env), Ok("x a$b y".into()));
        assert_eq!(expand("$.lag_s $$ $${HOST} $", &env), Ok("$.lag_s $ ${HOST} $".into()));
        assert_eq!(expand("${NONE}", &env), Err(EnvFault::Missing("NONE".into())));
        for text in ["${", "${}", "${A B}", "${HOST"] {
            assert_eq!(expand(text, &env), Err(EnvFault::Malformed), "{text}");
        }
    }

    #[test]
    fn networks_have_a_length_and_no_host_bits() {
        assert!(parse_network("203.0.113.0/24").is_ok());
        assert!(parse_network("0.0.0.0/0").is_ok());
        assert!(parse_network("2001:db8::/32").is_ok());
        assert_eq!(parse_network("10.0.0.0/33"), Err(NetworkFault::TooLong(32)));
        assert!(matches!(parse_network("10.0.0.1"), Err(NetworkFault::NoLength(_))));
        let Err(NetworkFault::HostBits(masked)) = parse_network("10.1.2.3/8") else { panic!() };
        assert_eq!((masked.addr.to_string().as_str(), masked.len), ("10.0.0.0", 8));
        for text in ["", "/8", "10.0.0.0/", "10.0.0.0/+8", "10.0.0/8", "x/8"] {
            assert_eq!(parse_network(text), Err(NetworkFault::Malformed), "{text}");
        }
    }

    #[test]
    fn names_are_folded_and_only_the_first_label_may_be_a_star() {
        assert_eq!(parse_name("WWW.Example.COM."), Ok("www.example.com".into()));
        assert_eq!(parse_name("*.example.com"), Ok("*.example.com".into()));
        for bad in
            ["", ".", "*", "a..b", "a.*.b", "x*.b", "a b.c", "ü.example", &"a".repeat(64), &"a.".repeat(130)]
        {
            assert!(parse_name(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(ms in 0_u64..10_000_000_000) {
            let span = Duration::from_millis(ms);
            prop_assert_eq!(parse_duration(&show_duration(span)), Some(span));
        }

        #[test]
        fn no_text_upsets_the_small_parsers(text in "\\PC{0,40}") {
            let _ = parse_duration(&text);
            let _ = parse_network(&text);
            let _ = parse_name(&text);
            let _ = expand(&text, &|_| None);
        }
    }
}
