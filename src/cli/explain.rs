//! `waypost explain`: why this client gets this answer, from the running server or from the files.

use std::fmt::Write as _;

use serde::Deserialize;

use super::client::{self, Client};
use super::table::Table;
use super::{Context, Exit, Failure, Said, args, json_line, offline};
use crate::control::explain::{CannotExplain, explain};
use crate::serve::admin::question;

/// The `explain` document, as far as it is shown.
#[derive(Debug, Deserialize)]
struct View {
    name: String,
    #[serde(rename = "type")]
    rtype: String,
    client: String,
    source: String,
    located: Option<Located>,
    decision: Option<Decision>,
    #[serde(default)]
    rcode: String,
    answers: Vec<String>,
    ttl: Option<u32>,
    ttl_because: Option<String>,
    serial: u64,
}

#[derive(Debug, Deserialize)]
struct Located {
    by: String,
    detail: String,
    home: String,
    scope: u8,
}

#[derive(Debug, Deserialize)]
struct Decision {
    #[serde(default)]
    service: String,
    region: String,
    reason: String,
    trace: Vec<Step>,
}

#[derive(Debug, Deserialize)]
struct Step {
    region: String,
    state: String,
    verdict: String,
    why: String,
}

pub(super) fn run(context: &Context, args: &args::Explain) -> Result<Said, Failure> {
    let (body, notes) =
        if args.offline { from_files(context, args)? } else { (from_server(context, args)?, Vec::new()) };
    let out = if context.json {
        String::from_utf8_lossy(&body).trim_end().to_owned() + "\n"
    } else {
        text(&client::parse(&body)?)
    };
    Ok(Said { out, notes, exit: Exit::DONE })
}

fn from_server(context: &Context, args: &args::Explain) -> Result<Vec<u8>, Failure> {
    let mut query = vec![("name", args.name.as_str()), ("type", &args.rtype), ("client", &args.client)];
    query.extend(args.down.iter().map(|region| ("down", region.as_str())));
    Client::new(context)?.get("/api/v1/explain", &query)
}

fn from_files(context: &Context, args: &args::Explain) -> Result<(Vec<u8>, Vec<String>), Failure> {
    let state = offline::read(context)?;
    let plan = &state.snapshot.plan;
    let question = question(plan, &args.name, Some(&args.rtype), &args.client, &args.down)
        .map_err(|error| Failure::new(Exit::USAGE, error.to_string()))?;
    let explanation = explain(&state.snapshot, &question, state.now).map_err(|error| {
        let exit = if matches!(error, CannotExplain::BadName(_)) { Exit::USAGE } else { Exit::BAD };
        Failure::new(exit, error.to_string())
    })?;
    Ok((json_line(&explanation).into_bytes(), state.notes))
}

fn text(view: &View) -> String {
    let source = if view.source == "ecs" { "client subnet" } else { "source address" };
    let mut text = format!("{} {} for {} ({source})\n\n", view.name, view.rtype, view.client);
    let mut table = Table::new(&[]);
    if let Some(located) = &view.located {
        let detail = if located.detail.is_empty() { String::new() } else { format!(" {}", located.detail) };
        table.row(["home".to_owned(), format!("{} by {}{detail}", located.home, located.by)]);
        table.row(["scope".to_owned(), format!("/{}", located.scope)]);
    }
    match &view.decision {
        Some(decision) => {
            table.row(["decision".to_owned(), format!("{} ({})", decision.region, decision.reason)]);
            if decision.service != view.name {
                table.row(["service".to_owned(), decision.service.clone()]);
            }
        }
        None => table.row(["decision", "none: the zone's own data, the same for everybody"]),
    }
    if let Some(ttl) = view.ttl {
        let because = view.ttl_because.as_deref().map(|because| format!(": {because}")).unwrap_or_default();
        table.row(["ttl".to_owned(), format!("{ttl} s{because}")]);
    }
    table.row(["serial".to_owned(), view.serial.to_string()]);
    text.push_str(&table.render(0));
    if let Some(decision) = &view.decision {
        let mut steps = Table::new(&["REGION", "STATE", "VERDICT", "WHY"]);
        for step in &decision.trace {
            steps.row([&step.region, &step.state, &step.verdict, &step.why].map(String::as_str));
        }
        let _ = write!(text, "\n{}", steps.render(0));
    }
    let _ = writeln!(text, "\n{}", if view.rcode.is_empty() { "answer" } else { &view.rcode });
    for answer in &view.answers {
        let _ = writeln!(text, "  {}", answer.replace(char::is_control, " "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_reads_from_the_client_to_the_answer() {
        let document = r#"{"name":"www.gslb.example.com","type":"A","client":"114.114.114.0/24","source":"ecs",
            "located":{"by":"country","detail":"CN","home":"cn","scope":24},
            "decision":{"service":"www.gslb.example.com","region":"eu","reason":"fallback","trace":[
                {"region":"cn","state":"failed","verdict":"skipped","why":"failed"},
                {"region":"eu","state":"healthy","verdict":"chosen","why":"fallback"}]},
            "rcode":"NOERROR","answers":["www.gslb.example.com 5 A 198.51.100.11"],"ttl":5,
            "ttl_because":"a check has results pending","serial":7}"#;
        let want = "www.gslb.example.com A for 114.114.114.0/24 (client subnet)

home      cn by country CN
scope     /24
decision  eu (fallback)
ttl       5 s: a check has results pending
serial    7

REGION  STATE    VERDICT  WHY
cn      failed   skipped  failed
eu      healthy  chosen   fallback

NOERROR
  www.gslb.example.com 5 A 198.51.100.11
";
        assert_eq!(text(&serde_json::from_str(document).unwrap()), want);
    }
}
