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

/// Segments that a search looks at in one part.
const PART: u32 = 100;

fn next_of(queue: &mut Queue, unreleased: &[DriveId], damaged: &[Damaged]) -> Next {
    let of = |id: SegmentId| damaged.iter().find(|segment| segment.id == id).copied();
    queue.next(unreleased, of, |from| {
        let end = from.0 + PART;
        let is_in = |segment: &&Damaged| (from.0..end).contains(&segment.id.0);
        let next = damaged.iter().any(|segment| segment.id.0 >= end).then_some(SegmentId(end));
        Part { damaged: damaged.iter().filter(is_in).copied().collect(), next }
    })
}

fn id_of(next: Next) -> Option<u32> {
    match next {
        Next::Segment(segment) => Some(segment.id.0),
        Next::Nothing => None,
        Next::Searching => panic!("it was one part"),
    }
}

fn next(damaged: &[Damaged]) -> Option<u32> {
    id_of(next_of(&mut Queue::default(), &LOST, damaged))
}

#[test]
fn the_segment_with_the_fewest_columns_left_comes_first() {
    assert_eq!(next(&[damaged(1, 1), damaged(2, 2), damaged(3, 1)]), Some(2));
}

#[test]
fn what_is_empty_or_not_ready_is_left_alone_and_said_to_be_there() {
    let empty = Damaged { is_empty: true, ..damaged(1, 1) };
    let busy = Damaged { is_ready: false, ..damaged(2, 1) };
    let mut queue = Queue::default();
    assert_eq!(next_of(&mut queue, &LOST, &[empty, busy]), Next::Nothing);
    assert!(queue.found_empty() && queue.found_unready());
    assert_eq!(next_of(&mut queue, &LOST, &[busy]), Next::Nothing);
    assert!(!queue.found_empty() && queue.found_unready());
}

#[test]
fn segments_are_looked_for_once_for_each_loss_and_again_when_all_are_restored() {
    let mut queue = Queue::default();
    let mut next = |unreleased: &[DriveId], damaged: &[Damaged]| {
        id_of(next_of(&mut queue, unreleased, damaged))
    };
    assert_eq!(next(&LOST, &[damaged(1, 1), damaged(3, 1)]), Some(1));
    // Of what is found later only what the loss of another drive endangers comes before what was
    // found first.
    let later = [damaged(0, 2), damaged(1, 1), damaged(3, 1)];
    assert_eq!(next(&LOST, &later), Some(1));
    assert_eq!(next(&LOST, &[later[0], later[2]]), Some(3));
    assert_eq!(next(&LOST, &later[..1]), Some(0));
    assert_eq!(next(&LOST, &[]), None);
    assert_eq!(next(&LOST, &later[1..2]), Some(1));
    assert_eq!(next(&[LOST[0], DriveId(8)], &later[..2]), Some(0));
}

/// With half a million segments one look at all of them would hold hosts up for 20 ms.
#[test]
fn all_segments_are_looked_at_before_the_first_is_restored_but_a_part_in_each_turn() {
    let mut queue = Queue::default();
    let all = [damaged(1, 1), damaged(PART + 1, 1), damaged(2 * PART, 2)];
    assert_eq!(next_of(&mut queue, &LOST, &all), Next::Searching);
    assert_eq!(next_of(&mut queue, &LOST, &all), Next::Searching);
    let order = [all[2], all[0], all[1]];
    for (done, next) in order.iter().enumerate() {
        let left: Vec<Damaged> =
            all.iter().filter(|segment| !order[..done].contains(segment)).copied().collect();
        assert_eq!(next_of(&mut queue, &LOST, &left), Next::Segment(*next));
    }
}
