//! What a drive holds, what the loss of power leaves of it, and how bad the drive is.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use ashlar_block::{Nanos, SECTOR_BYTES};
use bytes::Bytes;

use crate::world::SimWorld;

/// The unit in which a write can be torn.
const TORN_BYTES: usize = 512;

/// How often a drive misbehaves: once in this many operations; 0 is never.
#[derive(Clone, Copy, Default, Debug)]
pub struct Faults {
    /// A write is acknowledged and not done.
    pub lost_write: u64,
    /// Writes of a moment are acknowledged and not done; by all drives at the same moments, as far as they do that as often.
    pub lost_moment: u64,
    /// A write goes to another place.
    pub misdirected_write: u64,
    /// A bit of what is read has changed, for good.
    pub rot: u64,
    /// A read is refused.
    pub read_error: u64,
    /// A write is refused.
    pub write_error: u64,
    /// A flush is refused, and what it was for is lost; the next one "succeeds".
    pub flush_error: u64,
    /// Everything is refused for a while, then the drive is as if nothing had been.
    pub glitch: u64,
    /// The drive vanishes.
    pub vanish: u64,
    /// An operation takes very long.
    pub stall: u64,
    /// Operations that begin in a moment take very long, those of all drives.
    pub stall_moment: u64,
    /// The file system under the drive is full for a while. Says nothing against the drive.
    pub no_space: u64,
}

type Sector = [u8; SECTOR_BYTES];

/// The content of a drive, and its state.
pub struct Platter {
    pub size_bytes: u64,
    /// By number; what was never written is zeros. Copies: the store uses the memory of what is written again.
    sectors: Vec<Option<Box<Sector>>>,
    /// Done, and not yet on stable media.
    cached: Vec<(u64, Bytes)>,
    /// Being done.
    pub in_flight: BTreeMap<u64, (u64, Bytes)>,
    pub next_write: u64,
    pub faults: Faults,
    /// It answers nothing any more.
    pub gone: bool,
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
            cached: Vec::new(),
            in_flight: BTreeMap::new(),
            next_write: 0,
            faults: Faults::default(),
            gone: false,
            glitch_until: Nanos(0),
            no_space_until: Nanos(0),
        })))
    }

    /// Cuts the power: of what is not on stable media anything may be there, in any order, torn or whole.
    pub fn cut_power(&self, world: &SimWorld) {
        let mut platter = self.0.borrow_mut();
        let in_flight = std::mem::take(&mut platter.in_flight).into_values();
        let mut writes: Vec<(u64, Bytes)> =
            std::mem::take(&mut platter.cached).into_iter().chain(in_flight).collect();
        while !writes.is_empty() {
            let (offset, data) = writes.swap_remove(world.below(writes.len() as u64) as usize);
            match world.below(3) {
                0 => {}
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
        platter.faults = Faults::default();
        platter.gone = false;
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

    /// Done, but not on stable media before the next flush.
    pub fn put_cached(&mut self, offset: u64, data: Bytes) {
        self.cached.push((offset, data));
    }

    /// What was done is on stable media.
    pub fn flush(&mut self) {
        for (offset, data) in std::mem::take(&mut self.cached) {
            self.put(offset, &data);
        }
    }

    /// What was done and not flushed is lost.
    pub fn lose_cache(&mut self) {
        self.cached.clear();
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
        let unit = if world.once_in(2) { TORN_BYTES } else { SECTOR_BYTES };
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

    fn sector(&mut self, index: usize) -> &mut Sector {
        self.sectors[index].get_or_insert_with(|| Box::new([0; SECTOR_BYTES]))
    }

    /// What a read gives.
    pub fn read(&self, offset: u64, buf: &mut [u8]) {
        let first = offset as usize / SECTOR_BYTES;
        for (index, bytes) in buf.chunks_mut(SECTOR_BYTES).enumerate() {
            match &self.sectors[first + index] {
                Some(sector) => bytes.copy_from_slice(&sector[..bytes.len()]),
                None => bytes.fill(0),
            }
        }
        for (at, data) in &self.cached {
            overlay(offset, buf, *at, data);
        }
    }
}

fn overlay(offset: u64, buf: &mut [u8], at: u64, data: &[u8]) {
    let start = offset.max(at);
    let end = (offset + buf.len() as u64).min(at + data.len() as u64);
    if start < end {
        let bytes = &data[(start - at) as usize..(end - at) as usize];
        buf[(start - offset) as usize..(end - offset) as usize].copy_from_slice(bytes);
    }
}
