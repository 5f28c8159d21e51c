//! A value in a JSON body, held against the limits that the operator set.

use serde_json::Value;

use super::finding::{Finding, Seen};
use crate::config::{Comparison, ComparisonOp, JsonKey, JsonRule, Scalar};

/// Longest text value that is shown, in characters.
const SHOWN_MAX_CHARS: usize = 60;

/// Holds the body against the rule.
///
/// A body that is not what was promised (no JSON, nothing at the path, a value of another type than the one it is
/// compared with) is a plain failure: the server did answer, and wrongly.
pub(super) fn judge(rule: &JsonRule, body: &[u8]) -> Seen {
    let path = &rule.text;
    let document: Value =
        serde_json::from_slice(body).map_err(|_| Finding::failed("the body is not valid JSON"))?;
    let value = find(&document, &rule.path)
        .ok_or_else(|| Finding::failed(format!("the body has nothing at {path}")))?;
    let holds = |limit: &Option<Comparison>| match limit {
        None => Ok(None),
        Some(limit) => match compare(value, limit) {
            Some(true) => Ok(Some(format!("{path} is {}: {}", shown(value), Limit(limit)))),
            Some(false) => Ok(None),
            None => Err(Finding::failed(format!(
                "{path} is {}, not to be compared with {}",
                shown(value),
                Limit(limit)
            ))),
        },
    };
    if let Some(why) = holds(&rule.failed)? {
        return Err(Finding::failed(format!("{why} means failed")));
    }
    if let Some(why) = holds(&rule.degraded)? {
        return Err(Finding::degraded(format!("{why} means degraded")));
    }
    Ok(())
}

fn find<'d>(document: &'d Value, path: &[JsonKey]) -> Option<&'d Value> {
    path.iter().try_fold(document, |value, key| match key {
        JsonKey::Name(name) => value.get(name),
        JsonKey::Index(index) => value.get(index),
    })
}

/// Whether the comparison holds; `None` when the two are not of one type, or are not ordered but should be.
fn compare(value: &Value, limit: &Comparison) -> Option<bool> {
    let ordering = match (&limit.value, value) {
        (Scalar::Number(limit), Value::Number(value)) => value.as_f64()?.partial_cmp(limit)?,
        (Scalar::Text(limit), Value::String(value)) => value.as_str().cmp(limit),
        (Scalar::Bool(limit), Value::Bool(value)) => value.cmp(limit),
        _ => return None,
    };
    let ordered = matches!(limit.value, Scalar::Number(_));
    match limit.op {
        ComparisonOp::Equal => Some(ordering.is_eq()),
        ComparisonOp::NotEqual => Some(ordering.is_ne()),
        ComparisonOp::Less => ordered.then_some(ordering.is_lt()),
        ComparisonOp::LessOrEqual => ordered.then_some(ordering.is_le()),
        ComparisonOp::GreaterOrEqual => ordered.then_some(ordering.is_ge()),
        ComparisonOp::Greater => ordered.then_some(ordering.is_gt()),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) if text.chars().count() > SHOWN_MAX_CHARS => "a long text".to_owned(),
        scalar => scalar.to_string(),
    }
}

/// A comparison as the operator wrote it.
struct Limit<'l>(&'l Comparison);

