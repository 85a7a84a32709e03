use ashlar_format::ids::{Family, GroupKey, ShardId};

use super::*;
use crate::checkpoint::due::Gathered;
use crate::jobs::sweep::Urgency;
use crate::space::capacity::Marks;

const LITTLE: Gathered = Gathered { amount: 0, max: 1000 };
const MUCH: Gathered = Gathered { amount: 1001, max: 1000 };

/// A pool with nothing to do.
fn calm() -> Wants {
    Wants {
        is_halted: false,
        audit: false,
        faulty: None,
        checkpoint: no_checkpoint(),
        room: enough_room(),
        map: MapNeed {
            is_too_large: false,
            fullest: Some(ShardId(3)),
            spoiled: None,
            thin: None,
            unmerged: None,
        },
        map_turn: false,
        sweep: SweepNeed { for_numbers: Urgency::None, counts_are_inexact: false, is_quiet: false },
        purge: None,
        rebuild: RebuildNeed { task: None, is_overfull: false, only_columns_fit: false },
        rebuild_turn: false,
        victim: None,
        recompress: None,
        scrub: false,
        verify: false,
        rebalance: false,
    }
}

fn no_checkpoint() -> CheckpointNeed {
    CheckpointNeed {
        drive_lost: false,
        is_wanted: false,
        window_is_low: false,
        has_room: true,
        replay_bytes: LITTLE,
        replay_records: LITTLE,
        fresh_entries: LITTLE,
        index_bytes: LITTLE,
        leaf_bytes: LITTLE,
    }
}

fn enough_room() -> Room {
    Room {
        free_segments: 100,
        marks: Marks { reserve: 6, collect: 10 },
        reclaimable: 0,
        window_is_empty: false,
        window_can_grow: true,
        hosts_wait: false,
        is_held_back: false,
        moves_wait: false,
        writes_wait: false,
    }
}

/// The pool, changed so.
fn with(mut wants: Wants, change: impl FnOnce(&mut Wants)) -> Wants {
    change(&mut wants);
    wants
}

/// No segment can be had for pages of the map.
fn without_room_for_maps(wants: &mut Wants) {
    (wants.room.window_is_empty, wants.room.window_can_grow) = (true, false);
}

const GROUP: GroupKey = GroupKey { family: Family(1), gib: 0 };
const UNMERGED: Option<(ShardId, GroupKey)> = Some((ShardId(1), GROUP));
const MERGE: Task = Task::Map(MapTask::Merge(ShardId(1), GROUP));
const DISTRIBUTE: Task = Task::Map(MapTask::Distribute(ShardId(3)));
const VICTIM: Option<SegmentId> = Some(SegmentId(7));
const COLLECT: Task = Task::Collect(SegmentId(7));

#[test]
fn a_pool_with_nothing_to_do_rests() {
    assert_eq!(choose(&calm()), Task::Rest);
}

/// A rebuild that had no room, and nothing made any, was said to go on.
#[test]
fn a_rebuild_lacks_room_where_nothing_makes_any() {
    let task = RebuildTask::Collect(SegmentId(7));
    let cramped = with(calm(), |it| {
        it.rebuild.task = Some(task);
        it.room.free_segments = 1;
    });
    let lacks = |now: &Wants| now.rebuild_lacks_room(choose(now));
    assert_eq!(choose(&cramped), Task::Rest);
    assert!(lacks(&cramped));
    assert!(
        !lacks(&with(cramped.clone(), |it| it.victim = Some(SegmentId(9)))),
        "collection makes some"
    );
    assert!(!lacks(&with(cramped.clone(), |it| it.room.free_segments = 100)));
    assert!(
        !lacks(&with(cramped.clone(), |it| it.rebuild.task = Some(RebuildTask::Settle))),
        "that takes none"
    );
    assert!(!lacks(&with(cramped, |it| it.rebuild.task = None)));
}

#[test]
fn what_hosts_wait_for_comes_first() {
    let busy = with(calm(), |it| {
        it.map.unmerged = UNMERGED;
        it.map.is_too_large = true;
        it.room.free_segments = 5;
        it.victim = VICTIM;
    });
    assert_eq!(choose(&with(busy.clone(), |it| it.checkpoint.drive_lost = true)), Task::Checkpoint);
    assert_eq!(choose(&with(busy.clone(), |it| it.checkpoint.is_wanted = true)), Task::Checkpoint);
    assert_eq!(choose(&busy), COLLECT);
}

