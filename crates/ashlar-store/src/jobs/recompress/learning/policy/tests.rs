use super::*;

const LEARNING: Learning =
    Learning { blocks_min: 512, stored_part: 100, gain_percent_min: 5, growth: 16 };

#[test]
fn dictionaries_take_at_most_their_part_of_what_is_stored() {
    let bytes = |stored, before| dictionary_bytes(stored, before, before, &LEARNING);
    assert_eq!(bytes(100 << 10, 0), Some(1 << 10));
    assert_eq!(bytes((100 << 10) - 100, 0), None);
    assert_eq!(bytes(200 << 10, 1 << 10), Some(1 << 10));
    assert_eq!(bytes(200 << 10, 3 << 10), None, "there are more than may be already");
    assert_eq!(bytes(1 << 40, 1 << 20), Some(32 << 10));
}

#[test]
fn dictionaries_of_all_volumes_take_at_most_32_mib_of_memory() {
    let bytes = |of_pool| dictionary_bytes(1 << 40, 0, of_pool, &LEARNING);
    assert_eq!(bytes((32 << 20) - (32 << 10)), Some(32 << 10));
    assert_eq!(bytes((32 << 20) - (5 << 10)), Some(5 << 10));
    assert_eq!(bytes((32 << 20) - 1000), None);
    assert_eq!(bytes(33 << 20), None);
}

#[test]
fn another_one_is_made_when_a_volume_has_grown_much() {
    assert!(has_grown(1, 0, &LEARNING));
    assert!(has_grown(1600, 100, &LEARNING));
    assert!(!has_grown(1599, 100, &LEARNING));
    assert!(!has_grown(u64::MAX - 1, u64::MAX, &LEARNING));
}

#[test]
fn a_sample_is_of_a_part_of_a_volume_that_has_its_bounds() {
    assert_eq!(window_blocks(0, &LEARNING), 512);
    assert_eq!(window_blocks(80_000, &LEARNING), 10_000);
    assert_eq!(window_blocks(1 << 40, &LEARNING), 65_536);
}

#[test]
fn it_is_kept_if_it_saves_five_of_a_hundred_slots() {
    assert!(pays(1000, 950, &LEARNING));
    assert!(!pays(1000, 951, &LEARNING));
}
