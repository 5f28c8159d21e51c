//! What an HTTP probe asks and what it expects; addresses and URLs as probes take them.

use super::probes::{Template, check_placeholders};
use super::reader::{Table, Value};
use super::{Comparison, ComparisonOp, HttpProbe, JsonKey, JsonRule, Scalar, keys};

/// Steps of a JSON path.
const JSON_DEPTH: usize = 32;

/// Headers that belong to the client, with the key that sets them, if any.
const RESERVED_HEADERS: [(&str, &str); 5] = [
    ("host", "use the key `host`"),
    ("content-length", ""),
    ("transfer-encoding", ""),
    ("connection", ""),
    ("upgrade", ""),
];

/// The keys of an HTTP probe.
pub(super) fn read(table: &Table<'_, '_>, template: Template) -> Option<HttpProbe> {
    let url = template.read(table, check_url);
    let host = table.optional("host", |value| {
        value.filled().filter(|text| check_placeholders(value, text, &["address", "region"]))
    });
    let method = table.or("method", "GET".to_owned(), read_method);
    let headers = table.or("headers", Vec::new(), read_headers);
    let status = table.or("status", vec![200], |value| {
        let statuses = value.list(|item| item.integer(100..=599))?;
        if value.items().is_some_and(|items| items.is_empty()) {
            return value
                .refuse("`status` is empty: no answer would be good", "write, for example: status = [200]");
        }
        Some(statuses.into_iter().map(|status| status as u16).collect())
    });
    let body = table.optional("body", |value| {
        let text = value.string()?;
        if text.is_empty() {
            value.refuse("`body` is empty: every body holds it", "take it out")
        } else {
            Some(text)
        }
    });
    let json = table.optional("json", read_json);
    Some(HttpProbe { url: url?, host, method, headers, status, body, json })
}

/// `http://` or `https://`, a host, perhaps a port, a path. Messages never quote it: it may hold something secret.
pub(super) fn check_url(value: &Value<'_, '_>) -> Option<String> {
    let text = value.filled()?;
    let example = "write, for example: \"http://{address}:8080/healthz\"";
    // First, for whatever else is wrong would show the line.
    let behind_scheme = text.split_once("://").map_or(text.as_str(), |(_, rest)| rest);
    if behind_scheme.split(['/', '?', '#']).next().is_some_and(|authority| authority.contains('@')) {
        return value.refuse_private(
            "the URL has a user or a password in it",
            "send them as a header: headers = { authorization = \"Basic ${TOKEN}\" }",
        );
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return value.refuse("the URL has no scheme", example);
    };
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return value.refuse("the URL's scheme is neither http nor https", example);
    }
    if text.contains(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '<' | '>' | '\\')) {
        return value.refuse(
            "the URL has a letter in it that no URL may have",
            "write it percent-encoded: %20 for a space",
        );
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if rest.contains('#') {
        return value.refuse("the URL has a fragment, which is never sent", "take out `#` and what follows");
    }
    if let Err(fault) = split_authority(authority) {
        return value.refuse(format!("the URL {fault}"), example);
    }
    Some(text)
}

/// `host:port` with both parts.
pub(super) fn check_address(value: &Value<'_, '_>) -> Option<String> {
    let text = value.filled()?;
    let example = "write, for example: \"{address}:5432\" or \"db.example.net:5432\"";
    match split_authority(&text) {
        Ok(Some(_)) => Some(text),
        Ok(None) => value.refuse("the address has no port", example),
        Err(fault) => value.refuse(format!("the address {fault}"), example),
    }
}

