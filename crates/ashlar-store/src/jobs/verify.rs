//! Verify proves the ledger: it walks over all that the maps name, counts it anew, and compares.
//!
//! Hosts go on meanwhile. The walk goes from group to group, shard by shard; what it has come by is
//! counted on with every change (`space/ledger/proof.rs`), so that at its end both counts are of
//! the same moment. Then segment after segment is compared, with the pages of the map that memory
//! lists (indexes, deltas, catalog, segment table), and the sums at last.
//!
//! It is a step of upkeep, which alone changes what pages the maps have: no page is on its way
//! while a step looks. It takes a quarter of the time at most.

mod compare;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

use ashlar_block::{IoError, Nanos, World};
use ashlar_format::catalog::Usage;
use ashlar_format::ids::{GIB_BLOCKS, GroupKey, Key, Layer, SHARD_COUNT, ShardId};
use ashlar_format::page::{PageEntry, Run};

use crate::base::limits::PAGES_READ_AT_A_TIME;
use crate::jobs::share::TimeShare;
use crate::lookup::map_unreadable;
use crate::map::index::{LOWEST, Place};
use crate::map::shard::Shard;
use crate::pool::Pool;
use crate::space::ledger::{Found, NamedAt};
pub use compare::Compared;
use compare::Comparing;

/// Groups that one step looks at, at most.
const STEP_GROUPS_MAX: usize = 16;

/// When a step ends, whatever it has looked at.
const STEP: Duration = Duration::from_millis(5);

/// Part of the time that steps have, in thousandths.
const SHARE: u16 = 250;

/// How a proof of the ledger stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VerifyState {
    /// It goes on.
    Running,
    /// Every figure is what is there.
    Proven,
    /// Some are not: see [`VerifyReport::wrong`].
    Wrong,
    /// Somebody has stopped it: nothing was compared.
    Stopped,
    /// It could not be done, and why.
    Failed(String),
}

/// What a proof of the ledger has come to.
#[derive(Clone, PartialEq, Debug)]
pub struct VerifyReport {
    /// How it stands.
    pub state: VerifyState,
    /// Unix seconds.
    pub started_at: u64,
    /// Unix seconds; none while it goes on.
    pub finished_at: Option<u64>,
    /// Part that is done, 0 to 1.
    pub part_done: f64,
    /// How long it takes from now on, if it goes on as it has since it began. None: that is not
    /// known, or it does not go on.
    pub remaining: Option<Duration>,
    /// What was compared; nothing before the end.
    pub compared: Vec<Compared>,
    /// Volumes of which each figure was compared.
    pub volumes: u64,
    /// What is counted as stored and was overwritten: the next merges of the maps discard it.
    pub overwritten: Usage,
    /// What differs: the first hundred.
    pub wrong: Vec<String>,
}

/// One that goes on.
struct Pass {
    started_at: u64,
    begun: Nanos,
    comparing: Comparing,
}

/// What is known of proofs of the ledger.
#[derive(Default)]
pub(crate) struct Verify {
    pass: RefCell<Option<Pass>>,
    last: RefCell<Option<VerifyReport>>,
    share: TimeShare,
}

/// Where a walk begins.
const FIRST: NamedAt = NamedAt { shard: ShardId(0), group: LOWEST };

/// The first place of the next shard; behind the last shard, one that nothing is behind.
fn next_shard(shard: ShardId) -> NamedAt {
    NamedAt { shard: ShardId(shard.0 + 1), group: LOWEST }
}

fn is_end(at: NamedAt) -> bool {
    usize::from(at.shard.0) >= SHARD_COUNT
}

/// Part of a walk that is done.
fn part_done(at: NamedAt) -> f64 {
    f64::from(at.shard.0) / SHARD_COUNT as f64
}

impl VerifyReport {
    fn begun(started_at: u64) -> Self {
        VerifyReport {
            state: VerifyState::Running,
            started_at,
            finished_at: None,
            part_done: 0.0,
            remaining: None,
            compared: Vec::new(),
            volumes: 0,
            overwritten: Usage::default(),
            wrong: Vec::new(),
        }
    }
}

