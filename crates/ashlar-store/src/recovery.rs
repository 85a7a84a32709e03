//! Recovery opens a pool: it finds the newest root, replays what was written since, and writes a
//! new root that decides it.
//!
//! Owns a start, from the newest root to a pool that serves. It must not answer a host before its
//! own root is durable.
//!
//! 1. A batch counts if it is whole and all before it count; what was acknowledged is such.
//! 2. What a start has decided its root says, so that the next start cannot decide otherwise.
//! 3. Nothing that the newest root needs is overwritten before that: a start may crash at any time,
//!    and as often as it likes.
//!
//! `docs/format.md`, "Order of events", has the steps, and what a crash between two of them leaves.

mod error;
mod judge;
mod load;
mod load_table;

use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;

use ashlar_block::{AlignedBuf, DriveId, World};
use ashlar_format::catalog::Catalog;
use ashlar_format::header::{BatchHeader, FIXED_BYTES, RECORD_BYTES, Record, RecordKind};
use ashlar_format::ids::{Incarnation, Lsn, SHARD_COUNT, ShardId};
use ashlar_format::location::{Location, Pointer, SLOT_BYTES, SegmentId};
use ashlar_format::root::Root;
use ashlar_format::table::{FirstTable, SegmentState};
use ashlar_raid::{Array, Geometry, Member};
use futures_util::future::{Either, join_all, select};

use crate::base::options::{Options, REPLAY_RECORD_BYTES};
use crate::checkpoint::table::TableTrees;
use crate::map::shard::Shard;
use crate::members::lease::{Loss, take};
use crate::members::naming::newest_label;
use crate::members::{Chosen, FoundDrive, OpenPolicy, choose};
use crate::pool::{Identity, Parts, Pool, clock_of};
use crate::reader::scan::{Expected, Found, Generation, Image};
use crate::space::segments::{Claim, Numbers, Segment, Segments, Shape, Stripe};
use crate::writer::append::{BatchRoom, StreamId, WindowEmpty};
use crate::writer::batch::Item;
use crate::writer::compress::{Fragment, FragmentBytes};
use crate::writer::lsns::{BATCH_RECORDS, LsnTracker};
pub use error::OpenError;
use judge::Complete;

/// Segments that are read back at a time.
const SCANS_AT_A_TIME: usize = 4;

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

/// Opens the pool that `drives` belong to. No task of it runs yet.
pub(crate) async fn open<W: World>(
    world: &W,
    drives: Vec<FoundDrive<W::Device>>,
    options: Options,
    policy: OpenPolicy,
) -> Result<(Rc<Pool<W>>, Opened), OpenError> {
    let parity = drives.first().map_or(0, |drive| drive.superblock.level().parity());
    let (chosen, mut table) = choose(world, drives, policy).await?;
    let taken = match &options.holder {
        Some(holder) => Some(take(world, holder, &chosen, parity).await?),
        None => None,
    };
    let mut opened = Opened {
        stale: chosen.stale.clone(),
        missing: chosen.missing.clone(),
        unclean: !chosen.root.clean,
        ..Opened::default()
    };
    let behind = chosen.behind.clone();
    let pool = assemble(world, chosen, &mut table, options)?;
    if let Some(taken) = taken {
        pool.begin_lease(taken);
        pool.spawn(pool.clone().heartbeat_loop());
    }
    let recovered = pool.recover_if_possible(table, &behind, &mut opened).await;
    recovered.inspect_err(|_| pool.close()).map(|()| (pool.clone(), opened))
}

