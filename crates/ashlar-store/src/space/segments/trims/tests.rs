use ashlar_block::DriveId;

use super::super::{Numbers, Stripe};
use super::*;

const DRIVE: DriveId = DriveId(0);

/// Segments of one column each, on one drive with so many chunks.
fn segments(chunks: u32) -> Segments {
    let stripe = Stripe { data: 1, parity: 0 };
    Segments::new(stripe, 16, [(DRIVE, chunks)].into_iter(), Numbers::fresh(4 * chunks))
}

fn chunk(chunk: u32) -> ChunkAddr {
    ChunkAddr { drive: DRIVE, chunk }
}

#[test]
fn a_drive_with_many_free_chunks_is_told_of_many_at_a_time_and_one_with_few_of_one() {
    for (chunks, expected) in [(320, 20), (64, 4), (16, 1), (3, 1)] {
        let mut segments = segments(chunks);
        assert_eq!(segments.trim_all(&[DRIVE]), u64::from(chunks));
        let discard = segments.tell(DRIVE, 1000).expect("all are free");
        assert_eq!(discard.chunks, chunks - expected..chunks, "the highest, of {chunks}");
        assert_eq!(segments.tell(DRIVE, 1000), None, "one discard at a time");
        assert_eq!(segments.away_of([chunk(0), chunk(chunks - 1)]), [DRIVE]);
        segments.is_told(&Discard { number: 77, ..discard.clone() });
        assert!(segments.has_away(DRIVE), "another has ended");
        segments.is_told(&discard);
        assert!(!segments.has_away(DRIVE) && segments.away_of([chunk(chunks - 1)]).is_empty());
        assert_eq!(segments.left_to_trim(DRIVE), u64::from(chunks - expected));
    }
}

#[test]
fn a_discard_that_ends_after_its_drive_has_gone_leaves_those_of_another_under_its_number_alone() {
    let mut segments = segments(8);
    segments.trim_all(&[DRIVE]);
    let old = segments.tell(DRIVE, 1).expect("all are free");
    let stripe = segments.stripe();
    segments.remove_drive(DRIVE, stripe);
    segments.add_drive(DRIVE, 8, stripe);
    assert!(
        !segments.has_away(DRIVE) && !segments.has_untold(DRIVE),
        "of a new drive nothing is told"
    );
    segments.trim_all(&[DRIVE]);
    segments.tell(DRIVE, 1).expect("all are free");
    segments.is_told(&old);
    assert!(segments.has_away(DRIVE));
}
