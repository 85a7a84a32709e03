//! How much room there is, and who may take it.

use std::pin::pin;
use std::time::Duration;

use ashlar_block::{BLOCK_BYTES, ByteSize, Cause, DriveId, IoError, World};
use ashlar_format::header::RECORD_BYTES;
use ashlar_format::location::SLOT_BYTES;
use futures_util::future::{Either, select};

use crate::pool::Pool;
use crate::space::over_limit::Held;
use crate::space::segments::Segments;
use crate::space::stripes::{PARTS, Stripes};
use crate::space::throttle::{little, stop_at};

/// How often a write that waits for space looks again.
const ROOM_POLL: Duration = Duration::from_millis(10);
/// How long others wait for a change that waits for room in a file system below, where writes are
/// repeated once a second.
const FULL_BELOW_MAX: Duration = Duration::from_secs(3);
/// What is said then.
const FULL_BELOW: &str = "the file system under a file-backed drive is full: make room there";

/// Segments that have to be left for a checkpoint: one that it may take, and one for the next
/// start.
pub(crate) const CHECKPOINT_MIN: u64 = 2;

/// What somebody wants a checkpoint for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Request {
    /// To make a change durable.
    Change,
    /// To give space back.
    GivingBack,
}

impl Request {
    /// Segments that have to be left for it.
    fn segments_min(self) -> u64 {
        match self {
            Request::Change => CHECKPOINT_MIN + 2,
            Request::GivingBack => CHECKPOINT_MIN + 1,
        }
    }
}

/// Figures of a pool's space, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Space {
    /// What the chunks of members that work hold, redundancy included.
    pub raw: u64,
    /// What is left of it for data and their maps when redundancy is taken off.
    pub usable: u64,
    /// What of `usable` may be live: the rest lets garbage collection work.
    pub limit: u64,
    /// What lives: compressed data and the maps, each fragment with its record. May be too high for
    /// a while, never too low.
    pub live: u64,
    /// Written, no longer live, and not reclaimed yet.
    pub garbage: u64,
    /// Room in segments that could be placed now.
    pub free: u64,
    /// What the rest is used for.
    pub uses: Uses,
    /// Compressed data that can surely be written now; 40 bytes of it go to each block's record. 0
    /// where nothing can.
    pub safe_to_write: u64,
    /// New data is refused for lack of room: from the first refusal until what was refused fits.
    pub full: bool,
    /// Not full, and little room is left.
    pub nearly_full: bool,
    /// Hosts write slower, because little room is left.
    pub throttled: bool,
    /// What an operator may let hosts have beyond `limit` when the pool is full; nothing once that
    /// is released.
    pub reserve: u64,
    /// The reserve has been released, and is a part of `limit`.
    pub reserve_released: bool,
}

/// What room is used for beside data, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Uses {
    /// Blocks that hold data.
    pub written: u64,
    /// What those take after compression.
    pub stored: u64,
    /// Chunks of members that work which no segment has, redundancy included.
    pub free_raw: u64,
    /// Parity columns of all segments.
    pub parity: u64,
    /// The pages of the maps, with their records, and the records of blocks.
    pub map: u64,
}

/// What an empty pool would have room for, in bytes.
struct Bounds {
    usable: u64,
    /// What of it may live, the reserve not counted.
    limit: u64,
    reserve: u64,
}

/// Segments of a striped pool that hosts may not take, and where garbage collection begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Marks {
    /// Below or at this many free segments only what makes room appends.
    pub reserve: u64,
    /// Below or at this many garbage collection works.
    pub collect: u64,
}

/// Segments that collection has at a time: one victim fills at most one, and one is open for each
/// of two streams of moves.
pub(crate) const COLLECTION_SEGMENTS: u64 = 3;

/// The marks of a pool that has room for `total` striped segments.
pub(crate) fn marks(total: u64) -> Marks {
    // One is open for metadata; an emergency checkpoint takes up to three, and the next start one.
    // A drive that is lost takes some of those along, and what is open is begun anew.
    let reserve = COLLECTION_SEGMENTS + 6;
    // The streams of hosts take the next ones while collection begins.
    Marks { reserve, collect: reserve + 3 + collection_parts(total) / PARTS }
}

