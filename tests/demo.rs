//! The demo as a new user meets it: the real program, the very lines that it prints, the real `dig`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // A failure is what a test is for.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// How long one thing may take on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program under test.
const WAYPOST: &str = env!("CARGO_BIN_EXE_waypost");

const CHINA: &str = "+subnet=114.114.114.0/24";
const NETHERLANDS: &str = "+subnet=193.0.6.0/24";
const UNITED_STATES: &str = "+subnet=8.8.8.0/24";

#[test]
fn a_new_user_sees_each_region_answer_fail_return_and_drain() {
    let demo = Demo::start();
    demo.check_that_each_region_answers();
    demo.check_how_everything_stands();
    let failed_at_s = demo.check_that_cn_moves_to_eu_when_its_database_fails();
    demo.check_that_cn_returns_when_it_is_mended(failed_at_s);
    demo.check_that_eu_drains_to_cn_and_back();
    let (ended, left) = demo.end(Signal::TERM);
    assert_eq!((ended.code(), left), (Some(0), Vec::new()));
}

#[test]
fn two_demos_side_by_side_take_other_ports_and_say_so() {
    let first = Demo::start();
    let second = Demo::start();
    assert_ne!(first.dns_port(), second.dns_port());
    assert_ne!(first.admin(), second.admin());
    for demo in [&first, &second] {
        let command = demo.command("demo --break");
        assert_eq!(
            command.contains("--server"),
            demo.admin() != "127.0.0.1:8953",
            "a command finds its demo: {command}"
        );
    }
    // At least one has not the usual port; its printed command must break it, and it alone.
    second.run(second.command("demo --break"));
    second.wait_for("users of cn: cn → eu");
    assert_eq!(first.region_of(CHINA), "cn");
    assert_eq!(second.region_of(CHINA), "eu");

    let (ended, left) = first.end(Signal::INT);
    assert_eq!((ended.code(), left), (Some(0), Vec::new()), "Ctrl-C ends it cleanly");
    let (ended, left) = second.end(Signal::HUP);
    assert_eq!((ended.code(), left), (Some(0), Vec::new()), "so does closing its terminal");
}

#[test]
fn a_demo_moves_aside_for_other_programs() {
    // Taken here, or by somebody else already: either way the demo can't have these.
    let _taken = [5300, 8953, 8180].map(|port| TcpListener::bind(("127.0.0.1", port)));
    let demo = Demo::start();
    assert_ne!(demo.dns_port(), "5300");
    assert_ne!(demo.admin(), "127.0.0.1:8953");
    assert_eq!(demo.region_of(UNITED_STATES), "us");
}

#[test]
fn a_mistake_in_what_to_break_is_answered_with_what_there_is() {
    let demo = Demo::start();
    let server = ["--server", demo.admin()];
    let unknown = waypost(&[&["demo", "--break", "ch"], &server[..]].concat());
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert_eq!(unknown.status.code(), Some(2), "{said}");
    assert!(said.contains("`ch`") && said.contains("cn, eu, us"), "{said}");

    let part = waypost(&[&["demo", "--mend", "cn:disk"], &server[..]].concat());
    let said = String::from_utf8_lossy(&part.stderr).into_owned();
    assert_eq!(part.status.code(), Some(2), "{said}");
    assert!(said.contains("`disk`") && said.contains("web, db"), "{said}");
}

#[test]
fn without_a_demo_there_is_nothing_to_break() {
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = waypost(&["demo", "--break", "cn", "--server", &port.to_string()]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(3), "{said}");
    assert!(said.contains("is `waypost demo` running?"), "{said}");
}

#[test]
fn a_folder_that_cannot_be_written_is_named_with_the_way_out() {
    let refused = Command::new(WAYPOST)
        .arg("demo")
        .env("TMPDIR", "/proc/nowhere")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("/proc/nowhere") && said.contains("TMPDIR=FOLDER"), "{said}");
    assert!(refused.stdout.is_empty());
}

