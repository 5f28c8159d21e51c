//! Bytes as text: hexadecimal, Base64, Base32 (RFC 4648).

/// Reads hexadecimal digits; their number must be even.
pub(super) fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.chars().map(|digit| Some(digit.to_digit(16)? as u8)).collect::<Option<_>>()?;
    let (pairs, odd) = digits.as_chunks::<2>();
    odd.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// Reads Base64 with its padding (RFC 4648 4).
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    let unpadded = text.trim_end_matches('=');
    let padding = text.len() - unpadded.len();
    if !text.len().is_multiple_of(4) || padding > 2 {
        return None;
    }
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    bits(unpadded, 6, digit)
}

/// Reads Base32 with the extended hex alphabet, without padding, in either case (RFC 4648 7, RFC 5155 3.3).
pub(super) fn base32hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(32).map(|digit| digit as u8);
    // Lengths that no whole number of bytes gives.
    if matches!(text.len() % 8, 1 | 3 | 6) { None } else { bits(text, 5, digit) }
}

/// Strings digits of `width` bits together; what is left over must be zero.
fn bits(text: &str, width: u32, digit: impl Fn(u8) -> Option<u8>) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let (mut pending, mut count) = (0_u32, 0);
    for byte in text.bytes() {
        pending = pending << width | u32::from(digit(byte)?);
        count += width;
        if count >= 8 {
            count -= 8;
            bytes.push((pending >> count) as u8);
            pending &= (1 << count) - 1;
        }
    }
    (pending == 0).then_some(bytes)
}
