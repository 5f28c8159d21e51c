//! `waypost demo --break` and `--mend`: told to the demo that runs, over its admin API.

use super::super::client::{self, Client, DEFAULT_SERVER};
use super::super::{Context, Exit, Failure, Said, json_line};
use super::stage::{Part, Target, Told};

/// What to do to a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Break,
    Mend,
}

impl Verb {
    const fn path(self) -> &'static str {
        match self {
            Self::Break => "/demo/break",
            Self::Mend => "/demo/mend",
        }
    }

    const fn outlook(self) -> &'static str {
        match self {
            Self::Break => "the probes notice within some 2 s",
            Self::Mend => "it comes back after 3 good results and its cooldown; the demo's terminal shows it",
        }
    }
}

/// Breaks or mends `REGION[:web|db]`.
pub(super) fn order(context: &Context, verb: Verb, target: &str) -> Result<Said, Failure> {
    let target = parse(target)?;
    let mut context = context.clone();
    if context.config.is_none() {
        // Not what a waypost.toml in this folder says: the demo has one of its own.
        context.server.get_or_insert_with(|| DEFAULT_SERVER.to_string());
    }
    let body =
        Client::new(&context)?.post(verb.path(), &target).map_err(|failure| explain(failure, &context))?;
    let told: Told = client::parse(&body)?;
    Ok(Said::done(if context.json {
        json_line(&told)
    } else {
        format!("{}\n{}\n", told.text, verb.outlook())
    }))
}

/// Reads `REGION[:web|db]`; only the demo knows which regions there are.
pub(super) fn parse(text: &str) -> Result<Target, Failure> {
    let (region, part) = match text.split_once(':') {
        None => (text, None),
        Some((region, "web")) => (region, Some(Part::Web)),
        Some((region, "db")) => (region, Some(Part::Db)),
        Some((_, other)) => {
            let text = format!("a region of the demo has no part `{other}`");
            return Err(Failure::new(Exit::USAGE, text).hint("parts: web, db; without one: both"));
        }
    };
    Ok(Target { region: region.to_owned(), part })
}

/// What the usual failures mean when it was a demo that was looked for.
fn explain(failure: Failure, context: &Context) -> Failure {
    let server = context.server.as_deref().unwrap_or("that address");
    let status = failure.document.as_ref().and_then(|problem| problem.get("status")?.as_u64());
    if failure.exit == Exit::UNREACHABLE {
        return failure
            .hint("is `waypost demo` running? It prints the command with the --server that it has");
    }
    if status == Some(404) {
        return Failure {
            text: format!("the server at {server} is not a demo"),
            ..failure.hint("`waypost demo` prints the command with the --server that it has")
        };
    }
    failure
}
