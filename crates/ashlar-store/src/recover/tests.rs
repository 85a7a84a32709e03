use super::*;

#[test]
fn extents_that_touch_are_one() {
    let extent = |row, rows| RowExtent { row, rows };
    assert_eq!(joined(&[extent(0, 2), extent(2, 3), extent(7, 1)]), [extent(0, 5), extent(7, 1)]);
}
