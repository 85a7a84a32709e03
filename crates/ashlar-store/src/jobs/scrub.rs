//! Scrub reads every column of everything that is stored, and repairs bad sectors in place from
//! parity. At the end it does the same for the superblocks of each drive.
//!
//! A batch says itself what each byte of it should be: its header has a MAC, its fragments have
//! checksums, zeros lie between them, and parity follows from those. So a scrub writes only bad
//! sectors, with the bytes that were there before; rows never change their meaning, and a power cut
//! in the middle leaves a sector as bad as it was.
//!
//! A step goes on beside upkeep. A repair must never reach a chunk that belongs to another segment
//! by then. So each step looks up anew where its segment lies, takes only a segment of which
//! something lives, and keeps it pinned: no checkpoint frees it. If a column moves meanwhile, the
//! step has its old geometry in hand, and nobody else gets the chunk that the column has left until
//! the step has ended.

mod heal;
mod repair;
mod report;
pub(crate) mod superblocks;

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{IoError, Nanos, SECTOR_BYTES, World};
use ashlar_format::ids::Lsn;
use ashlar_format::location::SegmentId;
use ashlar_format::table::{Occupancy, RowExtent, SegmentState};
use ashlar_raid::Geometry;

use crate::base::activity::Activity;
use crate::jobs::share::{TimeShare, thousandths};
use crate::pool::Pool;
use crate::reader::scan::{Expected, Image};
use crate::space::segments::{Pin, Segment, pin};
pub use ashlar_format::scrub::{Findings, ScrubProgress, ScrubRecord};
use heal::HealQueue;
use repair::BatchCheck;
pub use report::{ScrubReport, ScrubState};

/// Rows that are looked at before somebody else has a turn; fewer where chunks are small.
const STEP_ROWS_MAX: u32 = 256;

/// How often it is looked whether the next scrub is due: the clock on the wall may be set.
const DUE_POLL: Duration = Duration::from_secs(3600);

/// What a crash may have a scrub look at again, at most.
const KEEP_INTERVAL: Duration = Duration::from_secs(60);

/// One scrub, under way.
struct Pass {
    /// Tells it from one that was stopped.
    number: u64,
    report: ScrubReport,
    /// When it was begun or taken up again, and the rows that were done then.
    begun: Nanos,
    rows_before: u64,
    /// What was written from then on has been written a moment ago.
    end: Lsn,
    /// Rows before it are done.
    next: (SegmentId, u32),
    rows_done: u64,
    rows_total: u64,
    /// The last segment of which the log says that something is lost: a drive may have a million
    /// such sectors.
    told_of: Option<SegmentId>,
}

impl Pass {
    fn report(&self, now: Nanos) -> ScrubReport {
        let part = |rows: u64| (rows as f64 / self.rows_total.max(1) as f64).min(1.0);
        let part_done = part(self.rows_done);
        let all = now.since(self.begun).as_secs_f64() / part(self.rows_done - self.rows_before);
        let remaining = Duration::try_from_secs_f64(all * (1.0 - part_done)).ok();
        ScrubReport { part_done, remaining, ..self.report.clone() }
    }

    fn add(&mut self, looked_at: &LookedAt) {
        self.rows_done += looked_at.rows;
        self.report.bytes_checked += looked_at.bytes;
        self.report.add(&looked_at.check);
    }

    fn progress(&self) -> ScrubProgress {
        let ScrubReport { started_at, bytes_checked, findings, ref drives, .. } = self.report;
        let (end, next, rows_done, rows_total) =
            (self.end, self.next, self.rows_done, self.rows_total);
        let drives = drives.clone();
        ScrubProgress {
            started_at,
            end,
            next,
            rows_done,
            rows_total,
            bytes_checked,
            findings,
            drives,
        }
    }

    /// One that another start has left, under the number of the first pass of this one.
    fn taken_up(progress: &ScrubProgress, now: Nanos) -> Self {
        let ScrubProgress {
            started_at,
            end,
            next,
            rows_done,
            rows_total,
            bytes_checked,
            findings,
            ref drives,
        } = *progress;
        let drives = drives.clone();
        let report =
            ScrubReport { bytes_checked, findings, drives, ..ScrubReport::new(started_at) };
        let (begun, rows_before, told_of) = (now, rows_done, None);
        Pass { number: 1, report, begun, rows_before, end, next, rows_done, rows_total, told_of }
    }
}

