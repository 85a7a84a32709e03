//! One seed: a pool is made, started and stopped again and again, mostly by cutting the power, and
//! looked at.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{Clock, Nanos, XorShift};
use ashlar_store::{DriveCondition, DriveStatus, OpenError, PoolStatus, create};

use crate::coverage::Coverage;
use crate::drives::{Drives, Held};
use crate::hosts::Run;
use crate::known::Known;
use crate::membership::Members;
use crate::model::Model;
use crate::outcome::Outcome;
use crate::plan::{Kind, Plan};
use crate::proof::prove;
use crate::start;
use crate::world::{Ended, SimWorld, WallClock};

mod scrub;

/// Drive operations of the making of a pool, or a few more.
const CREATION_OPERATIONS: u64 = 80;
/// What hosts do before a start is closed in order, and after everything else.
const CLEAN_ACTIONS: u64 = 200;
/// Drive operations of hosts that fill a pool and keep it nearly full, more or less.
const FULL_OPERATIONS: u64 = 100_000;
/// In one seed of so many, the first of each, machines could share the drives: the pool sends
/// heartbeats to them.
const HEARTBEATS_PERIOD: u64 = 3;
/// In one seed of so many, the last of each, hosts keep an order. In the others nothing is drawn
/// for that: seeds that are named elsewhere do what is said there.
const ORDER_PERIOD: u64 = 4;
/// Longer than anything takes between a start and its end. Heartbeats go on for ever, so that a
/// deadlock shows by nothing else.
const START_MAX: Duration = Duration::from_secs(24 * 3600);
/// In one seed of so many, the last of each, the clock on the wall jumps.
const WALL_CLOCK_PERIOD: u64 = 16;
/// In one seed of so many, the second of each, the offline checker looks at the drives after each
/// start; in the others after the last one. After each of all seeds it would take a third of the
/// simulation's time more.
const PROOF_PERIOD: u64 = 3;

/// Everything that outlives a power cut.
struct Scenario {
    plan: Rc<Plan>,
    drives: Drives,
    /// How often hosts were given the pool.
    starts: u64,
    known: Rc<Known>,
    rng: XorShift,
    now: Nanos,
    wall: WallClock,
    /// The offline checker looks at the drives after each start.
    proves_each: bool,
    /// The pool was closed in order when it was last open.
    is_closed: bool,
}

/// Runs one seed with the plan that it gives in this way. An error is a bug, of the store or of the
/// simulation.
pub fn run(seed: u64, plan: impl FnOnce(&mut XorShift) -> Plan) -> Result<Outcome, String> {
    run_covering(seed, plan).map(|(outcome, _)| outcome)
}

/// The same, with what its writes have met.
pub fn run_covering(
    seed: u64,
    plan: impl FnOnce(&mut XorShift) -> Plan,
) -> Result<(Outcome, Coverage), String> {
    let mut rng = XorShift::new(seed);
    let heartbeats = seed.is_multiple_of(HEARTBEATS_PERIOD);
    let in_order = seed % ORDER_PERIOD == ORDER_PERIOD - 1;
    let plan = Plan { heartbeats, in_order, ..plan(&mut rng) };
    tracing::debug!(?plan, "seed {seed}");
    let mut scenario = Scenario {
        drives: Drives::new(&plan),
        plan: Rc::new(plan),
        starts: 0,
        known: Rc::default(),
        rng,
        now: Nanos(0),
        wall: wall_clock_of(seed),
        proves_each: seed % PROOF_PERIOD == 1,
        is_closed: false,
    };
    let outcome = scenario.whole().map_err(|error| format!("seed {seed}: {error}"))?;
    Ok((outcome, scenario.known.coverage.take()))
}

fn wall_clock_of(seed: u64) -> WallClock {
    if seed % WALL_CLOCK_PERIOD == WALL_CLOCK_PERIOD - 1 {
        WallClock::Jumps
    } else {
        WallClock::Right
    }
}

impl Scenario {
    fn whole(&mut self) -> Result<Outcome, String> {
        self.create()?;
        for start in 0..self.plan.starts {
            self.drives.choose_bad(&mut self.rng);
            if self.plan.grows && self.rng.below(2) == 0 {
                self.drives.grow(&mut self.rng, &self.plan);
            }
            let (actions, operations) = self.choose_end();
            let ended = self.start(actions, operations)?;
            tracing::debug!("start {start}: {ended:?}");
            if ended == Ended::Cut {
                self.overdraw()?;
            }
        }
        if self.rng.below(2) == 0 {
            self.scrub()?;
        }
        // Everything is read without the drives that may be missing; once more after a clean stop.
        let again = if self.plan.kind == Kind::Full { 0 } else { CLEAN_ACTIONS / 4 };
        self.drives.choose_away(&mut self.rng);
        for actions in [0, again] {
            self.start_with(actions, u64::MAX, Run::spared)?;
        }
        prove(&self.drives, self.is_closed)?;
        let (met, corruption) = (self.drives.met(), self.drives.corruption());
        self.known.count(|outcome| {
            outcome.faults = met;
            outcome.corruption = corruption;
            outcome.corrupt_unsought = if outcome.scrubbed == 0 { corruption.left() } else { 0 };
        });
        Ok(self.known.outcome.get())
    }

