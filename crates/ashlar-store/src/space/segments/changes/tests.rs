use ashlar_block::DriveId;
use ashlar_format::ids::Lsn;
use ashlar_format::table::SegmentKind;
use ashlar_raid::{ChunkAddr, Geometry};

use super::*;

fn occupancy(slots: u64) -> Occupancy {
    Occupancy { slots, fragments: 1 }
}

/// A segment of which so much lives, that a leaf lists.
fn listed(slots: u64, kind: SegmentKind) -> Segment {
    let columns = [ChunkAddr { drive: DriveId(0), chunk: 0 }].into();
    let segment = Segment::reserved(Geometry::new(columns, 0), kind, Lsn(64));
    Segment { live: occupancy(slots), is_listed: true, ..segment }
}

fn data(slots: u64) -> Segment {
    listed(slots, SegmentKind::Data)
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
    changes.count_of(id, &data(9));
    assert_eq!(changes.noted(id), None, "no checkpoint is on its way");
    changes.note();
    changes.count_of(id, &data(8));
    changes.count_of(id, &data(7));
    changes.count_of(page, &listed(3, SegmentKind::Table));
    assert_eq!(changes.noted(id), Some(occupancy(8)));
    assert_eq!(changes.noted(page), None, "pages count as of the end");
    changes.end_note();
    assert_eq!(changes.noted(id), None);
}

#[test]
fn a_leaf_of_counts_that_changes_after_the_note_is_written_again() {
    let mut changes = Changes::default();
    let of = |leaf: u32| SegmentId(leaf * COUNT_LEAF_NUMBERS);
    changes.count_of(of(1), &data(1));
    changes.note();
    changes.count_of(of(2), &data(1));
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
    changes.count_of(id, &data(8));
    changes.freed(id);
    assert_eq!(changes.noted(id), None);
    assert_eq!(changes.leaves(), [1]);
}

/// Every checkpoint of a pool that is written to would have dirtied leaves for the next one.
#[test]
fn what_no_leaf_lists_changes_no_leaf_of_counts() {
    let mut changes = Changes::default();
    let open = Segment { is_listed: false, ..data(8) };
    changes.count_of(SegmentId(5), &open);
    assert_eq!(changes.count_leaves(), []);
    changes.note();
    changes.count_of(SegmentId(5), &Segment { kind: SegmentKind::Table, ..open });
    assert_eq!(changes.count_leaves(), []);
}
