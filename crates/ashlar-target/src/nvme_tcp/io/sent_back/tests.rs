use ashlar_nvme::io::{BlockRange, IoCommand};
use ashlar_nvme::sqe::Cid;

use super::*;

fn read(cid: u16, start: u64) -> Doing {
    Doing::of(&IoCommand::Read(BlockRange { start, count: 8 }).to_sqe(Cid(cid), 1))
}

fn first(since: u64) -> Place {
    Place { since: Nanos(since), times: 0 }
}

#[test]
fn a_command_that_comes_again_has_its_place_also_under_another_identifier() {
    let mut sent_back = SentBack::default();
    sent_back.put(read(1, 100), first(5), Nanos(20), 8);
    sent_back.put(read(2, 200), first(6), Nanos(21), 8);
    assert_eq!(sent_back.take(read(9, 300), Nanos(22)), None);
    assert_eq!(sent_back.take(read(7, 200), Nanos(22)), Some(Place { since: Nanos(6), times: 1 }));
    assert_eq!(sent_back.take(read(7, 200), Nanos(22)), None, "once");
    let again = sent_back.take(read(1, 100), Nanos(22)).unwrap();
    sent_back.put(read(1, 100), again, Nanos(40), 8);
    assert_eq!(sent_back.take(read(3, 100), Nanos(41)), Some(Place { since: Nanos(5), times: 2 }));
}

#[test]
fn of_commands_that_do_the_same_the_oldest_place_is_taken_first() {
    let mut sent_back = SentBack::default();
    for since in [8, 5, 5, 7] {
        sent_back.put(read(1, 0), first(since), Nanos(20), 8);
    }
    let mut taken = || sent_back.take(read(1, 0), Nanos(21)).map(|place| place.since.0);
    assert_eq!(
        [taken(), taken(), taken(), taken(), taken()],
        [Some(5), Some(5), Some(7), Some(8), None]
    );
}

#[test]
fn who_does_not_come_again_is_forgotten_and_no_more_are_kept_than_can_come() {
    let mut sent_back = SentBack::default();
    (0..10).for_each(|start| sent_back.put(read(1, start), first(start), Nanos(start), 4));
    assert_eq!(sent_back.places.len(), 4);
    let late = Nanos(100 + AWAITED.as_nanos() as u64);
    assert_eq!(sent_back.take(read(1, 0), late), None);
    // Those that are not awaited any more make room.
    (50..52).for_each(|start| sent_back.put(read(1, start), first(start), late, 4));
    assert_eq!(sent_back.places.len(), 2);
}
