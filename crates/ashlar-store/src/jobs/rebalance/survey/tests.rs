use ashlar_raid::Level;

use super::*;
use crate::testing::Drives;

/// Somebody asked once more for a rebalance that had looked at most segments: it ended without a
/// look at those that had been written since.
#[test]
fn a_round_that_is_begun_anew_looks_at_all_segments() {
    let drives = Drives::of_chunks(Level::RAID5, 3, 4 * LOOKED_AT_IN_A_TURN as u64);
    let pool = drives.open();
    let (targets, lsn) = (pool.allocation_targets(), pool.writer.lsns.next());
    pool.space.segments.borrow_mut().invent(2 * LOOKED_AT_IN_A_TURN, &targets, lsn);
    let (segments, survey) = (pool.space.segments.borrow(), Survey::default());
    let finds_nothing = || survey.finds_nothing(&survey.slice(&segments, &targets), NOTHING);
    assert_eq!((finds_nothing(), finds_nothing()), (None, None));
    survey.begin_anew();
    assert_eq!([finds_nothing(), finds_nothing(), finds_nothing()], [None, None, Some(NOTHING)]);
}

/// Segments of three turns, and what a survey of them says where no turn finds more than `found`.
fn rounds(found: &[Round]) -> Vec<Option<Round>> {
    let count = 3 * LOOKED_AT_IN_A_TURN - 100;
    let drives = Drives::of_chunks(Level::RAID5, 3, 2 * count as u64);
    let pool = drives.open();
    let (targets, lsn) = (pool.allocation_targets(), pool.writer.lsns.next());
    pool.space.segments.borrow_mut().invent(count, &targets, lsn);
    let segments = pool.space.segments.borrow();
    let survey = Survey::default();
    let turn = |found: &Round| {
        let slice = survey.slice(&segments, &targets);
        assert!(slice.segments.len() <= LOOKED_AT_IN_A_TURN && !slice.segments.is_empty());
        if found.has_worked {
            survey.works();
            return None;
        }
        survey.finds_nothing(&slice, *found)
    };
    found.iter().map(turn).collect()
}

const NOTHING: Round = Round { has_worked: false, widening_lacks_room: false, waits: false };
const WORK: Round = Round { has_worked: true, ..NOTHING };
const WAITS: Round = Round { waits: true, ..NOTHING };

/// Each step of a rebalance looked at all segments: half a million of them held hosts up for 25 ms
/// a step.
#[test]
fn a_turn_looks_at_some_segments_and_a_round_ends_with_the_last_of_them() {
    assert_eq!(rounds(&[NOTHING, NOTHING, NOTHING, NOTHING]), [None, None, Some(NOTHING), None]);
}

#[test]
fn what_waits_anywhere_keeps_a_rebalance_from_its_end() {
    assert_eq!(rounds(&[NOTHING, WAITS, NOTHING]), [None, None, Some(WAITS)]);
}

#[test]
fn after_work_a_whole_round_has_to_find_nothing() {
    let found = [NOTHING, WORK, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING];
    assert_eq!(rounds(&found), [None, None, None, None, None, None, Some(NOTHING)]);
}
