//! What may be typed.

use std::ffi::OsString;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{
    Arg, Args as ClapArgs, Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
};

/// Global server load balancer: authoritative DNS by client region, a fixed failover order, deep health probes.
#[derive(Clone, Debug, Parser)]
#[command(name = "waypost", version, propagate_version = true, after_help = EXAMPLES)]
pub struct Args {
    /// The configuration [default: waypost.toml, then /etc/waypost/waypost.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The running server's admin address [default: `admin.listen` of the configuration]
    #[arg(long, global = true, value_name = "HOST:PORT")]
    pub server: Option<String>,
    /// Print JSON instead of text for people
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

const EXAMPLES: &str = "Examples:
  waypost demo                                      everything on loopback, to try it
  waypost check && waypost serve                    validate, then run
  waypost explain www.gslb.example.com --client 114.114.114.0/24
  waypost drain cn --reason 'database upgrade' --for 2h

Exit codes: 0 done; 1 checked and found bad; 2 usage; 3 server unreachable; 4 not permitted; \
7 refused by the guard; 78 unusable configuration at start. \
WAYPOST_TOKEN, if set, is sent along as a bearer token for a proxy before the admin API; the server asks for none.";

/// Verbs that ask no running server.
const ASK_NO_SERVER: [&str; 5] = ["serve", "check", "replay", "geo", "completions"];

impl Args {
    /// The definition. Options for all verbs are left out of the help of those to which they mean nothing.
    pub fn definition() -> Command {
        let hide = |verb: Command| verb.arg(Arg::new("server").long("server").hide(true));
        ASK_NO_SERVER.into_iter().fold(Self::command(), |command, verb| command.mut_subcommand(verb, hide))
    }

    /// Reads what was typed, the program's name first.
    ///
    /// Errors: it makes no sense, or asks for help or the version.
    pub fn read<T: Into<OsString> + Clone>(words: impl IntoIterator<Item = T>) -> Result<Self, clap::Error> {
        let mut definition = Self::definition();
        let matches = definition.try_get_matches_from_mut(words)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut definition))
    }
}

/// A verb.
#[derive(Clone, Debug, Subcommand)]
pub enum Verb {
    /// Run DNS, probes and the admin API as the configuration says
    #[command(after_help = "Examples:
  waypost serve
  waypost serve --config /etc/waypost/waypost.toml

SIGHUP reloads; SIGTERM ends cleanly.")]
    Serve,
    /// Run everything on unprivileged loopback ports with three fake regions
    Demo(Demo),
    /// Validate configuration, zones, geo database and admin file; opens no socket
    #[command(after_help = "Examples:
  waypost check
  waypost check --config new.toml --json | jq .fallback

Exits 1 when anything is wrong, with every error at its place.")]
    Check,
    /// Say why a client gets the answer that it gets
    Explain(Explain),
    /// Show regions, services, probes, drains and warnings of the running server
    Status(Status),
    /// Take a region out of service, for some or all services
    Drain(Drain),
    /// Undo a drain
    Undrain(Undo),
    /// Say that a region is up or down, whatever the probes say
    Force(Force),
    /// Let the probes say again whether a region is up
    Unforce(Undo),
    /// Let a region serve again that waits for it after a failure (`failback = "manual"`)
    Release(Release),
    /// Run one probe now, and show how long its steps took
    Probe(Probe),
    /// Read configuration, zones and geo database again
    Reload(Reload),
    /// Compute every recorded decision again, as it was or under other conditions
    Replay(Replay),
    /// Say what database and networks know about an address: home region and scope
    Geo(Geo),
    /// Check a deployment from the outside: delegation, glue, every name server, clock, limits
    Doctor(Doctor),
    /// Print shell completions
    Completions(Completions),
}

/// `demo`.
#[derive(Clone, Debug, Default, PartialEq, Eq, ClapArgs)]
#[command(after_help = "Examples:
  waypost demo
  waypost demo --break cn          cn's web endpoints die, in the demo that runs
  waypost demo --break cn:db       only its database
  waypost demo --mend cn")]
pub struct Demo {
    /// Break a region of the running demo, or only its web endpoints or its database
    #[arg(long = "break", value_name = "REGION[:web|db]", conflicts_with = "mend")]
    pub broken: Option<String>,
    /// Mend a region of the running demo
    #[arg(long, value_name = "REGION")]
    pub mend: Option<String>,
}

