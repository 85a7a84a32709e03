//! The windows: segments that a root names before anything is written into them, so that recovery
//! knows where to look.

use ashlar_block::{DriveId, World};
use ashlar_format::location::SegmentId;

use crate::base::limits::IN_FLIGHT_MAX;
use crate::pool::Pool;
use crate::space::capacity::marks;
use crate::space::segments::{Retired, Segments, Shape};

/// Striped segments of a window: one of this many in the pool, within bounds.
const WINDOW_PART: u64 = 16;
const WINDOW_MIN: usize = 9;
const WINDOW_MAX: usize = 64;
/// Journal segments of a window.
const JOURNAL_WINDOW: usize = 2 * IN_FLIGHT_MAX;

/// Segments that a root adds to the windows.
pub(crate) struct Window {
    pub striped: Vec<SegmentId>,
    pub journal: Vec<SegmentId>,
    /// Chunks that this root names no more.
    pub retired: Vec<Retired>,
}

impl<W: World> Pool<W> {
    /// Reserves what the next root adds to the windows, on these drives. What is reserved elsewhere
    /// is given back.
    pub fn form_windows(&self, segments: &mut Segments, targets: &[DriveId]) -> Window {
        segments.drop_window_off(targets);
        if self.jobs.rebalance.renews_window() {
            let was_narrow = segments.drop_narrow_window(targets);
            self.window_renewed(was_narrow);
        }
        let next_lsn = self.writer.lsns.next();
        let total = segments.stripes_when_empty(targets).segments();
        let of_table = segments.filled_by_table();
        segments.keep_for_table(of_table);
        let wanted = ((total / WINDOW_PART) as usize).clamp(WINDOW_MIN, WINDOW_MAX) + of_table;
        let mut striped = segments.form_window(Shape::Striped, wanted, targets, next_lsn);
        if segments.usable_striped() as usize + striped.len() < wanted {
            // Small commits can go to the stripes; nothing else can go to the journal.
            segments.drop_journal_window();
            let rest = wanted - striped.len();
            striped.extend(segments.form_window(Shape::Striped, rest, targets, next_lsn));
        }
        // In a pool that has nothing left to collect small commits go to the stripes, and no room
        // is spent on a journal.
        let roomy = segments.free_segments(targets) > marks(total).reserve + JOURNAL_WINDOW as u64;
        let journal_wanted = if roomy && segments.stripe().data > 1 { JOURNAL_WINDOW } else { 0 };
        let journal = segments.form_window(Shape::Journal, journal_wanted, targets, next_lsn);
        Window { striped, journal, retired: segments.take_retired() }
    }
}
