use ashlar_block::{BLOCK_BYTES, DriveId, Lba, XorShift};
use ashlar_format::codec::crc32c;
use ashlar_format::compression::Compression;
use ashlar_format::ids::{Family, Layer};
use ashlar_raid::ChunkAddr;

use super::*;
use crate::reader::decompress::decompress_block;
use crate::writer::compress::{FragmentBytes, compress_blocks};

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
            let block: Vec<u8> = (0..BLOCK_BYTES)
                .map(|at| if at < noisy { rng.next_u64() as u8 } else { 3 })
                .collect();
            let fragment = compress_blocks(&block.into(), Compression::Lz4).next().flatten();
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
        let mut used =
            scratch.rows.take(placement.rows as usize * (usize::from(data) + 1) * SECTOR_BYTES);
        used.fill(0xff);
        scratch.rows.give_back(used.freeze());
        let place = batch_place(&geometry, 0);
        let rows = build(&items, &placement, &place, &secret, &mut scratch, &mut pointers);
        let columns = rows.with_parity();
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
            assert!(decompress_block(stored, location.codec(), |_| None, &mut [0; BLOCK_BYTES]));
            let marks = &mut covered[location.column()][start..start + location.bytes()];
            assert!(marks.iter().all(|mark| !mark), "fragments overlap");
            marks.fill(true);
        }
        for (column, marks) in covered.iter().enumerate() {
            let stray = marks
                .iter()
                .zip(&columns[column])
                .filter(|(mark, byte)| !**mark && **byte != 0)
                .count();
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
    let stored =
        placement.rows as usize * 4 * SLOTS_PER_SECTOR - header_bytes(256, None) / SLOT_BYTES;
    assert!(stored as f64 / slots as f64 <= 1.04, "{stored} slots for {slots}");
}

/// Blocks of which so many bytes are stored each; none are stored of a block of zeros.
fn items_of(stored: impl IntoIterator<Item = usize>) -> Vec<Item> {
    static BYTES: [u8; BLOCK_BYTES] = [7; BLOCK_BYTES];
    let item = |(nth, bytes): (usize, usize)| {
        let codec = if bytes == BLOCK_BYTES { Codec::Raw } else { Codec::Lz4 };
        let bytes = FragmentBytes::Shared(Bytes::from_static(&BYTES[..bytes]));
        let fragment = (!bytes.is_empty()).then_some(Fragment { bytes, codec, crc: 0 });
        let kind = if fragment.is_some() {
            RecordKind::Write
        } else {
            RecordKind::ZeroRange { blocks: 1 }
        };
        let key = Key { family: Family(1), lba: Lba(nth as u64), layer: Layer(0) };
        Item { kind, key, fragment }
    };
    stored.into_iter().enumerate().map(item).collect()
}

/// How many bytes are stored of a block. Each sort is one that fills columns badly in its own way.
fn stored_bytes(sort: u64, rng: &mut XorShift) -> usize {
    let any = 1 + rng.below(BLOCK_BYTES as u64) as usize;
    match sort {
        0 => BLOCK_BYTES,
        1 => any,
        // Raw blocks, and now and then one that is a little smaller.
        2 if rng.below(8) > 0 => BLOCK_BYTES,
        2 => any,
        // Two of these never share a sector.
        3 => BLOCK_BYTES / 2 + 1 + rng.below(BLOCK_BYTES as u64 / 2) as usize,
        4 if rng.below(2) > 0 => 0,
        4 => any.min(BLOCK_BYTES / 8),
        // As large as a compressed block can be and still not take a sector of its own.
        _ => BLOCK_BYTES - 1 - any % 64,
    }
}

const SORTS: u64 = 6;

/// A 256 KiB write of 63 incompressible blocks and one that compressed to 1,200 bytes ended the
/// daemon, and each start after it, on every pool of two data columns. Admission added a row for
/// fragments that leave ends of columns free; the largest batch had no such row.
#[test]
fn a_unit_of_63_raw_blocks_and_a_smaller_one_is_placed_in_two_data_columns() {
    for smaller in [1, 64, 1100, 1200, 2048, 4095] {
        for at in [0, 31, 63] {
            let items = items_of((0..64).map(|nth| if nth == at { smaller } else { BLOCK_BYTES }));
            let rows_max = batch_rows_max(2, 256);
            assert!(
                place(&items, 2, rows_max, Some(&geometry(2, 1))).is_some(),
                "{smaller} at {at}"
            );
        }
    }
}

#[test]
fn every_unit_up_to_the_limit_is_placed_in_every_geometry() {
    let mut rng = XorShift::new(7);
    for (data, parity) in (1..=20u16).flat_map(|data| (0..=4).map(move |parity| (data, parity))) {
        let geometry = geometry(data, parity);
        let data = usize::from(data);
        for segment_rows in [16, 32, 33, 64, 128, 256, 16_384] {
            let rows_max = batch_rows_max(data, segment_rows);
            for blocks in 1..=unit_blocks_max(segment_rows) {
                let sort = rng.below(SORTS + 1);
                // The last sort is any of the others for each block.
                let sort = |rng: &mut XorShift| if sort < SORTS { sort } else { rng.below(SORTS) };
                let items = items_of((0..blocks).map(|_| stored_bytes(sort(&mut rng), &mut rng)));
                for geometry in [Some(&*geometry), None] {
                    let placement = place(&items, data, rows_max, geometry);
                    let rows = placement.map(|placement| placement.rows);
                    assert!(
                        rows.is_some_and(|rows| rows <= rows_max),
                        "{blocks} blocks in {data}+{parity} of {segment_rows} rows: {rows:?} of {rows_max}"
                    );
                }
            }
        }
    }
}

#[test]
fn whatever_is_admitted_is_placed_in_what_it_was_admitted_to() {
    let mut rng = XorShift::new(8);
    let mut admitted = 0;
    for _ in 0..20_000 {
        let (data, rows_max) = (1 + rng.below(20) as usize, 1 + rng.below(67) as u32);
        let records = 1 + rng.below(RECORDS_MAX as u64) as usize;
        let items = items_of((0..records).map(|_| {
            let sort = rng.below(SORTS);
            stored_bytes(sort, &mut rng)
        }));
        let fits = Room::default().with(&items).surely_fits(data, rows_max);
        let placement = place(&items, data, rows_max, None);
        assert!(placement.as_ref().is_none_or(|placement| placement.rows <= rows_max));
        assert!(
            placement.is_some() || !fits,
            "{records} records in {rows_max} rows of {data} columns"
        );
        admitted += usize::from(fits);
    }
    assert!(admitted > 2_000, "{admitted} of 20,000 were admitted: the draw is of no use");
}

#[test]
fn units_have_as_many_blocks_as_an_atomic_write_touches_in_all_but_small_chunks() {
    let limits = [16, 64, 66, 67, 128, 256, 16_384].map(unit_blocks_max);
    assert_eq!(limits, [14, 62, 64, 65, 65, 65, 65]);
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
