//! A server that is measured from outside: descriptors, memory, processor time, what it counts.

use std::fs;
use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

use crate::client::Client;
use crate::harness::{Process, Site, WAYPOST, wait_for, wait_until};

/// Most that a server may keep after a storm beyond what it had before it, in KiB: the allocator's and the kernel's
/// leftovers, which do not grow from storm to storm.
const LEFTOVER_KIB: u64 = 12 << 10;

/// Within which descriptors and memory are back, once the clients are gone.
const RECOVERY: Duration = Duration::from_secs(15);

/// Looks in a row, 20 ms apart, that find the same, before it counts as being so.
const LOOKS: u32 = 5;

/// Descriptors that this process and the server each ask for.
const WANTED_FILES: u64 = 24_000;

/// One test at a time.
static TURN: Mutex<()> = Mutex::new(());

/// A running server, and how it was before anybody abused it.
pub(crate) struct Server {
    pub(crate) site: Site,
    pid: Pid,
    base: Use,
    files: usize,
    _turn: MutexGuard<'static, ()>,
}

/// What a process has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) descriptors: usize,
    pub(crate) memory_kib: u64,
}

impl Server {
    /// A server with these settings of `dns.tcp`, and the texts at `big` in its zone.
    pub(crate) fn start(tcp: &str) -> Self {
        Self::build(tcp, None)
    }

    /// The same with so few descriptors.
    pub(crate) fn with_files(files: usize, tcp: &str) -> Self {
        Self::build(tcp, Some(files))
    }

    fn build(tcp: &str, files: Option<usize>) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let all_files = raise_files();
        let mut site = Site::new();
        let config = site.read("waypost.toml").replace("[admin]", &format!("tcp = {{ {tcp} }}\n[admin]"));
        site.write("waypost.toml", &config);
        let texts: String = (0..60).map(|number| format!("big TXT \"{number:0>200}\"\n")).collect();
        site.write("zones/gslb.example.com.zone", &(site.read("zones/gslb.example.com.zone") + &texts));
        match files {
            None => site.start(),
            Some(files) => {
                let limited = format!("ulimit -n {files} && exec \"$0\" serve");
                let mut command = Command::new("sh");
                command.current_dir(site.dir.path()).args(["-c", &limited, WAYPOST]);
                site.process = Some(Process::spawn(&mut command, &site.path("log.0")));
                site.wait_ready();
            }
        }
        let pid = site.process().pid();
        // Whatever is made with the first query is there.
        assert!(Client::number(0, site.ip).ask(1));
        wait_until("the end of the first connection", RECOVERY, || connections(&site) == 0);
        let base = Use::at_rest(pid);
        Self { site, pid, base, files: files.unwrap_or(all_files), _turn: turn }
    }

    pub(crate) fn ip(&self) -> Ipv4Addr {
        self.site.ip
    }

    pub(crate) fn base(&self) -> Use {
        self.base
    }

    pub(crate) fn uses(&self) -> Use {
        Use::of(self.pid)
    }

    /// Open connections, as the server counts them.
    pub(crate) fn connections(&self) -> usize {
        connections(&self.site)
    }

    /// Connections that the server has closed for this reason.
    pub(crate) fn closed_for(&self, reason: &str) -> usize {
        metric(&self.site, &format!("waypost_dns_tcp_closed_total{{reason=\"{reason}\"}}"))
    }

    pub(crate) fn accepted(&self) -> usize {
        metric(&self.site, "waypost_dns_tcp_accepted_total")
    }

    /// Processor time that it has used so far, of all its threads.
    pub(crate) fn processor_time(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid.as_raw_nonzero())).unwrap();
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        // Fields 14 and 15 of proc_pid_stat(5), in ticks, which are hundredths of a second for every program.
        let ticks: u64 = fields.split(' ').skip(11).take(2).map(|field| field.parse::<u64>().unwrap()).sum();
        Duration::from_millis(ticks * 10)
    }

    /// The limit of open files that the server began with.
    pub(crate) fn files(&self) -> usize {
        self.files
    }

    /// Sets the limit of open files of the running server, at most to what it began with.
    pub(crate) fn limit_files(&self, files: usize) {
        let limit = Rlimit { current: Some(files as u64), maximum: Some(self.files as u64) };
        prlimit(Some(self.pid), Resource::Nofile, limit).unwrap();
    }

    /// Waits until all connections are gone, and with them what they took.
    pub(crate) fn recovers(&self) {
        self.recovers_but_for(LEFTOVER_KIB);
    }

    /// The same, with so much more memory than before.
    pub(crate) fn recovers_but_for(&self, leftover_kib: u64) {
        wait_until("the end of all connections", RECOVERY, || self.connections() == 0);
        let base = self.base;
        wait_until("the base number of descriptors", RECOVERY, || {
            self.uses().descriptors <= base.descriptors
        });
        wait_until("memory near the base", RECOVERY, || {
            self.uses().memory_kib <= base.memory_kib + leftover_kib
        });
        let now = self.uses();
        eprintln!("before: {base:?}; after: {now:?}");
        assert!(Client::number(0, self.ip()).ask(1), "the listener lives");
    }
}

impl Use {
    /// When nothing goes on: the last connection to the API may just be about to end.
    fn at_rest(pid: Pid) -> Self {
        let mut last = Self::of(pid);
        let mut equal = 0;
        wait_for("a number of descriptors that stays", RECOVERY, || {
            let now = Self::of(pid);
            equal = if now.descriptors == last.descriptors { equal + 1 } else { 0 };
            last = now;
            (equal == LOOKS).then_some(now)
        })
    }

    fn of(pid: Pid) -> Self {
        let proc = format!("/proc/{}", pid.as_raw_nonzero());
        let status = fs::read_to_string(format!("{proc}/status")).unwrap();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        Self {
            descriptors: fs::read_dir(format!("{proc}/fd")).unwrap().count(),
            memory_kib: memory.trim().trim_end_matches(" kB").parse().unwrap(),
        }
    }
}

/// How many descriptors this process may have, raised as far as the machine allows; servers inherit it.
fn raise_files() -> usize {
    let hard = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let wanted = hard.max(WANTED_FILES);
    // Only root may raise the hard limit.
    for limit in [wanted, hard] {
        let both = Rlimit { current: Some(limit), maximum: Some(limit) };
        if setrlimit(Resource::Nofile, both).is_ok() {
            return limit as usize;
        }
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) as usize
}

fn connections(site: &Site) -> usize {
    metric(site, "waypost_dns_tcp_connections")
}

fn metric(site: &Site, name: &str) -> usize {
    site.metric(name).unwrap_or_else(|| panic!("no metric {name}")) as usize
}
