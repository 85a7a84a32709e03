//! The drives of a pool: which are bad at a start, and which may be so at the next.
//!
//! A pool of a level with parity `p` survives `p` bad drives, and not one more. A drive that
//! corrupts data silently stays bad for good, for nobody knows what is wrong on it. One that fails
//! openly is bad only until the pool has been opened with it again and has kept it: from then on it
//! has all that it should, and another may fail instead. One that the pool has given up counts
//! until the pool has restored all that lived on it, and has released it: then another may fail, as
//! long as enough are left.
//!
//! The pool names drives by numbers; here they are known by their platters. A drive that comes back
//! has another number, and its old one is lost until what it missed has been restored. From the
//! moment in which its return begins a root may name it: it must be there until the pool says
//! whether it is a member.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use ashlar_block::{DriveId, SECTOR_BYTES, XorShift};

use crate::drive::SimDrive;
use crate::fault::{ByFault, Fault};
use crate::plan::{GROWTH_CHUNKS_MAX, Plan};
use crate::platter::{CorruptionCounts, SharedPlatter};
use crate::world::SimWorld;

/// What a drive is to the pool when a start ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    /// It is used.
    Online,
    /// Segments count on it, and it is not there.
    Lost,
    /// Nothing counts on it any more.
    Released,
}

/// Which platter a number of the pool means.
pub type Numbers = Rc<RefCell<BTreeMap<u16, usize>>>;

/// What drives hold, as those see it who know what they should hold.
pub struct Watched {
    platters: Vec<SharedPlatter>,
    numbers: Numbers,
}

impl Watched {
    /// How many sectors of these places, by the pool's numbers of drives, are corrupt.
    pub fn corrupt_within(&self, places: &[(DriveId, Range<u64>)]) -> u64 {
        let numbers = self.numbers.borrow();
        let platter = |drive: &DriveId| self.platters[numbers[&drive.0]].0.borrow();
        places.iter().map(|(drive, bytes)| platter(drive).corrupt_within(bytes)).sum()
    }
}

/// The drives, and what is known to be wrong with them.
pub struct Drives {
    /// The members', and behind them those of drives that may be added.
    platters: Vec<SharedPlatter>,
    /// How many the pool was made of.
    first: usize,
    /// The platters that are or were members.
    members: BTreeSet<usize>,
    numbers: Numbers,
    bad_max: usize,
    /// Bad drives may hang, too.
    hangs: bool,
    /// Drives that corrupt data without saying so.
    corrupting: BTreeSet<usize>,
    /// Bad drives that the pool has not kept through a start since.
    suspects: BTreeSet<usize>,
    /// Those of them that are back, where more than the level survives are suspects: one more was
    /// away for a while, and the pool could do without it. They do nothing wrong.
    back: BTreeSet<usize>,
    /// Drives that the pool needs no more, members or not.
    released: BTreeSet<usize>,
    /// Drives that the pool began to take when its last start was cut: it may need them, or not
    /// know them.
    coming: BTreeSet<usize>,
    parity: usize,
    /// At this start. Holds the corrupting drives and the suspects.
    bad: BTreeSet<usize>,
    /// Those that are not even there.
    away: BTreeSet<usize>,
    /// The last start has healed a drive.
    healed: bool,
    /// What any drive may do.
    usual: ByFault,
}

impl Drives {
    /// Some of them become larger, by a part of a chunk or by some.
    pub fn grow(&self, rng: &mut XorShift, plan: &Plan) {
        for (platter, made_bytes) in self.platters.iter().zip(&plan.drive_bytes) {
            let bytes_max = made_bytes + GROWTH_CHUNKS_MAX * u64::from(plan.chunk_bytes);
            let left = (bytes_max - platter.0.borrow().size_bytes) / SECTOR_BYTES as u64;
            if left > 0 && rng.below(2) == 0 {
                platter.grow((1 + rng.below(left)) * SECTOR_BYTES as u64);
            }
        }
    }

    pub fn new(plan: &Plan) -> Self {
        let usual = ByFault::default()
            .with(Fault::Stall, plan.stall_once_in)
            .with(Fault::StallMoment, plan.stall_moment)
            .with(Fault::NoSpace, if plan.sparse { 3000 } else { 0 });
        Drives {
            platters: plan.drive_bytes.iter().map(|bytes| SharedPlatter::new(*bytes)).collect(),
            first: plan.drives,
            members: (0..plan.drives).collect(),
            numbers: Rc::new(RefCell::new(
                (0..plan.drives).map(|drive| (drive as u16, drive)).collect(),
            )),
            bad_max: if plan.failing { plan.level.parity() } else { 0 },
            hangs: plan.hangs,
            corrupting: plan.corrupting.iter().copied().collect(),
            suspects: BTreeSet::new(),
            back: BTreeSet::new(),
            released: BTreeSet::new(),
            coming: BTreeSet::new(),
            parity: plan.level.parity(),
            bad: BTreeSet::new(),
            away: BTreeSet::new(),
            healed: false,
            usual,
        }
    }

