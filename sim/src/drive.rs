//! Drives that do what drives do when they are bad: tear, reorder, lose, misdirect, rot, refuse,
//! stall, vanish.

use std::ops::Range;
use std::time::Duration;

use ashlar_block::{
    AlignedBuf, Clock, Device, DeviceError, DeviceOp, Durability, Nanos, SECTOR_BYTES, Spawn,
    XorShift,
};
use ashlar_store::format::heartbeat::Heartbeat;
use bytes::Bytes;

use crate::fault::Fault;
use crate::platter::{Forgotten, Platter, SharedPlatter};
use crate::world::{Machine, SimWorld};

const EIO: i32 = 5;
/// How long an operation that stalls takes, at most.
const STALL_MAX_MICROSECONDS: u64 = 15_000_000;
/// How long a drive answers nothing, at most.
const HANG_MAX_NANOSECONDS: u64 = 300_000_000_000;
/// How long a drive refuses everything, at most.
const GLITCH_MAX_NANOSECONDS: u64 = 50_000_000;
/// How long there is no room under a drive, at most.
const NO_SPACE_MAX_NANOSECONDS: u64 = 5_000_000_000;

/// About as long as the columns of one batch take.
const MOMENT_NANOSECONDS: u64 = 200_000;

/// Operations between the loss of one drive and that of all.
const PIECEMEAL_OPERATIONS: u64 = 30;

/// A drive as one machine has it.
#[derive(Clone)]
pub struct SimDrive {
    world: SimWorld,
    platter: SharedPlatter,
}

impl SimDrive {
    /// The drive with this content, in this world.
    pub fn new(world: &SimWorld, platter: &SharedPlatter) -> Self {
        SimDrive { world: world.clone(), platter: platter.clone() }
    }

    /// Whether the drive does this now.
    fn does(&self, fault: Fault) -> bool {
        let once_in = self.platter.0.borrow().faults.of(fault);
        let does = once_in > 0
            && match fault {
                Fault::LostMoment | Fault::StallMoment => self.is_moment(once_in),
                _ => self.world.once_in(once_in),
            };
        if does {
            self.change(|platter| platter.met.count(fault));
        }
        does
    }

    /// Whether this is one of so many moments: the same for all drives.
    fn is_moment(&self, once_in: u64) -> bool {
        XorShift::new(self.world.now().0 / MOMENT_NANOSECONDS).next_u64().is_multiple_of(once_in)
    }

    fn change(&self, change: impl FnOnce(&mut Platter)) {
        change(&mut self.platter.0.borrow_mut());
    }

    /// Takes its time, and is perhaps not there any more afterwards, or refuses.
    async fn operate(
        &self,
        op: DeviceOp,
        offset: u64,
        bytes: usize,
        microseconds: u64,
    ) -> Result<(), DeviceError> {
        self.world.sleep(self.time_of(op, offset, bytes, microseconds)).await;
        self.hang().await;
        self.world.count_operation();
        if self.does(Fault::Vanish) {
            self.change(|platter| platter.gone = true);
            self.perhaps_cut_power();
        }
        if self.does(Fault::Glitch) {
            let until = self.soon(GLITCH_MAX_NANOSECONDS);
            self.change(|platter| platter.glitch_until = until);
            self.perhaps_cut_power();
        }
        let platter = self.platter.0.borrow();
        match () {
            () if platter.gone => Err(DeviceError::Gone),
            () if platter.unreachable_from.contains(&self.world.machine()) => {
                Err(DeviceError::Gone)
            }
            () if self.world.now() < platter.glitch_until => Err(refusal(op, offset)),
            () => Ok(()),
        }
    }

    /// How long an operation takes that comes now.
    fn time_of(&self, op: DeviceOp, offset: u64, bytes: usize, microseconds: u64) -> Duration {
        if let Some(service) = &mut self.platter.0.borrow_mut().service {
            return service.take(self.world.now(), op, offset, bytes);
        }
        let stalls = self.does(Fault::Stall) || self.does(Fault::StallMoment);
        let slowest = if stalls { STALL_MAX_MICROSECONDS } else { microseconds };
        Duration::from_micros(1 + self.world.below(slowest))
    }

