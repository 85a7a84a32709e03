use super::*;

#[test]
fn a_sweep_waits_for_idle_times_until_it_falls_behind() {
    assert_eq!(need(0, 0), SweepNeed::Idle);
    assert_eq!(need(PROGRESS_PARTS / 2, PROGRESS_PARTS / 2), SweepNeed::Idle);
    assert_eq!(need(PROGRESS_PARTS / 2, PROGRESS_PARTS), SweepNeed::Behind);
}

#[test]
fn progress_grows_with_every_shard_and_is_whole_only_at_the_end() {
    let mut steps = vec![Step::Settle];
    steps.extend((0..SHARD_COUNT as u8).map(Step::Distribute));
    steps.extend((0..SHARD_COUNT as u8).map(|shard| Step::Merge(shard, None)));
    let progress: Vec<u64> = steps.into_iter().map(|step| Sweep { quarter: 4, step }.progress()).collect();
    assert!(progress.is_sorted());
    assert!(progress.iter().all(|parts| *parts < PROGRESS_PARTS));
}
