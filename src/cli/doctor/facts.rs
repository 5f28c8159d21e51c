//! What was seen: values without judgement. `gather` fills them from the network and the machine, `judge` reads them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use super::exchange::{Answer, Proto, Trouble};
use super::message::{Question, Reply, is_in};

/// Response codes (RFC 1035 4.1.1, RFC 6891 9).
pub(super) const NOERROR: u16 = 0;
pub(super) const SERVFAIL: u16 = 2;
pub(super) const NXDOMAIN: u16 = 3;
pub(super) const BADVERS: u16 = 16;

/// Name servers of one zone that are looked at: as many as the root has.
pub(super) const MAX_NAME_SERVERS: usize = 13;

/// Everything that was seen.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// This node's own addresses, as the configuration has them.
    pub(super) listen: Vec<SocketAddr>,
    /// This node, asked at each of them.
    pub(super) node: Vec<Server>,
    pub(super) zones: Vec<Zone>,
    /// The zones' name servers, by address.
    pub(super) servers: Vec<Server>,
    /// The port that resolvers are taken to ask.
    pub(super) port: u16,
    /// Whether the files say that client subnets decide.
    pub(super) subnets_decide: bool,
    pub(super) machine: Machine,
}

/// A server that was asked.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) addr: SocketAddr,
    /// Whether it is this node, at one of the addresses that it listens on.
    pub(super) is_node: bool,
    /// The name servers that have this address.
    pub(super) names: Vec<String>,
    pub(super) asked: Vec<Asked>,
}

/// A question with the answer that this node's files give, and the one that came.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) proto: Proto,
    pub(super) question: Question,
    pub(super) expected: Reply,
    pub(super) got: Answer,
}

/// A zone, here and at its parent.
#[derive(Debug, Default)]
pub(super) struct Zone {
    /// In lower case, without the final dot.
    pub(super) name: String,
    /// The name servers at the apex, from the zone file.
    pub(super) apex: BTreeSet<String>,
    /// What this node's files say of name servers' addresses, for those names that they hold.
    pub(super) own: BTreeMap<String, Vec<IpAddr>>,
    /// The addresses of name servers elsewhere, from the resolver.
    pub(super) elsewhere: BTreeMap<String, Vec<IpAddr>>,
    pub(super) parent: Parent,
}

/// The parent of a zone.
#[derive(Debug, Default)]
pub(super) enum Parent {
    /// It was not to be asked.
    #[default]
    Skipped,
    /// Nobody could say who it is; why.
    NotFound(String),
    /// Its servers and what they said.
    Asked(Vec<View>),
}

/// The zone as one of the parent's servers sees it.
#[derive(Debug)]
pub(super) struct View {
    pub(super) server: SocketAddr,
    /// The parent's name; empty when the command line named its server.
    pub(super) parent: String,
    pub(super) ns: Answer,
    pub(super) ds: Answer,
}

/// What an answer to an NS query at the parent amounts to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Delegation<'v> {
    /// The names, and the addresses that came with them, by name.
    Referral { names: BTreeSet<String>, glue: BTreeMap<String, Vec<IpAddr>>, ttl_s: u32 },
    /// A referral to a zone above this one.
    Above(&'v str),
    /// The server answers for the zone itself, with these names.
    Itself(BTreeSet<String>),
    /// The name does not exist.
    NoName,
    /// The name exists, but nobody is delegated to.
    Nothing,
    /// It is not the parent's server: it answers neither for the parent nor with a referral.
    Refused(String),
    /// There is no answer.
    Unanswered(&'v Trouble),
}

impl View {
    /// How the parent is called in messages.
    pub(super) fn label(&self) -> String {
        if self.parent.is_empty() {
            format!("the parent's server {}", self.server)
        } else {
            format!("the parent {} ({})", self.parent, self.server)
        }
    }

    /// Reads the answer (RFC 1034 4.3.2: a referral is in the authority section, without AA).
    pub(super) fn delegation(&self, zone: &str) -> Delegation<'_> {
        let reply = match &self.ns {
            Ok(reply) => reply,
            Err(trouble) => return Delegation::Unanswered(trouble),
        };
        let names = |records: &[super::message::Record]| -> BTreeSet<String> {
            let own = records.iter().filter(|record| record.owner == zone);
            own.filter_map(|record| record.name_server().map(str::to_owned)).collect()
        };
        let answered = names(&reply.answers);
        if !answered.is_empty() {
            return Delegation::Itself(answered);
        }
        let referred = names(&reply.authority);
        if !referred.is_empty() {
            let mut glue: BTreeMap<String, Vec<IpAddr>> = BTreeMap::new();
            for record in &reply.additional {
                if let Some(address) = record.address().filter(|_| referred.contains(&record.owner)) {
                    glue.entry(record.owner.clone()).or_default().push(address);
                }
            }
            let ttl_s = reply.authority.iter().map(|record| record.ttl_s).min().unwrap_or(0);
            return Delegation::Referral { names: referred, glue, ttl_s };
        }
        let above = (reply.authority.iter())
            .find(|record| record.name_server().is_some() && is_in(zone, &record.owner));
        match (reply.rcode, above) {
            (NOERROR, Some(record)) if !reply.authoritative => Delegation::Above(&record.owner),
            (NOERROR, _) if reply.authoritative => Delegation::Nothing,
            (NXDOMAIN, _) => Delegation::NoName,
            _ => Delegation::Refused(reply.rcode_name()),
        }
    }
}

