//! Asks everybody: this node, the parents, the name servers. What came is written down; nothing is judged.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle};

use domain::base::iana::Rtype;

use super::exchange::{Network, Proto, at_once};
use super::facts::{Asked, Facts, MAX_NAME_SERVERS, Parent, Server, Zone};
use super::machine;
use super::message::{Manner, Question, Reply, folded, is_in};
use super::parent::{Resolver, views};
use crate::cli::client::reachable;
use crate::cli::offline::Whole;
use crate::cli::{Context, args};
use crate::control::Now;
use crate::control::load::Loaded;
use crate::dns::{self, MAX_TCP_SIZE, Query, Transport, Worker};

/// Addresses of one zone's name servers that are asked: IPv4 and IPv6 of each.
const MAX_ADDRESSES: usize = 2 * MAX_NAME_SERVERS;

/// What this node's files answer, without a server.
#[derive(Debug)]
struct Home<'h> {
    view: Option<&'h dns::View>,
    now: Now,
}

impl Home<'_> {
    /// The answer over TCP, so that nothing is cut off.
    fn ask(&self, question: &Question) -> Reply {
        let (Some(view), Some(bytes)) = (self.view, question.bytes(0)) else { return Reply::default() };
        let peer = Ipv4Addr::LOCALHOST.into();
        let query = Query {
            bytes: &bytes,
            peer,
            transport: Transport::Tcp,
            now: self.now.mono,
            wall_s: self.now.wall_s(),
        };
        let mut out = vec![0; MAX_TCP_SIZE];
        let length = dns::respond(view, &mut Worker::uncounted(), query, &mut out);
        Reply::read(out.get(..length).unwrap_or_default(), &bytes).unwrap_or_default()
    }

    fn plain(&self, name: &str, rtype: Rtype) -> Reply {
        self.ask(&Question::new(name, rtype, Manner::Plain))
    }

    /// A name's addresses, when a zone of ours holds it.
    fn addresses(&self, name: &str) -> Option<Vec<IpAddr>> {
        let found = [Rtype::A, Rtype::AAAA].map(|rtype| self.plain(name, rtype));
        let holds = found.iter().all(|reply| reply.authoritative);
        holds.then(|| found.iter().flat_map(Reply::addresses).collect())
    }
}

/// Where to look, and for what.
#[derive(Debug)]
struct Search<'s> {
    args: &'s args::Doctor,
    loaded: &'s Loaded,
    home: Home<'s>,
    network: Network,
    resolver: Resolver,
}

/// Looks at the zones of that name, or at all.
pub(super) fn facts(
    context: &Context,
    args: &args::Doctor,
    whole: &Whole,
    zones: &[String],
    network: Network,
) -> Facts {
    let loaded = whole.desk.loaded();
    let mut reader = whole.desk.reader();
    let snapshot = reader.current();
    let home = Home { view: snapshot.view.as_ref(), now: whole.now };
    let search = Search { args, loaded, home, network, resolver: Resolver::new(args.resolver) };
    let dns = loaded.config.dns.as_ref();
    let listen = dns.map(|dns| dns.listen.clone()).unwrap_or_default();
    let all: Vec<&str> = zones.iter().map(String::as_str).collect();

    progress("asking this node");
    let (machine, mut node, zones) = thread::scope(|scope| {
        let machine = scope.spawn(|| machine::look(context, loaded));
        let node = scope
            .spawn(|| at_once(&listen, |&addr| search.server(reachable(addr), true, BTreeSet::new(), &all)));
        if !args.node_only {
            progress("asking the parent for the delegation");
        }
        let zones = at_once(zones, |name| search.zone(name));
        (joined(machine), joined(node), zones)
    });
    let servers = if args.node_only { Vec::new() } else { search.name_servers(&zones, &listen, &mut node) };
    let subnets_decide = dns.is_some_and(|dns| dns.ecs);
    Facts { listen, node, zones, servers, port: args.port, subnets_decide, machine }
}

