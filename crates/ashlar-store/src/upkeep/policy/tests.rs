use ashlar_format::ids::Family;

use super::*;

/// A pool with nothing to do.
fn calm() -> Situation {
    Situation {
        halted: false,
        drive_lost: false,
        faulty: None,
        checkpoint_wanted: false,
        audit_wanted: false,
        hosts_want_window: false,
        moves_want_window: false,
        window_low: false,
        window_empty: false,
        window_can_grow: true,
        checkpoint_has_room: true,
        replay_bytes: 0,
        replay_bytes_max: 1000,
        replay_records: 0,
        replay_records_max: 1000,
        fresh_entries: 0,
        fresh_entries_max: 1000,
        index_bytes: 0,
        index_bytes_max: 1000,
        buffer_bytes: 0,
        buffer_bytes_max: 1000,
        free_segments: 100,
        reserve_mark: 6,
        collect_mark: 10,
        reclaimable: 0,
        held_back: false,
        room_wanted: false,
        inexact: false,
        fullest_shard: Some(ShardId(3)),
        spoiled_shard: None,
        thin_shard: None,
        unmerged: None,
        leaf_bytes: 0,
        leaf_bytes_max: 1 << 20,
        deleting: None,
        purge_has_room: true,
        sweep: SweepNeed::None,
        quiet_and_inexact: false,
        rebuild: None,
        is_overfull: false,
        only_columns_fit: false,
        map_turn: false,
        rebuild_turn: false,
        scrub: false,
        rebalance: false,
        victim: None,
    }
}

const GROUP: GroupKey = GroupKey { family: Family(1), gib: 0 };

#[test]
fn a_pool_with_nothing_to_do_rests() {
    assert_eq!(choose(&calm()), Task::Rest);
}

/// A rebuild that had no room, and nothing made any, was said to go on.
#[test]
fn a_rebuild_lacks_room_where_nothing_makes_any() {
    let task = RebuildTask::Collect(SegmentId(7));
    let cramped = Situation { rebuild: Some(task), free_segments: 1, ..calm() };
    let lacks = |now: &Situation| now.rebuild_lacks_room(choose(now));
    assert_eq!(choose(&cramped), Task::Rest);
    assert!(lacks(&cramped));
    assert!(!lacks(&Situation { victim: Some(SegmentId(9)), ..cramped.clone() }), "collection makes some");
    assert!(!lacks(&Situation { free_segments: 100, ..cramped.clone() }));
    assert!(!lacks(&Situation { rebuild: Some(RebuildTask::Settle), ..cramped.clone() }), "that takes none");
    assert!(!lacks(&Situation { rebuild: None, ..cramped }));
}

#[test]
fn what_hosts_wait_for_comes_first() {
    let busy = Situation {
        unmerged: Some((ShardId(1), GROUP)),
        buffer_bytes: 2000,
        free_segments: 5,
        victim: Some(SegmentId(7)),
        ..calm()
    };
    assert_eq!(choose(&Situation { drive_lost: true, ..busy.clone() }), Task::Checkpoint);
    assert_eq!(choose(&Situation { checkpoint_wanted: true, ..busy.clone() }), Task::Checkpoint);
    assert_eq!(choose(&busy), Task::Collect(SegmentId(7)));
}

#[test]
fn a_checkpoint_is_due_before_any_bound_is_exceeded_twice() {
    for due in [
        Situation { window_low: true, ..calm() },
        Situation { fresh_entries: 1001, ..calm() },
        Situation { index_bytes: 1001, ..calm() },
        Situation { replay_bytes: 1001, ..calm() },
        Situation { replay_records: 1001, ..calm() },
        Situation { hosts_want_window: true, ..calm() },
        Situation { moves_want_window: true, window_empty: true, ..calm() },
        Situation { free_segments: 4, reclaimable: 2, ..calm() },
    ] {
        assert_eq!(choose(&due), Task::Checkpoint, "{due:?}");
    }
}

