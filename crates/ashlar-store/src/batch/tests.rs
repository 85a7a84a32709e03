use ashlar_block::{BLOCK_BYTES, DriveId, Lba, XorShift};
use ashlar_raid::ChunkAddr;

use super::*;
use crate::compress::{compress_blocks, decompress_block};
use crate::format::codec::crc32c;
use crate::types::{Family, Layer};

fn geometry(data: u16, parity: usize) -> Rc<Geometry> {
    let columns = (0..data + parity as u16).map(|n| ChunkAddr { drive: DriveId(n), chunk: 0 });
    Rc::new(Geometry::new(columns.collect(), parity))
}

/// Blocks of which some compress well, some badly, some not at all.
fn items(count: usize, seed: u64) -> Vec<Item> {
    let mut rng = XorShift::new(seed);
    (0..count)
        .map(|index| {
            let noisy = rng.below(BLOCK_BYTES as u64 + 2000).min(BLOCK_BYTES as u64) as usize;
            let block: Vec<u8> =
                (0..BLOCK_BYTES).map(|at| if at < noisy { rng.next_u64() as u8 } else { 3 }).collect();
            let fragment = compress_blocks(&block.into(), true).next().flatten();
            let key = Key { family: Family(1), lba: Lba(index as u64), layer: Layer(0) };
            Item { kind: RecordKind::Write, key, fragment }
        })
        .collect()
}

fn batch_place(geometry: &Rc<Geometry>, row: u32) -> BatchPlace {
    BatchPlace {
        segment: SegmentId(3),
        geometry: geometry.clone(),
        row,
        incarnation: Incarnation(1),
        first_lsn: Lsn(64),
        lsn: Lsn(128),
        complete_through: Lsn(64),
    }
}

#[test]
fn every_fragment_is_where_its_pointer_says_and_the_rest_is_zero() {
    let secret = Secret([1; 32]);
    for (count, data, seed) in [(1, 1, 1), (256, 4, 2), (200, 8, 3), (64, 2, 4), (17, 3, 5)] {
        let geometry = geometry(data, 1);
        let items = items(count, seed);
        let placement = place(&items, usize::from(data), 256, Some(&geometry)).expect("fits");
        let mut pointers = Vec::new();
        let mut scratch = Scratch::default();
        // Memory that is used again has any content.
        let mut used = scratch.rows.take(placement.rows as usize * (usize::from(data) + 1) * SECTOR_BYTES);
        used.fill(0xff);
        scratch.rows.give_back(used.freeze());
        let place = batch_place(&geometry, 0);
        let columns = build(&items, &placement, &place, &secret, &mut scratch, &mut pointers);
        let columns: Vec<Bytes> = columns.iter().collect();
        let header = BatchHeader::decode(&secret, &columns[0]).expect("authentic");
        let mut covered: Vec<Vec<bool>> =
            vec![vec![false; placement.rows as usize * SECTOR_BYTES]; usize::from(data)];
        covered[0][..header.bytes()].fill(true);
        for (item, pointer) in items.iter().zip(&pointers) {
            let (fragment, location) =
                (item.fragment.as_ref().expect("data"), pointer.expect("placed").location);
            let start = location.slot() as usize * SLOT_BYTES;
            let stored = &columns[location.column()][start..start + location.bytes()];
            assert_eq!(crc32c(stored), fragment.crc);
            assert!(decompress_block(stored, location.codec(), &mut [0; BLOCK_BYTES]));
            let marks = &mut covered[location.column()][start..start + location.bytes()];
            assert!(marks.iter().all(|mark| !mark), "fragments overlap");
            marks.fill(true);
        }
        for (column, marks) in covered.iter().enumerate() {
            let stray =
                marks.iter().zip(&columns[column]).filter(|(mark, byte)| !**mark && **byte != 0).count();
            assert_eq!(stray, 0, "column {column}");
        }
    }
}

#[test]
fn compressed_blocks_are_packed_with_little_loss() {
    let items: Vec<Item> = items(4000, 9)
        .into_iter()
        .filter(|item| !takes_sector(item.fragment.as_ref().expect("data")))
        .take(256)
        .collect();
    let slots: usize = items.iter().map(|item| item.fragment.as_ref().expect("data").slots()).sum();
    let placement = place(&items, 4, 256, None).expect("fits");
    let stored = placement.rows as usize * 4 * SLOTS_PER_SECTOR - header_bytes(256, None) / SLOT_BYTES;
    assert!(stored as f64 / slots as f64 <= 1.04, "{stored} slots for {slots}");
}

#[test]
fn an_atomic_write_of_raw_blocks_fits_the_smallest_full_batch() {
    let mut rng = XorShift::new(5);
    let block: Vec<u8> = (0..BLOCK_BYTES).map(|_| rng.next_u64() as u8).collect();
    for data in 1..=8u16 {
        let items: Vec<Item> = (0..ATOMIC_BLOCKS_MAX)
            .map(|n| Item {
                kind: RecordKind::Write,
                key: Key { family: Family(1), lba: Lba(n as u64), layer: Layer(0) },
                fragment: compress_blocks(&block.clone().into(), true).next().flatten(),
            })
            .collect();
        let rows = batch_rows_max(usize::from(data), 4096);
        assert!(place(&items, usize::from(data), rows, Some(&geometry(data, 2))).is_some(), "{data} columns");
    }
}

#[test]
fn what_does_not_fit_is_not_placed() {
    assert_eq!(place(&items(256, 3), 4, 2, None), None);
    assert_eq!(place(&items(257, 3), 8, 256, None), None);
}

#[test]
fn a_zero_range_takes_a_record_and_no_room() {
    let key = Key { family: Family(1), lba: Lba(0), layer: Layer(0) };
    let item = Item { kind: RecordKind::ZeroRange { blocks: 9 }, key, fragment: None };
    let placement = place(&[item], 4, 1, None).expect("a header");
    assert_eq!(placement.rows, 1);
}
