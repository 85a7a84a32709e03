//! The part of a shard that is in memory. Updates go here blind: they do not ask what they replace.
//!
//! An update is *fresh* until a checkpoint begins, *freezing* while that writes it as a delta, and
//! *settled* once it is in a durable delta. Each location is counted once: when it is displaced,
//! whoever calls [`Buffer::set`] discards it, and it never becomes part of a run again.
//!
//! A leaf holds the updates of one range of blocks, sixteen bytes each: neighbours are found
//! together, and a range that is known wholly is an array.

mod ranges;

use std::collections::BTreeMap;
use std::ops::Bound;

use ashlar_block::Lba;
use ashlar_format::ids::{Family, GroupKey, Key, Layer, RANGE_BLOCKS};
use ashlar_format::location::{Location, Pointer};
use ashlar_format::page::Value;
use smallvec::SmallVec;

/// Memory that an update takes which is alone in its range, nearly: its leaf, and its share of the
/// tree, whose nodes are filled to two thirds (92 bytes were measured).
pub const UPDATE_BYTES_MAX: usize = 96;
/// Memory that each further update of a range takes, nearly.
const NEIGHBOUR_BYTES: usize = 24;

/// So many places of the list of an epoch's updates are kept from one checkpoint to the next.
const NOTED_KEPT: usize = 1024;

/// Which leaf a block belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct RangeKey {
    family: Family,
    range: u64,
    layer: Layer,
}

impl RangeKey {
    const fn of(key: &Key) -> Self {
        RangeKey { family: key.family, range: key.lba.0 / RANGE_BLOCKS, layer: key.layer }
    }

    const fn key(self, block: u8) -> Key {
        Key {
            family: self.family,
            lba: Lba(self.range * RANGE_BLOCKS + block as u64),
            layer: self.layer,
        }
    }

    /// The first leaf that blocks from `lba` on may be in.
    const fn first(family: Family, lba: Lba) -> Self {
        RangeKey { family, range: lba.0 / RANGE_BLOCKS, layer: Layer(0) }
    }
}

/// How far an update has come. Two epochs take turns: one is fresh while the other freezes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Epoch {
    Settled,
    Even,
    Odd,
}

impl Epoch {
    const fn other(self) -> Self {
        match self {
            Epoch::Even => Epoch::Odd,
            _ => Epoch::Even,
        }
    }
}

/// One update, in sixteen bytes.
#[derive(Clone, Copy, Debug)]
struct Update {
    location: Option<Location>,
    crc: u32,
    block: u8,
    epoch: Epoch,
}

const _: () = assert!(size_of::<Update>() == 16);

impl Update {
    fn new(block: u8, value: Value, epoch: Epoch) -> Self {
        let (location, crc) =
            value.map_or((None, 0), |pointer| (Some(pointer.location), pointer.crc));
        Update { location, crc, block, epoch }
    }

    fn value(&self) -> Value {
        self.location.map(|location| Pointer { location, crc: self.crc })
    }
}

/// The updates of one range, by block. Never empty.
#[derive(Default)]
struct Leaf {
    updates: SmallVec<[Update; 1]>,
}

impl Leaf {
    /// Where the update of `block` is, or would be.
    fn find(&self, block: u8) -> Result<usize, usize> {
        // Blocks are distinct and in order: that of an update is at least its index, and at most as
        // much higher as blocks are missing. In a leaf without gaps nothing is left to be searched.
        let (count, block_index) = (self.updates.len(), usize::from(block));
        let first = block_index.saturating_sub(RANGE_BLOCKS as usize - count);
        let end = (block_index + 1).min(count);
        let found = self.updates[first..end].binary_search_by_key(&block, |update| update.block);
        found.map(|at| first + at).map_err(|at| first + at)
    }

    fn get(&self, block: u8) -> Option<&Update> {
        self.find(block).ok().map(|at| &self.updates[at])
    }
}

/// A shard's updates that are not in runs yet.
pub struct Buffer {
    leaves: BTreeMap<RangeKey, Leaf>,
    /// That of fresh updates.
    epoch: Epoch,
    /// A checkpoint is writing the updates of the other epoch.
    freezing: bool,
    /// Freezing updates that newer ones have replaced: the checkpoint still writes them.
    replaced: BTreeMap<Key, Value>,
    /// Keys of the updates that were put in the even epoch, and in the odd one. A key is there
    /// once; its update may have been replaced since.
    noted: [Vec<Key>; 2],
    /// Updates by epoch: settled, even, odd.
    counts: [usize; 3],
}

impl Default for Buffer {
    fn default() -> Self {
        Buffer {
            leaves: BTreeMap::new(),
            epoch: Epoch::Even,
            freezing: false,
            replaced: BTreeMap::new(),
            noted: Default::default(),
            counts: [0; 3],
        }
    }
}

