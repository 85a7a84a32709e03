//! Repairing what is wrong in one batch.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use ashlar_block::{AlignedBuf, DriveId, SECTOR_BYTES, World};
use ashlar_format::scrub::Findings;
use ashlar_raid::Geometry;

use crate::pool::Pool;
use crate::reader::scan::{Found, Image, Inspected, WrongSector};

/// What the look at a batch came to.
#[derive(Default)]
pub struct BatchCheck {
    /// Drives on which something was not as it should be.
    pub drives: BTreeMap<DriveId, Findings>,
    /// Sectors of which nobody knows what they should be, on drives that are not there.
    pub lost: u64,
}

impl BatchCheck {
    /// All together.
    pub fn sum(&self) -> Findings {
        let mut sum = Findings { unrepaired: self.lost, ..Findings::default() };
        self.drives.values().for_each(|findings| sum += *findings);
        sum
    }
}

impl AddAssign<&BatchCheck> for BatchCheck {
    fn add_assign(&mut self, other: &BatchCheck) {
        other
            .drives
            .iter()
            .for_each(|(drive, findings)| *self.drives.entry(*drive).or_default() += *findings);
        self.lost += other.lost;
    }
}

impl<W: World> Pool<W> {
    /// Looks at every byte of a batch, and repairs what is wrong on drives that work. The
    /// caller keeps the segment pinned and its geometry in hand: what is written here must not come
    /// into a chunk that is another's.
    pub async fn check_batch(&self, image: &mut Image<'_, W>, found: &Found) -> BatchCheck {
        let geometry = image.geometry();
        let mut check = BatchCheck::default();
        match image.inspect(found).await {
            Inspected::Known { columns, wrong } => {
                for run in runs(&wrong) {
                    let repaired = self.repair_run(geometry, &columns, found.header.row, run).await;
                    self.note_run(&mut check, geometry, run, repaired);
                }
            }
            Inspected::Lost { wrong } => {
                check.lost = u64::from(wrong.is_empty());
                runs(&wrong).for_each(|run| self.note_run(&mut check, geometry, run, false));
            }
        }
        check
    }

    /// Writes neighbouring sectors of a column as they should be. `columns`: those of the batch
    /// that begins at `first_row`.
    async fn repair_run(
        &self,
        geometry: &Geometry,
        columns: &[Vec<u8>],
        first_row: u32,
        run: &[WrongSector],
    ) -> bool {
        let (column, row, rows) = (run[0].column, run[0].row, run.len());
        let start = (row - first_row) as usize * SECTOR_BYTES;
        let bytes =
            AlignedBuf::copy_of(&columns[column][start..start + rows * SECTOR_BYTES]).freeze();
        self.array.rewrite_sectors(geometry, column, row..row + rows as u32, bytes).await
    }

    fn note_run(
        &self,
        check: &mut BatchCheck,
        geometry: &Geometry,
        run: &[WrongSector],
        repaired: bool,
    ) {
        let (drive, all) = (geometry.columns[run[0].column].drive, run.len() as u64);
        let unreadable = run.iter().filter(|sector| sector.is_unreadable).count() as u64;
        let wrong = all - unreadable;
        if repaired {
            self.count(|counters| counters.repairs.sectors_repaired += all);
        }
        let (repaired, unrepaired) = if repaired { (all, 0) } else { (0, all) };
        *check.drives.entry(drive).or_default() +=
            Findings { wrong, unreadable, repaired, unrepaired };
        if wrong > 0 {
            self.array.note_corrupt_reads(drive, wrong);
        }
        tracing::debug!("{drive} {run:?}: {repaired} sectors repaired, {unrepaired} not");
    }
}

/// Sectors that follow each other in a column, together. They are in order.
fn runs(wrong: &[WrongSector]) -> impl Iterator<Item = &[WrongSector]> {
    wrong.chunk_by(|one, next| one.column == next.column && one.row + 1 == next.row)
}
