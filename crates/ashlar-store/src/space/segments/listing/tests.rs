use ashlar_block::DriveId;
use ashlar_format::ids::Lsn;
use ashlar_format::location::{Codec, Location};
use ashlar_format::table::SegmentKind;

use super::super::{Claim, Numbers, Shape, Stripe};
use super::*;

const DRIVES: [DriveId; 3] = [DriveId(0), DriveId(1), DriveId(2)];

/// Segments of which `sealed` are written and sealed, and one is open.
fn segments(sealed: u32) -> Segments {
    let chunks = DRIVES.map(|drive| (drive, 100));
    let mut segments = Segments::new(
        Stripe { data: 2, parity: 1 },
        64,
        chunks.into_iter(),
        Numbers::fresh(1 << 10),
    );
    let window = segments.form_window(Shape::Striped, sealed as usize + 3, &DRIVES, Lsn(64));
    segments.window_durable(Shape::Striped, window);
    for number in 1..=sealed + 1 {
        let (id, _) =
            segments.open(Shape::Striped, SegmentKind::Data, Claim::Last).expect("reserved");
        assert_eq!(id.0, number);
        segments.appended(id, Lsn(64), Lsn(128), 8);
        segments.credit(fragment(number, 0));
        segments.credit(fragment(number, 1));
        if number <= sealed {
            segments.seal(id, 5);
        }
    }
    segments
}

fn fragment(segment: u32, slot: u32) -> Location {
    Location::new(SegmentId(segment), 0, slot, 64, Codec::Raw)
}

fn discard(segments: &mut Segments, segment: u32) {
    segments.discard(SegmentId(segment), fragment(segment, 0).into());
}

/// Writes all leaves that have changed, as a checkpoint does.
fn write(segments: &mut Segments) -> (usize, usize) {
    let leaves = segments.changed_leaves();
    for leaf in &leaves {
        segments.list(*leaf);
        segments.leaf_written(*leaf);
    }
    let count_leaves = segments.changed_count_leaves();
    count_leaves.iter().for_each(|leaf| segments.count_leaf_written(*leaf));
    (leaves.len(), count_leaves.len())
}

fn numbers(entries: &[TableEntry]) -> Vec<u32> {
    entries.iter().map(|entry| entry.id.0).collect()
}

#[test]
fn a_segment_is_apart_until_a_leaf_lists_it() {
    let mut segments = segments(20);
    segments.note();
    assert_eq!(numbers(&segments.apart()), (1..=23).collect::<Vec<_>>());
    assert_eq!(segments.changed_leaves(), [0, 1], "of 16 numbers each");
    assert_eq!(segments.list(0).len(), 15, "there is no segment 0");
    assert_eq!(segments.list(1).len(), 5);
    assert_eq!(numbers(&segments.apart()), [21, 22, 23], "one is open, two are reserved");
    let counted = segments.counted(0);
    assert_eq!(counted.len(), 20, "the open one is counted where it is");
    assert_eq!(counted[0], (SegmentId(1), Occupancy { slots: 2, fragments: 2 }));
}

/// It would be in no part of the table.
#[test]
fn a_segment_that_is_sealed_after_its_leaf_was_written_stays_apart() {
    let mut segments = segments(1);
    segments.note();
    assert_eq!(write(&mut segments).0, 1);
    segments.seal(SegmentId(2), 6);
    assert_eq!(numbers(&segments.apart()), [2, 3, 4]);
    segments.end_note();
    segments.note();
    assert_eq!(segments.changed_leaves(), [0]);
    write(&mut segments);
    assert_eq!(numbers(&segments.apart()), [3, 4]);
}

#[test]
fn a_change_that_the_table_does_not_say_changes_no_leaf() {
    let mut segments = segments(3);
    segments.note();
    write(&mut segments);
    segments.end_note();
    segments.note();
    write(&mut segments);
    segments.set_unmovable(SegmentId(1), true);
    segments.set_hot(SegmentId(4));
    segments.appended(SegmentId(4), Lsn(64), Lsn(192), 9);
    assert_eq!(segments.changed_leaves(), []);
    assert_eq!(segments.changed_count_leaves(), []);
}

#[test]
fn one_overwritten_block_changes_one_leaf_of_counts_of_a_large_pool() {
    let mut segments = segments(60);
    segments.note();
    write(&mut segments);
    segments.end_note();
    segments.note();
    write(&mut segments);
    segments.end_note();
    discard(&mut segments, 30);
    segments.note();
    assert_eq!(write(&mut segments), (0, 1));
}

