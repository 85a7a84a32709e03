use std::collections::BTreeSet;

use ashlar_block::DriveId;

use super::*;

fn report(state: MoveState, started_at: Option<u64>, finished_at: Option<u64>) -> MoveReport {
    let (kind, drives) = (MoveKind::Evacuation, BTreeSet::from([DriveId(2)]));
    let (bytes_moved, part_done) = (4096, 0.5);
    MoveReport { kind, state, drives, started_at, finished_at, bytes_moved, part_done }
}

#[test]
fn a_move_that_has_ended_says_how_and_how_long_it_took_if_its_beginning_is_known() {
    let stopped = data_move(&report(MoveState::Stopped, Some(1000), Some(1030)));
    assert!(stopped.is("stopped") && stopped.problem.is_none(), "{stopped:?}");
    assert_eq!((stopped.took_seconds, stopped.done_percent), (Some(30), 50.0));
    assert_eq!(
        (stopped.kind, &*stopped.drives),
        (JobKind::Evacuation, &["drive-2".to_owned()][..])
    );
    let failed = data_move(&report(MoveState::Failed("lost".to_owned()), None, Some(1030)));
    assert!(failed.is("failed") && failed.problem.as_deref() == Some("lost"), "{failed:?}");
    assert_eq!((failed.took_seconds, failed.started_at), (None, None));
    let running = data_move(&report(MoveState::Running, Some(1000), None));
    assert_eq!((running.is("running"), running.took_seconds), (true, None));
}
