//! The store's interface: volumes of blocks.
//!
//! Owns what a caller may ask for, and checks it; the parts do the work.
//!
//! 1. What returns without an error is durable, if it changes anything.
//! 2. A pool that has halted refuses every change, and still reads.

mod bounds;
mod close;
pub(crate) mod drives;
mod name;
mod room;
mod units;
mod update;

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use ashlar_block::{AlignedBuf, BLOCK_BYTES, Cause, DriveId, IoError, Lba, VolumeId, World};
use ashlar_format::catalog::{Settings, Usage, VolumeEntry, VolumeState};
use ashlar_format::compression::Compression;
use ashlar_format::ids::{Family, Key, Layer};
use ashlar_format::location::SLOT_BYTES;
use bytes::Bytes;
use futures_util::future::join_all;

use crate::base::limits::VOLUME_BLOCKS_MAX;
use crate::base::options::Options;
use crate::members::{FoundDrive, OpenPolicy};
use crate::pool::Pool;
use crate::recovery::{self, OpenError, Opened};
use crate::space::capacity::Request;
use crate::status::PoolStatus;
use crate::writer::batch::unit_blocks_max;
use crate::writer::commit::occupancy;
use bounds::{check_attributes, check_size};
use units::cut;
pub use update::VolumeUpdate;

/// See [`Store::atomic_write_bytes`].
pub const ATOMIC_BOUNDARY_BYTES: u32 = 1 << 20;
/// An open pool. Clones are the same one.
pub struct Store<W: World> {
    pub(crate) pool: Rc<Pool<W>>,
}

impl<W: World> Clone for Store<W> {
    fn clone(&self) -> Self {
        Store { pool: self.pool.clone() }
    }
}

impl<W: World> Store<W> {
    /// Opens the pool that `drives` belong to, and starts its tasks.
    pub async fn open(
        world: &W,
        drives: Vec<FoundDrive<W::Device>>,
        options: Options,
        policy: OpenPolicy,
    ) -> Result<(Self, Opened), OpenError> {
        let (pool, opened) = recovery::open(world, drives, options, policy).await?;
        // Not before: what a start finds is many faults at once, and it needs every drive that
        // there is.
        pool.array.set_fault_threshold(pool.catalog.borrow().settings.fault_threshold);
        pool.start_committing();
        pool.spawn(pool.clone().upkeep_loop());
        pool.spawn(pool.clone().room_loop());
        pool.spawn(pool.clone().watch_loop());
        pool.spawn(pool.clone().trim_loop());
        let store = Store { pool };
        store.pool.spawn(store.clone().zero_tails());
        Ok((store, opened))
    }

    // --- volumes ---------------------------------------------------------------------------------

    /// The volumes, those that are being deleted included.
    pub fn volumes(&self) -> BTreeMap<VolumeId, VolumeEntry> {
        self.pool.catalog.borrow().volumes.clone()
    }

    /// Whether blocks can be stored like this in the pool: one that an older Ashlar has made has no
    /// zstd.
    pub fn can_store(&self, compression: Compression) -> bool {
        self.pool.identity.features.has_zstd() || !matches!(compression, Compression::Zstd(_))
    }

    /// Makes a volume. Durable when it returns.
    ///
    /// # Panics
    /// If blocks [cannot be stored](Store::can_store) like that.
    pub async fn create_volume(
        &self,
        blocks: u64,
        compression: Compression,
        attributes: Bytes,
    ) -> Result<VolumeId, IoError> {
        self.pool.halt.check()?;
        check_size(blocks)?;
        check_attributes(&attributes)?;
        assert!(self.can_store(compression), "a fragment that no older Ashlar could read");
        self.pool.admit_request(Request::Change)?;
        let made_at = self.pool.world.unix_seconds();
        let id =
            self.pool.catalog.borrow_mut().insert_next(blocks, compression, attributes, made_at);
        self.pool.checkpoint_now().await?;
        Ok(id)
    }

    /// An error while the file system under a file-backed drive is full.
    pub fn check_room_below(&self) -> Result<(), IoError> {
        self.pool.check_room_below()
    }

    /// Begins to spread what lives over all drives, in stripes as wide as they allow, unless that
    /// goes on already: [`PoolStatus::rebalance`] tells how far it is. Returns when it is decided
    /// for good, not when it is done.
    ///
    /// # Errors
    /// When the pool takes no writes.
    pub async fn start_rebalance(&self) -> Result<(), IoError> {
        self.pool.admit_request(Request::Change)?;
        self.pool.start_rebalance().await
    }

