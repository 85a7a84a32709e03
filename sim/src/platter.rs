//! What a drive holds, what the loss of power leaves of it, and how bad the drive is.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use ashlar_block::{Nanos, SECTOR_BYTES};
use bytes::Bytes;

use crate::fault::{ByFault, Fault};
use crate::world::SimWorld;

/// The unit in which a write can be torn.
const TORN_BYTES: usize = 512;
/// Neighbours that cannot be read any more, at most.
const BAD_SECTORS_MAX: u64 = 4;

type Sector = [u8; SECTOR_BYTES];

/// The content of a drive, and its state.
pub struct Platter {
    pub size_bytes: u64,
    /// By number; what was never written is zeros. Copies: the store uses the memory of what is written again.
    sectors: Vec<Option<Box<Sector>>>,
    /// Done, and not yet on stable media; by the numbers of their ends.
    cached: BTreeMap<u64, (u64, Bytes)>,
    /// The number of the next write that ends in the cache.
    next_cached: u64,
    /// What a refused flush was for: it can be read until the power is cut, and no flush is for it any more.
    lost: BTreeMap<usize, Box<Sector>>,
    /// Sectors that cannot be read until they are written again.
    bad: BTreeSet<usize>,
    /// Being done.
    pub in_flight: BTreeMap<u64, (u64, Bytes)>,
    pub next_write: u64,
    /// It misbehaves once in so many operations; 0 is never.
    pub faults: ByFault,
    /// It has misbehaved so often.
    pub met: ByFault,
    /// It answers nothing any more.
    pub gone: bool,
    /// Until then it answers nothing.
    pub hung_until: Nanos,
    /// Until then it refuses everything.
    pub glitch_until: Nanos,
    /// Until then there is no room for what is written.
    pub no_space_until: Nanos,
}

/// A drive's content, which outlives the world that uses it.
#[derive(Clone)]
pub struct SharedPlatter(pub Rc<RefCell<Platter>>);

impl SharedPlatter {
    /// An empty drive.
    pub fn new(size_bytes: u64) -> Self {
        SharedPlatter(Rc::new(RefCell::new(Platter {
            size_bytes,
            sectors: (0..size_bytes.div_ceil(SECTOR_BYTES as u64)).map(|_| None).collect(),
            cached: BTreeMap::new(),
            next_cached: 0,
            lost: BTreeMap::new(),
            bad: BTreeSet::new(),
            in_flight: BTreeMap::new(),
            next_write: 0,
            faults: ByFault::default(),
            met: ByFault::default(),
            gone: false,
            hung_until: Nanos(0),
            glitch_until: Nanos(0),
            no_space_until: Nanos(0),
        })))
    }

    /// Cuts the power: of what is not on stable media anything may be there, in any order, torn or whole.
    pub fn cut_power(&self, world: &SimWorld) {
        let mut platter = self.0.borrow_mut();
        platter.lost.clear();
        let in_flight = std::mem::take(&mut platter.in_flight).into_values();
        let mut writes: Vec<(u64, Bytes)> =
            std::mem::take(&mut platter.cached).into_values().chain(in_flight).collect();
        let mut lost = false;
        while !writes.is_empty() {
            let (offset, data) = writes.swap_remove(world.below(writes.len() as u64) as usize);
            match world.below(3) {
                0 => lost = true,
                1 if lost => {
                    platter.met.count(Fault::Reordered);
                    platter.put(offset, &data);
                }
                1 => platter.put(offset, &data),
                _ => platter.put_torn(world, offset, &data),
            }
        }
    }

    /// What is on its way is done, though nobody waits for it any more.
    pub fn finish_writes(&self) {
        let mut platter = self.0.borrow_mut();
        for (offset, data) in std::mem::take(&mut platter.in_flight).into_values() {
            platter.put(offset, &data);
        }
    }

    /// The drive is as good as new, with what it holds.
    pub fn heal(&self) {
        let mut platter = self.0.borrow_mut();
        platter.faults = ByFault::default();
        platter.bad.clear();
        platter.gone = false;
        platter.hung_until = Nanos(0);
        platter.glitch_until = Nanos(0);
        platter.no_space_until = Nanos(0);
    }
}

impl Platter {
    /// Whole sectors, on stable media.
    pub fn put(&mut self, offset: u64, data: &[u8]) {
        let first = offset as usize / SECTOR_BYTES;
        for (index, bytes) in data.chunks(SECTOR_BYTES).enumerate() {
            self.sector(first + index).copy_from_slice(bytes);
        }
    }

    /// Whole sectors, on stable media, as is what the cache held of them before.
    pub fn put_through(&mut self, offset: u64, data: &[u8]) {
        let end = offset + data.len() as u64;
        let overlaps = |(at, other): &(u64, Bytes)| offset < at + other.len() as u64 && *at < end;
        let (older, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut self.cached).into_iter().partition(|(_, write)| overlaps(write));
        self.cached = others;
        older.into_values().for_each(|(at, other)| self.put(at, &other));
        self.put(offset, data);
    }

