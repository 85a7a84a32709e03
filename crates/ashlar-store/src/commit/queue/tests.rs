use ashlar_block::{BLOCK_BYTES, Lba};
use bytes::Bytes;

use super::*;
use crate::compress::Fragment;
use crate::format::header::RecordKind;
use crate::format::location::Codec;
use crate::types::{Family, Key, Layer};

fn item(kind: RecordKind, fragment: Option<Fragment>) -> Item {
    Item { kind, key: Key { family: Family(0), lba: Lba(0), layer: Layer(0) }, fragment }
}

fn write(hot: bool) -> Unit {
    let bytes = Bytes::from_static(&[1; BLOCK_BYTES]);
    let fragment = Fragment { bytes, codec: Codec::Raw, crc: 0 };
    Unit { items: vec![item(RecordKind::Write, Some(fragment))], hot, answer: None }
}

fn zeros() -> Unit {
    Unit { items: vec![item(RecordKind::ZeroRange { blocks: 1 }, None)], hot: false, answer: None }
}

fn chosen(waiting: Vec<Unit>, hot: bool) -> Vec<bool> {
    selected(&waiting.into(), hot).collect()
}

#[test]
fn a_batch_is_of_one_temperature() {
    assert_eq!(chosen(vec![write(true), write(false), write(true)], true), [true, false, true]);
}

#[test]
fn nothing_overtakes_zeros_and_zeros_overtake_nothing() {
    let waiting = || vec![write(true), zeros(), write(false), zeros(), write(true)];
    assert_eq!(chosen(waiting(), true), [true, true, false, false, false]);
    assert_eq!(chosen(waiting(), false), [false; 5]);
}

#[test]
fn a_batch_ends_where_the_next_unit_does_not_fit() {
    let waiting: VecDeque<Unit> = (0..6).map(|_| write(false)).collect();
    let taken = fitting(&waiting, false, BatchRoom { data: 1, rows_max: 4 });
    assert_eq!(taken, [true, true, true, false, false, false], "a row is the header's");
}
