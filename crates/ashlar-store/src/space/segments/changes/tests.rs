use super::*;

fn occupancy(slots: u64) -> Occupancy {
    Occupancy { slots, fragments: 1 }
}

#[test]
fn marks_are_listed_in_order_and_once() {
    let (mut one, mut other) = (Marks::default(), Marks::default());
    [700, 3, 3, 64].into_iter().for_each(|number| one.mark(number));
    [4, 64, 9000].into_iter().for_each(|number| other.mark(number));
    assert_eq!(one.union(&other), [3, 4, 64, 700, 9000]);
    one.take_over(&mut other);
    assert_eq!(one.union(&other), [3, 4, 64, 700, 9000]);
    assert_eq!(other.union(&Marks::default()), []);
    one.unmark(64);
    one.unmark(70_000);
    assert_eq!(one.union(&other), [3, 4, 700, 9000]);
}

#[test]
fn a_count_is_remembered_as_it_was_at_the_note() {
    let mut changes = Changes::default();
    let (id, page) = (SegmentId(5), SegmentId(6));
    changes.count(id, occupancy(9), false);
    assert_eq!(changes.noted(id), None, "no checkpoint is on its way");
    changes.note();
    changes.count(id, occupancy(8), false);
    changes.count(id, occupancy(7), false);
    changes.count(page, occupancy(3), true);
    assert_eq!(changes.noted(id), Some(occupancy(8)));
    assert_eq!(changes.noted(page), None, "pages count as of the end");
    changes.end_note();
    assert_eq!(changes.noted(id), None);
}

#[test]
fn a_leaf_of_counts_that_changes_after_the_note_is_written_again() {
    let mut changes = Changes::default();
    let of = |leaf: u32| SegmentId(leaf * COUNT_LEAF_NUMBERS);
    changes.count(of(1), occupancy(1), false);
    changes.note();
    changes.count(of(2), occupancy(1), false);
    assert_eq!(changes.count_leaves(), [1, 2]);
    changes.count_leaf_written(1);
    changes.count_leaf_written(2);
    assert_eq!(changes.count_leaves(), [2]);
}

#[test]
fn a_number_that_is_free_again_has_no_count_of_the_note() {
    let mut changes = Changes::default();
    let id = SegmentId(LEAF_NUMBERS);
    changes.note();
    changes.count(id, occupancy(8), false);
    changes.freed(id);
    assert_eq!(changes.noted(id), None);
    assert_eq!(changes.leaves(), [1]);
}
