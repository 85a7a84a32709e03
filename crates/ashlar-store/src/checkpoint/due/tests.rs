use super::*;

fn nothing() -> CheckpointNeed {
    let little = Gathered { amount: 0, max: 1000 };
    CheckpointNeed {
        drive_lost: false,
        is_wanted: false,
        window_is_low: false,
        has_room: true,
        replay_bytes: little,
        replay_records: little,
        fresh_entries: little,
        index_bytes: little,
        leaf_bytes: little,
    }
}

const MUCH: Gathered = Gathered { amount: 1001, max: 1000 };

#[test]
fn nothing_asks_for_a_checkpoint_of_a_pool_at_rest() {
    assert!(!nothing().is_urgent() && !nothing().is_due());
}

#[test]
fn a_checkpoint_that_would_become_too_large_is_urgent() {
    for large in [
        CheckpointNeed { fresh_entries: MUCH, ..nothing() },
        CheckpointNeed { index_bytes: MUCH, ..nothing() },
        CheckpointNeed { leaf_bytes: MUCH, ..nothing() },
        CheckpointNeed { drive_lost: true, ..nothing() },
        CheckpointNeed { is_wanted: true, ..nothing() },
    ] {
        assert!(large.is_urgent(), "{large:?}");
    }
}

#[test]
fn a_checkpoint_is_due_before_a_replay_becomes_long() {
    for due in [
        CheckpointNeed { window_is_low: true, ..nothing() },
        CheckpointNeed { replay_bytes: MUCH, ..nothing() },
        CheckpointNeed { replay_records: MUCH, ..nothing() },
    ] {
        assert!(due.is_due() && !due.is_urgent(), "{due:?}");
    }
}

/// A checkpoint that found no segment for its pages halted the pool, which could have gone on.
#[test]
fn a_long_replay_waits_while_a_checkpoint_may_find_no_segment() {
    let cornered = CheckpointNeed { has_room: false, replay_records: MUCH, ..nothing() };
    assert!(!cornered.is_due());
    let hosts_wait = Gathered { amount: 2000, max: 1000 };
    assert!(CheckpointNeed { replay_records: hosts_wait, ..cornered }.is_due());
}
