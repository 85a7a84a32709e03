//! Opening a pool: the newest root, what was written since, and a new root that decides it.
//!
//! The steps and what a crash between two of them leaves are in `docs/format.md`, "Order of events".

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use ashlar_block::{AlignedBuf, Device, DriveId, DriveUuid, IoError, PoolUuid, World};
use ashlar_raid::{Array, Geometry, Member};
use bytes::Bytes;
use futures_util::future::{join_all, try_join_all};

use crate::append::{BatchRoom, StreamId};
use crate::batch::Item;
use crate::catalog::Catalog;
use crate::compress::Fragment;
use crate::format::codec::crc32c;
use crate::format::header::{BatchHeader, RecordKind};
use crate::format::location::{Location, Pointer, SLOT_BYTES, SegmentId};
use crate::format::page::{Child, decode_delta, decode_leaf, decode_node};
use crate::format::root::{MemberState, Root, SLOT_BYTES as ROOT_BYTES, SLOT_COUNT, ShardRoot};
use crate::format::superblock::Superblock;
use crate::format::table::{RowExtent, SegmentKind, SegmentState, Table, decode_table};
use crate::log::Log;
use crate::map::deltas::Deltas;
use crate::map::index::Index;
use crate::map::shard::Shard;
use crate::options::Options;
use crate::pool::{Identity, Parts, Pool};
use crate::scan::{Expected, Found, Image};
use crate::segments::{Claim, Numbers, Segment, Segments, Stripe};
use crate::types::{Family, Incarnation, Lsn, RootGeneration, SHARD_COUNT, ShardId};

/// Segments that are read back at a time.
const SCANS_AT_A_TIME: usize = 4;

/// A drive that has been found to be a member of the pool.
pub struct FoundDrive<D> {
    /// What its superblock says.
    pub superblock: Superblock,
    /// The drive.
    pub device: D,
}

/// Why a pool cannot be opened.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OpenError {
    /// No drives were given, or of several pools.
    #[error("the drives belong to {0} pools, and must belong to one")]
    NotOnePool(usize),
    /// Two drives claim to be the same member.
    #[error("two drives both claim to be {0} of the pool: one is a copy of the other; take one of them away")]
    Cloned(DriveId),
    /// No drive has a root.
    #[error("no drive holds a valid root: was the pool's creation interrupted?")]
    NoRoot,
    /// The segment table of the newest root cannot be read from any drive.
    #[error("the segment table of the newest root ({0:?}) cannot be read from any drive")]
    NoTable(RootGeneration),
    /// Members are missing, more than the level survives.
    #[error("{} of {members} drives are missing ({}), and the pool's level survives {parity}", missing.len(), names(missing))]
    TooManyMissing {
        /// Which.
        missing: Vec<DriveId>,
        /// Of how many.
        members: usize,
        /// How many may be.
        parity: usize,
    },
    /// Opening without these drives has to be asked for.
    #[error("{} of {members} drives are missing ({}), which is half of them or more: bring them back, or say --degraded", missing.len(), names(missing))]
    Degraded {
        /// Which.
        missing: Vec<DriveId>,
        /// Of how many.
        members: usize,
    },
    /// A drive went another way.
    #[error(
        "{drive} was part of the pool while it was open without the others: its content cannot be merged with theirs; clear its label to give it up, or open without the others"
    )]
    Diverged {
        /// Which.
        drive: DriveId,
    },
    /// A drive's root could not be read, or a page of the maps.
    #[error("{0}")]
    Io(#[from] IoError),
    /// What was read is not what it should be.
    #[error("{0}")]
    Malformed(#[from] crate::format::codec::Malformed),
    /// Batches had to be written anew and there was no room.
    #[error("there is no room to write recovered batches anew")]
    NoRoom,
}

fn names(drives: &[DriveId]) -> String {
    drives.iter().map(DriveId::to_string).collect::<Vec<_>>().join(", ")
}

/// What may be taken as said when a pool is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenPolicy {
    /// Open even if only half of the members or fewer are there.
    pub degraded: bool,
}

