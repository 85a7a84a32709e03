//! Drives that do what drives do when they are bad: tear, reorder, lose, misdirect, rot, refuse, vanish.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{AlignedBuf, Clock, Device, DeviceError, DeviceOp, Durability, SECTOR_BYTES};
use bytes::Bytes;

use crate::world::SimWorld;

/// The unit in which a write can be torn.
const TORN_BYTES: usize = 512;
const EIO: i32 = 5;

/// How often a drive misbehaves: once in this many operations; 0 is never.
#[derive(Clone, Copy, Default, Debug)]
pub struct Faults {
    /// A write is acknowledged and not done.
    pub lost_write: u64,
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
    /// The drive vanishes.
    pub vanish: u64,
}

/// What survives the loss of power, and what may not.
pub struct Platter {
    size_bytes: u64,
    sectors: BTreeMap<u64, Box<[u8]>>,
    /// Done, and not yet on stable media.
    cached: Vec<(u64, Bytes)>,
    /// Being done.
    in_flight: BTreeMap<u64, (u64, Bytes)>,
    next_write: u64,
    pub faults: Faults,
    /// It answers nothing any more.
    pub gone: bool,
    /// Operations so far.
    pub operations: u64,
}

/// A drive's content, which outlives the world that uses it.
#[derive(Clone)]
pub struct SharedPlatter(pub Rc<RefCell<Platter>>);