/// What is free when collection begins, beside a few segments: a part of so many, in parts of one.
/// Each checkpoint gives back about half of it. In a pool of few segments these are small, and a
/// hundredth of them would be a checkpoint for every few writes of hosts.
fn collection_parts(total: u64) -> u64 {
    let parts = total * PARTS;
    (parts / COLLECTION_PART)
        .max((parts / COLLECTION_PART_OF_FEW).min(COLLECTION_OF_FEW_MAX * PARTS))
}

/// Bytes that may live in a pool with room for these stripes, of columns of so many bytes.
fn limit(stripes: &Stripes, column_bytes: u64, over_provisioning_percent: u64) -> u64 {
    let usable = stripes.data(stripes.segments()) * column_bytes;
    let provisioned = usable / 100 * (100 - over_provisioning_percent);
    provisioned.min(most(stripes, column_bytes))
}

/// Bytes that can live at most, however hard garbage collection has to work.
///
/// In a tiny pool what is kept free and what is open weigh more than the percentage, and headers
/// take their part. What is kept may be the widest stripes that there are. Its share of the pool is
/// counted in parts of a segment, so that a drive more makes nothing less.
fn most(stripes: &Stripes, column_bytes: u64) -> u64 {
    let total = stripes.segments();
    let kept = (marks(0).collect + OPEN_SEGMENTS) * PARTS + collection_parts(total);
    let in_use = stripes.data_of_parts(total * PARTS).saturating_sub(stripes.data_of_parts(kept));
    in_use * column_bytes / PARTS / 100 * DENSITY_PERCENT
}

/// What is kept for journals and repairs of file systems, of a pool with this `limit` in which
/// `most` could live. It comes out of what garbage collection has to work with: tiny pools have
/// none to give.
fn reserve(limit: u64, most: u64) -> u64 {
    (limit / RESERVE_PART).min(RESERVE_BYTES_MAX).min(most.saturating_sub(limit))
}

/// The reserve is a part of the limit, and no more than this: the journals of a hundred large file
/// systems.
const RESERVE_PART: u64 = 32;
const RESERVE_BYTES_MAX: u64 = 16 << 30;

/// Collection begins when so small a part of all segments is free, and a few more.
const COLLECTION_PART: u64 = 100;
/// The same of a pool in which it is no more than so many segments.
const COLLECTION_PART_OF_FEW: u64 = 32;
const COLLECTION_OF_FEW_MAX: u64 = 128;

/// A block that does not compress, with its record.
const LEAST_WRITE_BYTES: u64 = (BLOCK_BYTES + RECORD_BYTES) as u64;

/// Segments that are open at a time, and half empty.
const OPEN_SEGMENTS: u64 = 6;

/// Part of a collected segment that is fragments and their records, at least.
const DENSITY_PERCENT: u64 = 90;

impl<W: World> Pool<W> {
    /// Striped segments that are not in use: see `Segments::free_segments`.
    pub fn free_segments(&self) -> u64 {
        self.space.segments.borrow().free_segments(&self.allocation_targets())
    }

    pub fn marks(&self) -> Marks {
        let segments = self.space.segments.borrow();
        let Marks { reserve, collect } =
            marks(segments.stripes_when_empty(&self.allocation_targets()).segments());
        let of_table = segments.filled_by_table() as u64;
        Marks { reserve: reserve + of_table, collect: collect + of_table }
    }

    /// Whether the pool is large enough for what is written to be sorted by heat.
    fn sorts(&self) -> bool {
        let stripes = self.space.segments.borrow().stripes_when_empty(&self.allocation_targets());
        stripes.segments() >= self.options.sorted_segments_min
    }

    /// Whether hosts may open a segment.
    pub fn hosts_may_allocate(&self) -> bool {
        self.free_segments() > self.marks().reserve
    }