/// What opening has found.
#[derive(Clone, Debug, Default)]
pub struct Opened {
    /// Drives that were given and are not believed, because the pool went on without them.
    pub stale: Vec<DriveId>,
    /// Members that are not there, or not believed.
    pub missing: Vec<DriveId>,
    /// Batches that were replayed.
    pub replayed: u64,
    /// Torn batches that nobody had been told of, and that are gone.
    pub torn: u64,
    /// Batches that had to be written anew, because a part of them was not right.
    pub rewritten: u64,
    /// The pool had not been closed.
    pub unclean: bool,
}

// --- the newest root, and who belongs to it --------------------------------------------------------------------

/// The valid roots of one drive, newest last.
async fn read_roots<D: Device>(device: &D, pool: PoolUuid) -> Vec<Root> {
    let mut roots = Vec::new();
    for slot in 0..SLOT_COUNT {
        let (read, buf) = device.read(Superblock::root_offset(slot), AlignedBuf::stale(ROOT_BYTES)).await;
        if read.is_err() {
            continue;
        }
        roots.extend(Root::decode(&buf).ok().filter(|root| root.pool == pool));
    }
    roots.sort_by_key(|root| root.generation);
    roots
}

/// What a drive may be to the newest root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standing {
    /// A member that has missed nothing that matters.
    Member,
    /// Its content is older than its absence.
    Stale,
    /// It belongs to another line that could have opened the pool by itself.
    Diverged,
}

fn standing(root: &Root, superblock: &Superblock, own: Option<&Root>) -> Standing {
    let record = root.members.iter().find(|member| member.drive == superblock.drive);
    let Some(record) = record.filter(|record| record.uuid == superblock.drive_uuid) else {
        return Standing::Stale;
    };
    // A drive without any valid root has lost them; what else it holds is checked wherever it is read.
    let on_line = own.is_none_or(|own| root.descends_from(own.incarnation(), own.generation));
    match (on_line, record.state) {
        (true, MemberState::Present) => Standing::Member,
        (true, MemberState::Absent) => Standing::Stale,
        (false, _) if own.is_some_and(|own| went_on_without(own, root)) => Standing::Diverged,
        (false, _) => Standing::Stale,
    }
}

/// Whether `own` acknowledged writes that `root` does not know. For that it had to name a drive absent that is present
/// in `root`; one that does not is the root of a checkpoint that did not come to its end.
fn went_on_without(own: &Root, root: &Root) -> bool {
    let state = |root: &Root, drive| {
        root.members.iter().find(|member| member.drive == drive).map(|member| member.state)
    };
    own.members.iter().any(|member| {
        member.state == MemberState::Absent && state(root, member.drive) == Some(MemberState::Present)
    })
}

/// Which drives the pool is opened with.
struct Chosen<D> {
    root: Root,
    members: Vec<FoundDrive<D>>,
    stale: Vec<DriveId>,
    missing: Vec<DriveId>,
}

async fn choose<D: Device>(drives: Vec<FoundDrive<D>>, policy: OpenPolicy) -> Result<Chosen<D>, OpenError> {
    let pools: BTreeSet<PoolUuid> = drives.iter().map(|drive| drive.superblock.pool).collect();
    let Some(pool) = pools.first().copied().filter(|_| pools.len() == 1) else {
        return Err(OpenError::NotOnePool(pools.len()));
    };
    let mut seen: BTreeSet<DriveUuid> = BTreeSet::new();
    if let Some(clone) = drives.iter().find(|drive| !seen.insert(drive.superblock.drive_uuid)) {
        return Err(OpenError::Cloned(clone.superblock.drive));
    }
    let parity = usize::from(drives[0].superblock.parity);
    let roots = join_all(drives.iter().map(|drive| read_roots(&drive.device, pool))).await;
    let newest = roots.iter().filter_map(|roots| roots.last()).max_by_key(|root| root.generation);
    let root = newest.ok_or(OpenError::NoRoot)?.clone();
    let mut chosen = Chosen { root, members: Vec::new(), stale: Vec::new(), missing: Vec::new() };
    for (drive, roots) in drives.into_iter().zip(&roots) {
        match standing(&chosen.root, &drive.superblock, roots.last()) {
            Standing::Member => chosen.members.push(drive),
            Standing::Stale => chosen.stale.push(drive.superblock.drive),
            Standing::Diverged => return Err(OpenError::Diverged { drive: drive.superblock.drive }),
        }
    }
    let there: BTreeSet<DriveId> = chosen.members.iter().map(|drive| drive.superblock.drive).collect();
    let members = chosen.root.members.len();
    chosen.missing =
        chosen.root.members.iter().map(|m| m.drive).filter(|drive| !there.contains(drive)).collect();
    if chosen.missing.len() > parity {
        return Err(OpenError::TooManyMissing { missing: chosen.missing, members, parity });
    }
    // Drives whose absence is known already have been agreed to.
    let known = |drive: &&DriveId| {
        chosen.root.members.iter().any(|m| m.drive == **drive && m.state == MemberState::Absent)
    };
    let new = chosen.missing.iter().filter(|drive| !known(drive)).count();
    if new > 0 && there.len() * 2 <= members && !policy.degraded {
        return Err(OpenError::Degraded { missing: chosen.missing, members });
    }
    Ok(chosen)
}

