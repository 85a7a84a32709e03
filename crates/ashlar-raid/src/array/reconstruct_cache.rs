//! What drives have answered a moment ago, while columns are being reconstructed.
//!
//! Whoever reads a stream of a pool that has lost a drive needs most sectors twice: as a column of
//! its own, and to reconstruct the lost one of the same rows. Both are wanted at nearly the same
//! time. So for a while after a reconstruction every longer read is remembered, sector by sector,
//! as soon as it has begun; who wants a sector that is on its way waits for it. A write to a sector
//! makes it forgotten. Reads of hosts and of collection ask here, a scrub does not: it wants to
//! know what the drive says.
//!
//! Of some sectors it is known longer than they are held that they were read: so it shows whether
//! it would pay to hold more ([`CacheSizing`]).

mod sizing;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use ashlar_block::{AlignedBuf, SECTOR_BYTES, copies};
use bytes::Bytes;
use tokio::sync::Notify;

use crate::geometry::ChunkAddr;
use sizing::{Asked, CacheSizing, NOTED_SAMPLES_MAX};

/// Reads that are remembered after the last reconstruction.
const READS: u32 = 4096;
/// A read of one sector is a host's of one block, and mostly no part of a stream. A longer one may
/// be the end of a stream's operation that goes on in the next column.
const STREAM_SECTORS_MIN: usize = 2;

type Key = (ChunkAddr, u32);

/// What is known of a sector, and by which read.
enum Slot {
    Coming(u64),
    Here(u64, Bytes),
    /// It was here, and is not held any more.
    Noted(u64),
}

impl Slot {
    fn read(&self) -> u64 {
        match self {
            Slot::Coming(read) | Slot::Here(read, _) | Slot::Noted(read) => *read,
        }
    }
}

/// What is to be done to have the next sectors of a chunk.
pub(super) enum Next {
    /// This is the first of them.
    Here(Bytes),
    /// The first is on its way.
    Wait,
    /// These have to be read.
    Read(Range<u32>),
}

/// The sectors that were read last.
#[derive(Default)]
pub(super) struct ReconstructCache {
    sectors: RefCell<HashMap<Key, Slot>>,
    /// Those that are here, in the order in which they came; some have been forgotten since.
    held: RefCell<VecDeque<(Key, u64)>>,
    /// Samples of those that were here before these, likewise.
    noted: RefCell<VecDeque<(Key, u64)>>,
    sizing: CacheSizing,
    reads: Cell<u64>,
    /// Reads that are yet to be remembered.
    left: Cell<u32>,
    /// Rung when sectors have come, or will not.
    arrived: Notify,
}

impl ReconstructCache {
    /// A column has been reconstructed: what is read from now on is remembered for a while.
    pub fn begin(&self) {
        self.left.set(READS);
    }

    /// Whether a read of so many sectors is to be remembered.
    pub fn wants(&self, sectors: usize) -> bool {
        self.left.get() > 0 && sectors >= STREAM_SECTORS_MIN
    }

    /// How to have the first of these sectors of a chunk.
    pub fn next(&self, chunk: ChunkAddr, sectors: Range<u32>) -> Next {
        let known = self.sectors.borrow();
        let of = |sector: u32| known.get(&(chunk, sector));
        match of(sectors.start) {
            Some(Slot::Here(_, bytes)) => {
                self.sizing.asked(sectors.start, Asked::Held);
                Next::Here(bytes.clone())
            }
            Some(Slot::Coming(_)) => Next::Wait,
            Some(Slot::Noted(_)) | None => {
                let is_known =
                    |sector: &u32| matches!(of(*sector), Some(Slot::Here(..) | Slot::Coming(_)));
                let end = sectors.clone().find(is_known);
                Next::Read(sectors.start..end.unwrap_or(sectors.end))
            }
        }
    }

    /// Returns when sectors have come, or will not, or may not for long.
    pub async fn arrival(&self) {
        self.arrived.notified().await;
    }

    /// A drive has become silent: what waits for its sectors may want to have them otherwise.
    pub fn silence(&self) {
        self.arrived.notify_waiters();
    }

