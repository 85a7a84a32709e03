//! One shard: its buffer, the groups with their runs, and what their index looks like on the
//! drives.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, Range};
use std::rc::Rc;

use ashlar_block::Lba;
use ashlar_format::ids::{Family, GIB_BLOCKS, GroupKey, Key, Layer, RANGE_BLOCKS, ShardId};
use ashlar_format::location::{Pointer, SegmentId};
use ashlar_format::page::{
    CUT_BYTES, LEAF_BYTES_MAX, PageEntry, RUN_BYTES_MAX, Run, Value, group_bytes, run_with_group_bytes,
};

use super::buffer::Buffer;
use super::deltas::Deltas;
use super::index::Index;
use crate::space::ledger::Ledger;

/// Runs of a group before they are merged.
pub const RUNS_MAX: usize = 5;
/// Single blocks of a group that a zero range may hide one by one; more are hidden by a cut.
const HIDDEN_SINGLY_MAX: u64 = 16;

/// Bytes of a group's runs in its leaf from which it is crowded: it has to be merged before it gets
/// another run, and no cut is added to it.
const CROWDED_BYTES: usize = LEAF_BYTES_MAX / 2;
const _: () = assert!(CROWDED_BYTES + RUN_BYTES_MAX + CUT_BYTES <= LEAF_BYTES_MAX, "a leaf holds any group");

/// A part of the map that one reactor owns.
pub struct Shard {
    pub id: ShardId,
    pub buffer: Buffer,
    pub groups: BTreeMap<GroupKey, Vec<Run>>,
    /// Groups whose runs are to be merged.
    pub unmerged: BTreeSet<GroupKey>,
    pub index: Index,
    pub deltas: Deltas,
}

/// What a look at the map gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Look {
    /// The newest value.
    Value(Value),
    /// It depends on this page.
    Needs(Pointer),
}

/// Whose a page of the map is that can be moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageOwner {
    /// A run of this group.
    Run(GroupKey),
    /// The deltas.
    Deltas,
}

/// Decoded pages by where they are.
pub trait Pages {
    /// The page's entries, if they are at hand.
    fn page(&self, pointer: Pointer) -> Option<Rc<Vec<PageEntry>>>;
}

impl Shard {
    /// An empty shard.
    pub fn new(id: ShardId) -> Self {
        Shard {
            id,
            buffer: Buffer::default(),
            groups: BTreeMap::new(),
            unmerged: BTreeSet::new(),
            index: Index::default(),
            deltas: Deltas::default(),
        }
    }

    /// What the map says of `key`, as far as the pages at hand tell.
    pub fn look(&self, key: &Key, pages: &impl Pages) -> Look {
        if let Some(value) = self.buffer.get(key) {
            return Look::Value(value);
        }
        let group = GroupKey::of(key.family, key.lba);
        let block = (key.lba.0 % GIB_BLOCKS) as u32;
        for run in self.groups.get(&group).into_iter().flatten() {
            if let Run::Cut { layer, first, end } = run
                && *layer == key.layer
                && (*first..*end).contains(&block)
            {
                return Look::Value(None);
            }
            let Some(page) = run.page_of(block) else { continue };
            let Some(entries) = pages.page(page.pointer) else { return Look::Needs(page.pointer) };
            if let Ok(at) =
                entries.binary_search_by_key(&(block, key.layer), |entry| (entry.block, entry.layer))
            {
                return Look::Value(entries[at].value);
            }
        }
        Look::Value(None)
    }

    /// The map says `value` of `key` from now on.
    pub fn set(&mut self, key: Key, value: Value, ledger: &Ledger) {
        let groups = &self.groups;
        let on_disk = || has_runs(groups, &key);
        if let Some(Some(displaced)) = self.buffer.set(key, value, on_disk) {
            ledger.discard(key.family, displaced.location);
        }
        if let Some(pointer) = value {
            ledger.credit(key.family, pointer.location);
        }
    }

    /// Whether the key's group has runs.
    pub fn on_disk(&self, key: &Key) -> bool {
        has_runs(&self.groups, key)
    }

    /// What the running checkpoint has written is in durable deltas.
    pub fn settle(&mut self) {
        let groups = &self.groups;
        self.buffer.settle(|key| has_runs(groups, key));
    }

