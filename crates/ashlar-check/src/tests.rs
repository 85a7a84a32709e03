//! Pools that the store has made, each with one thing made wrong: the checker has to find it, and
//! to name the drive.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use ashlar_block::{
    AlignedBuf, BLOCK_BYTES, Device, DeviceError, DeviceOp, Durability, Lba, SECTOR_BYTES,
};
use ashlar_drive::{Drive, DriveWorld, OpenMode};
use ashlar_format::codec::crc32c;
use ashlar_format::heartbeat::Heartbeat;
use ashlar_format::location::{Location, Pointer};
use ashlar_format::page::{decode_directory, decode_leaf, decode_node};
use ashlar_format::root::Root;
use ashlar_format::superblock::Superblock;
use ashlar_format::table::{FirstTable, SegmentState, decode_first_table, encode_first_table};
use ashlar_raid::{ChunkAddr, Geometry, Level};
use ashlar_store::{
    Compression, FoundDrive, NewPool, OpenPolicy, Options as StoreOptions, Store, create,
};
use bytes::Bytes;

use super::*;
use crate::pool::page_of;

mod damages;
mod faults;
mod states;

/// Bytes of each drive.
const DRIVE_BYTES: u64 = 24 << 20;
/// GiB of a volume, one group of one shard in each: more than a leaf of its index has room for.
const GROUPS: u64 = 160;

/// A drive in memory of which a part cannot be read, and which takes no writes from the checker.
#[derive(Clone)]
pub(super) struct TestDrive {
    pub drive: Drive,
    unreadable: Rc<RefCell<std::ops::Range<u64>>>,
}

impl Device for TestDrive {
    fn size_bytes(&self) -> u64 {
        self.drive.size_bytes()
    }

    async fn read(&self, offset: u64, buf: AlignedBuf) -> (Result<(), DeviceError>, AlignedBuf) {
        let touches = {
            let unreadable = self.unreadable.borrow();
            offset < unreadable.end && unreadable.start < offset + buf.len() as u64
        };
        if touches {
            return (Err(DeviceError::Os { op: DeviceOp::Read, offset, errno: 5 }), buf);
        }
        self.drive.read(offset, buf).await
    }

    async fn write(&self, _: u64, _: Bytes, _: Durability) -> Result<(), DeviceError> {
        panic!("the checker writes");
    }

    async fn flush(&self) -> Result<(), DeviceError> {
        panic!("the checker flushes");
    }

    async fn discard(&self, _: u64, _: u64) -> Result<(), DeviceError> {
        panic!("the checker discards");
    }
}

/// A pool that is closed, or was cut off.
pub(super) struct Closed {
    pub drives: Vec<TestDrive>,
}

/// What becomes of the pool at the end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Closed,
    /// Dropped with batches behind the newest root.
    Cut,
}

/// Does the work on a reactor.
pub(super) fn on_reactor<F: Future<Output = ()> + 'static>(work: F) {
    ashlar_reactor::run(ashlar_reactor::Config::default(), work).expect("a reactor");
}

impl Closed {
    /// A pool of this level, with volumes, pages of every sort, and something of each written.
    pub async fn new(level: Level, count: usize, end: End) -> Self {
        Closed::with(level, count, DRIVE_BYTES, async |store| fill(store, end).await).await
    }

    /// A pool that something is done with before it is dropped.
    pub async fn with(
        level: Level,
        count: usize,
        drive_bytes: u64,
        work: impl AsyncFnOnce(&Store<DriveWorld>),
    ) -> Self {
        let spec = format!("mem:{drive_bytes}").parse().expect("a drive");
        let open = |_| Drive::open(&spec, OpenMode::Existing).expect("memory");
        let drives: Vec<Drive> = (0..count).map(open).collect();
        let new = NewPool {
            name: "tank".to_owned(),
            level,
            chunk_bytes: Some(64 << 10),
            segment_numbers: None,
        };
        create(&DriveWorld, &new, drives.clone()).await.expect("good drives");
        let mut found = Vec::new();
        for device in &drives {
            let sector = drives::sector(device, 0).await.expect("good drives");
            let superblock = Superblock::decode(&sector).expect("it was made");
            found.push(FoundDrive { superblock, device: device.clone() });
        }
        // Every leaf of the table that changes is a page, and updates soon go to runs.
        let options = StoreOptions {
            table_inline_bytes_max: 0,
            map_memory_bytes: 16 << 10,
            ..StoreOptions::default()
        };
        let opened = Store::open(&DriveWorld, found, options, OpenPolicy::Whole).await;
        work(&opened.expect("good drives").0).await;
        let still = |drive| TestDrive { drive, unreadable: Rc::default() };
        Closed { drives: drives.into_iter().map(still).collect() }
    }

