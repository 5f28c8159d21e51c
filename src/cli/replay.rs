//! `waypost replay`: the journal's decisions, computed again, line by line.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _, Write as _};

use serde::Serialize;

use super::table::Table;
use super::{Context, Exit, Failure, Said, args, json_line, offline};
use crate::control::inputs::Change;
use crate::control::journal::{Line, ReadError, Served, read_lines};
use crate::control::plan::Plan;
use crate::control::replay::{Replay, Report, WhatIf};

/// Lines between two signs of life on a terminal.
const PROGRESS_LINES: u64 = 1_000;

/// Differences that are shown to people; `--json` has all.
const SHOWN: usize = 200;

/// The outcome as a document.
#[derive(Debug, Serialize)]
struct Outcome<'o> {
    #[serde(flatten)]
    report: &'o Report,
    notes: &'o [String],
}

pub(super) fn run(context: &Context, args: &args::Replay) -> Result<Said, Failure> {
    // Only a configuration that was named replaces the recorded ones.
    let plan = match &context.config {
        Some(_) => Some(Plan::of(&offline::read_config(context)?)),
        None => None,
    };
    let path = args.journal.display();
    let file = File::open(&args.journal)
        .map_err(|error| Failure::new(Exit::BAD, format!("cannot read {path}: {error}")))?;
    let mut reading = Reading::new(plan.as_ref(), &args.drain);
    let progress = io::stderr().is_terminal();
    let read = reading.read(BufReader::new(file), |lines| {
        if progress {
            let _ = write!(io::stderr(), "\r{lines} lines");
        }
    });
    if progress {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
    read.map_err(|error| Failure::new(Exit::BAD, format!("cannot read {path}: {error}")))?;
    let (report, notes) = reading.finish()?;
    let good = report.differences.is_empty() && report.unusable.is_empty() && report.lines > 0;
    let what_if = context.config.is_some() || !args.drain.is_empty();
    let out = if context.json {
        json_line(&Outcome { report: &report, notes: &notes })
    } else {
        text(&report, what_if)
    };
    Ok(Said { out, notes, exit: if good { Exit::DONE } else { Exit::BAD } })
}

/// A journal being read.
struct Reading {
    replay: Replay,
    /// Drained regions that no plan has had yet.
    unseen: Vec<String>,
    regions: Vec<String>,
    /// Lines that are none.
    broken: Vec<String>,
    notes: Vec<String>,
}

impl Reading {
    fn new(plan: Option<&Plan>, drains: &[String]) -> Self {
        let mut reading = Self {
            replay: Replay::new(WhatIf { plan: plan.cloned(), drains: drains.to_vec() }),
            unseen: drains.to_vec(),
            regions: Vec::new(),
            broken: Vec::new(),
            notes: Vec::new(),
        };
        if let Some(plan) = plan {
            reading.saw(plan);
        }
        reading
    }

    /// Reads to the end; `progress` hears how many lines were read.
    fn read(&mut self, journal: impl BufRead, mut progress: impl FnMut(u64)) -> io::Result<()> {
        let mut lines = read_lines(journal);
        let mut count = 0;
        for line in lines.by_ref() {
            match line {
                Ok(line) => self.line(&line),
                Err(ReadError::Io(error)) => return Err(error),
                Err(error @ ReadError::NotALine { .. }) => self.broken.push(error.to_string()),
            }
            count += 1;
            if count % PROGRESS_LINES == 0 {
                progress(count);
            }
        }
        match lines.torn() {
            0 => {}
            1 => self.notes.push("note: a line is torn, as by a crash, and left out".to_owned()),
            torn => self.notes.push(format!("note: {torn} lines are torn, as by crashes, and left out")),
        }
        Ok(())
    }

    fn line(&mut self, line: &Line) {
        for change in &line.changes {
            if let Change::Plan { plan, .. } = change {
                self.saw(plan);
            }
        }
        self.replay.line(line);
    }

    fn saw(&mut self, plan: &Plan) {
        self.unseen.retain(|region| plan.region(region).is_none());
        self.regions.clone_from(&plan.regions);
    }

    /// What came out.
    ///
    /// Errors: a region to drain never existed.
    fn finish(self) -> Result<(Report, Vec<String>), Failure> {
        if let Some(region) = self.unseen.first() {
            let text = format!("there is no region `{region}` in this journal");
            let hint = format!("the regions are {}", self.regions.join(", "));
            return Err(Failure::new(Exit::USAGE, text).hint(hint));
        }
        let mut report = self.replay.report();
        report.unusable.extend(self.broken);
        Ok((report, self.notes))
    }
}

fn text(report: &Report, what_if: bool) -> String {
    let mut text = format!(
        "{} lines, {} decisions computed again, digest {}\n",
        report.lines, report.decisions, report.digest
    );
    for line in report.unusable.iter().take(SHOWN) {
        let _ = writeln!(text, "unusable: {line}");
    }
    match (report.differences.len(), what_if) {
        (0, _) if report.lines == 0 => text.push_str("nothing was recorded\n"),
        (0, false) => text.push_str("every decision is the one that was served\n"),
        (0, true) => text.push_str("nobody would have been served otherwise\n"),
        (count, false) => {
            let _ = writeln!(text, "{count} decisions differ from what was served:");
        }
        (count, true) => {
            let _ = writeln!(text, "{count} times somebody would have been served otherwise:");
        }
    }
    if report.differences.is_empty() {
        return text;
    }
    let mut table = Table::new(&["SERIAL", "AT", "SERVICE", "USERS OF", "SERVED", "COMES OUT"]);
    for difference in report.differences.iter().take(SHOWN) {
        table.row([
            difference.serial.to_string(),
            difference.at.clone(),
            difference.service.clone(),
            difference.home.clone(),
            served(difference.recorded.as_ref()),
            served(difference.replayed.as_ref()),
        ]);
    }
    text.push_str(&table.render(2));
    if let Some(more) = report.differences.len().checked_sub(SHOWN).filter(|&more| more > 0) {
        let _ = writeln!(text, "  and {more} more; --json lists all");
    }
    text
}

fn served(served: Option<&Served>) -> String {
    let Some(served) = served else { return "nothing".to_owned() };
    let addresses = served.addresses.iter().map(|address| address.to_string());
    let data: Vec<String> = addresses.chain(served.cname.clone()).collect();
    format!("{} ({}) {} ttl {}", served.answer, served.reason, data.join(" "), served.ttl_s)
}

#[cfg(test)]
mod tests;
