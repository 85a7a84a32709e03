use ashlar_block::{BLOCK_BYTES, Lba};
use ashlar_format::header::RecordKind;
use ashlar_format::ids::{Family, Key, Layer};
use ashlar_format::location::Codec;
use bytes::Bytes;

use super::*;
use crate::base::recycle::Recycler;
use crate::writer::compress::{Fragment, FragmentBytes};

fn item(kind: RecordKind, fragment: Option<Fragment>) -> Item {
    Item { kind, key: Key { family: Family(0), lba: Lba(0), layer: Layer(0) }, fragment }
}

fn write(hot: bool) -> Unit {
    let bytes = Bytes::from_static(&[1; BLOCK_BYTES]);
    let fragment = Fragment { bytes: FragmentBytes::Shared(bytes), codec: Codec::Raw, crc: 0 };
    unit(item(RecordKind::Write, Some(fragment)), hot)
}

fn zeros() -> Unit {
    unit(item(RecordKind::ZeroRange { blocks: 1 }, None), false)
}

fn unit(item: Item, hot: bool) -> Unit {
    let mut items = Recycler::default().list();
    items.push(item);
    let ticket = Answers::default().expect().0;
    Unit { items, hot, given: Nanos(0), ticket, admitted: None }
}

fn queue(waiting: Vec<Unit>) -> CommitQueue {
    let queue = CommitQueue::default();
    queue.wait_with(waiting.into());
    queue
}

/// What is taken of the units, by their heat (`None`: zeros), and what goes on waiting.
fn taken(waiting: Vec<Unit>, hot: bool, batch: BatchRoom) -> [Vec<Option<bool>>; 2] {
    let queue = queue(waiting);
    let (mut items, mut waiters) = (Vec::new(), Waiters::new(Recycler::default().list()));
    queue.take(hot, batch, &mut items, &mut waiters);
    assert_eq!(items.len(), waiters.all.len(), "each unit here has one item");
    let taken = items.iter().map(|item| item.fragment.is_some().then_some(hot)).collect();
    let sort = |unit: &Unit| (!unit.stores_nothing()).then_some(unit.hot);
    let left: VecDeque<Unit> = queue.waiting.take();
    let room = left.iter().fold(Room::default(), |room, unit| room.with(&unit.items));
    assert_eq!(queue.waiting_room.get(), room);
    [taken, left.iter().map(sort).collect()]
}

const WIDE: BatchRoom = BatchRoom { data: 4, rows_max: 32 };

#[test]
fn a_batch_is_of_one_temperature() {
    let waiting = vec![write(true), write(false), write(true)];
    assert_eq!(taken(waiting, true, WIDE), [vec![Some(true); 2], vec![Some(false)]]);
}

#[test]
fn nothing_overtakes_zeros_and_zeros_overtake_nothing() {
    let waiting = || vec![write(true), zeros(), write(false), zeros(), write(true)];
    let left = vec![Some(false), None, Some(true)];
    assert_eq!(taken(waiting(), true, WIDE), [vec![Some(true), None], left]);
    assert_eq!(taken(waiting(), false, WIDE)[0], []);
}

#[test]
fn a_batch_ends_where_the_next_unit_does_not_fit() {
    let waiting = (0..6).map(|_| write(false)).collect();
    let [taken, left] = taken(waiting, false, BatchRoom { data: 1, rows_max: 4 });
    assert_eq!((taken.len(), left.len()), (3, 3), "a row is the header's");
}

#[test]
fn what_waits_is_looked_at_no_further_than_a_batch_reaches() {
    let queue = queue((0..1000).map(|_| write(true)).collect());
    let (hot, room) = queue.next_batch(WIDE).expect("something waits");
    assert!(
        hot && !room.surely_fits(WIDE.data, WIDE.rows_max) && room.records() <= 128,
        "{room:?}"
    );
}
