//! The machine: clock, limits, files.

use crate::cli::doctor::facts::{Facts, Machine};
use crate::cli::doctor::finding::Findings;
use crate::control::journal::rfc3339;
use crate::serve::{BACKLOG, RECEIVE_BUFFER_BYTES};

const DAY_S: i64 = 86_400;

/// Difference between two readings of one clock that is worth a word, in milliseconds.
const CLOCK_APART_MS: i64 = 2_000;

/// Age of a geo database from which networks have moved noticeably: the free ones appear monthly.
const GEO_OLD_DAYS: i64 = 90;

/// Free space below which the journal's files may not find room, in bytes: four of 64 MiB set aside, one in use.
const FREE_ENOUGH: u64 = 512 << 20;

/// Free space below which hardly anything can be written, in bytes.
const FREE_LEAST: u64 = 16 << 20;

pub(super) fn judge(facts: &Facts, findings: &mut Findings) {
    let machine = &facts.machine;
    clock(machine, findings);
    open_files(machine, findings);
    kernel(facts, findings);
    state_dir(machine, findings);
    geo(machine, findings);
}

fn clock(machine: &Machine, findings: &mut Findings) {
    const FIX: &str = "set it and keep it set: `timedatectl set-ntp true`, or chrony";
    let target = rfc3339(machine.wall_ms);
    let now_s = machine.wall_ms / 1000;
    let ahead_ms = machine.running.as_ref().map(|running| running.ahead_ms);
    if machine.program_s.is_some_and(|program_s| program_s > now_s + DAY_S) {
        let text =
            "the clock is behind the date of this program's own file: scheduled drains come at wrong times";
        findings.error("clock", target, text, FIX);
    } else if let Some(ahead_ms) = ahead_ms.filter(|ahead| ahead.abs() > CLOCK_APART_MS) {
        let text = format!("the server at {} has a clock {} s from this one", machine.api, ahead_ms / 1000);
        findings.warning("clock", target, text, FIX);
    } else {
        match machine.synchronised {
            Some(true) => findings.ok("clock", target, "synchronised"),
            Some(false) => {
                findings.warning("clock", target, "the system says that it is not synchronised", FIX);
            }
            None => findings.ok("clock", target, "plausible; whether it is synchronised is unknown here"),
        }
    }
}

fn open_files(machine: &Machine, findings: &mut Findings) {
    let needed = machine.files_needed;
    let Some(limit) = machine.files else { return };
    let target = match limit.pid {
        Some(pid) => format!("process {pid}"),
        None => "this shell".to_owned(),
    };
    if limit.soft >= needed {
        let text = format!("{} may be open, {needed} may be needed", limit.soft);
        return findings.ok("open_files", target, text);
    }
    let text = format!(
        "only {} files may be open, and {needed} may be needed for dns.tcp.max_connections and the probes",
        limit.soft
    );
    let shell =
        if limit.hard >= needed { format!(" (in a shell: `ulimit -n {needed}`)") } else { String::new() };
    let fix = format!("LimitNOFILE={needed} in the systemd unit{shell}; or lower dns.tcp.max_connections");
    findings.warning("open_files", target, text, fix);
}

/// The kernel's limits on what the server asks for.
fn kernel(facts: &Facts, findings: &mut Findings) {
    let machine = &facts.machine;
    let limits = [
        (
            "net.core.rmem_max",
            machine.receive_max,
            RECEIVE_BUFFER_BYTES as u64,
            "a burst of queries is lost earlier",
        ),
        (
            "net.core.somaxconn",
            machine.backlog_max,
            BACKLOG as u64,
            "a burst of TCP connections is refused earlier",
        ),
    ];
    for (name, limit, wanted, effect) in limits {
        let Some(limit) = limit else { continue };
        if limit >= wanted {
            findings.ok("kernel", name, format!("{limit}"));
            continue;
        }
        let text = format!("{limit}, and {wanted} is asked for: {effect}");
        let fix = format!("`sysctl -w {name}={wanted}`, and the same line in /etc/sysctl.d/waypost.conf");
        findings.warning("kernel", name, text, fix);
    }
    // A server that answers has its ports.
    if machine.may_bind == Some(false) && super::is_down(facts) {
        let fix = "run it by the systemd unit (AmbientCapabilities=CAP_NET_BIND_SERVICE), or as root";
        findings.warning("port", "dns.listen", "this user may not listen on a port below 1024", fix);
    }
}

