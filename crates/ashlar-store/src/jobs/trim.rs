//! Trim tells drives of chunks that nobody needs (discards), so that flash drives have room to work
//! with, and files take no space for what is gone.
//!
//! The pool tells drives by itself of what becomes free from now on, unless its setting `autotrim`
//! is off; of what was free before it tells them when somebody asks for a trim. `space::segments`
//! knows which chunks may be told, and that nobody writes to them meanwhile: see `chunks.rs` there.
//!
//! Trim is a task beside upkeep and no step of it: a slow drive holds up nothing. Each drive has
//! one discard at a time, as large as it can do within [`STEP`], and rests after it. The task
//! sleeps while there is nothing to tell.
//!
//! A checkpoint and a relocation wait for a discard only if a drive has no other chunk left than
//! one that it is being told of ([`Pool::chunks_are_back`]): a pool never has less room for a trim,
//! and where few chunks are free, one is away at a time.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{DeviceError, DriveId, IoError, Nanos, World, within};
use ashlar_raid::ChunkAddr;
use futures_util::future::select;
use tokio::sync::Notify;

use crate::jobs::share::TimeShare;
use crate::pool::Pool;
use crate::space::segments::Discard;

/// Bytes of one discard, at most.
const DISCARD_BYTES_MAX: u64 = 256 << 20;

/// About as long a discard is to take.
const STEP: Duration = Duration::from_millis(20);

/// Part of a drive's time that discards have, in thousandths.
const SHARE: u16 = 250;

/// A drive is told of this part of it in a second, at most, or of [`RATE_MIN`] bytes.
const RATE_PART: u64 = 512;
const RATE_MIN: u64 = 1 << 30;

/// How often it is looked whether a drive has been given up whose discard is waited for.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// How long whoever closes a pool waits for discards to end.
const CLOSE_WAIT_MAX: Duration = Duration::from_secs(20);

/// What a trim has come to.
#[derive(Clone, PartialEq, Debug)]
pub struct TrimReport {
    /// Unix seconds.
    pub started_at: u64,
    /// Unix seconds; none while it goes on.
    pub finished_at: Option<u64>,
    /// Somebody has stopped it: of what is not done drives are not told.
    pub is_stopped: bool,
    /// Bytes that were free when it began, on drives that can be told.
    pub bytes_total: u64,
    /// Of these, what drives have been told of, or what has been written since.
    pub bytes_done: u64,
    /// Discards that drives have refused since it began.
    pub failed: u64,
    /// Drives that cannot be told, or were lost before they had been.
    pub skipped_drives: BTreeSet<DriveId>,
    /// How long it takes from now on, if it goes on as it has since it began. `None`: that is not
    /// known, or it does not go on.
    pub remaining: Option<Duration>,
}

/// Why no trim was begun.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TrimError {
    /// No drive takes discards.
    #[error(
        "no drive of the pool takes discards ({}). Files take them on a file system that punches \
         holes (ext4, xfs, btrfs, tmpfs), devices if /sys/block/NAME/queue/discard_max_bytes is \
         not 0. The pool works as well without",
        names(.0)
    )]
    NoDrive(BTreeSet<DriveId>),
    /// The pool takes no writes.
    #[error("{0}")]
    Pool(#[from] IoError),
}

fn names(drives: &BTreeSet<DriveId>) -> String {
    drives.iter().map(DriveId::to_string).collect::<Vec<_>>().join(", ")
}

/// One that goes on.
struct Pass {
    report: TrimReport,
    begun: Nanos,
    /// Drives that have not been told of all yet.
    drives: BTreeSet<DriveId>,
}

/// When a drive is told next, and of how much.
struct Pacing {
    share: TimeShare,
    bytes_max: u64,
    is_told_of: bool,
}

impl Default for Pacing {
    fn default() -> Self {
        Pacing { share: TimeShare::default(), bytes_max: DISCARD_BYTES_MAX / 16, is_told_of: false }
    }
}

/// What is known of discards.
#[derive(Default)]
pub(crate) struct Trim {
    pass: RefCell<Option<Pass>>,
    last: RefCell<Option<TrimReport>>,
    drives: RefCell<BTreeMap<DriveId, Pacing>>,
    wake: Notify,
    /// Notified when a discard has ended.
    ended: Notify,
    stop: Cell<bool>,
}

impl Trim {
    /// There may be something to tell.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Whether a trim goes on that somebody has asked for.
    pub fn goes_on(&self) -> bool {
        self.pass.borrow().is_some()
    }

    fn pause(&self, drive: DriveId, now: Nanos) -> Duration {
        self.drives.borrow_mut().entry(drive).or_default().share.wait(now)
    }

    fn bytes_max(&self, drive: DriveId) -> u64 {
        self.drives.borrow_mut().entry(drive).or_default().bytes_max
    }

    fn with_pass(&self, change: impl FnOnce(&mut Pass)) {
        if let Some(pass) = self.pass.borrow_mut().as_mut() {
            change(pass);
        }
    }
}