    pub async fn check(&self) -> Report {
        self.check_some(|_| true).await.expect("a pool")
    }

    /// What a check of some of the drives comes to.
    pub async fn check_some(&self, which: impl Fn(usize) -> bool) -> Result<Report, Refused> {
        let given = self.drives.iter().enumerate().filter(|(nth, _)| which(*nth));
        let given =
            given.map(|(nth, drive)| Given { name: format!("d{nth}"), device: drive.clone() });
        check(
            given.collect(),
            &Options { places_bytes_max: 4 << 10, segments_at_a_time: 3 },
            &Unwatched,
        )
        .await
    }

    pub async fn read(&self, drive: usize, offset: u64, bytes: usize) -> Vec<u8> {
        let (read, buf) = self.drives[drive].drive.read(offset, AlignedBuf::stale(bytes)).await;
        read.expect("memory");
        buf.to_vec()
    }

    pub async fn write(&self, drive: usize, offset: u64, bytes: &[u8]) {
        let bytes = AlignedBuf::copy_of(bytes).freeze();
        self.drives[drive].drive.write(offset, bytes, Durability::Stable).await.expect("memory");
    }

    /// Changes a sector, and returns what it was.
    pub async fn change(
        &self,
        drive: usize,
        offset: u64,
        change: impl FnOnce(&mut [u8]),
    ) -> Vec<u8> {
        let start = offset / SECTOR_BYTES as u64 * SECTOR_BYTES as u64;
        let before = self.read(drive, start, SECTOR_BYTES).await;
        let mut after = before.clone();
        change(&mut after[(offset - start) as usize..]);
        assert_ne!(before, after, "nothing changes");
        self.write(drive, start, &after).await;
        before
    }

    /// The newest root.
    pub async fn root(&self) -> Root {
        let mut roots = Vec::new();
        for slot in 0..8 {
            let bytes = self.read(0, Superblock::root_offset(slot), 16 << 10).await;
            roots.extend(Root::decode(&bytes));
        }
        roots.into_iter().max_by_key(|root| root.generation).expect("there is one")
    }

    pub async fn table(&self) -> FirstTable {
        let root = self.root().await.table;
        let bytes = (root.bytes as usize).next_multiple_of(SECTOR_BYTES);
        let bytes = self.read(0, Superblock::table_offset(root.area), bytes).await;
        decode_first_table(&bytes[..root.bytes as usize]).expect("it was written")
    }

    /// Writes another first table, and roots that name it.
    pub async fn put_table(&self, table: &FirstTable) {
        let mut root = self.root().await;
        let mut bytes = encode_first_table(table);
        (root.table.bytes, root.table.crc) = (bytes.len() as u64, crc32c(&bytes));
        bytes.resize(bytes.len().next_multiple_of(SECTOR_BYTES), 0);
        let mut encoded = root.encode();
        encoded.resize(16 << 10, 0);
        for drive in 0..self.drives.len() {
            self.write(drive, Superblock::table_offset(root.table.area), &bytes).await;
            self.write(drive, Superblock::root_offset(root.generation.0), &encoded).await;
        }
    }

    /// The segments as the table has them.
    pub async fn segments(&self) -> Segments {
        let (root, superblock) = (self.root().await, self.superblock().await);
        let members = self.drives.iter().enumerate().map(|(nth, drive)| {
            let (name, layout, is_behind) = (String::new(), superblock.layout, false);
            (DriveId(nth as u16), Member { name, device: drive.clone(), layout, is_behind })
        });
        let findings = report::Findings::default();
        let pool = Pool::new(&superblock, root, members.collect(), findings);
        table::load(&pool).await.expect("it was written").segments
    }

    pub async fn superblock(&self) -> Superblock {
        Superblock::decode(&self.read(0, 0, SECTOR_BYTES).await).expect("it was made")
    }

    pub async fn geometry(&self, location: Location) -> Geometry {
        let segments = self.segments().await;
        segments.geometry(segments.get(location.segment()).expect("it is named"))
    }

