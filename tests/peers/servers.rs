//! Other servers, each with a folder and a loopback address of its own, at the port of all servers here.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::harness::{DNS_PORT, Process, SOON, exchange, own_address, query_bytes, wait_for, wait_until};

const TYPE_SOA: u16 = 6;

/// Where Debian keeps servers; not every user's `PATH` has it.
const SERVER_FOLDERS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// Largest answer over UDP, in bytes: Waypost's default.
pub(crate) const MAX_UDP_SIZE: u16 = 1232;

/// A zone to be served.
#[derive(Clone, Debug)]
pub(crate) struct ZoneText {
    /// The apex as it is written, without the final dot; nothing for the root.
    pub(crate) apex: String,
    /// The master file.
    pub(crate) text: String,
}

/// Where a server listens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) ip: Ipv4Addr,
    /// Besides [`DNS_PORT`] also on the port that delegations lead to, which not everybody may use.
    pub(crate) port_53: bool,
}

impl Place {
    /// An address that nobody else uses.
    pub(crate) fn own() -> Self {
        Self { ip: own_address(), port_53: false }
    }

    /// The same, where delegations can lead to.
    pub(crate) fn delegable() -> Self {
        Self { port_53: true, ..Self::own() }
    }

    fn ports(self) -> impl Iterator<Item = u16> {
        [DNS_PORT].into_iter().chain(self.port_53.then_some(53))
    }
}

/// A server that runs; ended when dropped.
pub(crate) struct Server {
    pub(crate) ip: Ipv4Addr,
    process: Process,
    /// Removed after the process has ended.
    _dir: TempDir,
}

impl Server {
    /// NSD with these zones, answering when this returns.
    pub(crate) fn nsd(zones: &[ZoneText]) -> Self {
        Self::nsd_at(Place::own(), zones)
    }

    /// The same in a place of the caller's choice.
    pub(crate) fn nsd_at(place: Place, zones: &[ZoneText]) -> Self {
        Self::serve("nsd", "nsd", place, zones, nsd_config, |command, config| {
            command.arg("-d").arg("-c").arg(config);
        })
    }

    /// Knot DNS with these zones, answering when this returns.
    pub(crate) fn knot(zones: &[ZoneText]) -> Self {
        Self::knot_at(Place::own(), zones)
    }

    /// The same in a place of the caller's choice.
    pub(crate) fn knot_at(place: Place, zones: &[ZoneText]) -> Self {
        Self::serve("knotd", "knot", place, zones, knot_config, |command, config| {
            command.arg("-c").arg(config);
        })
    }

    fn serve(
        program: &str,
        package: &str,
        place: Place,
        zones: &[ZoneText],
        config: fn(&Path, Place, &[ZoneText]) -> String,
        arguments: fn(&mut Command, &Path),
    ) -> Self {
        let mut command = Command::new(find_program(program, package));
        let dir = TempDir::new().unwrap();
        for (number, zone) in zones.iter().enumerate() {
            fs::write(dir.path().join(zone_file(number)), &zone.text).unwrap();
        }
        let config_file = dir.path().join("server.conf");
        fs::write(&config_file, config(dir.path(), place, zones)).unwrap();
        arguments(&mut command, &config_file);
        let mut server = Self::spawn(place.ip, &mut command, dir);
        for zone in zones {
            server.wait_zone(program, zone);
        }
        server
    }

    /// A program of any kind, in its folder. Does not wait for it.
    pub(crate) fn spawn(ip: Ipv4Addr, command: &mut Command, dir: TempDir) -> Self {
        let process = Process::spawn(command.current_dir(dir.path()), &dir.path().join("log"));
        Self { ip, process, _dir: dir }
    }

    /// What it has logged. Fails when it has ended.
    pub(crate) fn log(&mut self) -> String {
        assert_eq!(self.process.exited(), None, "it ended: {}", self.process.log());
        self.process.log()
    }

