//! Pools are opened by the daemon itself: each as soon as it can be, and none waits for another
//! one.
//!
//! An opener is a task for one pool that the node has. It waits until the pool's drives have been
//! looked for, and opens the pool with those that are there. If that fails it tries again whenever
//! drives of the pool come or change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ashlar_control::{ApiError, ErrorCode};
use ashlar_store::{OPEN_ANSWER_MAX, OpenError};
use ashlar_volume::{KnownPool, NodeError, Opening, OpeningStage, PoolReport};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::super::apart::apart;
use super::super::finder::{FoundPlace, PoolPlaces, Snapshot, older_copy};
use super::super::memory::NotOpen;
use super::super::state::PoolState;
use super::Shared;

/// How long a request waits for a pool that is being opened and that waits for no drive.
const READING_MAX: Duration = Duration::from_secs(30);
pub(super) const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// When a pool is tried again of which drives are there that could not be opened: first, and at
/// most.
const RETRY_MIN: Duration = Duration::from_secs(10);
const RETRY_MAX: Duration = Duration::from_secs(600);

/// The tasks that open pools, by the pools' UUIDs.
#[derive(Default)]
pub struct Openers(Mutex<BTreeMap<String, Opener>>);

struct Opener {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Openers {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Opener>> {
        self.0.lock().expect("no holder of the lock panics")
    }
}

impl Shared {
    /// Opens all pools that the node has, from now on.
    pub(super) fn begin_opening_all(self: &Arc<Self>) {
        let pools: Vec<String> =
            self.memory().pools().iter().map(|pool| pool.uuid.clone()).collect();
        pools.iter().for_each(|uuid| self.begin_opening(uuid));
    }

    /// Opens the pool as soon as that is possible, unless it is open, has been stopped, or is
    /// memory that has gone.
    pub(super) fn begin_opening(self: &Arc<Self>, uuid: &str) {
        let is_lasting = self.memory().pool(uuid).is_some_and(|pool| !pool.volatile);
        let is_awaited = matches!(
            self.memory().not_open(uuid),
            Some(NotOpen::Opening(_) | NotOpen::Unavailable(_))
        );
        if !is_lasting || !is_awaited {
            return;
        }
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(self.clone().keep_opening(uuid.to_owned(), stopped));
        self.openers.all().insert(uuid.to_owned(), Opener { stop, task });
    }

    /// The same once it was tried to open it: a fault in Ashlar itself may have stopped that, which
    /// would stop it again.
    pub(super) fn begin_opening_unless_stopped(self: &Arc<Self>, uuid: &str) {
        let why = self.memory().pool(uuid).and_then(|pool| self.why_stopped(pool));
        match why {
            Some(why) => self.memory().is_not_open(uuid, why),
            None => self.begin_opening(uuid),
        }
    }

    /// Keeps the pool from being opened by itself. Returns once nothing of that goes on: it may be
    /// open by then.
    pub(super) async fn stop_opening(&self, uuid: &str) {
        let Some(opener) = self.openers.all().remove(uuid) else { return };
        opener.stop.send_replace(true);
        self.stop_waiting(uuid);
        // It ends by itself, or has panicked, which ends the daemon.
        let _ = opener.task.await;
    }

    /// The same of all pools, for the end of the daemon.
    pub(super) async fn stop_opening_all(&self) {
        let pools: Vec<String> = self.openers.all().keys().cloned().collect();
        futures_util::future::join_all(pools.iter().map(|uuid| self.stop_opening(uuid))).await;
    }

    fn stop_waiting(&self, uuid: &str) {
        if let Some(NotOpen::Opening(opening)) = self.memory().not_open(uuid) {
            opening.stop();
        }
    }