    /// Waits while the drive hangs.
    async fn hang(&self) {
        if self.does(Fault::Hang) {
            let until = self.soon(HANG_MAX_NANOSECONDS);
            self.change(|platter| platter.hung_until = until);
            self.perhaps_cut_power();
        }
        let until = self.platter.0.borrow().hung_until;
        if self.world.now() < until {
            self.world.sleep(until.since(self.world.now())).await;
        }
    }

    /// An enclosure often loses its power piecemeal: one drive first, soon all of them.
    fn perhaps_cut_power(&self) {
        if !self.world.once_in(4) {
            self.world.cut_after(self.world.below(PIECEMEAL_OPERATIONS));
        }
    }

    fn soon(&self, nanoseconds_max: u64) -> Nanos {
        Nanos(self.world.now().0 + self.world.below(nanoseconds_max))
    }

    fn refuse(&self, op: DeviceOp, offset: u64, fault: Fault) -> Result<(), DeviceError> {
        if self.does(fault) { Err(refusal(op, offset)) } else { Ok(()) }
    }

    fn have_room(&self, offset: u64) -> Result<(), DeviceError> {
        if self.does(Fault::NoSpace) {
            let until = self.soon(NO_SPACE_MAX_NANOSECONDS);
            self.change(|platter| platter.no_space_until = until);
        }
        let until = self.platter.0.borrow().no_space_until;
        if self.world.now() < until { Err(DeviceError::NoSpace { offset }) } else { Ok(()) }
    }

    /// Writes or discards are on their way to it, whoever began them.
    pub fn is_busy(&self) -> bool {
        let platter = self.platter.0.borrow();
        !platter.in_flight.is_empty() || !platter.in_discard.is_empty()
    }

    /// The write is on its way from now on.
    fn begin_write(&self, offset: u64, data: Bytes) -> u64 {
        let mut platter = self.platter.0.borrow_mut();
        let overlaps = |(at, other): &(u64, Bytes)| {
            offset < at + other.len() as u64 && *at < offset + data.len() as u64
        };
        // Of several machines each writes its own heartbeat; and whoever opens a pool does not wait
        // for ever for its first one, after which any later one of that opening says the same.
        let may_overlap = offset == Heartbeat::OFFSET;
        assert!(
            may_overlap || !platter.in_flight.values().any(overlaps),
            "two writes to one sector are in flight"
        );
        let bytes = offset..offset + data.len() as u64;
        assert!(
            !platter.in_discard.values().any(|other| overlap(other, &bytes)),
            "{bytes:?} is written while the drive is told that nobody needs it"
        );
        let id = platter.next_write;
        platter.next_write += 1;
        platter.in_flight.insert(id, (offset, data));
        id
    }

    /// The end of a write: where it goes, if anywhere.
    fn finish_write(&self, id: u64, durability: Durability) {
        let write = self.platter.0.borrow_mut().in_flight.remove(&id);
        let (offset, data) = write.expect("in flight until it ends");
        let is_lost = self.does(Fault::LostWrite) || self.does(Fault::LostMoment);
        let other = (!is_lost && self.does(Fault::MisdirectedWrite)).then(|| {
            let sectors = (self.size_bytes() - data.len() as u64) / SECTOR_BYTES as u64;
            self.world.below(sectors) * SECTOR_BYTES as u64
        });
        self.change(|platter| {
            match (is_lost || other.is_some_and(|other| other != offset), durability) {
                (false, Durability::Stable) => platter.put_through(offset, data),
                (false, Durability::Cached | Durability::Fleeting) => {
                    platter.put_cached(offset, data)
                }
                (true, Durability::Stable) => platter.misplace(offset, data, other),
                (true, Durability::Cached | Durability::Fleeting) => {
                    platter.misplace_cached(offset, data, other)
                }
            }
        });
    }
}