/// The port, when there is one.
///
/// Errors: what is wrong, in words that follow "the address".
fn split_authority(text: &str) -> Result<Option<u16>, &'static str> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or("has a `[` that is not closed")?;
        if host.parse::<std::net::Ipv6Addr>().is_err() {
            return Err("has something other than an IPv6 address in [ ]");
        }
        match after.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None if after.is_empty() => (host, None),
            None => return Err("has something behind `]` that is no port"),
        }
    } else {
        match text.rsplit_once(':') {
            Some((host, _)) if host.contains(':') => return Err("has an IPv6 address without [ ]"),
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        }
    };
    let of_host = |letter: char| letter.is_ascii_alphanumeric() || "-._{}:".contains(letter);
    if host.is_empty() {
        return Err("has no host");
    }
    if !host.chars().all(of_host) {
        return Err("has a host that can't be one");
    }
    let Some(port) = port else { return Ok(None) };
    let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let number = port.parse::<u16>().ok().filter(|&number| digits && number > 0);
    number.map(Some).ok_or("has a port that is not 1 to 65535")
}

fn read_method(value: &Value<'_, '_>) -> Option<String> {
    let method = value.string()?;
    if method.is_empty() || !method.bytes().all(is_token) {
        return value.refuse(format!("\"{}\" is not an HTTP method", value.typed()), "GET, HEAD, POST, …");
    }
    if method.bytes().any(|byte| byte.is_ascii_lowercase()) {
        let hint = format!("write it in capitals: \"{}\"", value.typed().to_ascii_uppercase());
        return value.refuse("HTTP methods are case-sensitive, and this one is in small letters", hint);
    }
    Some(method)
}

fn read_headers(value: &Value<'_, '_>) -> Option<Vec<(String, String)>> {
    let mut headers = Vec::new();
    for entry in value.entries()? {
        let name = entry.key();
        if name.is_empty() || !name.bytes().all(is_token) {
            value.reader().error(entry.key_span(), format!("`{name}` can't be the name of a header"), "");
            continue;
        }
        let lower = name.to_ascii_lowercase();
        if let Some((_, hint)) = RESERVED_HEADERS.iter().find(|(reserved, _)| *reserved == lower) {
            value.reader().error(
                entry.key_span(),
                format!("the header `{name}` is set by the probe itself"),
                *hint,
            );
            continue;
        }
        let Some(text) = entry.string() else { continue };
        // RFC 9110 5.5: visible letters, spaces, tabs.
        if text.chars().any(|letter| letter.is_control() && letter != '\t') {
            entry.refuse_private::<()>(format!("the header `{name}` has a control character in it"), "");
        } else if check_placeholders(&entry, &text, &["address", "region"]) {
            headers.push((name.to_owned(), text));
        }
    }
    Some(headers)
}

/// A token as RFC 9110 5.6.2 has it.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn read_json(value: &Value<'_, '_>) -> Option<JsonRule> {
    let table = value.table(&keys::JSON, "json")?;
    let path =
        table.required("path", "{ path = \"$.lag_s\", degraded = \"> 5\", failed = \"> 30\" }", |value| {
            let text = value.string()?;
            let Some(path) = parse_path(&text) else {
                return value.refuse(
                    format!("\"{}\" is not a path into JSON", value.typed()),
                    "write `$` for the whole, then `.name` or `[0]`: \"$.replicas[0].lag_s\"",
                );
            };
            Some((path, text))
        });
    let degraded = table.optional("degraded", read_comparison);
    let failed = table.optional("failed", read_comparison);
    if table.get("degraded").is_none() && table.get("failed").is_none() {
        let hint = "add degraded = \"> 5\" or failed = \"> 30\"";
        value.reader().error(value.key_span(), "`json` compares with nothing", hint);
    }
    let (path, text) = path?;
    Some(JsonRule { path, text, degraded, failed })
}

/// `$`, then `.name` and `[0]`.
fn parse_path(text: &str) -> Option<Vec<JsonKey>> {
    let mut rest = text.strip_prefix('$')?;
    let mut path = Vec::new();
    while !rest.is_empty() && path.len() < JSON_DEPTH {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[', ']']).unwrap_or(after.len());
            let (name, after) = after.split_at_checked(end)?;
            if name.is_empty() || name.contains(char::is_whitespace) {
                return None;
            }
            path.push(JsonKey::Name(name.to_owned()));
            rest = after;
        } else {
            let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
            if !index.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            path.push(JsonKey::Index(index.parse().ok()?));
            rest = after;
        }
    }
    rest.is_empty().then_some(path)
}

