//! Every way to have sectors of one column: as its drive gave them, or made of the other columns.
//!
//! A drive may give wrong bytes without saying so, and so may those that a column is reconstructed
//! from. Only the caller can tell right bytes, by a checksum over all of them. So ways are tried
//! until the caller accepts one.
//!
//! The number of ways grows fast: a column of 20+4 can be made of the others in 1,771 ways, and two
//! sectors of it in three million. What is likely comes first, nothing is made before it is tried,
//! ways that must give the same are tried once, and there is a bound.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use smallvec::SmallVec;

use crate::geometry::{COLUMNS_MAX, ColumnMask};
use crate::parity::{self, Recipe};

/// Ways to combine rows that are tried at most, beyond those in which all rows are had alike. Two
/// rows of up to 8+3 columns have 2,116.
const MIXED_MAX: usize = 1 << 14;

/// How a column is made of all choices of others, as far as somebody has asked for that.
pub struct Recipes {
    data: usize,
    column: usize,
    /// By what can be read.
    known: RefCell<BTreeMap<u32, Rc<[Recipe]>>>,
    /// By what can be read: the first of those.
    firsts: RefCell<BTreeMap<u32, Option<Rc<Recipe>>>>,
    /// By what can be read: how the columns behind the first that are enough follow from those.
    checks: RefCell<BTreeMap<u32, Rc<[Check]>>>,
}

/// What a column is if it is of one stripe with others.
struct Check {
    column: usize,
    recipe: Recipe,
}

impl Recipes {
    /// Those of `column` of a stripe of `data` data columns.
    pub fn new(data: usize, column: usize) -> Self {
        Recipes {
            data,
            column,
            known: RefCell::default(),
            firsts: RefCell::default(),
            checks: RefCell::default(),
        }
    }

    fn make(&self, readable: ColumnMask) -> impl Iterator<Item = Recipe> {
        let others = readable.iter().filter(|other| *other != self.column).collect();
        choices(others, self.data).map(|sources| Recipe::new(self.data, sources, self.column))
    }

    /// All of them: of a column of 20+4 there are 1,771.
    fn of(&self, readable: ColumnMask) -> Rc<[Recipe]> {
        let mut known = self.known.borrow_mut();
        known.entry(readable.0).or_insert_with(|| self.make(readable).collect()).clone()
    }

    /// The first alone, where one is as good as another.
    fn first(&self, readable: ColumnMask) -> Option<Rc<Recipe>> {
        let mut firsts = self.firsts.borrow_mut();
        firsts.entry(readable.0).or_insert_with(|| self.make(readable).next().map(Rc::new)).clone()
    }

    fn checks(&self, readable: ColumnMask) -> Rc<[Check]> {
        let make = || {
            let sources: ColumnMask = readable.iter().take(self.data).collect();
            let check = |column| Check { column, recipe: Recipe::new(self.data, sources, column) };
            readable.iter().skip(self.data).map(check).collect()
        };
        self.checks.borrow_mut().entry(readable.0).or_insert_with(make).clone()
    }
}

/// The sectors of one column in consecutive rows, and what they can be made of.
pub struct Ways<'a> {
    recipes: &'a Recipes,
    rows: Vec<Row<'a>>,
}

/// The sectors of all columns in one row; empty where one cannot be read.
struct Row<'a>(SmallVec<[&'a [u8]; COLUMNS_MAX]>);

/// How the column's sector is had.
#[derive(Clone, Copy)]
enum Way<'r> {
    AsItIs,
    By(&'r Recipe),
}

impl<'a> Ways<'a> {
    /// The ways to have the column of `recipes`, in no row yet.
    pub fn new(recipes: &'a Recipes) -> Self {
        Ways { recipes, rows: Vec::new() }
    }

    /// The next row: the sector of each column, empty where it cannot be read.
    pub fn add_row(&mut self, columns: impl Iterator<Item = &'a [u8]>) {
        self.rows.push(Row(columns.collect()));
    }

    /// The column's sectors, one behind the other, in the first way that `accept` takes. Rows are
    /// had alike at first, then each in its own way: neighbouring rows may have lost different
    /// columns.
    pub fn find(&self, mut accept: impl FnMut(&[u8]) -> bool) -> Option<Vec<u8>> {
        let readable = self.rows.iter().map(Row::readable).reduce(ColumnMask::and)?;
        let recipes = self.recipes.of(readable);
        let mut alike = self.ways(readable, &recipes).map(|way| self.all_rows(way));
        alike
            .find(|bytes| accept(bytes))
            .or_else(|| (self.rows.len() > 1).then(|| self.find_mixed(accept))?)
    }

    fn find_mixed(&self, mut accept: impl FnMut(&[u8]) -> bool) -> Option<Vec<u8>> {
        let rows: Vec<Vec<Vec<u8>>> = self.rows.iter().map(|row| self.distinct(row, &[])).collect();
        let all = rows.iter().fold(1, |all: usize, row| all.saturating_mul(row.len()));
        let mixed = |mut nth: usize| {
            let chosen = rows.iter().map(|row| {
                let sector = &row[nth % row.len()];
                nth /= row.len();
                sector.as_slice()
            });
            chosen.collect::<Vec<_>>().concat()
        };
        (0..all.min(MIXED_MAX)).map(mixed).find(|bytes| accept(bytes))
    }

