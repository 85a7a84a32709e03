//! The segment table: the first table of each drive, and both trees.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use ashlar_block::{AlignedBuf, Device, DriveId, SECTOR_BYTES};
use ashlar_format::codec::{Malformed, crc32c};
use ashlar_format::location::{Pointer, SegmentId};
use ashlar_format::root::{MemberState, Root};
use ashlar_format::superblock::Superblock;
use ashlar_format::table::{
    FirstTable, Listed, Occupancy, TABLE_AREA_BYTES, TableEntry, TreeTop, decode_count_leaf,
    decode_first_table, decode_table_leaf, decode_tree_node,
};
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::iter;

use crate::pool::{Had, Pool, page_of};
use crate::report::{Finding, Kind, shown};
use crate::segments::Segments;

/// Pages that are read at a time.
pub(crate) const PAGES_AT_A_TIME: usize = 128;

/// The table as it is on the drives.
pub(crate) struct Table {
    pub segments: Segments,
    /// Its pages.
    pub pages: Vec<Pointer>,
}

/// Loads the table. `None`: no drive has a first table that the root takes.
pub(crate) async fn load<D: Device>(pool: &Pool<D>) -> Option<Table> {
    let first = first_table(pool).await?;
    let loader = Loader {
        pool,
        segments: RefCell::new(Segments::new(pool.segment_numbers)),
        pages: RefCell::default(),
        chunks: RefCell::default(),
    };
    for entry in &first.segments {
        if !loader.add(entry, entry.live) {
            let text =
                format!("the first table has {}, which cannot be, or is there twice", entry.id);
            pool.findings.add_of_pool(Kind::Entry, text);
        }
    }
    let of_first = first.segments.len();
    loader.load_entries(&first).await;
    loader.load_counts(&first, of_first).await;
    let mut segments = loader.segments.into_inner();
    segments.sort();
    Some(Table { segments, pages: loader.pages.into_inner() })
}

/// The first table of the newest root, from any drive. Tells of drives that do not have it.
async fn first_table<D: Device>(pool: &Pool<D>) -> Option<FirstTable> {
    let bytes = pool.root.table.bytes;
    if bytes > TABLE_AREA_BYTES {
        let text = format!("its first table has {bytes} bytes: too many");
        pool.findings.add_of_pool(Kind::Root, text);
        return None;
    }
    let good = first_table_bytes(pool).await;
    let table = good.and_then(|bytes| decode_first_table(&bytes).ok());
    if table.is_none() {
        let text =
            "no drive has the first table of the newest root: nothing of the pool can be found";
        pool.findings.add(Finding {
            kind: Kind::FirstTable,
            drive: None,
            name: String::new(),
            offset: None,
            bytes: 0,
            is_lost: true,
            text: text.to_owned(),
        });
    }
    table
}

/// Reads it from every drive, and returns what has the checksum of the root.
async fn first_table_bytes<D: Device>(pool: &Pool<D>) -> Option<Vec<u8>> {
    let root = &pool.root.table;
    let offset = Superblock::table_offset(root.area);
    let bytes = (root.bytes as usize).next_multiple_of(SECTOR_BYTES);
    let reads = pool.members().map(|(drive, member)| async move {
        let (read, buf) = member.device.read(offset, AlignedBuf::stale(bytes)).await;
        (drive, member, read.ok().map(|()| buf[..root.bytes as usize].to_vec()))
    });
    let mut good = None;
    for (drive, member, read) in join_all(reads).await {
        match read {
            Some(read) if crc32c(&read) == root.crc => good = Some(read),
            _ if member.is_behind => {}
            _ => pool.findings.add(Finding {
                kind: Kind::FirstTable,
                drive: Some(drive),
                name: member.name.clone(),
                offset: Some(offset),
                bytes: bytes as u64,
                is_lost: false,
                text: "the first table is wrong or cannot be read here; the next checkpoint writes it anew"
                    .to_owned(),
            }),
        }
    }
    good
}

struct Loader<'a, D> {
    pool: &'a Pool<D>,
    segments: RefCell<Segments>,
    pages: RefCell<Vec<Pointer>>,
    /// Chunks that segments claim, by drive: a bit for each.
    chunks: RefCell<BTreeMap<DriveId, Vec<u64>>>,
}