impl Zone {
    /// Every name server, at the parent or at the apex, with every address that anybody knows for it.
    pub(super) fn name_servers(&self) -> BTreeMap<String, BTreeSet<IpAddr>> {
        let mut servers: BTreeMap<String, BTreeSet<IpAddr>> = BTreeMap::new();
        for name in &self.apex {
            servers.entry(name.clone()).or_default();
        }
        for view in self.views() {
            if let Delegation::Referral { names, glue, .. } = view.delegation(&self.name) {
                for name in names {
                    let known = glue.get(&name).into_iter().flatten().copied();
                    servers.entry(name.clone()).or_default().extend(known);
                }
            }
        }
        for (name, addresses) in &mut servers {
            let known = [self.own.get(name), self.elsewhere.get(name)];
            addresses.extend(known.into_iter().flatten().flatten().copied());
        }
        servers
    }

    /// What the parent's servers said.
    pub(super) fn views(&self) -> &[View] {
        match &self.parent {
            Parent::Asked(views) => views,
            Parent::Skipped | Parent::NotFound(_) => &[],
        }
    }
}

/// The machine, and the server that runs on it.
#[derive(Clone, Debug, Default)]
pub(super) struct Machine {
    /// Milliseconds since 1970.
    pub(super) wall_ms: i64,
    /// When this program's file was written, in seconds since 1970.
    pub(super) program_s: Option<i64>,
    /// Whether the system says that its clock is synchronised; absent when it does not say.
    pub(super) synchronised: Option<bool>,
    /// The running server; absent when its API does not answer.
    pub(super) running: Option<Running>,
    /// This node's name, as the configuration has it.
    pub(super) node: String,
    /// The dnstap collector's socket, when the configuration names one.
    pub(super) dnstap: Option<String>,
    /// Where the API was asked.
    pub(super) api: String,
    pub(super) geo: Option<GeoFile>,
    pub(super) files: Option<OpenFiles>,
    /// Descriptors that the configuration may need.
    pub(super) files_needed: u64,
    /// `net.core.rmem_max`, in bytes.
    pub(super) receive_max: Option<u64>,
    /// `net.core.somaxconn`.
    pub(super) backlog_max: Option<u64>,
    /// Whether this user may bind the ports of `dns.listen`; absent when it can't be told.
    pub(super) may_bind: Option<bool>,
    pub(super) state_dir: StateDir,
}

/// What the running server says of itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Running {
    /// Its clock minus ours, in milliseconds.
    pub(super) ahead_ms: i64,
    /// Its name.
    pub(super) node: String,
    /// What it finds odd: code and text.
    pub(super) warnings: Vec<(String, String)>,
    /// Whether a dnstap collector is connected; absent when it does not say.
    pub(super) collector: Option<bool>,
}

/// The geo database.
#[derive(Clone, Debug, Default)]
pub(super) struct GeoFile {
    pub(super) path: String,
    /// In seconds since 1970; absent when it does not say, or says the future.
    pub(super) build_s: Option<i64>,
}

/// A process's limit of open files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenFiles {
    pub(super) soft: u64,
    pub(super) hard: u64,
    /// The server that runs; absent: this command's own limit, for want of another.
    pub(super) pid: Option<u32>,
}

/// The folder of what must survive a restart.
#[derive(Clone, Debug, Default)]
pub(super) struct StateDir {
    pub(super) path: String,
    /// Permission bits; absent when it is not there.
    pub(super) mode: Option<u32>,
    /// Free space for its owner, in bytes.
    pub(super) free: Option<u64>,
    /// Permission bits of `cookie.key`, when there is one.
    pub(super) cookie_key_mode: Option<u32>,
    /// What makes `cookie.key` unusable, with what to do about it.
    pub(super) cookie_key_fault: Option<(String, String)>,
}