    fn world(&mut self) -> SimWorld {
        SimWorld::new(self.rng.next_u64(), self.now, self.wall)
    }

    /// What hosts do at most, and after how many drive operations the power is cut.
    fn choose_end(&mut self) -> (u64, u64) {
        match self.rng.below(12) {
            0..=5 if self.plan.kind == Kind::Full => (CLEAN_ACTIONS, u64::MAX),
            _ if self.plan.kind == Kind::Full => (CLEAN_ACTIONS, self.rng.below(FULL_OPERATIONS)),
            0 => (CLEAN_ACTIONS, u64::MAX),
            // Nothing is written: what was decided at the start before must stay.
            1 => (0, self.rng.below(2000)),
            2..=5 => (u64::MAX, self.rng.below(300)),
            6..=9 => (u64::MAX, self.rng.below(2500)),
            _ => (u64::MAX, self.rng.below(9000)),
        }
    }

    /// Runs `main` until it is done, or until drives have done that many operations.
    fn run(
        &mut self,
        world: &SimWorld,
        main: impl Future<Output = ()> + 'static,
        operations: u64,
    ) -> Result<Ended, String> {
        world.cut_after(operations);
        let (known, clock) = (self.known.clone(), world.clone());
        let end = Nanos(self.now.0 + START_MAX.as_nanos() as u64);
        let ended = world.run(main, move || known.has_failed() || clock.now() > end);
        self.now = world.now();
        if self.now > end {
            return Err("something is waited for that never comes".to_owned());
        }
        match ended {
            Ended::Cut => self.drives.cut_power(world),
            Ended::Done => self.drives.finish_writes(),
        }
        self.known.models.borrow_mut().values_mut().for_each(Model::stop);
        Ok(ended)
    }

    // --- making the pool -------------------------------------------------------------------------

    /// Makes the pool. A cut may come at any time: then there is a whole pool, or none, and it is
    /// made anew.
    fn create(&mut self) -> Result<(), String> {
        loop {
            let operations =
                if self.rng.below(2) == 0 { self.rng.below(CREATION_OPERATIONS) } else { u64::MAX };
            let ended = self.create_once(operations)?;
            self.known.count(|outcome| outcome.creation_cuts += u64::from(ended == Ended::Cut));
            if self.plan.grows && self.rng.below(2) == 0 {
                self.drives.grow(&mut self.rng, &self.plan);
            }
            if self.is_whole()? {
                return Ok(());
            }
            if ended == Ended::Done {
                return Err("a pool was made and is none".to_owned());
            }
        }
    }

    fn create_once(&mut self, operations: u64) -> Result<Ended, String> {
        let world = self.world();
        let (drives, own) = (self.drives.all(&world), world.clone());
        let (plan, known) = (self.plan.clone(), self.known.clone());
        let main = async move {
            if let Err(error) = create(&own, &plan.new_pool(), drives).await {
                known.fail(format!("create: {error}"));
            }
        };
        let ended = self.run(&world, main, operations)?;
        world.stop();
        self.known.failure().map(|()| ended)
    }

    /// Whether the drives are a pool. One that is must have all of them.
    fn is_whole(&mut self) -> Result<bool, String> {
        let world = self.world();
        let (drives, own) = (self.drives.all(&world), world.clone());
        let (plan, known) = (self.plan.clone(), self.known.clone());
        let whole = Rc::new(Cell::new(false));
        let answer = whole.clone();
        let main = async move {
            match start::open(&own, drives, &plan).await {
                Ok((pool, opened)) if opened.missing.is_empty() && pool.volumes().is_empty() => {
                    whole.set(true);
                    pool.close()
                        .await
                        .unwrap_or_else(|error| known.fail(format!("close: {error}")));
                }
                Ok((_, opened)) => {
                    known.fail(format!("a pool cut in creation opens with {opened:?}"))
                }
                Err(
                    OpenError::NotOnePool(_)
                    | OpenError::NoRoot
                    | OpenError::TooManyMissing { .. }
                    | OpenError::Unfinished { .. },
                ) => {}
                Err(error) => known.fail(format!("a pool cut in creation: {error}")),
            }
        };
        self.run(&world, main, u64::MAX)?;
        world.stop();
        self.known.failure().map(|()| answer.get())
    }

    // --- using it --------------------------------------------------------------------------------

