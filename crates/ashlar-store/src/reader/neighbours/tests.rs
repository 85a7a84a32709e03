use ashlar_format::location::{Codec, SLOT_BYTES, SegmentId};

use super::*;

const SLOTS_PER_SECTOR: u32 = (BLOCK_BYTES / SLOT_BYTES) as u32;

impl Stored for Pointer {
    fn pointer(&self) -> Pointer {
        *self
    }
}

/// A fragment of `bytes` that begins in a sector of column 2 of a segment.
fn at(segment: u32, sector: u32, bytes: usize) -> Pointer {
    in_column(segment, 2, sector, bytes)
}

fn in_column(segment: u32, column: usize, sector: u32, bytes: usize) -> Pointer {
    let slot = sector * SLOTS_PER_SECTOR;
    Pointer { location: Location::new(SegmentId(segment), column, slot, bytes, Codec::Raw), crc: 0 }
}

fn group_sizes(stored: &[Pointer]) -> Vec<usize> {
    groups(stored, 0).map(<[Pointer]>::len).collect()
}

#[test]
fn fragments_whose_sectors_touch_are_read_at_once() {
    let stored = [at(1, 4, 4096), at(1, 5, 100), at(1, 6, 4096), at(1, 8, 4096)];
    assert_eq!(group_sizes(&stored), [3, 1]);
    assert_eq!(sectors_of(&stored[..3]), 4..7);
    assert_eq!(range_within(&stored[..3], stored[1].location), 4096..4196);
    assert_eq!(group_sizes(&[]), [0; 0]);
}

#[test]
fn other_columns_and_segments_are_read_apart() {
    let stored = [at(1, 4, 4096), in_column(1, 3, 5, 4096), at(2, 6, 4096), at(2, 7, 4096)];
    assert_eq!(group_sizes(&stored), [1, 1, 2]);
}

#[test]
fn what_little_lies_between_is_read_along_where_that_is_wanted() {
    let stored = [at(1, 4, 4096), at(1, 7, 4096), at(1, 11, 4096)];
    let sizes = |gap: u32| groups(&stored, gap).map(<[Pointer]>::len).collect::<Vec<_>>();
    assert_eq!(sizes(1), [1, 1, 1]);
    assert_eq!(sizes(2), [2, 1]);
    assert_eq!(sizes(3), [3]);
    assert_eq!(range_within(&stored, stored[1].location), 3 * 4096..4 * 4096);
}

#[test]
fn one_read_is_bounded() {
    let stored: Vec<Pointer> =
        (0..READ_SECTORS_MAX + 10).map(|sector| at(1, sector, 4096)).collect();
    assert_eq!(group_sizes(&stored), [READ_SECTORS_MAX as usize, 10]);
}
