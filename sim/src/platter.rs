//! What a drive holds, what the loss of power leaves of it, and how bad the drive is.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use ashlar_block::{Nanos, SECTOR_BYTES};
use ashlar_store::format::superblock::Superblock;
use bytes::Bytes;

use crate::fault::{ByFault, Fault};
use crate::service::Service;
use crate::world::{Machine, SimWorld};

mod corruption;
mod forget;

use corruption::Corruption;
pub use corruption::CorruptionCounts;
pub use forget::Forgotten;

/// The unit in which a write can be torn.
const TORN_BYTES: usize = 512;
/// Neighbours that cannot be read any more, at most.
const BAD_SECTORS_MAX: u64 = 4;

type Sector = [u8; SECTOR_BYTES];

/// What a sector holds that was never written.
const ZEROS: Sector = [0; SECTOR_BYTES];

/// A write, or one that ends up where it should not.
#[derive(Clone)]
struct Done {
    offset: u64,
    data: Bytes,
    /// It was to go there.
    is_meant: bool,
}

impl Done {
    fn meant((offset, data): (u64, Bytes)) -> Self {
        Done { offset, data, is_meant: true }
    }

    fn sectors(&self) -> Range<usize> {
        sectors(self.offset, self.data.len())
    }
}

/// What happens when writes are on stable media at last.
enum Settled {
    Done(Done),
    /// It should have been done.
    LeftOut(u64, Bytes),
}

