//! What a request says, read with bounds: parameters, JSON bodies, the `Host`.

use std::net::IpAddr;

use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap};
use hyper::http::uri::Authority;
use hyper::{Request, Uri};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::problem::Problem;
use super::{BODY_DEADLINE, MAX_BODY_BYTES};

/// Who a client says it is, for the audit: longer, or with other bytes, it does not count.
const MAX_USER_BYTES: usize = 64;

/// The parameters of a query, decoded once.
#[derive(Debug)]
pub(super) struct Params(Vec<(String, String)>);

impl Params {
    /// Reads the query of a URI.
    ///
    /// Errors: a parameter that is not among `known`, or whose escapes make no UTF-8 text.
    pub(super) fn of(uri: &Uri, known: &[&str]) -> Result<Self, Problem> {
        let query = uri.query().unwrap_or_default();
        let mut params = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Some(key), Some(value)) = (decode(key), decode(value)) else {
                return Err(Problem::new(400, format!("`{pair}` has a broken %-escape")));
            };
            if !known.contains(&&*key) {
                let hint = format!("the parameters are: {}", known.join(", "));
                return Err(Problem::new(400, format!("there is no parameter `{key}` here")).hint(hint));
            }
            params.push((key, value));
        }
        Ok(Self(params))
    }

    /// The values of a parameter, in order.
    pub(super) fn all<'p>(&'p self, key: &'p str) -> impl Iterator<Item = &'p str> {
        self.0.iter().filter(move |(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// The first value of a parameter, unless it is empty.
    pub(super) fn first<'p>(&'p self, key: &'p str) -> Option<&'p str> {
        self.all(key).next().filter(|value| !value.is_empty())
    }

    /// The first value of a parameter.
    ///
    /// Errors: it is absent or empty.
    pub(super) fn required<'p>(&'p self, key: &'p str) -> Result<&'p str, Problem> {
        self.first(key).ok_or_else(|| Problem::new(400, format!("the parameter `{key}` is missing")))
    }
}

/// Undoes form encoding: `+` is a space, `%41` an `A`. Absent when an escape is broken or the bytes are no UTF-8.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                (digit(rest.next()?)? * 16 + digit(rest.next()?)?) as u8
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Reads a JSON body.
///
/// Errors: another content type, a body that is too long or too slow, or says what is not understood.
pub(super) async fn json<T: DeserializeOwned>(request: Request<Incoming>) -> Result<T, Problem> {
    if !is_json(request.headers()) {
        let hint = "send `Content-Type: application/json`; a body without fields is `{}`";
        return Err(Problem::new(415, "changes are told as JSON").hint(hint));
    }
    let body = Limited::new(request.into_body(), MAX_BODY_BYTES).collect();
    let body = match timeout(BODY_DEADLINE, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            return Err(Problem::new(413, format!("a body has at most {MAX_BODY_BYTES} bytes")));
        }
        Ok(Err(_)) => return Err(Problem::new(400, "the body broke off")),
        Err(_) => {
            let seconds = BODY_DEADLINE.as_secs();
            return Err(Problem::new(408, format!("the body took longer than {seconds} seconds")));
        }
    };
    serde_json::from_slice(&body).map_err(|error| Problem::new(400, format!("the body: {error}")))
}

/// Whether the content type is JSON's, whatever its parameters.
fn is_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(only), None) = (types.next(), types.next()) else { return false };
    let essence = only.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

/// Refuses a change that was sent to a name. A browser that some site's script drives says that site's name here, even
/// when its DNS leads to this listener (DNS rebinding); an address, or `localhost`, no site can be called.
pub(super) fn check_host<B>(request: &Request<B>) -> Result<(), Problem> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().ok(),
        _ => None,
    };
    // The target's own authority goes before the header (RFC 9112 3.2.2).
    let host = request.uri().authority().map(Authority::as_str).or(host);
    if host.is_some_and(is_no_name) {
        return Ok(());
    }
    let hint = "ask by address: http://127.0.0.1:8953/…, or http://localhost:8953/…";
    let rule = "changes are taken only under an address, so that no web page's DNS can lead a browser here";
    Err(Problem::new(403, "the Host of this request is not an address").hint(hint).rule(rule))
}

/// Whether a `Host` is an IP literal or `localhost`, with or without a port.
fn is_no_name(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    if authority.as_str().contains('@') {
        return false;
    }
    let host = authority.host();
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.parse::<IpAddr>().is_ok() || host.eq_ignore_ascii_case("localhost")
}

/// Who asks, for the audit: what the client calls itself, if it does, and where it is.
pub(super) fn asker(headers: &HeaderMap, peer: IpAddr) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-@+".contains(byte);
    let user = headers.get(super::USER_HEADER).map(|user| user.as_bytes());
    let user = user.filter(|user| (1..=MAX_USER_BYTES).contains(&user.len()) && user.iter().all(plain));
    match user {
        Some(user) => format!("{} at {peer}", String::from_utf8_lossy(user)),
        None => format!("somebody at {peer}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_and_localhost_are_hosts_for_changes() {
        for host in [
            "127.0.0.1",
            "127.0.0.1:8953",
            "[::1]",
            "[::1]:8953",
            "localhost",
            "LOCALHOST:8953",
            "192.0.2.7:80",
        ] {
            assert!(is_no_name(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:8953",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "127.0.0.1@evil.example",
            "a@127.0.0.1",
            "2130706433",
            "0x7f.1",
            "::1",
            "[evil]",
        ] {
            assert!(!is_no_name(host), "{host}");
        }
    }

    #[test]
    fn parameters_are_decoded_once() {
        let uri: Uri = "/x?name=a%2Bb+c&down=cn&down=eu&name=second".parse().unwrap();
        let params = Params::of(&uri, &["name", "down"]).unwrap();
        assert_eq!(params.required("name").unwrap(), "a+b c");
        assert_eq!(params.all("down").collect::<Vec<_>>(), ["cn", "eu"]);
        assert_eq!(params.first("type"), None);
    }

    #[test]
    fn broken_escapes_and_unknown_parameters_are_refused() {
        for uri in ["/x?name=%4", "/x?name=%zz", "/x?name=%ff", "/x?nmae=a"] {
            let refused = Params::of(&uri.parse().unwrap(), &["name"]).unwrap_err();
            assert_eq!(refused.status, 400, "{uri}");
        }
    }

    #[test]
    fn whoever_asks_can_only_name_themselves_in_plain_letters() {
        let by = |user: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(super::super::USER_HEADER, user.parse().unwrap());
            asker(&headers, [127, 0, 0, 1].into())
        };
        assert_eq!(by("alice"), "alice at 127.0.0.1");
        for odd in ["", "a b", "a\"b", "<b>", &"x".repeat(65)] {
            assert_eq!(by(odd), "somebody at 127.0.0.1", "{odd:?}");
        }
    }
}
