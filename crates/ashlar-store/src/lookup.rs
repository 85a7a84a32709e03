//! Lookups find blocks in the map, and read pages where that is needed.
//!
//! Owns holds: which groups are kept in memory because somebody is about to change them. It must
//! not know what is done with a block that was found.
//!
//! 1. All blocks of a read are looked up in one turn: it sees all of a concurrent write or nothing.
//! 2. What was found is pinned before the turn ends: its segment is not freed while it is read.
//! 3. A page that is missing is read, and the map is asked again: the page may be elsewhere then.

pub(crate) mod hold;
pub(crate) mod read;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{Cause, IoError, World};
use ashlar_format::ids::{Key, ShardId};
use ashlar_format::location::Pointer;
use ashlar_format::page::{PageEntry, StoredLeaf, Value};
use futures_util::future::{join_all, try_join_all};
use smallvec::SmallVec;

use crate::base::counters::StepCounters;
use crate::map::cache::{Page, PageCache};
use crate::map::shard::{Look, Needed, Pages};
use crate::pool::Pool;

/// Pages that a lookup of several blocks needs and that are listed without an allocation.
const NEEDED_INLINE: usize = 4;

/// The cache, and the pages that one lookup has read: those must be at hand at its last looks, even
/// if the cache has thrown them out by then.
struct AtHand<'a> {
    cache: &'a PageCache,
    own: RefCell<BTreeMap<Pointer, Page>>,
}

impl Pages for AtHand<'_> {
    fn page(&self, pointer: Pointer) -> Option<Rc<Vec<PageEntry>>> {
        self.own(pointer).map_or_else(|| self.cache.page(pointer), Page::entries)
    }

    fn leaf(&self, pointer: Pointer) -> Option<Rc<StoredLeaf>> {
        self.own(pointer).map_or_else(|| self.cache.leaf(pointer), Page::leaf)
    }
}

impl<'a> AtHand<'a> {
    fn new(cache: &'a PageCache) -> Self {
        AtHand { cache, own: RefCell::default() }
    }

    fn own(&self, pointer: Pointer) -> Option<Page> {
        self.own.borrow().get(&pointer).cloned()
    }
}

/// Pages that looks need, each with a key that needs it.
type AllNeeded = SmallVec<[(Key, Needed); NEEDED_INLINE]>;

impl<W: World> Pool<W> {
    /// Calls `with` with the newest value of `key`, in the same turn in which that is the newest.
    pub async fn lookup<T>(&self, key: &Key, with: impl FnOnce(Value) -> T) -> Result<T, IoError> {
        let pages = AtHand::new(&self.map.pages);
        loop {
            match self.look(key, &pages) {
                Look::Value(value) => return Ok(with(value)),
                Look::Needs(page) => self.read_needed(key, page, &pages).await?,
            }
        }
    }

    /// Fills `found` with what `with` makes of the newest values of `count` blocks from `first` on,
    /// all of them in the same turn: of a write that is published between two turns all is seen, or
    /// nothing.
    pub async fn lookup_all<T>(
        &self,
        first: Key,
        count: usize,
        found: &mut Vec<T>,
        with: impl Fn(usize, Value) -> Option<T>,
    ) -> Result<(), IoError> {
        let pages = AtHand::new(&self.map.pages);
        let began = self.world.now();
        let (mut turn_began, mut busy) = (began, Duration::ZERO);
        loop {
            found.clear();
            let needed = self
                .look_at_all(first, count, &pages, |index, value| found.extend(with(index, value)));
            let now = self.world.now();
            busy += now.since(turn_began);
            if needed.is_empty() {
                let took = StepCounters { operations: 1, latency: now.since(began), busy };
                self.count(|counters| counters.steps.map.add(took));
                return Ok(());
            }
            // What was found so far may be older than what comes next.
            found.clear();
            try_join_all(needed.iter().map(|(key, page)| self.read_needed(key, *page, &pages)))
                .await?;
            turn_began = self.world.now();
        }
    }

    /// Calls `with` for each block whose value is at hand. Returns the pages that the others need.
    fn look_at_all(
        &self,
        first: Key,
        count: usize,
        pages: &AtHand<'_>,
        mut with: impl FnMut(usize, Value),
    ) -> AllNeeded {
        let mut needed = AllNeeded::new();
        for index in 0..count {
            let key = Key { lba: first.lba.plus(index as u64), ..first };
            match self.look(&key, pages) {
                Look::Value(value) => with(index, value),
                Look::Needs(page) if needed.iter().any(|(_, known)| *known == page) => {}
                Look::Needs(page) => needed.push((key, page)),
            }
        }
        needed
    }

    fn look(&self, key: &Key, pages: &AtHand<'_>) -> Look {
        self.with_shard(ShardId::of(key.family, key.lba), |shard| shard.look(key, pages))
    }

    /// Reads a page that a look needs, unless the group has changed meanwhile and the page is gone.
    async fn read_needed(
        &self,
        key: &Key,
        needed: Needed,
        pages: &AtHand<'_>,
    ) -> Result<(), IoError> {
        let (at, read) = match needed {
            Needed::Page(at) => (at, self.read_map_page(at).await.map(Page::Entries)),
            Needed::Leaf(at) => (at, self.read_leaf(at).await.map(Page::Leaf)),
        };
        let read = read.map(|page| drop(pages.own.borrow_mut().insert(at, page)));
        // With the pages that it has, or one that the cache has thrown out would pass for a change.
        read.or_else(
            |error| if self.look(key, pages) == Look::Needs(needed) { Err(error) } else { Ok(()) },
        )
    }

    /// The newest value of each key. Values come from different turns: those that need no page from
    /// this one, the others from when their pages are read.
    pub async fn lookup_each(
        &self,
        keys: impl Iterator<Item = Key>,
    ) -> Vec<Result<Value, IoError>> {
        let at_hand = AtHand::new(&self.map.pages);
        let (mut values, mut needy) = (Vec::new(), Vec::new());
        for (index, key) in keys.enumerate() {
            match self.look(&key, &at_hand) {
                Look::Value(value) => values.push(Ok(value)),
                Look::Needs(_) => {
                    values.push(Ok(None));
                    needy.push((index, key));
                }
            }
        }
        let read = join_all(needy.iter().map(|(_, key)| self.lookup(key, |value| value))).await;
        needy.iter().zip(read).for_each(|((index, _), value)| values[*index] = value);
        values
    }
}

/// A map that cannot be read is worse than a block that cannot: say which.
pub(crate) fn map_unreadable(error: IoError) -> IoError {
    IoError::new(Cause::Unrecovered, format!("the map cannot be read: {error}"))
}

#[cfg(test)]
mod tests;