    /// Stops that, if it goes on: everything stays where it is.
    ///
    /// # Errors
    /// When the pool takes no writes.
    pub async fn stop_rebalance(&self) -> Result<(), IoError> {
        self.pool.admit_request(Request::GivingBack)?;
        self.pool.stop_rebalance().await
    }

    /// Lets hosts have what was kept for when the pool is full: [`PoolStatus::space`] tells how
    /// much that is.
    ///
    /// # Errors
    /// When the pool takes no writes, or has no reserve.
    pub async fn release_reserve(&self) -> Result<(), IoError> {
        self.pool.release_reserve().await
    }

    /// Begins a scrub, unless one is under way: [`PoolStatus::scrub`] tells how far it is.
    ///
    /// # Errors
    /// When the pool takes no writes: nothing could be repaired.
    pub fn start_scrub(&self) -> Result<(), IoError> {
        self.pool.start_scrub()
    }

    /// Stops the scrub that is under way, if one is. Durable when it returns.
    ///
    /// # Errors
    /// When the pool takes no writes or has no room for a checkpoint: it has stopped, and the next
    /// start goes on with it.
    pub async fn stop_scrub(&self) -> Result<(), IoError> {
        if self.pool.stop_scrub() {
            self.pool.admit_request(Request::GivingBack)?;
            self.pool.checkpoint_unless_hung().await
        } else {
            Ok(())
        }
    }

    /// The world that it was opened in.
    pub fn world(&self) -> &W {
        &self.pool.world
    }

    /// What an operator has chosen.
    pub fn settings(&self) -> Settings {
        self.pool.catalog.borrow().settings
    }

    /// Changes what an operator has chosen. It holds at once, and is durable when this returns.
    pub async fn set_settings(&self, settings: Settings) -> Result<(), IoError> {
        self.pool.halt.check()?;
        self.pool.admit_request(Request::Change)?;
        self.pool.catalog.borrow_mut().settings = settings;
        self.pool.array.set_fault_threshold(settings.fault_threshold);
        self.pool.rebuild_at_once();
        self.pool.rebalance_at_once();
        self.pool.scrub_at_once();
        self.pool.autotrim_changed();
        self.pool.refresh_limit();
        self.pool.checkpoint_now().await
    }

    /// What those above the store keep with the pool.
    pub fn pool_attributes(&self) -> Bytes {
        self.pool.catalog.borrow().attributes.clone()
    }

    /// Changes that. Durable when it returns; after an error it is as it was, unless the pool has
    /// halted.
    pub async fn set_pool_attributes(&self, attributes: Bytes) -> Result<(), IoError> {
        check_attributes(&attributes)?;
        self.pool.halt.check()?;
        self.pool.admit_request(Request::Change)?;
        let before = std::mem::replace(&mut self.pool.catalog.borrow_mut().attributes, attributes);
        let done = self.pool.checkpoint_now().await;
        if done.is_err() {
            self.pool.catalog.borrow_mut().attributes = before;
        }
        done
    }

    /// Forgets what was learnt from a volume of which nothing is left but zeros: its dictionaries,
    /// which have parts of what it held. Durable with the next change of the volume.
    pub fn unlearn(&self, id: VolumeId) -> Result<(), IoError> {
        self.pool.unlearn(self.live(id)?.family);
        Ok(())
    }

    /// Makes a volume larger or smaller; what lies beyond a smaller size is gone. Durable when it
    /// returns.
    pub async fn resize_volume(&self, id: VolumeId, blocks: u64) -> Result<(), IoError> {
        self.update_volume(id, VolumeUpdate { blocks: Some(blocks), ..Default::default() }).await
    }

