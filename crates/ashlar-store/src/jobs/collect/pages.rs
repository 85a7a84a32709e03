//! Emptying a segment of pages.
//!
//! Memory has the places of the pages of catalog, segment table, deltas and index nodes: the next
//! checkpoint writes those elsewhere, except for deltas, which this job moves. Pages of runs and
//! leaves of the index are many: the records of a segment's batches say which of them it holds, and
//! the map says which of them still count.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use ashlar_block::{Cause, IoError, World};
use ashlar_format::header::{PageKind, Record, RecordKind, page_owner};
use ashlar_format::ids::{GroupKey, SHARD_COUNT, ShardId};
use ashlar_format::location::{Pointer, SegmentId};
use ashlar_format::table::SegmentKind;
use futures_util::future::join_all;

use super::emptying::Emptying;
use super::{Rest, Stop, Unread};
use crate::lookup::hold::Held;
use crate::map::index::LOWEST;
use crate::map::shard::PageOwner;
use crate::pool::Pool;
use crate::space::ledger::NamedAt;
use crate::space::segments::Claim;
use crate::writer::pages::NewPage;

/// Pages that are moved at a time.
const PAGES_AT_A_TIME: usize = 128;

/// A page of the map that is to be moved.
#[derive(Clone, Copy)]
struct MapPage {
    shard: ShardId,
    owner: PageOwner,
    at: Pointer,
}

impl MapPage {
    /// Whether the map may name another place of it: not that of a run whose group is not held,
    /// because its leaf cannot be read.
    fn may_move<W: World>(&self, held: &[Held<'_, W>]) -> bool {
        match self.owner {
            PageOwner::Run(group) => !held.iter().any(|held| held.lacks(self.shard, group)),
            PageOwner::Leaf(_) | PageOwner::Deltas => true,
        }
    }

    fn copy(&self, bytes: Vec<u8>) -> NewPage {
        let (kind, group) = match self.owner {
            PageOwner::Run(group) => (PageKind::Map, group),
            PageOwner::Leaf(key) => (PageKind::IndexLeaf, key),
            PageOwner::Deltas => (PageKind::Delta, LOWEST),
        };
        NewPage::of_map(kind, self.shard, group, bytes)
    }
}

/// A page that a record says was written, and whose it was.
struct Written {
    kind: PageKind,
    shard: ShardId,
    group: GroupKey,
    at: Pointer,
}

impl Written {
    fn of(record: &Record) -> Option<Self> {
        let RecordKind::Page(kind) = record.kind else { return None };
        let (shard, group) = page_owner(&record.key)?;
        Some(Written {
            kind,
            shard,
            group,
            at: Pointer { location: record.location?, crc: record.crc },
        })
    }
}

impl<W: World> Pool<W> {
    /// Writes the map's pages that lie in the segment elsewhere, or has the next checkpoint do it.
    pub(super) async fn relocate_pages(
        &self,
        mut emptying: Emptying,
        rest: Rest,
    ) -> Result<(), Stop> {
        let victim = emptying.victim;
        let claim = self.claim_for_collecting(victim);
        let mut unread = Unread::none(rest);
        self.checkpoint.catalog_pages.borrow_mut().touch_in(victim);
        self.touch_table_in(victim);
        let deltas = self.deltas_in(victim);
        // Pages of all shards together: each append is whole rows.
        for chunk in deltas.chunks(PAGES_AT_A_TIME) {
            self.move_pages(chunk, claim, &mut unread).await?;
        }
        let kind = self.space.segments.borrow().get(victim).map(|segment| segment.kind);
        if kind == Some(SegmentKind::Table) {
            return Ok(unread.is_all()?);
        }
        loop {
            let records = self.read_page_records(&mut emptying).await?;
            if records.is_empty() {
                break;
            }
            let named = join_all(records.iter().map(|record| self.named_page(record))).await;
            let (pages, errors): (Vec<_>, Vec<_>) = named.into_iter().partition(Result::is_ok);
            unread.meets(errors.into_iter().filter_map(Result::err).collect())?;
            let mut pages: Vec<_> =
                pages.into_iter().filter_map(|page| page.ok().flatten()).collect();
            let held = self.hold_owners(&pages, &mut unread).await?;
            pages.retain(|page: &MapPage| page.may_move(&held));
            self.move_pages(&pages, claim, &mut unread).await?;
        }
        emptying.unread.is_all()?;
        Ok(unread.is_all()?)
    }

