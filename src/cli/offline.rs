//! What the files say, without a server: configuration, admin file, saved health. Nothing is written but an order.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{Context, Exit, Failure, read_text};
use crate::config::Config;
use crate::config::admin::AdminFile;
use crate::control::admin_source::ACCEPTED;
use crate::control::cookie_key::Access;
use crate::control::desk::Desk;
use crate::control::journal::rfc3339;
use crate::control::load::{self, LoadErrors, LoadOptions, Loaded};
use crate::control::operate::{Done, Ground, Order, Prepared, Refusal, Verb, prepare};
use crate::control::recorder::{AuditLine, Recorder, append_audit, read_saved, write_atomically};
use crate::control::{Clock, Now, Snapshot};

/// How a server that started now would stand before its first probe.
#[derive(Debug)]
pub(super) struct Offline {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) now: Now,
    /// What to know about it.
    pub(super) notes: Vec<String>,
}

/// A load that writes nothing and lets nothing stand in.
pub(super) fn options(now: Now) -> LoadOptions<'static> {
    LoadOptions {
        generation: 1,
        now,
        in_use: None,
        accept_geo: false,
        stand_in: false,
        cookie_key: Access::Untouched,
    }
}

/// Reads everything.
///
/// Errors: the configuration, or something that it names, is invalid.
pub(super) fn read(context: &Context) -> Result<Offline, Failure> {
    let whole = read_whole(context)?;
    Ok(Offline { snapshot: Arc::clone(whole.desk.reader().current()), now: whole.now, notes: whole.notes })
}

/// The same, with what orders are given against.
pub(super) struct Whole {
    pub(super) desk: Desk,
    pub(super) now: Now,
    /// What to know about it.
    pub(super) notes: Vec<String>,
}

/// Reads everything, for an order.
///
/// Errors: as [`read`].
pub(super) fn read_whole(context: &Context) -> Result<Whole, Failure> {
    let now = Clock::start().now();
    let config = read_config(context)?;
    let loaded = load::load_named(config, options(now)).map_err(|errors| invalid(&errors))?;
    let mut notes = Vec::new();
    let orders = orders(&loaded.config, now, &mut notes);
    let desk = desk(loaded, orders, now, &mut notes);
    Ok(Whole { desk, now, notes })
}

impl Whole {
    /// Where orders are written.
    pub(super) fn admin_file(&self) -> &Path {
        &self.desk.loaded().config.admin_file
    }

    /// Gives an order by writing the admin file.
    ///
    /// Errors: the file on disk is invalid, the order makes no sense, the guard refuses, the file can't be written.
    pub(super) fn order(&self, verb: Verb, order: &Order) -> Result<Done, Failure> {
        let config = &self.desk.loaded().config;
        let path = &config.admin_file;
        orders_in(path, config, self.now).map_err(|errors| {
            let text =
                format!("the admin file is invalid, and nothing was written\n{}", errors.text.trim_end());
            Failure::new(Exit::BAD, text)
                .hint("correct it first: an order must not hide what is wrong with it")
        })?;
        let accepted = config.state_dir.join(ACCEPTED);
        let base = fs::read_to_string(path).or_else(|_| fs::read_to_string(accepted)).unwrap_or_default();
        let model = self.desk.model();
        let ground =
            Ground { base: &base, path, config, plan: model.plan(), inputs: model.inputs(), now: self.now };
        let prepared = prepare(verb, order, ground).map_err(refused)?;
        let Prepared { text, preview, sentence, warnings, still, .. } = prepared;
        if order.dry_run {
            let text = format!("would {sentence}");
            return Ok(Done { text, preview: Some(preview), warnings, still, ..Done::default() });
        }
        write_atomically(path, text.as_bytes())
            .map_err(|error| Failure::new(Exit::BAD, format!("cannot write {}: {error}", path.display())))?;
        let line = AuditLine {
            at: rfc3339(self.now.wall_ms),
            action: verb.word(),
            by: super::client::user(),
            what: sentence.clone(),
            reason: order.reason.clone(),
            serial: None,
        };
        let mut warnings = warnings;
        if let Err(error) = append_audit(&config.state_dir, &line) {
            warnings.push(format!("no audit line was written in {}: {error}", config.state_dir.display()));
        }
        Ok(Done { changed: true, text: sentence, preview: Some(preview), warnings, still, ..Done::default() })
    }
}

fn refused(refusal: Refusal) -> Failure {
    Failure::new(Exit(refusal.kind.exit_code()), refusal.text).hint(refusal.hint)
}

/// The configuration alone.
pub(super) fn read_config(context: &Context) -> Result<Config, Failure> {
    let path = context.config_path()?;
    load::parse(&read_text(&path)?, &path).map_err(|errors| invalid(&errors))
}

pub(super) fn invalid(errors: &LoadErrors) -> Failure {
    let text = format!("the configuration is invalid\n{}", errors.text.trim_end());
    Failure::new(Exit::BAD, text)
}

fn desk(loaded: Loaded, orders: AdminFile, now: Now, notes: &mut Vec<String>) -> Desk {
    let saved = match read_saved(&loaded.config.state_dir) {
        Ok(saved) => saved,
        Err(error) => {
            notes.push(format!("note: the saved health can't be used: {error}"));
            None
        }
    };
    if !saved.as_ref().is_some_and(|saved| saved.is_fresh(now.wall_ms)) {
        notes.push(
            "note: no saved health younger than 5 minutes: every check counts as never seen".to_owned(),
        );
    }
    Desk::new(loaded, orders, saved.as_ref(), Recorder::nowhere(), now)
}

/// What is in force: the admin file, or the copy of what was obeyed last where that can't be.
fn orders(config: &Config, now: Now, notes: &mut Vec<String>) -> AdminFile {
    let path = &config.admin_file;
    match orders_in(path, config, now) {
        Ok(Some(file)) => return file,
        Ok(None) => {}
        Err(errors) => {
            notes.push(format!("note: the admin file can't be obeyed\n{}", errors.text.trim_end()));
        }
    }
    match orders_in(&config.state_dir.join(ACCEPTED), config, now) {
        Ok(Some(file)) => {
            notes.push(format!("note: what was obeyed last stands in for {}", path.display()));
            file
        }
        Ok(None) | Err(_) => AdminFile::default(),
    }
}

/// The orders in a file; absent when there is none.
pub(super) fn orders_in(path: &Path, config: &Config, now: Now) -> Result<Option<AdminFile>, LoadErrors> {
    match fs::read_to_string(path) {
        Ok(text) => load::parse_orders(&text, path, config, now.wall_ms).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let line = format!("{}: error: cannot read it: {error}", path.display());
            Err(LoadErrors::one(line))
        }
    }
}
