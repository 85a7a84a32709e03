use super::*;

const GIB: u64 = 1 << 30;

#[test]
fn what_is_safe_to_write_is_counted_with_a_record_for_each_block() {
    assert_eq!(safe_noise(10 * (BLOCK_BYTES + RECORD_BYTES)), 10 * BLOCK_BYTES);
    assert_eq!(safe_noise(BLOCK_BYTES), 0, "not one block");
    assert_eq!(safe_noise(0), 0);
}

#[test]
fn what_is_safe_at_the_ratio_of_what_is_stored_is_more_by_that() {
    assert_eq!(safe_alike(GIB, 0, 0), None, "nothing is stored: nobody knows");
    let noise = safe_alike(GIB, GIB, GIB).expect("known");
    assert_eq!(noise, safe_noise(GIB));
    let halves = safe_alike(GIB, 2 * GIB, GIB).expect("known");
    assert_eq!(halves, GIB / (BLOCK_BYTES / 2 + RECORD_BYTES) * BLOCK_BYTES);
    assert_eq!(safe_alike(0, 2 * GIB, GIB), Some(0));
}

#[test]
fn what_is_safe_does_not_overflow() {
    assert!(safe_alike(u64::MAX / 64, u64::MAX, 1).expect("known") > 0);
}
