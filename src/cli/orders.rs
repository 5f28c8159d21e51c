//! `waypost drain`, `undrain`, `force`, `unforce`, `release`: told to the running server, which shows what moves and
//! returns once it is live.

use super::args::{Drain, Force, ForcedState, OrderArgs, Release, Undo};
use super::client::{self, Client};
use super::{Context, Exit, Failure, Said, offline, preview};
use crate::control::operate::{Done, Order, Verb};
use crate::serve::admin::ReleaseBody;

pub(super) fn drain(context: &Context, args: Drain) -> Result<Said, Failure> {
    order(context, Verb::Drain, &asked(args.region, args.order, None))
}

pub(super) fn undrain(context: &Context, args: Undo) -> Result<Said, Failure> {
    order(context, Verb::Undrain, &undone(args))
}

pub(super) fn force(context: &Context, args: Force) -> Result<Said, Failure> {
    let state = match args.state {
        ForcedState::Up => "up",
        ForcedState::Down => "down",
    };
    order(context, Verb::Force, &asked(args.region, args.order, Some(state)))
}

pub(super) fn unforce(context: &Context, args: Undo) -> Result<Said, Failure> {
    order(context, Verb::Unforce, &undone(args))
}

pub(super) fn release(context: &Context, args: Release) -> Result<Said, Failure> {
    let body = Client::new(context)?.post("/api/v1/release", &ReleaseBody { region: args.region })?;
    told(context, &body)
}

fn asked(region: String, args: OrderArgs, state: Option<&str>) -> Order {
    Order {
        region,
        service: args.service,
        from: args.from,
        lasting: args.lasting,
        reason: args.reason.unwrap_or_default(),
        state: state.map(str::to_owned),
        dry_run: args.dry_run,
        force: args.force,
    }
}

fn undone(args: Undo) -> Order {
    Order {
        region: args.region,
        service: args.service,
        reason: args.reason,
        dry_run: args.dry_run,
        force: args.force,
        ..Order::default()
    }
}

fn order(context: &Context, verb: Verb, order: &Order) -> Result<Said, Failure> {
    match Client::new(context)?.post(&format!("/api/v1/{}", verb.word()), order) {
        Ok(body) => told(context, &body),
        Err(failure) if failure.exit == Exit::UNREACHABLE => without_server(context, verb, order, failure),
        Err(failure) => Err(failure),
    }
}

/// The order when no server runs here: checked and guarded by the saved health, and written into the admin file, where
/// the next start finds it. It is not live, which the exit code says.
fn without_server(
    context: &Context,
    verb: Verb,
    order: &Order,
    unreachable: Failure,
) -> Result<Said, Failure> {
    // Whoever names a server means that one, and not the files of this machine.
    if context.server.is_some() {
        return Err(unreachable);
    }
    let offline = offline::read_whole(context)?;
    let done = offline.order(verb, order)?;
    let path = offline.admin_file().display().to_string();
    let mut said = told_of(context, &done);
    if !order.dry_run {
        said.exit = Exit::UNREACHABLE;
    }
    said.notes.extend(offline.notes);
    said.notes.push(format!("waypost: {}", unreachable.text));
    if !order.dry_run {
        said.notes.push(format!("waypost: not live yet: it is in {path}, and holds when the server starts"));
    }
    Ok(said)
}

/// What the server says that it did.
pub(super) fn told(context: &Context, body: &[u8]) -> Result<Said, Failure> {
    let done: Done = client::parse(body)?;
    Ok(told_of(context, &done))
}

/// What was done; in part only where a wider order still holds, which the exit code says.
fn told_of(context: &Context, done: &Done) -> Said {
    let out = if context.json { super::json_line(done) } else { preview::done_text(done) };
    let notes = done.still.iter().map(|still| format!("waypost: {still}")).collect();
    Said { out, notes, exit: if done.still.is_empty() { Exit::DONE } else { Exit::BAD } }
}
