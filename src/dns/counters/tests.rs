use super::*;

#[test]
fn every_type_is_counted_at_its_own_place() {
    for (place, qtype) in QueryType::ALL.into_iter().enumerate() {
        assert_eq!(qtype as usize, place);
    }
    assert_eq!(QueryType::of(65), QueryType::Https);
    assert_eq!(QueryType::of(46), QueryType::Other);
}

#[test]
fn a_slot_beyond_the_last_counts_at_the_overflow_position() {
    let counters = Counters::new();
    let slot = Slot { mapped: 65_535, unmapped: 65_536 };
    counters.count_decision(slot, By::Country);
    counters.count_decision(slot, By::Unmapped);
    assert_eq!((counters.decisions(65_535), counters.decisions(0), counters.decisions(70_000)), (1, 1, 0));
}

#[test]
fn a_worker_whose_decisions_nobody_counts_has_no_places_for_them() {
    let worker = Worker::uncounted();
    worker.counters().count_decision(Slot { mapped: 1, unmapped: 2 }, By::Country);
    let counters = worker.shared();
    assert_eq!((counters.decisions.len(), counters.decisions(0), counters.decisions(1)), (0, 0, 0));
}

#[test]
fn a_batch_counts_each_answer_with_the_mean_duration() {
    let mut worker = Worker::new();
    worker.record_batch(32, 32 * 250);
    worker.record_batch(4, 4 * 251);
    worker.record_batch(1, u64::MAX);
    worker.record_batch(0, 7);
    let counters = worker.shared();
    let durations = counters.durations();
    assert_eq!((durations[0], durations[1], durations[16]), (32, 4, 1));
    assert_eq!(durations.iter().sum::<u64>(), 37);
}

#[test]
fn workers_are_added_up_by_whoever_reads() {
    let workers = [Worker::new(), Worker::new()];
    workers.iter().for_each(|worker| worker.counters().count_silence(Silence::Short));
    let shared = workers.each_ref().map(Worker::shared);
    let counters = shared.iter().map(AsRef::as_ref);
    assert_eq!(sum(counters, |counters| counters.silences(Silence::Short)), 2);
}

#[test]
fn an_embedded_ipv4_peer_is_ipv4() {
    assert_eq!(Family::of("::ffff:192.0.2.1".parse().unwrap()), Family::V4);
    assert_eq!(Family::of("2001:db8::1".parse().unwrap()), Family::V6);
}
