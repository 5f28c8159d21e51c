//! The `http` probe: a request, its status, and what the body must say.
//!
//! Each run makes a connection of its own, since a kept one would hide that no new one can be made. Nothing is
//! followed, repeated or sent through a proxy: what the target says first is what was seen. The body is read only when
//! something is asked of it, and only its first 64 KiB.

use std::net::SocketAddr;
use std::sync::OnceLock;

use reqwest::dns::{Name, Resolve, Resolving};
use reqwest::header::{HOST, HeaderName, HeaderValue};
use reqwest::{Client, ClientBuilder, Method, Request, Response, Url};

use super::finding::{Finding, Seen};
use super::json;
use super::net::{self, Resolver};
use super::steps::Steps;
use crate::config::HttpProbe;

/// What is read of a body, in bytes.
const BODY_MAX_BYTES: usize = 64 * 1024;

const USER_AGENT: &str = concat!("waypost/", env!("CARGO_PKG_VERSION"));

tokio::task_local! {
    /// Where the request of this task goes, whatever name its URL has. The client asks for it instead of resolving:
    /// so a name is resolved by our own bounded resolver, one connection is made at a time, and `https` may ask one
    /// server of many for a certificate in the name of all.
    static PINNED: SocketAddr;
}

/// The clients that all checks share.
#[derive(Debug)]
pub(super) struct Clients {
    plain: Client,
    /// With the system's trusted roots, which cost tens of milliseconds to read: made when first needed. `None`: the
    /// system has none.
    tls: OnceLock<Option<Client>>,
}

impl Clients {
    /// Errors: the client cannot be made.
    pub(super) fn new() -> Result<Self, reqwest::Error> {
        // Refused when somebody, usually `main`, has installed one already: then that one is used.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        let plain = Self::builder().tls_certs_only([]).build()?;
        Ok(Self { plain, tls: OnceLock::new() })
    }

    fn builder() -> ClientBuilder {
        Client::builder()
            .user_agent(USER_AGENT)
            .http1_only()
            .pool_max_idle_per_host(0)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .referer(false)
            .dns_resolver(Pinned)
    }

    fn for_url(&self, url: &Url) -> Result<&Client, Finding> {
        if url.scheme() != "https" {
            return Ok(&self.plain);
        }
        let tls = self.tls.get_or_init(|| Self::builder().build().ok());
        tls.as_ref().ok_or_else(|| Finding::unknown("this machine has no trusted CA certificates"))
    }
}

struct Pinned;

impl Resolve for Pinned {
    fn resolve(&self, _: Name) -> Resolving {
        let pinned = PINNED.try_with(|&address| address);
        Box::pin(async move { Ok(Box::new(std::iter::once(pinned?)) as reqwest::dns::Addrs) })
    }
}

/// Runs an `http` probe.
pub(super) async fn look(
    clients: &Clients,
    resolver: &Resolver,
    probe: &HttpProbe,
    steps: &mut Steps,
) -> Seen {
    let target = Target::parse(probe)?;
    let client = clients.for_url(&target.url)?;
    let request = target.request(client, probe)?;
    let addresses = resolver.resolve(&target.host, target.port, steps).await?;
    steps.begin("request");
    let response = send(client, request, &addresses).await?;
    let status = response.status().as_u16();
    if !probe.status.contains(&status) {
        return Err(Finding::failed(format!("status {status}")));
    }
    if probe.body.is_none() && probe.json.is_none() {
        return Ok(());
    }
    steps.begin("body");
    let body = Body::read(response).await?;
    body.judge(probe)
}