    /// Changes a volume: all of it is durable when this returns, and nothing of it is done after an
    /// error, unless the pool has halted.
    ///
    /// # Panics
    /// If blocks [cannot be stored](Store::can_store) like that.
    pub async fn update_volume(&self, id: VolumeId, update: VolumeUpdate) -> Result<(), IoError> {
        update.check()?;
        let can_store = |compression| self.can_store(compression);
        assert!(update.compression.is_none_or(can_store), "a fragment that no older Ashlar reads");
        let Some(blocks) = update.blocks else {
            return self.change(id, Request::Change, |volume| update.apply(volume)).await;
        };
        let _turn = self.pool.writer.resizing.lock().await;
        let before = self.live(id)?.blocks;
        if blocks < before {
            // First the size, so that nothing is written behind it any more.
            self.change(id, Request::GivingBack, |volume| update.apply(volume)).await?;
            left_for_now(id, self.zero_range(id, Lba(blocks)..Lba(before)).await);
            return Ok(());
        }
        // A crash may have come between the two when it was made smaller.
        self.zero_range(id, Lba(before)..Lba(blocks)).await?;
        self.change(id, Request::Change, |volume| update.apply(volume)).await
    }

    /// Gives back what lies beyond the ends of volumes: a crash may have come while they were made
    /// smaller.
    async fn zero_tails(self) {
        let _turn = self.pool.writer.resizing.lock().await;
        for (id, volume) in self.volumes() {
            if volume.state == VolumeState::Live {
                // Nobody has written behind an end since the pool was opened.
                let key = Key { family: volume.family, lba: volume.end(), layer: volume.layer };
                let tail = volume.end()..Lba(VOLUME_BLOCKS_MAX);
                left_for_now(id, self.pool.zero_what_is_held(key, tail).await);
            }
        }
    }

    /// Deletes a volume. It is gone when this returns; its space comes back in the background.
    pub async fn delete_volume(&self, id: VolumeId) -> Result<(), IoError> {
        self.change(id, Request::GivingBack, |volume| volume.state = VolumeState::Deleting).await
    }

    async fn change(
        &self,
        id: VolumeId,
        request: Request,
        change: impl FnOnce(&mut VolumeEntry),
    ) -> Result<(), IoError> {
        let before = self.live(id)?;
        self.pool.admit_request(request)?;
        change(self.pool.catalog.borrow_mut().volumes.get_mut(&id).expect("just seen"));
        let done = self.pool.checkpoint_now().await;
        if done.is_err() && self.pool.halt.why().is_some() {
            // It may or may not be in a root, which the next start sees. Until then the volume is
            // read as it was.
            self.pool.catalog.borrow_mut().volumes.insert(id, before);
        }
        done
    }

    fn live(&self, id: VolumeId) -> Result<VolumeEntry, IoError> {
        let catalog = self.pool.catalog.borrow();
        let volume = catalog.volumes.get(&id).filter(|volume| volume.state == VolumeState::Live);
        volume.cloned().ok_or_else(|| Cause::NoSuchVolume.into())
    }

    /// What a volume stores: blocks that hold data, and slots that their fragments take. May be too
    /// high for a while.
    pub fn usage(&self, id: VolumeId) -> Usage {
        let family = self.pool.catalog.borrow().volumes.get(&id).map(|volume| volume.family);
        family.map(|family| self.pool.space.ledger.usage(family)).unwrap_or_default()
    }

    // --- blocks ----------------------------------------------------------------------------------

    /// Reads `count` blocks. What was never written reads as zeros.
    pub async fn read(&self, id: VolumeId, lba: Lba, count: usize) -> Result<AlignedBuf, IoError> {
        let (family, layer, _) = self.place(id, lba, count as u64)?;
        self.pool.answer(self.pool.read(family, layer, lba, count)).await
    }

    /// Writes whole blocks; durable when it returns.
    ///
    /// Up to [`Store::atomic_write_bytes`] within [`ATOMIC_BOUNDARY_BYTES`] are written as one; of
    /// a larger write a crash may leave any part.
    pub async fn write(&self, id: VolumeId, lba: Lba, data: Bytes) -> Result<(), IoError> {
        self.pool.answer(self.write_blocks(id, lba, data)).await
    }