    /// Drive and offset of a sector of a chunk.
    pub async fn place(&self, chunk: ChunkAddr, row: u32) -> (usize, u64) {
        let layout = self.superblock().await.layout;
        (chunk.drive.0.into(), layout.offset(chunk.chunk, row * SECTOR_BYTES as u32))
    }

    /// Drive and offset of the first byte of a fragment.
    pub async fn place_of(&self, location: Location) -> (usize, u64) {
        let chunk = self.geometry(location).await.columns[location.column()];
        let (drive, offset) = self.place(chunk, location.sectors().start).await;
        (drive, offset + location.within_sectors().start as u64)
    }

    pub async fn page(&self, pointer: Pointer) -> Vec<u8> {
        let (location, (drive, at)) = (pointer.location, self.place_of(pointer.location).await);
        let start = at / SECTOR_BYTES as u64 * SECTOR_BYTES as u64;
        let sectors = self.read(drive, start, location.sectors().len() * SECTOR_BYTES).await;
        page_of(sectors[location.within_sectors()].to_vec(), location.codec()).expect("a page")
    }
}

/// Volumes with blocks that are written, written over and discarded, over some checkpoints.
async fn fill(store: &Store<DriveWorld>, end: End) {
    let volume =
        store.create_volume(GROUPS << 18, Compression::Lz4, Bytes::new()).await.expect("room");
    let mut random = ashlar_block::XorShift::new(7);
    for gib in 0..GROUPS {
        store
            .write(volume, Lba(gib << 18), vec![gib as u8 + 1; BLOCK_BYTES].into())
            .await
            .expect("room");
    }
    for round in 0..6u64 {
        for nth in 0..60u64 {
            let block = random.below(40) * 64 + nth + (random.below(4) << 18);
            let mut data = vec![0; 2 * BLOCK_BYTES];
            // The second block compresses.
            data[..BLOCK_BYTES + 700].iter_mut().for_each(|byte| *byte = random.next_u64() as u8);
            store.write(volume, Lba(block), data.into()).await.expect("room");
        }
        store.zero(volume, Lba(round * 100), 90).await.expect("room");
        store.checkpoint().await.expect("good drives");
    }
    match end {
        End::Closed => store.close().await.expect("good drives"),
        End::Cut => {
            let data = vec![9; 8 * BLOCK_BYTES];
            store.write(volume, Lba(5000), data.into()).await.expect("room");
        }
    }
}

/// The findings of a kind.
pub(super) fn of_kind(report: &Report, kind: Kind) -> Vec<&Finding> {
    report.findings.iter().filter(|finding| finding.kind == kind).collect()
}

/// There is a finding of that kind on the drive, nothing is said of any other drive, and nothing is
/// lost.
pub(super) fn assert_found(report: &Report, kind: Kind, drive: usize) {
    let found = of_kind(report, kind);
    let id = Some(DriveId(drive as u16));
    assert!(
        found.iter().any(|finding| finding.drive == id && !finding.name.is_empty()),
        "{kind:?}: {report:#?}"
    );
    let others = report.findings.iter().filter(|finding| finding.drive != id || finding.is_lost);
    assert_eq!(others.count(), 0, "{kind:?}: {report:#?}");
}

pub(super) async fn leaf_of(closed: &Closed) -> (Pointer, Vec<Pointer>) {
    let root = closed.root().await;
    let mut nodes = Vec::new();
    let indexed = root.shards.iter().find_map(|shard| Some((shard.index?, shard.index_height)));
    let (mut at, height) = indexed.expect("something was distributed");
    for _ in 0..height {
        nodes.push(at);
        at = decode_node(&closed.page(at).await).expect("a node")[0].pointer;
    }
    assert!(!decode_leaf(&closed.page(at).await).expect("a leaf").is_empty());
    (at, nodes)
}

pub(super) async fn directory_page(closed: &Closed, head: Pointer) -> Pointer {
    decode_directory(&closed.page(head).await).expect("a directory").pages[0]
}

pub(super) fn sealed(segments: &Segments) -> crate::segments::Segment {
    let is_it = |segment: &&crate::segments::Segment| {
        segment.state == SegmentState::Sealed
            && crate::pass::is_walked(segment)
            && !segment.kind.is_of_pages()
    };
    *segments.iter().find(is_it).expect("data was written")
}

pub(super) const HEARTBEAT: u64 = Heartbeat::OFFSET;