#[test]
fn a_checkpoint_is_due_before_any_bound_is_exceeded_twice() {
    for due in [
        with(calm(), |it| it.checkpoint.window_is_low = true),
        with(calm(), |it| it.checkpoint.fresh_entries = MUCH),
        with(calm(), |it| it.checkpoint.index_bytes = MUCH),
        with(calm(), |it| it.checkpoint.replay_bytes = MUCH),
        with(calm(), |it| it.checkpoint.replay_records = MUCH),
        with(calm(), |it| it.room.hosts_wait = true),
        with(calm(), |it| {
            it.room.moves_wait = true;
            it.room.window_is_empty = true;
        }),
        with(calm(), |it| {
            it.room.free_segments = 4;
            it.room.reclaimable = 2;
        }),
    ] {
        assert_eq!(choose(&due), Task::Checkpoint, "{due:?}");
    }
}

#[test]
fn hosts_that_wait_for_a_segment_get_one_or_an_answer() {
    let full = with(calm(), |it| {
        it.room.hosts_wait = true;
        it.room.free_segments = 5;
    });
    assert_eq!(choose(&with(full.clone(), |it| it.room.reclaimable = 1)), Task::Checkpoint);
    assert_eq!(choose(&with(full.clone(), |it| it.victim = VICTIM)), COLLECT);
    assert_eq!(choose(&with(full.clone(), |it| it.sweep.counts_are_inexact = true)), Task::Sweep);
    assert_eq!(choose(&full), Task::Refuse);
}

#[test]
fn hosts_wait_for_what_comes_back_once_a_slow_batch_is_published() {
    let waiting = with(calm(), |it| {
        it.room.hosts_wait = true;
        it.room.free_segments = 5;
        it.room.is_held_back = true;
    });
    assert_eq!(choose(&waiting), Task::Rest);
    assert_eq!(choose(&with(waiting.clone(), |it| it.sweep.counts_are_inexact = true)), Task::Rest);
    assert_eq!(choose(&with(waiting.clone(), |it| it.room.reclaimable = 1)), Task::Checkpoint);
    assert_eq!(choose(&with(waiting, |it| it.checkpoint.replay_bytes = MUCH)), Task::Checkpoint);
}

/// It has a share of the time of its own, and would wait for ever in a pool that is busy.
#[test]
fn a_proof_of_the_ledger_goes_on_in_a_busy_pool_but_not_before_what_hosts_wait_for() {
    let busy = with(calm(), |it| it.victim = Some(SegmentId(4)));
    assert_eq!(choose(&with(busy.clone(), |it| it.verify = true)), Task::Verify);
    let urgent = with(busy, |it| {
        it.verify = true;
        it.checkpoint.drive_lost = true;
    });
    assert_eq!(choose(&urgent), Task::Checkpoint);
}

/// Seed 910001896: while hosts waited for a slow batch, upkeep rested until the time of a scrub
/// that had come, again and again, and nothing else had a turn.
#[test]
fn a_scrub_that_is_ready_is_not_waited_for() {
    let waiting = with(calm(), |it| {
        it.room.hosts_wait = true;
        it.room.free_segments = 5;
        it.room.is_held_back = true;
    });
    assert_eq!(choose(&with(waiting, |it| it.scrub = true)), Task::Scrub);
}

#[test]
fn moves_that_wait_where_nothing_can_be_had_do_not_keep_upkeep_busy() {
    let full = with(calm(), |it| {
        it.room.moves_wait = true;
        it.room.window_is_empty = true;
        it.room.window_can_grow = false;
        it.room.free_segments = 3;
    });
    assert_eq!(choose(&full), Task::Rest);
    assert_eq!(choose(&with(full, |it| it.victim = VICTIM)), COLLECT);
}

#[test]
fn what_can_wait_is_done_when_there_is_nothing_else() {
    assert_eq!(choose(&with(calm(), |it| it.map.is_too_large = true)), DISTRIBUTE);
    assert_eq!(choose(&with(calm(), |it| it.map.unmerged = UNMERGED)), MERGE);
    assert_eq!(choose(&with(calm(), |it| it.purge = Some(VolumeId(2)))), Task::Purge(VolumeId(2)));
}

#[test]
fn a_pool_is_declared_full_only_when_there_is_nothing_left_to_reclaim() {
    let wanted = with(calm(), |it| it.room.writes_wait = true);
    assert_eq!(choose(&with(wanted.clone(), |it| it.map.unmerged = UNMERGED)), MERGE);
    assert_eq!(choose(&with(wanted.clone(), |it| it.room.reclaimable = 1)), Task::Checkpoint);
    assert_eq!(choose(&wanted), Task::DeclareFull);
}

#[test]
fn a_halted_pool_writes_nothing() {
    assert_eq!(
        choose(&with(calm(), |it| {
            it.is_halted = true;
            it.checkpoint.drive_lost = true;
            it.room.free_segments = 0;
        })),
        Task::Rest
    );
}