    /// The first row's sector as it is, if it begins with `start`.
    pub fn first_sector(&self, start: &[u8]) -> Option<&'a [u8]> {
        let sector = self.rows.first()?.0[self.recipes.column];
        sector.starts_with(start).then_some(sector)
    }

    /// All that the first row's sector may be, each once, if it begins with `start`.
    pub fn first_sectors(&self, start: &[u8]) -> Vec<Vec<u8>> {
        self.rows.first().map_or_else(Vec::new, |row| self.distinct(row, start))
    }

    /// All that a row's sector may be, each once, if it begins with `start`. Just one way is tried
    /// where all give the same, and the others are not worked out. Most rows are of that sort: what
    /// was written whole, and what never was written.
    fn distinct(&self, row: &Row<'a>, start: &[u8]) -> Vec<Vec<u8>> {
        // Of zeros nothing but zeros is made, and most of a new segment was never written.
        if start.iter().any(|byte| *byte != 0) && row.begins_with_zeros(start.len()) {
            return Vec::new();
        }
        let readable = row.readable();
        let begins_with_it = |way: &Way<'_>| row.begins_with(*way, start, self.recipes.column);
        let recipe =
            if readable.has(self.recipes.column) { None } else { self.recipes.first(readable) };
        let first = match recipe.as_deref() {
            Some(recipe) => Way::By(recipe),
            None if readable.has(self.recipes.column) => Way::AsItIs,
            None => return Vec::new(),
        };
        if self.agree(row, parity::TILE_BYTES)
            && (!begins_with_it(&first) || self.agree(row, usize::MAX))
        {
            return if begins_with_it(&first) { vec![self.sector(row, first)] } else { Vec::new() };
        }
        let recipes = self.recipes.of(readable);
        let mut sectors: Vec<Vec<u8>> = Vec::new();
        for way in self.ways(readable, &recipes).filter(begins_with_it) {
            let sector = self.sector(row, way);
            if !sectors.contains(&sector) {
                sectors.push(sector);
            }
        }
        sectors
    }

    /// Whether the first bytes of all columns of a row that can be read are of one stripe, so that
    /// it is the same which of them are taken.
    fn agree(&self, row: &Row<'a>, bytes_max: usize) -> bool {
        let columns = row.starts(bytes_max);
        let mut made = vec![0; row.bytes().min(bytes_max)];
        self.recipes.checks(row.readable()).iter().all(|check| {
            check.recipe.make(&columns, &mut made);
            columns[check.column] == made
        })
    }

    /// As it is comes first, if that can be read.
    fn ways<'r>(
        &self,
        readable: ColumnMask,
        recipes: &'r [Recipe],
    ) -> impl Iterator<Item = Way<'r>> + use<'r> {
        let as_it_is = readable.has(self.recipes.column).then_some(Way::AsItIs);
        as_it_is.into_iter().chain(recipes.iter().map(Way::By))
    }

    fn all_rows(&self, way: Way<'_>) -> Vec<u8> {
        self.rows.iter().flat_map(|row| self.sector(row, way)).collect()
    }

    fn sector(&self, row: &Row<'a>, way: Way<'_>) -> Vec<u8> {
        match way {
            Way::AsItIs => row.0[self.recipes.column].to_vec(),
            Way::By(recipe) => {
                let mut out = vec![0; row.bytes()];
                recipe.make(&row.0, &mut out);
                out
            }
        }
    }
}

impl<'a> Row<'a> {
    /// The first bytes of each column, as many as there are up to `bytes_max`.
    fn starts(&self, bytes_max: usize) -> SmallVec<[&'a [u8]; COLUMNS_MAX]> {
        self.0.iter().map(|sector| &sector[..sector.len().min(bytes_max)]).collect()
    }

    fn begins_with(&self, way: Way<'_>, start: &[u8], column: usize) -> bool {
        match way {
            Way::AsItIs => self.0[column].starts_with(start),
            Way::By(recipe) => recipe.begins_with(&self.0, start),
        }
    }

    fn begins_with_zeros(&self, bytes_max: usize) -> bool {
        self.starts(bytes_max).iter().all(|start| start.iter().all(|byte| *byte == 0))
    }

    fn readable(&self) -> ColumnMask {
        (0..self.0.len()).filter(|column| !self.0[*column].is_empty()).collect()
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|sector| sector.len()).max().unwrap_or(0)
    }
}

/// Every choice of `count` columns among `readable`; none if there are fewer.
pub(crate) fn choices(readable: ColumnMask, count: usize) -> impl Iterator<Item = ColumnMask> {
    let columns: Vec<usize> = (0..COLUMNS_MAX).filter(|column| readable.has(*column)).collect();
    let skipped_drives =
        columns.len().checked_sub(count).map(|extra| subsets(columns.len(), extra));
    skipped_drives.into_iter().flatten().map(move |skipped_drives| {
        (0..columns.len())
            .filter(|nth| skipped_drives >> nth & 1 == 0)
            .map(|nth| columns[nth])
            .collect()
    })
}

/// All sets of `size` of the numbers below `of`, as bits, in ascending order (Knuth, TAOCP 4A,
/// 7.1.3: the next larger word with as many ones).
fn subsets(of: usize, size: usize) -> impl Iterator<Item = u64> {
    let next = |set: &u64| {
        let lowest = set & set.wrapping_neg();
        let ripple = set + lowest;
        (lowest > 0).then(|| ripple | (((set ^ ripple) >> 2) / lowest))
    };
    std::iter::successors(Some((1u64 << size) - 1), next).take_while(move |set| *set < 1 << of)
}

#[cfg(test)]
mod tests;
