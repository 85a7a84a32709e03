use super::*;

#[test]
fn ranges_that_overlap_or_touch_are_one() {
    assert_eq!(merged(vec![]), []);
    assert_eq!(merged(vec![8..12, 0..4]), [0..4, 8..12]);
    assert_eq!(merged(vec![0..4, 4..8, 6..7, 20..24, 1..2]), [0..8, 20..24]);
    assert!(merged(vec![0..1 << 44; 256]) == vec![0..1 << 44; 1]);
}

#[test]
fn a_range_is_cut_into_parts_without_gaps() {
    assert_eq!(parts(5..6, 4).collect::<Vec<_>>(), vec![5..6; 1]);
    assert_eq!(parts(0..8, 4).collect::<Vec<_>>(), [0..4, 4..8]);
    assert_eq!(parts(3..12, 4).collect::<Vec<_>>(), [3..7, 7..11, 11..12]);
    let end = u64::MAX;
    assert_eq!(parts(end - 5..end, 4).collect::<Vec<_>>(), [end - 5..end - 1, end - 1..end]);
}
