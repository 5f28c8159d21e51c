//! What `waypost.toml` says, checked: text in, values or every error at once out.
//!
//! What was typed and what it means are two things. The parser walks the spanned TOML tree once and yields the types
//! below, which the rest of the program takes for granted: every name resolved, every range kept.

pub mod admin;
mod diagnostic;
mod dns;
mod http;
mod keys;
mod nearest;
mod parse;
mod probes;
mod reader;
mod regions;
mod scalar;
mod sections;
mod services;

pub use diagnostic::{Diagnostic, Place, Severity, render};
pub use scalar::parse_duration;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::health::{Damping, Impact};
use crate::region::geo::Network;
use crate::region::iso::{Continent, Country};
use crate::region::{AllDown, RegionId, Regions};

/// A whole, valid configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Where the file lies; relative paths in it start at its folder.
    pub path: PathBuf,
    /// This node's name.
    pub node: String,
    /// Where the server keeps what must survive a restart.
    pub state_dir: PathBuf,
    /// The operators' file.
    pub admin_file: PathBuf,
    /// What is logged, and how.
    pub log: Log,
    /// The declared regions, in fallback order.
    pub regions: Regions,
    /// What each region's table says; by [`RegionId::index`].
    pub region_rules: Vec<RegionRules>,
    /// Where clients are; present when `dns` is.
    pub geo: Option<Geo>,
    /// The DNS server.
    pub dns: Option<Dns>,
    /// The declared probes, in file order.
    pub probes: Vec<Probe>,
    /// The declared services, in file order.
    pub services: Vec<Service>,
    /// The admin listener.
    pub admin: Admin,
    /// Where in the file things stand that only the loader can judge.
    pub places: Places,
    /// What is odd, but not wrong.
    pub warnings: Vec<Diagnostic>,
}

/// Places of the config file for errors that are found later: with them a missing folder or a service outside every
/// zone becomes a [`Diagnostic`] like any other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The value of `geo.database`.
    pub database: Option<Place>,
    /// The value of `dns.zones`.
    pub zones: Option<Place>,
    /// The name of each service, by its position in [`Config::services`].
    pub services: Vec<Place>,
}

/// `[log]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Log {
    /// The least severe level that is logged.
    pub level: LogLevel,
    /// How a line looks.
    pub format: LogFormat,
}

/// How much is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum LogFormat {
    Text,
    Json,
}

/// `[regions.NAME]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegionRules {
    /// Countries whose clients are at home here.
    pub countries: Vec<Country>,
    /// Continents whose clients are at home here.
    pub continents: Vec<Continent>,
    /// Networks whose clients are at home here, whatever the database says.
    pub networks: Vec<Network>,
    /// Requests per second that the region can carry.
    pub capacity: Option<u64>,
    /// Requests per second of its own clients at their peak.
    pub load: Option<u64>,
    /// Whether the region waits for a release after a failure.
    pub manual_failback: bool,
    /// Latitude and longitude, in degrees.
    pub location: Option<(f64, f64)>,
}

/// `[geo]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Geo {
    /// The MaxMind DB file.
    pub database: PathBuf,
    /// Home of a client that nothing places.
    pub unmapped: RegionId,
    /// Largest share of sampled networks that a new file may move without being asked for; 0 to 1.
    pub max_moved: f64,
}

/// `[dns]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Dns {
    /// Addresses for UDP and TCP.
    pub listen: Vec<SocketAddr>,
    /// The folder of `*.zone` files.
    pub zones: PathBuf,
    /// UDP workers; 0: one per core.
    pub udp_workers: usize,
    /// Largest UDP answer in bytes, 512 to 4096.
    pub max_udp_size: u16,
    /// NSID text; empty: none.
    pub nsid: String,
    /// Whether client subnets decide.
    pub ecs: bool,
    /// Limits on TCP.
    pub tcp: Tcp,
    /// DNS cookies.
    pub cookies: Cookies,
    /// What CHAOS questions are answered.
    pub chaos: Chaos,
    /// Response rate limiting; absent: off.
    pub rate_limit: Option<RateLimit>,
    /// Where queries and answers are reported; absent: nowhere.
    pub dnstap: Option<Dnstap>,
}

/// `dns.tcp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// Connections in all.
    pub max_connections: usize,
    /// Connections per client address (IPv6: per /64).
    pub per_client: usize,
    /// How long a connection may be silent.
    pub idle: Duration,
}

/// `dns.cookies`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookies {
    /// Whether cookies are answered.
    pub enabled: bool,
    /// Largest UDP answer to a client without a valid cookie, in bytes.
    pub unverified_udp: u16,
}