    /// How often they misbehaved so far.
    pub fn met(&self) -> ByFault {
        let mut met = ByFault::default();
        self.platters.iter().for_each(|platter| met += platter.0.borrow().met);
        met
    }

    /// What became of all that they have corrupted.
    pub fn corruption(&self) -> CorruptionCounts {
        let mut counts = CorruptionCounts::default();
        self.platters.iter().for_each(|platter| counts += platter.0.borrow().corruption_counts());
        counts
    }

    pub fn watched(&self) -> Watched {
        Watched { platters: self.platters.clone(), numbers: self.numbers() }
    }

    /// Those that the pool is made of.
    pub fn all(&self, world: &SimWorld) -> Vec<SimDrive> {
        self.platters[..self.first].iter().map(|platter| SimDrive::new(world, platter)).collect()
    }

    /// One that may be added, by its platter.
    pub fn spare(&self, world: &SimWorld) -> Option<(usize, SimDrive)> {
        let spare = (0..self.platters.len()).find(|platter| !self.members.contains(platter))?;
        Some((spare, SimDrive::new(world, &self.platters[spare])))
    }

    /// What the pool's numbers mean.
    pub fn numbers(&self) -> Numbers {
        self.numbers.clone()
    }

    /// Those that are there at this start, by their platters.
    pub fn present(&self, world: &SimWorld) -> BTreeMap<usize, SimDrive> {
        let there = (0..self.platters.len()).filter(|drive| !self.away.contains(drive));
        there.map(|drive| (drive, SimDrive::new(world, &self.platters[drive]))).collect()
    }

    /// Those that are there at this start and have a superblock, as nobody uses them.
    pub fn labelled(&self) -> Vec<(usize, SharedPlatter)> {
        let there = (0..self.platters.len()).filter(|drive| !self.away.contains(drive));
        let labelled = there.filter(|drive| self.platters[*drive].has_superblock());
        labelled.map(|drive| (drive, self.platters[drive].clone())).collect()
    }

    /// Platters that may lack something, or hold what is wrong.
    pub fn doubted(&self) -> BTreeSet<usize> {
        let sets =
            [&self.corrupting, &self.suspects, &self.bad, &self.away, &self.released, &self.coming];
        sets.into_iter().flatten().copied().collect()
    }

    /// The platter that the pool calls so.
    pub fn platter_of(&self, drive: DriveId) -> Option<usize> {
        self.numbers.borrow().get(&drive.0).copied()
    }

    /// Platters of which a part is lost to the pool.
    pub fn lost(&self, held: &BTreeMap<u16, Held>) -> BTreeSet<usize> {
        self.held_as(held, Held::Lost)
    }

    /// How many platters are there whose drives are no members any more.
    pub fn removed(&self, held: &BTreeMap<u16, Held>) -> u64 {
        let numbers = self.numbers.borrow();
        let named: BTreeSet<usize> = held.keys().map(|number| numbers[number]).collect();
        (&self.members - &named).len() as u64
    }

    fn held_as(&self, held: &BTreeMap<u16, Held>, wanted: Held) -> BTreeSet<usize> {
        let numbers = self.numbers.borrow();
        held.iter()
            .filter(|(_, held)| **held == wanted)
            .map(|(number, _)| numbers[number])
            .collect()
    }

    /// Platters for which numbers were expected that the pool does not name.
    fn beyond(&self, held: &BTreeMap<u16, Held>) -> BTreeSet<usize> {
        let named_last = held.keys().last().copied().unwrap_or_default();
        self.numbers.borrow().range(named_last + 1..).map(|(_, platter)| *platter).collect()
    }

    /// Drives that the pool must not lose at this start.
    pub fn must_stay(&self) -> Vec<usize> {
        self.needed().filter(|drive| !self.bad.contains(drive)).collect()
    }

    fn needed(&self) -> impl Iterator<Item = usize> {
        self.members.iter().copied().filter(|drive| !self.released.contains(drive))
    }

    /// One more may become bad: enough are left for hosts to write.
    fn may_spare_one(&self) -> bool {
        let good = self.needed().filter(|drive| !self.bad.contains(drive)).count();
        self.bad.len() < self.bad_max && (self.released.is_empty() || good > self.parity + 2)
    }

    fn make_one_bad(&mut self, rng: &mut XorShift) {
        let needed: Vec<usize> = self.needed().collect();
        self.bad.insert(needed[rng.below(needed.len() as u64) as usize]);
    }

    pub fn cut_power(&self, world: &SimWorld) {
        self.platters.iter().for_each(|platter| platter.cut_power(world));
    }

    /// The process ends: what it has given to the drives is done.
    pub fn finish_writes(&self) {
        self.platters.iter().for_each(SharedPlatter::finish_writes);
    }

    /// Nothing goes wrong from now on but what has gone wrong already.
    pub fn heal(&self) {
        self.platters.iter().for_each(SharedPlatter::heal);
    }