    /// The shard's blocks in `blocks` read as zeros from now on.
    pub fn set_zero(&mut self, family: Family, layer: Layer, blocks: &Range<Lba>, ledger: &Ledger) {
        for key in self.buffer.keys(family, layer, blocks.clone()) {
            if ShardId::of(family, key.lba) == self.id {
                self.set(key, None, ledger);
            }
        }
        let last = GroupKey::of(family, Lba(blocks.end.0 - 1));
        let groups: Vec<GroupKey> =
            self.groups.range(GroupKey::of(family, blocks.start)..=last).map(|(key, _)| *key).collect();
        groups.into_iter().for_each(|group| self.hide(group, layer, blocks, ledger));
    }

    /// Groups in which the shard may have anything of `blocks`: the first `count` of them, and
    /// perhaps more.
    pub fn first_groups_that_hold(
        &self,
        family: Family,
        layer: Layer,
        blocks: &Range<Lba>,
        count: usize,
    ) -> impl Iterator<Item = GroupKey> {
        let last = GroupKey::of(family, Lba(blocks.end.0 - 1));
        let on_disk = self.groups.range(GroupKey::of(family, blocks.start)..=last).map(|(group, _)| *group);
        let buffered = self.buffer.groups_that_hold(family, layer, blocks);
        on_disk.take(count).chain(buffered.take(count))
    }

    /// Hides what the runs of `group` say of `blocks`.
    fn hide(&mut self, group: GroupKey, layer: Layer, blocks: &Range<Lba>, ledger: &Ledger) {
        let start = group.first_block();
        let first = blocks.start.0.max(start.0);
        let end = blocks.end.0.min(start.0 + GIB_BLOCKS);
        let mut mine = own_blocks(self.id, group.family, first..end);
        if end - first <= HIDDEN_SINGLY_MAX || self.is_crowded(group) {
            mine.for_each(|lba| self.set(Key { family: group.family, lba: Lba(lba), layer }, None, ledger));
            return;
        }
        if mine.next().is_none() {
            return;
        }
        let cut = Run::Cut { layer, first: (first - start.0) as u32, end: (end - start.0) as u32 };
        let runs = self.groups.get_mut(&group).expect("collected from the groups");
        absorb(runs, cut);
        self.index.grew(CUT_BYTES);
        self.changed(group);
    }

    /// Replaces the runs that were merged (the group's oldest) by `merged`, if anything is left of
    /// them. Cuts that have come or grown since stay.
    pub fn install_merged(&mut self, group: GroupKey, merged_runs: &[Run], merged: Option<Run>) {
        let runs = self.groups.get_mut(&group).expect("a group that is being merged stays");
        let newer = runs.len() - merged_runs.len();
        let mut at = 0;
        runs.retain(|run| {
            at += 1;
            at <= newer || *run != merged_runs[at - 1 - newer]
        });
        runs.extend(merged);
        runs.shrink_to_fit();
        if runs.iter().all(|run| matches!(run, Run::Cut { .. })) {
            self.groups.remove(&group);
        }
        self.changed(group);
    }

    /// Whether the group has to be merged before it gets another run.
    pub fn is_crowded(&self, group: GroupKey) -> bool {
        self.groups.get(&group).is_some_and(|runs| group_bytes(runs) > CROWDED_BYTES)
    }

    /// Adds the newest run of a group, which is not crowded.
    pub fn push_run(&mut self, group: GroupKey, run: Run) {
        self.index.grew(run_with_group_bytes(&run));
        insert_newest(self.groups.entry(group).or_default(), run);
        self.changed(group);
    }

    /// Whether its deltas are spread over more pages than they are worth.
    pub fn is_thin(&self) -> bool {
        self.deltas.are_thin(self.buffer.settled_len())
    }

    /// Whether its deltas take more pages than they are worth when there is time.
    pub fn is_loose(&self) -> bool {
        !self.deltas.are_spoiled() && self.deltas.are_loose(self.buffer.settled_len())
    }

    /// Takes the oldest pages of the deltas, which hold these updates, out of the chain: the next
    /// checkpoint writes again what of them still holds. Returns what is not needed any more.
    ///
    /// The oldest, because the buffer does not know an update that says that there is nothing, and
    /// the chain needs it for as long as an older one says otherwise.
    pub fn compact(&mut self, pages: usize, updates: &[(Key, Value)]) -> Vec<Pointer> {
        self.buffer.unsettle(updates);
        self.deltas.drop_oldest(pages)
    }

    /// The groups of a family.
    pub fn groups_of(&self, family: Family) -> Vec<GroupKey> {
        let (first, last) = (GroupKey { family, gib: 0 }, GroupKey { family, gib: u32::MAX });
        self.groups.range(first..=last).map(|(group, _)| *group).collect()
    }

