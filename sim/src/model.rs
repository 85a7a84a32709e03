//! What the blocks of a volume may read as.
//!
//! A block has a version that is settled, and perhaps some that were on their way when something
//! went wrong: until it is read again it may hold any of those, and from then on only the one that
//! was read.

use std::collections::BTreeMap;
use std::ops::Range;

pub use crate::content::Version;
use crate::content::shown;

/// A version that a block may hold instead of the settled one.
#[derive(Clone, Copy, Debug)]
struct Maybe {
    version: Version,
    /// It may also come after the block was read without it: its write waits for room under a
    /// drive.
    late: bool,
}

/// Counts what settles blocks: the order of it and of the reads that begin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct Moment(u64);

impl Moment {
    fn pass(&mut self) -> Self {
        self.0 += 1;
        *self
    }
}

/// What a block may hold.
#[derive(Clone, Debug, Default)]
struct Block {
    settled: Version,
    /// When that was settled, or the last change ended of which nobody knows what became.
    touched_at: Moment,
    /// In the order in which they were begun.
    maybe: Vec<Maybe>,
}

impl Block {
    fn allows(&self, version: Version) -> bool {
        self.settled == version || self.maybe.iter().any(|maybe| maybe.version == version)
    }

    fn settle(&mut self, version: Version, now: Moment) {
        *self = Block { settled: version, touched_at: now, maybe: Vec::new() };
    }

    /// The change of it is done: which of these versions has won is seen when it is read.
    fn settle_one_of(&mut self, mut versions: impl Iterator<Item = Version>, now: Moment) {
        self.settle(versions.next().expect("a change has a version"), now);
        self.maybe.extend(versions.map(|version| Maybe { version, late: false }));
    }

    /// It was read. What is late and was begun after what was read may still come. Of several trims
    /// the first may be what was read.
    fn decide(&mut self, version: Version, now: Moment) {
        if self.settled != version {
            let read = self.maybe.iter().position(|maybe| maybe.version == version);
            self.maybe.drain(..=read.expect("allowed"));
            (self.settled, self.touched_at) = (version, now);
        }
        self.maybe.retain(|maybe| maybe.late);
    }
}

/// A change of blocks that are next to each other.
#[derive(Clone, Debug)]
struct Change {
    blocks: Range<u64>,
    version: Version,
    /// Of writes of the same block at the same time: the others' versions. One of all of them wins.
    rivals: Vec<Version>,
    /// After a crash all of it must be there, or nothing.
    atomic: bool,
}

impl Change {
    fn overlaps(&self, blocks: &Range<u64>) -> bool {
        self.blocks.start < blocks.end && blocks.start < self.blocks.end
    }

    /// What a block of it may be read as once it is done.
    fn shown(&self, block: u64) -> impl Iterator<Item = Version> {
        [self.version]
            .into_iter()
            .chain(self.rivals.iter().copied())
            .map(move |version| shown(block, version))
    }

    /// Whether a block of it tells that the change was done: zeros may have been there before.
    fn tells(&self, block: u64) -> bool {
        self.blocks.contains(&block) && shown(block, self.version) != 0
    }
}

/// Names a change that is on its way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ticket(u64);

/// What a host has been told of its change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It is done.
    Done,
    /// It is not done, and never will be.
    Refused,
    /// It may have been done or not.
    Failed,
    /// Room was lacking under a drive: it may have been done, may come later, or never.
    Late,
}

/// One volume, as it may be.
#[derive(Clone, Debug)]
pub struct Model {
    /// Blocks that something was ever written to. All others hold zeros.
    blocks: BTreeMap<u64, Block>,
    size_blocks: u64,
    is_compressed: bool,
    /// A size that was asked for and not confirmed.
    other_size: Option<u64>,
    in_flight: BTreeMap<Ticket, Change>,
    next_ticket: u64,
    now: Moment,
    /// Atomic writes that have failed since the last start.
    failed: Vec<Change>,
    /// Atomic writes that were on their way when the power was cut.
    undecided: Vec<Change>,
    reads_on_their_way: usize,
    /// What was done since the first of those reads began.
    done_meanwhile: Vec<Change>,
}

/// A read that is on its way.
pub struct Read {
    blocks: Range<u64>,
    /// What each of them might hold when it began.
    before: Vec<Vec<Version>>,
    begun_at: Moment,
    /// How much had been done by then.
    done: usize,
}

impl Model {
    /// An empty volume.
    pub fn new(size_blocks: u64, is_compressed: bool) -> Self {
        Model {
            blocks: BTreeMap::new(),
            size_blocks,
            is_compressed,
            other_size: None,
            in_flight: BTreeMap::new(),
            next_ticket: 0,
            now: Moment::default(),
            failed: Vec::new(),
            undecided: Vec::new(),
            reads_on_their_way: 0,
            done_meanwhile: Vec::new(),
        }
    }

    /// Whether the pool is to compress what is written to it.
    pub fn is_compressed(&self) -> bool {
        self.is_compressed
    }