/// What is known of scrubs between two steps.
#[derive(Default)]
pub(crate) struct Scrub {
    pass: RefCell<Option<Pass>>,
    passes: Cell<u64>,
    heal_queue: HealQueue,
    /// The last one that has ended since the pool was opened.
    last: RefCell<Option<ScrubReport>>,
    share: TimeShare,
    /// A step is on its way.
    is_stepping: Cell<bool>,
    /// When a checkpoint was last asked for that tells how far it is.
    kept_at: Cell<Nanos>,
}

impl Scrub {
    /// How far the pass is that goes on.
    pub fn progress(&self) -> Option<ScrubProgress> {
        self.pass.borrow().as_ref().map(Pass::progress)
    }

    /// Takes up the pass that the last start has left.
    pub fn resume(&self, progress: Option<&ScrubProgress>, now: Nanos) {
        self.passes.set(1);
        self.pass.replace(progress.map(|progress| Pass::taken_up(progress, now)));
    }

    /// Which pass is under way, where it is, and where it ends.
    fn position(&self) -> Option<(u64, (SegmentId, u32), Lsn)> {
        self.pass.borrow().as_ref().map(|pass| (pass.number, pass.next, pass.end))
    }
}

/// A part of a segment that one step looks at.
struct Stretch {
    /// The pass that it is of.
    number: u64,
    id: SegmentId,
    /// From the first of these rows to where the first batch behind them begins.
    rows: Range<u32>,
    /// Rows of the segment that hold batches.
    extents: Vec<RowExtent>,
    /// Batches from then on may be on their way to the drives.
    floor: Lsn,
    /// All of the segment's batches are below that.
    is_settled: bool,
    geometry: Rc<Geometry>,
    _pin: Pin,
}

impl<W: World> Pool<W> {
    /// Begins a scrub, unless one is under way.
    ///
    /// # Errors
    /// When the pool takes no writes: nothing could be repaired.
    pub fn start_scrub(&self) -> Result<(), IoError> {
        self.halt.check()?;
        if self.jobs.scrub.pass.borrow().is_none() {
            self.begin_pass();
        }
        self.scrub_at_once();
        Ok(())
    }

    /// Begins a scrub, whatever one that is under way has looked at already.
    pub fn scrub_anew(&self) {
        self.begin_pass();
        self.scrub_at_once();
    }

    fn begin_pass(&self) {
        let number = self.jobs.scrub.passes.get() + 1;
        self.jobs.scrub.passes.set(number);
        let end = self.writer.lsns.next();
        let segments = self.space.segments.borrow();
        let rows_total = segments.summary().scrub_rows();
        let report = ScrubReport::new(self.world.unix_seconds());
        let (begun, next) = (self.world.now(), (SegmentId(0), 0));
        let (rows_before, rows_done, told_of) = (0, 0, None);
        let pass =
            Pass { number, report, begun, rows_before, end, next, rows_done, rows_total, told_of };
        self.jobs.scrub.pass.replace(Some(pass));
        self.jobs.scrub.kept_at.set(begun);
    }

    /// Stops the scrub that is under way. False: none is. The next one is due when as much time has
    /// passed as after a whole one.
    pub fn stop_scrub(&self) -> bool {
        self.end_pass(ScrubState::Stopped)
    }

    /// False: none is under way.
    fn end_pass(&self, state: ScrubState) -> bool {
        let Some(pass) = self.jobs.scrub.pass.take() else { return false };
        let mut report = ScrubReport { remaining: None, ..pass.report(self.world.now()) };
        self.jobs.scrub.heal_queue.hope_again();
        let now = self.world.unix_seconds();
        report.state = state;
        report.finished_at = Some(now);
        let record = &mut self.catalog.borrow_mut().scrub;
        record.counted_from = now;
        if state == ScrubState::Finished {
            report.part_done = 1.0;
            *record = ScrubRecord {
                counted_from: now,
                started_at: report.started_at,
                finished_at: now,
                bytes_checked: report.bytes_checked,
                findings: report.findings,
                drives: report.drives.clone(),
            };
        }
        let Findings { wrong, unreadable, repaired, unrepaired } = report.findings;
        let (pool, bytes) = (&self.name(), report.bytes_checked);
        tracing::info!(
            pool, bytes, wrong, unreadable, repaired, unrepaired, drives = ?report.drives, "scrub: {state:?}"
        );
        self.jobs.scrub.last.replace(Some(report));
        // What it has found is to be known after a power cut, and an idle pool has no other reason
        // for a checkpoint.
        self.checkpoint_soon();
        true
    }

