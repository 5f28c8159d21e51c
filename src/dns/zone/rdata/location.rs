//! LOC: where something is (RFC 1876).

use super::super::text::Fault;
use super::reader::Reader;

/// Length of LOC data of version 0, the only one.
const LEN: usize = 16;
/// The equator and the prime meridian, in thousandths of an arc second.
const ORIGIN: i64 = 1 << 31;
/// How deep below the reference spheroid an altitude of 0 lies, in centimetres.
const ALTITUDE_BASE_CM: i64 = 10_000_000;
/// Largest size and precision, in centimetres: 9e9.
const MAX_SIZE_CM: i64 = 9_000_000_000;
/// Size, horizontal and vertical precision when they are not given, in centimetres: 1 m, 10 km, 10 m (RFC 1876 3).
const DEFAULT_SIZES_CM: [i64; 3] = [100, 1_000_000, 1_000];

/// Reads `d [m [s]] N|S d [m [s]] E|W altitude[m] [size[m] [horizontal[m] [vertical[m]]]]`.
pub(super) fn read(reader: &mut Reader<'_, '_>) -> Result<(), Fault> {
    let latitude = angle(reader, 90, ["N", "S"])?;
    let longitude = angle(reader, 180, ["E", "W"])?;
    let altitude_cm = reader.parsed(metres, "an altitude in metres is expected here, as in -24.5m")?;
    let Ok(altitude) = u32::try_from(altitude_cm + ALTITUDE_BASE_CM) else {
        return Err(reader.fault_here("an altitude lies between -100000 and 42849672.95 metres"));
    };
    let mut sizes = DEFAULT_SIZES_CM;
    for size in &mut sizes {
        if reader.peek().is_some() {
            let within = |raw: &str| metres(raw).filter(|cm| (0..=MAX_SIZE_CM).contains(cm));
            *size = reader.parsed(within, "a size of up to 90000000 metres is expected here, as in 10m")?;
        }
    }
    reader.put(&[0])?;
    reader.put(&sizes.map(size_byte))?;
    reader.put(&latitude.to_be_bytes())?;
    reader.put(&longitude.to_be_bytes())?;
    reader.put(&altitude.to_be_bytes())
}

/// Whether the bytes are LOC data; other versions are nobody's to judge, but none exists.
pub(super) fn holds(data: &[u8]) -> bool {
    let [0, sizes @ .., _, _, _, _, _, _, _, _, _, _, _, _] = data else { return false };
    data.len() == LEN && sizes.iter().all(|size| size >> 4 <= 9 && size & 0xf <= 9)
}

/// An angle, in thousandths of an arc second from 2^31.
fn angle(reader: &mut Reader<'_, '_>, max_degrees: i64, [plus, minus]: [&str; 2]) -> Result<u32, Fault> {
    let whole = |max: i64| move |raw: &str| fixed(raw, 0).filter(|value| (0..=max).contains(value));
    let degrees =
        reader.parsed(whole(max_degrees), &format!("degrees from 0 to {max_degrees} are expected here"))?;
    let mut total_ms = degrees * 3_600_000;
    let sign = |raw: &str| {
        let negative = raw.eq_ignore_ascii_case(minus);
        (negative || raw.eq_ignore_ascii_case(plus)).then_some(if negative { -1 } else { 1 })
    };
    let is_sign = |reader: &Reader<'_, '_>| reader.peek().is_some_and(|token| sign(token.raw).is_some());
    if !is_sign(reader) {
        let why = format!("minutes from 0 to 59, or {plus} or {minus}, are expected here");
        total_ms += reader.parsed(whole(59), &why)? * 60_000;
    }
    if !is_sign(reader) {
        let why = format!("seconds from 0 to 59.999, or {plus} or {minus}, are expected here");
        // A point is followed by decimals here, though not in metres: so NSD and dnspython have it.
        let whole_form = |raw: &str| fixed(raw, 3).filter(|_| !raw.ends_with('.'));
        let seconds = |raw: &str| whole_form(raw).filter(|value| (0..60_000).contains(value));
        total_ms += reader.parsed(seconds, &why)?;
    }
    let sign = reader.parsed(sign, &format!("{plus} or {minus} is expected here"))?;
    if total_ms > max_degrees * 3_600_000 {
        return Err(reader.fault_here(&format!("the angle is more than {max_degrees} degrees")));
    }
    Ok(u32::try_from(ORIGIN + sign * total_ms).unwrap_or_default())
}

/// Metres with up to two decimals, in centimetres.
fn metres(raw: &str) -> Option<i64> {
    fixed(raw.strip_suffix(['m', 'M']).unwrap_or(raw), 2)
}

/// A decimal number with up to `places` decimals, in units of the last of them.
fn fixed(raw: &str, places: usize) -> Option<i64> {
    let (negative, digits) = raw.strip_prefix('-').map_or((false, raw), |digits| (true, digits));
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits =
        !whole.is_empty() && [whole, decimals].concat().bytes().all(|byte| byte.is_ascii_digit());
    // Twelve digits are more than any field takes, and far from overflowing.
    if !all_digits || whole.len() > 12 || decimals.len() > places {
        return None;
    }
    let value: i64 = format!("{whole}{decimals:0<places$}").parse().ok()?;
    Some(if negative { -value } else { value })
}

/// A size in centimetres as one digit and a power of ten, rounded down.
fn size_byte(size_cm: i64) -> u8 {
    let (mut mantissa, mut exponent) = (size_cm, 0);
    while mantissa > 9 {
        mantissa /= 10;
        exponent += 1;
    }
    (mantissa as u8) << 4 | exponent
}
