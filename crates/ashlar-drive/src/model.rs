//! Modelled drives: memory or a file that takes as long as a class of drives would.
//!
//! A drive has `parallel` units that read, a way for what is read and one for what is written, each
//! of which does one thing after the other. Writes are acknowledged as soon as they are in the
//! cache, and drain from it at the pace of the media. So latency rises with load as it does for
//! drives, and no more bytes go through than the profile allows. What a model does not have: stalls
//! that come of nothing, wear, and reads that wait for erasures.

mod profile;

use std::collections::VecDeque;
use std::sync::Mutex;

use ashlar_block::{DeviceOp, Nanos};

pub use profile::{ModelName, Profile, ProfileError};

const NANOS_PER_MICRO: u64 = 1000;

/// Sequential writes that a drive recognises side by side.
const STREAMS: usize = 16;

/// When the operations of a modelled drive end. All openers of a drive share one.
#[derive(Debug)]
pub(crate) struct Model {
    timing: Mutex<Timing>,
}

impl Model {
    pub(crate) fn new(profile: Profile, size_bytes: u64) -> Self {
        Model { timing: Mutex::new(Timing::new(profile, size_bytes)) }
    }

    /// An operation begins: when it is to end.
    pub(crate) fn begin(&self, now: Nanos, op: DeviceOp, offset: u64, bytes: u64) -> Nanos {
        self.timing.lock().expect("nothing in it panics").begin(now, op, offset, bytes)
    }
}

/// The state of a modelled drive: a pure function of what it was asked, and when.
#[derive(Debug)]
pub struct Timing {
    profile: Profile,
    size_bytes: u64,
    /// When each unit is free again.
    units: Vec<Nanos>,
    /// When all that is read before has gone its way.
    read_way: Nanos,
    /// When all that was written before is on the media.
    write_way: Nanos,
    /// Where the last writes ended, the newest first.
    write_ends: VecDeque<u64>,
    /// Where the arm is.
    arm_at: u64,
}

impl Timing {
    /// A drive of so many bytes that is idle.
    pub fn new(profile: Profile, size_bytes: u64) -> Self {
        let units = vec![Nanos(0); profile.parallel as usize];
        Timing {
            profile,
            size_bytes,
            units,
            read_way: Nanos(0),
            write_way: Nanos(0),
            write_ends: VecDeque::new(),
            arm_at: 0,
        }
    }

    /// An operation begins: when it is to end.
    pub fn begin(&mut self, now: Nanos, op: DeviceOp, offset: u64, bytes: u64) -> Nanos {
        match op {
            DeviceOp::Read if self.profile.rotational => {
                self.turn(now, self.profile.read_us, offset, bytes)
            }
            DeviceOp::Write if self.profile.rotational => {
                self.turn(now, self.profile.write_us, offset, bytes)
            }
            DeviceOp::Read => self.read(now, bytes),
            DeviceOp::Write => self.write(now, offset, bytes),
            DeviceOp::Flush => after(now, self.profile.flush_us * NANOS_PER_MICRO),
            DeviceOp::Discard => now,
        }
    }

    /// The unit that is free first has it, then the bytes go their way.
    fn read(&mut self, now: Nanos, bytes: u64) -> Nanos {
        let unit = self.units.iter_mut().min().expect("there is one");
        *unit = after(now.max(*unit), self.profile.read_us * NANOS_PER_MICRO);
        let done = *unit;
        self.read_way = after(now.max(self.read_way), nanos_of(bytes, self.profile.read_mb_per_s));
        done.max(self.read_way)
    }

    /// It ends once there is room for it in the cache.
    fn write(&mut self, now: Nanos, offset: u64, bytes: u64) -> Nanos {
        let Profile { write_us, write_mb_per_s, write_cache_mib, random_write_cost, .. } =
            self.profile;
        let cost = if self.goes_on(offset, bytes) { 1.0 } else { random_write_cost };
        let on_media = (nanos_of(bytes, write_mb_per_s) as f64 * cost) as u64;
        self.write_way = after(now.max(self.write_way), on_media);
        let cached = nanos_of(write_cache_mib << 20, write_mb_per_s);
        let has_room = Nanos(self.write_way.0.saturating_sub(cached));
        after(now, write_us * NANOS_PER_MICRO).max(has_room)
    }

    /// Whether a write goes on where one of the last ones ended: a drive tells so many streams
    /// apart.
    fn goes_on(&mut self, offset: u64, bytes: u64) -> bool {
        let stream = self.write_ends.iter().position(|end| *end == offset);
        stream.map(|stream| self.write_ends.remove(stream));
        self.write_ends.push_front(offset + bytes);
        self.write_ends.truncate(STREAMS);
        stream.is_some()
    }

    /// One arm does one thing after the other, at one place.
    fn turn(&mut self, now: Nanos, overhead_us: u64, offset: u64, bytes: u64) -> Nanos {
        let way = offset.abs_diff(self.arm_at) as f64 / self.size_bytes.max(1) as f64;
        let arm_us = match offset == self.arm_at {
            true => 0,
            false => {
                (self.profile.seek_us as f64 * way.sqrt()) as u64 + self.profile.rotation_us / 2
            }
        };
        self.arm_at = offset + bytes;
        let unit = self.units.first_mut().expect("there is one");
        let busy =
            (overhead_us + arm_us) * NANOS_PER_MICRO + nanos_of(bytes, self.profile.read_mb_per_s);
        *unit = after(now.max(*unit), busy);
        *unit
    }
}

fn after(from: Nanos, nanos: u64) -> Nanos {
    Nanos(from.0.saturating_add(nanos))
}

fn nanos_of(bytes: u64, mb_per_s: u64) -> u64 {
    bytes * NANOS_PER_MICRO / mb_per_s
}

#[cfg(test)]
mod tests;