/// The pool as far as the first table tells.
fn assemble<W: World>(
    world: &W,
    chosen: Chosen<W::Device>,
    table: &mut FirstTable,
    options: Options,
) -> Result<Rc<Pool<W>>, OpenError> {
    let Chosen { root, members, .. } = chosen;
    let first = &members[0].superblock;
    let stripe = Stripe::of(first.level(), root.identities(root.counted()));
    let newest = newest_label(members.iter().map(|member| &member.superblock));
    let identity = Identity::of(newest.unwrap_or(first));
    let chunks: Vec<(DriveId, u32)> =
        members.iter().map(|m| (m.superblock.drive, m.superblock.layout.chunk_count)).collect();
    let numbers = Numbers::loaded(first.segment_numbers, &root);
    let mut segments = Segments::new(stripe, first.layout.rows(), chunks.into_iter(), numbers);
    segments.load(std::mem::take(&mut table.segments))?;
    let slots = members.iter().map(|m| usize::from(m.superblock.drive.0) + 1).max().unwrap_or(0);
    let mut array: Vec<Option<Rc<Member<W::Device>>>> = (0..slots).map(|_| None).collect();
    for FoundDrive { superblock, device } in members {
        let member = Member::new(device, superblock.layout).using(superblock.drive_bytes);
        array[usize::from(superblock.drive.0)] = Some(Rc::new(member));
    }
    Ok(Pool::new(Parts {
        world: world.clone(),
        options,
        identity,
        incarnation: Incarnation(world.random_u64()),
        array: Rc::new(Array::new(array).with_clock(clock_of(world))),
        segments,
        table: TableTrees::of(table),
        shards: (0..SHARD_COUNT as u8).map(|id| Shard::new(ShardId(id))).collect(),
        lsns: LsnTracker::new(root.next_lsn),
        catalog: Catalog::default(),
        absent: root.members.iter().filter(|m| !m.state.takes_part()).map(|m| m.drive).collect(),
        root,
    }))
}

const _: () =
    assert!(size_of::<Record>() + RECORD_BYTES <= REPLAY_RECORD_BYTES, "what a record takes");
const _: () = assert!(
    size_of::<Found>() + size_of::<Replay>() + FIXED_BYTES
        <= BATCH_RECORDS as usize * REPLAY_RECORD_BYTES,
    "what a batch takes besides its records"
);

/// A batch that counts, and what of it is to be replayed.
struct Replay {
    lsn: Lsn,
    header: BatchHeader,
    /// Its data columns, if it is to be written anew.
    rewrite: Option<Vec<Vec<u8>>>,
}

impl Replay {
    /// It holds pages of the maps: then it holds nothing else.
    fn is_of_pages(&self) -> bool {
        self.header.records.iter().any(|record| matches!(record.kind, RecordKind::Page(_)))
    }
}

impl<W: World> Pool<W> {
    /// A start that stops here has decided nothing but that its root is the newest. Its drives stay
    /// locked until what it had begun to write is done.
    async fn recover_if_possible(
        &self,
        table: FirstTable,
        behind: &[DriveId],
        opened: &mut Opened,
    ) -> Result<(), OpenError> {
        let recovered = pin!(self.watching_drives(self.recover(table, behind, opened)));
        let (lacks_room, lost) = (pin!(self.array.lacks_room()), pin!(self.lost()));
        match select(recovered, select(lacks_room, lost)).await {
            Either::Left((recovered, _)) => recovered,
            Either::Right((Either::Left(_), _)) => Err(OpenError::FileSystemFull),
            Either::Right((Either::Right((Loss::To(holder), _)), _)) => {
                Err(OpenError::InUse { holder })
            }
            Either::Right((Either::Right((Loss::Unsure, _)), _)) => Err(OpenError::Unsure),
        }
    }

    /// Loads the maps, replays what was written since, and ends in a root that decides it.
    async fn recover(
        &self,
        table: FirstTable,
        behind: &[DriveId],
        opened: &mut Opened,
    ) -> Result<(), OpenError> {
        let root = self.checkpoint.roots.newest().clone();
        // First: what it writes may lie where the root before still has something. A start after a
        // crash must not choose that one, whichever drives are away then.
        self.spread_root(behind).await;
        self.load_table(table).await?;
        self.load_catalog(&root).await?;
        self.resume_moves();
        self.load_shards(&root).await?;
        *self.checkpoint.empty_at_start.borrow_mut() =
            self.space.segments.borrow().reclaimable(root.replay_floor);
        self.replay(&root, opened).await?;
        if opened.unclean {
            self.checkpoint.roots.count_unclean_start();
        }
        let done = self.checkpoint(false).await;
        self.checkpoint.empty_at_start.take();
        Ok(done?)
    }