impl<D: Device> Loader<'_, D> {
    /// Adds a segment. Whether that is news.
    fn add(&self, entry: &TableEntry, live: Occupancy) -> bool {
        if !self.segments.borrow_mut().add(entry, live) {
            return false;
        }
        self.check_entry(entry);
        true
    }

    fn check_entry(&self, entry: &TableEntry) {
        let root = &self.pool.root;
        let rows = entry.rows <= self.pool.rows;
        let mut ends = entry.accepted.iter().map(|extent| extent.row + extent.rows);
        let extents = entry.accepted.is_sorted_by(|one, next| one.row + one.rows <= next.row)
            && entry.accepted.iter().all(|extent| extent.rows > 0)
            && ends.next_back().is_none_or(|end| end <= entry.rows);
        let drives: BTreeSet<DriveId> =
            entry.geometry.columns.iter().map(|column| column.drive).collect();
        let distinct = drives.len() == entry.geometry.columns.len();
        let known =
            drives.iter().all(|drive| root.members.iter().any(|member| member.drive == *drive));
        let lsns = entry.first_lsn <= root.next_lsn && entry.last_lsn < root.next_lsn;
        let number = entry.id.0 <= self.pool.segment_numbers;
        let facts = [
            (rows, "more rows than a chunk has"),
            (extents, "extents that cannot be"),
            (distinct, "two columns on one drive"),
            (known, "a drive that is no member"),
            (lsns, "batches that the root does not know of"),
            (number, "a number beyond the pool's"),
        ];
        for (_, what) in facts.iter().filter(|(holds, _)| !holds) {
            self.pool
                .findings
                .add_of_pool(Kind::Entry, format!("the table's entry of {} has {what}", entry.id));
        }
        self.claim_chunks(entry);
    }

    fn claim_chunks(&self, entry: &TableEntry) {
        let mut chunks = self.chunks.borrow_mut();
        for column in &entry.geometry.columns {
            let there = self.pool.member(column.drive);
            let beyond = there.is_some_and(|member| column.chunk >= member.layout.chunk_count);
            let name = there.map_or_else(String::new, |member| member.name.clone());
            let tell = |kind, text| {
                let (drive, name) = (Some(column.drive), name.clone());
                let offset = self.pool.offset(*column, 0);
                self.pool.findings.add(Finding {
                    kind,
                    drive,
                    name,
                    offset,
                    bytes: 0,
                    is_lost: false,
                    text,
                });
            };
            if beyond {
                tell(
                    Kind::Entry,
                    format!("{} has chunk {}, which the drive lacks", entry.id, column.chunk),
                );
                continue;
            }
            if !claim(chunks.entry(column.drive).or_default(), column.chunk) {
                let text = format!(
                    "chunk {} is claimed by {} and by another segment",
                    column.chunk, entry.id
                );
                tell(Kind::ChunkTwice, text);
            }
        }
    }

    async fn load_entries(&self, first: &FirstTable) {
        for (_, listed) in &first.leaves {
            self.add_listed(listed);
        }
        let inline: BTreeSet<u32> = first.leaves.iter().map(|(number, _)| *number).collect();
        let leaves = self.leaves_of(&first.entries, &inline).await;
        self.each_leaf(&leaves, Kind::TableLeaf, decode_table_leaf, |listed| {
            self.add_listed(&listed)
        })
        .await;
    }

    fn add_listed(&self, listed: &[Listed]) {
        for it in listed {
            if let Listed::Segment(entry) = it {
                // What the first table has of it counts.
                self.add(entry, Occupancy::default());
            }
        }
    }

    /// `of_first`: so many segments have their counts in the first table.
    async fn load_counts(&self, first: &FirstTable, of_first: usize) {
        let apart: BTreeSet<SegmentId> =
            first.segments[..of_first].iter().map(|entry| entry.id).collect();
        let count = |counted: &[(SegmentId, Occupancy)]| {
            let mut segments = self.segments.borrow_mut();
            for (id, live) in counted.iter().filter(|(id, _)| !apart.contains(id)) {
                if let Some(segment) = segments.get_mut(*id) {
                    segment.counted = (*live).into();
                }
            }
        };
        first.count_leaves.iter().for_each(|(_, counted)| count(counted));
        let inline: BTreeSet<u32> = first.count_leaves.iter().map(|(number, _)| *number).collect();
        let leaves = self.leaves_of(&first.counts, &inline).await;
        self.each_leaf(&leaves, Kind::CountLeaf, decode_count_leaf, |counted| count(&counted))
            .await;
    }

    /// The leaves of a tree that are pages, by number. A leaf that the first table has counts, and
    /// not what a node still says.
    async fn leaves_of(&self, tree: &TreeTop, inline: &BTreeSet<u32>) -> Vec<(u32, Pointer)> {
        let mut pages = tree.pages.clone();
        for _ in 0..tree.height {
            let nodes = RefCell::new(Vec::new());
            self.each_leaf(&pages, Kind::TableNode, decode_tree_node, |mut children| {
                nodes.borrow_mut().append(&mut children);
            })
            .await;
            pages = nodes.into_inner();
        }
        pages.retain(|(number, _)| !inline.contains(number));
        pages
    }

    /// Reads pages, many at a time, and gives what they hold in their order.
    async fn each_leaf<T>(
        &self,
        pages: &[(u32, Pointer)],
        kind: Kind,
        decode: impl Fn(&[u8], u32) -> Result<Vec<T>, Malformed>,
        mut take: impl FnMut(Vec<T>),
    ) {
        self.pages.borrow_mut().extend(pages.iter().map(|(_, pointer)| *pointer));
        let what = match kind {
            Kind::TableLeaf => "a leaf of the segment table",
            Kind::CountLeaf => "a leaf of the segments' counts",
            _ => "a node of the segment table",
        };
        let reads = iter(pages).map(|(number, pointer)| async move {
            (*number, *pointer, self.read_page(*pointer, kind, what).await)
        });
        let mut reads = reads.buffered(PAGES_AT_A_TIME);
        while let Some((number, pointer, page)) = reads.next().await {
            let Some(page) = page else { continue };
            match decode(&page, number) {
                Ok(items) => take(items),
                Err(error) => {
                    let text = format!(
                        "{what} ({}) has its checksum and is {error}",
                        shown(pointer.location)
                    );
                    self.pool.findings.add_of_pool(kind, text);
                }
            }
        }
    }

    async fn read_page(&self, pointer: Pointer, kind: Kind, what: &str) -> Option<Vec<u8>> {
        let geometry = {
            let segments = self.segments.borrow();
            let segment = segments.get(pointer.location.segment());
            segment.map(|segment| segments.geometry(segment))
        };
        let Some(geometry) = geometry else {
            let text =
                format!("{what} is in {}, which the first table lacks", pointer.location.segment());
            self.pool.findings.add_of_pool(Kind::NoSegment, text);
            return None;
        };
        match self.pool.fragment(&geometry, pointer, kind, what).await {
            Had::AsItIs(stored) | Had::Restored(stored) => {
                page_of(stored, pointer.location.codec())
            }
            Had::Not => None,
        }
    }
}

/// Claims a chunk. False: some segment has it already.
fn claim(claimed: &mut Vec<u64>, chunk: u32) -> bool {
    let (word, bit) = (chunk as usize / 64, 1u64 << (chunk % 64));
    if claimed.len() <= word {
        claimed.resize(word + 1, 0);
    }
    let is_free = claimed[word] & bit == 0;
    claimed[word] |= bit;
    is_free
}

/// Tells of a root that says less parity is used up than is.
pub(crate) fn check_parity_used<D: Device>(pool: &Pool<D>, segments: &Segments) {
    let root: &Root = &pool.root;
    let absent: BTreeSet<DriveId> = root
        .members
        .iter()
        .filter(|member| member.state == MemberState::Absent)
        .map(|member| member.drive)
        .collect();
    let used = segments.iter().map(|segment| {
        let away =
            segments.columns(segment).filter(|column| absent.contains(&column.drive)).count();
        pool.parity.saturating_sub(Segments::parity(segment)) + away
    });
    let most = used.max().unwrap_or(0);
    if most > usize::from(root.parity_used) {
        let text = format!(
            "it says that {} columns of parity are used up, and {most} are",
            root.parity_used
        );
        pool.findings.add_of_pool(Kind::Root, text);
    }
}