#[test]
fn hosts_that_wait_for_a_segment_get_one_or_an_answer() {
    let full = Situation { hosts_want_window: true, free_segments: 5, ..calm() };
    assert_eq!(choose(&Situation { reclaimable: 1, ..full.clone() }), Task::Checkpoint);
    assert_eq!(
        choose(&Situation { victim: Some(SegmentId(7)), ..full.clone() }),
        Task::Collect(SegmentId(7))
    );
    assert_eq!(choose(&Situation { inexact: true, ..full.clone() }), Task::Sweep);
    assert_eq!(choose(&full), Task::Refuse);
}

#[test]
fn hosts_wait_for_what_comes_back_once_a_slow_batch_is_published() {
    let waiting = Situation { hosts_want_window: true, free_segments: 5, held_back: true, ..calm() };
    assert_eq!(choose(&waiting), Task::Rest);
    assert_eq!(choose(&Situation { inexact: true, ..waiting.clone() }), Task::Rest);
    assert_eq!(choose(&Situation { reclaimable: 1, ..waiting.clone() }), Task::Checkpoint);
    assert_eq!(choose(&Situation { replay_bytes: 1001, ..waiting }), Task::Checkpoint);
}

/// Seed 910001896: while hosts waited for a slow batch, upkeep rested until the time of a scrub
/// that had come, again and again, and nothing else had a turn.
#[test]
fn a_scrub_that_is_ready_is_not_waited_for() {
    let waiting = Situation { hosts_want_window: true, free_segments: 5, held_back: true, ..calm() };
    assert_eq!(choose(&Situation { scrub: true, ..waiting }), Task::Scrub);
}

#[test]
fn moves_that_wait_where_nothing_can_be_had_do_not_keep_upkeep_busy() {
    let full = Situation {
        moves_want_window: true,
        window_empty: true,
        window_can_grow: false,
        free_segments: 3,
        ..calm()
    };
    assert_eq!(choose(&full), Task::Rest);
    assert_eq!(choose(&Situation { victim: Some(SegmentId(7)), ..full }), Task::Collect(SegmentId(7)));
}

#[test]
fn what_can_wait_is_done_when_there_is_nothing_else() {
    assert_eq!(choose(&Situation { buffer_bytes: 1001, ..calm() }), Task::Distribute(ShardId(3)));
    assert_eq!(
        choose(&Situation { unmerged: Some((ShardId(1), GROUP)), ..calm() }),
        Task::Merge(ShardId(1), GROUP)
    );
    assert_eq!(choose(&Situation { deleting: Some(VolumeId(2)), ..calm() }), Task::Purge(VolumeId(2)));
}

#[test]
fn a_pool_is_declared_full_only_when_there_is_nothing_left_to_reclaim() {
    let wanted = Situation { room_wanted: true, ..calm() };
    assert_eq!(
        choose(&Situation { unmerged: Some((ShardId(1), GROUP)), ..wanted.clone() }),
        Task::Merge(ShardId(1), GROUP)
    );
    assert_eq!(choose(&Situation { reclaimable: 1, ..wanted.clone() }), Task::Checkpoint);
    assert_eq!(choose(&wanted), Task::DeclareFull);
}

#[test]
fn a_halted_pool_writes_nothing() {
    assert_eq!(choose(&Situation { halted: true, drive_lost: true, free_segments: 0, ..calm() }), Task::Rest);
}

#[test]
fn counts_are_made_exact_once_hosts_are_quiet_and_nothing_else_is_to_be_done() {
    let quiet = Situation { quiet_and_inexact: true, ..calm() };
    assert_eq!(choose(&quiet), Task::Sweep);
    assert_eq!(choose(&Situation { scrub: true, ..quiet.clone() }), Task::Scrub);
    assert_eq!(choose(&Situation { halted: true, ..quiet.clone() }), Task::Rest);
    let cornered = Situation { window_empty: true, window_can_grow: false, ..quiet };
    assert_ne!(choose(&cornered), Task::Sweep, "there is no room for pages of the map");
}