/// What a group of a shard names: the newest updates of the buffer first, then runs, the newest
/// first.
#[derive(Default)]
struct Naming {
    found: Found,
    known: BTreeSet<(u32, Layer)>,
    cuts: Vec<(Layer, u32, u32)>,
}

impl Naming {
    /// The buffer says something of this block: what runs say is hidden.
    fn hide(&mut self, key: &Key) {
        self.known.insert(((key.lba.0 % GIB_BLOCKS) as u32, key.layer));
    }

    fn entry(&mut self, entry: &PageEntry) {
        let is_cut = self.cuts.iter().any(|(layer, first, end)| {
            *layer == entry.layer && (*first..*end).contains(&entry.block)
        });
        let is_newest = self.known.insert((entry.block, entry.layer)) && !is_cut;
        match entry.value {
            Some(pointer) if is_newest => self.found.block(pointer.location),
            Some(pointer) => self.found.hidden_block(pointer.location),
            None => {}
        }
    }
}

/// What a shard has next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// This group.
    Group(GroupKey),
    /// Nothing before this place.
    Nothing(NamedAt),
}

/// What a shard has from `from` on, whose leaf is held.
fn next_of(shard: &Shard, from: GroupKey) -> Next {
    let leaf = shard.index.leaf_from(from).expect("it is held");
    let behind = shard.index.leaf_behind(leaf);
    let mut of_leaf = shard.index.groups_of(leaf).map(|(group, _)| group);
    let in_index = of_leaf.find(|group| *group >= from);
    let in_buffer = shard.buffer.first_group_between(from, behind);
    match in_index.into_iter().chain(in_buffer).min() {
        Some(group) => Next::Group(group),
        None => Next::Nothing(place_behind(shard.id, behind)),
    }
}

/// The place of that group, or else of the next shard.
fn place_behind(shard: ShardId, group: Option<GroupKey>) -> NamedAt {
    group.map_or_else(|| next_shard(shard), |group| NamedAt { shard, group })
}

/// The runs of a group, whose leaf is held.
fn runs_of(shard: &Shard, group: GroupKey) -> &[Run] {
    match shard.index.place(group) {
        Place::InMemory(runs) => runs,
        Place::Stored(_) => unreachable!("it is held"),
    }
}

impl<W: World> Pool<W> {
    /// Begins to prove the ledger, unless that goes on already.
    ///
    /// # Errors
    /// When the pool takes no writes: upkeep does nothing.
    pub fn start_verify(&self) -> Result<(), IoError> {
        self.halt.check()?;
        let mut pass = self.jobs.verify.pass.borrow_mut();
        if pass.is_none() {
            let (started_at, begun) = (self.world.unix_seconds(), self.world.now());
            *pass = Some(Pass { started_at, begun, comparing: Comparing::default() });
            self.space.ledger.begin_proof(FIRST);
            self.jobs.verify.share.at_once(begun);
            self.requests.notify();
        }
        Ok(())
    }

    /// The one that goes on, or else the last one.
    pub fn verify_report(&self) -> Option<VerifyReport> {
        let pass = self.jobs.verify.pass.borrow();
        let (Some(pass), Some(at)) = (&*pass, self.space.ledger.proof_goes_on_from()) else {
            return self.jobs.verify.last.borrow().clone();
        };
        let (part_done, took) = (part_done(at), self.world.now().since(pass.begun));
        let all = took.as_secs_f64() / part_done;
        let remaining = Duration::try_from_secs_f64(all * (1.0 - part_done)).ok();
        Some(VerifyReport { part_done, remaining, ..VerifyReport::begun(pass.started_at) })
    }

    /// Whether its next step may begin.
    pub fn verify_is_ready(&self) -> bool {
        self.verify_waits().is_some_and(|wait| wait.is_zero())
    }

    /// How long it is until then. None: there is nothing to do.
    pub fn verify_waits(&self) -> Option<Duration> {
        let goes_on = self.jobs.verify.pass.borrow().is_some() && self.halt.why().is_none();
        goes_on.then(|| self.jobs.verify.share.wait(self.world.now()))
    }

    /// Stops the proof that goes on, if one does. A step of it that is on its way changes nothing
    /// any more.
    pub fn stop_verify(&self) {
        let part_done = self.space.ledger.proof_goes_on_from().map_or(0.0, part_done);
        self.space.ledger.end_proof();
        self.end_verify(|report| {
            (report.state, report.part_done) = (VerifyState::Stopped, part_done);
        });
    }