/// `dns.chaos`: the texts of RFC 4892; an empty one is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chaos {
    /// `id.server` and `hostname.bind`.
    pub id: String,
    /// `version.server` and `version.bind`.
    pub version: String,
}

/// `dns.rate_limit`: of answers over UDP, by the prefix of who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Answers per second that one address gets for good.
    pub per_second: u32,
    /// Answers that it gets at once after silence.
    pub burst: u32,
    /// Count only.
    pub dry_run: bool,
    /// Networks without a limit.
    pub exempt: Vec<Network>,
}

/// `dns.dnstap`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dnstap {
    /// The collector's Unix socket.
    pub socket: PathBuf,
}

/// `[[probes]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Its name.
    pub name: String,
    /// What it does.
    pub kind: ProbeKind,
    /// What it is run against.
    pub per: Per,
    /// How its results become a state.
    pub damping: Damping,
    /// The longest one run may take.
    pub timeout: Duration,
    /// The worst it may make of a region.
    pub impact: Impact,
    /// `[probes.targets]`, by region: a text for `{target}`-less kinds (the URL, the address, the path); absent: the
    /// kind's own template.
    pub targets: Vec<(RegionId, String)>,
}

/// What a probe is run against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// Every address of every service that requires it.
    Endpoint,
    /// One check a region.
    Region,
}

/// What a probe does. Templates may hold `{address}` and `{region}`.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // There are few probes, each read once: a box would only be in the way.
pub enum ProbeKind {
    /// An HTTP request.
    Http(HttpProbe),
    /// A TCP connection to this template.
    Tcp {
        /// `host:port`.
        address: String,
    },
    /// A command, without a shell.
    Exec {
        /// Program and arguments.
        command: Vec<String>,
    },
    /// A file that somebody else writes.
    File {
        /// The file.
        path: String,
        /// Older than this: unknown.
        max_age: Duration,
    },
}

/// An HTTP probe.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpProbe {
    /// Where to ask; may be empty when every region has a target.
    pub url: String,
    /// The `Host` to send instead of the URL's.
    pub host: Option<String>,
    /// `GET`, `HEAD`, `POST`, …
    pub method: String,
    /// Headers to send.
    pub headers: Vec<(String, String)>,
    /// Statuses that are good.
    pub status: Vec<u16>,
    /// Text that the body must hold.
    pub body: Option<String>,
    /// A number in a JSON body, with its limits.
    pub json: Option<JsonRule>,
}

/// A value in a JSON body, with the comparisons that make it degraded or failed.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonRule {
    /// The path from the root: names and array positions.
    pub path: Vec<JsonKey>,
    /// The path as written.
    pub text: String,
    /// When this holds, degraded.
    pub degraded: Option<Comparison>,
    /// When this holds, failed.
    pub failed: Option<Comparison>,
}

/// One step of a JSON path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonKey {
    /// `.name`
    Name(String),
    /// `[index]`
    Index(usize),
}

/// `"> 5"`, `"== \"ok\""`, `"!= true"`.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// How the value is compared.
    pub op: ComparisonOp,
    /// With what.
    pub value: Scalar,
}

/// How a value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ComparisonOp {
    Less,
    LessOrEqual,
    Equal,
    NotEqual,
    GreaterOrEqual,
    Greater,
}

/// A JSON scalar.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Scalar {
    Number(f64),
    Text(String),
    Bool(bool),
}

/// `[[services]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// Its name as typed, without the trailing dot, lower case.
    pub name: String,
    /// The line of the config file that names it, from 1; for errors found later (a zone that lacks the name).
    pub line: usize,
    /// Seconds, while everything it depends on is steady.
    pub ttl_s: u32,
    /// Seconds, otherwise; at most `ttl_s`.
    pub ttl_min_s: u32,
    /// Positions in [`Config::probes`].
    pub requires: Vec<usize>,
    /// What to answer when no region is able.
    pub all_down: AllDown,
    /// Share of a region's endpoints, per family, that must be up; above 0, at most 1.
    pub up_share: f64,
    /// What it answers, by region; regions that it leaves out are absent.
    pub answers: Answers,
}

/// What a service answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Answers {
    /// Addresses, at least one a listed region, in file order.
    Endpoints(Vec<(RegionId, Vec<Endpoint>)>),
    /// An alias a region, absolute, without the trailing dot.
    Cname(Vec<(RegionId, String)>),
}

/// One address of a service in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// What is answered.
    pub address: IpAddr,
    /// Where it is probed: the same, unless the file says otherwise.
    pub probe: IpAddr,
}

/// `[admin]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admin {
    /// Where API and metrics listen.
    pub listen: SocketAddr,
    /// Whether decisions are counted per service.
    pub metrics_per_service: bool,
}