#[test]
fn a_sweep_waits_for_quiet_unless_it_is_behind() {
    let waiting = Situation { hosts_want_window: true, ..calm() };
    let idle = |now: Situation| choose(&Situation { sweep: SweepNeed::Idle, ..now });
    let behind = |now: Situation| choose(&Situation { sweep: SweepNeed::Behind, ..now });
    assert_eq!(idle(calm()), Task::Sweep);
    assert_eq!(idle(waiting.clone()), Task::Checkpoint);
    assert_eq!(behind(waiting.clone()), Task::Sweep);
    let no_room = Situation { window_empty: true, window_can_grow: false, ..waiting };
    assert_ne!(behind(no_room), Task::Sweep, "it would need a segment");
}

#[test]
fn a_pool_is_full_only_when_what_lives_is_counted_exactly() {
    let full = Situation { room_wanted: true, ..calm() };
    assert_eq!(choose(&Situation { inexact: true, ..full.clone() }), Task::Sweep);
    assert_eq!(choose(&full), Task::DeclareFull);
}

#[test]
fn the_map_is_kept_within_its_memory_while_space_is_collected() {
    let busy = Situation { buffer_bytes: 2000, free_segments: 8, victim: Some(SegmentId(7)), ..calm() };
    assert_eq!(choose(&busy), Task::Distribute(ShardId(3)));
    let at_the_reserve = Situation { free_segments: 6, ..busy };
    assert_eq!(choose(&at_the_reserve), Task::Collect(SegmentId(7)), "what hosts wait for");
    let fresh = Situation { buffer_bytes: 2000, fullest_shard: None, ..calm() };
    assert_eq!(choose(&fresh), Task::Checkpoint, "nothing can be distributed yet");
}

#[test]
fn deltas_are_compacted_before_the_map_grows_further() {
    let thin = Situation { thin_shard: Some(ShardId(5)), ..calm() };
    assert_eq!(choose(&thin), Task::Compact(ShardId(5)));
    assert_eq!(choose(&Situation { fresh_entries: 1001, ..thin.clone() }), Task::Checkpoint);
    let without_room = Situation { window_empty: true, window_can_grow: false, ..thin.clone() };
    assert_eq!(choose(&without_room), Task::Rest, "what is written again needs a segment");
    let waiting = Situation { hosts_want_window: true, free_segments: 5, ..thin.clone() };
    assert_eq!(choose(&waiting), Task::Compact(ShardId(5)), "it gives pages back");
    let spoiled = Situation { spoiled_shard: Some(ShardId(6)), ..thin };
    assert_eq!(choose(&spoiled), Task::Distribute(ShardId(6)));
}

#[test]
fn deltas_are_compacted_before_anything_is_collected() {
    let thin = Situation { thin_shard: Some(ShardId(5)), victim: Some(SegmentId(7)), ..calm() };
    let busy = Situation { free_segments: 6, ..thin };
    let waiting = Situation { hosts_want_window: true, ..busy.clone() };
    let moving = Situation { moves_want_window: true, ..busy.clone() };
    for short in [busy, waiting, moving] {
        assert_eq!(choose(&short), Task::Compact(ShardId(5)), "{short:?}");
        let without_room = Situation { window_empty: true, window_can_grow: false, ..short.clone() };
        assert_eq!(choose(&without_room), Task::Collect(SegmentId(7)), "{short:?}");
        assert_eq!(choose(&Situation { fresh_entries: 1001, ..short }), Task::Checkpoint);
    }
}

#[test]
fn the_map_has_a_turn_after_each_collection_while_there_is_no_space() {
    let large = Situation { buffer_bytes: 1001, victim: Some(SegmentId(7)), ..calm() };
    let busy = Situation { free_segments: 6, map_turn: true, ..large };
    let waiting = Situation { hosts_want_window: true, ..busy.clone() };
    let moving = Situation { moves_want_window: true, ..busy.clone() };
    for short in [busy, waiting, moving] {
        assert_eq!(choose(&short), Task::Distribute(ShardId(3)), "{short:?}");
        let hiding = Situation { unmerged: Some((ShardId(1), GROUP)), ..short.clone() };
        assert_eq!(choose(&hiding), Task::Merge(ShardId(1), GROUP), "{short:?}");
        let without_room = Situation { window_empty: true, window_can_grow: false, ..short.clone() };
        for other in [Situation { map_turn: false, ..short }, without_room] {
            assert_eq!(choose(&other), Task::Collect(SegmentId(7)), "{other:?}");
        }
    }
}