async fn read_table<D: Device>(chosen: &Chosen<D>) -> Result<Table, OpenError> {
    let table = chosen.root.table;
    for drive in &chosen.members {
        let bytes = (table.bytes as usize).next_multiple_of(ashlar_block::SECTOR_BYTES);
        let offset = drive.superblock.table_offset(table.area);
        if table.bytes > drive.superblock.table_bytes {
            continue;
        }
        let (read, buf) = drive.device.read(offset, AlignedBuf::stale(bytes)).await;
        if read.is_ok() && crc32c(&buf[..table.bytes as usize]) == table.crc {
            return Ok(decode_table(&buf[..table.bytes as usize], table.entries, table.resting)?);
        }
    }
    Err(OpenError::NoTable(chosen.root.generation))
}

// --- opening ---------------------------------------------------------------------------------------------------

/// Opens the pool that `drives` belong to. No task of it runs yet.
pub(crate) async fn open<W: World>(
    world: &W,
    drives: Vec<FoundDrive<W::Device>>,
    options: Options,
    policy: OpenPolicy,
) -> Result<(Rc<Pool<W>>, Opened), OpenError> {
    let chosen = choose(drives, policy).await?;
    let table = read_table(&chosen).await?;
    let mut opened = Opened {
        stale: chosen.stale.clone(),
        missing: chosen.missing.clone(),
        unclean: !chosen.root.clean,
        ..Opened::default()
    };
    let pool = assemble(world, chosen, table, options);
    let root = pool.root.borrow().clone();
    pool.load_catalog(&root).await?;
    pool.load_shards(&root).await?;
    pool.replay(&root, &mut opened).await?;
    pool.root.borrow_mut().unclean_starts += u64::from(opened.unclean);
    pool.checkpoint(false).await?;
    Ok((pool, opened))
}

fn assemble<W: World>(world: &W, chosen: Chosen<W::Device>, table: Table, options: Options) -> Rc<Pool<W>> {
    let Chosen { root, members, .. } = chosen;
    let first = &members[0].superblock;
    let stripe = Stripe { data: usize::from(first.data), parity: usize::from(first.parity) };
    let identity = Identity::of(first);
    let chunks: Vec<(DriveId, u32)> =
        members.iter().map(|m| (m.superblock.drive, m.superblock.layout.chunk_count)).collect();
    let numbers = Numbers::loaded(first.segment_numbers, &root, table.resting);
    let mut segments = Segments::new(stripe, chunks.into_iter(), numbers);
    segments.load(table.entries);
    let slots = members.iter().map(|m| usize::from(m.superblock.drive.0) + 1).max().unwrap_or(0);
    let mut array: Vec<Option<Rc<Member<W::Device>>>> = (0..slots).map(|_| None).collect();
    for FoundDrive { superblock, device } in members {
        array[usize::from(superblock.drive.0)] = Some(Rc::new(Member::new(device, superblock.layout)));
    }
    Pool::new(Parts {
        world: world.clone(),
        options,
        identity,
        incarnation: Incarnation(world.random_u64()),
        array: Rc::new(Array::new(array)),
        segments,
        shards: (0..SHARD_COUNT as u8).map(|id| Shard::new(ShardId(id))).collect(),
        log: Log::new(root.next_lsn),
        catalog: Catalog::default(),
        catalog_pages: Vec::new(),
        absent: root.members.iter().filter(|m| m.state == MemberState::Absent).map(|m| m.drive).collect(),
        root,
    })
}

