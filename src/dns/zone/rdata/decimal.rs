//! GPOS: where something is, in decimal numbers as text (RFC 1712).

/// Whether it is a decimal number as GPOS has them: digits with a sign and a point at most, no exponent.
fn is_decimal(text: &[u8]) -> bool {
    let unsigned = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    let points = unsigned.iter().filter(|&&byte| byte == b'.').count();
    let digits = unsigned.iter().filter(|byte| byte.is_ascii_digit()).count();
    points <= 1 && digits > 0 && points + digits == unsigned.len()
}

/// Whether it is a decimal number of that size at most, whatever its sign; `None`: of any size.
pub(super) fn holds(text: &[u8], most: Option<u8>) -> bool {
    let number = || str::from_utf8(text).ok()?.parse::<f64>().ok();
    is_decimal(text) && most.is_none_or(|most| number().is_some_and(|number| number.abs() <= f64::from(most)))
}

/// What is expected instead.
pub(super) fn form(most: Option<u8>) -> String {
    most.map_or_else(
        || "a decimal number is expected here".to_owned(),
        |most| format!("degrees from -{most} to {most} are expected here"),
    )
}