#[test]
fn a_demo_whose_reader_goes_away_ends_and_cleans_up() {
    let folder = TempDir::new().unwrap();
    let mut child = spawn(folder.path());
    let mut stdout = child.stdout.take().unwrap();
    let mut first = [0; 1];
    stdout.read_exact(&mut first).unwrap();
    // The guide is written at once and fits into the pipe; the next line meets nobody.
    let rest = read_until_changes(BufReader::new(stdout));
    let lines: Vec<&str> = rest.lines().collect();
    let commands = commands(&lines);
    let drain = commands.iter().find(|command| command.contains(" drain ")).unwrap();
    assert!(shell(drain).status.success());
    assert_eq!(wait(&mut child).code(), Some(0));
    assert_eq!(left_in(folder.path()), Vec::<String>::new());
}

/// A demo that runs, in a temporary folder of its own.
struct Demo {
    child: Child,
    folder: TempDir,
    guide: Vec<String>,
    changes: Receiver<String>,
}

impl Demo {
    fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let mut child = spawn(folder.path());
        let changes = read_lines(child.stdout.take().unwrap());
        let mut guide = Vec::new();
        while !guide.last().is_some_and(|line: &String| line.starts_with("Changes")) {
            guide.push(changes.recv_timeout(PATIENCE).expect("the demo prints what to paste"));
        }
        Self { child, folder, guide, changes }
    }

    fn check_that_each_region_answers(&self) {
        for (client, region) in [(CHINA, "cn"), (NETHERLANDS, "eu"), (UNITED_STATES, "us")] {
            assert_eq!(self.region_of(client), region, "{client}");
        }
        let v6 = self.run(self.command("AAAA"));
        assert_eq!(sorted(&v6), ["2001:db8:c::11", "2001:db8:c::12"]);
        let by_source = self.run(self.command("-b 127.0.2.1"));
        assert_eq!(sorted(&by_source), ["198.51.100.11", "198.51.100.12"]);
    }

    fn check_how_everything_stands(&self) {
        assert!(self.run(self.command(" status")).contains("9 of 9 checks up"));
        let why = self.run(self.command("--client 193.0.6.0/24"));
        assert!(why.contains("decision  eu (home)"), "{why}");
        let what_if = self.run(self.command("--down eu"));
        assert!(what_if.contains("decision  cn (fallback)"), "us is able, too: the order decides\n{what_if}");
    }

    /// Returns when that was, in seconds of the day.
    fn check_that_cn_moves_to_eu_when_its_database_fails(&self) -> i64 {
        self.run(self.command("--break cn:db"));
        let turned = self.wait_for("cn turned failed");
        assert!(turned.contains("www.gslb.example.com"), "{turned}");
        assert!(!turned.contains("api.gslb.example.com"), "api does not need the database: {turned}");
        self.wait_for("users of cn: cn → eu (fallback)");
        assert_eq!(self.region_of(CHINA), "eu", "us is able, too: the order decides");
        assert_eq!(self.region_of(UNITED_STATES), "us");

        let health_page = self.run(self.command("/healthz"));
        assert!(health_page.starts_with("HTTP/1.1 200"), "{health_page}");
        assert!(self.run(self.command("/db")).contains(r#""writable":false"#));
        let answer = self.run(self.command("+noall +answer +subnet=114.114.114.0/24"));
        assert!(answer.lines().all(|line| line.contains("\t5\tIN\tA\t198.51.100.")), "{answer}");
        second_of_day(&turned)
    }

    fn check_that_cn_returns_when_it_is_mended(&self, failed_at_s: i64) {
        self.run(self.command("--mend cn"));
        let returned = self.wait_for("users of cn: eu → cn (home)");
        assert_eq!(self.region_of(CHINA), "cn");
        let away_s = (second_of_day(&returned) - failed_at_s).rem_euclid(86_400);
        assert!((4..30).contains(&away_s), "the cooldown is 5 s, and lines have whole seconds: {away_s} s");
    }

    fn check_that_eu_drains_to_cn_and_back(&self) {
        let preview = self.run(self.command(" drain eu"));
        assert!(preview.contains("users of eu  eu → cn"), "{preview}");
        assert_eq!(self.region_of(NETHERLANDS), "cn", "live once the command returns");
        self.wait_for("eu turned drained");
        self.run(self.command(" undrain eu"));
        assert_eq!(self.region_of(NETHERLANDS), "eu");
    }

    /// The printed command with these words in it.
    fn command(&self, words: &str) -> &str {
        let lines: Vec<&str> = self.guide.iter().map(String::as_str).collect();
        let commands = commands(&lines);
        commands
            .into_iter()
            .find(|line| line.contains(words))
            .unwrap_or_else(|| panic!("no line with {words}"))
    }

    /// Runs a printed command as a shell would.
    fn run(&self, command: &str) -> String {
        let output = shell(command);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}\n{said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The region whose addresses a client gets.
    fn region_of(&self, client: &str) -> &'static str {
        let answer = self.run(&format!(
            "dig @127.0.0.1 -p {} www.gslb.example.com +short +tries=5 {client}",
            self.dns_port()
        ));
        let regions = [("192.0.2.", "cn"), ("198.51.100.", "eu"), ("203.0.113.", "us")];
        let all_in =
            |net: &str| answer.lines().count() == 2 && answer.lines().all(|line| line.starts_with(net));
        regions.iter().find(|(net, _)| all_in(net)).map_or("none", |(_, region)| region)
    }

    /// The next change with these words in it.
    fn wait_for(&self, words: &str) -> String {
        loop {
            let line = self.changes.recv_timeout(PATIENCE);
            match line {
                Ok(line) if line.contains(words) => return line,
                Ok(_) => {}
                Err(_) => panic!("no change with `{words}` in time"),
            }
        }
    }

    fn dns_port(&self) -> &str {
        let words: Vec<&str> = self.command("dig ").split(' ').collect();
        words[words.iter().position(|word| *word == "-p").unwrap() + 1]
    }

    fn admin(&self) -> &str {
        let line = self.guide.iter().find(|line| line.starts_with("DNS ")).unwrap();
        line.split("http://").nth(1).unwrap().split('/').next().unwrap()
    }

    /// Ends it; how it ended, and what it left in the temporary folder.
    fn end(mut self, signal: Signal) -> (ExitStatus, Vec<String>) {
        assert_ne!(left_in(self.folder.path()), Vec::<String>::new(), "it keeps its files there");
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        (wait(&mut self.child), left_in(self.folder.path()))
    }
}

impl Drop for Demo {
    /// For tests that fail, and those that do not care how it ends.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A demo that knows no folder but this one.
fn spawn(folder: &Path) -> Child {
    Command::new(WAYPOST)
        .arg("demo")
        .env("TMPDIR", folder)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn waypost(args: &[&str]) -> Output {
    Command::new(WAYPOST).args(args).stdin(Stdio::null()).output().unwrap()
}

/// Runs it where no configuration lies, and without waiting where the line says so: tests wait for changes instead.
fn shell(command: &str) -> Output {
    let command = command.trim_start_matches("sleep 3; ");
    Command::new("sh").args(["-c", command]).current_dir("/").stdin(Stdio::null()).output().unwrap()
}

fn read_lines(stdout: ChildStdout) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

fn read_until_changes(mut stdout: BufReader<ChildStdout>) -> String {
    let mut text = String::new();
    while !text.lines().last().is_some_and(|line| line.starts_with("Changes")) {
        assert_ne!(stdout.read_line(&mut text).unwrap(), 0, "{text}");
    }
    text
}

/// The lines that are to be pasted.
fn commands<'l>(lines: &[&'l str]) -> Vec<&'l str> {
    lines.iter().filter_map(|line| line.strip_prefix("    ")).collect()
}

fn sorted(answer: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = answer.lines().collect();
    lines.sort_unstable();
    lines
}

/// Of a change's `HH:MM:SS`.
fn second_of_day(line: &str) -> i64 {
    line[..8].split(':').fold(0, |sum, part| sum * 60 + part.parse::<i64>().unwrap())
}

fn left_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// Waits for the end, but not for ever.
fn wait(child: &mut Child) -> ExitStatus {
    let pid = Pid::from_child(child);
    let (ended, wait) = channel::<()>();
    let watchdog = thread::spawn(move || {
        if wait.recv_timeout(PATIENCE).is_err() {
            let _ = kill_process(pid, Signal::KILL);
        }
    });
    let status = child.wait().unwrap();
    let _ = ended.send(());
    watchdog.join().unwrap();
    status
}