/// A batch that counts, and what of it is to be replayed.
struct Replay {
    lsn: Lsn,
    header: BatchHeader,
    /// Its data columns, if it is to be written anew.
    rewrite: Option<Vec<Vec<u8>>>,
}

impl<W: World> Pool<W> {
    // --- the maps, as of the root -------------------------------------------------------------------------------

    async fn load_catalog(&self, root: &Root) -> Result<(), OpenError> {
        let directories = self.read_directories(root.catalog).await?;
        if directories.is_empty() {
            return Ok(());
        }
        let pages: Vec<Pointer> =
            directories.iter().rev().flat_map(|(_, directory)| directory.pages.clone()).collect();
        let bytes = try_join_all(pages.iter().map(|page| self.read_page(*page))).await?.concat();
        let catalog = Catalog::decode(&bytes)?;
        self.ledger.load(catalog.usages.clone());
        *self.catalog.borrow_mut() = catalog;
        *self.catalog_pages.borrow_mut() =
            pages.into_iter().chain(directories.iter().map(|(at, _)| *at)).collect();
        Ok(())
    }

    async fn load_shards(&self, root: &Root) -> Result<(), OpenError> {
        let load = |(id, from): (usize, &ShardRoot)| self.load_shard(ShardId(id as u8), *from);
        let shards = try_join_all(root.shards.iter().enumerate().map(load)).await?;
        *self.shards.borrow_mut() = shards;
        Ok(())
    }

    async fn load_shard(&self, id: ShardId, from: ShardRoot) -> Result<Shard, OpenError> {
        let mut shard = Shard::new(id);
        self.load_index(&mut shard, from).await?;
        let directories = self.read_directories(from.deltas).await?;
        for (_, directory) in directories.iter().rev() {
            for page in try_join_all(directory.pages.iter().map(|page| self.read_page(*page))).await? {
                for (key, value) in decode_delta(&page)? {
                    let on_disk = shard.on_disk(&key);
                    shard.buffer.load(key, value, on_disk);
                }
            }
        }
        shard.deltas = Deltas::loaded(directories);
        Ok(shard)
    }

    async fn load_index(&self, shard: &mut Shard, from: ShardRoot) -> Result<(), OpenError> {
        let Some(top) = from.index else { return Ok(()) };
        let mut nodes = Vec::new();
        let mut children: Vec<Child> = vec![(crate::types::GroupKey { family: Family(0), gib: 0 }, top)];
        for _ in 0..from.index_height {
            let pages = try_join_all(children.iter().map(|(_, page)| self.read_page(*page))).await?;
            nodes.extend(children.iter().map(|(_, page)| *page));
            children = pages.iter().map(|page| decode_node(page)).collect::<Result<Vec<_>, _>>()?.concat();
        }
        for page in try_join_all(children.iter().map(|(_, page)| self.read_page(*page))).await? {
            for (group, runs) in decode_leaf(&page)? {
                shard.groups.insert(group, runs);
                shard.note_unmerged(group);
            }
        }
        shard.index = Index::loaded(children, nodes, from.index_height, from.index);
        Ok(())
    }

    // --- what was written since ---------------------------------------------------------------------------------

    async fn replay(&self, root: &Root, opened: &mut Opened) -> Result<(), OpenError> {
        if root.clean {
            self.settle_clean();
            return Ok(());
        }
        tracing::debug!(generation = root.generation.0, floor = root.replay_floor.0, "replaying");
        let found = self.scan(root).await;
        let complete = complete_through(found.values().flatten());
        let mut replays = Vec::new();
        for (id, batches) in found {
            replays.extend(self.judge(id, batches, root.replay_floor, &complete, opened).await);
        }
        replays.sort_by_key(|replay| replay.lsn);
        self.log.skip_past(replays.last().map_or(root.next_lsn, |last| last.lsn.max(root.next_lsn)));
        for replay in replays.into_iter().filter(|replay| replay.lsn >= root.replay_floor) {
            opened.replayed += 1;
            self.replay_batch(replay).await?;
        }
        self.seal_all();
        Ok(())
    }