#[test]
fn counts_are_made_exact_once_hosts_are_quiet_and_nothing_else_is_to_be_done() {
    let quiet = with(calm(), |it| it.sweep.is_quiet = true);
    assert_eq!(choose(&quiet), Task::Sweep);
    assert_eq!(choose(&with(quiet.clone(), |it| it.scrub = true)), Task::Scrub);
    assert_eq!(choose(&with(quiet.clone(), |it| it.is_halted = true)), Task::Rest);
    let cornered = with(quiet, without_room_for_maps);
    assert_ne!(choose(&cornered), Task::Sweep, "there is no room for pages of the map");
}

#[test]
fn a_sweep_waits_for_quiet_unless_it_is_behind() {
    let waiting = with(calm(), |it| it.room.hosts_wait = true);
    let idle = |now: Wants| choose(&with(now, |it| it.sweep.for_numbers = Urgency::Idle));
    let behind = |now: Wants| choose(&with(now, |it| it.sweep.for_numbers = Urgency::Behind));
    assert_eq!(idle(calm()), Task::Sweep);
    assert_eq!(idle(waiting.clone()), Task::Checkpoint);
    assert_eq!(behind(waiting.clone()), Task::Sweep);
    let no_room = with(waiting, without_room_for_maps);
    assert_ne!(behind(no_room), Task::Sweep, "it would need a segment");
}

#[test]
fn a_pool_is_full_only_when_what_lives_is_counted_exactly() {
    let full = with(calm(), |it| it.room.writes_wait = true);
    assert_eq!(choose(&with(full.clone(), |it| it.sweep.counts_are_inexact = true)), Task::Sweep);
    assert_eq!(choose(&full), Task::DeclareFull);
}

#[test]
fn the_map_is_kept_within_its_memory_while_space_is_collected() {
    let busy = with(calm(), |it| {
        it.map.is_too_large = true;
        it.room.free_segments = 8;
        it.victim = VICTIM;
    });
    assert_eq!(choose(&busy), DISTRIBUTE);
    let at_the_reserve = with(busy, |it| it.room.free_segments = 6);
    assert_eq!(choose(&at_the_reserve), COLLECT, "what hosts wait for");
    let fresh = with(calm(), |it| {
        it.map.is_too_large = true;
        it.map.fullest = None;
    });
    assert_eq!(choose(&fresh), Task::Map(MapTask::MakeDurable), "nothing can be distributed yet");
}

#[test]
fn deltas_are_compacted_before_the_map_grows_further() {
    let thin = with(calm(), |it| it.map.thin = Some(ShardId(5)));
    assert_eq!(choose(&thin), Task::Map(MapTask::Compact(ShardId(5))));
    assert_eq!(
        choose(&with(thin.clone(), |it| it.checkpoint.fresh_entries = MUCH)),
        Task::Checkpoint
    );
    let without_room = with(thin.clone(), without_room_for_maps);
    assert_eq!(choose(&without_room), Task::Rest, "what is written again needs a segment");
    let waiting = with(thin.clone(), |it| {
        it.room.hosts_wait = true;
        it.room.free_segments = 5;
    });
    assert_eq!(choose(&waiting), Task::Map(MapTask::Compact(ShardId(5))), "it gives pages back");
    let spoiled = with(thin, |it| it.map.spoiled = Some(ShardId(6)));
    assert_eq!(choose(&spoiled), Task::Map(MapTask::Distribute(ShardId(6))));
}

#[test]
fn deltas_are_compacted_before_anything_is_collected() {
    let thin = with(calm(), |it| {
        it.map.thin = Some(ShardId(5));
        it.victim = VICTIM;
    });
    let busy = with(thin, |it| it.room.free_segments = 6);
    let waiting = with(busy.clone(), |it| it.room.hosts_wait = true);
    let moving = with(busy.clone(), |it| it.room.moves_wait = true);
    for short in [busy, waiting, moving] {
        assert_eq!(choose(&short), Task::Map(MapTask::Compact(ShardId(5))), "{short:?}");
        let without_room = with(short.clone(), without_room_for_maps);
        assert_eq!(choose(&without_room), COLLECT, "{short:?}");
        assert_eq!(choose(&with(short, |it| it.checkpoint.fresh_entries = MUCH)), Task::Checkpoint);
    }
}

#[test]
fn the_map_has_a_turn_after_each_collection_while_there_is_no_space() {
    let large = with(calm(), |it| {
        it.map.is_too_large = true;
        it.victim = VICTIM;
    });
    let busy = with(large, |it| {
        it.room.free_segments = 6;
        it.map_turn = true;
    });
    let waiting = with(busy.clone(), |it| it.room.hosts_wait = true);
    let moving = with(busy.clone(), |it| it.room.moves_wait = true);
    for short in [busy, waiting, moving] {
        assert_eq!(choose(&short), DISTRIBUTE, "{short:?}");
        let hiding = with(short.clone(), |it| it.map.unmerged = UNMERGED);
        assert_eq!(choose(&hiding), MERGE, "{short:?}");
        let without_room = with(short.clone(), without_room_for_maps);
        for other in [with(short, |it| it.map_turn = false), without_room] {
            assert_eq!(choose(&other), COLLECT, "{other:?}");
        }
    }
}

