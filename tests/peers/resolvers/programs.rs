//! Unbound and Knot Resolver, strict where they can be: as little of the name as possible to each server, letters of
//! random case that must come back as they were, and no fallback that would hide a server's fault.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::harness::{Answer, DNS_PORT, SOON, exchange_from, query_bytes, wait_until};
use crate::servers::{Server, find_program};

/// How a resolver gets to Waypost.
#[derive(Clone, Debug)]
pub(super) enum Way {
    /// From a root server down, as everybody.
    Root(Ipv4Addr),
    /// Told where the zone is; the client's subnet goes along.
    Subnets { zone: &'static str, server: Ipv4Addr },
}

/// A resolver that runs and has found its way.
pub(super) struct Resolver {
    pub(super) name: &'static str,
    pub(super) ip: Ipv4Addr,
    server: Server,
}

impl Resolver {
    /// Unbound, asking from its own address.
    pub(super) fn unbound(ip: Ipv4Addr, way: &Way) -> Self {
        let mut command = Command::new(find_program("unbound", "unbound"));
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("unbound.conf"), unbound_config(dir.path(), ip, way)).unwrap();
        command.args(["-d", "-c", "unbound.conf"]);
        Self::spawn("unbound", ip, &mut command, dir, way)
    }

    /// Knot Resolver, asking from its own address. It never sends a client's subnet.
    pub(super) fn kresd(ip: Ipv4Addr, root: Ipv4Addr) -> Self {
        let mut command = Command::new(find_program("kresd", "knot-resolver"));
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("kresd.conf"), kresd_config(dir.path(), ip)).unwrap();
        command.args(["-n", "-c", "kresd.conf"]).arg(dir.path());
        Self::spawn("kresd", ip, &mut command, dir, &Way::Root(root))
    }

    fn spawn(name: &'static str, ip: Ipv4Addr, command: &mut Command, dir: TempDir, way: &Way) -> Self {
        let first = match *way {
            Way::Root(root) => {
                fs::write(dir.path().join("root.hints"), root_hints(root)).unwrap();
                "."
            }
            Way::Subnets { zone, .. } => zone,
        };
        let mut resolver = Self { name, ip, server: Server::spawn(ip, command, dir) };
        wait_until(&format!("{name} resolves"), SOON, || {
            resolver.log();
            resolver.ask(first, 6).is_some_and(|answer| !answer.0.answers.is_empty())
        });
        resolver
    }

    /// Asks it as a stub resolver does.
    pub(super) fn ask(&self, name: &str, qtype: u16) -> Option<Answer> {
        exchange_from(Ipv4Addr::LOCALHOST, self.ip, &query_bytes(name, qtype, None))
    }

    /// What it has logged, in detail. Fails when it has ended.
    pub(super) fn log(&mut self) -> String {
        self.server.log()
    }
}

/// Name and address of the one root server.
fn root_hints(root: Ipv4Addr) -> String {
    format!(". 3600000 NS ns.root-server.\nns.root-server. 3600000 A {root}\n")
}

fn unbound_config(dir: &Path, ip: Ipv4Addr, way: &Way) -> String {
    let dir = dir.display();
    let (modules, server, zones) = match way {
        Way::Root(_) => ("iterator", format!(" root-hints: \"{dir}/root.hints\"\n"), String::new()),
        Way::Subnets { zone, server } => (
            "subnetcache iterator",
            // Trees that hold every subnet of a test; the default forgets the oldest of a hundred.
            format!(" send-client-subnet: {server}\n max-ecs-tree-size-ipv4: 10000\n"),
            format!("stub-zone:\n name: \"{zone}\"\n stub-addr: {server}@{DNS_PORT}\n"),
        ),
    };
    format!(
        "server:\n interface: {ip}@{DNS_PORT}\n outgoing-interface: {ip}\n do-ip6: no\n do-daemonize: no\n \
         num-threads: 1\n chroot: \"\"\n username: \"\"\n directory: \"{dir}\"\n pidfile: \"{dir}/unbound.pid\"\n \
         use-syslog: no\n verbosity: 4\n do-not-query-localhost: no\n module-config: \"{modules}\"\n \
         qname-minimisation: yes\n qname-minimisation-strict: yes\n use-caps-for-id: yes\n{server}\
         remote-control:\n control-enable: no\n{zones}"
    )
}

fn kresd_config(dir: &Path, ip: Ipv4Addr) -> String {
    let dir = dir.display();
    format!(
        "log_target('stderr')\nlog_level('debug')\nnet.ipv6 = false\nnet.outgoing_v4('{ip}')\n\
         net.listen('{ip}', {DNS_PORT})\ncache.open(10 * MB, 'lmdb://{dir}/cache')\n\
         modules.load('hints > iterate')\nhints.root_file('{dir}/root.hints')\n\
         trust_anchors.remove('.')\nmodules.unload('priming')\nmode('strict')\noption('ALLOW_LOCAL', true)\n"
    )
}