/// `explain`.
#[derive(Clone, Debug, PartialEq, Eq, ClapArgs)]
#[command(after_help = "Examples:
  waypost explain www.gslb.example.com --client 114.114.114.0/24
  waypost explain www.gslb.example.com --client 2001:da8::/48 --type AAAA --down cn
  waypost explain www.gslb.example.com --client 8.8.8.8 --offline")]
pub struct Explain {
    /// The name that is asked for
    pub name: String,
    /// Who asks: with /LEN as a client subnet, without as the address that asks
    #[arg(long, value_name = "ADDR[/LEN]")]
    pub client: String,
    /// The record type
    #[arg(long = "type", value_name = "TYPE", default_value = "A")]
    pub rtype: String,
    /// As if this region had failed; may be repeated
    #[arg(long, value_name = "REGION")]
    pub down: Vec<String>,
    /// From configuration, admin file and saved health, without the running server
    #[arg(long, conflicts_with = "server")]
    pub offline: bool,
}

/// `status`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ClapArgs)]
#[command(after_help = "Examples:
  waypost status
  waypost status --check           exits 0 when all regions are healthy, else 1
  waypost status --json | jq .regions.cn.state")]
pub struct Status {
    /// One line and an exit code, for a monitoring system
    #[arg(long)]
    pub check: bool,
}

/// `drain`.
#[derive(Clone, Debug, Default, PartialEq, Eq, ClapArgs)]
#[command(after_help = "Examples:
  waypost drain cn --reason 'database upgrade'
  waypost drain cn --reason 'network work' --from 2026-12-01T04:00:00Z --for 2h
  waypost drain cn --service '*.shop.example.com' --dry-run

Shows what moves. The guard refuses (exit 7) to take out the last able region of a service, \
or to load the others beyond their capacity; --force goes past it.")]
pub struct Drain {
    /// The region
    pub region: String,
    /// The rest, as for a force.
    #[command(flatten)]
    pub order: OrderArgs,
}

/// What drains and forces have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, ClapArgs)]
pub struct OrderArgs {
    /// Only for services that match; `*` crosses dots [default: every service]
    #[arg(long, value_name = "GLOB")]
    pub service: Option<String>,
    /// When it begins, RFC 3339 with an offset [default: now]
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// How long it lasts: 30m, 2h [default: until it is undone]
    #[arg(long = "for", value_name = "DURATION")]
    pub lasting: Option<String>,
    /// Why, for the audit and for whoever looks
    #[arg(long, value_name = "TEXT", required_unless_present = "dry_run")]
    pub reason: Option<String>,
    /// Only show what would happen
    #[arg(long)]
    pub dry_run: bool,
    /// Do it although the guard refuses
    #[arg(long)]
    pub force: bool,
}

/// `undrain` and `unforce`.
#[derive(Clone, Debug, Default, PartialEq, Eq, ClapArgs)]
#[command(after_help = "Examples:
  waypost undrain cn
  waypost undrain cn --service '*.shop.example.com'
  waypost undrain cn --dry-run

Undoes exactly what was ordered for that region and that glob; where a wider order still holds, \
says which (exit 1).")]
pub struct Undo {
    /// The region
    pub region: String,
    /// The glob that the order was given for [default: the order for every service]
    #[arg(long, value_name = "GLOB")]
    pub service: Option<String>,
    /// Why, for the audit
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub reason: String,
    /// Only show what would happen
    #[arg(long)]
    pub dry_run: bool,
    /// Do it although the guard refuses
    #[arg(long)]
    pub force: bool,
}

/// `force`.
#[derive(Clone, Debug, PartialEq, Eq, ClapArgs)]
#[command(after_help = "Examples:
  waypost force eu up --reason 'the probe is wrong, not the region'
  waypost force eu down --reason 'corrupt data' --for 30m")]
pub struct Force {
    /// The region
    pub region: String,
    /// What it counts as
    pub state: ForcedState,
    /// The rest, as for a drain.
    #[command(flatten)]
    pub order: OrderArgs,
}

/// What a force says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ForcedState {
    /// Healthy.
    Up,
    /// Out.
    Down,
}

/// `release`.
#[derive(Clone, Debug, Default, PartialEq, Eq, ClapArgs)]
#[command(after_help = "Example:
  waypost release cn")]