/// What is overwritten while a checkpoint is on its way, a replay overwrites again.
#[test]
fn counts_and_condemnation_are_as_of_the_note() {
    let mut segments = segments(4);
    discard(&mut segments, 1);
    segments.note();
    discard(&mut segments, 1);
    segments.condemn(SegmentId(2));
    let state_of = |listed: &Listed| match listed {
        Listed::Segment(entry) => entry.state,
        Listed::Resting(id) => panic!("{id:?} rests"),
    };
    assert!(segments.list(0).iter().all(|listed| state_of(listed) == SegmentState::Sealed));
    let counted = |segments: &Segments| {
        segments.counted(0).iter().map(|(_, live)| live.slots).collect::<Vec<_>>()
    };
    assert_eq!(counted(&segments), [1, 2, 2, 2]);
    segments.end_note();
    segments.note();
    assert_eq!(state_of(&segments.list(0)[1]), SegmentState::Condemned);
    assert_eq!(counted(&segments), [2, 2], "of the first two nothing lives");
}

#[test]
fn a_number_rests_in_its_leaf_until_its_turn_is_past() {
    let mut segments = segments(4);
    segments.note();
    write(&mut segments);
    (0..2).for_each(|_| discard(&mut segments, 3));
    segments.free(SegmentId(3));
    assert_eq!(segments.changed_leaves(), [0]);
    assert!(!segments.list(0).contains(&Listed::Resting(SegmentId(3))), "its turn is a round away");
    segments.leaf_written(0);
    segments.load_resting([SegmentId(9)]);
    assert!(segments.list(0).contains(&Listed::Resting(SegmentId(9))));
    let window = segments.form_window(Shape::Striped, 6, &DRIVES, Lsn(64));
    assert!(window.iter().all(|id| id.0 != 9), "{window:?}");
    assert_eq!(segments.changed_leaves(), [0], "it rests no more");
}

#[test]
fn what_is_loaded_from_leaves_is_listed_and_what_a_first_table_had_is_to_be_written() {
    let mut before = segments(20);
    before.note();
    let listed = |listed: Vec<Listed>| {
        listed.into_iter().map(|it| match it {
            Listed::Segment(entry) => entry,
            Listed::Resting(id) => panic!("{id:?} rests"),
        })
    };
    let leaf: Vec<TableEntry> = listed(before.list(0)).collect();
    let chunks = DRIVES.map(|drive| (drive, 100));
    let numbers_of = Numbers::fresh(1 << 10);
    let mut again =
        Segments::new(Stripe { data: 2, parity: 1 }, 64, chunks.into_iter(), numbers_of);
    again.load(before.apart()).expect("they are apart");
    again.load_listed(leaf).expect("they are apart");
    assert_eq!(again.changed_leaves(), [1], "16 to 20 were apart");
    assert_eq!(again.apart().len(), 5 + 3);
    assert!(again.summary_is_right());
}

/// The pool halted: a checkpoint had more to write of the table than its window had room for.
#[test]
fn a_window_has_room_for_what_a_checkpoint_may_have_to_write_of_the_table() {
    assert_eq!(segments(20).filled_by_table(), 0, "the one that is open has room for that");
    let chunks = DRIVES.map(|drive| (drive, 200_000));
    let numbers = Numbers::fresh(1 << 22);
    let mut large = Segments::new(Stripe { data: 2, parity: 1 }, 64, chunks.into_iter(), numbers);
    large.form_window(Shape::Striped, 100_000, &DRIVES, Lsn(64));
    // A megabyte of counts, and the leaves of 512 that are freed and 128 others.
    let bytes = 100_000 * COUNT_BYTES + 640 * LEAF_BYTES;
    assert!(
        large.filled_by_table() >= bytes / (64 * 2 * SECTOR_BYTES),
        "{}",
        large.filled_by_table()
    );
    assert!(large.filled_by_table() < 10, "{}", large.filled_by_table());
}

/// Seed 92000467: blocks were published into a segment that was sealed before a checkpoint, after
/// the note and before its leaf was written. The leaf of counts had what lived at the note, and was
/// not written again: after a start the segment was freed while the map named it.
#[test]
fn what_changes_between_the_note_and_the_leaf_is_written_by_the_next_checkpoint() {
    let mut segments = segments(1);
    segments.note();
    segments.credit(fragment(1, 5));
    write(&mut segments);
    assert_eq!(segments.counted(0), [(SegmentId(1), Occupancy { slots: 2, fragments: 2 })]);
    segments.end_note();
    segments.note();
    assert_eq!(segments.changed_count_leaves(), [0]);
    assert_eq!(segments.counted(0), [(SegmentId(1), Occupancy { slots: 3, fragments: 3 })]);
}