    /// The pool's space as it is now.
    pub fn space(&self) -> Space {
        let drives = self.allocation_targets();
        let Bounds { usable, limit, reserve } = self.bounds_on(&drives);
        let segments = self.space.segments.borrow();
        let reserve_released = self.catalog.borrow().reserve_released;
        let (limit, reserve) =
            if reserve_released { (limit + reserve, 0) } else { (limit, reserve) };
        let live = segments.live().bytes();
        let written = segments.summary().data_bytes();
        let free = segments.placeable_data(&drives) * self.column_bytes();
        let (garbage, pending) =
            (written.saturating_sub(live), self.writer.commit.pending_bytes() as u64);
        let levels = self.catalog.borrow().settings.levels;
        let stop = stop_at(levels, limit);
        let allowed = self.space.over_limit.allowed(stop);
        let below_limit = allowed.saturating_sub(live).saturating_sub(pending);
        let room = below_limit.min(self.room_in_segments(free, garbage).saturating_sub(pending));
        let is_stuck = self.is_stuck(&segments, &drives);
        let is_refused = self.space.refusals.hold(self.room(), self.hosts_may_allocate());
        let is_at_limit = below_limit == 0 && !self.counts_are_inexact();
        let full = is_stuck || is_refused || is_at_limit || self.array.out_of_room();
        let takes_none =
            is_stuck || self.space.refusals.hold_for_segment() || self.array.out_of_room();
        Space {
            raw: segments.chunks_on(&self.drives()) * self.column_bytes(),
            usable,
            limit,
            live,
            garbage,
            free,
            uses: self.uses(&segments),
            safe_to_write: if takes_none || room < LEAST_WRITE_BYTES { 0 } else { room },
            full,
            nearly_full: self.space.refusals.is_nearly_full(room, little(levels, limit)) && !full,
            throttled: self.slowdown() > 1.0,
            reserve,
            reserve_released,
        }
    }

    fn uses(&self, segments: &Segments) -> Uses {
        let usage = self.space.ledger.total();
        let stored = usage.slots * SLOT_BYTES as u64;
        Uses {
            written: usage.blocks * BLOCK_BYTES as u64,
            stored,
            free_raw: segments.free_chunks_on(&self.drives()) * self.column_bytes(),
            parity: segments.summary().parity_columns() * self.column_bytes(),
            map: segments.live().bytes().saturating_sub(stored),
        }
    }

    /// Whether hosts that want a segment would be told that there is none. Without the drives that
    /// it has lost, a pool may have none left for what would be below the limit. One that has used
    /// up its window between two checkpoints gets on as soon as something is freed or collected.
    fn is_stuck(&self, segments: &Segments, drives: &[DriveId]) -> bool {
        segments.is_cornered(drives)
            && !self.is_held_back(segments, drives)
            && self.next_purge(segments, drives).is_none()
    }

    /// Bytes that could be written into free segments, but for those that hosts may not take, and
    /// in the place of garbage. What lives in stripes that were made before drives were added takes
    /// more than the limit counts.
    fn room_in_segments(&self, free: u64, garbage: u64) -> u64 {
        let (segments, kept) = (self.free_segments(), self.marks().reserve);
        let for_hosts = free / segments.max(1) * segments.saturating_sub(kept);
        (for_hosts + garbage) / 100 * DENSITY_PERCENT
    }

    /// Bytes that may live on these drives.
    pub fn limit_on(&self, drives: &[DriveId]) -> u64 {
        self.bounds_on(drives).limit
    }

    /// Bytes that may live on these drives, and those that could, however hard collection works.
    pub fn limit_and_most_on(&self, drives: &[DriveId]) -> (u64, u64) {
        let (bounds, stripes) =
            (self.bounds_on(drives), self.space.segments.borrow().stripes_when_empty(drives));
        (bounds.limit, most(&stripes, self.column_bytes()))
    }

