use super::*;

#[test]
fn the_lowest_free_chunk_is_taken_first() {
    let mut free = FreeChunks::all(130);
    assert!(free.take(0) && free.take(64));
    let taken: Vec<u32> = std::iter::from_fn(|| free.take_lowest()).collect();
    let expected: Vec<u32> = (1..130).filter(|chunk| *chunk != 64).collect();
    assert_eq!(taken, expected);
    assert_eq!((free.count(), free.take_lowest()), (0, None));
    free.give_back(128);
    free.give_back(3);
    assert_eq!((free.count(), free.take_lowest(), free.take_lowest()), (2, Some(3), Some(128)));
}

#[test]
fn a_chunk_is_taken_once() {
    let mut free = FreeChunks::all(64);
    assert!(free.take(63) && !free.take(63), "it is another's then");
    assert!(!free.take(64), "it is not there");
    assert_eq!(free.count(), 63);
}

#[test]
fn a_drive_without_chunks_has_none_free() {
    let mut free = FreeChunks::all(0);
    assert_eq!((free.count(), free.take_lowest()), (0, None));
}

#[test]
#[should_panic(expected = "given back twice")]
fn what_is_free_is_not_given_back() {
    FreeChunks::all(8).give_back(7);
}

#[test]
fn what_is_given_back_is_told_once_a_root_has_settled_it_and_not_before() {
    let mut free = FreeChunks::all(8);
    let taken: Vec<u32> = (0..4).filter_map(|_| free.take_lowest()).collect();
    assert_eq!(
        (taken, free.untold()),
        (vec![0, 1, 2, 3], 0),
        "what was free at the start is not known"
    );
    free.give_back(1);
    free.give_back(2);
    assert_eq!(free.tell(8, 1), None, "a start from the root before may need them");
    free.settle(true);
    assert_eq!((free.tell(8, 2), free.tell(8, 3)), (Some(1..3), None));
    free.give_back(3);
    free.is_told(2);
    assert_eq!(free.tell(8, 4), None);
    free.settle(false);
    assert_eq!(free.tell(8, 5), None, "nobody wants to remember it");
}

#[test]
fn what_is_taken_again_is_not_told() {
    let mut free = FreeChunks::all(4);
    for _ in 0..3 {
        free.take_lowest();
    }
    (0..3).for_each(|chunk| free.give_back(chunk));
    assert!(free.take(0));
    free.settle(true);
    assert!(free.take(1));
    assert_eq!((free.tell(8, 1), free.untold()), (Some(2..3), 0));
}

#[test]
fn a_trim_is_for_all_that_is_free_but_for_what_no_root_has_settled() {
    let mut free = FreeChunks::all(130);
    assert!(free.take(64) && free.take(65) && free.take(129));
    free.give_back(65);
    free.trim_all();
    assert_eq!(free.left_to_trim(), 127);
    assert_eq!(free.tell(100, 1), Some(66..129), "the highest neighbours");
    free.is_told(1);
    assert_eq!(free.tell(3, 2), Some(61..64), "so many at a time");
    assert!(free.take(5), "it is written meanwhile");
    free.is_told(2);
    assert_eq!((free.left_to_trim(), free.tell(100, 3)), (60, Some(6..61)));
    free.is_told(3);
    assert_eq!(free.tell(100, 4), Some(0..5));
    free.is_told(4);
    assert_eq!((free.left_to_trim(), free.tell(100, 5)), (0, None));
}

#[test]
fn chunks_that_are_away_count_as_free_and_are_taken_last() {
    let mut free = FreeChunks::all(6);
    free.trim_all();
    assert_eq!(free.tell(5, 1), Some(1..6));
    assert_eq!(free.count(), 6);
    assert_eq!(free.take_lowest(), Some(0));
    assert_eq!(free.take_lowest(), Some(1), "there is no other");
    assert!(free.is_away(1), "and nobody may write there yet");
    assert_eq!(free.count(), 4);
    free.is_told(1);
    assert!(!free.is_away(1) && !free.has_away());
}

#[test]
fn a_chunk_behind_those_that_are_away_comes_before_them() {
    let mut free = FreeChunks::all(200);
    assert!((190..200).all(|chunk| free.take(chunk)));
    free.trim_all();
    assert_eq!(free.tell(190, 1), Some(0..190));
    free.give_back(199);
    assert_eq!((free.take_lowest(), free.take_lowest()), (Some(199), Some(0)));
}

proptest::proptest! {
    /// Whatever is done, what is told is free, and is not told while it is another's.
    #[test]
    fn only_free_chunks_are_told(steps in proptest::collection::vec((0..6_u8, 0..150_u32), 0..400)) {
        let mut free = FreeChunks::all(150);
        let mut taken = std::collections::BTreeSet::new();
        let mut away: Option<(u64, Range<u32>)> = None;
        for (number, (step, chunk)) in (1..).zip(steps) {
            match step {
                0 => { free.take_lowest().map(|chunk| taken.insert(chunk)); }
                1 if taken.remove(&chunk) => free.give_back(chunk),
                2 => free.settle(chunk % 2 == 0),
                3 => free.trim_all(),
                4 => if let Some(told) = free.tell(1 + chunk % 40, number) {
                    assert!(away.is_none() && told.clone().all(|chunk| !taken.contains(&chunk)));
                    away = Some((number, told));
                },
                _ => if let Some((number, _)) = away.take() { free.is_told(number) },
            }
            assert_eq!(free.count() as usize, 150 - taken.len());
            let is_away = |chunk: u32| away.as_ref().is_some_and(|(_, told)| told.contains(&chunk));
            assert!((0..150).all(|chunk| free.is_away(chunk) == is_away(chunk)));
        }
    }
}
