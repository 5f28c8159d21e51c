//! What is told about what operators do: warnings, log, audit.

use std::sync::PoisonError;

use tokio::task::spawn_blocking;

use super::{Inner, Operator, joined};
use crate::control::Now;
use crate::control::desk::Message;
use crate::control::journal::rfc3339;
use crate::control::load::LoadErrors;
use crate::control::recorder::{AuditLine, append_audit};
use crate::control::status::Warning;

impl Operator {
    /// Other orders are in force: what there is to say of them replaces what was said of the last ones.
    pub(super) async fn tell_of_orders(&self, inner: &Inner, past: &[String], refusals: &[String], now: Now) {
        self.set_orders_error(None);
        self.tell(Message::Unwarn("admin_file")).await;
        self.warn_while("admin_past", joined(past).as_deref(), now).await;
        self.warn_while("guard", joined(refusals).as_deref(), now).await;
        self.warn_while("admin_copy", inner.admin.copy_failed(), now).await;
    }

    pub(super) async fn refuse_orders(&self, errors: &LoadErrors, now: Now) {
        tracing::error!("the admin file is refused, what was in force stays:\n{}", errors.text);
        self.set_orders_error(Some(errors.first_line));
        self.warn("admin_file", errors.lines.join("; "), now).await;
    }

    pub(super) fn set_orders_error(&self, line: Option<usize>) {
        *self.orders_error.lock().unwrap_or_else(PoisonError::into_inner) = line;
    }

    pub(super) async fn warn_while(&self, code: &'static str, text: Option<&str>, now: Now) {
        match text {
            Some(text) => self.warn(code, text.to_owned(), now).await,
            None => self.tell(Message::Unwarn(code)).await,
        }
    }

    pub(super) async fn warn(&self, code: &'static str, text: String, now: Now) {
        self.tell(Message::Warn(Warning { code, text, since: rfc3339(now.wall_ms) })).await;
    }

    /// Tells the writer, and waits while it has more to do than it can: what is told here must not be lost.
    pub(super) async fn tell(&self, message: Message) {
        if self.handle.send(message).await.is_err() {
            tracing::debug!("the server is stopping: nobody is left to be told");
        }
    }

    /// Who changed what and why. A disk that can't be written undoes nothing.
    pub(super) async fn audit(
        &self,
        inner: &Inner,
        action: &'static str,
        by: &str,
        what: &str,
        reason: &str,
        serial: u64,
    ) {
        tracing::info!(action, by, serial, "{what}");
        let (by, what, reason) = (by.to_owned(), what.to_owned(), reason.to_owned());
        let at = rfc3339(self.clock.now().wall_ms);
        let line = AuditLine { at, action, by, what, reason, serial: Some(serial) };
        let dir = inner.config.state_dir.clone();
        let shown = dir.display().to_string();
        match spawn_blocking(move || append_audit(&dir, &line)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!("cannot write audit.jsonl in {shown}: {error}"),
            Err(_) => tracing::warn!("cannot write audit.jsonl in {shown}"),
        }
    }
}
