use super::*;

#[test]
fn a_drive_is_silent_once_it_has_owed_answers_for_some_looks_and_given_none() {
    let silence = Silence::default();
    assert!((0..10).all(|_| !silence.look()), "it owes nothing");
    let mut debt = Debt::none(&silence);
    debt.is_owed_to(Waker::noop());
    let looks: Vec<bool> = (0..5).map(|_| silence.look()).collect();
    assert_eq!(looks, [false, false, false, true, false], "it becomes silent once");
    assert!(silence.is_long() && silence.lasts() == LOOK_INTERVAL * 4);
    silence.ends();
    assert!(!silence.is_long() && silence.lasts().is_zero());
}

/// One that has much to do is late with each answer, but gives some.
#[test]
fn a_drive_that_answers_anything_is_not_silent() {
    let silence = Silence::default();
    let mut debt = Debt::none(&silence);
    debt.is_owed_to(Waker::noop());
    for _ in 0..100 {
        (0..SILENT_LOOKS - 1).for_each(|_| _ = silence.look());
        silence.ends();
    }
    assert!(!silence.is_long());
}

/// All drives of a pool with hosts that never rest would have been taken for silent at each look,
/// and none that was given up.
#[test]
fn one_that_owes_something_at_each_look_and_answers_in_between_has_not_begun_to_be_silent() {
    let silence = Silence::default();
    let mut debt = Debt::none(&silence);
    debt.is_owed_to(Waker::noop());
    for _ in 0..3 {
        silence.ends();
        silence.look();
        assert!(!silence.has_begun());
    }
    silence.look();
    assert!(silence.has_begun());
    silence.ends();
    assert!(!silence.has_begun());
}

/// A file system that is frozen, a device that has no more room behind it: what was read before is
/// in the cache.
#[test]
fn a_drive_that_reads_on_and_does_not_write_is_silent() {
    let silences = Silences::default();
    let mut debt = Debt::none(&silences.writes);
    debt.is_owed_to(Waker::noop());
    let look = |_| {
        silences.reads.ends();
        silences.look()
    };
    assert_eq!((0..SILENT_LOOKS).filter(|_| look(())).count(), 1);
    assert!(silences.is_long() && !silences.reads.is_long());
}

#[test]
fn what_nobody_waits_for_any_more_is_not_owed() {
    let silence = Silence::default();
    let mut debt = Debt::none(&silence);
    debt.is_owed_to(Waker::noop());
    debt.is_owed_to(Waker::noop());
    assert!(silence.owes());
    drop(debt);
    assert!(!silence.owes());
}
