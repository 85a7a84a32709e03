//! The pace of hosts while space is short: they write as fast as collection gives space back, each
//! batch after a short wait. Without it they would write a segment as fast as they can, and then
//! wait until collection has made room for the next, which takes seconds where segments are large.

use std::cell::Cell;
use std::time::Duration;

use ashlar_block::Nanos;

use crate::space::capacity::Marks;
use crate::space::room::Room;

/// No batch waits longer: what is known of collection may be wrong.
const WAIT_MAX: Duration = Duration::from_millis(50);

/// How much of what was known of collection counts still when it has collected another segment.
const REMEMBERED: f64 = 0.75;

/// How far one look moves what the pressure is taken for: collection and checkpoints give back in
/// steps, and hosts should not go by them.
const PRESSURE_STEP: f64 = 0.1;

/// At a pressure of so much hosts may write nothing, so that below 1 there is always one at which
/// they get what collection gives back, less what checkpoints and striping take of it.
const STANDSTILL: f64 = 1.2;

/// The pressure at which hosts write as fast as collection gives back, where there are hosts that
/// want more. The less it is, the more has gathered for each checkpoint to free.
const KEEPS_UP: f64 = 0.35;

/// How fast collection gives back, and when hosts may write next.
#[derive(Default)]
pub(crate) struct Pace {
    /// 0: there is enough; 1: hosts have to wait for segments.
    pressure: Cell<f64>,
    /// Bytes that collection has given back, and the nanoseconds that it took; both forgotten
    /// little by little.
    gained_bytes: Cell<f64>,
    took_nanos: Cell<f64>,
    /// Since when collection has been at it.
    since: Cell<Nanos>,
    /// What the segment that it is at took before that.
    took_before: Cell<Duration>,
    /// When the next batch may be written.
    next_at: Cell<Nanos>,
}

impl Pace {
    /// How upkeep finds things. What the next checkpoint frees counts as free.
    pub fn look(&self, room: &Room) {
        self.has_free(room.segments_after_checkpoint(), room.marks);
    }

    fn has_free(&self, segments: u64, marks: Marks) {
        let (before, now) = (self.pressure.get(), pressure(segments, marks));
        // Upkeep may not look again for long once there is enough.
        self.pressure.set(if now > 0.0 { before + (now - before) * PRESSURE_STEP } else { 0.0 });
    }

    /// Upkeep has done nothing for space until now.
    pub fn rested(&self, now: Nanos) {
        self.since.set(now);
    }

    /// A part of a segment has been collected.
    pub fn collected_part(&self, now: Nanos) {
        self.took_before.set(self.took_before.get() + now.since(self.since.replace(now)));
    }

    /// A segment has been collected.
    pub fn gained(&self, bytes: u64, now: Nanos) {
        self.collected_part(now);
        let took = self.took_before.take().as_nanos() as f64;
        self.gained_bytes.set(self.gained_bytes.get() * REMEMBERED + bytes as f64);
        self.took_nanos.set(self.took_nanos.get() * REMEMBERED + took);
    }

    /// Hosts have written so much.
    pub fn written(&self, bytes: u64, now: Nanos) {
        let pressure = self.pressure.get();
        if pressure > 0.0 && self.gained_bytes.get() > 0.0 {
            let nanos_for_each = self.took_nanos.get() / self.gained_bytes.get();
            let wait = bytes as f64 * nanos_for_each * slowdown(pressure);
            let begins = self.next_at.get().max(now);
            self.next_at.set(Nanos(begins.0 + (wait as u64).min(WAIT_MAX.as_nanos() as u64)));
        }
    }

    /// How long the next batch of hosts has to wait.
    pub fn wait(&self, now: Nanos) -> Duration {
        if self.pressure.get() > 0.0 {
            self.next_at.get().since(now).min(WAIT_MAX)
        } else {
            Duration::ZERO
        }
    }
}

/// How short space is: 0 where collection begins, 1 where hosts may open no segment.
fn pressure(free: u64, marks: Marks) -> f64 {
    let short = marks.collect.saturating_sub(free) as f64 / (marks.collect - marks.reserve) as f64;
    short.min(1.0)
}

/// How much slower than collection gives back hosts are to write: they write as fast at
/// `KEEPS_UP`.
fn slowdown(pressure: f64) -> f64 {
    let at = |pressure: f64| pressure / (STANDSTILL - pressure);
    at(pressure) / at(KEEPS_UP)
}

#[cfg(test)]
mod tests;
