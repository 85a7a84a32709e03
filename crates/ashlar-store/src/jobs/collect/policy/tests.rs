use ashlar_block::DriveId;
use ashlar_format::table::{Occupancy, SegmentKind};
use ashlar_raid::{ChunkAddr, Geometry};

use super::*;

fn candidate(id: u32, live: f64, sealed_at: u64) -> Candidate {
    Candidate { id: SegmentId(id), live, sealed_at, chunks: 5.0, taken: 5.0 * live }
}

#[test]
fn of_segments_of_one_age_the_emptiest_is_collected() {
    let candidates = [candidate(1, 0.8, 100), candidate(2, 0.2, 100), candidate(3, 0.5, 100)];
    assert_eq!(choose_victim(candidates.into_iter(), 200), Some(SegmentId(2)));
}

#[test]
fn an_old_segment_is_collected_before_a_young_one_that_is_emptier() {
    let candidates = [candidate(1, 0.6, 0), candidate(2, 0.4, 990)];
    assert_eq!(choose_victim(candidates.into_iter(), 1000), Some(SegmentId(1)));
}

/// With the last segments, what gains most is collected, and only if it surely gives back more than
/// it takes.
#[test]
fn as_a_last_resort_the_emptiest_is_collected_however_young_it_is() {
    let candidates = [candidate(1, 0.4, 0), candidate(2, 0.1, 990), candidate(3, 0.3, 0)];
    assert_eq!(choose_last_resort(candidates.into_iter()), Some(SegmentId(2)));
    assert!(candidate(3, 0.4, 0).is_sparse() && !candidate(3, 0.6, 0).is_sparse());
}

/// A segment of small fragments is a third headers and ends of rows. Taken for garbage, they had it
/// collected over and over, and each copy was as full of them.
#[test]
fn headers_and_ends_of_rows_are_not_garbage() {
    // 256 fragments of one slot, with their records, take 7 sectors: two rows of 4.
    let small = |fragments| Occupancy { slots: fragments, fragments };
    assert_eq!(live(256 / 2 * 256, small), None, "as dense as it can be");
    assert_eq!(live(256 / 4 * 256, small), Some(0.5));
    // 256 whole blocks and their records take 259 sectors, and 65 rows of 4.
    let blocks = |fragments| Occupancy { slots: fragments * 64, fragments };
    assert_eq!(live(252, blocks).map(|live| (live * 100.0) as u64), Some(25));
    assert_eq!(live(1000, blocks), None);
}

/// Part of a segment of 256 rows of 4 + 1 columns that so many fragments take, if it may be
/// collected.
fn live(fragments: u64, size: impl Fn(u64) -> Occupancy) -> Option<f64> {
    let columns = (0..5).map(|drive| ChunkAddr { drive: DriveId(drive), chunk: 0 });
    let mut segment =
        Segment::reserved(Geometry::new(columns.collect(), 1), SegmentKind::Moved, Lsn(64));
    (segment.state, segment.live) = (SegmentState::Sealed, size(fragments));
    Candidate::of(SegmentId(1), &segment, &view(&(0..5).map(DriveId).collect::<Vec<_>>()))
        .map(|it| it.live)
}

fn view(short: &[DriveId]) -> PlacementView {
    PlacementView {
        rows_max: 256,
        floor: Lsn(64),
        short: short.to_vec(),
        chunks_per_column: 1.25,
        columns_max: 4,
    }
}

/// In a pool that had lost a drive, segments were collected that gave back what their copies took,
/// and there was never more room.
#[test]
fn a_chunk_on_a_lost_drive_is_no_gain() {
    let columns = (0..5).map(|drive| ChunkAddr { drive: DriveId(drive), chunk: 0 });
    let mut segment =
        Segment::reserved(Geometry::new(columns.collect(), 1), SegmentKind::Moved, Lsn(64));
    (segment.state, segment.live) =
        (SegmentState::Sealed, Occupancy { slots: 780 * 64, fragments: 780 });
    let on = |targets: &[DriveId]| Candidate::of(SegmentId(1), &segment, &view(targets));
    let all: Vec<DriveId> = (0..5).map(DriveId).collect();
    let candidate = on(&all).expect("a fifth of it is garbage");
    assert_eq!((candidate.chunks, candidate.taken.ceil()), (5.0, 4.0));
    assert_eq!(on(&all[1..]), None, "its copy takes the four chunks that come back");
}

#[test]
fn a_clock_that_went_back_makes_segments_young_and_nothing_worse() {
    let candidates = [candidate(1, 0.6, 5000), candidate(2, 0.4, 5000)];
    assert_eq!(choose_victim(candidates.into_iter(), 1000), Some(SegmentId(2)));
    assert_eq!(choose_victim(std::iter::empty(), 1000), None);
}
