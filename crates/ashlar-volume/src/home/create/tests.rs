use super::*;

#[test]
fn equal_drives_waste_nothing_worth_a_word() {
    assert_eq!(unplaceable_chunks(&[100; 5], 5), 0);
    assert_eq!(unplaceable_chunks(&[100; 7], 5), 0);
}

#[test]
fn what_only_one_drive_has_no_stripe_can_use() {
    assert_eq!(unplaceable_chunks(&[100, 100, 250], 3), 150);
}

#[test]
fn larger_drives_are_used_as_far_as_stripes_can_alternate() {
    assert_eq!(unplaceable_chunks(&[200, 100, 100], 2), 0);
    assert_eq!(unplaceable_chunks(&[300, 100, 100], 2), 100);
}
