use super::*;

#[test]
fn what_is_left_of_a_scrub_follows_from_what_is_done() {
    let report = |state, part_done| {
        let (started_at, bytes_checked, finished_at, remaining) = (1000, 3 << 20, None, None);
        let (findings, drives) = Default::default();
        ScrubReport {
            state,
            started_at,
            finished_at,
            part_done,
            remaining,
            bytes_checked,
            findings,
            drives,
        }
    };
    assert_eq!(left_to_scrub(&report(ScrubState::Running, 0.75)), Some(1 << 20));
    assert_eq!(left_to_scrub(&report(ScrubState::Running, 0.0)), None, "nothing is known yet");
    assert_eq!(left_to_scrub(&report(ScrubState::Finished, 1.0)), None);
}

#[test]
fn a_trim_says_how_much_is_done_and_names_the_drives_that_it_leaves_out() {
    let of = |bytes_total, bytes_done, finished_at| TrimReport {
        started_at: 1000,
        finished_at,
        is_stopped: false,
        bytes_total,
        bytes_done,
        failed: 0,
        skipped_drives: Default::default(),
        remaining: None,
    };
    let running = trim(&of(4096, 1024, None), &[]);
    assert!(running.is("running") && running.finished_at.is_none());
    assert_eq!((running.done_percent, running.left_bytes, running.free_bytes), (25.0, 3072, 4096));
    let stopped = trim(&TrimReport { is_stopped: true, ..of(4096, 1024, Some(1001)) }, &[]);
    assert!(stopped.is("stopped") && stopped.left_bytes == 3072, "{stopped:?}");
    let nothing = trim(&of(0, 0, Some(1001)), &[]);
    assert!(nothing.is("finished"));
    assert_eq!((nothing.done_percent, nothing.left_bytes), (100.0, 0));
}
