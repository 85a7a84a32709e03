//! One write as records, and the units that it is committed in.

use std::time::Duration;

use ashlar_block::{BLOCK_BYTES, Nanos, World};
use ashlar_format::compression::Compression;
use ashlar_format::header::RecordKind;
use ashlar_format::ids::Key;
use bytes::Bytes;
use smallvec::{SmallVec, smallvec};

use crate::base::counters::StepCounters;
use crate::base::recycle::{Recycled, Recycler};
use crate::pool::Pool;
use crate::writer::batch::Item;
use crate::writer::compress::{Fragment, blocks_in_a_turn, compress_next_blocks};

impl<W: World> Pool<W> {
    /// The blocks of a write from `first` on as they are stored, and when they were.
    pub(super) async fn compressed(
        &self,
        first: Key,
        data: &Bytes,
        compression: Compression,
    ) -> (Recycled<Item>, Nanos) {
        let mut items = self.writer.lists.items.list();
        let turn_bytes = blocks_in_a_turn(compression) * BLOCK_BYTES;
        let began = self.world.now();
        let (mut turn_began, mut now, mut busy) = (began, began, Duration::ZERO);
        for at in (0..data.len()).step_by(turn_bytes) {
            if at > 0 {
                self.world.yield_now().await;
                turn_began = self.world.now();
            }
            let part = data.slice(at..data.len().min(at + turn_bytes));
            let first = Key { lba: first.lba.plus((at / BLOCK_BYTES) as u64), ..first };
            self.writer.streaks.with(first.family, |streak| {
                add_items(&mut items, first, compress_next_blocks(&part, compression, streak));
            });
            now = self.world.now();
            busy += now.since(turn_began);
        }
        let took = StepCounters { operations: 1, latency: now.since(began), busy };
        self.count(|counters| counters.steps.compress.add(took));
        (items, now)
    }
}

/// Adds records for the fragments of consecutive blocks; zeros next to each other are one.
fn add_items(items: &mut Vec<Item>, first: Key, fragments: impl Iterator<Item = Option<Fragment>>) {
    for (index, fragment) in fragments.enumerate() {
        let key = Key { lba: first.lba.plus(index as u64), ..first };
        match (items.last_mut().map(|last| &mut last.kind), &fragment) {
            (Some(RecordKind::ZeroRange { blocks }), None) => *blocks += 1,
            (_, None) => {
                items.push(Item { kind: RecordKind::ZeroRange { blocks: 1 }, key, fragment })
            }
            (_, Some(_)) => items.push(Item { kind: RecordKind::Write, key, fragment }),
        }
    }
}

/// Cuts the records of one write into units: one if it has no more than `unit_blocks_max` blocks,
/// else at boundaries that the blocks have by themselves.
pub(super) fn cut(
    mut items: Recycled<Item>,
    unit_blocks_max: usize,
    lists: &Recycler<Item>,
) -> SmallVec<[Recycled<Item>; 1]> {
    let blocks = |item: &Item| match item.kind {
        RecordKind::ZeroRange { blocks } => blocks,
        _ => 1,
    };
    if items.iter().map(blocks).sum::<u64>() <= unit_blocks_max as u64 {
        return smallvec![items];
    }
    // Aligned writes of the atomic size lie beside each other without a cut.
    let part_blocks = unit_blocks_max as u64 - 1;
    let mut units = SmallVec::<[Recycled<Item>; 1]>::new();
    let mut current = None;
    for item in items.drain(..) {
        let part = item.key.lba.0 / part_blocks;
        if current.replace(part) != Some(part) {
            units.push(lists.list());
        }
        units.last_mut().expect("just pushed").push(item);
    }
    units
}

#[cfg(test)]
mod tests;
