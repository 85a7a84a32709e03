//! Destage moves the journal into stripes: memory keeps what small commits left in the journal
//! until it makes full batches.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ashlar_block::World;
use ashlar_format::header::{RECORDS_MAX, RecordKind};
use ashlar_format::ids::ShardId;
use ashlar_format::location::Pointer;
use tokio::sync::Notify;

use crate::pool::Pool;
use crate::space::segments::Claim;
use crate::writer::append::{BatchRoom, StreamId};
use crate::writer::batch::{Item, Room};
use crate::writer::compress::Fragment;

/// Blocks of each heat that are kept, at most: several batches. Each takes 4 KiB of memory,
/// however well it is compressed.
const KEPT_MOVES_MAX: usize = 2048;

const _: () = assert!(KEPT_MOVES_MAX > RECORDS_MAX, "a full batch must come together");

/// What is kept of the journal until it makes a full batch, as moves from there.
#[derive(Default)]
struct Kept {
    moves: Vec<Item>,
    room: Room,
}

impl Kept {
    fn add(&mut self, item: Item) {
        self.room.add(&item);
        self.moves.push(item);
    }

    fn fills(&self, batch: BatchRoom) -> bool {
        self.room.records() >= RECORDS_MAX || self.room.rows_min(batch.data) + 1 >= batch.rows_max
    }
}

/// What waits to be striped, and whether it is being done.
#[derive(Default)]
pub(crate) struct Destage {
    /// By heat: cold, then hot.
    kept: [RefCell<Kept>; 2],
    running: Cell<bool>,
    /// Notified when that has ended.
    ended: Notify,
}

impl Destage {
    /// Keeps what is in the journal until it is moved; unless so much is kept that hosts are faster
    /// than the moves. The rest is left to garbage collection.
    pub fn keep(&self, hot: bool, item: Item) {
        if self.kept[usize::from(hot)].borrow().moves.len() >= KEPT_MOVES_MAX {
            return;
        }
        let item = Item { fragment: item.fragment.map(Fragment::detached), ..item };
        self.kept[usize::from(hot)].borrow_mut().add(item);
    }
}

impl<W: World> Pool<W> {
    /// Begins to stripe what is kept of the journal once it makes a full batch.
    pub fn destage_if_full(self: &Rc<Self>) {
        // One at a time: recovery's search counts on how many batches of a stream may be in flight.
        if !self.writer.destage.running.get() && self.full_of_journaled().is_some() {
            self.writer.destage.running.set(true);
            self.spawn(self.clone().stripe_full());
        }
    }

    /// The heat of which a full batch is kept.
    fn full_of_journaled(&self) -> Option<bool> {
        let batch = self.fresh_batch_room(StreamId::Cold);
        [false, true]
            .into_iter()
            .find(|hot| self.writer.destage.kept[usize::from(*hot)].borrow().fills(batch))
    }

    async fn stripe_full(self: Rc<Self>) {
        while let Some(hot) = self.full_of_journaled() {
            if self.stripe_kept(hot).await.is_none() {
                break;
            }
        }
        self.writer.destage.running.set(false);
        self.writer.destage.ended.notify_one();
    }

    /// Stripes all that is kept of the journal, and returns when nothing of that is on its way any
    /// more.
    pub async fn finish_striping(&self) {
        while self.writer.destage.running.get() {
            self.writer.destage.ended.notified().await;
        }
        for hot in [false, true] {
            // `None`: there is no segment, or the pool has halted, which the checkpoint that
            // follows says.
            let _ = self.stripe_kept(hot).await;
        }
    }

    /// Moves what is kept of the journal into stripes, so that the journal's segments become free.
    /// What it leaves behind stays in the journal, where garbage collection finds it. `None`: the
    /// pool has halted, or is being closed and has no segment for it.
    async fn stripe_kept(&self, hot: bool) -> Option<()> {
        let mut items = self.writer.destage.kept[usize::from(hot)].take().moves;
        items.retain(|item| self.is_where_it_was(item));
        while !items.is_empty() {
            let take = |room: BatchRoom, taken: &mut Vec<Item>| {
                taken.extend(items.drain(..room.fitting(&items)))
            };
            let appended = self.append(StreamId::of_hosts(hot), Claim::Upkeep, take).await?;
            let moved = self.finish_move(appended).await?;
            self.count(|counters| counters.jobs.fragments_destaged += moved.applied);
        }
        Some(())
    }

    /// Whether the map still names the place from where the item would be moved, and what it holds
    /// there.
    fn is_where_it_was(&self, item: &Item) -> bool {
        let shard = ShardId::of(item.key.family, item.key.lba);
        let value = self.with_shard(shard, |shard| shard.buffer.get(&item.key));
        let fragment = item.fragment.as_ref();
        let is_kept = |pointer: Pointer| {
            item.kind == RecordKind::Move { from: pointer.location }
                && fragment.is_some_and(|fragment| fragment.crc == pointer.crc)
        };
        value.flatten().is_some_and(is_kept)
    }
}

#[cfg(test)]
mod tests;