impl SharedPlatter {
    /// An empty drive.
    pub fn new(size_bytes: u64) -> Self {
        SharedPlatter(Rc::new(RefCell::new(Platter {
            size_bytes,
            sectors: BTreeMap::new(),
            cached: Vec::new(),
            in_flight: BTreeMap::new(),
            next_write: 0,
            faults: Faults::default(),
            gone: false,
            operations: 0,
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
}

impl Platter {
    fn sector(&mut self, index: u64) -> &mut [u8] {
        self.sectors.entry(index).or_insert_with(|| vec![0; SECTOR_BYTES].into())
    }

    fn put(&mut self, offset: u64, data: &[u8]) {
        for (index, bytes) in data.chunks(SECTOR_BYTES).enumerate() {
            self.sector(offset / SECTOR_BYTES as u64 + index as u64)[..bytes.len()].copy_from_slice(bytes);
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
                self.sector((at / SECTOR_BYTES) as u64)[within..within + unit].copy_from_slice(bytes);
            }
        }
    }

    fn read(&self, offset: u64, buf: &mut [u8]) {
        for (index, bytes) in buf.chunks_mut(SECTOR_BYTES).enumerate() {
            match self.sectors.get(&(offset / SECTOR_BYTES as u64 + index as u64)) {
                Some(sector) => bytes.copy_from_slice(&sector[..bytes.len()]),
                None => bytes.fill(0),
            }
        }
        for (at, data) in &self.cached {
            overlay(offset, buf, *at, data);
        }
    }

    fn rot(&mut self, world: &SimWorld, offset: u64, bytes: usize) {
        let at = offset + world.below(bytes as u64);
        let bit = world.below(8);
        self.sector(at / SECTOR_BYTES as u64)[at as usize % SECTOR_BYTES] ^= 1 << bit;
    }

    fn flush(&mut self) {
        for (offset, data) in std::mem::take(&mut self.cached) {
            self.put(offset, &data);
        }
    }

    fn due(&mut self, world: &SimWorld, once_in: u64) -> bool {
        once_in > 0 && world.once_in(once_in)
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

/// A drive as one world has it.
pub struct SimDrive {
    world: SimWorld,
    platter: SharedPlatter,
}

impl SimDrive {
    /// The drive with this content, in this world.
    pub fn new(world: &SimWorld, platter: &SharedPlatter) -> Self {
        SimDrive { world: world.clone(), platter: platter.clone() }
    }

    /// Takes its time, and is perhaps not there any more afterwards.
    async fn operate(&self, microseconds: u64) -> Result<(), DeviceError> {
        let time = 1 + self.world.below(microseconds);
        self.world.sleep(Duration::from_micros(time)).await;
        let mut platter = self.platter.0.borrow_mut();
        platter.operations += 1;
        let vanish = platter.faults.vanish;
        if platter.due(&self.world, vanish) {
            platter.gone = true;
        }
        if platter.gone { Err(DeviceError::Gone) } else { Ok(()) }
    }

    fn refused(&self, op: DeviceOp, offset: u64, once_in: u64) -> Result<(), DeviceError> {
        let due = self.platter.0.borrow_mut().due(&self.world, once_in);
        if due { Err(DeviceError::Os { op, offset, errno: EIO }) } else { Ok(()) }
    }

    /// The end of a write: where it goes, if anywhere.
    fn finish_write(&self, id: u64, durability: Durability) {
        let mut platter = self.platter.0.borrow_mut();
        let (mut offset, data) = platter.in_flight.remove(&id).expect("in flight until it ends");
        let Faults { lost_write, misdirected_write, .. } = platter.faults;
        if platter.due(&self.world, lost_write) {
            return;
        }
        if platter.due(&self.world, misdirected_write) {
            let sectors = (platter.size_bytes - data.len() as u64) / SECTOR_BYTES as u64;
            offset = self.world.below(sectors) * SECTOR_BYTES as u64;
        }
        match durability {
            Durability::Stable => platter.put(offset, &data),
            Durability::Cached => platter.cached.push((offset, data)),
        }
    }
}

impl Device for SimDrive {
    fn size_bytes(&self) -> u64 {
        self.platter.0.borrow().size_bytes
    }

    async fn read(&self, offset: u64, mut buf: AlignedBuf) -> (Result<(), DeviceError>, AlignedBuf) {
        if let Err(error) = self.operate(100).await {
            return (Err(error), buf);
        }
        let Faults { rot, read_error, .. } = self.platter.0.borrow().faults;
        if let Err(error) = self.refused(DeviceOp::Read, offset, read_error) {
            return (Err(error), buf);
        }
        let mut platter = self.platter.0.borrow_mut();
        if platter.due(&self.world, rot) {
            platter.rot(&self.world, offset, buf.len());
        }
        platter.read(offset, &mut buf);
        (Ok(()), buf)
    }

    async fn write(&self, offset: u64, data: Bytes, durability: Durability) -> Result<(), DeviceError> {
        let id = {
            let mut platter = self.platter.0.borrow_mut();
            let overlaps = |(at, other): &&(u64, Bytes)| {
                offset < at + other.len() as u64 && *at < offset + data.len() as u64
            };
            assert!(
                !platter.in_flight.values().any(|other| overlaps(&other)),
                "two writes to one sector are in flight"
            );
            let id = platter.next_write;
            platter.next_write += 1;
            platter.in_flight.insert(id, (offset, data));
            id
        };
        let done = self.operate(200).await;
        let Faults { write_error, .. } = self.platter.0.borrow().faults;
        let done = done.and_then(|()| self.refused(DeviceOp::Write, offset, write_error));
        if let Err(error) = done {
            self.platter.0.borrow_mut().in_flight.remove(&id);
            return Err(error);
        }
        self.finish_write(id, durability);
        Ok(())
    }

    async fn flush(&self) -> Result<(), DeviceError> {
        self.operate(300).await?;
        let Faults { flush_error, .. } = self.platter.0.borrow().faults;
        if let Err(error) = self.refused(DeviceOp::Flush, 0, flush_error) {
            self.platter.0.borrow_mut().cached.clear();
            return Err(error);
        }
        self.platter.0.borrow_mut().flush();
        Ok(())
    }

    async fn discard(&self, _: u64, _: u64) -> Result<(), DeviceError> {
        self.operate(50).await
    }
}