#[test]
fn a_checkpoint_that_would_become_too_large_comes_before_what_makes_it_larger() {
    let behind = Situation { sweep: SweepNeed::Behind, index_bytes: 1001, ..calm() };
    assert_eq!(choose(&behind), Task::Checkpoint);
    let waiting = Situation { moves_want_window: true, victim: Some(SegmentId(7)), ..behind };
    assert_eq!(choose(&waiting), Task::Checkpoint);
}

/// A pool whose map is never done with stayed degraded.
#[test]
fn the_rebuild_has_a_turn_after_each_task_of_the_map() {
    let task = RebuildTask::Move(SegmentId(3));
    let busy = Situation { rebuild: Some(task), unmerged: Some((ShardId(1), GROUP)), ..calm() };
    assert_eq!(choose(&busy), Task::Merge(ShardId(1), GROUP));
    assert_eq!(choose(&Situation { rebuild_turn: true, ..busy.clone() }), Task::Rebuild(task));
    // It takes room, and not the last that there is.
    assert_ne!(choose(&Situation { rebuild_turn: true, free_segments: 3, ..busy }), Task::Rebuild(task));
}

/// They were told that the pool is full after five seconds, though a sweep would have shown that it
/// is not.
#[test]
fn who_waits_for_room_is_served_beside_a_rebuild_that_has_all_of_the_time() {
    let task = RebuildTask::Move(SegmentId(3));
    let wanted = Situation { rebuild: Some(task), room_wanted: true, inexact: true, ..calm() };
    assert_eq!(choose(&wanted), Task::Sweep);
    assert_eq!(choose(&Situation { rebuild_turn: true, ..wanted.clone() }), Task::Rebuild(task));
    assert_eq!(choose(&Situation { inexact: false, ..wanted }), Task::DeclareFull);
}

/// A pool that was full when it lost a drive stayed without redundancy beside the drive that it got
/// instead.
#[test]
fn what_a_full_pool_has_lost_is_restored_to_what_nothing_else_can_use() {
    let task = RebuildTask::Move(SegmentId(3));
    let full = Situation { rebuild: Some(task), free_segments: 2, ..calm() };
    assert_eq!(choose(&full), Task::Rest);
    assert_eq!(choose(&Situation { only_columns_fit: true, ..full.clone() }), Task::Rebuild(task));
    let kept = Situation { free_segments: 5, ..full };
    assert_eq!(choose(&kept), Task::Rebuild(task), "there is nothing to collect");
    let victim = Some(SegmentId(7));
    assert_eq!(choose(&Situation { victim, ..kept.clone() }), Task::Collect(SegmentId(7)));
    assert_eq!(
        choose(&Situation { reclaimable: 1, ..kept }),
        Task::Rebuild(task),
        "too few for a checkpoint"
    );
}

#[test]
fn a_rebalance_yields_to_whatever_else_is_to_be_done() {
    let wanted = Situation { rebalance: true, ..calm() };
    assert_eq!(choose(&wanted), Task::Rebalance);
    assert_eq!(choose(&Situation { scrub: true, ..wanted.clone() }), Task::Scrub);
    assert_eq!(choose(&Situation { room_wanted: true, ..wanted.clone() }), Task::DeclareFull);
    let lost = RebuildTask::Settle;
    assert_eq!(choose(&Situation { rebuild: Some(lost), ..wanted }), Task::Rebuild(lost));
}

/// A checkpoint that found no segment for its pages halted the pool, which could have gone on.
#[test]
fn a_long_replay_waits_while_a_checkpoint_may_find_no_segment() {
    let long = Situation { replay_records: 1001, ..calm() };
    assert_eq!(choose(&long), Task::Checkpoint);
    let cornered = Situation { checkpoint_has_room: false, ..long };
    assert_eq!(choose(&cornered), Task::Rest);
    let hosts_wait = Situation { replay_records: 2000, ..cornered };
    assert_eq!(choose(&hosts_wait), Task::Checkpoint);
}
