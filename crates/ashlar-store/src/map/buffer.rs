//! The part of a shard that is in memory: updates go here blind, without asking what they replace.
//!
//! Three maps, newest first: `fresh` since the last checkpoint began; `freezing`, which a checkpoint is writing as
//! deltas; `settled`, which is in durable deltas. Each location in them is counted once: when it is
//! displaced, whoever calls [`Buffer::set`] discards it, and it never becomes part of a run again.

use std::collections::BTreeMap;
use std::ops::Range;

use ashlar_block::Lba;

use crate::format::page::Value;
use crate::types::{Family, GIB_BLOCKS, GroupKey, Key, Layer};

/// Memory that an entry takes, nearly.
pub const ENTRY_BYTES: usize = 56;

/// A shard's updates that are not in runs yet.
#[derive(Default)]
pub struct Buffer {
    fresh: BTreeMap<Key, Value>,
    freezing: BTreeMap<Key, Value>,
    settled: BTreeMap<Key, Value>,
}

impl Buffer {
    /// The newest value, if the buffer knows one.
    pub fn get(&self, key: &Key) -> Option<Value> {
        self.fresh.get(key).or_else(|| self.freezing.get(key)).or_else(|| self.settled.get(key)).copied()
    }

    /// Sets the value; returns the one that it displaces, if the buffer knew one. `on_disk`: the key's group has
    /// runs, so that the absence of a value must be remembered to hide what they say.
    pub fn set(&mut self, key: Key, value: Value, on_disk: bool) -> Option<Value> {
        // What is in `freezing` stays there, hidden: the checkpoint is writing it. `settle` drops it.
        let displaced = match self.fresh.get(&key).or_else(|| self.freezing.get(&key)) {
            Some(newest) => Some(*newest),
            None => self.settled.remove(&key),
        };
        if value.is_some() || on_disk || displaced.is_some() {
            self.fresh.insert(key, value);
        }
        displaced
    }

    /// The keys of `family` and `layer` in `blocks` that the buffer knows a value of.
    pub fn keys(&self, family: Family, layer: Layer, blocks: Range<Lba>) -> Vec<Key> {
        let from = Key { family, lba: blocks.start, layer: Layer(0) };
        let to = Key { family, lba: blocks.end, layer: Layer(0) };
        let mut keys: Vec<Key> = [&self.fresh, &self.freezing, &self.settled]
            .into_iter()
            .flat_map(|part| part.range(from..to))
            .map(|(key, _)| *key)
            .filter(|key| key.layer == layer)
            .collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Whether the buffer has anything of a group.
    pub fn knows_of(&self, group: &GroupKey) -> bool {
        let key = |lba| Key { family: group.family, lba, layer: Layer(0) };
        let (first, end) = (key(group.first_block()), key(group.first_block().plus(GIB_BLOCKS)));
        let parts = [&self.fresh, &self.freezing, &self.settled];
        parts.into_iter().any(|part| part.range(first..end).next().is_some())
    }

    /// A checkpoint begins: what is fresh will be written as deltas.
    pub fn freeze(&mut self) {
        assert!(self.freezing.is_empty(), "one checkpoint at a time");
        self.freezing = std::mem::take(&mut self.fresh);
    }

    /// What the running checkpoint writes.
    pub fn freezing(&self) -> &BTreeMap<Key, Value> {
        &self.freezing
    }

    /// What is in durable deltas.
    pub fn settled(&self) -> &BTreeMap<Key, Value> {
        &self.settled
    }

    /// The checkpoint is durable. `on_disk`: whether a key's group has runs.
    pub fn settle(&mut self, on_disk: impl Fn(&Key) -> bool) {
        for (key, value) in std::mem::take(&mut self.freezing) {
            if !self.fresh.contains_key(&key) && (value.is_some() || on_disk(&key)) {
                self.settled.insert(key, value);
            }
        }
    }

    /// Loads an update of a durable delta; later ones replace earlier ones.
    pub fn load(&mut self, key: Key, value: Value, on_disk: bool) {
        if value.is_some() || on_disk {
            self.settled.insert(key, value);
        } else {
            self.settled.remove(&key);
        }
    }

    /// `entries`, taken from [`Buffer::settled`], have become part of a run. Returns those that were displaced
    /// in the meantime: the run brings them back, so they are to be counted again.
    pub fn distributed(&mut self, entries: &[(Key, Value)]) -> Vec<(Key, Value)> {
        let displaced = |(key, value): &&(Key, Value)| {
            let settled = self.settled.get(key) == Some(value);
            if settled {
                self.settled.remove(key);
            }
            !settled
        };
        entries.iter().filter(displaced).copied().collect()
    }

    /// Entries since the last checkpoint.
    pub fn fresh_len(&self) -> usize {
        self.fresh.len()
    }

    /// All entries.
    pub fn len(&self) -> usize {
        self.fresh.len() + self.freezing.len() + self.settled.len()
    }

    /// Every key and its newest value, in order.
    pub fn newest(&self) -> BTreeMap<Key, Value> {
        let mut all = self.settled.clone();
        all.extend(&self.freezing);
        all.extend(&self.fresh);
        all
    }
}

#[cfg(test)]
mod tests;
