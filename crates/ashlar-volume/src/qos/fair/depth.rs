//! How many bytes of commands the store of a pool has at a time, while several volumes are in use.
//!
//! Few of them keep nobody waiting who comes next and let turns be kept, and many keep all drives
//! busy. So the depth is measured, not chosen. It grows while the pool does more for it, and falls
//! by half while that makes the commands of volumes within their part faster; but never so far that
//! the pool does less than a quarter of what it can do. Where only one volume wants more, and
//! nobody is to be protected from it, it grows whatever the pool does.
//!
//! Where several volumes want more than there is, it is no more than lets them take turns
//! (`backlog`), unless the pool does much more for it (`stretch`).
//!
//! What commands take where others hold nothing up is the least that they took of late. To know it
//! the depth falls once in a while ([`PROBE`]), and grows again if that was for nothing.

use std::collections::VecDeque;
use std::time::Duration;

use ashlar_block::Nanos;
use hdrhistogram::Histogram;

use super::stretch::{Done, Stretch};
use super::window::Window;

/// The first depth, and what it is at least and at most. The least is one command of a usual size,
/// and with the most nobody waits.
const FIRST: u64 = 256 << 10;
const LEAST: u64 = 64 << 10;
const MOST: u64 = 1 << 30;

/// Commands of a kind that say how long 99 of 100 take.
const COMMANDS_MIN: u64 = 200;
/// Nobody is to be protected of whom nothing came for so long.
const QUIET: Duration = Duration::from_secs(5);
/// After so long without a fall the depth falls, to see what for.
const PROBE: Duration = Duration::from_secs(10);
/// What the pool must do more for a growth to be kept, in hundredths; and for how long the depth
/// else stays where it was.
const WORTH_PERCENT: u64 = 105;
const STAY: Duration = Duration::from_secs(5);
/// The next growth is larger if this part of the last one has come out of the pool, in hundredths.
const STEEP_PERCENT: u64 = 60;

/// How much longer than the least of late a command may take, in hundredths of it; and how many of
/// a hundred may take longer than that.
const LATE_PERCENT: u64 = 115;
const LATE_COMMANDS_PERCENT: u64 = 2;
/// The pool does at least half of this part of the most that it did of late: beyond that a fall by
/// half might take half of it.
const RATE_DIVISOR: u64 = 2;
/// The most that it did fades with this time constant.
const BEST_FADES: Duration = Duration::from_secs(500);
/// Windows of which the most is what the pool can do as volumes use it now.
const RECENT: usize = 8;

/// What the pool does for a bound that is stretched is of no account once there was none for so
/// long.
const FORGOTTEN: Duration = Duration::from_secs(10);

/// The longest command that is told from longer ones, in units of 100 ns, and how many digits of
/// it count.
const TOOK_MAX: u64 = 600_000_000;
const TOOK_DIGITS: u8 = 2;

/// Small commands of one kind of volumes within their part.
struct Measured {
    took: Histogram<u32>,
    late: u64,
    /// What 99 of 100 took at least of late.
    least: Option<u64>,
    /// What 90 of 100 took in the last window.
    before: Option<u64>,
}

impl Default for Measured {
    fn default() -> Self {
        let took = Histogram::new_with_bounds(1, TOOK_MAX, TOOK_DIGITS);
        let took = took.expect("bounds that can be");
        Measured { took, late: 0, least: None, before: None }
    }
}

/// What a window says of commands of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// Too few came.
    Unknown,
    Early,
    /// Much faster than in the window before.
    Faster,
    Late,
}

impl Measured {
    fn took(&mut self, took: Duration) {
        let took = took.as_nanos() as u64 / 100;
        self.took.saturating_record(took);
        let is_late = self.least.is_some_and(|least| took * 100 > least * LATE_PERCENT);
        self.late += u64::from(is_late);
    }

    /// Judges the window and begins the next one, if it says enough.
    fn judge(&mut self) -> Verdict {
        let count = self.took.len();
        if count < COMMANDS_MIN {
            return Verdict::Unknown;
        }
        let most = self.took.value_at_quantile(0.9);
        let is_faster = self.before.is_some_and(|before| most * LATE_PERCENT < before * 100);
        let is_late = self.late * 100 > count * LATE_COMMANDS_PERCENT;
        let longest = self.took.value_at_quantile(0.99);
        self.least = Some(self.least.map_or(longest, |least| closer(least, longest)));
        self.before = Some(most);
        self.forget();
        match (is_late, is_faster) {
            (true, _) => Verdict::Late,
            (false, true) => Verdict::Faster,
            (false, false) => Verdict::Early,
        }
    }