    /// A clean root has nothing behind it: what lies in its window is older.
    fn settle_clean(&self) {
        let mut segments = self.segments.borrow_mut();
        let of = |state| move |(id, segment): (SegmentId, &Segment)| (segment.state == state).then_some(id);
        let window: Vec<SegmentId> = segments.iter().filter_map(of(SegmentState::Window)).collect();
        let open: Vec<SegmentId> = segments.iter().filter_map(of(SegmentState::Open)).collect();
        window.into_iter().for_each(|id| segments.reuse_window(id));
        open.into_iter().for_each(|id| segments.seal(id, self.world.unix_seconds()));
    }

    /// The batches of every segment that may hold some that the maps do not know.
    async fn scan(&self, root: &Root) -> BTreeMap<SegmentId, Vec<Found>> {
        let unknown = |segment: &Segment| match segment.state {
            SegmentState::Window | SegmentState::Open => true,
            SegmentState::Sealed | SegmentState::Condemned => segment.last_lsn >= root.replay_floor,
        };
        let ids: Vec<(SegmentId, Rc<Geometry>)> = self
            .segments
            .borrow()
            .iter()
            .filter(|(_, segment)| unknown(segment))
            .map(|(id, segment)| (id, segment.geometry.clone()))
            .collect();
        let mut found = BTreeMap::new();
        for some in ids.chunks(SCANS_AT_A_TIME) {
            let scans = some.iter().map(|(id, geometry)| async move {
                (*id, self.batches_of(*id, geometry, root.incarnation()).await)
            });
            found.extend(join_all(scans).await);
        }
        found
    }

    async fn batches_of(
        &self,
        segment: SegmentId,
        geometry: &Geometry,
        incarnation: Incarnation,
    ) -> Vec<Found> {
        let expected = Expected { segment, incarnation, secret: &self.identity.secret };
        Image::new(self, geometry).batches(&expected).await
    }

    /// Decides which batches of a segment count, and seals the segment with them. One that holds none is given back,
    /// or may be used for what recovery writes.
    async fn judge(
        &self,
        id: SegmentId,
        batches: Vec<Found>,
        floor: Lsn,
        complete: &BTreeMap<u64, Lsn>,
        opened: &mut Opened,
    ) -> Vec<Replay> {
        let geometry = self.segments.borrow().get(id).expect("scanned").geometry.clone();
        let mut image = Image::new(self, &geometry);
        let mut replays = Vec::new();
        let mut accepted: Vec<RowExtent> = Vec::new();
        // Batches of a segment have rising numbers: what lies before a batch that is known to be durable was
        // durable too. If its header cannot be read now, it still is no hole that collection may skip.
        let covering = |accepted: &[RowExtent], rows: RowExtent| {
            let from = accepted.last().map_or(0, |last| last.row + last.rows);
            RowExtent { row: from, rows: rows.row + rows.rows - from }
        };
        for found in batches {
            let lsn = found.header.lsn;
            let known =
                lsn < floor || complete.get(&(lsn.0 % Lsn::REACTORS)).is_some_and(|through| lsn <= *through);
            let rows = RowExtent { row: found.header.row, rows: found.header.rows };
            let examined = if known { None } else { image.examine(&found).await };
            match examined {
                _ if known => {
                    accepted.push(covering(&accepted, rows));
                    replays.push(Replay { lsn, header: found.header, rewrite: None });
                }
                Some(examined) if examined.redundant => {
                    accepted.push(rows);
                    replays.push(Replay { lsn, header: found.header, rewrite: None });
                }
                Some(examined) => {
                    opened.rewritten += 1;
                    replays.push(Replay { lsn, header: found.header, rewrite: Some(examined.columns) });
                }
                None => opened.torn += 1,
            }
            tracing::trace!("{id} {rows:?} {lsn}: known {known}, {} accepted so far", accepted.len());
        }
        self.close_scanned(id, &accepted, &replays);
        replays
    }

    fn close_scanned(&self, id: SegmentId, accepted: &[RowExtent], replays: &[Replay]) {
        let mut segments = self.segments.borrow_mut();
        let segment = segments.get_mut(id).expect("scanned");
        if segment.state == SegmentState::Window && replays.is_empty() {
            return segments.reuse_window(id);
        }
        let extents = joined(accepted);
        segment.rows = extents.last().map_or(0, |last| last.row + last.rows);
        segment.first_lsn = replays.first().map_or(segment.first_lsn, |first| first.header.first_lsn);
        segment.last_lsn = replays.iter().map(|replay| replay.lsn).max().unwrap_or(segment.last_lsn);
        let whole = extents.len() == 1 && extents[0].row == 0;
        segment.accepted = if whole { Vec::new() } else { extents };
        let metadata =
            |replay: &Replay| replay.header.records.iter().any(|record| record.kind == RecordKind::Metadata);
        if replays.iter().any(metadata) {
            segment.kind = SegmentKind::Metadata;
        }
        if segment.state != SegmentState::Condemned {
            segments.seal(id, self.world.unix_seconds());
        }
    }