#[test]
fn a_checkpoint_that_would_become_too_large_comes_before_what_makes_it_larger() {
    let behind = with(calm(), |it| {
        it.sweep.for_numbers = Urgency::Behind;
        it.checkpoint.index_bytes = MUCH;
    });
    assert_eq!(choose(&behind), Task::Checkpoint);
    let waiting = with(behind, |it| {
        it.room.moves_wait = true;
        it.victim = VICTIM;
    });
    assert_eq!(choose(&waiting), Task::Checkpoint);
}

/// A pool whose map is never done with stayed degraded.
#[test]
fn the_rebuild_has_a_turn_after_each_task_of_the_map() {
    let task = RebuildTask::Move(SegmentId(3));
    let busy = with(calm(), |it| {
        it.rebuild.task = Some(task);
        it.map.unmerged = UNMERGED;
    });
    assert_eq!(choose(&busy), MERGE);
    assert_eq!(choose(&with(busy.clone(), |it| it.rebuild_turn = true)), Task::Rebuild(task));
    // It takes room, and not the last that there is.
    assert_ne!(
        choose(&with(busy, |it| {
            it.rebuild_turn = true;
            it.room.free_segments = 3;
        })),
        Task::Rebuild(task)
    );
}

/// They were told that the pool is full after five seconds, though a sweep would have shown that it
/// is not.
#[test]
fn who_waits_for_room_is_served_beside_a_rebuild_that_has_all_of_the_time() {
    let task = RebuildTask::Move(SegmentId(3));
    let wanted = with(calm(), |it| {
        it.rebuild.task = Some(task);
        it.room.writes_wait = true;
        it.sweep.counts_are_inexact = true;
    });
    assert_eq!(choose(&wanted), Task::Sweep);
    assert_eq!(choose(&with(wanted.clone(), |it| it.rebuild_turn = true)), Task::Rebuild(task));
    assert_eq!(choose(&with(wanted, |it| it.sweep.counts_are_inexact = false)), Task::DeclareFull);
}

/// A pool that was full when it lost a drive stayed without redundancy beside the drive that it got
/// instead.
#[test]
fn what_a_full_pool_has_lost_is_restored_to_what_nothing_else_can_use() {
    let task = RebuildTask::Move(SegmentId(3));
    let full = with(calm(), |it| {
        it.rebuild.task = Some(task);
        it.room.free_segments = 2;
    });
    assert_eq!(choose(&full), Task::Rest);
    assert_eq!(
        choose(&with(full.clone(), |it| it.rebuild.only_columns_fit = true)),
        Task::Rebuild(task)
    );
    let kept = with(full, |it| it.room.free_segments = 5);
    assert_eq!(choose(&kept), Task::Rebuild(task), "there is nothing to collect");
    assert_eq!(choose(&with(kept.clone(), |it| it.victim = VICTIM)), COLLECT);
    assert_eq!(
        choose(&with(kept, |it| it.room.reclaimable = 1)),
        Task::Rebuild(task),
        "too few for a checkpoint"
    );
}

#[test]
fn a_rebalance_yields_to_whatever_else_is_to_be_done() {
    let wanted = with(calm(), |it| it.rebalance = true);
    assert_eq!(choose(&wanted), Task::Rebalance);
    assert_eq!(choose(&with(wanted.clone(), |it| it.scrub = true)), Task::Scrub);
    assert_eq!(choose(&with(wanted.clone(), |it| it.room.writes_wait = true)), Task::DeclareFull);
    let lost = RebuildTask::Settle;
    assert_eq!(choose(&with(wanted, |it| it.rebuild.task = Some(lost))), Task::Rebuild(lost));
}

/// A checkpoint that found no segment for its pages halted the pool, which could have gone on.
#[test]
fn a_long_replay_waits_while_a_checkpoint_may_find_no_segment() {
    let long = with(calm(), |it| it.checkpoint.replay_records = MUCH);
    assert_eq!(choose(&long), Task::Checkpoint);
    let cornered = with(long, |it| it.checkpoint.has_room = false);
    assert_eq!(choose(&cornered), Task::Rest);
    let hosts_wait =
        with(cornered, |it| it.checkpoint.replay_records = Gathered { amount: 2000, max: 1000 });
    assert_eq!(choose(&hosts_wait), Task::Checkpoint);
}
