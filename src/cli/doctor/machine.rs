//! What the machine says of itself: clock, limits, files.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use super::facts::{GeoFile, Machine, OpenFiles, StateDir};
use super::running;
use crate::cli::Context;
use crate::config::Config;
use crate::control::Clock;
use crate::control::cookie_key::{self, Access};
use crate::control::load::Loaded;

/// How long `timedatectl` may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Descriptors beside connections and probes: sockets, files, the API.
const SPARE_FILES: u64 = 64;

/// A right's bit in the sets of `/proc/self/status` (capabilities(7)).
const CAP_NET_BIND_SERVICE: u64 = 1 << 10;

/// Looks at the machine.
pub(super) fn look(context: &Context, loaded: &Loaded) -> Machine {
    let config = &loaded.config;
    let clock = Clock::start();
    let connections = config.dns.as_ref().map_or(0, |dns| dns.tcp.max_connections as u64);
    let collector = config.dns.as_ref().and_then(|dns| dns.dnstap.as_ref());
    let wall_ms = clock.now().wall_ms;
    Machine {
        wall_ms,
        program_s: std::env::current_exe().ok().and_then(|path| written_s(&path)),
        synchronised: synchronised(&clock),
        running: running::ask(context, &clock),
        node: config.node.clone(),
        dnstap: collector.map(|dnstap| dnstap.socket.display().to_string()),
        api: context.server.clone().unwrap_or_else(|| config.admin.listen.to_string()),
        geo: geo_file(loaded),
        files: open_files(config.admin.listen),
        files_needed: connections + loaded.plan.checks.len() as u64 + SPARE_FILES,
        receive_max: number_in("/proc/sys/net/core/rmem_max"),
        backlog_max: number_in("/proc/sys/net/core/somaxconn"),
        may_bind: may_bind(config),
        state_dir: state_dir(&config.state_dir),
    }
}

fn written_s(path: &Path) -> Option<i64> {
    let since = fs::metadata(path).ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}

/// What systemd says of the clock; absent where there is no systemd, or no answer.
fn synchronised(clock: &Clock) -> Option<bool> {
    let mut child = Command::new("timedatectl")
        .args(["show", "--property=NTPSynchronized", "--value"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let deadline = clock.elapsed() + PATIENCE;
    while child.try_wait().ok()?.is_none() {
        if clock.elapsed() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::park_timeout(Duration::from_millis(20));
    }
    let output = child.wait_with_output().ok()?;
    match output.stdout.trim_ascii() {
        b"yes" => Some(true),
        b"no" => Some(false),
        _ => None,
    }
}

fn geo_file(loaded: &Loaded) -> Option<GeoFile> {
    let path = loaded.config.geo.as_ref()?.database.display().to_string();
    let build_s = loaded.geo.as_ref().map(|geo| geo.build_s).filter(|&build_s| build_s > 0);
    Some(GeoFile { path, build_s })
}

/// The limit of the server that runs, or else our own.
fn open_files(admin: SocketAddr) -> Option<OpenFiles> {
    let pid = listening_pid(admin);
    let of = |who: &str| limits(&fs::read_to_string(format!("/proc/{who}/limits")).ok()?);
    let running = pid.and_then(|pid| of(&pid.to_string()));
    let (soft, hard) = running.or_else(|| of("self"))?;
    Some(OpenFiles { soft, hard, pid: pid.filter(|_| running.is_some()) })
}

/// Soft and hard limit of open files, from the text of a `/proc/PID/limits`.
fn limits(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let mut words = line.split_ascii_whitespace();
    let mut limit = || match words.next()? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    };
    Some((limit()?, limit()?))
}

/// The process that listens on this TCP address, where this user may see that.
fn listening_pid(addr: SocketAddr) -> Option<u32> {
    let table = if addr.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
    let inode = listening_inode(&fs::read_to_string(table).ok()?, addr)?;
    let socket = format!("socket:[{inode}]");
    let holds = |fds: fs::ReadDir| {
        fds.flatten().any(|fd| fs::read_link(fd.path()).is_ok_and(|link| link.as_os_str() == socket.as_str()))
    };
    fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        fs::read_dir(entry.path().join("fd")).is_ok_and(holds).then_some(pid)
    })
}

/// The inode of the socket that listens there, from the text of a `/proc/net/tcp` (proc(5)).
fn listening_inode(text: &str, addr: SocketAddr) -> Option<u64> {
    const LISTENS: &str = "0A";
    let local = match addr.ip() {
        IpAddr::V4(ip) => format!("{:08X}", u32::from_ne_bytes(ip.octets())),
        IpAddr::V6(ip) => {
            let octets = ip.octets();
            let (words, _) = octets.as_chunks::<4>();
            words.iter().map(|word| format!("{:08X}", u32::from_ne_bytes(*word))).collect()
        }
    };
    let local = format!("{local}:{:04X}", addr.port());
    text.lines().find_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_it = words.get(1) == Some(&local.as_str()) && words.get(3) == Some(&LISTENS);
        words.get(9).filter(|_| is_it)?.parse().ok()
    })
}

fn number_in(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Whether this user may bind every port of `dns.listen`.
fn may_bind(config: &Config) -> Option<bool> {
    let first_free = number_in("/proc/sys/net/ipv4/ip_unprivileged_port_start").unwrap_or(1024);
    let ports = config.dns.iter().flat_map(|dns| &dns.listen).map(|addr| u64::from(addr.port()));
    if ports.into_iter().all(|port| port == 0 || port >= first_free) {
        return Some(true);
    }
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let rights = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    Some(u64::from_str_radix(rights.trim(), 16).ok()? & CAP_NET_BIND_SERVICE != 0)
}

fn state_dir(path: &Path) -> StateDir {
    let mode = |path: &Path| fs::metadata(path).ok().map(|there| there.permissions().mode() & 0o7777);
    StateDir {
        path: path.display().to_string(),
        mode: mode(path),
        free: rustix::fs::statvfs(path).ok().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize)),
        cookie_key_mode: mode(&path.join(cookie_key::FILE)),
        cookie_key_fault: cookie_key_fault(path),
    }
}

/// What keeps the server from using the file, in two parts: the message and its hint.
fn cookie_key_fault(state_dir: &Path) -> Option<(String, String)> {
    let message = cookie_key::open(state_dir, Access::Checked).err()?.to_string();
    let (text, hint) = message.split_once("\n  hint: ").unwrap_or((&message, ""));
    Some((text.replacen("error: ", "", 1), hint.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_of_open_files_are_read() {
        let text = "Limit                     Soft Limit           Hard Limit           Units\n\
                    Max open files            1024                 unlimited            files\n";
        assert_eq!(limits(text), Some((1024, u64::MAX)));
        assert_eq!(limits("Max cpu time unlimited unlimited seconds\n"), None);
    }

    #[test]
    fn the_process_behind_a_listener_is_found() {
        for addr in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = std::net::TcpListener::bind(addr) else { continue };
            assert_eq!(listening_pid(listener.local_addr().unwrap()), Some(std::process::id()), "{addr}");
        }
    }
}
