use ashlar_raid::ChunkAddr;
use proptest::prelude::*;

use super::*;

fn loads(of: &[(u32, u32)]) -> Loads {
    of.iter()
        .enumerate()
        .map(|(drive, (used, total))| (DriveId(drive as u16), Load { used: *used, total: *total }))
        .collect()
}

fn on(drives: impl IntoIterator<Item = u16>) -> Geometry {
    let columns = drives.into_iter().map(|drive| ChunkAddr { drive: DriveId(drive), chunk: 0 });
    Geometry::new(columns.collect(), 0)
}

#[test]
fn a_column_goes_from_the_fullest_drive_to_the_emptiest_that_its_segment_does_not_lie_on() {
    let loads = loads(&[(50, 100), (90, 100), (10, 100), (20, 100)]);
    let best = best_move(&on([0, 1, 2]), &loads).expect("drive 3 has room");
    assert_eq!((best.column, best.to), (1, DriveId(3)));
}

#[test]
fn how_full_a_drive_is_counts_not_how_much_it_has() {
    let loads = loads(&[(50, 100), (60, 100), (300, 1000)]);
    assert_eq!(best_move(&on([0, 1]), &loads).map(|best| best.to), Some(DriveId(2)));
}

#[test]
fn drives_that_are_nearly_even_stay_as_they_are() {
    assert_eq!(best_move(&on([0, 1]), &loads(&[(505, 1000), (500, 1000), (496, 1000)])), None);
    assert_eq!(
        best_move(&on([0, 1]), &loads(&[(5, 9), (5, 9), (4, 9)])),
        None,
        "it would be the fullest then"
    );
}

#[test]
fn a_full_drive_takes_nothing() {
    assert_eq!(best_move(&on([0]), &loads(&[(10, 10), (10, 10)])), None);
}

#[test]
fn a_column_on_a_drive_that_is_not_asked_for_stays() {
    assert_eq!(best_move(&on([7]), &loads(&[(10, 100), (0, 100)])), None);
}

#[test]
fn what_is_beyond_an_even_share_is_counted() {
    assert_eq!(chunks_beyond(&loads(&[(80, 100), (80, 100), (0, 100), (0, 100)])), 80);
    assert_eq!(chunks_beyond(&loads(&[(505, 1000), (500, 1000)])), 0);
}

proptest! {
    /// However segments lie, moving the best column again and again comes to an end, and no drive
    /// is the emptier for it that was emptier already.
    #[test]
    fn moves_come_to_an_end(
        totals in prop::collection::vec(20u32..400, 3..9),
        width in 1usize..3,
        segments in 1usize..60,
    ) {
        let drives = totals.len();
        let mut loads: Loads = loads(&totals.iter().map(|total| (0, *total)).collect::<Vec<_>>());
        let mut placed: Vec<Geometry> = Vec::new();
        for nth in 0..segments {
            let first = nth % 2;
            let geometry = on((0..width).map(|column| ((first + column) % drives) as u16));
            let has_room = |chunk: &ChunkAddr| loads[&chunk.drive].used < loads[&chunk.drive].total;
            if geometry.columns.iter().all(has_room) {
                for chunk in &geometry.columns {
                    loads.get_mut(&chunk.drive).expect("there").used += 1;
                }
                placed.push(geometry);
            }
        }
        let mut moves = 0;
        loop {
            let best = placed
                .iter()
                .enumerate()
                .filter_map(|(segment, geometry)| Some((segment, best_move(geometry, &loads)?)))
                .max_by(|(_, one), (_, other)| one.gain.total_cmp(&other.gain));
            let Some((segment, best)) = best else { break };
            let mut columns = placed[segment].columns.clone();
            loads.get_mut(&columns[best.column].drive).expect("there").used -= 1;
            loads.get_mut(&best.to).expect("there").used += 1;
            columns[best.column].drive = best.to;
            placed[segment] = Geometry::new(columns, 0);
            moves += 1;
            prop_assert!(moves <= segments * width * drives, "it goes on for ever");
        }
    }
}