    async fn replay(&self, root: &Root, opened: &mut Opened) -> Result<(), OpenError> {
        if root.clean {
            self.settle_clean();
            self.begin_numbers_above(root.next_lsn);
            return Ok(());
        }
        tracing::debug!(generation = root.generation.0, floor = root.replay_floor.0, "replaying");
        let found = self.scan(root).await;
        let complete = complete_through(found.values().flatten());
        // The torn ones count, too: what is left of them must not be taken for one that gets the
        // same number and place.
        let newest = found.values().flatten().map(|found| found.header.lsn).max();
        self.begin_numbers_above(newest.map_or(root.next_lsn, |newest| newest.max(root.next_lsn)));
        let mut replays = Vec::new();
        // What holds nothing is opened first: pages of an unfinished checkpoint are named by a root
        // after all, if it came to a drive that is away now, and that may be back at the next
        // start.
        let mut found: Vec<(SegmentId, Vec<Found>)> = found.into_iter().collect();
        found.sort_by_key(|(_, batches)| !batches.is_empty());
        for (id, batches) in found {
            replays.extend(self.judge(id, batches, root.replay_floor, &complete, opened).await);
        }
        replays.sort_by_key(|replay| replay.lsn);
        for replay in replays.into_iter().filter(|replay| replay.lsn >= root.replay_floor) {
            opened.replayed += 1;
            self.replay_batch(replay).await?;
        }
        self.seal_all();
        Ok(())
    }

    /// Batches of this start are above `newest`, and not those that another start from the same
    /// root has written or will write: what one leaves behind, cut before it came to a root, lies
    /// where the next one writes.
    fn begin_numbers_above(&self, newest: Lsn) {
        let skipped = self.world.random_u64() % SKIPPED_BATCHES_MAX;
        self.writer.lsns.skip_past(Lsn(newest.0 + skipped * Lsn::REACTORS));
    }