/// A URL for people: without user, password, query and fragment. What is no URL is not shown at all.
pub(super) fn redacted(url: &str) -> String {
    let Ok(mut url) = Url::parse(url) else { return "(not a URL)".to_owned() };
    // Refused only by URLs that cannot have them.
    let _cannot = (url.set_username(""), url.set_password(None));
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

/// Where a request goes, and in whose name.
struct Target {
    /// What the client is given: with `https` and a `host`, that name, for the certificate is asked and checked for it.
    url: Url,
    /// Who is connected to.
    host: String,
    port: u16,
}

impl Target {
    /// A probe that cannot be asked is unknown: it says nothing about its target.
    fn parse(probe: &HttpProbe) -> Result<Self, Finding> {
        let mut url =
            Url::parse(&probe.url).map_err(|error| Finding::unknown(format!("the URL is wrong: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Finding::unknown("the URL is neither http nor https"));
        }
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Err(Finding::unknown("the URL names no host"));
        };
        let host = host.to_owned();
        if let ("https", Some(name)) = (url.scheme(), probe.host.as_deref().and_then(server_name)) {
            url.set_host(Some(name)).map_err(|_| Finding::unknown("`host` is not a host name"))?;
        }
        Ok(Self { url, host, port })
    }

    fn request(&self, client: &Client, probe: &HttpProbe) -> Result<Request, Finding> {
        let method = Method::from_bytes(probe.method.as_bytes())
            .map_err(|_| Finding::unknown("the method is not an HTTP method"))?;
        let mut request = client.request(method, self.url.clone());
        for (name, value) in &probe.headers {
            // The name is shown, the value never: it may be a token.
            let wrong = || Finding::unknown(format!("header `{name}` cannot be sent"));
            let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
            value.set_sensitive(true);
            request = request.header(header, value);
        }
        if let Some(host) = &probe.host {
            let host =
                HeaderValue::from_str(host).map_err(|_| Finding::unknown("`host` is not a host name"))?;
            request = request.header(HOST, host);
        }
        request.build().map_err(|_| Finding::unknown("the request cannot be made"))
    }
}

/// The name in a `Host` value, without its port; none when it is an address, which no certificate is asked for by
/// name.
fn server_name(host: &str) -> Option<&str> {
    if net::literal(host).is_some() {
        return None;
    }
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    net::literal(name).is_none().then_some(name)
}

/// Sends the request to the first of the addresses that takes the connection.
async fn send(client: &Client, request: Request, addresses: &[SocketAddr]) -> Result<Response, Finding> {
    let mut last = Finding::unknown("the request cannot be made");
    for &address in addresses {
        // Without a body of its own a request can always be repeated.
        let Some(request) = request.try_clone() else { break };
        match PINNED.scope(address, client.execute(request)).await {
            Ok(response) => return Ok(response),
            Err(error) => {
                // Once there was a connection, the server has had its say.
                let try_next = error.is_connect();
                last = Finding::of_network(&error);
                if !try_next {
                    break;
                }
            }
        }
    }
    Err(last)
}

/// The beginning of a body.
struct Body {
    bytes: Vec<u8>,
    whole: bool,
}

impl Body {
    async fn read(mut response: Response) -> Result<Self, Finding> {
        let mut bytes = Vec::new();
        loop {
            match response.chunk().await {
                Ok(None) => return Ok(Self { bytes, whole: true }),
                Ok(Some(chunk)) => {
                    let room = BODY_MAX_BYTES.saturating_sub(bytes.len());
                    bytes.extend(chunk.iter().take(room));
                    if chunk.len() > room {
                        return Ok(Self { bytes, whole: false });
                    }
                }
                Err(error) => return Err(Finding::of_network(&error)),
            }
        }
    }

    fn judge(&self, probe: &HttpProbe) -> Seen {
        if probe.body.as_deref().is_some_and(|text| !self.contains(text.as_bytes())) {
            return Err(Finding::failed("the body does not hold the expected text"));
        }
        match &probe.json {
            None => Ok(()),
            Some(_) if !self.whole => Err(Finding::failed("the body is longer than 64 KiB")),
            Some(rule) => json::judge(rule, &self.bytes),
        }
    }

    fn contains(&self, text: &[u8]) -> bool {
        text.is_empty() || self.bytes.windows(text.len()).any(|window| window == text)
    }
}