fn state_dir(machine: &Machine, findings: &mut Findings) {
    let dir = &machine.state_dir;
    let path = &*dir.path;
    let Some(mode) = dir.mode else {
        if machine.running.is_some() {
            let text = "not there, or hidden from this user, though a server runs: it may run with another configuration";
            let fix = "name the configuration that it runs with: --config FILE; or run doctor as its user";
            return findings.warning("state_dir", path, text, fix);
        }
        let text = "not there yet: the server makes it when it starts";
        return findings.ok("state_dir", path, text);
    };
    if mode & 0o077 != 0 {
        let text = format!("others may look into it (mode {mode:04o})");
        findings.warning("state_dir", path, text, format!("`chmod 700 {path}`"));
    }
    if let Some((text, hint)) = &dir.cookie_key_fault {
        let text = format!("{text}: no start and no reload succeeds with it");
        findings.error("state_dir", path, text, &**hint);
    }
    // The server warns and goes on.
    if let Some(key) = dir.cookie_key_mode.filter(|key| key & 0o077 != 0) {
        let text = format!("cookie.key may be read by others (mode {key:04o}): who has it can forge cookies");
        let fix =
            format!("`chmod 600 {path}/cookie.key`; if others read it, remove it and restart for a new one");
        findings.warning("state_dir", path, text, fix);
    }
    let mib = |bytes: u64| bytes >> 20;
    match dir.free {
        Some(free) if free < FREE_LEAST => {
            let text = format!("{} MiB are free: journal and health table can't be written", mib(free));
            findings.error("state_dir", path, text, "make room; answers go on meanwhile");
        }
        Some(free) if free < FREE_ENOUGH => {
            let text = format!("{} MiB are free, the journal may take {}", mib(free), mib(FREE_ENOUGH));
            findings.warning("state_dir", path, text, "make room, or put state_dir on another disk");
        }
        Some(free) if mode & 0o077 == 0 => {
            findings.ok("state_dir", path, format!("mode {mode:04o}, {} MiB free", mib(free)));
        }
        _ => {}
    }
}

fn geo(machine: &Machine, findings: &mut Findings) {
    let Some(geo) = &machine.geo else { return };
    let Some(build_s) = geo.build_s else {
        let text = "when it was built is unknown, or lies in the future";
        let fix = "look at this machine's clock; get the file again from its publisher";
        return findings.warning("geo", &*geo.path, text, fix);
    };
    let days = (machine.wall_ms / 1000 - build_s) / DAY_S;
    if days > GEO_OLD_DAYS {
        let text = format!("it is {days} days old, and networks move: a new one appears monthly or oftener");
        let fix = format!(
            "get the present one from {}, and rename it to this path: it is taken without a reload",
            publisher(&geo.path)
        );
        findings.warning("geo", &*geo.path, text, fix);
    } else {
        findings.ok("geo", &*geo.path, format!("{} days old", days.max(0)));
    }
}

/// Where the file comes from, as its name tells.
fn publisher(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    if name.starts_with("dbip") {
        "DB-IP (https://db-ip.com/db/download/ip-to-country-lite, in MMDB form, unpacked)"
    } else if name.starts_with("geolite2") || name.starts_with("geoip2") {
        "MaxMind (https://www.maxmind.com, with an account; geoipupdate does it)"
    } else {
        "its publisher"
    }
}
