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
