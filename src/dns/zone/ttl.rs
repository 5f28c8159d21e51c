//! TTLs and other spans as master files write them: `3600`, `1h`, `1h30m`.

/// Largest TTL, in seconds (RFC 2181 8).
pub(super) const MAX_TTL_S: u32 = 0x7fff_ffff;

/// How a TTL is written, for hints.
pub(super) const FORM: &str =
    "seconds, or numbers with the units w d h m s, as in `1h30m`; at most 2147483647 seconds";

/// Reads a span in seconds. Errors: neither digits nor numbers with units, or too large.
pub(super) fn parse(text: &str) -> Result<u32, String> {
    let bad = || format!("`{text}` is no time to live");
    let mut total: u64 = 0;
    let mut number: Option<u64> = None;
    let mut units = false;
    for character in text.chars() {
        if let Some(digit) = character.to_digit(10) {
            number = Some(number.unwrap_or(0).saturating_mul(10).saturating_add(u64::from(digit)));
            continue;
        }
        let unit_s = match character.to_ascii_lowercase() {
            'w' => 7 * 86_400,
            'd' => 86_400,
            'h' => 3_600,
            'm' => 60,
            's' => 1,
            _ => return Err(bad()),
        };
        total = total.saturating_add(number.take().ok_or_else(bad)?.saturating_mul(unit_s));
        units = true;
    }
    // Digits without a unit are seconds only when they stand alone: `1h30` is more likely half a thought.
    match number {
        Some(seconds) if !units => total = seconds,
        Some(_) => return Err(bad()),
        None if !units => return Err(bad()),
        None => {}
    }
    match u32::try_from(total) {
        Ok(seconds) if seconds <= MAX_TTL_S => Ok(seconds),
        _ => Err(format!("`{text}` is too long a time")),
    }
}
