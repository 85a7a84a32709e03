use super::*;

#[test]
fn a_sweep_waits_for_idle_times_until_it_falls_behind() {
    assert_eq!(urgency(0, 0), Urgency::Idle);
    assert_eq!(urgency(PROGRESS_PARTS / 2, PROGRESS_PARTS / 2), Urgency::Idle);
    assert_eq!(urgency(PROGRESS_PARTS / 2, PROGRESS_PARTS), Urgency::Behind);
}

#[test]
fn a_sweep_goes_through_every_shard_once() {
    let steps: Vec<Sweep> =
        std::iter::successors(Some(Sweep::new(Some(4), false)), |sweep| sweep.next_shard())
            .collect();
    assert_eq!(steps.len(), SHARD_COUNT);
    assert!(steps.is_sorted_by_key(Sweep::progress));
    assert!(steps.iter().all(|sweep| sweep.progress() < PROGRESS_PARTS));
}