    fn forget(&mut self) {
        self.took.reset();
        self.late = 0;
    }
}

/// The least of late: down to less by half the way, for one window may be lucky, and up by a
/// hundredth, for drives grow slow.
fn closer(least: u64, longest: u64) -> u64 {
    if longest < least { (least + longest) / 2 } else { longest.min(least + least / 100 + 1) }
}

/// The kinds of commands that are measured apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Read,
    Write,
}

/// The depth and the rate before a growth that is tried.
struct Trial {
    bytes: u64,
    rate: u64,
}

impl Trial {
    /// Whether the pool does so much more for it that it is kept.
    fn is_worth(&self, rate: u64) -> bool {
        rate * 100 >= self.rate * WORTH_PERCENT
    }

    /// Whether the pool does nearly as much more as it has: there is far to go.
    fn is_steep(&self, bytes: u64, rate: u64) -> bool {
        let (more, grown) = (rate.saturating_sub(self.rate), bytes.saturating_sub(self.bytes));
        let [more, grown] = [(more, self.bytes), (grown, self.rate)]
            .map(|(part, of_other)| u128::from(part) * u128::from(of_other));
        more * 100 >= grown * u128::from(STEEP_PERCENT)
    }
}

/// The depth of one pool.
pub(super) struct Depth {
    bytes: u64,
    /// It is so much at most, stretched.
    bound: Option<u64>,
    stretch: Stretch,
    last_bound: Nanos,
    /// A command had to wait since the bound was last looked at.
    has_waited: bool,
    measured: [Measured; 2],
    window: Window,
    last_measured: Nanos,
    last_fall: Nanos,
    /// The last window began with a fall.
    has_fallen: bool,
    /// The growth that the last window began with, unless that was to stay whatever the pool does.
    tried: Option<Trial>,
    /// It does not grow before.
    stays_until: Nanos,
    /// The last growth was well worth it.
    is_steep: bool,
    /// Of this window: commands that had to wait, those of them whose volume had nothing in the
    /// store although it was its turn, and whether several volumes waited at a time.
    waited: u64,
    starved: u64,
    several: bool,
    /// The most that ended in a second in the last minutes, and in each of the last windows.
    best_rate: u64,
    recent: VecDeque<u64>,
}

fn clamped(bytes: u64) -> u64 {
    bytes.clamp(LEAST, MOST)
}

impl Default for Depth {
    fn default() -> Self {
        Depth {
            bytes: FIRST,
            bound: None,
            stretch: Stretch::default(),
            last_bound: Nanos(0),
            has_waited: false,
            measured: Default::default(),
            window: Window::new(Nanos(0)),
            last_measured: Nanos(0),
            last_fall: Nanos(0),
            has_fallen: false,
            tried: None,
            stays_until: Nanos(0),
            is_steep: false,
            waited: 0,
            starved: 0,
            several: false,
            best_rate: 0,
            recent: VecDeque::new(),
        }
    }
}

impl Depth {
    /// Bytes of commands that the store is to have at a time.
    pub(super) fn bytes(&self) -> u64 {
        match self.bound {
            Some(bound) if self.stretch.is_trial() => clamped(self.stretch.twice(bound)),
            _ => self.bytes.min(self.max()),
        }
    }

    fn max(&self) -> u64 {
        self.bound.map_or(MOST, |bound| clamped(self.stretch.of(bound)))
    }

    /// The most that the pool has done in a second, of the last windows.
    pub(super) fn rate(&self) -> u64 {
        self.recent.iter().copied().max().unwrap_or(0)
    }

    /// It is so much at most from now on, stretched; `None` is no bound.
    /// `done` is of the volumes that want much.
    pub(super) fn bound(&mut self, bytes_max: Option<u64>, done: &[Done], now: Nanos) {
        let has_waited = std::mem::take(&mut self.has_waited) && bytes_max.is_some();
        self.bound = bytes_max;
        if bytes_max.is_some() {
            self.last_bound = now;
        } else if now.since(self.last_bound) >= FORGOTTEN {
            self.stretch = Stretch::default();
        }
        let is_wanted = has_waited || self.stretch.is_trial() || self.stretch.is_stretched();
        // A growth by less than a quarter may not have shown that it is of use.
        let is_reached = self.bytes + self.bytes / 4 >= self.max();
        let is_stretched_more = self.stretch.look(is_wanted && is_reached, done, now);
        if is_stretched_more {
            self.bytes = self.max();
        }
    }