    /// The pages of deltas that lie in the segment. Has the next checkpoint write nodes and
    /// directories that do.
    fn deltas_in(&self, victim: SegmentId) -> Vec<MapPage> {
        let shards = (0..SHARD_COUNT as u8).map(ShardId);
        let of_shard = |shard| {
            let pages = self.with_shard(shard, |shard| {
                shard.touch_pages_in(victim);
                shard.delta_pages_in(victim)
            });
            pages.into_iter().map(move |at| MapPage { shard, owner: PageOwner::Deltas, at })
        };
        shards.flat_map(of_shard).collect()
    }

    /// Some pages of runs and leaves that were written to the segment; none: that was all.
    async fn read_page_records(&self, emptying: &mut Emptying) -> Result<Vec<Written>, IoError> {
        while emptying.records.len() < PAGES_AT_A_TIME && self.next_rows(emptying).is_some() {
            self.read_records(emptying, PAGES_AT_A_TIME).await?;
        }
        let count = emptying.records.len().min(PAGES_AT_A_TIME);
        Ok(emptying.records.drain(..count).filter_map(|record| Written::of(&record)).collect())
    }

    /// Holds the groups of these pages.
    async fn hold_owners(
        &self,
        pages: &[MapPage],
        unread: &mut Unread,
    ) -> Result<Vec<Held<'_, W>>, IoError> {
        let mut groups: BTreeMap<ShardId, BTreeSet<GroupKey>> = BTreeMap::new();
        for page in pages {
            if let PageOwner::Run(group) = page.owner {
                groups.entry(page.shard).or_default().insert(group);
            }
        }
        let hold = |(shard, groups): (ShardId, BTreeSet<GroupKey>)| {
            self.hold(shard, groups.into_iter().collect())
        };
        let held = join_all(groups.into_iter().map(hold)).await;
        unread.meets(held.iter().filter_map(|held| held.error.clone()).collect())?;
        Ok(held)
    }

    /// The page, if the map still names it.
    async fn named_page(&self, page: &Written) -> Result<Option<MapPage>, IoError> {
        let Written { kind, shard, group, at } = *page;
        let owner = match kind {
            PageKind::Map => {
                self.names_run_page(shard, group, at).await?.then_some(PageOwner::Run(group))
            }
            // One that has changed the next checkpoint writes elsewhere.
            _ => self
                .with_shard(shard, |shard| shard.index.is_unchanged_at(group, at))
                .then_some(PageOwner::Leaf(group)),
        };
        Ok(owner.map(|owner| MapPage { shard, owner, at }))
    }

    async fn move_pages(
        &self,
        pages: &[MapPage],
        claim: Claim,
        unread: &mut Unread,
    ) -> Result<(), Stop> {
        let errors = RefCell::new(Vec::new());
        let read = async |page: &MapPage| {
            let read = self.read_to_move(page).await;
            Ok::<_, Infallible>(read.unwrap_or_else(|error| {
                errors.borrow_mut().push(error);
                None
            }))
        };
        let Ok(read) = self.read_pages(pages, read).await;
        unread.meets(errors.take())?;
        let (from, copies): (Vec<MapPage>, Vec<NewPage>) = pages
            .iter()
            .zip(read)
            .filter_map(|(page, bytes)| Some((*page, page.copy(bytes?))))
            .unzip();
        let to = self.append_pages(claim, copies).await?;
        if from.len() < pages.len() {
            // Chosen again before its shard is distributed, it would take a checkpoint each time.
            unread.keep(IoError::new(Cause::Unrecovered, "a page of deltas cannot be read"));
        }
        for (page, to) in from.into_iter().zip(to) {
            let is_named =
                self.with_shard(page.shard, |shard| shard.page_moved(page.owner, page.at, to));
            let unneeded = if is_named { page.at } else { to };
            match page.owner {
                PageOwner::Run(group) => {
                    let at = NamedAt { shard: page.shard, group };
                    self.space.ledger.discard_run_page(at, unneeded);
                }
                PageOwner::Leaf(_) | PageOwner::Deltas => self.space.ledger.discard_page(unneeded),
            }
        }
        Ok(())
    }

    /// A page's content. `None`: it is one of deltas and cannot be read; what it says is in memory,
    /// and goes into runs.
    async fn read_to_move(&self, page: &MapPage) -> Result<Option<Vec<u8>>, IoError> {
        match (self.read_page(page.at).await, page.owner) {
            (Err(error), PageOwner::Deltas) => {
                self.spoiled(page.shard, &error);
                Ok(None)
            }
            (read, _) => read.map(Some),
        }
    }
}