impl Search<'_> {
    /// A zone here and at its parent.
    fn zone(&self, name: &str) -> Zone {
        let reply = self.home.plain(name, Rtype::NS);
        let apex: BTreeSet<String> =
            reply.answers.iter().filter_map(|record| record.name_server().map(str::to_owned)).collect();
        let mut zone = Zone { name: name.to_owned(), apex, ..Zone::default() };
        if !self.args.node_only && name != "." {
            zone.parent = match views(&self.network, &self.resolver, (self.args.parent, self.args.port), name)
            {
                Ok(views) => Parent::Asked(views),
                Err(why) => Parent::NotFound(why.0),
            };
        }
        let names: Vec<String> = zone.name_servers().into_keys().take(MAX_NAME_SERVERS).collect();
        for name in &names {
            if let Some(addresses) = self.home.addresses(name) {
                zone.own.insert(name.clone(), addresses);
            }
        }
        if !self.args.node_only {
            // What lies below the zone only we could answer: the resolver would ask us.
            let foreign = |found: &&String| !zone.own.contains_key(*found) && !is_in(found, name);
            let foreign: Vec<&String> = names.iter().filter(foreign).collect();
            let found = at_once(&foreign, |name| self.resolver.addresses(&self.network, name));
            zone.elsewhere = foreign.into_iter().cloned().zip(found).collect();
        }
        zone
    }

    /// Every address of every zone's name servers, asked. Where this node has been asked already, it gets their names.
    fn name_servers(&self, zones: &[Zone], listen: &[SocketAddr], node: &mut [Server]) -> Vec<Server> {
        let mut jobs: BTreeMap<IpAddr, (BTreeSet<String>, Vec<&str>)> = BTreeMap::new();
        for zone in zones {
            let name_servers = zone.name_servers().into_iter().take(MAX_NAME_SERVERS);
            let of_names = name_servers.flat_map(|(name, addresses)| {
                addresses.into_iter().map(move |address| (name.clone(), address))
            });
            for (name, address) in of_names.take(MAX_ADDRESSES) {
                let (names, of) = jobs.entry(address).or_default();
                names.insert(name);
                if !of.contains(&&*zone.name) {
                    of.push(&zone.name);
                }
            }
        }
        let port = self.args.port;
        for server in node.iter_mut().filter(|server| server.addr.port() == port) {
            if let Some((names, _)) = jobs.remove(&server.addr.ip()) {
                server.names.extend(names);
            }
        }
        progress(&format!("asking {} addresses of name servers", jobs.len()));
        let jobs: Vec<_> = jobs.into_iter().collect();
        at_once(&jobs, |(address, (names, zones))| {
            let addr = SocketAddr::new(*address, port);
            self.server(addr, is_here(addr, listen), names.clone(), zones)
        })
    }

    /// One server: first whether it answers at all, then everything else.
    fn server(&self, addr: SocketAddr, is_node: bool, names: BTreeSet<String>, zones: &[&str]) -> Server {
        let mut server = Server { addr, is_node, names: names.into_iter().collect(), asked: Vec::new() };
        let Some((&first, others)) = zones.split_first() else { return server };
        let soa = |zone: &str| Question::new(zone, Rtype::SOA, Manner::Plain);
        server.asked = self.ask_all(addr, vec![(Proto::Udp, soa(first)), (Proto::Tcp, soa(first))]);
        // Of one that does not serve the zone there is nothing more to learn.
        let serves = |asked: &Asked| asked.got.as_ref().is_ok_and(|reply| reply.authoritative);
        if !server.asked.iter().any(|asked| asked.proto == Proto::Udp && serves(asked)) {
            return server;
        }
        let service = self.service_in(zones);
        let (name, rtype) = service.as_deref().map_or((first, Rtype::SOA), |name| (name, Rtype::A));
        let mut questions = vec![
            Question::new(".", Rtype::SOA, Manner::Recursive),
            Question::new(name, rtype, Manner::Subnet),
            Question::new(first, Rtype::SOA, Manner::Version1),
        ];
        if let Some(name) = &service {
            questions.push(Question::new(name, Rtype::A, Manner::Plain));
            questions.push(Question::new(name, Rtype::AAAA, Manner::Plain));
        }
        questions.extend(others.iter().map(|zone| soa(zone)));
        server.asked.extend(
            self.ask_all(addr, questions.into_iter().map(|question| (Proto::Udp, question)).collect()),
        );
        server
    }

    fn ask_all(&self, addr: SocketAddr, questions: Vec<(Proto, Question)>) -> Vec<Asked> {
        let got = at_once(&questions, |(proto, question)| self.network.ask(addr, *proto, question));
        let asked = questions.into_iter().zip(got).map(|((proto, question), got)| {
            let expected = self.home.ask(&question);
            Asked { proto, question, expected, got }
        });
        asked.collect()
    }

    /// A service of one of these zones; below a wildcard, some name.
    fn service_in(&self, zones: &[&str]) -> Option<String> {
        let names = self.loaded.config.services.iter().map(|service| folded(&service.name));
        let mut inside = names.filter(|name| zones.iter().any(|zone| is_in(name, zone)));
        let name = inside.next()?;
        Some(name.strip_prefix("*.").map_or_else(|| name.clone(), |rest| format!("doctor.{rest}")))
    }
}

/// Whether this node listens there through a wildcard: one that listens everywhere has every address of the machine.
fn is_here(addr: SocketAddr, listen: &[SocketAddr]) -> bool {
    let covers = |own: &SocketAddr| {
        own.ip().is_unspecified() && own.port() == addr.port() && own.is_ipv4() == addr.is_ipv4()
    };
    listen.iter().any(covers) && UdpSocket::bind((addr.ip(), 0)).is_ok()
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// Says on a terminal what is being waited for.
fn progress(what: &str) {
    let mut stderr = io::stderr();
    if stderr.is_terminal() {
        let _ = writeln!(stderr, "waypost: {what} …");
    }
}
