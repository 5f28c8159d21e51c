//! The running server's API, asked.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{RequestBuilder, Url};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CONFIG_PATHS, Context, Exit, Failure, preview, read_text};
use crate::control::load;
use crate::control::operate::RefusalKind;
use crate::control::preview::Preview;
use crate::serve::admin::USER_HEADER;

/// Where a server listens when no configuration says otherwise.
pub(super) const DEFAULT_SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8953);

/// How long a connection may take.
const CONNECT_DEADLINE: Duration = Duration::from_secs(3);

/// How long an answer may take: a reload compiles a geo file, a probe runs in every region.
const ANSWER_DEADLINE: Duration = Duration::from_secs(120);

/// A running server.
#[derive(Clone, Debug)]
pub(super) struct Client {
    http: reqwest::Client,
    base: Url,
    /// Where the address comes from, for the hint.
    source: String,
}

/// A problem document (RFC 9457), as far as it is shown.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ProblemView {
    #[serde(rename = "type")]
    kind: String,
    title: String,
    detail: String,
    rule: String,
    hint: String,
    preview: Option<Preview>,
}

impl Client {
    /// The server that the command line or the configuration names.
    ///
    /// Errors: the configuration can't be read, or the address is none.
    pub(super) fn new(context: &Context) -> Result<Self, Failure> {
        let (address, source) = address(context)?;
        let base = Url::parse(&format!("http://{address}/")).map_err(|_| {
            let text = format!("`{address}` is not a server's address");
            Failure::new(Exit::USAGE, text).hint("write HOST:PORT, [::1]:8953 for IPv6")
        })?;
        let http = reqwest::Client::builder()
            .no_proxy()
            .connect_timeout(CONNECT_DEADLINE)
            .timeout(ANSWER_DEADLINE)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| Failure::new(Exit::BAD, format!("cannot make an HTTP client: {error}")))?;
        Ok(Self { http, base, source })
    }

    /// Asks for a document.
    pub(super) fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Vec<u8>, Failure> {
        let mut url = self.base.clone();
        url.set_path(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        wait(self.send(self.http.get(url)))
    }

    /// Asks for a document that must come soon.
    pub(super) fn get_within(&self, path: &str, deadline: Duration) -> Result<Vec<u8>, Failure> {
        let mut url = self.base.clone();
        url.set_path(path);
        wait(self.send(self.http.get(url).timeout(deadline)))
    }

    /// Asks for a change.
    pub(super) fn post(&self, path: &str, body: &impl Serialize) -> Result<Vec<u8>, Failure> {
        let mut url = self.base.clone();
        url.set_path(path);
        let body = serde_json::to_vec(body)
            .map_err(|error| Failure::new(Exit::USAGE, format!("cannot write that as JSON: {error}")))?;
        let mut request = self.http.post(url).header(CONTENT_TYPE, "application/json").body(body);
        if let Ok(user) = HeaderValue::from_str(&user()) {
            request = request.header(USER_HEADER, user);
        }
        wait(self.send(request))
    }

    async fn send(&self, mut request: RequestBuilder) -> Result<Vec<u8>, Failure> {
        if let Some(token) = token()? {
            request = request.header(AUTHORIZATION, token);
        }
        let answer = request.send().await.map_err(|error| self.unreachable(&error))?;
        let status = answer.status().as_u16();
        let body = answer.bytes().await.map_err(|error| self.unreachable(&error))?;
        match status {
            200 => Ok(body.to_vec()),
            _ => Err(refused(status, &body)),
        }
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let mut cause: &dyn std::error::Error = error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        let cause = if error.is_timeout() { "no answer in time".to_owned() } else { cause.to_string() };
        let text = format!("cannot reach the server at {}: {cause}", self.base);
        let hint = format!(
            "is `waypost serve` running? The address is {}; --server HOST:PORT asks another",
            self.source
        );
        Failure::new(Exit::UNREACHABLE, text).hint(hint)
    }
}

/// The server's address, and where it comes from.
fn address(context: &Context) -> Result<(String, String), Failure> {
    if let Some(server) = &context.server {
        return Ok((server.clone(), "the one that --server says".to_owned()));
    }
    let there = CONFIG_PATHS.iter().any(|path| std::path::Path::new(path).exists());
    if context.config.is_none() && !there {
        return Ok((DEFAULT_SERVER.to_string(), "the usual one: there is no configuration here".to_owned()));
    }
    let path = context.config_path()?;
    let text = read_text(&path)?;
    let listen = match load::parse(&text, &path) {
        Ok(config) => config.admin.listen,
        // The server that runs may not be kept from its operator by a file that is being worked on.
        Err(errors) => listen_in(&text).ok_or_else(|| {
            let hint = "`admin.listen` in it says where the server is; --server HOST:PORT does without it";
            Failure::new(Exit::BAD, format!("the configuration is invalid:\n{}", errors.text)).hint(hint)
        })?,
    };
    Ok((reachable(listen).to_string(), format!("`admin.listen` of {}", path.display())))
}

/// `admin.listen` of a configuration that is invalid elsewhere; absent when it can't be made out.
fn listen_in(text: &str) -> Option<SocketAddr> {
    let document: toml_edit::DocumentMut = text.parse().ok()?;
    match document.get("admin") {
        None => Some(DEFAULT_SERVER),
        Some(admin) => match admin.as_table_like()?.get("listen") {
            None => Some(DEFAULT_SERVER),
            Some(listen) => listen.as_str()?.parse().ok(),
        },
    }
}