    /// A small command of a volume within its part has ended, after so long in the store.
    pub(super) fn took(&mut self, kind: Kind, took: Duration, now: Nanos) {
        self.measured[kind as usize].took(took);
        self.last_measured = now;
    }

    /// A command of that cost has ended, of `in_store` that there were.
    pub(super) fn ended(&mut self, cost: u64, in_store: u64) {
        self.window.ended(cost, in_store);
    }

    /// A command has to wait: whether its volume has nothing in the store although it is its turn,
    /// and whether other volumes wait.
    pub(super) fn waits(&mut self, is_starved: bool, others_wait: bool) {
        self.has_waited = true;
        self.waited += 1;
        self.starved += u64::from(is_starved);
        self.several |= others_wait;
    }

    /// Decides it anew, if it is time.
    pub(super) fn decide(&mut self, now: Nanos) {
        // One alone waits for nobody's commands but its own: what it does says enough at once.
        let is_over = self.window.is_over(now);
        if !is_over && (self.several || !self.window.is_long_enough(now)) {
            return;
        }
        let verdicts = [self.measured[0].judge(), self.measured[1].judge()];
        let is_quiet = now.since(self.last_measured) >= QUIET;
        let is_starved = self.starved * 50 > self.waited;
        if verdicts == [Verdict::Unknown; 2] && !is_quiet && !is_starved {
            return;
        }
        let (rate, peak) = (self.window.rate(now), self.window.peak());
        self.note(rate, self.window.elapsed(now));
        self.judge_trial(rate, now);
        let may_fall = !is_quiet && !is_starved && rate >= self.best_rate / RATE_DIVISOR;
        let has_many = self.waited > 0 || peak > FIRST;
        let is_to_fall = may_fall && has_many && self.is_to_fall(verdicts, now);
        self.has_fallen = is_to_fall;
        if is_to_fall {
            self.bytes = (self.bytes.min(peak) / 2).max(LEAST);
            self.last_fall = now;
        } else {
            self.grow(rate, is_starved, is_quiet, now);
        }
        (self.waited, self.starved, self.several) = (0, 0, false);
        self.window = Window::new(now);
    }

    fn note(&mut self, rate: u64, elapsed: Duration) {
        let kept = (-elapsed.as_secs_f64() / BEST_FADES.as_secs_f64()).exp();
        self.best_rate = rate.max((self.best_rate as f64 * kept) as u64);
        self.recent.truncate(RECENT - 1);
        self.recent.push_front(rate);
    }

    /// Takes a growth back for which the pool does no more.
    fn judge_trial(&mut self, rate: u64, now: Nanos) {
        self.is_steep = false;
        let Some(trial) = self.tried.take() else { return };
        if trial.is_worth(rate) {
            self.is_steep = trial.is_steep(self.bytes, rate);
        } else {
            self.bytes = self.bytes.min(trial.bytes);
            self.stays_until = Nanos(now.0 + STAY.as_nanos() as u64);
        }
    }

    fn grow(&mut self, rate: u64, is_starved: bool, is_quiet: bool, now: Nanos) {
        // One alone wants more, and nobody is to be protected from it.
        let is_free = (is_starved || is_quiet) && !self.several;
        if self.waited == 0 || !is_free && now < self.stays_until {
            return;
        }
        self.tried = (!is_free).then_some(Trial { bytes: self.bytes, rate });
        let is_doubled = is_free || is_starved || is_quiet && self.is_steep;
        let growth = if is_doubled { self.bytes } else { self.bytes / 4 };
        let room = self.max().saturating_sub(self.bytes);
        self.bytes += growth.min(room);
    }

    fn is_to_fall(&self, verdicts: [Verdict; 2], now: Nanos) -> bool {
        verdicts.contains(&Verdict::Late)
            || self.has_fallen && verdicts.contains(&Verdict::Faster)
            || now.since(self.last_fall) >= PROBE
    }
}

#[cfg(test)]
mod tests;
