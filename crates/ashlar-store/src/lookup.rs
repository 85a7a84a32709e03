//! Looking blocks up in the map, reading pages where that is needed.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use ashlar_block::{Cause, IoError, Lba, World};

use crate::format::location::Pointer;
use crate::format::page::{PageEntry, Value};
use crate::map::cache::PageCache;
use crate::map::shard::{Look, Pages};
use crate::pool::Pool;
use crate::types::{Family, GroupKey, Key, Layer, ShardId};

/// The cache, and the pages that one lookup has read: those must be at hand at its last look, even if the cache has
/// thrown them out by then.
struct AtHand<'a> {
    cache: &'a PageCache,
    own: RefCell<BTreeMap<Pointer, Rc<Vec<PageEntry>>>>,
}

impl Pages for AtHand<'_> {
    fn page(&self, pointer: Pointer) -> Option<Rc<Vec<PageEntry>>> {
        self.own.borrow().get(&pointer).cloned().or_else(|| self.cache.page(pointer))
    }
}

impl<W: World> Pool<W> {
    /// Calls `with` with the newest value of `key`, in the same turn in which that is the newest.
    pub async fn lookup<T>(&self, key: &Key, with: impl FnOnce(Value) -> T) -> Result<T, IoError> {
        let pages = AtHand { cache: &self.pages, own: RefCell::default() };
        let shard = ShardId::of(key.family, key.lba);
        loop {
            match self.with_shard(shard, |shard| shard.look(key, &pages)) {
                Look::Value(value) => return Ok(with(value)),
                Look::Needs(pointer) => {
                    let page = self.read_needed(key, pointer, &pages).await?;
                    pages.own.borrow_mut().extend(page.map(|page| (pointer, page)));
                }
            }
        }
    }

    /// Reads a page that a look needs. `None`: the group has changed and the page is gone; look again.
    async fn read_needed(
        &self,
        key: &Key,
        pointer: Pointer,
        pages: &AtHand<'_>,
    ) -> Result<Option<Rc<Vec<PageEntry>>>, IoError> {
        match self.read_map_page(pointer).await {
            Ok(page) => Ok(Some(page)),
            Err(error) => {
                let shard = ShardId::of(key.family, key.lba);
                // With the pages that it has, or one that the cache has thrown out would pass for a change.
                let again = self.with_shard(shard, |shard| shard.look(key, pages));
                if again == Look::Needs(pointer) { Err(error) } else { Ok(None) }
            }
        }
    }

    /// The first groups of a volume, at most `count`, in which there may be anything of `blocks`.
    pub fn first_gibs_that_hold(
        &self,
        family: Family,
        layer: Layer,
        blocks: &Range<Lba>,
        count: usize,
    ) -> Vec<GroupKey> {
        let shards = self.shards.borrow();
        let mut groups = BTreeSet::new();
        for shard in shards.iter() {
            groups.extend(shard.first_groups_that_hold(family, layer, blocks, count));
        }
        groups.into_iter().take(count).collect()
    }

    /// Whether the group is crowded in any shard.
    pub fn is_crowded(&self, group: GroupKey) -> bool {
        self.shards.borrow().iter().any(|shard| shard.is_crowded(group))
    }

    /// Reads the pages that looking up `key` needs into the cache; an error is left to the lookup itself.
    pub async fn prefetch(&self, key: &Key) {
        let _ = self.lookup(key, |_| ()).await;
    }
}

/// A map that cannot be read is worse than a block that cannot: say which.
pub(crate) fn map_unreadable(error: IoError) -> IoError {
    IoError::new(Cause::Unrecovered, format!("the map cannot be read: {error}"))
}