    /// The scrub that is under way, or else the last one.
    pub fn scrub_report(&self) -> Option<ScrubReport> {
        let running =
            self.jobs.scrub.pass.borrow().as_ref().map(|pass| pass.report(self.world.now()));
        running
            .or_else(|| self.jobs.scrub.last.borrow().clone())
            .or_else(|| ScrubReport::of_last(&self.catalog.borrow().scrub))
    }

    // --- when ------------------------------------------------------------------------------------

    /// How long it is until the next scrub is due by the schedule. `None`: there is none.
    fn scrub_due_in(&self) -> Option<Duration> {
        let catalog = self.catalog.borrow();
        let due_at =
            catalog.scrub.counted_from.saturating_add(catalog.settings.scrub_interval?.as_secs());
        Some(Duration::from_secs(due_at.saturating_sub(self.world.unix_seconds())))
    }

    fn scrub_is_due(&self) -> bool {
        self.scrub_due_in().is_some_and(|wait| wait.is_zero())
    }

    fn scrub_is_wanted(&self) -> bool {
        let is_begun =
            self.jobs.scrub.pass.borrow().is_some() || !self.jobs.scrub.heal_queue.is_empty();
        is_begun || self.scrub_is_due()
    }

    /// Whether there is something to be looked at now.
    pub fn scrub_is_ready(&self) -> bool {
        !self.jobs.scrub.is_stepping.get()
            && self.jobs.scrub.share.has_come(self.world.now())
            && self.scrub_is_wanted()
    }

    /// When to look again whether there is.
    pub fn scrub_waits(&self) -> Option<Duration> {
        // When a step ends it is looked again.
        if self.halt.why().is_some() || self.jobs.scrub.is_stepping.get() {
            return None;
        }
        if self.scrub_is_wanted() {
            return Some(self.jobs.scrub.share.wait(self.world.now()));
        }
        self.scrub_due_in().map(|wait| wait.min(DUE_POLL))
    }

    /// The share of the time has changed: what was to be waited for by the old one is not.
    pub fn scrub_at_once(&self) {
        self.jobs.scrub.share.at_once(self.world.now());
        self.requests.notify();
    }

    // --- a step ----------------------------------------------------------------------------------

    /// Begins a step, which goes on beside upkeep.
    pub fn begin_scrub_step(self: &Rc<Self>) {
        self.jobs.scrub.is_stepping.set(true);
        let pool = self.clone();
        let step = async move {
            pool.scrub_step().await;
            pool.jobs.scrub.is_stepping.set(false);
        };
        self.begin_beside(Activity::Scrub, step);
    }

    /// Looks at some rows, and leaves the others their share of the time.
    async fn scrub_step(&self) {
        let begun = self.world.now();
        self.heal_some().await;
        if self.jobs.scrub.pass.borrow().is_none() {
            self.begin_as_scheduled();
        }
        self.scrub_some().await;
        self.keep_progress();
        let ended = self.world.now();
        let prio = self.catalog.borrow().settings.scrub_prio;
        self.jobs.scrub.share.stepped(begun, ended, thousandths(prio));
    }

    /// Has the progress written at times: an idle pool has no other reason for a checkpoint.
    fn keep_progress(&self) {
        let now = self.world.now();
        if self.jobs.scrub.pass.borrow().is_some()
            && now.since(self.jobs.scrub.kept_at.get()) >= KEEP_INTERVAL
        {
            self.jobs.scrub.kept_at.set(now);
            self.checkpoint_soon();
        }
    }

    fn begin_as_scheduled(&self) {
        let is_first_start = self.catalog.borrow().scrub.counted_from == 0;
        if is_first_start {
            self.catalog.borrow_mut().scrub.counted_from = self.world.unix_seconds();
        } else if self.scrub_is_due() {
            self.begin_pass();
        }
    }

    async fn scrub_some(&self) {
        let Some((number, at, end)) = self.jobs.scrub.position() else { return };
        match self.next_stretch(number, at, end) {
            Some(stretch) => {
                let (next, looked_at) = self.scrub_stretch(&stretch).await;
                // Both at once: a checkpoint between the two would have it counted again after a
                // crash.
                self.with_pass(number, |pass| {
                    pass.next = next;
                    pass.add(&looked_at);
                });
            }
            None => {
                let check = self.check_superblocks().await;
                self.with_pass(number, |pass| pass.report.add(&check));
                // Another may have been begun meanwhile.
                if self.jobs.scrub.position().is_some_and(|(still, ..)| still == number) {
                    self.end_pass(ScrubState::Finished);
                }
            }
        }
    }