/// How large the next discard of a drive is that took so long for so many bytes.
fn next_bytes(bytes: u64, took: Duration) -> u64 {
    let fits = bytes as f64 * STEP.as_secs_f64() / took.as_secs_f64().max(1e-6);
    (fits as u64).min(2 * bytes).clamp(1, DISCARD_BYTES_MAX)
}

/// How long a drive of that size rests at least after it was told of so many bytes.
fn rest_after(bytes: u64, drive_bytes: u64) -> Duration {
    let rate = (drive_bytes / RATE_PART).max(RATE_MIN);
    Duration::from_secs_f64(bytes as f64 / rate as f64)
}

impl<W: World> Pool<W> {
    /// Tells drives while the pool is open.
    pub async fn trim_loop(self: Rc<Self>) {
        while !self.jobs.trim.stop.get() && self.halt.why().is_none() {
            let pause = self.begin_discards();
            self.end_trim_if_done();
            let wake = pin!(self.jobs.trim.wake.notified());
            match pause {
                Some(pause) => {
                    select(wake, pin!(self.world.sleep(pause))).await;
                }
                None => wake.await,
            }
        }
    }

    /// Begins what may begin now. Returns how long it is until more may.
    fn begin_discards(self: &Rc<Self>) -> Option<Duration> {
        let (now, mut next) = (self.world.now(), None::<Duration>);
        for drive in self.array.working_drives() {
            let is_due = {
                let segments = self.space.segments.borrow();
                segments.has_untold(drive)
                    && !segments.has_away(drive)
                    && self.array.discards(drive)
            };
            if !is_due {
                continue;
            }
            let pause = self.jobs.trim.pause(drive, now);
            if !pause.is_zero() {
                next = Some(next.map_or(pause, |next| next.min(pause)));
                continue;
            }
            let chunks_max = self.jobs.trim.bytes_max(drive) / self.identity.chunk_bytes();
            let discard = self.space.segments.borrow_mut().tell(drive, chunks_max as u32);
            if let Some(discard) = discard {
                self.spawn(self.clone().discard(discard));
            }
        }
        next
    }

    async fn discard(self: Rc<Self>, discard: Discard) {
        let begun = self.world.now();
        let done = self.array.discard(discard.drive, discard.chunks.clone()).await;
        let ended = self.world.now();
        self.space.segments.borrow_mut().is_told(&discard);
        self.note_discard(&discard, done, begun, ended);
        self.jobs.trim.ended.notify_waiters();
        self.jobs.trim.wake();
    }

    fn note_discard(
        &self,
        discard: &Discard,
        done: Result<(), DeviceError>,
        begun: Nanos,
        ended: Nanos,
    ) {
        let drive = discard.drive;
        let bytes = discard.chunks.len() as u64 * self.identity.chunk_bytes();
        let drive_bytes = self.array.member(drive).map_or(0, |member| {
            u64::from(member.layout().chunk_count) * self.identity.chunk_bytes()
        });
        let mut drives = self.jobs.trim.drives.borrow_mut();
        let pacing = drives.entry(drive).or_default();
        pacing.bytes_max = next_bytes(bytes, ended.since(begun));
        pacing.share.stepped(begun, ended, SHARE);
        pacing.share.pause(ended, rest_after(bytes, drive_bytes));
        match done {
            Ok(()) => self.count(|counters| counters.drives.bytes_discarded += bytes),
            Err(DeviceError::Gone) => {}
            Err(error) => {
                self.count(|counters| counters.drives.discards_failed += 1);
                self.jobs.trim.with_pass(|pass| pass.report.failed += 1);
                if !std::mem::replace(&mut pacing.is_told_of, true) {
                    let pool = &self.name();
                    tracing::warn!(
                        pool,
                        "{drive} has refused a discard: {error}. Its data is not affected; the log \
                         names no more refusals of this drive"
                    );
                }
                if matches!(error, DeviceError::Unsupported(_)) {
                    self.space.segments.borrow_mut().forget_all_untold_of(drive);
                }
            }
        }
    }

    // --- who writes to a chunk that was free -----------------------------------------------------

    /// Returns once none of these chunks is being told of, on a drive that works: from then on they
    /// may be written to.
    pub async fn chunks_are_back(&self, chunks: impl IntoIterator<Item = ChunkAddr> + Clone) {
        loop {
            let ended = self.jobs.trim.ended.notified();
            let away = self.space.segments.borrow().away_of(chunks.clone());
            let is_waited_for = |drive: &DriveId| self.array.working(*drive).is_some();
            if !away.iter().any(is_waited_for) || self.halt.why().is_some() {
                return;
            }
            select(pin!(ended), pin!(self.world.sleep(LOOK_INTERVAL))).await;
        }
    }

    /// A root is durable that names no chunk which is free.
    pub fn free_chunks_settled(&self) {
        let remembers = self.catalog.borrow().settings.autotrim || self.jobs.trim.goes_on();
        self.space.segments.borrow_mut().chunks_settled(remembers);
        self.jobs.trim.wake();
    }

    // --- trims that are asked for ----------------------------------------------------------------

