//! dnspython as a reader: one process, fed through its standard input.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use crate::query::hex;

/// The interpreter that has dnspython; set by `tests/run.sh`.
const PYTHON: &str = "WAYPOST_TEST_PYTHON";

/// What it says of each message.
pub(crate) fn read(messages: &BTreeSet<Vec<u8>>) -> Vec<String> {
    let python = interpreter();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/second_opinion/read_answers.py");
    let mut child = Command::new(&python)
        .arg("-B")
        .arg(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{python}: {error}"));
    let mut input = child.stdin.take().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let lines = thread::scope(|scope| {
        scope.spawn(move || {
            for message in messages {
                writeln!(input, "{}", hex(message)).unwrap();
            }
        });
        output.lines().map(Result::unwrap).collect::<Vec<String>>()
    });
    assert!(child.wait().unwrap().success());
    lines
}

fn interpreter() -> String {
    let python = std::env::var(PYTHON).unwrap_or_else(|_| "python3".to_owned());
    let check = Command::new(&python).args(["-c", "import dns.message"]).output();
    assert!(
        check.is_ok_and(|output| output.status.success()),
        "`{python}` has no dnspython, which these tests need. Run them by tests/run.sh, which provides it, or name an \
         interpreter that has it: {PYTHON}=PATH cargo test --features portable --test second_opinion"
    );
    python
}