    // --- changes ---------------------------------------------------------------------------------

    /// A write (or, with version 0, a trim) of `blocks` begins. `None` if one of them is being
    /// changed already.
    pub fn begin(&mut self, blocks: Range<u64>, version: Version, atomic: bool) -> Option<Ticket> {
        self.begin_change(Change {
            blocks,
            version,
            rivals: Vec::new(),
            atomic: atomic && version != 0,
        })
    }

    /// Writes of one block begin that are on their way at the same time. They are answered
    /// together: done, or perhaps done.
    pub fn begin_contest(
        &mut self,
        block: u64,
        version: Version,
        rivals: Vec<Version>,
    ) -> Option<Ticket> {
        self.begin_change(Change { blocks: block..block + 1, version, rivals, atomic: false })
    }

    fn begin_change(&mut self, change: Change) -> Option<Ticket> {
        let blocks = change.blocks.clone();
        if self.is_busy(&blocks) {
            return None;
        }
        self.failed.retain(|write| !write.overlaps(&blocks));
        self.undecided.retain(|write| !write.overlaps(&blocks));
        if change.version != 0 {
            for block in blocks.clone() {
                self.blocks.entry(block).or_default();
            }
        }
        let maybe = |nth: u64| change.shown(nth).map(|version| Maybe { version, late: false });
        self.blocks.range_mut(blocks).for_each(|(nth, block)| block.maybe.extend(maybe(*nth)));
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.in_flight.insert(ticket, change);
        Some(ticket)
    }

    /// The change has been answered.
    pub fn end(&mut self, ticket: Ticket, answer: Answer) {
        let change = self.in_flight.remove(&ticket).expect("begun, and ended once");
        let now = self.now.pass();
        let versions = 1 + change.rivals.len();
        let blocks = self.blocks.range_mut(change.blocks.clone());
        match answer {
            Answer::Done => {
                blocks.for_each(|(nth, block)| block.settle_one_of(change.shown(*nth), now))
            }
            // Nobody else changes a block at the same time: its last candidates are of this change.
            Answer::Refused => {
                blocks.for_each(|(_, block)| block.maybe.truncate(block.maybe.len() - versions))
            }
            // All that were written at once are late.
            Answer::Late => blocks.for_each(|(_, block)| {
                block.touched_at = now;
                block.maybe.iter_mut().rev().take(versions).for_each(|maybe| maybe.late = true);
            }),
            Answer::Failed => blocks.for_each(|(_, block)| block.touched_at = now),
        }
        if change.atomic && matches!(answer, Answer::Late | Answer::Failed) {
            self.failed.push(change);
        } else if answer == Answer::Done && self.reads_on_their_way > 0 {
            self.done_meanwhile.push(change);
        }
    }

    /// The pool was stopped, or the power was cut: what has not come by now comes at the next start
    /// or never.
    pub fn stop(&mut self) {
        let in_flight =
            std::mem::take(&mut self.in_flight).into_values().filter(|change| change.atomic);
        self.undecided.extend(in_flight.chain(self.failed.drain(..)));
        self.reads_on_their_way = 0;
        self.done_meanwhile.clear();
        self.blocks
            .values_mut()
            .flat_map(|block| &mut block.maybe)
            .for_each(|maybe| maybe.late = false);
    }

    fn is_busy(&self, blocks: &Range<u64>) -> bool {
        self.in_flight.values().any(|change| change.overlaps(blocks))
    }

    // --- the size --------------------------------------------------------------------------------

    /// Blocks that hosts may use, however a change of the size ends.
    pub fn usable_blocks(&self) -> u64 {
        self.other_size.map_or(self.size_blocks, |other| other.min(self.size_blocks))
    }

    /// A change of the size begins. `None` if one is on its way, or blocks behind the new end are
    /// being changed.
    pub fn begin_resize(&mut self, blocks: u64) -> Option<Ticket> {
        if self.other_size.is_some() {
            return None;
        }
        let ticket = self.begin(blocks..u64::MAX, 0, false)?;
        self.other_size = Some(blocks);
        Some(ticket)
    }

    /// The volume has been seen with this size. What lies behind the end of one that was made
    /// smaller is gone.
    pub fn see_size(&mut self, blocks: u64) -> Result<(), String> {
        if blocks != self.size_blocks && Some(blocks) != self.other_size {
            let (size, other) = (self.size_blocks, self.other_size);
            return Err(format!(
                "the volume has {blocks} blocks, and may have {size} or {other:?}"
            ));
        }
        if blocks < self.size_blocks {
            let now = self.now.pass();
            self.blocks.range_mut(blocks..).for_each(|(_, block)| block.settle(0, now));
        }
        (self.size_blocks, self.other_size) = (blocks, None);
        Ok(())
    }

    /// The blocks of one of the atomic writes that are on their way: the `nth`, if there are so
    /// many.
    pub fn being_written(&self, nth: u64) -> Option<Range<u64>> {
        let atomic = self.in_flight.values().filter(|change| change.atomic);
        atomic.map(|change| change.blocks.clone()).nth(nth as usize)
    }

