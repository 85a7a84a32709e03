//! How long operations took, to two significant digits.
//!
//! Group 0 has a bucket for each microsecond below 64; each group after it covers one octave in 64
//! buckets of the same width, so that a bucket is at most a sixty-fourth of what is in it. A group
//! that nothing has fallen into takes no memory: most volumes need few of them.

use std::time::Duration;

/// Buckets of a group.
pub const BUCKETS: usize = 64;
/// Groups: the last one ends at 134 s, and its last bucket has what took longer.
pub const GROUPS: usize = 22;

/// How many operations fell into each bucket of a group.
pub type Group = [u64; BUCKETS];

const NANOS_PER_US: u64 = 1_000;

/// See above.
#[derive(Clone, Default, Debug)]
pub struct Histogram {
    groups: [Option<Box<Group>>; GROUPS],
    count: u64,
    total_us: u64,
    max_us: u64,
}

/// A bucket that something fell into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bucket {
    /// The first microsecond that it covers.
    pub from_us: u64,
    /// How many it covers.
    pub width_us: u64,
    /// Operations that took so long.
    pub count: u64,
}

impl Bucket {
    fn middle_us(&self) -> u64 {
        self.from_us + (self.width_us - 1) / 2
    }

    fn last_us(&self) -> u64 {
        self.from_us + self.width_us - 1
    }
}

impl Histogram {
    /// What others have counted: by the first microsecond of each bucket, with their sum and their
    /// longest.
    pub fn of_parts(
        buckets: impl IntoIterator<Item = (u64, u64)>,
        total_us: u64,
        max_us: u64,
    ) -> Self {
        let mut all = Histogram { total_us, max_us, ..Histogram::default() };
        buckets.into_iter().for_each(|(from_us, count)| all.put(from_us, count));
        all
    }

    fn put(&mut self, us: u64, count: u64) {
        let (group, bucket) = place(us);
        let group = self.groups[group].get_or_insert_with(|| Box::new([0; BUCKETS]));
        group[bucket] = group[bucket].saturating_add(count);
        self.count = self.count.saturating_add(count);
    }

    /// Counts an operation that took so many nanoseconds.
    pub fn record_nanos(&mut self, nanos: u64) {
        let us = nanos / NANOS_PER_US;
        self.put(us, 1);
        self.total_us = self.total_us.saturating_add(us);
        self.max_us = self.max_us.max(us);
    }

    /// Counts an operation.
    pub fn record(&mut self, took: Duration) {
        self.record_nanos(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Adds what another one has counted.
    pub fn add(&mut self, other: &Histogram) {
        for (mine, theirs) in self.groups.iter_mut().zip(&other.groups) {
            let Some(theirs) = theirs else { continue };
            let mine = mine.get_or_insert_with(|| Box::new([0; BUCKETS]));
            mine.iter_mut().zip(&**theirs).for_each(|(sum, more)| *sum = sum.saturating_add(*more));
        }
        self.count = self.count.saturating_add(other.count);
        self.total_us = self.total_us.saturating_add(other.total_us);
        self.max_us = self.max_us.max(other.max_us);
    }

    /// What was counted after `earlier`, a state of the same histogram. Its longest is exact if
    /// nothing before was longer, and else the end of its bucket. `None`: it has been begun anew
    /// since.
    pub fn since(&self, earlier: &Histogram) -> Option<Histogram> {
        let total_us = self.total_us.checked_sub(earlier.total_us)?;
        let mut new = Histogram { total_us, ..Histogram::default() };
        for (at, earlier) in earlier.groups.iter().enumerate() {
            let (now, earlier) = (self.groups[at].as_deref(), earlier.as_deref());
            new.groups[at] = difference(now, earlier)?;
        }
        new.count = self.count.checked_sub(earlier.count)?;
        let end = new.buckets().last().map_or(0, |bucket| bucket.last_us());
        let is_longest = self.max_us > earlier.max_us;
        new.max_us = if is_longest { self.max_us } else { end.min(self.max_us) };
        Some(new)
    }

    /// Operations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of what they took, in microseconds.
    pub fn total_us(&self) -> u64 {
        self.total_us
    }

    /// The mean. `None`: nothing was counted.
    pub fn mean(&self) -> Option<Duration> {
        let mean_us = self.total_us as f64 / self.count as f64;
        (self.count > 0).then(|| Duration::from_secs_f64(mean_us / 1e6))
    }

    /// The longest. `None`: nothing was counted.
    pub fn max(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_micros(self.max_us))
    }

    /// The time within which this part of all operations ended, 0 to 1: the middle of its bucket,
    /// and the longest that there was at most. `None`: nothing was counted.
    pub fn quantile(&self, part: f64) -> Option<Duration> {
        let rank = ((part * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut before = 0_u64;
        let mut ends = self.buckets().filter_map(|bucket| {
            before = before.saturating_add(bucket.count);
            (before >= rank).then_some(bucket.middle_us())
        });
        Some(Duration::from_micros(ends.next()?.min(self.max_us)))
    }

    /// The buckets that something fell into, the shortest times first.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> {
        let groups = self.groups.iter().enumerate();
        groups.filter_map(|(at, group)| Some((at, group.as_deref()?))).flat_map(|(at, group)| {
            let width_us = width_us(at);
            let first_us = if at == 0 { 0 } else { BUCKETS as u64 * width_us };
            let counted = group.iter().zip(0..).filter(|(count, _)| **count > 0);
            counted.map(move |(count, bucket): (&u64, u64)| Bucket {
                from_us: first_us + bucket * width_us,
                width_us,
                count: *count,
            })
        })
    }

    /// A group, if something fell into it.
    pub fn group(&self, at: usize) -> Option<&Group> {
        self.groups[at].as_deref()
    }
}

/// What of a group came after `earlier`. `None`: less is in it.
fn difference(now: Option<&Group>, earlier: Option<&Group>) -> Option<Option<Box<Group>>> {
    let Some(earlier) = earlier else { return Some(now.map(|group| Box::new(*group))) };
    let mut new = Box::new(*now?);
    for (count, before) in new.iter_mut().zip(earlier) {
        *count = count.checked_sub(*before)?;
    }
    Some(Some(new))
}

/// Microseconds that a bucket of a group covers.
fn width_us(group: usize) -> u64 {
    1 << group.saturating_sub(1)
}

/// The group and the bucket of an operation that took `us`.
fn place(us: u64) -> (usize, usize) {
    if us < BUCKETS as u64 {
        return (0, us as usize);
    }
    let group = us.ilog2() as usize - BUCKETS.ilog2() as usize + 1;
    if group < GROUPS {
        (group, (us >> (group - 1)) as usize - BUCKETS)
    } else {
        (GROUPS - 1, BUCKETS - 1)
    }
}

#[cfg(test)]
mod tests;
