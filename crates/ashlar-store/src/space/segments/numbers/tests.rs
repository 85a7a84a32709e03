use super::*;

const CIRCLE: u32 = 16;

fn numbers(ordinal: u64, swept: u64) -> Numbers {
    Numbers { circle: CIRCLE, ordinal, swept, resting: BTreeSet::new(), given_up: false }
}

fn take(numbers: &mut Numbers) -> Option<u32> {
    numbers.next(|_| false, |_| ()).map(|id| id.0)
}

#[test]
fn the_first_time_round_every_number_is_given_out_once() {
    let mut numbers = numbers(0, Numbers::SWEPT_AT_FIRST);
    let given: Vec<u32> = std::iter::from_fn(|| take(&mut numbers)).collect();
    assert_eq!(given, (1..=CIRCLE).collect::<Vec<_>>());
}

#[test]
fn a_quarter_comes_back_only_after_its_sweep() {
    let mut numbers = numbers(12, Numbers::SWEPT_AT_FIRST);
    assert_eq!(
        numbers.sweep_due(),
        Some(4),
        "the last quarter of the first round has been entered"
    );
    (0..4).for_each(|_| assert!(take(&mut numbers).is_some()));
    assert_eq!(take(&mut numbers), None);
    numbers.sweep_done(4);
    assert_eq!(take(&mut numbers), Some(1));
    assert_eq!(numbers.sweep_due(), Some(5));
}

#[test]
fn what_is_freed_while_its_turn_is_near_rests_until_it_is_past() {
    let mut numbers = numbers(13, 7);
    numbers.freed(SegmentId(15));
    numbers.freed(SegmentId(2));
    numbers.freed(SegmentId(6));
    let rests = [2, 6, 15].map(|id| numbers.rests(SegmentId(id)));
    assert_eq!(rests, [true, false, true], "6 is two quarters away");
    let mut rested = Vec::new();
    let mut next = || numbers.next(|_| false, |id| rested.push(id.0)).map(|id| id.0);
    let given: Vec<u32> = (0..5).filter_map(|_| next()).collect();
    assert_eq!(given, [14, 16, 1, 3, 4]);
    assert_eq!(rested, [15, 2]);
}

/// Checkpoints were made for a window that none of them could have, each of which took some of what
/// was left. And a sweep that can be made again, or a start, takes segments itself.
#[test]
fn some_numbers_are_kept_for_when_a_sweep_can_be_made_again() {
    let mut numbers = numbers(12, Numbers::SWEPT_AT_FIRST);
    numbers.give_up_sweep();
    assert!(!numbers.are_gone(), "two are left, and two are kept");
    (0..2).for_each(|_| assert!(take(&mut numbers).is_some()));
    assert!(numbers.are_gone());
    assert_eq!(take(&mut numbers), None);
    numbers.try_sweep_again();
    assert!(!numbers.are_gone());
    (0..2).for_each(|_| assert!(take(&mut numbers).is_some()));
    assert_eq!(take(&mut numbers), None);
}

#[test]
fn a_number_in_use_is_passed_over() {
    let mut numbers = numbers(0, Numbers::SWEPT_AT_FIRST);
    assert_eq!(numbers.next(|id| id.0 < 3, |_| ()), Some(SegmentId(3)));
}

#[test]
fn a_sweep_is_to_be_half_done_when_a_quarter_of_the_quarter_is_used() {
    assert_eq!(numbers(12, 3).used_of_half(100), 0);
    assert_eq!(numbers(13, 3).used_of_half(100), 50);
    assert_eq!(numbers(15, 3).used_of_half(100), 100);
    assert_eq!(numbers(16, 3).used_of_half(100), 100, "nothing is left to give out");
}
