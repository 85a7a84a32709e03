use super::*;
use crate::types::Family;

/// A pool with nothing to do.
fn calm() -> Situation {
    Situation {
        halted: false,
        drive_lost: false,
        checkpoint_wanted: false,
        audit_wanted: false,
        window_wanted: false,
        window_low: false,
        replay_bytes: 0,
        replay_bytes_max: 1000,
        fresh_entries: 0,
        fresh_entries_max: 1000,
        buffer_entries: 0,
        buffer_entries_max: 1000,
        free_segments: 100,
        collect_mark: 10,
        reclaimable: 0,
        room_wanted: false,
        fullest_shard: ShardId(3),
        unmerged: None,
        deleting: None,
        victim: None,
    }
}

const GROUP: GroupKey = GroupKey { family: Family(1), gib: 0 };

#[test]
fn a_pool_with_nothing_to_do_rests() {
    assert_eq!(choose(&calm()), Task::Rest);
}

#[test]
fn what_hosts_wait_for_comes_first() {
    let busy = Situation {
        unmerged: Some((ShardId(1), GROUP)),
        buffer_entries: 2000,
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
        Situation { replay_bytes: 1001, ..calm() },
        Situation { window_wanted: true, ..calm() },
        Situation { free_segments: 4, reclaimable: 2, ..calm() },
    ] {
        assert_eq!(choose(&due), Task::Checkpoint, "{due:?}");
    }
}

#[test]
fn where_a_checkpoint_would_free_nothing_collection_comes_before_the_window() {
    let short = Situation { window_wanted: true, free_segments: 5, victim: Some(SegmentId(7)), ..calm() };
    assert_eq!(choose(&short), Task::Collect(SegmentId(7)));
    assert_eq!(choose(&Situation { reclaimable: 1, ..short }), Task::Checkpoint);
}

#[test]
fn what_can_wait_is_done_when_there_is_nothing_else() {
    assert_eq!(choose(&Situation { buffer_entries: 1001, ..calm() }), Task::Distribute(ShardId(3)));
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