    async fn write_blocks(&self, id: VolumeId, lba: Lba, data: Bytes) -> Result<(), IoError> {
        let count = data.len() / BLOCK_BYTES;
        let (family, layer, compression) = self.place(id, lba, count as u64)?;
        let first = Key { family, lba, layer };
        let (items, given) = self.pool.compressed(first, &data, compression).await;
        let stored = occupancy(&items);
        let admitted =
            self.pool.admit_blocks(stored.bytes(), count - stored.fragments as usize).await?;
        // It may have been resized or deleted meanwhile.
        self.place(id, lba, count as u64)?;
        self.pool.count(|counters| {
            counters.hosts.blocks_written += count as u64;
            counters.hosts.bytes_stored += stored.slots * SLOT_BYTES as u64;
        });
        let mut units = cut(items, self.unit_blocks_max(), &self.pool.writer.lists.items);
        let last = units.pop().expect("a write has blocks");
        if units.is_empty() {
            return self.pool.commit(last, given, admitted).await;
        }
        // All of them are awaited, also after one has failed: what a host was told has failed must
        // not come later.
        let units = units.into_iter().chain([last]);
        join_all(units.map(|unit| self.pool.commit(unit, given, admitted.clone())))
            .await
            .into_iter()
            .collect()
    }

    /// Writes up to this size, that do not cross [`ATOMIC_BOUNDARY_BYTES`], are all there after a
    /// crash or not at all: 256 KiB, less where chunks are small.
    pub fn atomic_write_bytes(&self) -> u32 {
        // Not all of a unit: a write that does not begin at a block's first byte touches one block
        // more.
        ((self.unit_blocks_max() - 1) * BLOCK_BYTES) as u32
    }

    fn unit_blocks_max(&self) -> usize {
        unit_blocks_max(self.pool.identity.segment_rows)
    }

    /// Makes blocks read as zeros and gives their space back; durable when it returns.
    pub async fn zero(&self, id: VolumeId, lba: Lba, count: u64) -> Result<(), IoError> {
        self.place(id, lba, count)?;
        self.zero_range(id, lba..lba.plus(count)).await?;
        self.pool.holds().await
    }

    async fn zero_range(&self, id: VolumeId, blocks: Range<Lba>) -> Result<(), IoError> {
        let volume = self.live(id)?;
        let key = Key { family: volume.family, lba: blocks.start, layer: volume.layer };
        self.pool.zero_range(key, blocks).await
    }

    fn place(
        &self,
        id: VolumeId,
        lba: Lba,
        count: u64,
    ) -> Result<(Family, Layer, Compression), IoError> {
        let catalog = self.pool.catalog.borrow();
        let volume = catalog.volumes.get(&id).filter(|volume| volume.state == VolumeState::Live);
        let volume = volume.ok_or(Cause::NoSuchVolume)?;
        let fits = lba.0.checked_add(count).is_some_and(|end| end <= volume.blocks);
        if fits {
            Ok((volume.family, volume.layer, volume.compression))
        } else {
            Err(Cause::OutOfRange.into())
        }
    }

    // --- figures ---------------------------------------------------------------------------------

    /// Why the pool takes no writes, if it does not.
    pub fn halted(&self) -> Option<String> {
        self.pool.halt.why()
    }

    /// Returns once it is certain that the pool is this machine's.
    ///
    /// # Errors
    /// It is not, or has been closed.
    pub async fn holds(&self) -> Result<(), IoError> {
        self.pool.holds().await
    }

    /// The machine that has opened the pool since, if one has: nothing of it may be written here
    /// any more.
    pub fn taken_by(&self) -> Option<String> {
        self.pool.taken_by()
    }

    /// How the pool is.
    pub fn status(&self) -> PoolStatus {
        self.pool.status()
    }

    /// Makes everything durable in the maps now, so that a start after a crash has little to
    /// replay.
    pub async fn checkpoint(&self) -> Result<(), IoError> {
        self.pool.checkpoint_now().await
    }

    /// Compares what is counted as live with what is, by a walk over the whole map. Nothing may be
    /// written meanwhile.
    pub async fn audit(&self) -> Result<crate::jobs::audit::Audit, IoError> {
        self.pool.audit_now().await
    }

    /// What a scrub looks at, in bytes of drives that work.
    pub fn scrubbed_places(&self) -> Vec<(DriveId, Range<u64>)> {
        self.pool.scrubbed_places()
    }
}

/// What lies beyond the end of a volume, and cannot be given back now, is when the volume grows, or
/// at the next start: nobody can read it until then.
fn left_for_now(id: VolumeId, given_back: Result<(), IoError>) {
    match given_back {
        Ok(()) => {}
        // It was deleted meanwhile.
        Err(error) if error.cause == Cause::NoSuchVolume => {}
        Err(error) => {
            tracing::warn!("what lies beyond the end of {id:?} keeps its space for now: {error}")
        }
    }
}
