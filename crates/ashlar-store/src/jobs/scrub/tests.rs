use std::collections::BTreeMap;

use ashlar_block::{AlignedBuf, BLOCK_BYTES, Device, DeviceError, DriveId, Durability, Lba};
use ashlar_format::compression::Compression;
use ashlar_format::header::RecordKind;
use ashlar_format::ids::{Family, Key, Layer};
use ashlar_format::location::{Codec, Location};
use ashlar_format::superblock::Superblock;
use ashlar_raid::{Level, Source};
use bytes::Bytes;

use super::*;
use crate::space::segments::Claim;
use crate::testing::{Drives, StillWorld, at_once};
use crate::writer::append::{Appended, StreamId};
use crate::writer::batch::Item;
use crate::writer::compress::compress_blocks;

/// Blocks that are written, each in a batch of its own.
const BATCHES: u64 = 12;

/// A pool with some batches of incompressible blocks in one segment.
struct Written {
    drives: Drives,
    pool: Rc<Pool<StillWorld>>,
    segment: SegmentId,
}

impl Written {
    fn new(level: Level, drives: usize) -> Self {
        Written::with(BATCHES, level, drives)
    }

    fn with(batches: u64, level: Level, drives: usize) -> Self {
        let drives = Drives::new(level, drives);
        let pool = drives.open();
        (0..batches).for_each(|nth| append(&pool, nth, true));
        at_once(pool.checkpoint(false)).expect("good drives");
        let of_data = |(id, segment): (SegmentId, &Segment)| {
            (u64::from(segment.rows) == batches).then_some(id)
        };
        let segment =
            pool.space.segments.borrow().iter().find_map(of_data).expect("they are in one");
        Written { drives, pool, segment }
    }

    /// Where a sector of the segment lies.
    fn place(&self, column: usize, row: u32) -> (DriveId, u64) {
        let geometry = self
            .pool
            .space
            .segments
            .borrow()
            .get(self.segment)
            .expect("it is there")
            .geometry
            .clone();
        let at = geometry.columns[column];
        let layout = self.pool.array.member(at.drive).expect("it works").layout();
        (at.drive, layout.offset(at.chunk, row * SECTOR_BYTES as u32))
    }

    fn sector(&self, column: usize, row: u32) -> AlignedBuf {
        let (drive, offset) = self.place(column, row);
        let device = &self.drives.devices[usize::from(drive.0)];
        at_once(device.read(offset, AlignedBuf::zeroed(SECTOR_BYTES))).1
    }

    /// Flips a bit of a sector behind the pool. Returns whose it is.
    fn spoil(&self, column: usize, row: u32, byte: usize) -> DriveId {
        let (drive, offset) = self.place(column, row);
        let mut sector = self.sector(column, row);
        sector[byte] ^= 1;
        let device = &self.drives.devices[usize::from(drive.0)];
        at_once(device.write(offset, sector.freeze(), Durability::Stable)).expect("a good drive");
        drive
    }

    /// A scrub from its begin to its end.
    fn scrub(&self) -> ScrubReport {
        self.pool.start_scrub().expect("it takes writes");
        while self.pool.jobs.scrub.pass.borrow().is_some() {
            at_once(self.pool.scrub_step());
        }
        self.pool.scrub_report().expect("there was one")
    }
}

#[test]
fn how_long_a_scrub_still_takes_follows_from_its_pace() {
    let progress = |rows_done| ScrubProgress {
        started_at: 0,
        end: Lsn(0),
        next: (SegmentId(0), 0),
        rows_done,
        rows_total: 4,
        bytes_checked: 0,
        findings: Findings::default(),
        drives: BTreeMap::new(),
    };
    let after_ten_seconds = |rows_before, rows_done| {
        let taken_up = Pass::taken_up(&progress(rows_before), Nanos(0));
        Pass { rows_done, ..taken_up }.report(Nanos(10_000_000_000)).remaining
    };
    assert_eq!(after_ten_seconds(0, 1), Some(Duration::from_secs(30)));
    assert_eq!(after_ten_seconds(0, 4), Some(Duration::ZERO));
    assert_eq!(after_ten_seconds(0, 0), None, "nothing is known yet");
    assert_eq!(
        after_ten_seconds(2, 3),
        Some(Duration::from_secs(10)),
        "what was done before counts not as pace"
    );
    assert_eq!(after_ten_seconds(2, 2), None);
}

