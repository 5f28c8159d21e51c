//! TTLs and other spans as master files write them: `3600`, `1h`, `1h30m`.

/// Largest TTL, in seconds (RFC 2181 8).
pub(super) const MAX_TTL_S: u32 = 0x7fff_ffff;

/// How a TTL is written, for hints.
pub(super) const FORM: &str =
    "it takes seconds, or numbers with the units w d h m s, as in `1h30m`; at most 2147483647 seconds";

/// Why a text is not a TTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TtlError {
    Malformed,
    TooLong,
}

impl TtlError {
    /// What is wrong, after the text.
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Malformed => "is no time to live",
            Self::TooLong => "is too long a time",
        }
    }
}

/// Reads a span in seconds.
pub(super) fn parse(text: &str) -> Result<u32, TtlError> {
    let mut total_s: u64 = 0;
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
            _ => return Err(TtlError::Malformed),
        };
        let count = number.take().ok_or(TtlError::Malformed)?;
        total_s = total_s.saturating_add(count.saturating_mul(unit_s));
        units = true;
    }
    // Digits without a unit are seconds only when they stand alone: `1h30` is more likely half a thought.
    match (number, units) {
        (Some(seconds), false) => total_s = seconds,
        (None, true) => {}
        _ => return Err(TtlError::Malformed),
    }
    u32::try_from(total_s).ok().filter(|&seconds| seconds <= MAX_TTL_S).ok_or(TtlError::TooLong)
}