    /// Changes the pass, if it has not been stopped.
    fn with_pass(&self, number: u64, change: impl FnOnce(&mut Pass)) {
        if let Some(pass) =
            self.jobs.scrub.pass.borrow_mut().as_mut().filter(|pass| pass.number == number)
        {
            change(pass);
        }
    }

    /// What the next step looks at. `None`: everything has been looked at.
    fn next_stretch(&self, number: u64, (at, row): (SegmentId, u32), end: Lsn) -> Option<Stretch> {
        let segments = self.space.segments.borrow();
        let mut left = segments.iter_from(at).filter(|(_, segment)| segment.is_to_be_scrubbed(end));
        let (id, segment) = left.next()?;
        let (floor, extents) = (self.writer.lsns.floor(), segment.accepted_rows());
        let (first, is_settled) = (if id == at { row } else { 0 }, segment.last_lsn < floor);
        drop(left);
        drop(segments);
        let (pin, geometry) = pin(&self.space.segments, id).expect("just seen");
        let rows = first..first + (self.identity.segment_rows / 4).min(STEP_ROWS_MAX);
        Some(Stretch { number, id, rows, extents, floor, is_settled, geometry, _pin: pin })
    }

    /// Returns where the next step goes on.
    async fn scrub_stretch(&self, stretch: &Stretch) -> ((SegmentId, u32), LookedAt) {
        let mut image = Image::while_serving(self, &stretch.geometry);
        let mut looked_at = LookedAt::default();
        'extents: for extent in &stretch.extents {
            let mut row = extent.row.max(stretch.rows.start);
            while row < extent.row + extent.rows {
                if row >= stretch.rows.end {
                    return ((stretch.id, row), looked_at);
                }
                // What is behind a batch that is on its way was begun later still: the next scrub
                // comes to it.
                let batch = self.scrub_batch(stretch, &mut image, row).await;
                let Some((rows, check)) = batch else { break 'extents };
                looked_at.add(rows, self.present_columns(stretch), &check);
                row += rows;
            }
        }
        ((SegmentId(stretch.id.0 + 1), 0), looked_at)
    }

    /// Looks at the batch that begins at `row`, if it can be found. Returns how many rows that
    /// settles, and what the look came to; `None` if its header may be on its way.
    async fn scrub_batch(
        &self,
        stretch: &Stretch,
        image: &mut Image<'_, W>,
        row: u32,
    ) -> Option<(u32, BatchCheck)> {
        let (segment, generation) = (stretch.id, self.generation(stretch.id));
        let expected = Expected { segment, generation, secret: &self.identity.secret };
        let (rows, check) = match image.batch_at(&expected, row).await {
            Some(found) if found.header.lsn < stretch.floor => {
                (found.header.rows, self.check_batch(image, &found).await)
            }
            Some(found) => (found.header.rows, BatchCheck::default()),
            None if stretch.is_settled => (1, BatchCheck { lost: 1, ..BatchCheck::default() }),
            None => return None,
        };
        if check.lost > 0 {
            self.tell_of_loss(stretch, row);
        }
        Some((rows, check))
    }

    /// Says once of a segment that something of it is lost.
    fn tell_of_loss(&self, stretch: &Stretch, row: u32) {
        let (segment, missing) = (stretch.id, self.array.missing(&stretch.geometry).count());
        self.with_pass(stretch.number, |pass| {
            if pass.told_of.replace(segment) != Some(segment) {
                tracing::warn!(
                    pool = self.name(),
                    "scrub: row {row} of {segment} can neither be read nor restored ({missing} of \
                     its drives are missing); the log names no more rows of this segment"
                );
            }
        });
    }

    fn present_columns(&self, stretch: &Stretch) -> usize {
        stretch.geometry.columns.len() - self.array.missing(&stretch.geometry).count()
    }
}

/// What a step has looked at.
#[derive(Default)]
struct LookedAt {
    rows: u64,
    bytes: u64,
    check: BatchCheck,
}

impl LookedAt {
    /// So many rows of so many columns more.
    fn add(&mut self, rows: u32, columns: usize, check: &BatchCheck) {
        self.rows += u64::from(rows);
        self.bytes += u64::from(rows) * (columns * SECTOR_BYTES) as u64;
        self.check += check;
    }
}

impl Segment {
    /// Whether a scrub looks at it: something lives in it, and it was begun before `end`.
    pub fn is_to_be_scrubbed(&self, end: Lsn) -> bool {
        let has_rows =
            matches!(self.state, SegmentState::Sealed | SegmentState::Open) && self.rows > 0;
        has_rows && self.first_lsn < end && self.live != Occupancy::default()
    }
}

#[cfg(test)]
mod tests;
