//! The checks of the configuration in force: started, paced, run out of turn, ended.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use crate::config::Config;
use crate::control::plan::{CheckIndex, Plan};
use crate::health::Observation;
use crate::probe::{CheckSpec, Prober, Runner};

/// The running checks, with the generation of the configuration that they belong to; shared by the operator, who
/// starts and ends them, and the writer's loop, which sets their pace.
#[derive(Clone, Debug, Default)]
pub struct Probing(Arc<Mutex<Option<(u64, Prober)>>>);

impl Probing {
    /// Starts these checks. Earlier ones must have been ended.
    pub fn start(
        &self,
        generation: u64,
        specs: Vec<CheckSpec>,
        sink: mpsc::Sender<(CheckIndex, Observation)>,
        runner: Runner,
    ) {
        *self.lock() = Some((generation, Prober::start(specs, sink, runner)));
    }

    /// Sets a check's pace, if it is still of that generation.
    pub fn set_fast(&self, generation: u64, check: CheckIndex, fast: bool) {
        match &*self.lock() {
            Some((running, prober)) if *running == generation => prober.set_fast(check, fast),
            _ => {}
        }
    }

    /// Runs a check out of turn; absent when there is none.
    pub async fn run_now(&self, check: CheckIndex) -> Option<Observation> {
        let run = self.lock().as_ref().and_then(|(_, prober)| prober.run_now(check));
        Some(run?.await)
    }

    /// Ends every check; nothing is observed after this.
    pub async fn stop(&self) {
        let prober = self.lock().take();
        if let Some((_, prober)) = prober {
            prober.stop().await;
        }
    }

    /// A poisoned lock is taken all the same: every write to what it holds is one assignment.
    fn lock(&self) -> MutexGuard<'_, Option<(u64, Prober)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Every check of a configuration.
pub(super) fn specs(config: &Config, plan: &Plan) -> Vec<CheckSpec> {
    let probes: BTreeMap<&str, _> = config.probes.iter().map(|probe| (&*probe.name, probe)).collect();
    let checks = (0..).zip(&plan.checks);
    let specs = checks.filter_map(|(index, check)| {
        let probe = probes.get(&*check.probe)?;
        Some(CheckSpec::new(index, probe, &config.regions, check.region, check.address))
    });
    specs.collect()
}