    /// What these drives have room for, and what of it may live.
    fn bounds_on(&self, drives: &[DriveId]) -> Bounds {
        let (stripes, column_bytes) =
            (self.space.segments.borrow().stripes_when_empty(drives), self.column_bytes());
        let limit = limit(&stripes, column_bytes, self.options.over_provisioning_percent);
        let reserve = reserve(limit, most(&stripes, column_bytes));
        Bounds { usable: stripes.data(stripes.segments()) * column_bytes, limit, reserve }
    }

    /// Bytes of a column of a segment.
    pub fn column_bytes(&self) -> u64 {
        u64::from(self.identity.segment_rows) * BLOCK_BYTES as u64
    }

    /// Lets hosts have what was kept for when the pool is full, until so much has been given back
    /// that it can be kept again. Durable when it returns.
    ///
    /// # Errors
    /// The pool takes no writes, has no reserve, or does not need it.
    pub async fn release_reserve(&self) -> Result<(), IoError> {
        self.halt.check()?;
        self.admit_request(Request::GivingBack)?;
        let space = self.space();
        if space.reserve_released {
            return Ok(());
        }
        if space.reserve == 0 {
            let name = self.name();
            let why = format!(
                "pool '{name}' is too small to have a reserve: delete or trim data, or add drives"
            );
            return Err(IoError::new(Cause::CapacityExceeded, why));
        }
        if space.live + space.reserve <= space.limit {
            let (name, room, reserve) = (self.name(), space.safe_to_write, space.reserve);
            let why = format!(
                "pool '{name}' is not full: {} are safe to write, and its reserve of {} is for a full \
                 one. Nothing was released",
                ByteSize(room),
                ByteSize(reserve)
            );
            return Err(IoError::new(Cause::CapacityExceeded, why));
        }
        self.catalog.borrow_mut().reserve_released = true;
        self.refresh_limit();
        self.checkpoint_now().await.inspect_err(|_| {
            self.catalog.borrow_mut().reserve_released = false;
            self.refresh_limit();
        })
    }

    /// Keeps the reserve again once less lives than without it may, by the reserve once more: a
    /// pool at its end is not to be full and not full by turns.
    pub fn keep_reserve_again(&self) {
        if !self.catalog.borrow().reserve_released {
            return;
        }
        let live = self.space.segments.borrow().live().bytes();
        let Bounds { limit, reserve, .. } = self.bounds_on(&self.allocation_targets());
        if live + reserve <= limit {
            tracing::info!(pool = self.name(), "the reserve is kept again");
            self.catalog.borrow_mut().reserve_released = false;
            self.refresh_limit();
        }
    }

    /// Bytes that may live, and how narrow segments may be, from what drives there are. To be
    /// refreshed when those change, and at each checkpoint, with what lives.
    pub fn refresh_limit(&self) {
        let (drives, Space { live, limit, .. }) = (self.allocation_targets(), self.space());
        let live = live + self.writer.commit.pending_bytes() as u64;
        let stripes = self.space.segments.borrow().stripes_when_empty(&drives);
        let most = most(&stripes, self.column_bytes());
        let root = self.checkpoint.roots.newest();
        let lacks_drives =
            drives.len() < root.members.iter().filter(|member| !member.made_good).count();
        let limit = stop_at(self.catalog.borrow().settings.levels, limit);
        self.space.over_limit.refresh(Held { live, limit, most, lacks_drives });
        self.space.limit_bytes.set(self.space.over_limit.allowed(limit));
        self.space.narrowest_data.set(stripes.narrowest_data() as usize);
        self.writer.heat.sort(self.sorts());
    }

    /// Bytes of fragments that may be written beyond what lives and what is on its way.
    pub fn room(&self) -> u64 {
        let live = self.space.segments.borrow().live().bytes();
        self.space
            .limit_bytes
            .get()
            .saturating_sub(live)
            .saturating_sub(self.writer.commit.pending_bytes() as u64)
    }

