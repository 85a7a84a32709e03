//! What a batch's sectors should be, by the others of their rows.

use ashlar_block::{SECTOR_BYTES, World};
use ashlar_raid::{ColumnMask, parity};

use super::Image;
use super::content::Content;

impl<W: World> Image<'_, W> {
    /// Replaces the suspect sectors by what the others make of them, in every way until all is
    /// right: with all parities, and then with each choice of them that is taken last.
    pub(super) fn repair(&self, content: &mut Content<'_>, suspects: &[(usize, u32)]) -> bool {
        let before = content.columns.clone();
        (0..1u32 << self.geometry.parity()).map(ColumnMask).any(|last| {
            content.columns.clone_from(&before);
            let rebuilt = suspects.iter().all(|(column, row)| {
                let sector = self.rebuild(content, suspects, (*column, *row), last);
                sector.is_some_and(|sector| content.put(*column, *row, &sector))
            });
            rebuilt && content.is_right()
        })
    }

    /// One suspect sector from the columns of its row that are not suspect, with the parities in
    /// `last` behind the others.
    fn rebuild(
        &self,
        content: &Content<'_>,
        suspects: &[(usize, u32)],
        (column, row): (usize, u32),
        last: ColumnMask,
    ) -> Option<Vec<u8>> {
        let (data, total) = (self.geometry.data(), self.geometry.columns.len());
        let which = |in_last: bool| (0..total - data).filter(move |nth| last.has(*nth) == in_last);
        let parities = which(false).chain(which(true)).map(|nth| data + nth);
        let mut sources = ColumnMask::default();
        let mut columns: Vec<&[u8]> = vec![&[]; total];
        for other in (0..data).chain(parities) {
            if sources.count() == data || suspects.contains(&(other, row)) {
                continue;
            }
            let sector = if other < data {
                Some(content.sector(other, row))
            } else {
                self.sector(other, row)
            };
            if let Some(sector) = sector {
                sources.add(other);
                columns[other] = sector;
            }
        }
        (sources.count() == data).then(|| {
            let mut out = vec![0; SECTOR_BYTES];
            parity::reconstruct(data, sources, &columns, &[column], &mut [&mut out]);
            out
        })
    }
}
