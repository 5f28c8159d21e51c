//! The text of whole states.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::config::admin::AdminFile;
use crate::control::desk::Desk;
use crate::control::recorder::Recorder;
use crate::control::{Clock, Now, desk};
use crate::health::{Evidence, Mono, Observation, Verdict};
use crate::serve::admin::fixture::loaded;

/// The copy of a desk that has taken these observations, a second apart.
fn parts(loaded: crate::control::load::Loaded, observations: &[(u32, Verdict)]) -> StatusParts {
    let start = Clock::start().now();
    let at = |s: u64| Now { mono: Mono(start.mono.0 + s * 1_000), wall_ms: start.wall_ms + s as i64 * 1_000 };
    let mut desk = Desk::new(loaded, AdminFile::default(), None, Recorder::nowhere(), start);
    for (s, &(check, verdict)) in (1..).zip(observations) {
        let observation = Observation::new(verdict, "", std::time::Duration::from_millis(250));
        desk.take(at(s), desk::Message::Observed { generation: 1, check, observation });
    }
    let (asker, mut answer) = tokio::sync::oneshot::channel();
    desk.take(at(60), desk::Message::Ask(asker));
    *answer.try_recv().unwrap()
}

#[test]
fn a_dead_region_shows_in_every_family_that_it_concerns() {
    let dead = Verdict::Failed(Evidence::Plain);
    let parts = parts(
        loaded(),
        &[(0, dead), (1, dead), (2, Verdict::Ok), (0, dead), (1, dead), (0, dead), (1, dead)],
    );
    let samples = lint::check(&render(&parts, &Own::default(), None));
    let www = "service=\"www.gslb.example.com\"";
    for (series, value) in [
        (format!("waypost_region_state{{{www},region=\"cn\",state=\"failed\"}}"), "1"),
        (format!("waypost_region_state{{{www},region=\"cn\",state=\"healthy\"}}"), "0"),
        (format!("waypost_region_state{{{www},region=\"eu\",state=\"healthy\"}}"), "1"),
        (format!("waypost_fail_open{{{www}}}"), "0"),
        ("waypost_probe_up{probe=\"web\",region=\"cn\",endpoint=\"192.0.2.11\"}".into(), "0"),
        ("waypost_probe_up{probe=\"web\",region=\"eu\",endpoint=\"198.51.100.11\"}".into(), "1"),
        ("waypost_probe_runs_total{probe=\"web\",region=\"cn\",result=\"failed\"}".into(), "6"),
        ("waypost_probe_duration_seconds_sum{probe=\"web\"}".into(), "1.75"),
        ("waypost_probe_duration_seconds_count{probe=\"web\"}".into(), "7"),
        ("waypost_health_age_seconds{}".into(), "53"),
    ] {
        assert_eq!(samples.get(&series).map(String::as_str), Some(value), "{series}");
    }
    let unseen = "waypost_probe_up{probe=\"web\",region=\"us\",endpoint=\"203.0.113.11\"}";
    assert!(!samples.contains_key(unseen), "what was never seen is neither up nor down");
    assert!(samples.keys().any(|series| series.starts_with("waypost_region_transitions_total{")));
}

#[test]
fn nobody_able_is_fail_open_and_a_warning() {
    let dead = Verdict::Failed(Evidence::Explicit);
    let all: Vec<(u32, Verdict)> = (0..3).flat_map(|_| (0..4).map(|check| (check, dead))).collect();
    let samples = lint::check(&render(&parts(loaded(), &all), &Own::default(), None));
    assert_eq!(samples["waypost_fail_open{service=\"www.gslb.example.com\"}"], "1");
    assert_eq!(samples["waypost_warning{code=\"fail_open\"}"], "1");
}

#[test]
fn without_services_one_by_one_their_states_are_summed() {
    let mut loaded = loaded();
    Arc::make_mut(&mut loaded.config).admin.metrics_per_service = false;
    let samples = lint::check(&render(&parts(loaded, &[]), &Own::default(), None));
    assert_eq!(samples["waypost_region_state{service=\"all\",region=\"cn\",state=\"healthy\"}"], "2");
    assert_eq!(samples["waypost_region_state{service=\"all\",region=\"eu\",state=\"healthy\"}"], "1");
    assert_eq!(samples["waypost_fail_open{service=\"all\"}"], "0");
    assert!(!samples.keys().any(|series| series.contains("gslb.example.com")));
}

proptest! {
    #[test]
    fn any_label_value_leaves_the_text_readable(value in any::<String>()) {
        let mut text = Text::default();
        text.family("x", Kind::Gauge, "Any.").put(&[("a", &value), ("b", "c")], 1);
        // Only the newline ends a line of the format.
        let text = text.finish();
        prop_assert_eq!(text.matches('\n').count(), 3);
        if !value.contains('\r') {
            lint::check(&text);
        }
    }
}