    async fn keep_opening(self: Arc<Self>, uuid: String, mut stopped: watch::Receiver<bool>) {
        let mut known = self.finder.subscribe();
        let mut retry = RETRY_MIN;
        loop {
            let settled = known
                .wait_for(|known| places(known, &uuid).is_some_and(|places| places.is_settled));
            tokio::select! {
                _ = stopped.wait_for(|is_stopped| *is_stopped) => return,
                settled = settled => if settled.is_err() { return },
            }
            let tried = places(&self.finder.snapshot(), &uuid).cloned().unwrap_or_default();
            let mark = self.deaths.opening_of(&uuid);
            let (begins, ends) = (mark.clone(), mark.clone());
            let opening = Opening::telling(move || begins.set(), move || ends.clear());
            self.memory().is_not_open(&uuid, NotOpen::Opening(opening.clone()));
            if *stopped.borrow() {
                return;
            }
            let opened = self.open_newest(&uuid, &tried.drives, opening).await;
            mark.clear();
            let Err(error) = opened else { return };
            if let NodeError::Stopped { .. } = error {
                self.memory().is_not_open(&uuid, NotOpen::Stopped(error.of_its_pool()));
                return;
            }
            self.memory().is_not_open(&uuid, NotOpen::Unavailable(error.of_its_pool()));
            let changed = known.wait_for(|known| {
                places(known, &uuid).is_none_or(|now| !are_same_drives(now, &tried))
            });
            tokio::select! {
                _ = stopped.wait_for(|is_stopped| *is_stopped) => return,
                changed = changed => if changed.is_err() { return },
                () = tokio::time::sleep(retry), if is_tried_again(&error, &tried) => {
                    retry = (retry * 2).min(RETRY_MAX);
                }
            }
        }
    }

    /// Whether none of the drives is an old copy of one that is elsewhere.
    ///
    /// # Errors
    /// [`NodeError::OlderCopy`].
    pub(super) async fn check_newest(&self, drives: &[FoundPlace]) -> Result<(), NodeError> {
        let several: Vec<FoundPlace> =
            drives.iter().filter(|found| !found.others.is_empty()).cloned().collect();
        if several.is_empty() {
            return Ok(());
        }
        let asked = apart("newest-roots", move || older_copy(&several));
        // Of a drive that does not answer nothing is known, and it is not taken either.
        let Ok(answer) = asked else { return Ok(()) };
        match tokio::time::timeout(OPEN_ANSWER_MAX, answer).await {
            Ok(Ok(Some(why))) => Err(NodeError::OlderCopy(why)),
            _ => Ok(()),
        }
    }

    /// Waits until the drives of a pool have been looked for, but not for ever.
    pub(super) async fn places_are_known(&self, uuid: &str) {
        let mut known = self.finder.subscribe();
        let settled =
            known.wait_for(|known| places(known, uuid).is_some_and(|places| places.is_settled));
        let _ = tokio::time::timeout(READING_MAX, settled).await;
    }

    /// Opens a pool that the node has, unless it would be an old copy.
    async fn open_newest(
        self: &Arc<Self>,
        uuid: &str,
        drives: &[FoundPlace],
        opening: Opening,
    ) -> Result<(), NodeError> {
        self.check_newest(drives).await?;
        self.open_known(uuid, opening).await
    }

    /// Opens a pool that the node has, and remembers it.
    async fn open_known(self: &Arc<Self>, uuid: &str, opening: Opening) -> Result<(), NodeError> {
        let pools: Vec<KnownPool> = self.memory().pools().iter().map(PoolState::known).collect();
        let at = pools.iter().position(|pool| pool.uuid == uuid);
        let at = at.ok_or_else(|| NodeError::NoSuchPool(uuid.to_owned()))?;
        let name = pools[at].name.clone();
        let opened = self.node.open_known(&pools, at, self.member_wait, opening).await;
        let record = opened.inspect_err(|error| {
            if !matches!(error, NodeError::OpeningStopped { .. }) {
                let why = error.of_its_pool();
                tracing::error!(
                    pool = name,
                    "the pool cannot be opened; the others are served: {why}"
                );
            }
        })?;
        let report = match (self.node.report(uuid).await, self.stops.get(uuid)) {
            // It has been stopped since.
            (Err(_), Some(stopped)) => {
                return Err(NodeError::Stopped { pool: name, why: stopped.why });
            }
            (report, _) => report?,
        };
        self.warn_of_missing(&report);
        self.remember_as_it_is(&record).await;
        self.remember_nsids();
        tokio::spawn(self.clone().forget_removed(uuid.to_owned()));
        Ok(())
    }

