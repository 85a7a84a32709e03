use super::*;

const STEP: Duration = Duration::from_millis(1);
const MERGE: Duration = Duration::from_millis(30);

/// It had one step for each merge, however short that was.
#[test]
fn the_rebuild_has_as_much_time_as_all_others() {
    let turn = RebuildTurn::default();
    turn.others_took(MERGE);
    let steps = std::iter::from_fn(|| turn.is_its().then(|| turn.rebuilt_for(STEP)));
    assert_eq!(steps.count(), 30);
    turn.others_took(MERGE);
    turn.rebuilt_for(2 * MERGE);
    assert!(!turn.is_its());
}

#[test]
fn each_has_its_turn_where_no_time_passes() {
    let turn = RebuildTurn::default();
    turn.others_took(Duration::ZERO);
    assert!(turn.is_its());
    turn.rebuilt_for(Duration::ZERO);
    assert!(!turn.is_its());
}

#[test]
fn what_others_took_long_ago_is_not_made_up_for() {
    let turn = RebuildTurn::default();
    turn.others_took(100 * MERGE);
    turn.rebuilt_for(BEHIND_MAX);
    assert!(!turn.is_its());
    turn.others_took(MERGE);
    turn.others_rest();
    turn.rebuilt_for(STEP);
    assert!(!turn.is_its());
}