    /// Done, but not on stable media before the next flush.
    pub fn put_cached(&mut self, offset: u64, data: Bytes) {
        sectors(offset, data.len()).for_each(|sector| _ = self.bad.remove(&sector));
        self.cached.insert(self.next_cached, (offset, data));
        self.next_cached += 1;
    }

    /// What a flush that begins now is for: whatever is done later may be lost all the same.
    pub fn flush_begins(&self) -> u64 {
        self.next_cached
    }

    /// What was done when the flush began is on stable media.
    pub fn flush(&mut self, before: u64) {
        let later = self.cached.split_off(&before);
        for (offset, data) in std::mem::replace(&mut self.cached, later).into_values() {
            self.put(offset, &data);
        }
    }

    /// What was done and not flushed will be lost when the power is cut.
    pub fn lose_cache(&mut self) {
        for (offset, data) in std::mem::take(&mut self.cached).into_values() {
            for (sector, bytes) in sectors(offset, data.len()).zip(data.chunks(SECTOR_BYTES)) {
                self.lost.insert(sector, Box::new(bytes.try_into().expect("whole sectors")));
            }
        }
    }

    /// Some sectors of the range cannot be read any more.
    pub fn go_bad(&mut self, world: &SimWorld, offset: u64, bytes: usize) {
        let range = sectors(offset, bytes);
        let first = range.start + world.below(range.len() as u64) as usize;
        self.bad.extend((first..range.end).take(1 + world.below(BAD_SECTORS_MAX) as usize));
    }

    /// Whether a part of the range cannot be read.
    pub fn is_bad(&self, offset: u64, bytes: usize) -> bool {
        self.bad.range(sectors(offset, bytes)).next().is_some()
    }

    /// A write was refused; a part of it may have been done.
    pub fn fail_write(&mut self, world: &SimWorld, id: u64) {
        let write = self.in_flight.remove(&id);
        if let Some((offset, data)) = write.filter(|_| !self.gone && world.once_in(2)) {
            self.put_torn(world, offset, &data);
        }
    }

    /// Any of the write's pieces, of 512 bytes or 4 KiB.
    fn put_torn(&mut self, world: &SimWorld, offset: u64, data: &[u8]) {
        let (unit, fault) = match world.once_in(2) {
            true => (TORN_BYTES, Fault::TornWithinSectors),
            false => (SECTOR_BYTES, Fault::TornBetweenSectors),
        };
        self.met.count(fault);
        let in_order = world.once_in(2);
        let kept = world.below((data.len() / unit) as u64 + 1) as usize;
        for (index, bytes) in data.chunks(unit).enumerate() {
            let keep = if in_order { index < kept } else { world.once_in(2) };
            if keep {
                let at = offset as usize + index * unit;
                let within = at % SECTOR_BYTES;
                self.sector(at / SECTOR_BYTES)[within..within + unit].copy_from_slice(bytes);
            }
        }
    }

    /// A bit of the range is not what it was any more.
    pub fn rot(&mut self, world: &SimWorld, offset: u64, bytes: usize) {
        let at = (offset + world.below(bytes as u64)) as usize;
        let bit = world.below(8);
        self.sector(at / SECTOR_BYTES)[at % SECTOR_BYTES] ^= 1 << bit;
    }

    /// A sector that is written.
    fn sector(&mut self, index: usize) -> &mut Sector {
        self.lost.remove(&index);
        self.bad.remove(&index);
        self.sectors[index].get_or_insert_with(|| Box::new([0; SECTOR_BYTES]))
    }

    /// What a read gives.
    pub fn read(&self, offset: u64, buf: &mut [u8]) {
        let first = offset as usize / SECTOR_BYTES;
        for (index, bytes) in buf.chunks_mut(SECTOR_BYTES).enumerate() {
            match self.lost.get(&(first + index)).or(self.sectors[first + index].as_ref()) {
                Some(sector) => bytes.copy_from_slice(&sector[..bytes.len()]),
                None => bytes.fill(0),
            }
        }
        for (at, data) in self.cached.values() {
            overlay(offset, buf, *at, data);
        }
    }
}

/// The numbers of the sectors in a range.
fn sectors(offset: u64, bytes: usize) -> Range<usize> {
    let first = offset as usize / SECTOR_BYTES;
    first..first + bytes.div_ceil(SECTOR_BYTES)
}

fn overlay(offset: u64, buf: &mut [u8], at: u64, data: &[u8]) {
    let start = offset.max(at);
    let end = (offset + buf.len() as u64).min(at + data.len() as u64);
    if start < end {
        let bytes = &data[(start - at) as usize..(end - at) as usize];
        buf[(start - offset) as usize..(end - offset) as usize].copy_from_slice(bytes);
    }
}
