//! What operations take: always counted, by whoever carries them out, on one thread.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use crate::Nanos;

mod busy;
mod histogram;

pub use busy::{Busy, BusyTime};
pub use histogram::{BUCKETS, Bucket, GROUPS, Group, Histogram};

/// What is counted apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OpKind {
    /// Bytes come.
    Read,
    /// Bytes go.
    Write,
    /// Bytes are given back or become zeros: nothing is moved.
    Trim,
}

impl OpKind {
    /// All of them.
    pub const ALL: [OpKind; 3] = [OpKind::Read, OpKind::Write, OpKind::Trim];
}

/// How large operations are that are counted together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SizeClass {
    /// Up to 4 KiB.
    UpTo4KiB,
    /// More, up to 16 KiB.
    UpTo16KiB,
    /// More, up to 64 KiB.
    UpTo64KiB,
    /// More, up to 256 KiB.
    UpTo256KiB,
    /// More.
    Larger,
}

impl SizeClass {
    /// All of them, the smallest first.
    pub const ALL: [SizeClass; 5] = [
        SizeClass::UpTo4KiB,
        SizeClass::UpTo16KiB,
        SizeClass::UpTo64KiB,
        SizeClass::UpTo256KiB,
        SizeClass::Larger,
    ];

    /// That of an operation of so many bytes.
    pub fn of(bytes: u64) -> Self {
        let smaller = SIZES_MAX.iter().filter(|max| bytes > **max).count();
        Self::ALL[smaller]
    }

    /// Bytes of its largest operations. `None`: there is no bound.
    pub fn bytes_max(self) -> Option<u64> {
        SIZES_MAX.get(self as usize).copied()
    }
}

/// Bytes of the largest operations of each class but the last.
const SIZES_MAX: [u64; SizeClass::ALL.len() - 1] = [4 << 10, 16 << 10, 64 << 10, 256 << 10];

/// Operations that have ended.
#[derive(Clone, Default, Debug)]
pub struct Operations {
    /// How long they took, and how many they are.
    pub took: Histogram,
    /// Bytes that they were for.
    pub bytes: u64,
}

impl Operations {
    /// Adds others.
    pub fn add(&mut self, other: &Operations) {
        self.took.add(&other.took);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    /// Those after `earlier`. `None`: they have been counted anew since.
    pub fn since(&self, earlier: &Operations) -> Option<Operations> {
        let bytes = self.bytes.checked_sub(earlier.bytes)?;
        Some(Operations { took: self.took.since(&earlier.took)?, bytes })
    }
}

/// Operations by kind and size. What never came takes no memory.
#[derive(Clone, Default, Debug)]
pub struct Latencies([[Option<Box<Operations>>; SizeClass::ALL.len()]; OpKind::ALL.len()]);

impl Latencies {
    fn note(&mut self, kind: OpKind, bytes: u64, nanos: u64) {
        let place = &mut self.0[kind as usize][SizeClass::of(bytes) as usize];
        let operations = place.get_or_insert_default();
        operations.took.record_nanos(nanos);
        operations.bytes = operations.bytes.saturating_add(bytes);
    }

    /// Those of a kind and size, if there were any.
    pub fn of(&self, kind: OpKind, size: SizeClass) -> Option<&Operations> {
        self.0[kind as usize][size as usize].as_deref()
    }

    /// Those of a kind, of whatever size.
    pub fn of_kind(&self, kind: OpKind) -> Operations {
        let mut all = Operations::default();
        self.0[kind as usize].iter().flatten().for_each(|operations| all.add(operations));
        all
    }

    /// Adds what another one has counted.
    pub fn add(&mut self, other: &Latencies) {
        for (mine, theirs) in self.0.iter_mut().flatten().zip(other.0.iter().flatten()) {
            let Some(theirs) = theirs else { continue };
            mine.get_or_insert_default().add(theirs);
        }
    }
}

/// What goes on, by kind: those that have ended, and how many have not.
#[derive(Clone, Default, Debug)]
pub struct Activity {
    /// Operations that have begun and not ended.
    pub in_flight: u64,
    /// Those that have ended, in the order of [`OpKind::ALL`].
    pub ended: [Operations; OpKind::ALL.len()],
}

impl Activity {
    /// Adds what goes on elsewhere.
    pub fn add(&mut self, other: &Activity) {
        self.in_flight += other.in_flight;
        self.ended.iter_mut().zip(&other.ended).for_each(|(sum, more)| sum.add(more));
    }
}

/// Counts the operations of one thing. Stays on its thread; whoever wants to know of several adds
/// them up.
#[derive(Default, Debug)]
pub struct Meter {
    under_way: BusyTime,
    latencies: RefCell<Latencies>,
}

impl Meter {
    /// An operation for so many bytes has begun at that time.
    pub fn begin(self: &Rc<Self>, kind: OpKind, bytes: u64, began: Nanos) -> UnderWay {
        self.under_way.enter(began);
        UnderWay { meter: self.clone(), kind, bytes, began }
    }

    /// Operations that have begun and not ended.
    pub fn in_flight(&self) -> u64 {
        self.under_way.under_way()
    }

    /// For how long there was one until now. Of one that was given up the time since the last look
    /// may be missing.
    pub fn busy(&self, now: Nanos) -> Duration {
        self.under_way.count_until(now)
    }

    /// What it has counted.
    pub fn latencies(&self) -> Latencies {
        self.latencies.borrow().clone()
    }

    /// How long operations of that kind took.
    pub fn latency(&self, kind: OpKind) -> Histogram {
        self.latencies.borrow().of_kind(kind).took
    }

    /// The same, without sizes.
    pub fn activity(&self) -> Activity {
        let latencies = self.latencies.borrow();
        let ended = OpKind::ALL.map(|kind| latencies.of_kind(kind));
        Activity { in_flight: self.in_flight(), ended }
    }

    /// Counts from nothing again. What is under way still is, and is counted when it ends.
    pub fn reset(&self) {
        self.latencies.take();
    }
}

/// An operation that has begun. One that is dropped ends, and is not counted.
#[derive(Debug)]
pub struct UnderWay {
    meter: Rc<Meter>,
    kind: OpKind,
    bytes: u64,
    began: Nanos,
}

impl UnderWay {
    /// When it has begun.
    pub fn began(&self) -> Nanos {
        self.began
    }

    /// What it is.
    pub fn kind(&self) -> OpKind {
        self.kind
    }

    /// The bytes that it is for.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// It has ended at that time, and is counted.
    pub fn ended(self, at: Nanos) {
        let nanos = at.0.saturating_sub(self.began.0);
        self.meter.latencies.borrow_mut().note(self.kind, self.bytes, nanos);
        // Its end is counted when it is dropped, at the time that was told last.
        self.meter.under_way.count_until(at);
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.meter.under_way.leave();
    }
}

#[cfg(test)]
mod tests;
