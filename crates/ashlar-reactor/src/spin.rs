//! How long to look for work before sleeping.

use std::time::Duration;

/// Shortest spin worth its while: below it, the sleep's system call costs more.
const SPIN_MIN: Duration = Duration::from_micros(2);

/// Spends time on spinning where it paid lately.
///
/// Work that comes while spinning doubles the next spin, a spin in vain halves it, down to none. A
/// sleep that turned out shorter than the longest spin says that spinning would have paid, and
/// starts it again; so a quiet reactor spins at most once per piece of work, and an idle one never.
#[derive(Debug)]
pub(crate) struct Spin {
    longest: Duration,
    next: Duration,
}

impl Spin {
    pub(crate) fn new(longest: Duration) -> Self {
        Spin { longest, next: longest }
    }

    /// How long to spin now.
    pub(crate) fn duration(&self) -> Duration {
        self.next
    }

    /// Whether it is on at all.
    pub(crate) fn enabled(&self) -> bool {
        !self.longest.is_zero()
    }

    /// Work came while spinning.
    pub(crate) fn hit(&mut self) {
        self.next = (self.next * 2).min(self.longest);
    }

    /// Spinning ended in a sleep.
    pub(crate) fn missed(&mut self) {
        let halved = self.next / 2;
        self.next = if halved < SPIN_MIN { Duration::ZERO } else { halved };
    }

    /// The sleep after it took this long.
    pub(crate) fn slept(&mut self, duration: Duration) {
        if duration < self.longest {
            self.next = self.longest;
        }
    }
}

#[cfg(test)]
mod tests;
