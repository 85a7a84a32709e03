//! One shard: its buffer, and the groups with their runs, which its index knows.

use std::ops::Range;
use std::rc::Rc;

use ashlar_block::Lba;
use ashlar_format::ids::{Family, GIB_BLOCKS, GroupKey, Key, Layer, RANGE_BLOCKS, ShardId};
use ashlar_format::location::{Pointer, SegmentId};
use ashlar_format::page::{
    CUT_BYTES, LEAF_BYTES_MAX, PageEntry, RUN_BYTES_MAX, Run, StoredLeaf, StoredRun, Value,
    group_bytes, run_with_group_bytes,
};

use super::buffer::Buffer;
use super::deltas::Deltas;
use super::index::{Index, Place};
use crate::space::ledger::{Ledger, NamedAt};

/// Blocks that a zero range hides one by one; what runs say of more is hidden by a cut, if the
/// group is held. More than one write of a host has, whose groups nobody holds.
pub const HIDDEN_SINGLY_MAX: u64 = 128;

/// Bytes of a group's runs in its leaf from which it is crowded: it has to be merged before it gets
/// another run, and no cut is added to it.
const CROWDED_BYTES: usize = LEAF_BYTES_MAX / 2;
const _: () =
    assert!(CROWDED_BYTES + RUN_BYTES_MAX + CUT_BYTES <= LEAF_BYTES_MAX, "a leaf holds any group");

/// A part of the map that one reactor owns.
pub struct Shard {
    pub id: ShardId,
    pub buffer: Buffer,
    pub index: Index,
    pub deltas: Deltas,
}

/// What a look at the map gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Look {
    /// The newest value.
    Value(Value),
    /// It depends on this page.
    Needs(Needed),
}

/// A page that a look depends on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Needed {
    /// A page of a run.
    Page(Pointer),
    /// A leaf of the index.
    Leaf(Pointer),
}

/// Whose a page of the map is that can be moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageOwner {
    /// A run of this group.
    Run(GroupKey),
    /// The index: it is the leaf of this group.
    Leaf(GroupKey),
    /// The deltas.
    Deltas,
}

/// Decoded pages by where they are.
pub trait Pages {
    /// The page's entries, if they are at hand.
    fn page(&self, pointer: Pointer) -> Option<Rc<Vec<PageEntry>>>;
    /// The leaf, if it is at hand.
    fn leaf(&self, pointer: Pointer) -> Option<Rc<StoredLeaf>>;
}

impl Shard {
    /// An empty shard.
    pub fn new(id: ShardId) -> Self {
        Shard { id, buffer: Buffer::default(), index: Index::default(), deltas: Deltas::default() }
    }