    /// These sectors are being read by whoever has the claim.
    pub fn claim(&self, chunk: ChunkAddr, sectors: Range<u32>) -> Claim<'_> {
        let read = self.reads.get() + 1;
        self.reads.set(read);
        self.left.set(self.left.get().saturating_sub(1));
        if self.left.get() == 0 {
            self.forget_all();
        }
        let mut known = self.sectors.borrow_mut();
        for sector in sectors.clone() {
            let before = known.insert((chunk, sector), Slot::Coming(read));
            let asked =
                if matches!(before, Some(Slot::Noted(_))) { Asked::LetGo } else { Asked::First };
            self.sizing.asked(sector, asked);
        }
        Claim { reconstruct_cache: self, read, chunk, sectors }
    }

    /// Holds the newest, as many as they are worth.
    fn let_go_of_oldest(&self) {
        let (mut known, mut held) = (self.sectors.borrow_mut(), self.held.borrow_mut());
        let mut noted = self.noted.borrow_mut();
        let too_many = held.len().saturating_sub(self.sizing.held_max());
        for (key, read) in held.drain(..too_many) {
            let Some(slot) = known.get_mut(&key).filter(|slot| slot.read() == read) else {
                continue;
            };
            if CacheSizing::is_sample(key.1) {
                *slot = Slot::Noted(read);
                noted.push_back((key, read));
            } else {
                known.remove(&key);
            }
        }
        let too_many = noted.len().saturating_sub(NOTED_SAMPLES_MAX);
        for (key, read) in noted.drain(..too_many) {
            if known.get(&key).is_some_and(|slot| slot.read() == read) {
                known.remove(&key);
            }
        }
    }

    /// The sectors are being written as long as the result lives: what is read of them meanwhile
    /// counts no more than what was.
    pub fn writing(&self, chunk: ChunkAddr, sectors: Range<u32>) -> Writing<'_> {
        self.forget(chunk, sectors.clone());
        Writing { reconstruct_cache: self, chunk, sectors }
    }

    fn forget(&self, chunk: ChunkAddr, sectors: Range<u32>) {
        let mut known = self.sectors.borrow_mut();
        if !known.is_empty() {
            sectors.for_each(|sector| _ = known.remove(&(chunk, sector)));
            self.arrived.notify_waiters();
        }
    }

    /// Drives have come or gone.
    pub fn forget_all(&self) {
        self.sectors.borrow_mut().clear();
        self.held.borrow_mut().clear();
        self.noted.borrow_mut().clear();
        self.arrived.notify_waiters();
    }
}

/// Sectors that are being read. Dropped without [`Self::fill`], they have to be read by somebody
/// else.
pub(super) struct Claim<'a> {
    reconstruct_cache: &'a ReconstructCache,
    read: u64,
    chunk: ChunkAddr,
    sectors: Range<u32>,
}

impl Claim<'_> {
    /// They have come. Those that were written meanwhile are not remembered.
    pub fn fill(self, read: &[u8]) {
        let bytes = AlignedBuf::copy_of(read).freeze();
        copies::note(read.len());
        let (mut known, mut held) =
            (self.reconstruct_cache.sectors.borrow_mut(), self.reconstruct_cache.held.borrow_mut());
        for (nth, sector) in self.sectors.clone().enumerate() {
            let key = (self.chunk, sector);
            if let Some(slot @ Slot::Coming(_)) = known.get_mut(&key)
                && slot.read() == self.read
            {
                let bytes = bytes.slice(nth * SECTOR_BYTES..(nth + 1) * SECTOR_BYTES);
                *slot = Slot::Here(self.read, bytes);
                held.push_back((key, self.read));
            }
        }
        drop((known, held));
        self.reconstruct_cache.let_go_of_oldest();
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut known = self.reconstruct_cache.sectors.borrow_mut();
        for sector in self.sectors.clone() {
            let key = (self.chunk, sector);
            if matches!(known.get(&key), Some(Slot::Coming(read)) if *read == self.read) {
                known.remove(&key);
            }
        }
        drop(known);
        self.reconstruct_cache.arrived.notify_waiters();
    }
}

/// Sectors that are being written.
pub(super) struct Writing<'a> {
    reconstruct_cache: &'a ReconstructCache,
    chunk: ChunkAddr,
    sectors: Range<u32>,
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.reconstruct_cache.forget(self.chunk, self.sectors.clone());
    }
}

#[cfg(test)]
mod tests;
