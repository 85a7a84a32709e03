//! Which of the found batches count, and what a segment is after that.

use std::collections::BTreeMap;

use ashlar_block::World;
use ashlar_format::header::{BatchHeader, Record, RecordKind};
use ashlar_format::ids::Lsn;
use ashlar_format::location::SegmentId;
use ashlar_format::table::{RowExtent, SegmentState};

use super::{Opened, Replay};
use crate::pool::Pool;
use crate::reader::scan::{Found, Image};
use crate::space::segments::FoundBatches;

/// What becomes of a batch that was found.
enum Verdict {
    /// Some header says that it is durable: it counts, whatever can be read of it now.
    Durable,
    /// It counts, where it is.
    Whole,
    /// These are its data columns: it counts, but has to be somewhere else.
    WrittenAnew(Vec<Vec<u8>>),
    /// It is gone, and nobody was told of it.
    Torn,
}

impl Verdict {
    fn word(&self) -> &'static str {
        match self {
            Verdict::Durable => "durable",
            Verdict::Whole => "whole",
            Verdict::WrittenAnew(_) => "written anew",
            Verdict::Torn => "torn",
        }
    }
}

/// Whether the maps of the newest root may name what the batch holds though it comes after the
/// root's floor. Of what hosts have written a replay says everything again; pages of the maps and
/// moves are named before that.
fn may_be_named(header: &BatchHeader) -> bool {
    let is_named = |record: &Record| match record.kind {
        RecordKind::Page(_) | RecordKind::Move { .. } | RecordKind::Recode { .. } => true,
        RecordKind::Write | RecordKind::ZeroRange { .. } => false,
    };
    header.records.iter().any(is_named)
}

/// The newest batch of each reactor up to which all are known to be durable.
pub(super) type Complete = BTreeMap<u64, Lsn>;

impl<W: World> Pool<W> {
    /// Decides which batches of a segment count, and seals the segment with them. One that holds
    /// none is given back, or may be used for what recovery writes.
    pub(super) async fn judge(
        &self,
        id: SegmentId,
        batches: Vec<Found>,
        floor: Lsn,
        complete: &Complete,
        opened: &mut Opened,
    ) -> Vec<Replay> {
        let geometry = self.space.segments.borrow().get(id).expect("scanned").geometry.clone();
        let mut image = Image::new(self, &geometry);
        let mut replays = Vec::new();
        let mut accepted: Vec<RowExtent> = Vec::new();
        for found in batches {
            let lsn = found.header.lsn;
            let through = complete.get(&(lsn.0 % Lsn::REACTORS));
            let is_durable = lsn < floor || through.is_some_and(|through| lsn <= *through);
            let verdict =
                if is_durable { Verdict::Durable } else { self.verdict(&mut image, &found).await };
            let rows = RowExtent { row: found.header.row, rows: found.header.rows };
            tracing::trace!("{id} {rows:?} {lsn}: {}", verdict.word());
            let mut rewrite = None;
            match verdict {
                Verdict::Durable => accepted.push(with_all_before(&accepted, rows)),
                Verdict::Whole => accepted.push(rows),
                Verdict::WrittenAnew(columns) => rewrite = Some(columns),
                Verdict::Torn => {
                    opened.torn += 1;
                    continue;
                }
            }
            opened.rewritten += u64::from(rewrite.is_some());
            replays.push(Replay { lsn, header: found.header, rewrite });
        }
        self.close_scanned(id, &accepted, &replays);
        replays
    }

    /// What becomes of a batch of which no header says that it is durable.
    async fn verdict(&self, image: &mut Image<'_, W>, found: &Found) -> Verdict {
        match image.examine(found).await {
            None => Verdict::Torn,
            Some(examined) if examined.redundant => Verdict::Whole,
            // The root may name what is in it, where it is: that stays, and gets its redundancy
            // there.
            Some(_) if may_be_named(&found.header) => {
                let lacking = self.check_batch(image, found).await.sum().unrepaired;
                if lacking > 0 {
                    let BatchHeader { segment, row, .. } = found.header;
                    tracing::warn!(
                        "{segment}: {lacking} sectors of the batch at row {row} are corrupt or \
                         missing"
                    );
                }
                Verdict::Whole
            }
            Some(examined) => Verdict::WrittenAnew(examined.data),
        }
    }

    fn close_scanned(&self, id: SegmentId, accepted: &[RowExtent], replays: &[Replay]) {
        let mut segments = self.space.segments.borrow_mut();
        let segment = segments.get(id).expect("scanned");
        // Pages of the maps matter only to a root that names them, and such a root would say that
        // the segment was opened: these are of a checkpoint that did not come to its end. The next
        // one may need the segment as much as that did.
        if segment.state == SegmentState::Window && replays.iter().all(Replay::is_of_pages) {
            return segments.reuse_window(id);
        }
        let extents = joined(accepted);
        let whole = extents.len() == 1 && extents[0].row == 0;
        let found = FoundBatches {
            rows: extents.last().map_or(0, |last| last.row + last.rows),
            first_lsn: replays.first().map_or(segment.first_lsn, |first| first.header.first_lsn),
            last_lsn: replays.iter().map(|replay| replay.lsn).max().unwrap_or(segment.last_lsn),
            accepted: if whole { Vec::new() } else { extents },
            has_pages: replays.iter().any(Replay::is_of_pages),
        };
        segments.found(id, found, self.world.unix_seconds());
    }
}

/// The rows, and those between the last accepted ones and them. Batches of a segment have rising
/// numbers: what lies before one that is known to be durable was durable, too. If its header cannot
/// be read now, it still is no hole that collection may skip.
fn with_all_before(accepted: &[RowExtent], rows: RowExtent) -> RowExtent {
    let from = accepted.last().map_or(0, |last| last.row + last.rows);
    RowExtent { row: from, rows: rows.row + rows.rows - from }
}

/// The same rows in as few extents as possible.
pub(super) fn joined(extents: &[RowExtent]) -> Vec<RowExtent> {
    let mut joined: Vec<RowExtent> = Vec::new();
    for extent in extents {
        match joined.last_mut() {
            Some(last) if last.row + last.rows == extent.row => last.rows += extent.rows,
            _ => joined.push(*extent),
        }
    }
    joined
}
