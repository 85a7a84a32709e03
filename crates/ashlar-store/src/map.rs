//! The map: from a block to where it is stored. Log-structured, in 64 shards.

pub mod buffer;
pub mod cache;
pub mod deltas;
pub mod index;
pub mod need;
pub mod shard;

use std::cell::RefCell;

use ashlar_format::ids::{GroupKey, ShardId};
use cache::PageCache;
use shard::Shard;

/// A pool's maps, and the pages of them that are in memory.
pub(crate) struct Map {
    pub shards: RefCell<Vec<Shard>>,
    pub pages: PageCache,
    /// Groups that stay held until nothing is on its way. See `lookup/hold.rs`.
    pub outlived_holds: RefCell<Vec<(ShardId, Vec<GroupKey>)>>,
}

impl Map {
    pub fn new(shards: Vec<Shard>, cache_bytes: usize) -> Self {
        Map {
            shards: RefCell::new(shards),
            pages: PageCache::new(cache_bytes),
            outlived_holds: RefCell::default(),
        }
    }
}
