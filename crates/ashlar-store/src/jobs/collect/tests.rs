use ashlar_block::{AlignedBuf, Device, Durability, SECTOR_BYTES};
use ashlar_format::location::Location;
use ashlar_raid::Level;

use super::*;
use crate::testing::{Drives, StillWorld, at_once, page};

/// The first of what is read from `row` on.
pub(super) fn header(
    pool: &Pool<StillWorld>,
    id: SegmentId,
    row: u32,
) -> Result<BatchHeader, IoError> {
    at_once(pool.read_headers(id, row..row + 3)).map(|headers| headers[0].clone())
}

#[test]
fn a_header_that_an_earlier_use_of_the_segment_has_left_is_not_believed() {
    let drives = Drives::new(Level::RAID1, 2);
    let pool = drives.open();
    // Two at a time, until one of them begins a segment that is wanted.
    let begin = |pool: &Pool<StillWorld>, byte: u8, wanted: &dyn Fn(SegmentId) -> bool| loop {
        let pages = vec![page(vec![byte; 100]), page(vec![byte; 100])];
        let at = at_once(pool.append_pages(Claim::Last, pages)).expect("there is room")[0].location;
        if at.sectors().start == 0 && wanted(at.segment()) {
            break at.segment();
        }
    };
    let first = begin(&pool, 1, &|_| true);
    let column = pool.space.segments.borrow().get(first).expect("it is open").geometry.columns[0];
    let offset =
        pool.array.member(column.drive).expect("it works").layout().offset(column.chunk, 0);
    let device = &drives.devices[usize::from(column.drive.0)];
    let (_, before) = at_once(device.read(offset, AlignedBuf::zeroed(SECTOR_BYTES)));
    drop(pool);
    // The segment is used again, and the drive loses what is written first.
    let pool = drives.open();
    begin(&pool, 2, &|segment| segment == first);
    let written = header(&pool, first, 0).expect("it was written");
    at_once(device.write(offset, before.freeze(), Durability::Stable)).expect("a good drive");
    assert_eq!(header(&pool, first, 0).expect("there is a copy"), written);
    assert_eq!(written.incarnation, pool.checkpoint.incarnation);
}

#[test]
fn a_header_that_a_misdirected_write_has_brought_elsewhere_is_not_believed() {
    let drives = Drives::new(Level::RAID1, 2);
    let pool = drives.open();
    let append = |byte: u8| {
        let pages = vec![page(vec![byte; 100]), page(vec![byte; 100])];
        at_once(pool.append_pages(Claim::Last, pages)).expect("there is room")[0].location
    };
    let mut first = append(1);
    let second = loop {
        let next = append(2);
        if next.segment() == first.segment() {
            break next;
        }
        first = next;
    };
    let row = |location: Location| location.sectors().start;
    let right = header(&pool, first.segment(), row(first)).expect("it was written");
    let column =
        pool.space.segments.borrow().get(first.segment()).expect("it is open").geometry.columns[0];
    let layout = pool.array.member(column.drive).expect("it works").layout();
    let offset = |location| layout.offset(column.chunk, row(location) * SECTOR_BYTES as u32);
    let device = &drives.devices[usize::from(column.drive.0)];
    let (_, elsewhere) = at_once(device.read(offset(second), AlignedBuf::zeroed(SECTOR_BYTES)));
    at_once(device.write(offset(first), elsewhere.freeze(), Durability::Stable))
        .expect("a good drive");
    assert_eq!(header(&pool, first.segment(), row(first)).expect("there is a copy"), right);
}