    /// A clean root has nothing behind it: what lies in its window is older.
    fn settle_clean(&self) {
        let mut segments = self.space.segments.borrow_mut();
        let of = |state| {
            move |(id, segment): (SegmentId, &Segment)| (segment.state == state).then_some(id)
        };
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
        let segments: Vec<(SegmentId, Lsn, Rc<Geometry>)> = self
            .space
            .segments
            .borrow()
            .iter()
            .filter(|(_, segment)| unknown(segment))
            .map(|(id, segment)| (id, segment.first_lsn, segment.geometry.clone()))
            .collect();
        let mut found = BTreeMap::new();
        for some in segments.chunks(SCANS_AT_A_TIME) {
            let scans = some.iter().map(|(id, since, geometry)| async move {
                let generation = Generation::Begun { by: root.incarnation(), since: *since };
                let expected = Expected { segment: *id, generation, secret: &self.identity.secret };
                (*id, Image::new(self, geometry).batches(&expected, root.replay_floor).await)
            });
            found.extend(join_all(scans).await);
        }
        found
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
            if !self.catalog.borrow().knows(record.key.family) {
                continue;
            }
            let item = Item { kind: record.kind, key: record.key, fragment: None };
            match record.kind {
                RecordKind::Page(_) => {}
                RecordKind::Move { .. } | RecordKind::Recode { .. } => {
                    let pointer = pointer.expect("a move has a fragment");
                    // If the map cannot be read the move is refused: its source is still there,
                    // because the root that is being replayed names it.
                    self.apply_move(&item, pointer).await;
                }
                RecordKind::Write => self.publish_item(&item, pointer),
                RecordKind::ZeroRange { blocks } => self.zero_again(record.key, blocks).await?,
            }
        }
        Ok(())
    }

    /// Whether this start has not come to a root yet.
    pub fn is_recovering(&self) -> bool {
        self.checkpoint.roots.newest().incarnation() != self.checkpoint.incarnation
    }

    /// Makes segments usable that no durable root names. False if this start has a root already, or
    /// there is no room for any.
    ///
    /// Recovery alone may: what it writes counts from its own root on, which names them. Until then
    /// what it was made of is where it was, and a start after another crash finds that.
    pub fn extend_window(&self) -> bool {
        if !self.is_recovering() {
            return false;
        }
        let mut segments = self.space.segments.borrow_mut();
        let wanted = segments.usable_striped() as usize + EXTENSION_SEGMENTS;
        let targets = self.allocation_targets();
        let form = |segments: &mut Segments| {
            segments.form_window(Shape::Striped, wanted, &targets, self.writer.lsns.next())
        };
        let mut added = form(&mut segments);
        if added.is_empty() {
            // Nothing that the root names lives in these, and nothing that is replayed.
            self.checkpoint
                .empty_at_start
                .take()
                .into_iter()
                .for_each(|id| drop(segments.free(id)));
            added = form(&mut segments);
        }
        let has_added = !added.is_empty();
        segments.window_durable(Shape::Striped, added);
        has_added
    }

    /// Appends the fragments of a batch anew; returns where they are, in the order of its records.
    async fn rewrite(
        &self,
        header: &BatchHeader,
        columns: &[Vec<u8>],
    ) -> Result<Vec<Option<Pointer>>, OpenError> {
        let fragment = |location: Location, crc: u32| {
            let start = location.slot() as usize * SLOT_BYTES
                - header.row as usize * ashlar_block::SECTOR_BYTES;
            let bytes =
                AlignedBuf::copy_of(&columns[location.column()][start..start + location.bytes()]);
            Fragment { bytes: FragmentBytes::Own(bytes), codec: location.codec(), crc }
        };
        let items: Vec<Item> = header
            .records
            .iter()
            .filter(|record| !matches!(record.kind, RecordKind::Page(_)))
            .filter_map(|record| Some((record, record.location?)))
            .map(|(record, location)| Item {
                kind: RecordKind::Write,
                key: record.key,
                fragment: Some(fragment(location, record.crc)),
            })
            .collect();
        let mut pointers = self.append_anew(items).await?.into_iter();
        let stored = |record: &Record| {
            record.location.is_some() && !matches!(record.kind, RecordKind::Page(_))
        };
        Ok(header
            .records
            .iter()
            .map(|record| if stored(record) { pointers.next() } else { None })
            .collect())
    }

    /// Returns where they are, in their order.
    async fn append_anew(&self, mut items: Vec<Item>) -> Result<Vec<Pointer>, OpenError> {
        let mut pointers = Vec::new();
        while !items.is_empty() {
            let take = |room: BatchRoom, taken: &mut Vec<Item>| {
                taken.extend(items.drain(..room.fitting(&items)))
            };
            let mut appended = match self.try_append(StreamId::Recovery, Claim::Last, take).await {
                Ok(appended) => appended,
                Err(WindowEmpty) if self.extend_window() => continue,
                Err(WindowEmpty) => return Err(OpenError::NoRoom),
            };
            if self.write_for_root(&mut appended).await.is_none() {
                let halted = self.halt.check();
                return Err(halted
                    .expect_err("a batch that cannot be written halts the pool")
                    .into());
            }
            self.writer.lsns.published(appended.lsn);
            pointers.extend(appended.pointers.iter().flatten());
        }
        Ok(pointers)
    }
}

/// Numbers that a start leaves out, at most: 2^38 starts use up what there are.
const SKIPPED_BATCHES_MAX: u64 = 1 << 20;

/// Segments that recovery takes at a time when the root's window is used up.
const EXTENSION_SEGMENTS: usize = 4;

/// What each reactor's newest header says of the batches before it.
fn complete_through<'a>(batches: impl Iterator<Item = &'a Found>) -> Complete {
    let mut complete = Complete::new();
    for found in batches {
        let header = &found.header;
        let through = complete.entry(header.lsn.0 % Lsn::REACTORS).or_default();
        *through = header.complete_through.max(*through);
    }
    complete
}

#[cfg(test)]
mod tests;
