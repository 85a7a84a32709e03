//! From the journal into stripes: what small commits left in the journal is kept in memory until it makes full batches.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ashlar_block::World;
use tokio::sync::Notify;

use crate::append::{BatchRoom, StreamId};
use crate::batch::{Item, Room};
use crate::compress::Fragment;
use crate::format::header::{RECORDS_MAX, RecordKind};
use crate::format::location::Location;
use crate::pool::Pool;
use crate::segments::Claim;
use crate::types::{Key, ShardId};

/// A fragment that is in the journal and waits to be striped.
pub(crate) struct Journaled {
    pub key: Key,
    pub fragment: Fragment,
    /// Where the journal has it.
    pub at: Location,
}

/// What is kept of the journal until it makes a full batch.
#[derive(Default)]
struct Kept {
    fragments: Vec<Journaled>,
    room: Room,
}

impl Kept {
    fn add(&mut self, fragment: Journaled) {
        self.room.add(&fragment.item());
        self.fragments.push(fragment);
    }

    fn fills(&self, batch: BatchRoom) -> bool {
        self.room.records() >= RECORDS_MAX || self.room.rows_min(batch.data) + 1 >= batch.rows_max
    }
}

impl Journaled {
    fn item(&self) -> Item {
        Item {
            kind: RecordKind::Move { from: self.at },
            key: self.key,
            fragment: Some(self.fragment.clone()),
        }
    }
}

/// What waits to be striped, and whether it is being done.
#[derive(Default)]
pub(crate) struct Striping {
    /// By temperature: cold, then hot.
    kept: [RefCell<Kept>; 2],
    running: Cell<bool>,
    /// Rung when that has ended.
    ended: Notify,
}

impl Striping {
    /// Keeps a fragment that is in the journal.
    pub fn keep(&self, hot: bool, fragment: Journaled) {
        self.kept[usize::from(hot)].borrow_mut().add(fragment);
    }
}

impl<W: World> Pool<W> {
    /// Begins to stripe what is kept of the journal once it makes a full batch.
    pub fn stripe_if_full(self: &Rc<Self>) {
        // One at a time: recovery's search counts on how many batches of a stream may be in flight.
        if !self.striping.running.get() && self.full_of_journaled().is_some() {
            self.striping.running.set(true);
            self.world.spawn(self.clone().stripe_full());
        }
    }

    /// The temperature of which a full batch is kept.
    fn full_of_journaled(&self) -> Option<bool> {
        let batch = self.fresh_batch_room(StreamId::Cold);
        [false, true].into_iter().find(|hot| self.striping.kept[usize::from(*hot)].borrow().fills(batch))
    }

    async fn stripe_full(self: Rc<Self>) {
        while let Some(hot) = self.full_of_journaled() {
            if self.stripe_kept(hot).await.is_none() {
                break;
            }
        }
        self.striping.running.set(false);
        self.striping.ended.notify_one();
    }

    /// Stripes all that is kept of the journal, and returns when nothing of that is on its way any more.
    pub async fn finish_striping(&self) {
        while self.striping.running.get() {
            self.striping.ended.notified().await;
        }
        for hot in [false, true] {
            // `None`: the pool has halted, which the checkpoint that follows says.
            let _ = self.stripe_kept(hot).await;
        }
    }

    /// Moves what is kept of the journal into stripes, so that the journal's segments become free. What it
    /// leaves behind stays in the journal, where garbage collection finds it. `None`: the pool has halted.
    async fn stripe_kept(&self, hot: bool) -> Option<()> {
        let kept = self.striping.kept[usize::from(hot)].take().fragments;
        let current = |fragment: &Journaled| {
            let shard = ShardId::of(fragment.key.family, fragment.key.lba);
            let value = self.with_shard(shard, |shard| shard.buffer.get(&fragment.key));
            value.flatten().is_some_and(|pointer| pointer.location == fragment.at)
        };
        let mut items: Vec<Item> = kept.into_iter().filter(current).map(|fragment| fragment.item()).collect();
        while !items.is_empty() {
            let take = |room: BatchRoom| items.drain(..room.fitting(&items)).collect();
            let appended = self.append(StreamId::of_hosts(hot), Claim::Upkeep, take).await?;
            let moved = self.finish_move(appended).await?;
            self.count(|counters| counters.fragments_striped += moved.applied);
        }
        Some(())
    }
}