    /// What the map says of `key`, as far as the pages at hand tell.
    pub fn look(&self, key: &Key, pages: &impl Pages) -> Look {
        if let Some(value) = self.buffer.get(key) {
            return Look::Value(value);
        }
        let block = (key.lba.0 % GIB_BLOCKS) as u32;
        let group = GroupKey::of(key.family, key.lba);
        match self.index.place(group) {
            Place::InMemory(runs) => {
                let says = |run: &Run| match run.cuts(key.layer, block) {
                    true => Says::Nothing,
                    false => run
                        .page_of(block)
                        .map_or(Says::AskOlder, |page| Says::AskPage(page.pointer)),
                };
                look_in(runs.iter().map(says), key.layer, block, pages)
            }
            Place::Stored(pointer) => {
                let Some(leaf) = pages.leaf(pointer) else {
                    return Look::Needs(Needed::Leaf(pointer));
                };
                let says = |run: StoredRun<'_>| match run.cuts(key.layer, block) {
                    true => Says::Nothing,
                    false => run.page_of(block).map_or(Says::AskOlder, Says::AskPage),
                };
                look_in(
                    leaf.runs_of(group).into_iter().flatten().map(says),
                    key.layer,
                    block,
                    pages,
                )
            }
        }
    }

    /// The map says `value` of `key` from now on.
    pub fn set(&mut self, key: Key, value: Value, ledger: &Ledger) {
        let index = &self.index;
        let on_disk = || may_have_runs(index, &key);
        if let Some(Some(displaced)) = self.buffer.set(key, value, on_disk) {
            ledger.discard(NamedAt::of(self.id, &key), displaced.location);
        }
        if let Some(pointer) = value {
            ledger.credit(NamedAt::of(self.id, &key), pointer.location);
        }
    }

    /// Whether the key's group may have runs: it has, or its leaf is not in memory.
    pub fn may_have_runs(&self, key: &Key) -> bool {
        may_have_runs(&self.index, key)
    }

    /// What the running checkpoint has written is in durable deltas: so many updates of it settle.
    /// Whether others are left.
    pub fn settle(&mut self, updates: usize) -> bool {
        let index = &self.index;
        self.buffer.settle(updates, |key| may_have_runs(index, key))
    }

    /// The shard's blocks in `blocks` read as zeros from now on. Where a leaf is not in memory each
    /// block is an update.
    pub fn set_zero(&mut self, family: Family, layer: Layer, blocks: &Range<Lba>, ledger: &Ledger) {
        for key in self.buffer.keys(family, layer, blocks, usize::MAX).0 {
            self.set(key, None, ledger);
        }
        let last = GroupKey::of(family, Lba(blocks.end.0 - 1)).gib;
        for gib in GroupKey::of(family, blocks.start).gib..=last {
            self.hide(GroupKey { family, gib }, layer, blocks, ledger);
        }
    }

    /// Whether there may be anything of `blocks` in the group: the buffer has, or the group has
    /// runs, or its leaf is not in memory.
    pub fn may_hold(&self, group: GroupKey, layer: Layer, blocks: &Range<Lba>) -> bool {
        let may_have_runs = match self.index.place(group) {
            Place::InMemory(runs) => !runs.is_empty(),
            Place::Stored(_) => true,
        };
        may_have_runs
            || self.buffer.first_that_holds(group.family, layer, blocks, usize::MAX)
                == Ok(Some(group))
    }

    /// Hides what the runs of `group` say of `blocks`.
    fn hide(&mut self, group: GroupKey, layer: Layer, blocks: &Range<Lba>, ledger: &Ledger) {
        let start = group.first_block();
        let first = blocks.start.0.max(start.0);
        let end = blocks.end.0.min(start.0 + GIB_BLOCKS);
        let mut mine = own_blocks(self.id, group.family, first..end);
        if self.index.place(group) == Place::InMemory(&[]) {
            return;
        }
        if end - first <= HIDDEN_SINGLY_MAX || self.is_crowded(group) {
            mine.for_each(|lba| {
                self.set(Key { family: group.family, lba: Lba(lba), layer }, None, ledger)
            });
            return;
        }
        if mine.next().is_none() {
            return;
        }
        let cut = Run::Cut { layer, first: (first - start.0) as u32, end: (end - start.0) as u32 };
        self.index.grew(CUT_BYTES);
        self.index.change(group, |runs| absorb(runs, cut));
    }

    /// Replaces the runs that were merged (the group's oldest) by `merged`, if anything is left of
    /// them. Cuts that have come or grown since stay. The group is held.
    pub fn install_merged(&mut self, group: GroupKey, merged_runs: &[Run], merged: Option<Run>) {
        self.index.change(group, |runs| {
            let newer = runs.len() - merged_runs.len();
            let mut at = 0;
            runs.retain(|run| {
                at += 1;
                at <= newer || *run != merged_runs[at - 1 - newer]
            });
            runs.extend(merged);
            runs.shrink_to_fit();
            if runs.iter().all(|run| matches!(run, Run::Cut { .. })) {
                runs.clear();
            }
        });
    }

    /// Whether the group takes no cut, and no other run before it is merged. One that is not held
    /// takes neither.
    pub fn is_crowded(&self, group: GroupKey) -> bool {
        match self.index.place(group) {
            Place::InMemory(runs) => group_bytes(runs) > CROWDED_BYTES,
            Place::Stored(_) => true,
        }
    }

    /// Adds the newest run of a group, which is held and not crowded.
    pub fn push_run(&mut self, group: GroupKey, run: Run) {
        self.index.grew(run_with_group_bytes(&run));
        self.index.change(group, |runs| insert_newest(runs, run));
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

    /// The first group from `from` on, in a leaf that is held, of which anything may be hidden.
    pub fn next_mergeable(&self, leaf: GroupKey, from: GroupKey) -> Option<GroupKey> {
        let mut groups = self.index.groups_of(leaf).filter(|(group, _)| *group >= from);
        groups
            .find(|(group, runs)| runs.len() > 1 || self.buffer.knows_of(group))
            .map(|(group, _)| group)
    }

    /// Forgets what durable deltas say is absent in groups without runs: it hides nothing. Of those
    /// from `first` on, up to `end`, whose leaf is held.
    pub fn forget_absences_outside_runs(&mut self, first: GroupKey, end: Option<GroupKey>) {
        let groups = self.buffer.groups_with_settled_absences(first, end);
        for group in groups {
            if self.index.place(group) == Place::InMemory(&[]) {
                let absences = self.buffer.settled_absences(&group);
                self.buffer.forget_absences(&absences);
            }
        }
    }

    /// Pages of deltas that lie in `segment`.
    pub fn delta_pages_in(&self, segment: SegmentId) -> Vec<Pointer> {
        self.deltas.pages_in(segment).collect()
    }

    /// Has the next checkpoint write what of the index's nodes and of the deltas' directories lies
    /// in `segment`.
    pub fn touch_pages_in(&mut self, segment: SegmentId) {
        self.index.touch_nodes_in(segment);
        self.deltas.touch_directories_in(segment);
    }

    /// A page is elsewhere now. A run's group is held. False if a newer page has taken its place.
    pub fn page_moved(&mut self, owner: PageOwner, from: Pointer, to: Pointer) -> bool {
        match owner {
            PageOwner::Run(group) => self.run_page_moved(group, from, to),
            PageOwner::Leaf(group) => return self.index.leaf_moved(group, from, to),
            PageOwner::Deltas => self.deltas.page_moved(from, to),
        }
        true
    }

    fn run_page_moved(&mut self, group: GroupKey, from: Pointer, to: Pointer) {
        self.index.change(group, |runs| {
            let pages = runs.iter_mut().filter_map(|run| match run {
                Run::Pages { pages, .. } => Some(pages),
                Run::Cut { .. } => None,
            });
            let page = pages.flatten().find(|page| page.pointer == from);
            page.expect("upkeep alone replaces pages").pointer = to;
        });
    }
}

/// What a run says of a block.
enum Says {
    Nothing,
    AskPage(Pointer),
    AskOlder,
}

/// What runs say of a block, newest first.
fn look_in(runs: impl Iterator<Item = Says>, layer: Layer, block: u32, pages: &impl Pages) -> Look {
    for says in runs {
        let pointer = match says {
            Says::Nothing => return Look::Value(None),
            Says::AskOlder => continue,
            Says::AskPage(pointer) => pointer,
        };
        let Some(entries) = pages.page(pointer) else { return Look::Needs(Needed::Page(pointer)) };
        if let Ok(at) =
            entries.binary_search_by_key(&(block, layer), |entry| (entry.block, entry.layer))
        {
            return Look::Value(entries[at].value);
        }
    }
    Look::Value(None)
}

fn may_have_runs(index: &Index, key: &Key) -> bool {
    !matches!(index.place(GroupKey::of(key.family, key.lba)), Place::InMemory([]))
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