    /// A pool that lacks drives says so where somebody looks first.
    pub(super) fn warn_of_missing(&self, report: &PoolReport) {
        let memory = self.memory();
        let remembered = memory.pool(&report.status.uuid.to_string());
        let missing = super::super::convert::missing_drives(report, remembered);
        if !missing.is_empty() {
            let (pool, missing) = (&report.status.name, missing.join(", "));
            tracing::warn!(pool, "the pool is open without {missing}");
        }
    }

    /// Refuses what can be done to open pools only, for one that is not. One that is just being
    /// read is waited for.
    ///
    /// # Errors
    /// Why it is not open.
    pub(super) async fn check_available(&self, pool: &str) -> Result<(), ApiError> {
        let begun = tokio::time::Instant::now();
        loop {
            let Some((name, why)) = self.why_not_open(pool) else { return Ok(()) };
            let goes_on = match &why {
                NotOpen::Opening(opening) => !matches!(opening.stage(), OpeningStage::Waiting(_)),
                NotOpen::Unavailable(_) | NotOpen::Stopped(_) | NotOpen::Gone => false,
            };
            if !goes_on || begun.elapsed() >= READING_MAX {
                return Err(not_open(&name, &why));
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    /// Waits for its turn to change the pool, once that is open: no change of another pool waits
    /// for that.
    ///
    /// # Errors
    /// Why it is not open.
    pub(super) async fn turn_to_change(
        &self,
        pool: &str,
    ) -> Result<tokio::sync::MutexGuard<'_, ()>, ApiError> {
        self.check_available(pool).await?;
        let changing = self.changing.next().await?;
        self.why_not_open(pool).map_or(Ok(changing), |(name, why)| Err(not_open(&name, &why)))
    }

    pub(super) fn why_not_open(&self, pool: &str) -> Option<(String, NotOpen)> {
        let memory = self.memory();
        let named = |(known, _): &(&PoolState, &NotOpen)| known.name == pool || known.uuid == pool;
        let noted =
            memory.unavailable().find(named).map(|(known, why)| (known.name.clone(), why.clone()));
        let known = || memory.pools().iter().find(|known| known.name == pool || known.uuid == pool);
        noted.or_else(|| {
            known().and_then(|known| Some((known.name.clone(), self.why_stopped(known)?)))
        })
    }

    /// Returns once each pool is open or could not be opened.
    pub(super) async fn opened(&self) {
        let is_opening = |(_, why): (&PoolState, &NotOpen)| matches!(why, NotOpen::Opening(_));
        while self.memory().unavailable().any(is_opening) {
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    /// The pools that are not open and that drives among these belong to, or that are named so.
    pub(super) fn not_open_with(&self, named: Option<&str>, drives: &[String]) -> Vec<String> {
        let snapshot = self.finder.snapshot();
        let memory = self.memory();
        let is_meant = |(pool, _): &(&PoolState, &NotOpen)| {
            let found = places(&snapshot, &pool.uuid)
                .map(|places| places.drives.as_slice())
                .unwrap_or_default();
            let mut specs =
                pool.specs().into_iter().chain(found.iter().map(|found| found.spec.clone()));
            let is_named = named.is_some_and(|named| named == pool.name || named == pool.uuid);
            is_named || specs.any(|spec| drives.iter().any(|drive| leads_to(drive, &spec)))
        };
        memory.unavailable().filter(is_meant).map(|(pool, _)| pool.uuid.clone()).collect()
    }
}

impl Shared {
    /// Refuses drives of pools that are being opened: they are in use.
    pub(super) fn check_not_opening(&self, drives: &[String]) -> Result<(), ApiError> {
        for uuid in self.not_open_with(None, drives) {
            if let Some((name, why @ NotOpen::Opening(_))) = self.why_not_open(&uuid) {
                let of = drives.join(", ");
                let message =
                    format!("{of}: in use by pool '{name}', which is being opened: {}", why.why());
                let hint = format!(
                    "try again once it is open, or make this node forget it: `ashlar pool export \
                     {name}`"
                );
                return Err(ApiError::new(ErrorCode::DriveInUse, message).with_hint(hint));
            }
        }
        Ok(())
    }
}

fn places<'a>(known: &'a Snapshot, uuid: &str) -> Option<&'a PoolPlaces> {
    known.pools.get(uuid)
}

/// Whether nothing has come and nothing has gone. Whoever tries to open a pool writes to its
/// drives: that they were written to says nothing.
fn are_same_drives(now: &PoolPlaces, before: &PoolPlaces) -> bool {
    let is_same = |(now, before): (&FoundPlace, &FoundPlace)| {
        let of = |found: &FoundPlace| (found.uuid, found.spec.clone(), found.others.clone());
        of(now) == of(before) && now.mark.is_same_drive(&before.mark)
    };
    now.drives.len() == before.drives.len() && now.drives.iter().zip(&before.drives).all(is_same)
}

/// Whether a pool may be opened later although none of its drives changes: drives are there that
/// could not be opened. One that another machine has stays that machine's until somebody imports
/// it.
fn is_tried_again(error: &NodeError, found: &PoolPlaces) -> bool {
    match error {
        NodeError::NoneThere { .. } => !found.drives.is_empty(),
        NodeError::Open { error: OpenError::TooManyMissing { missing, members, .. }, .. }
        | NodeError::Open { error: OpenError::HalfMissing { missing, members }, .. } => {
            members.saturating_sub(missing.len()) < found.drives.len()
        }
        NodeError::Open {
            error: OpenError::Io(_) | OpenError::FileSystemFull | OpenError::NoRoom,
            ..
        }
        | NodeError::Io(_) => true,
        _ => false,
    }
}

/// Whether `given`, a drive or a directory, leads to the drive at `spec`.
fn leads_to(given: &str, spec: &str) -> bool {
    let plain = |text: &'_ str| text.strip_prefix("file:").unwrap_or(text).to_owned();
    let (given_path, path) =
        (plain(ashlar_volume::path_of(given)), plain(ashlar_volume::path_of(spec)));
    let is_in_it = std::path::Path::new(&path).parent() == Some(std::path::Path::new(&given_path));
    is_in_it || ashlar_node::name_the_same(given, spec)
}

/// What is said of a pool that is not open.
pub(super) fn not_open(name: &str, why: &NotOpen) -> ApiError {
    let message = format!("pool '{name}' is not open: {}", why.why());
    match why {
        NotOpen::Opening(_) => ApiError::new(ErrorCode::PoolOpening, message).with_hint(format!(
            "it opens by itself once they are there, or member_wait_seconds are over; `ashlar \
                 pool import {name} --degraded` opens it without them now"
        )),
        NotOpen::Unavailable(_) => ApiError::new(ErrorCode::PoolUnavailable, message).with_hint(
            "it opens by itself once enough of its drives are there; `ashlar pool export` \
                 forgets it",
        ),
        NotOpen::Stopped(_) => ApiError::new(ErrorCode::PoolStopped, message),
        NotOpen::Gone => ApiError::new(ErrorCode::PoolUnavailable, message),
    }
}

#[cfg(test)]
mod tests;