/// The content of a drive, and its state.
pub struct Platter {
    pub size_bytes: u64,
    /// By number; what was never written is zeros. Copies: the store uses the memory of what is
    /// written again.
    sectors: Vec<Option<Box<Sector>>>,
    /// Done, and not yet on stable media; by the numbers of their ends.
    cached: BTreeMap<u64, Done>,
    /// The number of the next write that ends in the cache.
    next_cached: u64,
    /// What a refused flush was for: it can be read until the power is cut, and no flush is for it
    /// any more.
    lost: BTreeMap<usize, Box<Sector>>,
    /// Sectors that cannot be read until they are written again.
    bad: BTreeSet<usize>,
    corruption: Corruption,
    /// Being done.
    pub in_flight: BTreeMap<u64, (u64, Bytes)>,
    pub next_write: u64,
    /// Being forgotten, by number.
    pub in_discard: BTreeMap<u64, Range<u64>>,
    /// It misbehaves once in so many operations; 0 is never.
    pub faults: ByFault,
    /// It has misbehaved so often.
    pub met: ByFault,
    /// It answers nothing any more.
    pub gone: bool,
    /// Machines that do not reach it.
    pub unreachable_from: BTreeSet<Machine>,
    /// Until then it answers nothing.
    pub hung_until: Nanos,
    /// Until then it refuses everything.
    pub glitch_until: Nanos,
    /// Until then there is no room for what is written.
    pub no_space_until: Nanos,
    /// Its operations wait for each other. None: each takes a time of its own, left to chance.
    pub service: Option<Box<dyn Service>>,
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
            corruption: Corruption::default(),
            in_flight: BTreeMap::new(),
            next_write: 0,
            in_discard: BTreeMap::new(),
            faults: ByFault::default(),
            met: ByFault::default(),
            gone: false,
            unreachable_from: BTreeSet::new(),
            hung_until: Nanos(0),
            glitch_until: Nanos(0),
            no_space_until: Nanos(0),
            service: None,
        })))
    }

    /// Whether one of the outer copies of its superblock is right.
    pub fn has_superblock(&self) -> bool {
        let platter = self.0.borrow();
        let copy_at = |offset: u64| {
            let mut sector = [0; SECTOR_BYTES];
            platter.show(offset, &mut sector);
            Superblock::decode(&sector).ok().filter(|_| !platter.is_bad(offset, SECTOR_BYTES))
        };
        let inside = copy_at(Superblock::INSIDE_OFFSET);
        let seconds = Superblock::second_offsets(None, inside.as_ref(), platter.size_bytes);
        copy_at(Superblock::FIRST_OFFSET).is_some()
            || seconds.into_iter().any(|at| copy_at(at).is_some())
    }

    /// Cuts the power: of what is not on stable media anything may be there, in any order, torn or
    /// whole.
    pub fn cut_power(&self, world: &SimWorld) {
        let mut platter = self.0.borrow_mut();
        platter.lost.clear();
        platter.promise_nothing();
        for bytes in std::mem::take(&mut platter.in_discard).into_values() {
            platter.forget_part(world, &bytes);
        }
        let in_flight = std::mem::take(&mut platter.in_flight).into_values().map(Done::meant);
        let mut writes: Vec<Done> =
            std::mem::take(&mut platter.cached).into_values().chain(in_flight).collect();
        let mut lost = false;
        while !writes.is_empty() {
            let write = writes.swap_remove(world.below(writes.len() as u64) as usize);
            match world.below(3) {
                0 => lost = true,
                1 if lost => {
                    platter.met.count(Fault::Reordered);
                    platter.put(&write);
                }
                1 => platter.put(&write),
                _ => platter.put_torn(world, &write),
            }
            platter.recheck_corruption(&write);
        }
    }

    /// What is on its way is done, though nobody waits for it any more.
    pub fn finish_writes(&self) {
        let mut platter = self.0.borrow_mut();
        for write in std::mem::take(&mut platter.in_flight).into_values() {
            platter.put(&Done::meant(write));
        }
        for bytes in std::mem::take(&mut platter.in_discard).into_values() {
            platter.forget(&bytes, Forgotten::Zeros);
        }
    }

    /// Somebody has made the drive larger.
    pub fn grow(&self, bytes: u64) {
        let mut platter = self.0.borrow_mut();
        platter.size_bytes += bytes;
        let sectors = platter.size_bytes.div_ceil(SECTOR_BYTES as u64) as usize;
        platter.sectors.resize_with(sectors, || None);
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
    /// A write is on stable media, as is what the cache held of its sectors before.
    pub fn put_through(&mut self, offset: u64, data: Bytes) {
        self.settle_place(offset, data.len());
        self.put(&Done::meant((offset, data)));
    }

    /// Done, but not on stable media before the next flush.
    pub fn put_cached(&mut self, offset: u64, data: Bytes) {
        self.cache(Done::meant((offset, data)));
    }

    /// A write that should be on stable media is not there, or at another place.
    pub fn misplace(&mut self, meant: u64, data: Bytes, found: Option<u64>) {
        self.settle_place(meant, data.len());
        self.leave_out(meant, &data);
        if let Some(offset) = found {
            self.settle_place(offset, data.len());
            self.put(&Done { offset, data, is_meant: false });
        }
    }

    /// Likewise of one that waits for a flush.
    pub fn misplace_cached(&mut self, meant: u64, data: Bytes, found: Option<u64>) {
        self.corruption.promise_later(self.next_cached, meant, data.clone());
        self.next_cached += 1;
        if let Some(offset) = found {
            self.cache(Done { offset, data, is_meant: false });
        }
    }

    fn cache(&mut self, write: Done) {
        write.sectors().for_each(|sector| _ = self.bad.remove(&sector));
        self.cached.insert(self.next_cached, write);
        self.next_cached += 1;
    }

    /// What a flush that begins now is for: whatever is done later may be lost all the same.
    pub fn flush_begins(&self) -> u64 {
        self.next_cached
    }

    /// What was done when the flush began is on stable media.
    pub fn flush(&mut self, before: u64) {
        let later = self.cached.split_off(&before);
        let done = std::mem::replace(&mut self.cached, later);
        let left_out = self.corruption.promised(before);
        self.settle(done, left_out);
    }

    /// What the cache holds of sectors is on stable media.
    fn settle_place(&mut self, offset: u64, bytes: usize) {
        let range = sectors(offset, bytes);
        let touches =
            |write: &Done| write.sectors().start < range.end && range.start < write.sectors().end;
        let (older, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut self.cached).into_iter().partition(|(_, write)| touches(write));
        self.cached = others;
        let left_out = self.corruption.promised_of(&range);
        self.settle(older, left_out);
    }

    /// In their order.
    fn settle(&mut self, done: BTreeMap<u64, Done>, left_out: BTreeMap<u64, (u64, Bytes)>) {
        let done = done.into_iter().map(|(number, write)| (number, Settled::Done(write)));
        let left_out = left_out
            .into_iter()
            .map(|(number, (offset, data))| (number, Settled::LeftOut(offset, data)));
        for write in done.chain(left_out).collect::<BTreeMap<_, _>>().into_values() {
            match write {
                Settled::Done(write) => self.put(&write),
                Settled::LeftOut(offset, data) => self.leave_out(offset, &data),
            }
        }
    }

    /// Whole sectors, on stable media.
    fn put(&mut self, write: &Done) {
        for (nth, bytes) in write.data.chunks(SECTOR_BYTES).enumerate() {
            self.put_part(write.offset as usize + nth * SECTOR_BYTES, bytes, write.is_meant);
        }
    }

    /// A part of a sector, or all of it.
    fn put_part(&mut self, at: usize, bytes: &[u8], is_meant: bool) {
        let (index, within) = (at / SECTOR_BYTES, at % SECTOR_BYTES);
        let before = (!is_meant).then(|| *self.held(index));
        self.sector(index)[within..within + bytes.len()].copy_from_slice(bytes);
        let held = self.sectors[index].as_deref().expect("just written");
        match before {
            None => self.corruption.wrote(index, within, bytes, held),
            Some(before) => self.corruption.spoiled(index, &before, held),
        }
    }

    /// Sectors that should have been written, and were not.
    fn leave_out(&mut self, offset: u64, data: &[u8]) {
        for (nth, sector) in sectors(offset, data.len()).enumerate() {
            let held = self.sectors[sector].as_deref().unwrap_or(&ZEROS);
            self.corruption.left_out(sector, corruption::part_of(data, nth), held);
        }
    }

    /// What a sector on stable media holds.
    fn held(&self, index: usize) -> &Sector {
        self.sectors[index].as_deref().unwrap_or(&ZEROS)
    }

    /// What was done and not flushed will be lost when the power is cut.
    pub fn lose_cache(&mut self) {
        self.promise_nothing();
        for write in std::mem::take(&mut self.cached).into_values() {
            self.recheck_corruption(&write);
            for (sector, bytes) in write.sectors().zip(write.data.chunks(SECTOR_BYTES)) {
                self.lost.insert(sector, Box::new(bytes.try_into().expect("whole sectors")));
            }
        }
    }

    /// What became so far of the sectors that the drive has corrupted.
    pub fn corruption_counts(&self) -> CorruptionCounts {
        self.corruption.counts()
    }

    /// How many sectors of these bytes are corrupt.
    pub fn corrupt_within(&self, bytes: &Range<u64>) -> u64 {
        self.corruption.within(sectors(bytes.start, (bytes.end - bytes.start) as usize)).count()
            as u64
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
        let Some(write) = write.filter(|_| !self.gone).map(Done::meant) else { return };
        if world.once_in(2) {
            self.put_torn(world, &write);
        }
        self.recheck_corruption(&write);
    }

    fn promise_nothing(&mut self) {
        for write in self.corruption.promise_nothing().collect::<Vec<_>>() {
            self.recheck_corruption(&Done::meant(write));
        }
    }

    /// The write is lost, or torn: a corrupt sector that holds what it would have written is right
    /// after that.
    fn recheck_corruption(&mut self, write: &Done) {
        if !write.is_meant {
            return;
        }
        for (nth, sector) in write.sectors().enumerate() {
            let held = self.sectors[sector].as_deref().unwrap_or(&ZEROS);
            self.corruption.held_all_the_same(sector, corruption::part_of(&write.data, nth), held);
        }
    }

    /// Any of the write's pieces, of 512 bytes or 4 KiB.
    fn put_torn(&mut self, world: &SimWorld, write: &Done) {
        let (unit, fault) = match world.once_in(2) {
            true => (TORN_BYTES, Fault::TornWithinSectors),
            false => (SECTOR_BYTES, Fault::TornBetweenSectors),
        };
        self.met.count(fault);
        let in_order = world.once_in(2);
        let kept = world.below((write.data.len() / unit) as u64 + 1) as usize;
        for (index, bytes) in write.data.chunks(unit).enumerate() {
            let keep = if in_order { index < kept } else { world.once_in(2) };
            if keep {
                self.put_part(write.offset as usize + index * unit, bytes, write.is_meant);
            }
        }
    }

    /// A bit of the range is not what it was any more.
    pub fn rot(&mut self, world: &SimWorld, offset: u64, bytes: usize) {
        let at = (offset + world.below(bytes as u64)) as usize;
        let bit = world.below(8);
        let byte = self.held(at / SECTOR_BYTES)[at % SECTOR_BYTES];
        self.put_part(at, &[byte ^ 1 << bit], false);
    }

    /// A sector that is written.
    fn sector(&mut self, index: usize) -> &mut Sector {
        self.lost.remove(&index);
        self.bad.remove(&index);
        self.sectors[index].get_or_insert_with(|| Box::new(ZEROS))
    }

    /// What a read gives.
    pub fn read(&mut self, offset: u64, buf: &mut [u8]) {
        self.meet_corruption(offset, buf.len());
        self.show(offset, buf);
    }

    /// The same, and nobody has read it.
    pub fn show(&self, offset: u64, buf: &mut [u8]) {
        let first = offset as usize / SECTOR_BYTES;
        for (index, bytes) in buf.chunks_mut(SECTOR_BYTES).enumerate() {
            match self.lost.get(&(first + index)).or(self.sectors[first + index].as_ref()) {
                Some(sector) => bytes.copy_from_slice(&sector[..bytes.len()]),
                None => bytes.fill(0),
            }
        }
        for write in self.cached.values() {
            overlay(offset, buf, write.offset, &write.data);
        }
    }

    /// A read gives the sectors, and the corrupt ones of them where nothing newer is over them.
    fn meet_corruption(&mut self, offset: u64, bytes: usize) {
        let met: Vec<usize> = self.corruption.within(sectors(offset, bytes)).collect();
        for sector in met {
            let is_hidden = self.lost.contains_key(&sector)
                || self.cached.values().any(|write| write.sectors().contains(&sector));
            if !is_hidden {
                self.corruption.meet(sector);
            }
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

#[cfg(test)]
mod tests;
