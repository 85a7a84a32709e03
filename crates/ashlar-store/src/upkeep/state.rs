//! What upkeep remembers between two turns.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use ashlar_block::{IoError, Nanos};
use ashlar_format::ids::{GroupKey, ShardId};
use tokio::sync::{Notify, oneshot};

use super::activity::Activity;
use super::beside::Beside;
use super::turn::RebuildTurn;
use crate::jobs::audit::Audit;

/// Segments that are collected without there being more free ones in the end, until it is given up:
/// what is left of garbage takes as much to collect as it gains.
pub(super) const FRUITLESS_MAX: u32 = 32;

/// How long hosts have changed nothing when the counts of what lives are made exact, by merging
/// what is left unmerged.
const QUIET_MIN: Duration = Duration::from_secs(30);

/// What upkeep knows from what it has done, and from what hosts have changed since.
#[derive(Default)]
pub(crate) struct UpkeepState {
    /// Collection has had its turn since the map's own upkeep had one.
    pub(super) map_turn: Cell<bool>,
    pub(super) rebuild_turn: RebuildTurn,
    /// The leaf of which a group was merged last: all have their turn.
    pub(super) merged: Cell<(ShardId, GroupKey)>,
    /// Records since the last sweep began, if there was one. What they replaced may be counted as
    /// living.
    pub(super) inexact_records: Cell<Option<u64>>,
    /// Records since the last sweep began, or since the start, and when the last of them came.
    unswept_records: Cell<u64>,
    changed_at: Cell<Nanos>,
    /// Segments collected since there were more free ones than ever before since hosts changed
    /// something.
    pub(super) fruitless: Cell<u32>,
    pub(super) most_free: Cell<u64>,
    /// Deltas have been compacted since hosts changed something.
    pub(super) compacted: Cell<bool>,
    pub(super) audits_wanted: RefCell<Vec<oneshot::Sender<Audited>>>,
    pub(super) stop: Cell<bool>,
    pub(super) stopped: Cell<bool>,
    /// Notified when the task has ended.
    pub(super) ended: Notify,
    /// What upkeep does.
    pub(super) activity: Cell<Activity>,
    /// What goes on beside it.
    pub(super) beside: Beside,
}

/// `None`: something went on meanwhile.
pub(super) type Audited = Result<Option<Audit>, IoError>;

impl UpkeepState {
    /// More is known to be garbage: collecting may gain something again.
    pub fn collecting_may_gain(&self) {
        self.fruitless.set(0);
    }

    /// Pages of deltas have become garbage. The checkpoints that collection needs make more of
    /// them, so that this counts once until hosts change something: they would wait for ever.
    pub fn compacted(&self) {
        if !self.compacted.replace(true) {
            self.collecting_may_gain();
        }
    }

    /// There is nowhere to collect to, until something changes.
    pub fn give_up_collecting(&self) {
        self.fruitless.set(FRUITLESS_MAX);
    }

    /// Hosts have changed what lives, by so many records. Returns whether upkeep has to look: it
    /// rests then until hosts may have become quiet.
    pub fn content_changed(&self, records: usize, now: Nanos) -> bool {
        self.collecting_may_gain();
        self.changed_at.set(now);
        self.compacted.set(false);
        self.inexact_records.set(self.inexact_records.get().map(|before| before + records as u64));
        self.unswept_records.replace(self.unswept_records.get() + records as u64) == 0
    }

    /// A sweep begins.
    pub fn counts_become_exact(&self) {
        self.unswept_records.set(0);
        self.inexact_records.set(Some(0));
    }

    /// Records since the last sweep began, if there was one.
    pub fn inexact_records(&self) -> Option<u64> {
        self.inexact_records.get()
    }

    /// How long hosts have to be quiet from now on until a sweep may make the counts exact. `None`:
    /// they are.
    pub fn sweep_waits(&self, now: Nanos) -> Option<Duration> {
        (self.unswept_records.get() > 0).then(|| self.quiet_in(now))
    }

    /// Hosts have changed nothing for a while.
    pub fn hosts_are_quiet(&self, now: Nanos) -> bool {
        self.quiet_in(now).is_zero()
    }

    /// How long it takes until hosts are quiet, if they change nothing.
    fn quiet_in(&self, now: Nanos) -> Duration {
        QUIET_MIN.saturating_sub(now.since(self.changed_at.get()))
    }

    /// Returns when the task has ended.
    pub async fn stopped(&self) {
        while !self.stopped.get() {
            self.ended.notified().await;
        }
    }

    /// Ends the task when what it does now is done, once it is woken.
    pub fn stop(&self) {
        self.stop.set(true);
    }

    /// Whether the task is to end.
    pub fn is_to_stop(&self) -> bool {
        self.stop.get()
    }

    /// What upkeep does now.
    pub fn activity(&self) -> Activity {
        self.activity.get()
    }

    /// Upkeep does this from now on. Returns what it did before.
    pub fn now_does(&self, activity: Activity) -> Activity {
        self.activity.replace(activity)
    }
}
