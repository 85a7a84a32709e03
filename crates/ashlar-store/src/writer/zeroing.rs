//! Zeros: what hosts deallocate or zero, as records of ranges.
//!
//! A record is small, but what it says of a block that the map's buffer knows is an update of its
//! own, which the next checkpoint writes. So a large range is done in portions, with a checkpoint
//! between them where that is needed, and all that are on their way make no more updates than one
//! portion may: a checkpoint that had more to write than there are segments for would halt the
//! pool, and so would each start after it.

use std::ops::Range;
use std::pin::pin;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use ashlar_block::{IoError, Lba, World};
use ashlar_format::header::RecordKind;
use ashlar_format::ids::{GIB_BLOCKS, GroupKey, Key, RANGE_BLOCKS, SHARD_COUNT};
use futures_util::future::{Either, join_all, select};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use crate::lookup::hold::gibs_of;
use crate::map::shard::HIDDEN_SINGLY_MAX;
use crate::pool::Pool;
use crate::writer::batch::Item;

/// GiBs of a volume that are zeroed together.
const GIBS_AT_A_TIME: u64 = 32;

/// Ranges of which the leaves of the index are held at a time.
const RANGES_AT_A_TIME: usize = 8;

/// Blocks of a range that is not cut any more: some in each shard.
const PART_BLOCKS_MIN: u64 = RANGE_BLOCKS * SHARD_COUNT as u64;

/// Ranges of up to so many blocks count as an update for each: what the buffer knows of larger ones
/// is looked up.
const LOOK_UP_BLOCKS: usize = 4096;

/// Updates of all zeros on their way: they may be applied in one turn, in which hosts wait.
const UPDATES_MAX: usize = 32 << 10;

/// Updates that zeros may make. Who waits for the zeros has this, and each unit of them: that is in
/// the maps one day, also where its host has gone. When all have dropped it, others may make them.
pub(crate) type Admitted = Rc<OwnedSemaphorePermit>;

/// The updates that zeros on their way may make.
pub(crate) struct Updates {
    max: u32,
    left: Arc<Semaphore>,
    /// Ranges that may be looked at.
    ranges: Semaphore,
}

impl Updates {
    fn new(max: usize) -> Self {
        let max = u32::try_from(max).unwrap_or(u32::MAX);
        Updates {
            max,
            left: Arc::new(Semaphore::new(max as usize)),
            ranges: Semaphore::new(RANGES_AT_A_TIME),
        }
    }

    /// Returns when so many, or as many as there may be, are nobody else's.
    async fn take(&self, updates: usize) -> Admitted {
        let wanted = u32::try_from(updates).unwrap_or(u32::MAX).min(self.max);
        Rc::new(self.left.clone().acquire_many_owned(wanted).await.expect("it is never closed"))
    }

    /// Returns when one more large range may be looked at.
    async fn turn(&self) -> SemaphorePermit<'_> {
        self.ranges.acquire().await.expect("it is never closed")
    }
}

/// Ranges that are zeroed together.
#[derive(Default)]
struct Portion {
    parts: Vec<Range<Lba>>,
    /// Updates that they make of the map, at most.
    updates: usize,
}

impl<W: World> Pool<W> {
    /// The blocks of `blocks` read as zeros when this returns. `key`: whose they are.
    pub async fn zero_range(&self, key: Key, blocks: Range<Lba>) -> Result<(), IoError> {
        let mut rest = blocks;
        if !self.writer.commit.is_idle() && rest.start < rest.end {
            // A write that is on its way, though its host was told that it failed, must not come
            // after the zeros: one record goes behind it, and when that is done, the maps tell of
            // it.
            let first = next_piece(&mut rest);
            self.zero_some(key, first, |_| true).await?;
        }
        self.zero_what_is_held(key, rest).await
    }

    /// The same where no write is on its way: nothing at all is written where nothing is held.
    pub async fn zero_what_is_held(&self, key: Key, mut rest: Range<Lba>) -> Result<(), IoError> {
        while rest.start < rest.end
            && let Some(gib) = self.first_gib_that_holds(key.family, key.layer, &rest).await?
        {
            let first = GroupKey { family: key.family, gib }.first_block();
            let some = rest.start.max(first)..rest.end.min(first.plus(GIB_BLOCKS * GIBS_AT_A_TIME));
            rest.start = some.end;
            self.zero_some(key, some, |piece| self.may_hold(key, piece)).await?;
            self.world.yield_now().await;
        }
        Ok(())
    }

    /// Zeros those pieces of some GiBs, one for each, that are wanted.
    async fn zero_some(
        &self,
        key: Key,
        range: Range<Lba>,
        is_wanted: impl Fn(&Range<Lba>) -> bool,
    ) -> Result<(), IoError> {
        let is_large = range.end.0 - range.start.0 > HIDDEN_SINGLY_MAX;
        let _turn = match is_large {
            true => Some(self.unless_halted(self.zero_updates().turn()).await?),
            false => None,
        };
        let mut held = self.hold_for_zeros(key.family, &range).await?;
        let part = |gib: u32| {
            let first = GroupKey { family: key.family, gib }.first_block();
            range.start.max(first)..range.end.min(first.plus(GIB_BLOCKS))
        };
        let mut pieces = Vec::new();
        for piece in gibs_of(&range).map(part) {
            if is_wanted(&piece) {
                pieces.push(piece);
            }
            if is_large {
                self.world.yield_now().await;
            }
        }
        self.zero_pieces(key, pieces, &mut held.on_their_way).await
    }