    /// Begins to tell all drives of all chunks that are free, unless that goes on already.
    ///
    /// # Errors
    /// When the pool takes no writes, or none of its drives can be told.
    pub fn start_trim(&self) -> Result<(), TrimError> {
        self.halt.check()?;
        if self.jobs.trim.goes_on() {
            return Ok(());
        }
        let all = self.array.working_drives();
        let (drives, skipped_drives): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|drive| self.array.discards(*drive));
        let skipped_drives = skipped_drives.into_iter().collect();
        if drives.is_empty() {
            return Err(TrimError::NoDrive(skipped_drives));
        }
        let chunks = self.space.segments.borrow_mut().trim_all(&drives);
        let report = TrimReport {
            started_at: self.world.unix_seconds(),
            finished_at: None,
            is_stopped: false,
            bytes_total: chunks * self.identity.chunk_bytes(),
            bytes_done: 0,
            failed: 0,
            skipped_drives,
            remaining: None,
        };
        let drives = drives.into_iter().collect();
        self.jobs.trim.pass.replace(Some(Pass { report, begun: self.world.now(), drives }));
        self.jobs.trim.wake();
        Ok(())
    }

    /// Stops the trim that goes on, if one does. What a drive is being told of it is told to the
    /// end; of what is freed drives are told as ever.
    pub fn stop_trim(&self) {
        let report = self.trim_report();
        let Some((_, report)) = self.jobs.trim.pass.take().zip(report) else { return };
        self.space.segments.borrow_mut().forget_trim();
        // While it went on they were to be told of what became free, too.
        self.autotrim_changed();
        let (pool, bytes) = (&self.name(), report.bytes_done);
        tracing::info!(pool, bytes, "trim: it was stopped");
        let finished_at = Some(self.world.unix_seconds());
        let report = TrimReport { finished_at, is_stopped: true, remaining: None, ..report };
        self.jobs.trim.last.replace(Some(report));
    }

    /// Of what a trim has come to on its drives, those that it waits for no more.
    fn end_trim_if_done(&self) {
        let segments = self.space.segments.borrow();
        self.jobs.trim.with_pass(|pass| {
            let lost: Vec<DriveId> =
                pass.drives.iter().copied().filter(|drive| !self.array.discards(*drive)).collect();
            for drive in lost {
                pass.drives.remove(&drive);
                pass.report.skipped_drives.insert(drive);
            }
            pass.drives
                .retain(|drive| segments.left_to_trim(*drive) > 0 || segments.has_away(*drive));
        });
        drop(segments);
        let is_over =
            self.jobs.trim.pass.borrow().as_ref().is_some_and(|pass| pass.drives.is_empty());
        let Some(pass) = is_over.then(|| self.jobs.trim.pass.take()).flatten() else { return };
        let finished_at = Some(self.world.unix_seconds());
        let bytes_done = pass.report.bytes_total;
        let report = TrimReport { finished_at, bytes_done, ..pass.report };
        let (pool, bytes, failed) = (&self.name(), report.bytes_total, report.failed);
        tracing::info!(pool, bytes, failed, skipped_drives = ?report.skipped_drives, "trim: drives know what is free");
        self.jobs.trim.last.replace(Some(report));
    }

    /// The trim that goes on, or else the last one since the pool was opened.
    pub fn trim_report(&self) -> Option<TrimReport> {
        let pass = self.jobs.trim.pass.borrow();
        let Some(pass) = pass.as_ref() else { return self.jobs.trim.last.borrow().clone() };
        let segments = self.space.segments.borrow();
        let left: u64 = pass.drives.iter().map(|drive| segments.left_to_trim(*drive)).sum();
        let bytes_left = left * self.identity.chunk_bytes();
        let bytes_done = pass.report.bytes_total.saturating_sub(bytes_left);
        let so_far = self.world.now().since(pass.begun).as_secs_f64();
        let remaining = Duration::try_from_secs_f64(so_far * bytes_left as f64 / bytes_done as f64);
        Some(TrimReport { bytes_done, remaining: remaining.ok(), ..pass.report.clone() })
    }

    /// The setting has changed: what was freed until now is not told any more where it is off.
    pub fn autotrim_changed(&self) {
        if !self.catalog.borrow().settings.autotrim {
            self.space.segments.borrow_mut().forget_untold();
        }
        self.jobs.trim.wake();
    }

    /// No discard begins any more. Returns once those have ended that are on their way to drives
    /// that work. False: it has taken too long, and they may still change what is on the drives.
    pub async fn discards_end(&self) -> bool {
        self.jobs.trim.stop.set(true);
        self.jobs.trim.wake();
        let ended = async {
            loop {
                let ended = self.jobs.trim.ended.notified();
                let drives = self.array.working_drives();
                if !drives.into_iter().any(|drive| self.space.segments.borrow().has_away(drive)) {
                    return;
                }
                select(pin!(ended), pin!(self.world.sleep(LOOK_INTERVAL))).await;
            }
        };
        within(&self.world, CLOSE_WAIT_MAX, ended).await.is_some()
    }
}

#[cfg(test)]
mod tests;
