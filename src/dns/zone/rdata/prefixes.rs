//! APL: lists of address prefixes (RFC 3123).

use std::net::{Ipv4Addr, Ipv6Addr};

use super::super::text::Fault;
use super::reader::Reader;

/// What negates an item, in the byte that also holds the length.
const NEGATED: u8 = 0x80;

/// Reads items to the end, each `[!]family:address/prefix`.
pub(super) fn read(reader: &mut Reader<'_, '_>) -> Result<(), Fault> {
    while reader.peek().is_some() {
        let item =
            reader.parsed(item, "a prefix is expected here, as in 1:192.0.2.0/24 or !2:2001:db8::/32")?;
        reader.put(&item)?;
    }
    Ok(())
}

fn item(raw: &str) -> Option<Vec<u8>> {
    let (negated, raw) = raw.strip_prefix('!').map_or((0, raw), |raw| (NEGATED, raw));
    let (family, prefix) = raw.split_once(':')?;
    let (address, len) = prefix.split_once('/')?;
    let (family, address) = match family {
        "1" => (1_u16, address.parse::<Ipv4Addr>().ok()?.octets().to_vec()),
        "2" => (2, address.parse::<Ipv6Addr>().ok()?.octets().to_vec()),
        _ => return None,
    };
    let digits = !len.is_empty() && len.bytes().all(|byte| byte.is_ascii_digit());
    let len = len.parse::<u8>().ok().filter(|&len| digits && usize::from(len) <= 8 * address.len())?;
    let kept = address.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let mut item = family.to_be_bytes().to_vec();
    item.extend([len, negated | kept as u8]);
    item.extend_from_slice(address.get(..kept)?);
    Some(item)
}

/// Whether the bytes are items: addresses no longer than their family's, without zero bytes at their end. Families that
/// no text can write are left as they are.
pub(super) fn hold(data: &[u8]) -> bool {
    let mut rest = data;
    while let [family_high, family_low, len, flag_and_kept, tail @ ..] = rest {
        let kept = usize::from(flag_and_kept & !NEGATED);
        let Some((address, behind)) = tail.split_at_checked(kept) else { return false };
        let most = match u16::from_be_bytes([*family_high, *family_low]) {
            1 => 4,
            2 => 16,
            _ => usize::from(u8::MAX),
        };
        if kept > most || usize::from(*len) > 8 * most || address.last() == Some(&0) {
            return false;
        }
        rest = behind;
    }
    rest.is_empty()
}
