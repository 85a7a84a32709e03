use super::*;

/// Collection, the checkpoints that it needs, and the compaction of what those write went round for
/// ever while hosts waited for a segment.
#[test]
fn compaction_lets_collection_begin_anew_once_until_hosts_change_something() {
    let worth = Worth::default();
    let is_over_after_compaction = || {
        worth.give_up();
        worth.compacted();
        worth.is_given_up()
    };
    assert_eq!([is_over_after_compaction(), is_over_after_compaction()], [false, true]);
    worth.content_changed();
    assert_eq!([is_over_after_compaction(), is_over_after_compaction()], [false, true]);
}

#[test]
fn collection_is_given_up_once_it_has_gained_nothing_for_a_while() {
    let worth = Worth::default();
    (0..FRUITLESS_MAX - 1).for_each(|_| worth.collects(7));
    assert!(!worth.is_given_up());
    worth.collects(8);
    assert!(!worth.is_given_up(), "it has gained something");
    (1..FRUITLESS_MAX).for_each(|_| worth.collects(8));
    assert!(worth.is_given_up());
}
