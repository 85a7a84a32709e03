//! What upkeep remembers between two turns.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use ashlar_block::{IoError, Nanos};
use ashlar_format::ids::{GroupKey, ShardId};
use tokio::sync::{Notify, oneshot};

use super::beside::Beside;
use super::turn::RebuildTurn;
use crate::base::activity::Activity;
use crate::jobs::audit::Audit;

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
    /// Hosts have changed what lives, by so many records. Returns whether upkeep has to look: it
    /// rests then until hosts may have become quiet.
    pub fn content_changed(&self, records: usize, now: Nanos) -> bool {
        self.changed_at.set(now);
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