impl Buffer {
    /// The newest value, if the buffer knows one.
    pub fn get(&self, key: &Key) -> Option<Value> {
        let leaf = self.leaves.get(&RangeKey::of(key))?;
        leaf.get(block_of(key)).map(Update::value)
    }

    /// Sets the value; returns the one that it displaces, if the buffer knew one. `on_disk`:
    /// whether the key's group has runs, so that the absence of a value must be remembered to hide
    /// what they say. What is absent already is no update: the next checkpoint would write it once
    /// more.
    pub fn set(&mut self, key: Key, value: Value, on_disk: impl FnOnce() -> bool) -> Option<Value> {
        if value.is_none() {
            let known = self.get(&key);
            if known == Some(None) || (known.is_none() && !on_disk()) {
                return known;
            }
        }
        self.put(&key, value, self.epoch)
    }

    /// Puts an update in its place; returns the value that was there.
    fn put(&mut self, key: &Key, value: Value, epoch: Epoch) -> Option<Value> {
        let (range, block) = (RangeKey::of(key), block_of(key));
        let leaf = self.leaves.entry(range).or_default();
        let update = Update::new(block, value, epoch);
        let before = match leaf.find(block) {
            Ok(at) => Some(std::mem::replace(&mut leaf.updates[at], update)),
            Err(at) => {
                leaf.updates.insert(at, update);
                None
            }
        };
        self.counts[epoch as usize] += 1;
        if epoch != Epoch::Settled && before.is_none_or(|before| before.epoch != epoch) {
            self.noted[turn(epoch)].push(*key);
        }
        let before = before?;
        self.counts[before.epoch as usize] -= 1;
        if self.freezing && before.epoch == self.epoch.other() {
            self.replaced.insert(*key, before.value());
        }
        Some(before.value())
    }

    /// No run says anything of these keys any more: absences of them that are in durable deltas
    /// hide nothing.
    pub fn forget_absences(&mut self, keys: &[Key]) {
        for key in keys {
            self.forget(key, |update| update.epoch == Epoch::Settled && update.location.is_none());
        }
    }

    /// A checkpoint begins: what is fresh will be written as deltas.
    pub fn freeze(&mut self) {
        assert!(!self.freezing, "one checkpoint at a time");
        self.epoch = self.epoch.other();
        assert_eq!(
            self.counts[self.epoch as usize], 0,
            "what the last checkpoint wrote has settled"
        );
        self.freezing = true;
    }

    /// What the running checkpoint writes of the keys that were put from the `first` on, so many of
    /// them. `None`: they are no more.
    pub fn freezing_from(&self, first: usize, keys: usize) -> Option<Vec<(Key, Value)>> {
        let frozen = self.epoch.other();
        let noted = self.noted[turn(frozen)].get(first..).filter(|noted| !noted.is_empty())?;
        let update = |key: &Key| {
            let update = self.leaves.get(&RangeKey::of(key))?.get(block_of(key))?;
            (update.epoch == frozen).then(|| (*key, update.value()))
        };
        Some(noted[..keys.min(noted.len())].iter().filter_map(update).collect())
    }

    /// All that the running checkpoint writes, in order: `found` by [`Self::freezing_from`], and
    /// what newer updates have replaced.
    pub fn freezing(&self, mut found: Vec<(Key, Value)>) -> Vec<(Key, Value)> {
        found.extend(self.replaced.iter().map(|(key, value)| (*key, *value)));
        found.sort_unstable_by_key(|(key, _)| *key);
        // Some were replaced after they had been found.
        found.dedup_by_key(|(key, _)| *key);
        found
    }

    /// What is in durable deltas, in order, of the groups from `first` on, each of them whole: so
    /// many that `updates` have been looked at. And the group to go on with.
    pub fn settled_from(
        &self,
        first: Option<GroupKey>,
        updates: usize,
    ) -> (Vec<(Key, Value)>, Option<GroupKey>) {
        let first = first.map_or(Bound::Unbounded, |group| {
            Bound::Included(RangeKey::first(group.family, group.first_block()))
        });
        let (mut settled, mut looked_at, mut last) = (Vec::new(), 0, None);
        for (range, leaf) in self.leaves.range((first, Bound::Unbounded)) {
            let group = GroupKey::of(range.family, range.key(0).lba);
            if looked_at >= updates && last != Some(group) {
                return (in_order(settled), Some(group));
            }
            last = Some(group);
            looked_at += leaf.updates.len();
            let of_leaf = leaf.updates.iter().filter(|update| update.epoch == Epoch::Settled);
            settled.extend(of_leaf.map(|update| (range.key(update.block), update.value())));
        }
        (in_order(settled), None)
    }

