//! Heat picks the stream of a fragment, so that fragments that are overwritten together lie
//! together, and segments are nearly empty when they are collected.
//!
//! A block that is overwritten soon after it was written is hot, and so, most likely, is its next
//! version. What survives a collection is young, what survives another one is old. Small pools have
//! one stream of each sort: half-filled segments would cost more than the sorting saves.

use std::cell::Cell;

use ashlar_block::World;
use ashlar_format::ids::{Key, Lsn, ShardId};
use ashlar_format::table::SegmentKind;

use crate::pool::Pool;
use crate::writer::append::StreamId;
use crate::writer::batch::Item;

/// Weight of what a hot segment lived in the mean of those before: one part of this many.
const MEAN_PARTS: u64 = 16;

/// How long what is hot lives.
#[derive(Debug, Default)]
pub(crate) struct Heat {
    /// The pool is large enough to be sorted.
    sorts: Cell<bool>,
    /// Mean life of hot segments that were emptied: batches from their sealing on. 0 until the
    /// first one.
    hot_life: Cell<u64>,
}

impl Heat {
    /// Whether what is written is sorted at all.
    pub fn sorts(&self) -> bool {
        self.sorts.get()
    }

    /// Whether the pool is large enough to be sorted.
    pub fn sort(&self, sorts: bool) {
        self.sorts.set(sorts);
    }

    /// A hot segment has been emptied, after so many batches.
    pub fn hot_segment_lived(&self, sealed: Lsn, now: Lsn) {
        let (life, mean) = (now.batches_since(sealed), self.hot_life.get());
        let mean = if mean == 0 { life } else { mean - mean / MEAN_PARTS + life / MEAN_PARTS };
        self.hot_life.set(mean.max(1));
    }

    /// Whether a block is hot whose version before was written at `born`, as far as that is known.
    pub fn is_hot(&self, born: Option<Lsn>, now: Lsn) -> bool {
        let mean = self.hot_life.get();
        self.sorts.get() && born.is_some_and(|born| mean == 0 || now.batches_since(born) < mean)
    }

    /// Where what survives the collection of a segment of this kind goes.
    pub fn stream_of_survivors(&self, victim: SegmentKind) -> StreamId {
        match victim {
            SegmentKind::Moved if self.sorts.get() => StreamId::Old,
            _ => StreamId::Young,
        }
    }
}

impl<W: World> Pool<W> {
    /// Whether most of what `items` replace was written a short while ago.
    pub fn is_hot(&self, items: &[Item]) -> bool {
        if !self.writer.heat.sorts() {
            return false;
        }
        let now = self.writer.lsns.next();
        let stored = items.iter().filter(|item| item.fragment.is_some());
        let (hot, all) = stored.fold((0, 0), |(hot, all), item| {
            let is_hot = self.writer.heat.is_hot(self.born(&item.key), now);
            (hot + usize::from(is_hot), all + 1)
        });
        2 * hot > all
    }

    /// When the version of a block was written that is to be replaced, as far as memory tells.
    fn born(&self, key: &Key) -> Option<Lsn> {
        let shard = ShardId::of(key.family, key.lba);
        let pointer = self.with_shard(shard, |shard| shard.buffer.get(key)).flatten()?;
        self.space
            .segments
            .borrow()
            .get(pointer.location.segment())
            .map(|segment| segment.first_lsn)
    }
}

#[cfg(test)]
mod tests;