    /// Whether a checkpoint may be asked for. A pool that has lost a drive may have no more than
    /// its last segments for them, and nothing to collect that would give some back: what is left
    /// is for those that must be, when another drive is lost and at starts.
    pub fn admit_request(&self, request: Request) -> Result<(), IoError> {
        self.check_room_below()?;
        let segments = self.space.segments.borrow();
        let left = segments.usable_striped();
        let gains = || left >= CHECKPOINT_MIN && segments.has_reclaimable(self.writer.lsns.floor());
        if left >= request.segments_min()
            || !segments.is_cornered(&self.allocation_targets())
            || gains()
        {
            return Ok(());
        }
        let name = &self.name();
        let why = format!("pool {name} has no room left for its maps: return a drive, or add one");
        Err(IoError::new(Cause::CapacityExceeded, why))
    }

    /// Returns when `bytes` more may be stored; an error if they may not.
    ///
    /// What lives may be counted too high, so that a pool which seems full is first told to make
    /// its counts exact and to reclaim.
    pub async fn admit(&self, bytes: u64) -> Result<(), IoError> {
        self.enough_drives()?;
        self.while_there_is_room(async {
            self.writer.commit.wait_uncrowded(self.options.pending_bytes_max).await;
            self.wait_for_deltas().await;
        })
        .await?;
        let since = self.world.now();
        while self.room() < bytes {
            let waited = self.world.now().since(since);
            if self.requests.room_is_exact() || waited >= self.options.space_wait {
                self.space.refusals.refused(bytes);
                let name = &self.name();
                let why = format!("pool {name} is full: delete or trim data, or add drives");
                return Err(IoError::new(Cause::CapacityExceeded, why));
            }
            self.halt.check()?;
            self.requests.make_room();
            self.world.sleep(ROOM_POLL).await;
        }
        self.space.refusals.admitted(bytes);
        self.halt.check()
    }

    /// Waits for `done`, but not while the file system under a file-backed drive is full: then
    /// nothing gets on.
    pub async fn while_there_is_room<T>(
        &self,
        done: impl Future<Output = T>,
    ) -> Result<T, IoError> {
        self.check_room_below()?;
        match select(pin!(done), pin!(self.array.lacks_room())).await {
            Either::Left((done, _)) => Ok(done),
            Either::Right(_) => Err(no_room_below()),
        }
    }

    /// Returns once the file system under a file-backed drive has been full for a while, and is.
    pub async fn stays_full_below(&self) -> IoError {
        self.array.lacks_room().await;
        self.world.sleep(FULL_BELOW_MAX).await;
        self.array.lacks_room().await;
        no_room_below()
    }

    /// Refuses what would wait for room in a file system below, and have others wait.
    pub fn check_room_below(&self) -> Result<(), IoError> {
        if self.array.out_of_room() { Err(no_room_below()) } else { Ok(()) }
    }

    /// New data is to have the redundancy of the pool's level; with fewer drives than that takes,
    /// there is none.
    pub(super) fn enough_drives(&self) -> Result<(), IoError> {
        let (left, needed) =
            (self.allocation_target_count(), self.space.segments.borrow().stripe().parity + 1);
        if left >= needed {
            return Ok(());
        }
        let why =
            format!("{left} drives are left, and new data needs {needed} to be safe: reads go on");
        Err(IoError::new(Cause::WriteProtected, why))
    }

    /// Returns once there are so few updates that are not in deltas that a checkpoint has room for
    /// them, and so few records that a start replays them in time.
    pub async fn wait_for_deltas(&self) {
        loop {
            let changed = self.checkpoint.roots.changes();
            let few = self.requests.fresh_entries() < 2 * self.fresh_entries_max()
                && self.replay_records() < 2 * self.replay_records_max();
            if few || self.halt.why().is_some() {
                return;
            }
            self.requests.notify();
            changed.await;
        }
    }
}

/// No write gets on, and no checkpoint.
fn no_room_below() -> IoError {
    IoError::new(Cause::CapacityExceeded, FULL_BELOW)
}

#[cfg(test)]
mod tests;
