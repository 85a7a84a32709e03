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

const LOST: [DriveId; 1] = [DriveId(7)];

fn next_of(
    queue: &mut Queue,
    unreleased: &[DriveId],
    damaged: &[Damaged],
    begun: Option<u32>,
) -> Option<u32> {
    let of = |id: SegmentId| damaged.iter().find(|segment| segment.id == id).copied();
    let next = queue.next(unreleased, begun.map(SegmentId), of, || damaged.iter().copied());
    next.map(|segment| segment.id.0)
}

fn next(damaged: &[Damaged], begun: Option<u32>) -> Option<u32> {
    next_of(&mut Queue::default(), &LOST, damaged, begun)
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

#[test]
fn segments_are_looked_for_once_for_each_loss_and_again_when_all_are_restored() {
    let mut queue = Queue::default();
    assert_eq!(next_of(&mut queue, &LOST, &[damaged(1, 1), damaged(3, 1)], None), Some(1));
    // Of what is found later only what the loss of another drive endangers comes before what was
    // found first.
    let later = [damaged(0, 2), damaged(1, 1), damaged(3, 1)];
    assert_eq!(next_of(&mut queue, &LOST, &later, Some(1)), Some(1));
    assert_eq!(next_of(&mut queue, &LOST, &[later[0], later[2]], None), Some(3));
    assert_eq!(next_of(&mut queue, &LOST, &later[..1], None), Some(0));
    assert_eq!(next_of(&mut queue, &LOST, &[], None), None);
    assert_eq!(next_of(&mut queue, &LOST, &later[1..2], None), Some(1));
    assert_eq!(next_of(&mut queue, &[LOST[0], DriveId(8)], &later[..2], Some(1)), Some(0));
}
