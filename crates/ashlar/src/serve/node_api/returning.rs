//! Drives that were away come back to open pools by themselves.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ashlar_control::types::ReturnDrive;
use ashlar_store::{AddError, RejoinError};
use ashlar_volume::{NodeError, PoolReport};

use super::super::finder::FoundPlace;
use super::super::returns::{self, Return};
use super::Shared;

/// How often it is looked whether a pool has lost a drive that is there, where nobody tells of
/// drives.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

impl Shared {
    /// Takes back what has come back, with `auto_rejoin`, and remembers what drives are called: for
    /// as long as it is polled.
    pub(super) async fn keep_returning(self: Arc<Self>, auto_rejoin: bool) {
        let mut known = self.finder.subscribe();
        loop {
            let _ = tokio::time::timeout(LOOK_INTERVAL, known.changed()).await;
            known.borrow_and_update();
            for report in self.node.reports().await.unwrap_or_default() {
                if auto_rejoin {
                    self.take_back(&report).await;
                }
                self.remember_names(&report).await;
            }
        }
    }

    /// Takes back one drive of the pool, if one is there that was away.
    async fn take_back(self: &Arc<Self>, report: &PoolReport) {
        let uuid = report.status.uuid.to_string();
        let found = self.found_drives(&uuid);
        let is_any =
            self.memory().returns.next(&returns::lost(report), &found, Instant::now()).is_some();
        if report.status.taken_by.is_some() || !is_any {
            return;
        }
        let Ok(_changing) = self.changing.next().await else { return };
        // Somebody may have brought it back meanwhile, or it is elsewhere by now.
        let Ok(report) = self.node.report(&uuid).await else { return };
        let found = self.found_drives(&uuid);
        let next = self.memory().returns.next(&returns::lost(&report), &found, Instant::now());
        let Some(it) = next else { return };
        if let Err(older) = self.check_newest(std::slice::from_ref(&it.at)).await {
            return self.note_refusal(&report.status.name, &it, &older);
        }
        if report.status.halted.is_some() {
            self.reopen_with(&report, &it, &found).await;
        } else {
            self.return_one(&report, &it).await;
        }
    }

    async fn return_one(self: &Arc<Self>, report: &PoolReport, it: &Return) {
        let (uuid, pool) = (report.status.uuid.to_string(), &report.status.name);
        let (name, at) = (it.lost.name.clone(), it.at.spec.clone());
        let (place, remembered) = (Some(at.clone()), Box::new(|_| None));
        let returned = self.node.return_drive(&uuid, name.clone(), place, remembered).await;
        match returned {
            Ok(record) => {
                tracing::warn!(pool, drive = name, at, "the drive is back, and the pool takes it");
                if self.memory().returns.came_back(it, Instant::now()) {
                    tracing::warn!(
                        pool,
                        at,
                        "the drive comes and goes: the next time Ashlar leaves it alone for ten \
                         minutes"
                    );
                }
                self.remember_as_it_is(&record).await;
                tokio::spawn(self.clone().forget_removed(uuid));
            }
            Err(error) => self.note_refusal(pool, it, &error),
        }
    }

    /// A pool that has lost too many drives is opened anew, with all that are there by now.
    async fn reopen_with(self: &Arc<Self>, report: &PoolReport, it: &Return, found: &[FoundPlace]) {
        let (uuid, pool) = (report.status.uuid.to_string(), &report.status.name);
        let request = ReturnDrive { drive: it.lost.name.clone(), at: Some(it.at.spec.clone()) };
        let more = found.iter().map(|found| found.spec.clone()).collect();
        match self.reopen(uuid, request, more).await {
            Ok(_) => {
                tracing::warn!(pool, "enough of the pool's drives are back: it is open as before")
            }
            Err(error) => {
                let why = error.detail;
                if self.memory().returns.was_refused(it, why.clone(), true, Instant::now()) {
                    tracing::warn!(
                        pool,
                        drive = it.lost.name,
                        at = it.at.spec,
                        "the pool stays as it is: {why}"
                    );
                }
            }
        }
    }

    /// A drive that is refused is left alone until it changes; that is said once.
    fn note_refusal(&self, pool: &str, it: &Return, error: &NodeError) {
        let (why, may_pass) = (error.to_string(), may_pass(error));
        if self.memory().returns.was_refused(it, why.clone(), may_pass, Instant::now()) {
            let (drive, at) = (&it.lost.name, &it.at.spec);
            tracing::warn!(pool, drive, at, "the drive is back, but the pool refuses it: {why}");
        }
    }

    /// Where drives with the pool's label are.
    pub(super) fn found_drives(&self, uuid: &str) -> Vec<FoundPlace> {
        let snapshot = self.finder.snapshot();
        snapshot.pools.get(uuid).map(|places| places.drives.clone()).unwrap_or_default()
    }

    /// Remembers names that udev has given to a pool's drives since it was opened.
    async fn remember_names(&self, report: &PoolReport) {
        let uuid = report.status.uuid.to_string();
        let places: BTreeSet<&str> =
            report.drives.iter().filter_map(|drive| Some(drive.facts.as_ref()?.place())).collect();
        let are_known = self.memory().pool(&uuid).is_none_or(|pool| {
            places.iter().all(|place| pool.drives.iter().any(|drive| drive.spec == **place))
        });
        if are_known {
            return;
        }
        let Ok(_changing) = self.changing.next().await else { return };
        let Ok(record) = self.node.record(&uuid).await else { return };
        self.remember_as_it_is(&record).await;
    }
}

/// Whether a refusal has nothing to do with the drive: it is tried again although nothing changes.
fn may_pass(error: &NodeError) -> bool {
    match error {
        NodeError::ReturnDrive(RejoinError::Add(
            AddError::TooManyDrives | AddError::TooManySegments { .. },
        )) => false,
        NodeError::ReturnDrive(error) => !matches!(
            error,
            RejoinError::Another(_) | RejoinError::Diverged(_) | RejoinError::Unknown(_)
        ),
        _ => true,
    }
}