fn append(pool: &Rc<Pool<StillWorld>>, nth: u64, published: bool) {
    let mut appended = begin(pool, nth..nth + 1);
    at_once(pool.write(&mut appended)).expect("good drives");
    if published {
        publish(pool, &appended);
    }
}

/// Begins a batch of these blocks, of which nothing is on the drives yet.
fn begin(pool: &Rc<Pool<StillWorld>>, blocks: std::ops::Range<u64>) -> Appended {
    let item = |nth: u64| {
        let byte = |byte: u64| ((byte * byte * (nth + 7)) >> 5) as u8;
        let block: Vec<u8> = (0..BLOCK_BYTES as u64).map(byte).collect();
        let key = Key { family: Family(1), lba: Lba(nth), layer: Layer(0) };
        let fragment =
            compress_blocks(&Bytes::from(block), Compression::None).next().expect("one block");
        Item { kind: RecordKind::Write, key, fragment }
    };
    let mut items: Vec<Item> = blocks.map(item).collect();
    let take = |_, taken: &mut Vec<Item>| taken.append(&mut items);
    at_once(pool.try_append(StreamId::Cold, Claim::Host, take)).expect("there is room")
}

fn publish(pool: &Rc<Pool<StillWorld>>, appended: &Appended) {
    pool.writer.lsns.durable(appended.lsn);
    for (item, pointer) in appended.items.iter().zip(&*appended.pointers) {
        pool.publish_item(item, *pointer);
    }
    pool.writer.lsns.published(appended.lsn);
}

fn found(wrong: u64, repaired: u64) -> Findings {
    Findings { wrong, unreadable: 0, repaired, unrepaired: wrong - repaired }
}

#[test]
fn what_a_drive_has_spoiled_is_found_and_repaired_and_counted_as_its_own() {
    let written = Written::new(Level::RAID5, 4);
    let before: Vec<AlignedBuf> = (0..4).map(|column| written.sector(column, 3)).collect();
    // A header, a block, and parity.
    for (column, row) in [(0, 3), (1, 3), (3, 3)] {
        let drive = written.spoil(column, row, 100);
        let report = written.scrub();
        assert_eq!(
            (report.state, report.findings),
            (ScrubState::Finished, found(1, 1)),
            "column {column}"
        );
        assert_eq!(report.drives.into_iter().collect::<Vec<_>>(), [(drive, found(1, 1))]);
        assert!(written.sector(column, row)[..] == before[column][..], "column {column}");
        let again = written.scrub();
        assert_eq!((again.findings, again.drives.len()), (found(0, 0), 0), "column {column}");
        assert!(again.bytes_checked > BATCHES * 4 * SECTOR_BYTES as u64, "{again:?}");
    }
}

/// Parity computed from such bytes would be another, and the drives that hold it would be blamed.
#[test]
fn bytes_that_no_checksum_covers_are_set_right_as_well() {
    let written = Written::new(Level::RAID6, 5);
    let header_end =
        (0..SECTOR_BYTES).rev().find(|byte| written.sector(0, 2)[*byte] != 0).expect("a header");
    let drive = written.spoil(0, 2, header_end + 1);
    let report = written.scrub();
    assert_eq!(report.drives.into_iter().collect::<Vec<_>>(), [(drive, found(1, 1))]);
    assert_eq!(written.sector(0, 2)[header_end + 1], 0);
}

/// The sector that holds them passed for right, and what was reconstructed with its help was wrong
/// whatever was left out.
#[test]
fn bytes_that_no_checksum_covers_are_set_right_while_another_drive_is_missing() {
    let written = Written::new(Level::RAID6, 5);
    let header_end =
        (0..SECTOR_BYTES).rev().find(|byte| written.sector(0, 2)[*byte] != 0).expect("a header");
    written.pool.array.give_up(written.place(1, 2).0, DeviceError::Gone);
    let drive = written.spoil(0, 2, header_end + 1);
    let report = written.scrub();
    assert_eq!(report.drives.into_iter().collect::<Vec<_>>(), [(drive, found(1, 1))]);
    assert_eq!((report.findings, written.sector(0, 2)[header_end + 1]), (found(1, 1), 0));
}