    /// Before a start: who is bad, who is away.
    pub fn choose_bad(&mut self, rng: &mut XorShift) {
        self.heal();
        self.bad = self.corrupting.union(&self.suspects).copied().collect();
        while self.may_spare_one() && (self.healed || rng.below(2) == 0) {
            self.make_one_bad(rng);
        }
        // What a healed drive lacks, if it does, is missed when another is away.
        let away_once_in = if self.healed { 2 } else { 8 };
        let may_be_away = &self.bad - &self.back;
        self.away = may_be_away.into_iter().filter(|_| rng.below(away_once_in) == 0).collect();
        self.away.extend(self.released.difference(&self.coming).filter(|_| rng.below(2) == 0));
        for (drive, platter) in self.platters.iter().enumerate() {
            let bad = self.bad.contains(&drive) && !self.back.contains(&drive) && rng.below(3) > 0;
            let faults = if bad { failing(rng, self.usual) } else { self.usual };
            let faults =
                if bad && self.hangs { faults.with(Fault::Hang, rare(rng, 1500)) } else { faults };
            let corrupts = self.corrupting.contains(&drive);
            platter.0.borrow_mut().faults = if corrupts { corrupting(rng, faults) } else { faults };
        }
    }

    /// One more drive is away than the level survives, if as many are suspects already; all others
    /// are well. A pool that opens so has not relied on what the suspects lack. False if there is
    /// nothing to be seen of that.
    pub fn overdraw(&mut self, rng: &mut XorShift) -> bool {
        // One that knows the newest root has to be left.
        let knowing = self.needed().count().saturating_sub(self.suspects.len() + 1);
        let may_be = self.suspects.len() >= self.bad_max.max(1) && self.back.is_empty();
        if knowing == 0 || !may_be || !self.corrupting.is_empty() {
            return false;
        }
        self.heal();
        let good: Vec<usize> =
            self.needed().filter(|drive| !self.suspects.contains(drive)).collect();
        let away = good[rng.below(good.len() as u64) as usize];
        self.away = BTreeSet::from([away]);
        self.bad = &self.suspects | &self.away;
        true
    }

    /// The pool was not opened: nothing has changed.
    pub fn undo_overdraw(&mut self) {
        self.bad.clone_from(&self.suspects);
    }

    /// A start with all drives there, and nothing that goes wrong any more.
    pub fn let_all_in(&mut self) {
        self.heal();
        self.bad = self.corrupting.union(&self.suspects).copied().collect();
        self.away.clear();
    }

    /// Whatever drives have corrupted has been repaired.
    pub fn believe_all(&mut self) {
        self.corrupting.clear();
    }

    /// The last starts: as many drives as the level survives are away, or have corrupted data; the
    /// bad ones first.
    pub fn choose_away(&mut self, rng: &mut XorShift) {
        self.heal();
        self.bad = self.corrupting.union(&self.suspects).copied().collect();
        while self.may_spare_one() {
            self.make_one_bad(rng);
        }
        // Others are reconstructed from a corrupting drive, too, if it is there.
        self.away = if rng.below(2) == 0 {
            &self.bad - &self.back
        } else {
            &(&self.bad - &self.back) - &self.corrupting
        };
    }

    /// After a start that ended with drives in these conditions (`None`: it did not come to that).
    /// Returns how many healed.
    pub fn settle(&mut self, held: Option<&BTreeMap<u16, Held>>) -> u64 {
        let Some(held) = held else {
            self.suspects.clone_from(&self.bad);
            return 0;
        };
        let (lost, online) = (self.lost(held), self.held_as(held, Held::Online));
        self.members.extend(&self.held_as(held, Held::Released) | &(&lost | &online));
        self.released = &self.members - &(&lost | &online);
        self.coming = self.beyond(held);
        let before = std::mem::take(&mut self.suspects);
        self.suspects = &lost & &self.bad;
        // No segment has lost columns on all of them, or the pool would have stopped. It needs
        // those that are back.
        let too_many = self.suspects.len() > self.bad_max;
        self.back = if too_many { &self.suspects & &online } else { BTreeSet::new() };
        self.bad = &self.bad - &self.released;
        let healed = before.difference(&(&self.suspects | &self.released)).count() as u64;
        self.healed = healed > 0;
        healed
    }
}

fn rare(rng: &mut XorShift, times: u64) -> u64 {
    if rng.below(3) == 0 { 1 + rng.below(times) } else { 0 }
}

/// Open failures.
fn failing(rng: &mut XorShift, faults: ByFault) -> ByFault {
    faults
        .with(Fault::ReadError, rare(rng, 200))
        .with(Fault::BadSectors, rare(rng, 200))
        .with(Fault::WriteError, rare(rng, 3000))
        .with(Fault::FlushError, rare(rng, 60))
        .with(Fault::Glitch, rare(rng, 3000))
        .with(Fault::Vanish, rare(rng, 3000))
}

/// Failures that the drive does not tell of.
fn corrupting(rng: &mut XorShift, faults: ByFault) -> ByFault {
    let lost_moment = if rng.below(2) == 0 { 16 << rng.below(5) } else { 0 };
    faults
        .with(Fault::LostMoment, lost_moment)
        .with(Fault::LostWrite, rare(rng, 400))
        .with(Fault::MisdirectedWrite, rare(rng, 800))
        .with(Fault::Rot, rare(rng, 400))
}
