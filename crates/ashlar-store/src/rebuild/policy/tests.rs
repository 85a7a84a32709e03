use super::*;

fn damaged(id: u32, lost: usize) -> Damaged {
    Damaged {
        id: SegmentId(id),
        spare: 4 - lost,
        columns: lost.max(1),
        is_thin: false,
        is_empty: false,
        is_ready: true,
    }
}

fn next(damaged: &[Damaged], begun: Option<u32>) -> Option<u32> {
    most_endangered(damaged.iter().copied(), begun.map(SegmentId)).map(|segment| segment.id.0)
}

#[test]
fn the_segment_with_the_fewest_columns_left_comes_first() {
    assert_eq!(next(&[damaged(1, 1), damaged(2, 2), damaged(3, 1)], Some(3)), Some(2));
}

#[test]
fn what_has_begun_is_finished_first() {
    assert_eq!(next(&[damaged(1, 1), damaged(2, 1)], Some(2)), Some(2));
    assert_eq!(next(&[damaged(1, 1), damaged(2, 1)], None), Some(1));
}

#[test]
fn what_is_empty_or_not_ready_is_left_alone() {
    let empty = Damaged { is_empty: true, ..damaged(1, 1) };
    let busy = Damaged { is_ready: false, ..damaged(2, 1) };
    assert_eq!(next(&[empty, busy], Some(2)), None);
}
