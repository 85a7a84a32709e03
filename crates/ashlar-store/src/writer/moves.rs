//! Moves copy fragments elsewhere while hosts go on. A move applies only where the map still names
//! the old place, with the content that was copied: the old place may hold a newer version of the
//! block by then.

use ashlar_block::World;
use ashlar_format::header::{CrcWitness, RecordKind};
use ashlar_format::ids::ShardId;
use ashlar_format::location::Pointer;

use crate::pool::Pool;
use crate::writer::append::Appended;
use crate::writer::batch::Item;

/// How the moves of a batch have ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Moved {
    /// Fragments that the map names at their new place.
    pub applied: u64,
    /// Fragments of which it is not known whether the map names them: it could not be read.
    pub unknown: u64,
}

impl<W: World> Pool<W> {
    /// Writes a batch of moves and applies them. `None`: the pool has halted.
    pub async fn finish_move(&self, mut appended: Appended) -> Option<Moved> {
        self.write_durably(&mut appended).await?;
        let mut moved = Moved::default();
        for (item, pointer) in appended.items.iter().zip(&*appended.pointers) {
            let pointer = pointer.expect("a move has a fragment");
            match self.apply_move(item, pointer).await {
                Some(true) => moved.applied += 1,
                Some(false) => {}
                None => moved.unknown += 1,
            }
        }
        self.published(appended.lsn);
        self.requests.written(self.fresh_entries());
        Some(moved)
    }

    /// Applies one move; false if the map names another place by now, `None` if it cannot be read.
    pub async fn apply_move(&self, item: &Item, to: Pointer) -> Option<bool> {
        let is_source = |pointer: Pointer| match item.kind {
            RecordKind::Move { from } => pointer == Pointer { location: from, crc: to.crc },
            RecordKind::Recode { from, from_crc } => {
                (pointer.location, CrcWitness::of(pointer.crc)) == (from, from_crc)
            }
            _ => unreachable!("{:?} is not a move", item.kind),
        };
        let shard = ShardId::of(item.key.family, item.key.lba);
        let applied = self.lookup(&item.key, |value| {
            let current = value.is_some_and(is_source);
            if current {
                self.with_shard(shard, |shard| shard.set(item.key, Some(to), &self.space.ledger));
            }
            current
        });
        applied.await.ok()
    }
}