pub struct Release {
    /// The region
    pub region: String,
}

/// `probe`.
#[derive(Clone, Debug, Default, PartialEq, Eq, ClapArgs)]
#[command(after_help = "Examples:
  waypost probe web
  waypost probe orders-db --region cn

Exits 1 when any run failed, or could not observe anything.")]
pub struct Probe {
    /// The probe's name
    pub name: String,
    /// Only in this region
    #[arg(long, value_name = "REGION")]
    pub region: Option<String>,
}

/// `reload`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ClapArgs)]
#[command(after_help = "Examples:
  waypost reload
  waypost reload --accept-geo

Nothing changes when anything is wrong.")]
pub struct Reload {
    /// Take an older geo database, or one that moves many networks
    #[arg(long)]
    pub accept_geo: bool,
    /// Do it although the guard refuses
    #[arg(long)]
    pub force: bool,
}

/// `replay`.
#[derive(Clone, Debug, Default, PartialEq, Eq, ClapArgs)]
#[command(after_help = "Examples:
  waypost replay state/journal.jsonl                      proves what was served
  waypost replay state/journal.jsonl --drain cn           who would have moved
  waypost replay state/journal.jsonl --config new.toml    under another configuration

Exits 1 when anything differs. With --config the named configuration takes the place of the \
recorded ones.")]
pub struct Replay {
    /// The journal
    pub journal: PathBuf,
    /// As if this region had been drained; may be repeated
    #[arg(long, value_name = "REGION")]
    pub drain: Vec<String>,
}

/// `geo`.
#[derive(Clone, Debug, Default, PartialEq, Eq, ClapArgs)]
#[command(after_help = "Examples:
  waypost geo 114.114.114.114
  waypost geo 2001:da8::/48")]
pub struct Geo {
    /// The address; with /LEN as a client subnet
    #[arg(value_name = "ADDR[/LEN]")]
    pub client: String,
}

/// `doctor`.
#[derive(Clone, Debug, PartialEq, Eq, ClapArgs)]
#[command(after_help = "Examples:
  waypost doctor                              this node, the parent, every name server
  waypost doctor --node-only                  this node and this machine, without a network
  waypost doctor --parent 192.0.2.1           ask this server of the parent (split horizon, not yet public)
  waypost doctor --json | jq -r '.findings[] | select(.level == \"error\") | .fix'

Each finding comes with its fix. Exits 0 when nothing worse than a warning was found, 1 after an \
error, 3 when this node does not answer. Takes 15 seconds at most, or 6 after the files are read \
when that takes longer.")]
pub struct Doctor {
    /// Only this zone [default: every zone of the configuration]
    #[arg(long, value_name = "NAME")]
    pub zone: Option<String>,
    /// A server of the parent zone, asked in place of the one that a resolver finds
    #[arg(long, value_name = "ADDR[:PORT]", value_parser = server_address, conflicts_with = "node_only")]
    pub parent: Option<SocketAddr>,
    /// The resolver that finds the parent [default: those of /etc/resolv.conf]
    #[arg(long, value_name = "ADDR[:PORT]", value_parser = server_address, conflicts_with = "node_only")]
    pub resolver: Option<SocketAddr>,
    /// The port that name servers are asked at
    #[arg(long, value_name = "PORT", default_value_t = DNS_PORT)]
    pub port: u16,
    /// Leave out the parent and the other name servers
    #[arg(long)]
    pub node_only: bool,
}

/// The port that resolvers ask.
const DNS_PORT: u16 = 53;

/// An address, with a port where it is not the usual one.
fn server_address(text: &str) -> Result<SocketAddr, NotAnAddress> {
    let bare =
        |text: &str| text.trim_matches(['[', ']']).parse().map(|ip: IpAddr| SocketAddr::new(ip, DNS_PORT));
    text.parse().or_else(|_| bare(text)).map_err(|_| NotAnAddress)
}

/// A text that names no address.
#[derive(Clone, Copy, Debug)]
struct NotAnAddress;

impl fmt::Display for NotAnAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "write an IP address, with a port where it is not 53: 192.0.2.1, 127.0.0.1:5300, [::1]:5300",
        )
    }
}

impl std::error::Error for NotAnAddress {}

/// `completions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ClapArgs)]
#[command(after_help = "Example:
  waypost completions bash > /usr/share/bash-completion/completions/waypost")]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}