    /// Waits until the zone's SOA is answered.
    fn wait_zone(&mut self, program: &str, zone: &ZoneText) {
        let query = query_bytes(&zone.apex, TYPE_SOA, None);
        wait_until(&format!("{program} answers for {}", zone.apex), SOON, || {
            let log = self.log();
            let Some(answer) = exchange(self.ip, &query) else { return false };
            let loaded = answer.0.authoritative && !answer.0.answers.is_empty();
            assert!(loaded || !log.contains("error"), "{program}: {log}");
            loaded
        });
    }
}

impl Drop for Server {
    /// A server that is asked to end takes its helper processes with it.
    fn drop(&mut self) {
        if self.process.exited().is_none() {
            self.process.signal(Signal::TERM);
            wait_for("the end of a name server", SOON, || self.process.exited());
        }
    }
}

/// The program's path. A missing program fails the test: it would prove nothing without.
pub(crate) fn find_program(program: &str, package: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(SERVER_FOLDERS.iter().map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|file| file.is_file()).unwrap_or_else(|| {
        panic!("{program} is not installed: run tests/run.sh, or `apt-get install --no-install-recommends {package}`")
    })
}

fn zone_file(number: usize) -> String {
    format!("{number}.zone")
}

fn nsd_config(dir: &Path, place: Place, zones: &[ZoneText]) -> String {
    let dir = dir.display();
    let ip = place.ip;
    let listen: String = place.ports().map(|port| format!(" ip-address: {ip}@{port}\n")).collect();
    let mut config = format!(
        "server:\n{listen} server-count: 1\n username: \"\"\n zonesdir: \"{dir}\"\n \
         database: \"\"\n pidfile: \"{dir}/nsd.pid\"\n xfrdfile: \"{dir}/xfrd.state\"\n \
         zonelistfile: \"{dir}/zone.list\"\n xfrdir: \"{dir}\"\n ipv4-edns-size: {MAX_UDP_SIZE}\n \
         minimal-responses: yes\n tcp-timeout: 120\n rrl-ratelimit: 0\n \
         rrl-whitelist-ratelimit: 0\nremote-control:\n control-enable: no\n"
    );
    for (number, zone) in zones.iter().enumerate() {
        config += &format!("zone:\n name: \"{}.\"\n zonefile: \"{}\"\n", zone.apex, zone_file(number));
    }
    config
}

fn knot_config(dir: &Path, place: Place, zones: &[ZoneText]) -> String {
    let dir = dir.display();
    let ip = place.ip;
    let listen: String = place.ports().map(|port| format!("    listen: {ip}@{port}\n")).collect();
    let mut config = format!(
        "server:\n    rundir: \"{dir}\"\n    pidfile: \"{dir}/knot.pid\"\n{listen}    \
         udp-workers: 1\n    tcp-workers: 1\n    background-workers: 1\n    \
         udp-max-payload: {MAX_UDP_SIZE}\n    tcp-idle-timeout: 120\ndatabase:\n    storage: \"{dir}\"\n\
         log:\n  - target: stderr\n    any: warning\ntemplate:\n  - id: default\n    storage: \"{dir}\"\n    \
         journal-content: none\n    zonefile-sync: -1\nzone:\n"
    );
    for (number, zone) in zones.iter().enumerate() {
        config += &format!("  - domain: \"{}.\"\n    file: \"{}\"\n", zone.apex, zone_file(number));
    }
    config
}

#[test]
fn nsd_and_knot_answer_for_a_zone_that_is_given_to_them() {
    let text = "$TTL 60\n@ SOA ns1 hostmaster 1 3600 900 604800 30\n@ NS ns1\nns1 A 192.0.2.53\n";
    let zones = [ZoneText { apex: "peer.test".to_owned(), text: format!("$ORIGIN peer.test.\n{text}") }];
    for server in [Server::nsd(&zones), Server::knot(&zones)] {
        let answer = exchange(server.ip, &query_bytes("ns1.peer.test", 1, None)).unwrap();
        assert_eq!(answer.addresses(), ["192.0.2.53"]);
    }
}
