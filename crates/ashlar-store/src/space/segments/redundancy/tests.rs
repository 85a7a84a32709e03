use ashlar_format::ids::Lsn;
use ashlar_format::table::{Occupancy, SegmentKind, SegmentState, TableEntry};
use ashlar_raid::{ChunkAddr, Geometry};

use super::super::{Numbers, Segment, Stripe};
use super::*;

/// A sealed segment on these drives.
fn sealed(id: u32, drives: &[u16], parity: usize) -> TableEntry {
    let columns = drives.iter().map(|drive| ChunkAddr { drive: DriveId(*drive), chunk: id });
    let segment =
        Segment::reserved(Geometry::new(columns.collect(), parity), SegmentKind::Data, Lsn(64));
    let live = Occupancy { slots: 9, fragments: 1 };
    TableEntry { state: SegmentState::Sealed, live, rows: 8, ..segment.table_entry(SegmentId(id)) }
}

fn segments(table: Vec<TableEntry>) -> Segments {
    let chunks = (0..6).map(|drive| (DriveId(drive), 20));
    let mut segments =
        Segments::new(Stripe { data: 2, parity: 2 }, 64, chunks, Numbers::fresh(1 << 10));
    segments.load(table).expect("they can be");
    segments
}

fn drives<const N: usize>(drives: [u16; N]) -> BTreeSet<DriveId> {
    drives.map(DriveId).into()
}

#[test]
fn parity_is_used_up_by_absent_drives_and_by_columns_that_are_lacking() {
    let table =
        vec![sealed(1, &[0, 1, 2, 3], 2), sealed(2, &[1, 2, 3, 4], 2), sealed(3, &[4, 5], 1)];
    let mut segments = segments(table);
    let whole = segments.redundancy(&drives([]), &BTreeSet::new());
    assert_eq!((whole.parity_used, whole.has_thin), (1, true), "of the last one");
    assert_eq!(whole.parity_used_on(DriveId(0)), 0);
    let lost = segments.redundancy(&drives([0, 1]), &BTreeSet::new());
    assert_eq!(lost.parity_used, 2);
    assert_eq!([2, 4, 5].map(|drive| lost.parity_used_on(DriveId(drive))), [2, 1, 1]);
    assert!(segments.summary_is_right());
    let back = segments.redundancy(&drives([]), &BTreeSet::new());
    assert_eq!(back.parity_used, 1);
}

#[test]
fn what_is_freed_counts_no_more() {
    let mut segments = segments(vec![sealed(1, &[0, 1, 2, 3], 2), sealed(2, &[4, 5], 1)]);
    let freed = BTreeSet::from([SegmentId(2)]);
    let left = segments.redundancy(&drives([0]), &freed);
    assert_eq!((left.parity_used, left.has_thin), (1, false));
    assert!(left.uses(DriveId(0)) && !left.uses(DriveId(5)));
    segments.free(SegmentId(2));
    let left = segments.redundancy(&drives([0]), &BTreeSet::new());
    assert!(!left.has_thin && !left.uses(DriveId(5)));
}

/// It is asked at each checkpoint, and a pool may have a million segments.
#[test]
fn a_column_that_is_moved_changes_what_is_used_up_without_a_look_at_others() {
    let mut segments = segments(vec![sealed(1, &[0, 1, 2, 3], 2), sealed(2, &[0, 1, 2, 4], 2)]);
    assert_eq!(segments.redundancy(&drives([0]), &BTreeSet::new()).parity_used_on(DriveId(4)), 1);
    segments.begin_move(SegmentId(2), &[0], &[DriveId(5)]).expect("there is room");
    segments.end_move(SegmentId(2), Lsn(128));
    let moved = segments.redundancy(&drives([0]), &BTreeSet::new());
    assert_eq!([3, 4, 5].map(|drive| moved.parity_used_on(DriveId(drive))), [1, 0, 0]);
    assert!(segments.summary_is_right());
}

/// A drive that was lost had all segments of a pool counted in one turn: with a million of them
/// hosts waited for a quarter of a second.
#[test]
fn a_loss_is_counted_in_slices_while_segments_come_and_go() {
    let table = (1..6).map(|id| sealed(id, &[0, 1, 2, 3], 2)).collect();
    let mut segments = segments(table);
    assert!(segments.recount_redundancy(&drives([0]), 2));
    segments.free(SegmentId(1));
    segments.free(SegmentId(4));
    for id in [2, 3] {
        segments.begin_move(SegmentId(id), &[0], &[DriveId(4)]).expect("there is room");
        segments.end_move(SegmentId(id), Lsn(128));
    }
    assert!(segments.summary_is_right());
    assert!(
        segments.recount_redundancy(&drives([0, 1]), 1),
        "one by one, and then for the other drive"
    );
    while segments.recount_redundancy(&drives([0, 1]), 1) {}
    assert!(segments.summary_is_right());
    let lost = segments.redundancy(&drives([0, 1]), &BTreeSet::new());
    assert_eq!([4, 0].map(|drive| lost.parity_used_on(DriveId(drive))), [1, 2]);
    assert!(!segments.recount_redundancy(&drives([0, 1]), 1), "nothing has changed");
}
