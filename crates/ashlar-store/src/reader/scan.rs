//! Reads segments back after a stop: finds batches, and tells whole ones from torn ones.

mod ahead;
mod content;
mod expected;
mod repair;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use ashlar_block::{AlignedBuf, DeviceError, SECTOR_BYTES, World};
use ashlar_format::header::{BatchHeader, HEADER_SECTORS_MAX};
use ashlar_format::ids::Lsn;
use ashlar_raid::{ColumnMask, Geometry, Recipes, Ways, parity};

use crate::base::limits::IN_FLIGHT_MAX;
use crate::pool::Pool;
use crate::writer::batch::batch_rows_max;
pub(crate) use ahead::Ahead;
use content::Content;
pub(crate) use expected::{Expected, Generation};

/// Column of every header.
const HEADER_COLUMN: usize = 0;

/// Rows that are read at a time where nobody waits, at a start for instance.
const ROWS_AT_A_TIME: u32 = 64;

/// Likewise while hosts are served: what they ask for waits behind them, in the drives' queues and
/// in the reactor's turn.
const ROWS_AT_A_TIME_SERVING: u32 = 16;

/// A segment's rows in memory, read front to back as they are needed. Unreadable sectors are
/// `None`.
pub(crate) struct Image<'a, W: World> {
    pool: &'a Pool<W>,
    geometry: &'a Geometry,
    rows: u32,
    rows_at_a_time: u32,
    header_recipes: Recipes,
    pieces: Pieces,
}

/// What has been read of a segment: for each piece its columns.
#[derive(Default)]
pub(crate) struct Pieces {
    read: BTreeMap<u32, Vec<Column>>,
    ahead: Option<Ahead>,
}

impl Pieces {
    /// Nothing yet. What comes next is read ahead.
    pub fn ahead(ahead: Ahead) -> Self {
        Pieces { read: BTreeMap::new(), ahead: Some(ahead) }
    }
}

/// One column of a piece: whole, or sector by sector where a part of it is unreadable.
pub(crate) enum Column {
    Whole(AlignedBuf),
    Parts(Vec<Option<AlignedBuf>>),
}

impl Column {
    fn sector(&self, row: usize) -> Option<&[u8]> {
        match self {
            Column::Whole(buf) => Some(&buf[row * SECTOR_BYTES..][..SECTOR_BYTES]),
            Column::Parts(parts) => parts[row].as_deref(),
        }
    }

    /// These rows, where it is whole.
    fn rows(&self, rows: Range<usize>) -> Option<&[u8]> {
        match self {
            Column::Whole(buf) => Some(&buf[rows.start * SECTOR_BYTES..rows.end * SECTOR_BYTES]),
            Column::Parts(_) => None,
        }
    }
}

/// Reads all columns of these rows.
async fn read_rows<W: World>(pool: &Pool<W>, geometry: &Geometry, rows: Range<u32>) -> Vec<Column> {
    let mut columns = Vec::new();
    for (column, read) in pool.array.read_all(geometry, &rows).await.into_iter().enumerate() {
        columns.push(match read {
            Ok(buf) => Column::Whole(buf),
            Err(DeviceError::Gone) => Column::Parts(rows.clone().map(|_| None).collect()),
            Err(_) => Column::Parts(pool.array.read_each(geometry, column, rows.clone()).await),
        });
    }
    columns
}

impl<'a, W: World> Image<'a, W> {
    /// The image of a segment with this geometry.
    pub fn new(pool: &'a Pool<W>, geometry: &'a Geometry) -> Self {
        let (rows, rows_at_a_time) = (pool.identity.segment_rows, ROWS_AT_A_TIME);
        let header_recipes = Recipes::new(geometry.data(), HEADER_COLUMN);
        Image { pool, geometry, rows, rows_at_a_time, header_recipes, pieces: Pieces::default() }
    }

    /// The same for whoever reads while hosts are served.
    pub fn while_serving(pool: &'a Pool<W>, geometry: &'a Geometry) -> Self {
        Image { rows_at_a_time: ROWS_AT_A_TIME_SERVING, ..Self::new(pool, geometry) }
    }

    /// The same for whoever reads it in steps, so many rows at a time, and has read `pieces` by
    /// the step before.
    pub fn in_steps(
        pool: &'a Pool<W>,
        geometry: &'a Geometry,
        step_rows: u32,
        pieces: Pieces,
    ) -> Self {
        Image { rows_at_a_time: step_rows, pieces, ..Self::new(pool, geometry) }
    }

    /// What has been read, for the next step.
    pub fn into_pieces(self) -> Pieces {
        self.pieces
    }