#[test]
fn wrong_bytes_of_as_many_drives_as_the_level_survives_are_repaired_in_each_row() {
    let written = Written::new(Level::RAID7_3, 6);
    for row in 0..9 {
        for drive in [0, 1, 3] {
            written.spoil((row as usize + drive) % 6, row, 9);
        }
    }
    assert_eq!(written.scrub().findings, found(27, 27));
    assert_eq!(written.scrub().findings, found(0, 0));
}

#[test]
fn what_nothing_can_be_made_of_is_counted_and_left_alone() {
    let written = Written::new(Level::RAID5, 3);
    written.spoil(0, 5, 700);
    written.spoil(1, 5, 700);
    let before = [0, 1, 2].map(|column| written.sector(column, 5));
    let report = written.scrub();
    assert_eq!(report.state, ScrubState::Finished);
    assert!(report.findings.unrepaired > 0 && report.findings.repaired == 0, "{report:?}");
    let after = [0, 1, 2].map(|column| written.sector(column, 5));
    assert!(before.iter().zip(&after).all(|(before, after)| before[..] == after[..]));
}

/// What is on its way is not there yet, and looks like corruption.
#[test]
fn batches_that_are_on_their_way_are_left_alone() {
    let written = Written::new(Level::RAID5, 3);
    append(&written.pool, BATCHES, false);
    append(&written.pool, BATCHES + 1, true);
    let rows = written.pool.space.segments.borrow().get(written.segment).expect("it is open").rows;
    for row in [rows - 2, rows - 1] {
        written.spoil(0, row, 0);
        let before = written.sector(0, row);
        assert_eq!(written.scrub().findings, found(0, 0), "row {row} of {rows}");
        assert!(written.sector(0, row)[..] == before[..]);
    }
}

/// The step ended within it, and when the next one began there, it was known to be written: what
/// came before that row was thought to be all of it, and the rest lost.
#[test]
fn a_batch_that_is_on_its_way_when_a_scrub_comes_to_it_is_not_looked_at_from_its_middle() {
    let written = Written::with(10, Level::RAID5, 3);
    let pool = &written.pool;
    pool.start_scrub().expect("it takes writes");
    let position = || pool.jobs.scrub.position().map(|(_, at, _)| at);
    while position() != Some((written.segment, 8)) {
        at_once(pool.scrub_step());
    }
    let mut appended = begin(pool, 10..16);
    assert!(pool.space.segments.borrow().get(written.segment).expect("it is open").rows > 12);
    at_once(pool.scrub_step());
    at_once(pool.write(&mut appended)).expect("good drives");
    publish(pool, &appended);
    at_once(pool.checkpoint(false)).expect("good drives");
    while pool.jobs.scrub.pass.borrow().is_some() {
        at_once(pool.scrub_step());
    }
    assert_eq!(pool.scrub_report().expect("there was one").findings, found(0, 0));
    assert_eq!(written.scrub().findings, found(0, 0));
}

#[test]
fn a_scrub_that_is_stopped_says_so_and_the_next_one_begins_anew() {
    let written = Written::new(Level::RAID5, 3);
    written.pool.start_scrub().expect("it takes writes");
    at_once(written.pool.scrub_step());
    let running = written.pool.scrub_report().expect("it has begun");
    assert_eq!(running.state, ScrubState::Running);
    assert!(running.part_done > 0.0 && running.part_done <= 1.0, "{running:?}");
    written.pool.stop_scrub();
    assert_eq!(written.pool.scrub_report().expect("it was stopped").state, ScrubState::Stopped);
    assert!(!written.pool.scrub_is_wanted());
    let whole = written.scrub();
    assert_eq!((whole.state, whole.part_done), (ScrubState::Finished, 1.0));
}

/// The first block is in the first batch, the row of which begins with a header.
fn first_block(written: &Written) -> Location {
    Location::new(written.segment, 1, 0, BLOCK_BYTES, Codec::Raw)
}