impl std::fmt::Display for Limit<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let op = match self.0.op {
            ComparisonOp::Less => "<",
            ComparisonOp::LessOrEqual => "<=",
            ComparisonOp::Equal => "==",
            ComparisonOp::NotEqual => "!=",
            ComparisonOp::GreaterOrEqual => ">=",
            ComparisonOp::Greater => ">",
        };
        match &self.0.value {
            Scalar::Number(limit) => write!(f, "{op} {limit}"),
            Scalar::Text(limit) => write!(f, "{op} {limit:?}"),
            Scalar::Bool(limit) => write!(f, "{op} {limit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::Verdict;

    fn limit(op: ComparisonOp, value: Scalar) -> Option<Comparison> {
        Some(Comparison { op, value })
    }

    fn lag_rule() -> JsonRule {
        JsonRule {
            path: vec![JsonKey::Name("db".to_owned()), JsonKey::Index(1), JsonKey::Name("lag_s".to_owned())],
            text: "$.db[1].lag_s".to_owned(),
            degraded: limit(ComparisonOp::Greater, Scalar::Number(5.0)),
            failed: limit(ComparisonOp::Greater, Scalar::Number(30.0)),
        }
    }

    fn told(rule: &JsonRule, body: &str) -> (&'static str, String) {
        let (verdict, detail) = Finding::told(judge(rule, body.as_bytes()));
        (verdict.word(), detail)
    }

    #[test]
    fn a_lag_is_ok_degraded_or_failed_by_its_limits() {
        let lag = |lag: &str| told(&lag_rule(), &format!(r#"{{"db":[{{}},{{"lag_s":{lag}}}]}}"#));
        assert_eq!(lag("5").0, "ok");
        assert_eq!(lag("5.01"), ("degraded", "$.db[1].lag_s is 5.01: > 5 means degraded".to_owned()));
        assert_eq!(lag("30").0, "degraded");
        assert_eq!(lag("31"), ("failed", "$.db[1].lag_s is 31: > 30 means failed".to_owned()));
        assert_eq!(lag("-1e300").0, "ok");
    }

    #[test]
    fn a_body_that_is_not_what_was_promised_has_failed() {
        for body in [
            "",
            "ok",
            "{",
            r#"{"db":[]}"#,
            r#"{"db":[{},{"lag_s":null}]}"#,
            r#"{"db":[{},{"lag_s":"7"}]}"#,
            r#"{"db":[{},{"lag_s":[7]}]}"#,
            r#"{"db":[{},{"lag_s":1}]} trailing"#,
            "\u{0}",
        ] {
            assert_eq!(told(&lag_rule(), body).0, "failed", "{body}");
        }
        assert_eq!(told(&lag_rule(), &"[".repeat(60_000)).0, "failed", "deep nesting overflows nothing");
    }

    #[test]
    fn texts_and_truths_are_compared_for_equality() {
        let rule = |failed| JsonRule {
            path: vec![JsonKey::Name("state".to_owned())],
            text: "$.state".to_owned(),
            degraded: None,
            failed,
        };
        let not_primary = rule(limit(ComparisonOp::NotEqual, Scalar::Text("primary".to_owned())));
        assert_eq!(told(&not_primary, r#"{"state":"primary"}"#).0, "ok");
        let (verdict, detail) = told(&not_primary, r#"{"state":"replica"}"#);
        assert_eq!(
            (verdict, detail.as_str()),
            ("failed", r#"$.state is "replica": != "primary" means failed"#)
        );
        let read_only = rule(limit(ComparisonOp::Equal, Scalar::Bool(true)));
        assert_eq!(told(&read_only, r#"{"state":false}"#).0, "ok");
        assert_eq!(told(&read_only, r#"{"state":true}"#).0, "failed");
        assert_eq!(told(&rule(None), r#"{"state":{}}"#).0, "ok", "without limits it need only be there");
    }

    #[test]
    fn every_operator_does_what_it_says() {
        use ComparisonOp::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        for (op, holds) in [
            (Less, [true, false, false]),
            (LessOrEqual, [true, true, false]),
            (Equal, [false, true, false]),
            (NotEqual, [true, false, true]),
            (GreaterOrEqual, [false, true, true]),
            (Greater, [false, false, true]),
        ] {
            let limit = Comparison { op, value: Scalar::Number(2.0) };
            let got = [1, 2, 3].map(|value| compare(&Value::from(value), &limit) == Some(true));
            assert_eq!(got, holds, "{op:?}");
        }
    }

    #[test]
    fn a_broken_body_is_plain_and_never_explicit() {
        let (verdict, _) = Finding::told(judge(&lag_rule(), b"{"));
        assert_eq!(verdict, Verdict::Failed(crate::health::Evidence::Plain));
    }
}