    /// Where the segment lies.
    pub fn geometry(&self) -> &'a Geometry {
        self.geometry
    }

    /// Reads what of the rows is not in memory yet, and forgets what lies well before them: a
    /// segment may be larger than there is memory for.
    pub async fn load(&mut self, first: u32, end: u32) {
        self.pieces.read = self.pieces.read.split_off(&(first / self.rows_at_a_time));
        for piece in first / self.rows_at_a_time..end.min(self.rows).div_ceil(self.rows_at_a_time) {
            if !self.pieces.read.contains_key(&piece) {
                let columns = self.read_piece(piece).await;
                self.pieces.read.insert(piece, columns);
            }
        }
    }

    async fn read_piece(&mut self, piece: u32) -> Vec<Column> {
        if let Some(ahead) = &mut self.pieces.ahead
            && let Some(columns) = ahead.piece(piece).await
        {
            return columns;
        }
        let rows = piece * self.rows_at_a_time..((piece + 1) * self.rows_at_a_time).min(self.rows);
        read_rows(self.pool, self.geometry, rows).await
    }

    /// One sector, as its drive gave it. Its rows must have been loaded.
    fn sector(&self, column: usize, row: u32) -> Option<&[u8]> {
        self.pieces.read[&(row / self.rows_at_a_time)][column]
            .sector((row % self.rows_at_a_time) as usize)
    }

    /// Every way to have the sectors of the column of headers in `rows`.
    fn header_ways(&self, rows: Range<u32>) -> Ways<'_> {
        let mut ways = Ways::new(&self.header_recipes);
        let columns = 0..self.geometry.columns.len();
        let sector = |column, row| self.sector(column, row).unwrap_or_default();
        rows.for_each(|row| ways.add_row(columns.clone().map(|column| sector(column, row))));
        ways
    }

    /// The header that begins at `row`, if there is one in any way that it can be had.
    fn header(&self, expected: &Expected<'_>, row: u32) -> Option<(BatchHeader, Vec<u8>)> {
        let ways = self.header_ways(row..row + 1);
        // Mostly it is there as it was written.
        let as_it_is = ways.first_sector(BatchHeader::MAGIC);
        as_it_is.and_then(|first| self.header_from(first, expected, row)).or_else(|| {
            let firsts = ways.first_sectors(BatchHeader::MAGIC);
            let mut others = firsts.iter().filter(|first| Some(first.as_slice()) != as_it_is);
            others.find_map(|first| self.header_from(first, expected, row))
        })
    }

    /// The header at `row` that begins with `first`.
    fn header_from(
        &self,
        first: &[u8],
        expected: &Expected<'_>,
        row: u32,
    ) -> Option<(BatchHeader, Vec<u8>)> {
        let prelude = BatchHeader::prelude(first)?;
        let rows = row + 1..row + prelude.sectors as u32;
        let is_named = self.pool.is_of_a_root(prelude.incarnation);
        if !expected.begins_with(&prelude, row) || !is_named || rows.end > self.rows {
            return None;
        }
        let mut header = None;
        let accept = |bytes: &[u8]| {
            header = BatchHeader::decode(expected.secret, bytes).ok();
            header.as_ref().is_some_and(|header| header.fits(self.geometry.data(), self.rows))
        };
        let bytes = self.continued(first, rows, accept)?;
        let header = header?;
        let header_bytes = bytes[..header.bytes()].to_vec();
        Some((header, header_bytes))
    }

    /// `first` with the sectors in `rows` behind it, in the first way that `accept` takes.
    fn continued(
        &self,
        first: &[u8],
        rows: Range<u32>,
        mut accept: impl FnMut(&[u8]) -> bool,
    ) -> Option<Vec<u8>> {
        if rows.is_empty() {
            return accept(first).then(|| first.to_vec());
        }
        let whole = |rest: &[u8]| [first, rest].concat();
        self.header_ways(rows).find(|rest| accept(&whole(rest))).map(|rest| whole(&rest))
    }

    /// All batches of the expected incarnation, in order. After the last one that is found the
    /// search goes on for as long as batches could have been in flight behind torn ones. What those
    /// below `floor` hold is not kept.
    pub async fn batches(&mut self, expected: &Expected<'_>, floor: Lsn) -> Vec<Found> {
        let search_rows = IN_FLIGHT_MAX as u32 * batch_rows_max(self.geometry.data(), self.rows);
        let mut found = Vec::new();
        let (mut row, mut searched) = (0, 0);
        while row < self.rows && searched < search_rows {
            match self.batch_at(expected, row).await {
                Some(mut batch) => {
                    if batch.header.lsn < floor {
                        batch.forget_content();
                    }
                    row += batch.header.rows;
                    searched = 0;
                    found.push(batch);
                }
                None => {
                    row += 1;
                    searched += 1;
                }
            }
        }
        found
    }

    /// The batch that begins at `row`.
    pub async fn batch_at(&mut self, expected: &Expected<'_>, row: u32) -> Option<Found> {
        self.load(row, row + HEADER_SECTORS_MAX as u32).await;
        let (header, header_bytes) = self.header(expected, row)?;
        Some(Found { header, header_bytes })
    }

    /// The batch that `row` is of.
    pub async fn batch_around(&mut self, expected: &Expected<'_>, row: u32) -> Option<Found> {
        let rows_max = batch_rows_max(self.geometry.data(), self.rows);
        for first in (row.saturating_sub(rows_max - 1)..=row).rev() {
            if let Some(found) = self.batch_at(expected, first).await {
                return (row < first + found.header.rows).then_some(found);
            }
        }
        None
    }

    /// Looks at every byte of a batch. `None`: it is torn, and no combination of what is there
    /// gives it back.
    pub async fn examine(&mut self, found: &Found) -> Option<Examined> {
        self.load_batch(found).await;
        let (content, suspects) = self.content(found);
        let content = content?;
        let present_suspect =
            suspects.iter().any(|(column, row)| self.sector(*column, *row).is_some());
        let unreadable = suspects
            .iter()
            .any(|(column, row)| self.is_present(*column) && self.sector(*column, *row).is_none());
        let parities = self.parities_of(&content.columns);
        let redundant = !present_suspect && !unreadable && self.parity_is_right(found, &parities);
        let data = content.columns.into_iter().map(Cow::into_owned).collect();
        Some(Examined { data, redundant })
    }

    /// What these columns of a batch hold, parity included, once all of its data has been found
    /// right. `None`: no combination of what is there gives it back.
    pub async fn columns_of<'s>(
        &'s mut self,
        found: &'s Found,
        wanted: &[usize],
    ) -> Option<Vec<Cow<'s, [u8]>>> {
        self.load_batch(found).await;
        let (content, _) = self.content(found);
        let mut columns = content?.columns;
        if wanted.iter().any(|column| *column >= columns.len()) {
            let parities = self.parities_of(&columns);
            columns.extend(parities.into_iter().map(Cow::Owned));
        }
        Some(wanted.iter().map(|column| std::mem::take(&mut columns[*column])).collect())
    }

    /// Looks at every byte of a batch and says what it should be, parity included.
    pub async fn inspect(&mut self, found: &Found) -> Inspected {
        self.load_batch(found).await;
        let (content, suspects) = self.content(found);
        let Some(content) = content else {
            let wrong = suspects.into_iter().filter(|(column, _)| self.is_present(*column));
            let wrong = wrong.map(|(column, row)| self.wrong_sector(column, row)).collect();
            return Inspected::Lost { wrong };
        };
        let mut columns = content.as_written();
        let parities = self.parities_of(&columns);
        columns.extend(parities);
        let rows = || found.header.row..found.header.row + found.header.rows;
        let is_wrong = |column: usize, row: u32| {
            let at = (row - found.header.row) as usize * SECTOR_BYTES;
            self.sector(column, row) != Some(&columns[column][at..at + SECTOR_BYTES])
        };
        let present = (0..columns.len()).filter(|column| self.is_present(*column));
        let wrong = present.flat_map(|column| rows().map(move |row| (column, row)));
        let wrong = wrong.filter(|(column, row)| is_wrong(*column, *row));
        let wrong = wrong.map(|(column, row)| self.wrong_sector(column, row)).collect();
        Inspected::Known { columns, wrong }
    }

    fn wrong_sector(&self, column: usize, row: u32) -> WrongSector {
        WrongSector { column, row, is_unreadable: self.sector(column, row).is_none() }
    }

    async fn load_batch(&mut self, found: &Found) {
        self.load(found.header.row, found.header.row + found.header.rows).await;
    }

    /// The data columns of a batch that has been loaded, unless no combination of what is there
    /// gives them; and which sectors could not be right as they were.
    fn content<'f>(&'f self, found: &'f Found) -> (Option<Content<'f>>, Vec<(usize, u32)>) {
        let header = &found.header;
        if let Some(content) = self.content_without_lost_drives(found) {
            return (Some(content), Vec::new());
        }
        let columns =
            (0..self.geometry.data()).map(|column| self.column_bytes(column, header)).collect();
        let mut content = Content { columns, header: found, first_row: header.row };
        let suspects = content.suspects(self);
        let is_whole = suspects.is_empty() || self.repair(&mut content, &suspects);
        (is_whole.then_some(content), suspects)
    }

    /// The data columns where drives are lost, and what is left is right: columns are reconstructed
    /// whole, all at once, which is much less work than sector by sector.
    fn content_without_lost_drives<'f>(&'f self, found: &'f Found) -> Option<Content<'f>> {
        let (header, data, total) =
            (&found.header, self.geometry.data(), self.geometry.columns.len());
        let lost: Vec<usize> = (0..data).filter(|column| !self.is_present(*column)).collect();
        // More may be lost by now than when the rest was read.
        if lost.is_empty() || lost.len() > total - data {
            return None;
        }
        let is_whole = |column: &usize| {
            (header.row..header.row + header.rows).all(|row| self.sector(*column, row).is_some())
        };
        let sources: ColumnMask = (0..total).filter(is_whole).take(data).collect();
        let is_known = |column: usize| sources.has(column) || lost.contains(&column);
        if sources.count() < data || !(0..data).all(is_known) {
            return None;
        }
        let mut columns: Vec<Cow<'_, [u8]>> =
            (0..total).map(|column| self.column_bytes(column, header)).collect();
        let mut restored = vec![vec![0; columns[0].len()]; lost.len()];
        let read: Vec<&[u8]> = columns.iter().map(Cow::as_ref).collect();
        let mut outs: Vec<&mut [u8]> = restored.iter_mut().map(Vec::as_mut_slice).collect();
        self.pool.timed_step(
            |steps| &mut steps.parity,
            || parity::reconstruct(data, sources, &read, &lost, &mut outs),
        );
        lost.into_iter()
            .zip(restored)
            .for_each(|(column, bytes)| columns[column] = Cow::Owned(bytes));
        columns.truncate(data);
        let content = Content { columns, header: found, first_row: header.row };
        content.is_right().then_some(content)
    }

    fn is_present(&self, column: usize) -> bool {
        self.pool.array.working(self.geometry.columns[column].drive).is_some()
    }

    /// The batch's part of a column; zeros where it is unreadable.
    fn column_bytes(&self, column: usize, header: &BatchHeader) -> Cow<'_, [u8]> {
        let rows = header.row..header.row + header.rows;
        let (piece, first) = (rows.start / self.rows_at_a_time, rows.start % self.rows_at_a_time);
        let in_piece = first as usize..(first + header.rows) as usize;
        let is_in_one = rows.end.div_ceil(self.rows_at_a_time) == piece + 1;
        if let Some(whole) =
            is_in_one.then(|| self.pieces.read[&piece][column].rows(in_piece)).flatten()
        {
            return Cow::Borrowed(whole);
        }
        let mut bytes = vec![0; header.rows as usize * SECTOR_BYTES];
        for (into, row) in bytes.chunks_exact_mut(SECTOR_BYTES).zip(rows) {
            if let Some(sector) = self.sector(column, row) {
                into.copy_from_slice(sector);
            }
        }
        Cow::Owned(bytes)
    }

    fn parities_of(&self, data: &[impl AsRef<[u8]>]) -> Vec<Vec<u8>> {
        let sources: Vec<&[u8]> = data.iter().map(AsRef::as_ref).collect();
        let mut parities = vec![vec![0; sources[0].len()]; self.geometry.parity()];
        let mut outs: Vec<&mut [u8]> = parities.iter_mut().map(Vec::as_mut_slice).collect();
        self.pool.timed_step(|steps| &mut steps.parity, || parity::encode(&sources, &mut outs));
        parities
    }

    /// Whether every parity sector on a drive that is present is what the data make it.
    fn parity_is_right(&self, found: &Found, parities: &[Vec<u8>]) -> bool {
        let (data, total) = (self.geometry.data(), self.geometry.columns.len());
        (data..total).filter(|column| self.is_present(*column)).all(|column| {
            let header = &found.header;
            (header.row..header.row + header.rows).all(|row| {
                let at = (row - header.row) as usize * SECTOR_BYTES;
                self.sector(column, row) == Some(&parities[column - data][at..at + SECTOR_BYTES])
            })
        })
    }
}

/// A batch of which the header has been found.
pub(crate) struct Found {
    pub header: BatchHeader,
    header_bytes: Vec<u8>,
}

impl Found {
    /// It is in the maps already. Only where it lies still matters.
    fn forget_content(&mut self) {
        self.header.records = Vec::new();
        self.header_bytes = Vec::new();
    }
}

/// A batch that is whole, if need be with the help of parity.
pub(crate) struct Examined {
    /// The bytes of its data columns.
    pub data: Vec<Vec<u8>>,
    /// Every sector of it on drives that are present is right, parity included.
    pub redundant: bool,
}

/// What a look at every byte of a batch has shown.
pub(crate) enum Inspected {
    /// It is known what they should be.
    Known {
        /// The bytes of all its columns, as they were written.
        columns: Vec<Vec<u8>>,
        /// Sectors on drives that are present that are otherwise, by column and row.
        wrong: Vec<WrongSector>,
    },
    /// No combination of what is there gives the batch back.
    Lost {
        /// Sectors on drives that are present that cannot be right.
        wrong: Vec<WrongSector>,
    },
}

/// A sector that is not what was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WrongSector {
    pub column: usize,
    pub row: u32,
    /// Its drive refuses to read it.
    pub is_unreadable: bool,
}
