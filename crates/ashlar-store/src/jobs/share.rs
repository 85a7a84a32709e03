//! Background work has a share of the time: after each step it leaves the drives to others.

use std::cell::Cell;
use std::time::Duration;

use ashlar_block::Nanos;

/// When the next step of some work in the background may begin.
#[derive(Default)]
pub(crate) struct TimeShare {
    next_step_at: Cell<Nanos>,
}

impl TimeShare {
    /// Whether the next step may begin.
    pub fn has_come(&self, now: Nanos) -> bool {
        self.next_step_at.get() <= now
    }

    /// How long it is until then.
    pub fn wait(&self, now: Nanos) -> Duration {
        self.next_step_at.get().since(now)
    }

    /// The next step may begin now: what was to be waited for was by another share, or for another
    /// reason.
    pub fn at_once(&self, now: Nanos) {
        self.next_step_at.set(now);
    }

    /// The next step begins after that much time, or later.
    pub fn pause(&self, now: Nanos, pause: Duration) {
        let until = Nanos(now.0 + pause.as_nanos() as u64);
        self.next_step_at.set(self.next_step_at.get().max(until));
    }

    /// A step is done; the others' share of the time is next, so that such steps have so many
    /// thousandths of it. One that came late is not to have less for it.
    pub fn stepped(&self, begun: Nanos, ended: Nanos, share: u16) {
        let late = begun.since(self.next_step_at.get()).min(LATE_COUNTED_MAX);
        let step_and_pause = ended.since(begun) + pause_after(ended.since(begun), share);
        let next =
            (begun.0 + step_and_pause.as_nanos() as u64).saturating_sub(late.as_nanos() as u64);
        self.next_step_at.set(self.next_step_at.get().max(Nanos(next)));
    }
}

/// How late a step may be and still make up for it: what comes at once then is to be short for
/// hosts.
const LATE_COUNTED_MAX: Duration = Duration::from_millis(50);

/// What a step takes at most of what is counted. One that takes longer has waited for a drive, for
/// which hosts had all the time that there was; counted whole, a drive that hangs for its 20 s
/// would hold up a rebuild for half an hour.
const STEP_COUNTED_MAX: Duration = Duration::from_millis(500);

/// A share that an operator has chosen in percent.
pub(crate) fn thousandths(percent: u8) -> u16 {
    u16::from(percent) * 10
}

/// How long to leave the drives to others after a step, so that steps have so many thousandths of
/// the time, and one in a hundred at least.
fn pause_after(step: Duration, share: u16) -> Duration {
    let share = u32::from(share.clamp(10, 1000));
    step.min(STEP_COUNTED_MAX) * (1000 - share) / share
}

#[cfg(test)]
mod tests;