#[test]
fn what_a_read_finds_wrong_is_made_right_without_a_scrub() {
    let written = Written::new(Level::RAID5, 3);
    let before = written.sector(1, 0);
    let drive = written.spoil(1, 0, 17);
    let geometry = written
        .pool
        .space
        .segments
        .borrow()
        .get(written.segment)
        .expect("it is there")
        .geometry
        .clone();
    // Twice: it is repaired once.
    for _ in 0..2 {
        written.pool.heal_after(&geometry, first_block(&written), Source::Corrupt);
    }
    assert!(written.pool.scrub_is_ready());
    at_once(written.pool.scrub_step());
    assert!(!written.pool.scrub_is_wanted());
    assert!(written.sector(1, 0)[..] == before[..]);
    assert_eq!(written.pool.counters.get().repairs.sectors_healed, 1);
    assert_eq!(written.pool.array.member(drive).expect("it works").corrupt_reads(), 1);
    assert_eq!(written.scrub().findings, found(0, 0));
}

#[test]
fn what_cannot_be_healed_is_not_tried_again_before_the_next_scrub() {
    let written = Written::new(Level::RAID5, 3);
    let geometry = written
        .pool
        .space
        .segments
        .borrow()
        .get(written.segment)
        .expect("it is there")
        .geometry
        .clone();
    written.spoil(0, 0, 700);
    written.spoil(1, 0, 700);
    let order = || {
        written.pool.heal_after(&geometry, first_block(&written), Source::Corrupt);
        written.pool.scrub_is_wanted()
    };
    assert!(order());
    at_once(written.pool.scrub_step());
    assert!(!order());
    assert!(written.scrub().findings.unrepaired > 0);
    assert!(order());
}

#[test]
fn what_was_read_right_and_what_is_on_a_lost_drive_orders_nothing() {
    let written = Written::new(Level::RAID5, 3);
    let geometry = written
        .pool
        .space
        .segments
        .borrow()
        .get(written.segment)
        .expect("it is there")
        .geometry
        .clone();
    written.pool.heal_after(&geometry, first_block(&written), Source::Direct);
    written.pool.array.give_up(geometry.columns[1].drive, DeviceError::Gone);
    written.pool.heal_after(&geometry, first_block(&written), Source::Missing);
    assert!(!written.pool.scrub_is_wanted());
}

/// The number may be another segment's by the time.
#[test]
fn a_place_that_is_gone_when_its_turn_comes_is_forgotten() {
    let written = Written::new(Level::RAID5, 3);
    let geometry = written
        .pool
        .space
        .segments
        .borrow()
        .get(written.segment)
        .expect("it is there")
        .geometry
        .clone();
    for (segment, row) in [(SegmentId(9999), 0), (written.segment, 15)] {
        let gone = Location::new(segment, 1, row * 64, BLOCK_BYTES, Codec::Raw);
        written.pool.heal_after(&geometry, gone, Source::Corrupt);
    }
    at_once(written.pool.scrub_step());
    assert!(!written.pool.scrub_is_wanted());
    assert_eq!(written.pool.counters.get().repairs.sectors_repaired, 0);
}

#[test]
fn the_next_scrub_is_due_an_interval_after_the_last() {
    let drives = Drives::new(Level::RAID5, 3);
    let pool = drives.open();
    let set = |counted_from, interval| {
        let mut catalog = pool.catalog.borrow_mut();
        catalog.scrub.counted_from = counted_from;
        catalog.settings.scrub_interval = interval;
    };
    let seconds = Duration::from_secs;
    // It is the year 1970.
    set(100, Some(seconds(50)));
    assert_eq!((pool.scrub_is_wanted(), pool.scrub_waits()), (false, Some(seconds(150))));
    set(100, Some(seconds(1 << 20)));
    assert_eq!((pool.scrub_is_wanted(), pool.scrub_waits()), (false, Some(DUE_POLL)));
    set(100, Some(Duration::MAX));
    assert_eq!((pool.scrub_is_wanted(), pool.scrub_waits()), (false, Some(DUE_POLL)));
    set(100, None);
    assert_eq!((pool.scrub_is_wanted(), pool.scrub_waits()), (false, None));
    set(0, Some(Duration::ZERO));
    assert_eq!((pool.scrub_is_wanted(), pool.scrub_waits()), (true, Some(Duration::ZERO)));
}