fn read_comparison(value: &Value<'_, '_>) -> Option<Comparison> {
    let text = value.string()?;
    let Some(comparison) = parse_comparison(&text) else {
        return value.refuse(
            format!("\"{}\" is not a comparison", value.typed()),
            "write one of < <= == != >= > and a value: \"> 5\", '== \"ok\"', \"!= true\"",
        );
    };
    let ordered = !matches!(comparison.op, ComparisonOp::Equal | ComparisonOp::NotEqual);
    if ordered && !matches!(comparison.value, Scalar::Number(_)) {
        return value.refuse("only numbers can be compared by size", "use == or !=");
    }
    Some(comparison)
}

/// An operator, spaces, a number, a text in double quotes, `true` or `false`.
fn parse_comparison(text: &str) -> Option<Comparison> {
    // The longer first: `<` begins `<=`.
    const OPS: [(&str, ComparisonOp); 6] = [
        ("<=", ComparisonOp::LessOrEqual),
        (">=", ComparisonOp::GreaterOrEqual),
        ("==", ComparisonOp::Equal),
        ("!=", ComparisonOp::NotEqual),
        ("<", ComparisonOp::Less),
        (">", ComparisonOp::Greater),
    ];
    let text = text.trim();
    let (op, value) = OPS.iter().find_map(|(sign, op)| Some((*op, text.strip_prefix(sign)?.trim_start())))?;
    let value = match value {
        "true" => Scalar::Bool(true),
        "false" => Scalar::Bool(false),
        text if text.starts_with('"') => {
            let inner = text.strip_prefix('"')?.strip_suffix('"')?;
            if inner.contains('"') {
                return None;
            }
            Scalar::Text(inner.to_owned())
        }
        number => Scalar::Number(number.parse().ok().filter(|number: &f64| number.is_finite())?),
    };
    Some(Comparison { op, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_json_path_is_names_and_positions_behind_a_dollar() {
        let name = |text: &str| JsonKey::Name(text.into());
        assert_eq!(parse_path("$.lag_s"), Some(vec![name("lag_s")]));
        assert_eq!(
            parse_path("$.a[0].b-c[12]"),
            Some(vec![name("a"), JsonKey::Index(0), name("b-c"), JsonKey::Index(12)])
        );
        assert_eq!(parse_path("$"), Some(vec![]));
        for bad in ["", "lag", "$lag", "$.", "$..a", "$.a[", "$.a[]", "$.a[x]", "$.a]b", "$.a b"] {
            assert_eq!(parse_path(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_comparison_is_an_operator_and_a_scalar() {
        let number = |op, value| Some(Comparison { op, value: Scalar::Number(value) });
        assert_eq!(parse_comparison("> 5"), number(ComparisonOp::Greater, 5.0));
        assert_eq!(parse_comparison("<=-0.5"), number(ComparisonOp::LessOrEqual, -0.5));
        assert_eq!(
            parse_comparison("== \"ok\""),
            Some(Comparison { op: ComparisonOp::Equal, value: Scalar::Text("ok".into()) })
        );
        assert_eq!(
            parse_comparison("!= true"),
            Some(Comparison { op: ComparisonOp::NotEqual, value: Scalar::Bool(true) })
        );
        for bad in ["", "5", "> ", "=> 5", "= 5", "> five", "== ok", "== \"a\"b\"", "> inf", "> nan"] {
            assert_eq!(parse_comparison(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_port_is_1_to_65535_and_ipv6_stands_in_brackets() {
        assert_eq!(split_authority("{address}:8080"), Ok(Some(8080)));
        assert_eq!(split_authority("[2001:db8::1]:53"), Ok(Some(53)));
        assert_eq!(split_authority("[::1]"), Ok(None));
        assert_eq!(split_authority("db.example.net"), Ok(None));
        for bad in
            ["", ":80", "a:0", "a:65536", "a:", "a:+1", "::1", "[::1", "[x]:1", "[::1]x", "a b:1", "a@b:1"]
        {
            assert!(split_authority(bad).is_err(), "{bad}");
        }
    }
}
