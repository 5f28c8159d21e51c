//! The `exec` probe: a command of the operator's, in the way of monitoring plugins.
//!
//! No shell, a clean environment, no input. Exit status 0 is ok, 1 degraded, 2 failed, anything else unknown, and so
//! is a command that cannot be started or dies of a signal. The first line that it prints is the detail. A command
//! that is not done in time is killed with everything it started.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStdout, Command};

use super::finding::{Finding, Seen, one_line};
use super::steps::Steps;

/// What is kept of a command's output, in bytes; the rest is read and dropped, so that no command blocks on it.
const OUTPUT_MAX_BYTES: usize = 4096;

/// How long the output may stay open after the command has ended. It does when something that the command left behind
/// holds it.
const DRAIN: Duration = Duration::from_millis(100);

/// Where commands find others.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs an `exec` probe.
pub(super) async fn look(command: &[String], steps: &mut Steps) -> Seen {
    let Some((program, arguments)) = command.split_first() else {
        return Err(Finding::unknown("the command is empty"));
    };
    steps.begin("run");
    // Arguments may hold secrets: only the program is named.
    let unusable = |error: io::Error| Finding::unknown(format!("cannot run `{program}`: {error}"));
    let mut group = Group::spawn(program, arguments).map_err(unusable)?;
    let mut output = Output { pipe: group.child.stdout.take(), kept: Vec::new() };
    let status = group.wait(&mut output).await.map_err(unusable)?;
    judge(status, &output.first_line())
}

fn judge(status: ExitStatus, line: &str) -> Seen {
    let detail = |fallback: String| if line.is_empty() { fallback } else { line.to_owned() };
    match status.code() {
        Some(0) => Ok(()),
        Some(1) => Err(Finding::degraded(detail("exit status 1".to_owned()))),
        Some(2) => Err(Finding::failed(detail("exit status 2".to_owned()))),
        Some(code) => Err(Finding::unknown(detail(format!("exit status {code}")))),
        // Says "signal: 9 (SIGKILL)" and the like.
        None => Err(Finding::unknown(status.to_string())),
    }
}

/// A command with everything it starts: a process group of its own, killed when the run ends before the command does.
struct Group {
    child: Child,
    /// Absent once the command has been waited for: from then on the number may be somebody else's.
    leader: Option<Pid>,
}

impl Group {
    fn spawn(program: &str, arguments: &[String]) -> io::Result<Self> {
        let child = Command::new(program)
            .args(arguments)
            .env_clear()
            .env("PATH", PATH)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Ok(Self { child, leader })
    }

    /// Waits for the command while reading what it prints.
    async fn wait(&mut self, output: &mut Output) -> io::Result<ExitStatus> {
        let status = loop {
            tokio::select! {
                biased;
                () = output.read_some(), if output.is_open() => {}
                status = self.child.wait() => break status?,
            }
        };
        let leader = self.leader.take();
        let drain = async {
            while output.is_open() {
                output.read_some().await;
            }
        };
        if tokio::time::timeout(DRAIN, drain).await.is_err() {
            // Somebody still holds the pipe, so the group most likely lives and its number is still its own.
            kill(leader);
        }
        Ok(status)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        kill(self.leader);
    }
}

/// Kills a whole process group; one that is gone already is none of our business.
fn kill(leader: Option<Pid>) {
    if let Some(leader) = leader {
        let _gone = kill_process_group(leader, Signal::KILL);
    }
}

/// What a command prints.
struct Output {
    pipe: Option<ChildStdout>,
    kept: Vec<u8>,
}

impl Output {
    fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Reads what there is, waiting for something to be there; notices the end.
    async fn read_some(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut chunk = [0; 1024];
        match pipe.read(&mut chunk).await {
            Ok(0) | Err(_) => self.pipe = None,
            Ok(count) => {
                let room = OUTPUT_MAX_BYTES.saturating_sub(self.kept.len());
                self.kept.extend(chunk.iter().take(count.min(room)));
            }
        }
    }

    fn first_line(&self) -> String {
        one_line(&String::from_utf8_lossy(&self.kept))
    }
}