    // --- reads -----------------------------------------------------------------------------------

    /// A read of blocks begins.
    pub fn begin_read(&mut self, blocks: Range<u64>) -> Read {
        self.reads_on_their_way += 1;
        let before = blocks.clone().map(|block| self.versions(block)).collect();
        Read { blocks, before, begun_at: self.now, done: self.done_meanwhile.len() }
    }

    /// A read has ended with these versions. An error if a block never held what was read while the
    /// read went on: other changes of it may have come and gone meanwhile.
    pub fn end_read(&mut self, read: Read, versions: &[Version]) -> Result<(), String> {
        self.check_whole(&read, versions)?;
        for ((block, before), version) in read.blocks.zip(&read.before).zip(versions) {
            let changes = self.done_meanwhile[read.done..].iter();
            let came: Vec<Version> = changes
                .filter(|change| change.blocks.contains(&block))
                .flat_map(|change| change.shown(block))
                .collect();
            let held = before.contains(version) || came.contains(version);
            // Of a block that another read settled meanwhile, or a change, nobody knows when it was
            // read: zeros may be those from before.
            let is_now =
                self.blocks.get(&block).is_none_or(|block| block.touched_at <= read.begun_at);
            if !self.read(block, *version, is_now) && !held {
                return Err(format!(
                    "block {block} reads as version {version}, and may be {before:?}"
                ));
            }
        }
        self.reads_on_their_way -= 1;
        if self.reads_on_their_way == 0 {
            self.done_meanwhile.clear();
        }
        Ok(())
    }

    /// A read sees all of an atomic write that went on meanwhile, or nothing of it.
    fn check_whole(&self, read: &Read, versions: &[Version]) -> Result<(), String> {
        let done = self.done_meanwhile[read.done..].iter();
        let writes = done.chain(self.in_flight.values()).filter(|change| change.atomic);
        for write in writes.filter(|write| write.overlaps(&read.blocks)) {
            let seen =
                || read.blocks.clone().zip(versions).filter(|(block, _)| write.tells(*block));
            let came = seen().any(|(_, version)| *version >= write.version);
            if came && let Some((block, _)) = seen().find(|seen| self.is_older(*seen, write, read))
            {
                let (blocks, version) = (&write.blocks, write.version);
                return Err(format!(
                    "of version {version} of {blocks:?} a part is read, and not block {block}"
                ));
            }
        }
        Ok(())
    }

    /// Whether what was read is surely from before `write`: versions of a block ascend, but for
    /// zeros.
    fn is_older(&self, (block, version): (u64, &Version), write: &Change, read: &Read) -> bool {
        let zeroes = |change: &Change| {
            change.blocks.contains(&block) && change.shown(block).any(|shown| shown == 0)
        };
        let may_be_zeroed = || {
            self.versions(block)[..].split_last().is_some_and(|(_, maybe)| maybe.contains(&0))
                || self.done_meanwhile[read.done..].iter().any(zeroes)
        };
        *version < write.version && (*version != 0 || !may_be_zeroed())
    }

    fn versions(&self, block: u64) -> Vec<Version> {
        let Some(block) = self.blocks.get(&block) else { return vec![0] };
        block.maybe.iter().map(|maybe| maybe.version).chain([block.settled]).collect()
    }

    /// A block was read; `is_now`: what was read is what it holds now. False if it may not hold
    /// that now.
    fn read(&mut self, block: u64, version: Version, is_now: bool) -> bool {
        let busy = self.is_busy(&(block..block + 1));
        let now = self.now.pass();
        let Some(block) = self.blocks.get_mut(&block) else { return version == 0 };
        let allowed = block.allows(version);
        if allowed && is_now && !busy {
            block.decide(version, now);
        }
        allowed
    }

    /// After a start every block has been read: atomic writes must be there whole or not at all.
    pub fn check_atomic(&mut self) -> Result<(), String> {
        for write in std::mem::take(&mut self.undecided) {
            let told =
                || self.blocks.range(write.blocks.clone()).filter(|(nth, _)| write.tells(**nth));
            let there = told().filter(|(_, block)| block.settled == write.version).count();
            let blocks = told().count();
            if there != 0 && there != blocks {
                return Err(format!(
                    "a write of {:?} is there with {there} of its blocks",
                    write.blocks
                ));
            }
        }
        Ok(())
    }

    /// Blocks before the end that something was ever written to, as runs of at most `run_max`
    /// neighbours.
    pub fn known_runs(&self, run_max: u64) -> Vec<Range<u64>> {
        let mut runs: Vec<Range<u64>> = Vec::new();
        for block in self.blocks.range(..self.size_blocks).map(|(block, _)| *block) {
            match runs.last_mut() {
                Some(run) if run.end == block && run.end - run.start < run_max => run.end += 1,
                _ => runs.push(block..block + 1),
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests;
