use ashlar_block::PoolUuid;

use super::*;

fn halt(number: usize) -> Occurred {
    Occurred::Lost(Loss::Writes(number.to_string()))
}

#[test]
fn what_is_put_down_is_taken_once_in_its_order() {
    let occurrences = Occurrences::default();
    (0..3).for_each(|number| occurrences.put(PoolUuid([1; 16]), halt(number)));
    let taken = occurrences.take();
    let whats: Vec<Occurred> = taken.all.iter().map(|one| one.what.clone()).collect();
    assert_eq!(whats, [halt(0), halt(1), halt(2)]);
    assert!(taken.all.is_sorted_by(|one, other| one.number < other.number));
    assert_eq!(taken.all[2].number, occurrences.number());
    assert_eq!(occurrences.take(), TakenOccurrences::default());
}

#[test]
fn what_there_is_no_room_for_is_counted_and_has_a_number() {
    let occurrences = Occurrences::default();
    (0..QUEUED_MAX + 7).for_each(|number| occurrences.put(PoolUuid([1; 16]), halt(number)));
    let taken = occurrences.take();
    assert_eq!((taken.all.len(), taken.lost), (QUEUED_MAX, 7));
    assert_eq!(occurrences.number(), QUEUED_MAX as u64 + 7);
    occurrences.put(PoolUuid([1; 16]), halt(0));
    assert_eq!((occurrences.take().all.len(), occurrences.take().lost), (1, 0));
}
