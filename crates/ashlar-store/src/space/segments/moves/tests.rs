use super::*;
use crate::space::segments::{HeldColumn, Numbers, Shape, Stripe};

const DRIVES: [DriveId; 4] = [DriveId(0), DriveId(1), DriveId(2), DriveId(3)];
const CHUNKS: u32 = 10;

/// A pool of mirrors with one segment.
fn with_one_segment() -> (Segments, SegmentId) {
    let stripe = Stripe { data: 1, parity: 1 };
    let chunks = DRIVES.map(|drive| (drive, CHUNKS)).into_iter();
    let mut segments = Segments::new(stripe, 64, chunks, Numbers::fresh(1 << 10));
    let added = segments.form_window(Shape::Striped, 1, &DRIVES, Lsn(64));
    let id = added[0];
    (segments, id)
}

fn free(segments: &Segments) -> Vec<u32> {
    segments.loads(&DRIVES).values().map(|load| load.total - load.used).collect()
}

#[test]
fn a_segment_has_one_move_at_a_time() {
    let (mut segments, id) = with_one_segment();
    assert!(segments.begin_move(id, &[0], &DRIVES).is_some());
    assert!(segments.is_moving(id));
    assert_eq!(segments.begin_move(id, &[1], &DRIVES), None);
    segments.give_up_move(id);
    assert!(segments.begin_move(id, &[1], &DRIVES).is_some());
}

#[test]
fn a_move_that_is_given_up_leaves_nothing_behind() {
    let (mut segments, id) = with_one_segment();
    let before = (free(&segments), segments.get(id).expect("it is there").geometry.clone());
    segments.begin_move(id, &[0, 1], &DRIVES).expect("there is room");
    segments.give_up_move(id);
    assert_eq!((free(&segments), segments.get(id).expect("it is there").geometry.clone()), before);
    assert!(segments.take_retired().is_empty());
}

/// Several columns would go from one drive, because none of them had arrived yet.
#[test]
fn a_column_on_its_way_counts_where_it_goes_and_no_more_where_it_lies() {
    let (mut segments, id) = with_one_segment();
    let from = segments.get(id).expect("it is there").geometry.columns[0].drive;
    let places = segments.begin_move(id, &[0], &DRIVES).expect("there is room");
    let used = |segments: &Segments, drive| segments.loads(&DRIVES)[&drive].used;
    let to = places[0].chunk.drive;
    assert_eq!((used(&segments, from), used(&segments, to)), (0, 1));
    segments.end_move(id, Lsn(64));
    assert_eq!((used(&segments, from), used(&segments, to)), (0, 1));
}

#[test]
fn a_drive_that_a_column_is_on_its_way_to_is_used() {
    let (mut segments, id) = with_one_segment();
    let to = segments.begin_move(id, &[0], &DRIVES).expect("there is room")[0].chunk.drive;
    assert!(segments.is_target(to));
    assert!(segments.redundancy(&BTreeSet::new(), &BTreeSet::new()).uses(to));
    segments.give_up_move(id);
    assert!(!segments.is_target(to));
    assert!(!segments.redundancy(&BTreeSet::new(), &BTreeSet::new()).uses(to));
}

/// Two columns moved one after the other while a read was under way by the geometry before both:
/// the second column's chunk was free once nobody read by the geometry in between.
#[test]
fn a_chunk_waits_for_whoever_reads_by_any_earlier_geometry() {
    let (mut segments, id) = with_one_segment();
    let reader = segments.get(id).expect("it is there").geometry.clone();
    for column in [0, 1] {
        segments.begin_move(id, &[column], &DRIVES).expect("there is room");
        segments.end_move(id, Lsn(64));
    }
    let retired = segments.take_retired();
    segments.release(retired);
    assert_eq!(segments.take_retired().len(), 2, "both are read");
    let (mut segments, id) = with_one_segment();
    drop(reader);
    segments.begin_move(id, &[0], &DRIVES).expect("there is room");
    segments.end_move(id, Lsn(64));
    let retired = segments.take_retired();
    segments.release(retired);
    assert!(segments.take_retired().is_empty(), "nobody reads it");
}

#[test]
#[should_panic(expected = "while a checkpoint is on its way")]
fn no_column_moves_while_a_checkpoint_is_on_its_way() {
    let (mut segments, id) = with_one_segment();
    segments.begin_move(id, &[0], &DRIVES).expect("there is room");
    segments.note();
    segments.end_move(id, Lsn(64));
}

/// A drive came back while a scrub read by the geometry before. The column that moved next left a
/// chunk which another segment got, and the scrub took that one's rows for wrong ones.
#[test]
fn a_chunk_waits_for_whoever_reads_by_the_geometry_before_a_drive_came_back() {
    const BACK: DriveId = DriveId(7);
    let (mut segments, id) = with_one_segment();
    let reader = segments.get(id).expect("it is there").geometry.clone();
    let ChunkAddr { drive, chunk } = reader.columns[0];
    segments.add_drive(BACK, CHUNKS, Stripe { data: 1, parity: 1 });
    let column = HeldColumn { segment: id, chunk };
    segments.keep_chunks(BACK, &[column]);
    assert!(segments.adopt(drive, BACK, column, |_| true));
    segments.begin_move(id, &[1], &DRIVES).expect("there is room");
    segments.end_move(id, Lsn(64));
    let retired = segments.take_retired();
    segments.release(retired);
    assert_eq!(segments.take_retired().len(), 1, "it is read");
    drop(reader);
}