/// A wildcard is reached over loopback.
pub(super) fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

/// What the server refused, for people, with the exit code that goes with it.
fn refused(status: u16, body: &[u8]) -> Failure {
    let document: Option<Value> = serde_json::from_slice(body).ok();
    let problem: ProblemView =
        document.clone().and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default();
    let mut text = if problem.detail.is_empty() { problem.title } else { problem.detail };
    if text.is_empty() {
        text = format!("the server answers {status}, and not as waypost does");
    }
    if !problem.rule.is_empty() {
        text = format!("{text}\n  rule: {}", problem.rule);
    }
    if let Some(preview) = &problem.preview {
        text = format!("{text}\n{}", preview::text(preview).trim_end());
    }
    let mut failure = Failure::new(exit(&problem.kind, status), text).hint(problem.hint);
    failure.document = document;
    failure
}

fn exit(kind: &str, status: u16) -> Exit {
    let kind = kind.strip_prefix("urn:waypost:").map(|kind| Value::String(kind.to_owned()));
    let kind: Option<RefusalKind> = kind.and_then(|kind| serde_json::from_value(kind).ok());
    match (kind, status) {
        (Some(kind), _) => Exit(kind.exit_code()),
        (None, 401 | 403) => Exit::NOT_PERMITTED,
        (None, 400) => Exit::USAGE,
        (None, 503) => Exit::UNREACHABLE,
        (None, _) => Exit::BAD,
    }
}

/// Reads what the server answered.
pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(body).map_err(|error| {
        let text = format!("the server's answer is not understood: {error}");
        Failure::new(Exit::BAD, text)
            .hint("is it another version of waypost? `waypost --version` tells this one's")
    })
}

/// `WAYPOST_TOKEN` as a bearer token; never shown.
fn token() -> Result<Option<HeaderValue>, Failure> {
    let Some(token) = std::env::var_os("WAYPOST_TOKEN").filter(|token| !token.is_empty()) else {
        return Ok(None);
    };
    let header = token.to_str().and_then(|token| HeaderValue::from_str(&format!("Bearer {token}")).ok());
    let mut header =
        header.ok_or_else(|| Failure::new(Exit::USAGE, "WAYPOST_TOKEN holds what no token can hold"))?;
    header.set_sensitive(true);
    Ok(Some(header))
}

/// Who types, for the audit. Timers and services have no such variable: then it is the name of the process's user.
pub(super) fn user() -> String {
    let names = ["SUDO_USER", "USER", "LOGNAME"];
    let named = names.into_iter().find_map(|name| std::env::var(name).ok().filter(|name| !name.is_empty()));
    named.unwrap_or_else(|| {
        let uid = rustix::process::getuid().as_raw();
        let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        name_of(uid, &users).unwrap_or_else(|| format!("uid-{uid}"))
    })
}

/// A user's name by the lines of `/etc/passwd`: name, password, number and more, between colons.
fn name_of(uid: u32, users: &str) -> Option<String> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

fn wait<T>(answer: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime
        .map_err(|error| Failure::new(Exit::BAD, format!("cannot start a runtime: {error}")))?
        .block_on(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_without_variables_is_called_by_the_systems_name() {
        let users = "root:x:0:0:root:/root:/bin/sh\n\nbroken\n:x:7:7::/:\nops:x:1000:1000::/srv:/bin/sh\n";
        assert_eq!(name_of(0, users).as_deref(), Some("root"));
        assert_eq!(name_of(1000, users).as_deref(), Some("ops"));
        assert_eq!([name_of(7, users), name_of(100, users), name_of(0, "")], [None, None, None]);
    }

    #[test]
    fn a_wildcard_is_reached_over_loopback() {
        let at = |listen: &str| reachable(listen.parse().unwrap()).to_string();
        assert_eq!(at("0.0.0.0:8953"), "127.0.0.1:8953");
        assert_eq!(at("[::]:8953"), "[::1]:8953");
        assert_eq!(at("192.0.2.1:80"), "192.0.2.1:80");
    }

    #[test]
    fn a_configuration_that_is_wrong_elsewhere_still_says_where_the_server_is() {
        let at = |text: &str| listen_in(text).map(|listen| listen.to_string());
        assert_eq!(at("[admin]\nlisten = \"127.0.0.9:1\"\nnonsense = 1\n").as_deref(), Some("127.0.0.9:1"));
        assert_eq!(at("nonsense = 1\n").as_deref(), Some("127.0.0.1:8953"));
        assert_eq!(at("[admin]\nlisten = 7\n"), None);
        assert_eq!(at("[admin\n"), None);
    }

    #[test]
    fn each_refusal_has_its_exit_code() {
        let code = |kind: &str, status| exit(kind, status).0;
        assert_eq!(code("urn:waypost:guard", 409), 7);
        assert_eq!(code("urn:waypost:nothing-to-do", 409), 1);
        assert_eq!(code("urn:waypost:bad-request", 400), 2);
        assert_eq!(code("urn:waypost:stopping", 503), 3);
        assert_eq!(code("about:blank", 404), 1);
        assert_eq!(code("about:blank", 400), 2);
        assert_eq!(code("about:blank", 401), 4);
        assert_eq!(code("", 502), 1);
    }

    #[test]
    fn an_answer_that_is_no_problem_document_is_still_told() {
        let failure = refused(502, b"<html>");
        assert!(failure.text.contains("502"), "{}", failure.text);
        assert_eq!(failure.document, None);
    }
}