    /// It cannot go on.
    pub fn give_up_verify(&self, why: &str) {
        self.space.ledger.end_proof();
        self.end_verify(|report| report.state = VerifyState::Failed(why.to_owned()));
    }

    fn end_verify(&self, say: impl FnOnce(&mut VerifyReport)) {
        let Some(pass) = self.jobs.verify.pass.take() else { return };
        let mut report = VerifyReport::begun(pass.started_at);
        report.finished_at = Some(self.world.unix_seconds());
        say(&mut report);
        let (pool, state) = (&self.name(), &report.state);
        match state {
            VerifyState::Wrong => {
                tracing::error!(pool, wrong = ?report.wrong, "the ledger is wrong")
            }
            VerifyState::Stopped => tracing::info!(pool, "the proof of the ledger was stopped"),
            _ => tracing::info!(pool, ?state, "the ledger has been compared with the maps"),
        }
        self.jobs.verify.last.replace(Some(report));
    }

    /// Counts anew what some groups name, and compares after the last.
    pub async fn verify_step(&self) {
        let begun = self.world.now();
        for _ in 0..STEP_GROUPS_MAX {
            let Some(at) = self.space.ledger.proof_goes_on_from() else { break };
            if is_end(at) {
                self.compare_some().await;
                break;
            }
            if let Err(error) = self.verify_group(at).await {
                self.give_up_verify(error.reason());
            }
            if self.world.now().since(begun) >= STEP {
                break;
            }
        }
        self.jobs.verify.share.stepped(begun, self.world.now(), SHARE);
    }

    /// Counts what the first group from `at` on names, or passes over a leaf without any.
    async fn verify_group(&self, at: NamedAt) -> Result<(), IoError> {
        let NamedAt { shard: id, group: from } = at;
        let _held = self.hold_group(id, from).await?;
        if !self.proof_is_at(at) {
            return Ok(());
        }
        let next = self.with_shard(id, |shard| next_of(shard, from));
        let group = match next {
            Next::Group(group) => group,
            Next::Nothing(place) => {
                self.space.ledger.found_nothing_before(place);
                return Ok(());
            }
        };
        let naming = self.named_by_runs(id, group).await?;
        self.with_shard(id, |shard| {
            // A host may have written something before it meanwhile: that is next, then.
            if next_of(shard, from) != next || !self.proof_is_at(at) {
                return;
            }
            let mut found = naming.found;
            let updates = shard.buffer.updates_of(&group);
            updates
                .filter_map(|(_, value)| value)
                .for_each(|pointer| found.block(pointer.location));
            self.space.ledger.found(group.family, found, place_behind(id, group.next()));
        });
        Ok(())
    }

    /// Whether the walk goes on from there. Otherwise somebody has stopped it while this was looked
    /// at, and may have begun another one, of which this is no part.
    fn proof_is_at(&self, at: NamedAt) -> bool {
        self.space.ledger.proof_goes_on_from() == Some(at)
    }

    /// What the runs of a group name, which is held: upkeep alone changes what pages they have.
    async fn named_by_runs(&self, id: ShardId, group: GroupKey) -> Result<Naming, IoError> {
        let mut naming = Naming::default();
        let runs = self.with_shard(id, |shard| {
            shard.buffer.updates_of(&group).for_each(|(key, _)| naming.hide(&key));
            runs_of(shard, group).to_vec()
        });
        for run in &runs {
            match run {
                Run::Cut { layer, first, end } => naming.cuts.push((*layer, *first, *end)),
                Run::Pages { pages, .. } => {
                    for few in pages.chunks(PAGES_READ_AT_A_TIME) {
                        let read = self
                            .read_pages(few, async |page| self.read_map_page(page.pointer).await);
                        for (page, entries) in few.iter().zip(read.await.map_err(map_unreadable)?) {
                            naming.found.run_page(page.pointer.location);
                            entries.iter().for_each(|entry| naming.entry(entry));
                            self.world.yield_now().await;
                        }
                    }
                }
            }
        }
        Ok(naming)
    }
}

#[cfg(test)]
mod tests;