    /// Zeros pieces. `on_their_way` is there as long as some of them are not in the maps.
    async fn zero_pieces(
        &self,
        key: Key,
        pieces: Vec<Range<Lba>>,
        on_their_way: &mut Weak<OwnedSemaphorePermit>,
    ) -> Result<(), IoError> {
        let zero = |part: &Range<Lba>, admitted: &Admitted| {
            let kind = RecordKind::ZeroRange { blocks: part.end.0 - part.start.0 };
            let mut items = self.writer.lists.items.list();
            items.push(Item { kind, key: Key { lba: part.start, ..key }, fragment: None });
            self.commit(items, self.world.now(), Some(admitted.clone()))
        };
        let portions = self.portions(key, pieces).await;
        for portion in portions.into_iter().filter(|portion| !portion.parts.is_empty()) {
            let admitted = self.admit_zeros(portion.updates).await?;
            *on_their_way = Rc::downgrade(&admitted);
            join_all(portion.parts.iter().map(|part| zero(part, &admitted)))
                .await
                .into_iter()
                .collect::<Result<(), IoError>>()?;
        }
        Ok(())
    }

    /// Zeros of before a crash: held, they make no more updates than they did then.
    pub async fn zero_again(&self, key: Key, blocks: u64) -> Result<(), IoError> {
        let _held = self.hold_to_hide(key.family, &(key.lba..key.lba.plus(blocks))).await?;
        self.set_zero(key, blocks);
        Ok(())
    }

    /// Returns when zeros that make so many updates of the map may be committed, with the result.
    pub async fn admit_zeros(&self, updates: usize) -> Result<Admitted, IoError> {
        self.while_there_is_room(async {
            let taken = self.unless_halted(self.zero_updates().take(updates)).await?;
            self.wait_for_deltas().await;
            Ok(taken)
        })
        .await?
    }

    /// What `done` gives, or why the pool takes no writes: what is on its way then ends no more.
    async fn unless_halted<T>(&self, done: impl Future<Output = T>) -> Result<T, IoError> {
        match select(pin!(done), pin!(self.halt.wait())).await {
            Either::Left((done, _)) => Ok(done),
            Either::Right((why, _)) => Err(why),
        }
    }

    /// Returns when a write of `bytes` of data and of `zeros` blocks of zeros may be committed,
    /// with the result.
    pub async fn admit_blocks(
        &self,
        bytes: u64,
        zeros: usize,
    ) -> Result<Option<Admitted>, IoError> {
        if bytes == 0 {
            return Ok(Some(self.admit_zeros(zeros).await?));
        }
        loop {
            self.admit(bytes).await?;
            if zeros == 0 {
                return Ok(None);
            }
            let taken = self.admit_zeros(zeros).await?;
            if self.room() >= bytes {
                return Ok(Some(taken));
            }
            // Others have taken the room meanwhile. Nothing is held while it waits for room: zeros
            // give room back.
            drop(taken);
        }
    }

    fn zero_updates(&self) -> &Updates {
        self.writer.zeroing.get_or_init(|| Updates::new(self.zero_updates_max()))
    }

    fn zero_updates_max(&self) -> usize {
        self.fresh_entries_max().min(UPDATES_MAX)
    }

    /// The pieces, cut and put together so that each portion makes no more updates than all zeros
    /// on their way may.
    async fn portions(&self, key: Key, pieces: Vec<Range<Lba>>) -> Vec<Portion> {
        let updates_max = self.zero_updates_max();
        let updates = |part: &Range<Lba>| self.updates_of_zeros(key, part);
        let mut portions = vec![Portion::default()];
        for (nth, piece) in pieces.into_iter().enumerate() {
            if nth > 0 {
                self.world.yield_now().await;
            }
            for (part, updates) in cut(piece, updates_max, &updates) {
                let last = portions.last_mut().expect("there is one");
                if last.updates + updates <= updates_max || last.parts.is_empty() {
                    last.updates += updates;
                    last.parts.push(part);
                } else {
                    portions.push(Portion { parts: vec![part], updates });
                }
            }
        }
        portions
    }

    /// Updates of the map that zeros in `part`, which lies in one GiB, make at most: one for each
    /// block that the buffer knows, or for each block at all where that is how they are hidden.
    fn updates_of_zeros(&self, key: Key, part: &Range<Lba>) -> usize {
        let blocks = (part.end.0 - part.start.0) as usize;
        if blocks <= LOOK_UP_BLOCKS || self.is_hidden_singly(key, part) {
            return blocks;
        }
        let shards = self.map.shards.borrow();
        shards.iter().map(|shard| shard.buffer.count(key.family, key.layer, part)).sum()
    }
}

/// Halves a range until each part makes at most `updates_max` updates, or is small. Returns the
/// parts with their updates, in order.
fn cut(
    range: Range<Lba>,
    updates_max: usize,
    updates: &impl Fn(&Range<Lba>) -> usize,
) -> Vec<(Range<Lba>, usize)> {
    let (count, blocks) = (updates(&range), range.end.0 - range.start.0);
    if count <= updates_max || blocks <= PART_BLOCKS_MIN {
        return vec![(range, count)];
    }
    let middle = range.start.plus(blocks / 2);
    let mut parts = cut(range.start..middle, updates_max, updates);
    parts.extend(cut(middle..range.end, updates_max, updates));
    parts
}

/// Takes what lies in the first GiB of a range off it. One record zeroes no more, so that a turn
/// stays short.
fn next_piece(range: &mut Range<Lba>) -> Range<Lba> {
    let end = Lba((range.start.0 / GIB_BLOCKS + 1) * GIB_BLOCKS).min(range.end);
    let piece = range.start..end;
    range.start = end;
    piece
}

#[cfg(test)]
mod tests;