    async fn replay_batch(&self, replay: Replay) -> Result<(), OpenError> {
        tracing::trace!(rewrite = replay.rewrite.is_some(), "replay {}", replay.lsn);
        let pointers = match &replay.rewrite {
            Some(columns) => self.rewrite(&replay.header, columns).await?,
            None => replay
                .header
                .records
                .iter()
                .map(|r| r.location.map(|location| Pointer { location, crc: r.crc }))
                .collect(),
        };
        for (record, pointer) in replay.header.records.iter().zip(pointers) {
            let known =
                self.catalog.borrow().volumes.values().any(|volume| volume.family == record.key.family);
            if !known {
                continue;
            }
            let item = Item { kind: record.kind, key: record.key, fragment: None };
            match record.kind {
                RecordKind::Metadata => {}
                RecordKind::Move { .. } => {
                    let pointer = pointer.expect("a move has a fragment");
                    // If the map cannot be read the move is refused: its source is still there, because the root
                    // that is being replayed names it.
                    self.apply_move(&item, pointer).await;
                }
                RecordKind::Write | RecordKind::ZeroRange { .. } => self.publish_item(&item, pointer),
            }
        }
        Ok(())
    }

    /// Appends the fragments of a batch anew; returns where they are, in the order of its records.
    async fn rewrite(
        &self,
        header: &BatchHeader,
        columns: &[Vec<u8>],
    ) -> Result<Vec<Option<Pointer>>, OpenError> {
        let fragment = |location: Location, crc: u32| {
            let start =
                location.slot() as usize * SLOT_BYTES - header.row as usize * ashlar_block::SECTOR_BYTES;
            let bytes = Bytes::copy_from_slice(&columns[location.column()][start..start + location.bytes()]);
            Fragment { bytes, codec: location.codec(), crc }
        };
        let mut items: Vec<Item> = header
            .records
            .iter()
            .filter(|record| record.kind != RecordKind::Metadata)
            .filter_map(|record| Some((record, record.location?)))
            .map(|(record, location)| Item {
                kind: RecordKind::Write,
                key: record.key,
                fragment: Some(fragment(location, record.crc)),
            })
            .collect();
        let mut pointers = Vec::new();
        while !items.is_empty() {
            let take = |room: BatchRoom| items.drain(..room.fitting(&items)).collect();
            let appended = self
                .try_append(StreamId::Recovery, Claim::Checkpoint, take)
                .await
                .map_err(|_| OpenError::NoRoom)?;
            self.write(&appended).await.ok_or(OpenError::NoRoom)?;
            self.log.durable(appended.lsn);
            self.log.published(appended.lsn);
            pointers.extend(appended.pointers.into_iter().flatten());
        }
        let mut pointers = pointers.into_iter();
        let stored = |record: &crate::format::header::Record| {
            record.location.is_some() && record.kind != RecordKind::Metadata
        };
        Ok(header.records.iter().map(|record| if stored(record) { pointers.next() } else { None }).collect())
    }
}

/// What each reactor's newest header says of the batches before it.
fn complete_through<'a>(batches: impl Iterator<Item = &'a Found>) -> BTreeMap<u64, Lsn> {
    let mut complete: BTreeMap<u64, Lsn> = BTreeMap::new();
    for found in batches {
        let header = &found.header;
        let through = complete.entry(header.lsn.0 % Lsn::REACTORS).or_default();
        *through = header.complete_through.max(*through);
    }
    complete
}

/// The same rows in as few extents as possible.
fn joined(extents: &[RowExtent]) -> Vec<RowExtent> {
    let mut joined: Vec<RowExtent> = Vec::new();
    for extent in extents {
        match joined.last_mut() {
            Some(last) if last.row + last.rows == extent.row => last.rows += extent.rows,
            _ => joined.push(*extent),
        }
    }
    joined
}

#[cfg(test)]
mod tests;