    /// A start, hosts at work, and the end of it: a power cut anywhere, or a clean stop.
    fn start(&mut self, actions: u64, operations: u64) -> Result<Ended, String> {
        self.start_with(actions, operations, |run| run)
    }

    fn start_with(
        &mut self,
        actions: u64,
        operations: u64,
        otherwise: impl FnOnce(Run) -> Run,
    ) -> Result<Ended, String> {
        let world = self.world();
        let (numbers, spare) = (self.drives.numbers(), self.drives.spare(&world));
        let members = Members::new(numbers, spare, self.drives.present(&world));
        let run = Run::new(&world, &self.plan, &self.known, actions).with_members(members);
        let run = run.for_start(self.starts);
        self.starts += 1;
        let run = Rc::new(otherwise(run));
        let main = run.clone().whole(self.drives.present(&world).into_values().collect());
        let ended = self.run(&world, main, operations)?;
        run.check_patience();
        let held = self.look_at(&run, ended);
        world.stop();
        let healed = self.drives.settle(held.as_ref());
        self.known.count(|outcome| outcome.drives_healed += healed);
        self.known.failure()?;
        self.is_closed = ended == Ended::Done && run.is_closed.get();
        if self.proves_each {
            prove(&self.drives, self.is_closed)?;
        }
        Ok(ended)
    }

    /// A start without one drive more than the level survives, in which nothing is written. The
    /// pool refuses it, or all that was acknowledged is there.
    fn overdraw(&mut self) -> Result<(), String> {
        if !self.drives.overdraw(&mut self.rng) {
            return Ok(());
        }
        let world = self.world();
        let run = Rc::new(Run::new(&world, &self.plan, &self.known, 0).overdrawn());
        let main = run.clone().whole(self.drives.present(&world).into_values().collect());
        self.run(&world, main, u64::MAX)?;
        match run.take_pool() {
            Some(pool) => {
                self.drives.settle(Some(&held(&pool.status())));
                self.known.count(|outcome| outcome.overdrawn_opens += 1);
            }
            None => {
                self.drives.undo_overdraw();
                self.known.count(|outcome| outcome.overdrawn_refusals += 1);
            }
        }
        world.stop();
        self.known.failure().map_err(|error| format!("without one drive too many: {error}"))
    }

    /// Counts what a start came to; says what the drives were to the pool at its end.
    fn look_at(&self, run: &Run, ended: Ended) -> Option<BTreeMap<u16, Held>> {
        let pool = run.take_pool();
        self.known.count(|outcome| match (ended, &pool) {
            (Ended::Cut, Some(_)) => outcome.work_cuts += 1,
            (Ended::Cut, None) => outcome.recovery_cuts += 1,
            (Ended::Done, Some(_)) => outcome.clean_stops += 1,
            (Ended::Done, None) => outcome.given_up_opens += 1,
        });
        let status = pool?.status();
        let held = held(&status);
        let lost = self.drives.lost(&held);
        if let Some(lost) = self.drives.must_stay().into_iter().find(|drive| lost.contains(drive)) {
            self.known.fail(format!("drive {lost} is good and was given up: {:?}", status.drives));
        }
        if let Some(why) = status.halted.filter(|_| !run.is_closing()) {
            self.known.fail(format!("the pool halted: {why}"));
        }
        self.known.count(|outcome| {
            if ended == Ended::Cut {
                outcome.cuts_of_full += u64::from(self.plan.kind == Kind::Full);
                outcome.note_cut(status.activity);
            }
            outcome.collected += status.counters.jobs.segments_collected;
            outcome.recompressed += status.counters.jobs.fragments_recompressed;
            outcome.dictionaries += status.counters.jobs.dictionaries_made;
            outcome.sweeps += status.counters.jobs.sweeps;
            outcome.corrupt_reads_corrected += status.counters.reads.corrupt_reads_corrected;
            outcome.sectors_repaired += status.counters.repairs.sectors_repaired;
            outcome.drives_lost += lost.len() as u64;
            outcome.note_failures(&status.drives);
            outcome.columns_restored += status.counters.jobs.columns_restored;
            outcome.columns_moved += status.counters.jobs.columns_moved;
            outcome.drives_removed += self.drives.removed(&held);
        });
        Some(held)
    }
}

/// What the drives are to the pool.
fn held(status: &PoolStatus) -> BTreeMap<u16, Held> {
    let condition = |drive: &DriveStatus| match drive.condition {
        DriveCondition::Online | DriveCondition::Leaving => Held::Online,
        DriveCondition::Failed(_) | DriveCondition::Absent | DriveCondition::Returned(_) => {
            Held::Lost
        }
        DriveCondition::Released => Held::Released,
    };
    status.drives.iter().map(|drive| (drive.drive.0, condition(drive))).collect()
}