    /// The first group after `after` of which anything may be hidden.
    pub fn next_mergeable(&self, after: Option<GroupKey>) -> Option<GroupKey> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut groups = self.groups.range((after, Bound::Unbounded));
        groups.find(|(group, runs)| runs.len() > 1 || self.buffer.knows_of(group)).map(|(group, _)| *group)
    }

    /// Pages of runs and of deltas that lie in `segment`, and whose they are.
    pub fn pages_in(&self, segment: SegmentId) -> Vec<(PageOwner, Pointer)> {
        let run_pages = self.groups.iter().flat_map(|(group, runs)| {
            runs.iter().flat_map(Run::pages).map(|page| (PageOwner::Run(*group), page.pointer))
        });
        let inside = run_pages.filter(|(_, pointer)| pointer.location.segment() == segment);
        inside.chain(self.deltas.pages_in(segment).map(|page| (PageOwner::Deltas, page))).collect()
    }

    /// Has the next checkpoint write what of the index and of the deltas' directories lies in
    /// `segment`.
    pub fn touch_pages_in(&mut self, segment: SegmentId) {
        self.index.touch_pages_in(segment);
        self.deltas.touch_directories_in(segment);
    }

    /// A page is elsewhere now.
    pub fn page_moved(&mut self, owner: PageOwner, from: Pointer, to: Pointer) {
        match owner {
            PageOwner::Run(group) => self.run_page_moved(group, from, to),
            PageOwner::Deltas => self.deltas.page_moved(from, to),
        }
    }

    fn run_page_moved(&mut self, group: GroupKey, from: Pointer, to: Pointer) {
        let runs = self.groups.get_mut(&group).expect("upkeep alone removes groups");
        let pages = runs.iter_mut().filter_map(|run| match run {
            Run::Pages { pages, .. } => Some(pages),
            Run::Cut { .. } => None,
        });
        let page = pages.flatten().find(|page| page.pointer == from).expect("upkeep alone replaces pages");
        page.pointer = to;
        self.index.touch(group);
    }

    /// A group has changed: its leaf is to be written, and it may want to be merged.
    fn changed(&mut self, group: GroupKey) {
        self.index.touch(group);
        self.note_unmerged(group);
    }

    /// A group is to be merged if it has too many runs, or cuts, whose space is wanted back.
    pub fn note_unmerged(&mut self, group: GroupKey) {
        let wants =
            |runs: &Vec<Run>| runs.len() > RUNS_MAX || runs.iter().any(|run| matches!(run, Run::Cut { .. }));
        if self.groups.get(&group).is_some_and(wants) {
            self.unmerged.insert(group);
        } else {
            self.unmerged.remove(&group);
        }
    }
}

fn has_runs(groups: &BTreeMap<GroupKey, Vec<Run>>, key: &Key) -> bool {
    groups.contains_key(&GroupKey::of(key.family, key.lba))
}

/// Those of `blocks` that belong to a shard: some ranges of them.
fn own_blocks(id: ShardId, family: Family, blocks: Range<u64>) -> impl Iterator<Item = u64> {
    let ranges = blocks.start / RANGE_BLOCKS..blocks.end.div_ceil(RANGE_BLOCKS);
    let firsts = ranges.map(|range| range * RANGE_BLOCKS);
    let own = firsts.filter(move |first| ShardId::of(family, Lba(*first)) == id);
    own.flat_map(move |first| blocks.start.max(first)..blocks.end.min(first + RANGE_BLOCKS))
}

/// Adds a cut, in one piece with the newest run if that is a cut that it overlaps or continues.
fn absorb(runs: &mut Vec<Run>, cut: Run) {
    if let (
        Some(Run::Cut { layer, first, end }),
        Run::Cut { layer: new_layer, first: new_first, end: new_end },
    ) = (runs.first_mut(), &cut)
        && layer == new_layer
        && *first <= *new_end
        && *new_first <= *end
    {
        *first = (*first).min(*new_first);
        *end = (*end).max(*new_end);
        return;
    }
    insert_newest(runs, cut);
}

/// Adds the newest run. Groups are many and rarely change: none has room to spare.
fn insert_newest(runs: &mut Vec<Run>, run: Run) {
    runs.reserve_exact(1);
    runs.insert(0, run);
}

#[cfg(test)]
mod tests;