#[test]
fn the_last_scrub_is_known_after_a_restart() {
    let mut written = Written::new(Level::RAID5, 3);
    written.spoil(1, 4, 0);
    let mut report = written.scrub();
    assert_eq!(report.drives.len(), 1, "the one with wrong bytes");
    report.finished_at = Some(1);
    written.pool.catalog.borrow_mut().scrub.finished_at = 1;
    at_once(written.pool.checkpoint(true)).expect("good drives");
    written.pool = written.drives.open();
    assert_eq!(written.pool.scrub_report(), Some(report));
}

#[test]
fn a_scrub_goes_on_after_a_restart_where_it_was() {
    let mut written = Written::new(Level::RAID5, 3);
    let wrong = written.spoil(1, 1, 0);
    written.pool.start_scrub().expect("it takes writes");
    while written.pool.scrub_report().expect("one goes on").findings.wrong == 0 {
        at_once(written.pool.scrub_step());
    }
    let before = written.pool.jobs.scrub.progress().expect("it goes on");
    assert!(before.rows_done > 0);
    at_once(written.pool.checkpoint(true)).expect("good drives");
    written.pool = written.drives.open();
    assert_eq!(written.pool.jobs.scrub.progress(), Some(before.clone()));
    assert!(written.pool.scrub_is_ready());
    while written.pool.jobs.scrub.pass.borrow().is_some() {
        at_once(written.pool.scrub_step());
    }
    let report = written.pool.scrub_report().expect("it has ended");
    assert_eq!((report.state, report.started_at), (ScrubState::Finished, before.started_at));
    assert_eq!(report.drives.into_iter().collect::<Vec<_>>(), [(wrong, found(1, 1))]);
    at_once(written.pool.checkpoint(true)).expect("good drives");
    assert_eq!(written.drives.open().jobs.scrub.progress(), None, "it is not begun once more");
}

#[test]
fn a_scrub_that_was_stopped_does_not_go_on_after_a_restart() {
    let mut written = Written::new(Level::RAID5, 3);
    written.pool.start_scrub().expect("it takes writes");
    at_once(written.pool.scrub_step());
    at_once(written.pool.checkpoint(false)).expect("good drives");
    written.pool.stop_scrub();
    at_once(written.pool.checkpoint(true)).expect("good drives");
    written.pool = written.drives.open();
    assert_eq!(written.pool.jobs.scrub.progress(), None);
    assert!(!written.pool.scrub_is_wanted());
}

/// The other one is enough to go on with, and nobody wrote this one again: the next fault cost the
/// drive.
#[test]
fn a_superblock_that_is_wrong_is_written_anew_from_the_other() {
    let written = Written::new(Level::RAID5, 4);
    let device = &written.drives.devices[2];
    let second = Superblock::second_offset(device.size_bytes());
    let read = |offset| at_once(device.read(offset, AlignedBuf::zeroed(SECTOR_BYTES))).1;
    let right = read(Superblock::FIRST_OFFSET);
    let superblock = Superblock::decode(&right).expect("it was made");
    let older = Superblock { generation: superblock.generation - 1, ..superblock.clone() };
    let of_another =
        Superblock { drive: DriveId(3), generation: superblock.generation + 1, ..superblock };
    let wrong = [vec![0; SECTOR_BYTES], older.encode(), of_another.encode()];
    for (offset, wrong) in [Superblock::FIRST_OFFSET, second]
        .into_iter()
        .flat_map(|at| wrong.clone().map(|wrong| (at, wrong)))
    {
        let sector = AlignedBuf::copy_of(&wrong).freeze();
        at_once(device.write(offset, sector, Durability::Stable)).expect("a good drive");
        let report = written.scrub();
        assert_eq!(report.drives.into_iter().collect::<Vec<_>>(), [(DriveId(2), found(1, 1))]);
        assert!(read(offset)[..] == right[..] && read(second)[..] == right[..]);
        assert_eq!(written.scrub().findings, found(0, 0));
    }
}

#[test]
fn a_drive_without_any_superblock_is_named() {
    let written = Written::new(Level::RAID5, 4);
    let device = &written.drives.devices[2];
    for offset in Superblock::offsets(device.size_bytes()) {
        let zeros = AlignedBuf::zeroed(SECTOR_BYTES).freeze();
        at_once(device.write(offset, zeros, Durability::Stable)).expect("a good drive");
    }
    let report = written.scrub();
    assert_eq!(report.drives.into_iter().collect::<Vec<_>>(), [(DriveId(2), found(3, 0))]);
}
