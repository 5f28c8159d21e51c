//! What the demo says first: lines to paste into a second terminal, and what to expect.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use super::super::client::DEFAULT_SERVER;
use super::stage::{WEB_HOSTS, address, db_address};

/// What the lines are made of.
#[derive(Clone, Debug)]
pub(super) struct Guide {
    /// How this program was called, for a shell.
    pub(super) program: String,
    /// Where DNS is answered.
    pub(super) dns: SocketAddr,
    /// Where the admin API is.
    pub(super) admin: SocketAddr,
    /// The port of the fake regions.
    pub(super) web_port: u16,
}

/// How this program was called, quoted for a shell where need be.
pub(super) fn program() -> String {
    let called = std::env::args_os().next().map(|name| name.to_string_lossy().into_owned());
    quoted(called.as_deref().unwrap_or("waypost"))
}

/// A word as a shell takes it for one.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

impl Guide {
    /// Everything. Lines that begin with four spaces are commands.
    pub(super) fn text(&self, folder: &Path) -> String {
        let mut text = String::new();
        let config = folder.join("waypost.toml");
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(
            text,
            "Three fake regions on loopback: cn, eu, us. Ctrl-C ends this and leaves nothing behind.\n\
             DNS {}, admin http://{}/, configuration {}\n",
            self.dns,
            self.admin,
            config.display()
        );
        text.push_str("Paste into a second terminal:\n");
        for (say, commands) in self.scenes(&config) {
            let _ = writeln!(text, "\n{say}");
            for command in commands {
                let _ = writeln!(text, "    {command}");
            }
        }
        text.push_str("\nChanges, as they happen (UTC):");
        text
    }

    fn scenes(&self, config: &Path) -> Vec<(&'static str, Vec<String>)> {
        let web = format!("http://{}:{}/healthz", address(0, WEB_HOSTS[0]), self.web_port);
        let db = format!("http://{}:{}/db", db_address(0), self.web_port);
        let explain = "explain www.gslb.example.com --client 193.0.6.0/24";
        vec![
            (
                "Clients in China get cn (192.0.2.x), in the Netherlands eu (198.51.100.x), in the United States us\n\
                 (203.0.113.x); over IPv6, China gets 2001:db8:c::x. The last client sends no subnet: its own address counts.",
                vec![
                    self.dig("+short +subnet=114.114.114.0/24"),
                    self.dig("+short +subnet=193.0.6.0/24"),
                    self.dig("+short +subnet=8.8.8.0/24"),
                    self.dig("AAAA +short +subnet=2001:da8::/48"),
                    self.dig("+short -b 127.0.2.1"),
                ],
            ),
            (
                "How everything stands; why a client gets its answer, and would if eu failed (cn, not us); what doctor finds.",
                vec![
                    self.waypost("status"),
                    self.waypost(explain),
                    self.waypost(&format!("{explain} --down eu")),
                    self.doctor(config),
                ],
            ),
            (
                "Break cn's database: /healthz still says 200, but some 2 s later China gets eu, with a TTL of 5 s.\n\
                 (api.gslb.example.com does not need the database, and stays.)",
                vec![
                    self.demo("--break cn:db"),
                    format!("curl -si {web}"),
                    format!("curl -s {db}"),
                    format!("sleep 3; {}", self.dig("+noall +answer +subnet=114.114.114.0/24")),
                ],
            ),
            (
                "Mend it: China comes back after 3 good results and a cooldown of 5 s, which each further failure doubles.",
                vec![self.demo("--mend cn")],
            ),
            (
                "Drain eu for ten minutes: it says who moves, the Netherlands get cn at once. Undo it.",
                vec![
                    self.waypost("drain eu --for 10m --reason 'trying it out'"),
                    self.dig("+noall +answer +subnet=193.0.6.0/24"),
                    self.waypost("undrain eu"),
                ],
            ),
        ]
    }

    fn dig(&self, rest: &str) -> String {
        format!("dig @{} -p {} www.gslb.example.com {rest}", self.dns.ip(), self.dns.port())
    }

    /// A question to the demo's server, or an order. It names the server: without, a `waypost.toml` in the folder of the
    /// second terminal would decide, and an order given when the demo is over would land in its admin file.
    fn waypost(&self, rest: &str) -> String {
        format!("{} {rest} --server {}", self.program, self.admin)
    }

    /// The demo's own configuration also says where its server is.
    fn doctor(&self, config: &Path) -> String {
        format!("{} doctor --node-only --config {}", self.program, quoted(&config.to_string_lossy()))
    }

    /// `--break` and `--mend`, which look for a demo on the usual port by themselves.
    fn demo(&self, rest: &str) -> String {
        if self.admin == DEFAULT_SERVER {
            return format!("{} demo {rest}", self.program);
        }
        self.waypost(&format!("demo {rest}"))
    }
}
