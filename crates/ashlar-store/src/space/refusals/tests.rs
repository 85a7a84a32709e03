use super::*;

/// A pool that refused every write said that it was online.
#[test]
fn a_refusal_holds_until_what_was_refused_fits() {
    let refusals = Refusals::default();
    assert!(!refusals.hold(4000, true), "nothing was refused");
    refusals.refused(40_000);
    refusals.refused(5000);
    assert!(refusals.hold(39_999, true));
    assert!(!refusals.hold(40_000, true));
    assert!(!refusals.hold(4000, true), "nothing was refused since");
}

#[test]
fn a_refusal_for_want_of_a_segment_holds_until_hosts_may_open_one() {
    let refusals = Refusals::default();
    refusals.refused_for_segment();
    assert!(refusals.hold(1 << 30, false) && refusals.hold_for_segment());
    assert!(!refusals.hold(1 << 30, true) && !refusals.hold_for_segment());
    assert!(!refusals.hold(1 << 30, false), "nothing was refused since");
}

/// Only who asked for the state of the pool noticed that writes fitted again. Where nobody had, a
/// pool that took every write was full as soon as collection had to give the next segment back.
#[test]
fn a_refusal_is_over_once_what_was_refused_is_done() {
    let refusals = Refusals::default();
    refusals.refused_for_segment();
    refusals.segment_opened();
    assert!(!refusals.hold(1 << 30, false));
    refusals.refused(40_000);
    refusals.admitted(39_999);
    assert!(refusals.hold(4000, true));
    refusals.admitted(40_000);
    assert!(!refusals.hold(4000, true));
}

#[test]
fn a_pool_is_not_nearly_full_by_turns() {
    let refusals = Refusals::default();
    let said = [200, 99, 110, 124, 125, 110, 99].map(|room| refusals.is_nearly_full(room, 100));
    assert_eq!(said, [false, true, true, true, false, false, true]);
}
