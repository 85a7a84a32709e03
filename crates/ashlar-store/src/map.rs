//! The map: from a block to where it is stored. Log-structured, in 64 shards.
//!
//! Owns what the map says: buffers of updates, runs and their index, deltas, cached pages. It must
//! not know drives: who looks is told which page the answer depends on.
//!
//! 1. The newest value of a block is in its shard's buffer, or else in the newest run of its group
//!    that says anything of the block.
//! 2. Every update of a buffer that is not fresh is in a delta that the next root names, until runs
//!    say the same.
//! 3. A location is counted once as long as anything names it: `Ledger` is told when it is named
//!    and when that is displaced.
//! 4. Upkeep alone adds, merges and moves runs; a zero range of a host adds a cut, to a group that
//!    is held in memory.

pub mod buffer;
pub mod cache;
pub mod deltas;
pub mod index;
pub mod need;
pub mod shard;

use std::cell::RefCell;
use std::rc::Weak;

use ashlar_format::ids::{GroupKey, ShardId};
use cache::PageCache;
use shard::Shard;
use tokio::sync::OwnedSemaphorePermit;

/// A pool's maps, and the pages of them that are in memory.
pub(crate) struct Map {
    pub shards: RefCell<Vec<Shard>>,
    pub pages: PageCache,
    /// Groups that stay held until zeros are here whose host has gone.
    pub outlived_holds: RefCell<Vec<Outlived>>,
}

/// Groups of a shard whose holder has gone before the zeros that it held them for were in the
/// maps.
pub(crate) struct Outlived {
    pub shard: ShardId,
    pub groups: Vec<GroupKey>,
    /// Is there as long as zeros are on their way.
    pub on_their_way: Weak<OwnedSemaphorePermit>,
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