    /// The checkpoint is durable: so many of the updates that it wrote settle. `on_disk`: whether a
    /// key's group has runs. Whether others are left to settle.
    pub fn settle(&mut self, updates: usize, on_disk: impl Fn(&Key) -> bool) -> bool {
        let frozen = self.epoch.other();
        let mut noted = std::mem::take(&mut self.noted[turn(frozen)]);
        let left = noted.len().saturating_sub(updates);
        for key in noted.drain(left..) {
            let Some(leaf) = self.leaves.get_mut(&RangeKey::of(&key)) else { continue };
            let Ok(at) = leaf.find(block_of(&key)) else { continue };
            let update = &mut leaf.updates[at];
            if update.epoch != frozen {
                continue;
            }
            update.epoch = Epoch::Settled;
            self.counts[frozen as usize] -= 1;
            self.counts[Epoch::Settled as usize] += 1;
            if update.location.is_none() && !on_disk(&key) {
                self.forget(&key, |_| true);
            }
        }
        if left == 0 {
            noted.shrink_to(NOTED_KEPT);
            self.freezing = false;
            self.replaced.clear();
        }
        self.noted[turn(frozen)] = noted;
        self.freezing
    }

    /// Removes the leaf if nothing is left in it.
    fn prune(&mut self, range: RangeKey) {
        if self.leaves.get(&range).is_some_and(|leaf| leaf.updates.is_empty()) {
            self.leaves.remove(&range);
        }
    }

    /// Loads an update of a durable delta; later ones replace earlier ones.
    pub fn load(&mut self, key: Key, value: Value, on_disk: bool) {
        if value.is_some() || on_disk {
            self.put(&key, value, Epoch::Settled);
        } else {
            self.forget(&key, |_| true);
        }
    }

    /// Removes the update of `key` if it is as expected; whether it was.
    fn forget(&mut self, key: &Key, expected: impl FnOnce(&Update) -> bool) -> bool {
        let range = RangeKey::of(key);
        let Some(leaf) = self.leaves.get_mut(&range) else { return false };
        let Ok(at) = leaf.find(block_of(key)) else { return false };
        if !expected(&leaf.updates[at]) {
            return false;
        }
        let update = leaf.updates.remove(at);
        self.counts[update.epoch as usize] -= 1;
        self.prune(range);
        true
    }

    /// `entries`, of [`Buffer::settled_from`], have become part of a run. Returns those that
    /// were displaced in the meantime: the run brings them back, so they are to be counted again.
    pub fn distributed(&mut self, entries: &[(Key, Value)]) -> Vec<(Key, Value)> {
        let displaced = |(key, value): &&(Key, Value)| {
            !self.forget(key, |update| update.epoch == Epoch::Settled && update.value() == *value)
        };
        entries.iter().filter(displaced).copied().collect()
    }

    /// The next checkpoint writes these settled updates again: their deltas go, and no run has
    /// them. Those that were displaced in the meantime are nobody's any more.
    pub fn unsettle(&mut self, entries: &[(Key, Value)]) {
        for (key, value) in entries {
            if self.forget(key, |update| update.epoch == Epoch::Settled && update.value() == *value)
            {
                self.put(key, *value, self.epoch);
            }
        }
    }

    /// Updates since the last checkpoint began.
    pub fn fresh_len(&self) -> usize {
        self.counts[self.epoch as usize]
    }

    /// Updates that are in durable deltas.
    pub fn settled_len(&self) -> usize {
        self.counts[Epoch::Settled as usize]
    }

    /// All updates.
    pub fn len(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Memory that they take, nearly.
    pub fn bytes(&self) -> usize {
        let noted: usize = self.noted.iter().map(Vec::len).sum();
        self.leaves.len() * UPDATE_BYTES_MAX
            + (self.len() - self.leaves.len()) * NEIGHBOUR_BYTES
            + noted * size_of::<Key>()
    }

    /// Every key and its newest value, in order.
    pub fn newest(&self) -> BTreeMap<Key, Value> {
        let updates = self.leaves.iter().flat_map(|(range, leaf)| {
            leaf.updates.iter().map(|update| (range.key(update.block), update.value()))
        });
        updates.collect()
    }
}

/// A range holds the blocks of a layer together; by key those of all layers are.
fn in_order(mut updates: Vec<(Key, Value)>) -> Vec<(Key, Value)> {
    updates.sort_unstable_by_key(|(key, _)| *key);
    updates
}

/// A key's block within its range.
const fn block_of(key: &Key) -> u8 {
    (key.lba.0 % RANGE_BLOCKS) as u8
}

/// Which of two an unsettled epoch is.
const fn turn(epoch: Epoch) -> usize {
    epoch as usize - Epoch::Even as usize
}

#[cfg(test)]
mod tests;