impl SimDrive {
    async fn read_here(
        &self,
        offset: u64,
        mut buf: AlignedBuf,
    ) -> (Result<(), DeviceError>, AlignedBuf) {
        let done = self.operate(DeviceOp::Read, offset, buf.len(), 100).await;
        if let Err(error) =
            done.and_then(|()| self.refuse(DeviceOp::Read, offset, Fault::ReadError))
        {
            return (Err(error), buf);
        }
        if self.does(Fault::BadSectors) {
            self.change(|platter| platter.go_bad(&self.world, offset, buf.len()));
        }
        if self.platter.0.borrow().is_bad(offset, buf.len()) {
            return (Err(refusal(DeviceOp::Read, offset)), buf);
        }
        if self.does(Fault::Rot) {
            self.change(|platter| platter.rot(&self.world, offset, buf.len()));
        }
        self.change(|platter| platter.read(offset, &mut buf));
        self.world.note_use(offset);
        (Ok(()), buf)
    }

    async fn discard_here(&self, bytes: Range<u64>) -> Result<(), DeviceError> {
        let id = {
            let mut platter = self.platter.0.borrow_mut();
            let is_written =
                |(at, data): &(u64, Bytes)| overlap(&(*at..at + data.len() as u64), &bytes);
            assert!(
                !platter.in_flight.values().any(is_written),
                "{bytes:?} is not needed, and is written"
            );
            let id = platter.next_write;
            platter.next_write += 1;
            platter.in_discard.insert(id, bytes.clone());
            id
        };
        let done = self.operate(DeviceOp::Discard, bytes.start, 0, 500).await;
        let done =
            done.and_then(|()| self.refuse(DeviceOp::Discard, bytes.start, Fault::WriteError));
        let what = Forgotten::any(&self.world);
        self.change(|platter| {
            platter.in_discard.remove(&id);
            match &done {
                Ok(()) => platter.forget(&bytes, what),
                Err(_) if platter.gone => {}
                Err(_) => platter.forget_part(&self.world, &bytes),
            }
        });
        done
    }

    async fn write_here(
        &self,
        offset: u64,
        data: Bytes,
        durability: Durability,
    ) -> Result<(), DeviceError> {
        let bytes = data.len();
        let id = self.begin_write(offset, data);
        let done = self.operate(DeviceOp::Write, offset, bytes, 200).await;
        let done = done.and_then(|()| self.have_room(offset));
        if let Err(error) =
            done.and_then(|()| self.refuse(DeviceOp::Write, offset, Fault::WriteError))
        {
            self.change(|platter| platter.fail_write(&self.world, id));
            return Err(error);
        }
        self.finish_write(id, durability);
        Ok(())
    }
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

fn refusal(op: DeviceOp, offset: u64) -> DeviceError {
    DeviceError::Os { op, offset, errno: EIO }
}

impl Device for SimDrive {
    fn size_bytes(&self) -> u64 {
        self.platter.0.borrow().size_bytes
    }

    async fn read(&self, offset: u64, buf: AlignedBuf) -> (Result<(), DeviceError>, AlignedBuf) {
        if self.world.machine() == Machine::default() {
            return self.read_here(offset, buf).await;
        }
        let drive = self.clone();
        self.world.on(Machine::default(), async move { drive.read_here(offset, buf).await }).await
    }

    async fn write(
        &self,
        offset: u64,
        data: Bytes,
        durability: Durability,
    ) -> Result<(), DeviceError> {
        if self.world.machine() == Machine::default() {
            return self.write_here(offset, data, durability).await;
        }
        if offset == Heartbeat::OFFSET {
            self.world.note_use(offset);
            self.world.yield_now().await;
        }
        let drive = self.clone();
        self.world
            .on(Machine::default(), async move { drive.write_here(offset, data, durability).await })
            .await
    }

    async fn flush(&self) -> Result<(), DeviceError> {
        let before = self.platter.0.borrow().flush_begins();
        self.operate(DeviceOp::Flush, 0, 0, 300).await?;
        if let Err(error) = self.refuse(DeviceOp::Flush, 0, Fault::FlushError) {
            self.change(Platter::lose_cache);
            return Err(error);
        }
        self.change(|platter| platter.flush(before));
        Ok(())
    }

    fn discards(&self) -> bool {
        true
    }

    async fn discard(&self, offset: u64, bytes: u64) -> Result<(), DeviceError> {
        let (drive, bytes) = (self.clone(), offset..offset + bytes);
        if self.world.machine() == Machine::default() {
            return self.discard_here(bytes).await;
        }
        self.world.on(Machine::default(), async move { drive.discard_here(bytes).await }).await
    }
}
