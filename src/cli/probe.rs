//! `waypost probe`: one run now, with the time that each step took.

use super::args::Probe;
use super::client::{self, Client};
use super::table::Table;
use super::{Context, Exit, Failure, Said, json_line};
use crate::serve::admin::{ProbeBody, ProbeRun, ProbeRuns};

pub(super) fn run(context: &Context, args: Probe) -> Result<Said, Failure> {
    let body = ProbeBody { name: args.name, region: args.region };
    let answer = Client::new(context)?.post("/api/v1/probe", &body)?;
    let runs: ProbeRuns = client::parse(&answer)?;
    let good =
        !runs.runs.is_empty() && runs.runs.iter().all(|run| matches!(&*run.verdict, "ok" | "degraded"));
    let out = if context.json { json_line(&runs) } else { text(&runs.runs) };
    Ok(Said { out, notes: Vec::new(), exit: if good { Exit::DONE } else { Exit::BAD } })
}

fn text(runs: &[ProbeRun]) -> String {
    let mut table = Table::new(&["PROBE", "REGION", "ENDPOINT", "RESULT", "MS", "STEPS", "WHY"]);
    for run in runs {
        let steps = run.steps.iter().map(|step| format!("{} {}", step.name, step.ms));
        table.row([
            run.probe.clone(),
            run.region.clone(),
            run.address.map(|address| address.to_string()).unwrap_or_default(),
            run.verdict.clone(),
            run.duration_ms.to_string(),
            steps.collect::<Vec<_>>().join(", "),
            run.detail.clone(),
        ]);
    }
    table.render(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::admin::ProbeRunStep;

    #[test]
    fn a_run_is_shown_with_the_time_of_its_steps() {
        let step = |name: &str, ms| ProbeRunStep { name: name.into(), ms };
        let run = ProbeRun {
            probe: "web".into(),
            region: "cn".into(),
            address: Some([192, 0, 2, 11].into()),
            verdict: "failed".into(),
            detail: "status 503".into(),
            duration_ms: 12,
            lag_s: None,
            steps: vec![step("connect", 3), step("request", 9)],
        };
        let want = "PROBE  REGION  ENDPOINT    RESULT  MS  STEPS                 WHY
web    cn      192.0.2.11  failed  12  connect 3, request 9  status 503
";
        assert_eq!(text(&[run]), want);
    }
}
