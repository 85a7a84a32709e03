//! A shard's index: which leaf has which groups, and what is to be written of it.
//!
//! Where each leaf is, is always in memory, some 60 bytes for a leaf; its groups are not. Whoever
//! looks a block up reads the leaf through the cache of pages. Whoever changes a group *holds* it
//! first: then its leaf is in memory as types, and stays there until nobody holds a group of it and
//! a checkpoint has written what has changed.
//!
//! 1. Every group belongs to the last leaf whose key is not above it, or to none.
//! 2. A leaf that is not in memory is where its pointer says, and has not changed.
//! 3. A leaf without a pointer is in memory: it is new, or a checkpoint is writing it. One that is
//!    dirty and not among those that have changed is the rest of a leaf that is being cut.
//! 4. A leaf in memory that is not dirty, has a pointer and no held group goes out of memory.

pub mod nodes;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use ashlar_format::ids::{Family, GroupKey};
use ashlar_format::location::{Pointer, SLOT_BYTES, SegmentId};
use ashlar_format::page::{
    Child, GroupsBelow, LEAF_BYTES_MAX, LeafGroup, NODE_CHILD_BYTES, Run, encode_leaf, group_bytes,
};
use ashlar_format::table::Occupancy;
use nodes::{NodePages, Nodes};

/// Runs of a group before they are merged.
pub const RUNS_MAX: usize = 5;

/// Below every group.
pub const LOWEST: GroupKey = GroupKey { family: Family(0), gib: 0 };

/// Memory that the place of a leaf takes, nearly.
const PLACE_BYTES: usize = 64;
/// Memory that a leaf takes whose groups are there as types, nearly.
const LEAF_MEMORY_BYTES: usize = 2 * LEAF_BYTES_MAX;

type Groups = BTreeMap<GroupKey, Vec<Run>>;

/// The groups of a leaf that is in memory.
#[derive(Default)]
struct Content {
    groups: Groups,
    /// They differ from what is written, or is being written.
    is_dirty: bool,
}

#[derive(Default)]
struct Leaf {
    pointer: Option<Pointer>,
    /// As of when it was written.
    below: GroupsBelow,
    content: Option<Box<Content>>,
}

/// Where the runs of a group are.
#[derive(PartialEq, Eq, Debug)]
pub enum Place<'a> {
    /// There are none, or these.
    InMemory(&'a [Run]),
    /// In this leaf, if there are any.
    Stored(Pointer),
}

/// A leaf that is written: its lowest key, and its bytes.
pub type LeafPage = (GroupKey, Vec<u8>);

/// What has been cut off a leaf that has changed.
#[derive(Default)]
pub struct SplitOff {
    /// Its first groups, unless it has none. To be reported to [`Index::leaf_written`].
    pub page: Option<LeafPage>,
    /// The page that nothing needs any more.
    pub replaced: Option<Pointer>,
    /// The leaf of the groups behind, which are to be cut next: the index is not whole before.
    pub rest: Option<GroupKey>,
}

/// The leaves of a shard's index, and the nodes above them.
#[derive(Default)]
pub struct Index {
    /// By the lowest key that belongs to the leaf.
    leaves: BTreeMap<GroupKey, Leaf>,
    /// Leaves that are to be written.
    changed: BTreeSet<GroupKey>,
    /// Leaves with a group that is to be merged.
    unmerged: BTreeSet<GroupKey>,
    /// Groups that cannot be merged as long as they stay as they are.
    unmergeable: BTreeSet<GroupKey>,
    /// Groups that are held, and how often.
    held: BTreeMap<GroupKey, u32>,
    nodes: Nodes,
    /// Leaves that are in memory.
    in_memory: usize,
    /// What the changed leaves took when they were written.
    replaced: Occupancy,
    /// Bytes by which groups have grown since.
    grown: usize,
}

impl Index {
    /// The index that was found on the drives: its leaves, and the nodes above them from the lowest
    /// level up. Of an only leaf no node says what is to be done: it is looked at.
    pub fn loaded(mut leaves: Vec<Child>, levels: Vec<Vec<Child>>) -> Self {
        if let ([only], []) = (&mut leaves[..], &levels[..]) {
            only.below = GroupsBelow { unmerged: true, stacked: true };
        }
        let unmerged =
            leaves.iter().filter(|leaf| leaf.below.unmerged).map(|leaf| leaf.first).collect();
        let root = levels.last().unwrap_or(&leaves).first().map(|top| top.pointer);
        let leaf = |it: Child| {
            (it.first, Leaf { pointer: Some(it.pointer), below: it.below, content: None })
        };
        let leaves = leaves.into_iter().map(leaf).collect();
        Index { leaves, unmerged, nodes: Nodes::loaded(levels, root), ..Index::default() }
    }

    // --- what is where ---------------------------------------------------------------------------

    /// Where the runs of a group are.
    pub fn place(&self, group: GroupKey) -> Place<'_> {
        let Some((_, leaf)) = self.leaf_of(group) else { return Place::InMemory(&[]) };
        match (&leaf.content, leaf.pointer) {
            (Some(content), _) => {
                Place::InMemory(content.groups.get(&group).map_or(&[], Vec::as_slice))
            }
            (None, Some(pointer)) => Place::Stored(pointer),
            (None, None) => unreachable!("a leaf without a pointer is in memory"),
        }
    }

    fn leaf_of(&self, group: GroupKey) -> Option<(GroupKey, &Leaf)> {
        self.leaves.range(..=group).next_back().map(|(key, leaf)| (*key, leaf))
    }

    /// The leaf that `from` belongs to, or the next one.
    pub fn leaf_from(&self, from: GroupKey) -> Option<GroupKey> {
        let next = || self.leaves.range(from..).next().map(|(key, _)| *key);
        self.leaf_of(from).map(|(key, _)| key).or_else(next)
    }

    /// The leaf behind that of `key`.
    pub fn leaf_behind(&self, key: GroupKey) -> Option<GroupKey> {
        self.leaves.range((Bound::Excluded(key), Bound::Unbounded)).next().map(|(key, _)| *key)
    }

    /// Whether a group of the leaf may have more than one run.
    pub fn is_stacked(&self, key: GroupKey) -> bool {
        let of_content = |content: &Content| content.groups.values().any(|runs| runs.len() > 1);
        self.leaves.get(&key).is_some_and(|leaf| match &leaf.content {
            Some(content) => of_content(content),
            None => leaf.below.stacked,
        })
    }

    /// Leaves of which a group is to be merged.
    pub fn unmerged(&self) -> &BTreeSet<GroupKey> {
        &self.unmerged
    }

    /// Memory that it takes, nearly.
    pub fn bytes(&self) -> usize {
        self.leaves.len() * PLACE_BYTES + self.in_memory * LEAF_MEMORY_BYTES
    }

    /// Memory that a checkpoint frees, nearly: that of leaves which it writes.
    pub fn changed_bytes(&self) -> usize {
        self.changed.len() * LEAF_MEMORY_BYTES
    }

    /// All pages of the index.
    pub fn pages(&self) -> impl Iterator<Item = Pointer> + '_ {
        self.leaves.values().filter_map(|leaf| leaf.pointer).chain(self.nodes.pages())
    }

    // --- holding ---------------------------------------------------------------------------------

    /// From now on what is read of the leaves of these groups stays in memory. Each is to be
    /// released.
    pub fn hold(&mut self, groups: &[GroupKey]) {
        for group in groups {
            *self.held.entry(*group).or_default() += 1;
            if self.leaf_of(*group).is_none() {
                self.leaves
                    .insert(LOWEST, Leaf { content: Some(Box::default()), ..Leaf::default() });
                self.in_memory += 1;
            }
        }
    }

    /// Leaves of these groups, which are in order, that are not in memory.
    pub fn missing(&self, groups: &[GroupKey]) -> Vec<(GroupKey, Pointer)> {
        let leaves = groups.iter().filter_map(|group| self.leaf_of(*group));
        let missing = leaves.filter(|(_, leaf)| leaf.content.is_none());
        let mut missing: Vec<_> =
            missing.filter_map(|(key, leaf)| Some((key, leaf.pointer?))).collect();
        missing.dedup();
        missing
    }

    /// What the leaf at `pointer` has, if that is where the leaf still is.
    pub fn read(&mut self, key: GroupKey, pointer: Pointer, groups: Vec<LeafGroup>) {
        let Some(leaf) = self.leaves.get_mut(&key) else { return };
        if leaf.pointer != Some(pointer) || leaf.content.is_some() {
            return;
        }
        let groups = groups.into_iter().collect();
        leaf.content = Some(Box::new(Content { groups, is_dirty: false }));
        self.in_memory += 1;
        self.let_go(key);
    }

    /// Nobody needs these groups in memory any more who has held them.
    pub fn release(&mut self, groups: &[GroupKey]) {
        for group in groups {
            let holds = self.held.get_mut(group).expect("it was held");
            *holds -= 1;
            if *holds == 0 {
                self.held.remove(group);
                let key = self.leaf_of(*group).expect("a held group has a leaf").0;
                self.let_go(key);
            }
        }
    }

    /// The leaf goes out of memory if nobody needs it there.
    fn let_go(&mut self, key: GroupKey) {
        let leaf = &self.leaves[&key];
        let Some(content) = &leaf.content else { return };
        if content.is_dirty || self.is_held(key) {
            return;
        }
        match leaf.pointer {
            Some(_) => self.leaves.get_mut(&key).expect("looked up above").content = None,
            None if content.groups.is_empty() => drop(self.leaves.remove(&key)),
            None => return,
        }
        self.in_memory -= 1;
    }

    fn is_held(&self, key: GroupKey) -> bool {
        let end = self.leaf_behind(key).map_or(Bound::Unbounded, Bound::Excluded);
        self.held.range((Bound::Included(key), end)).next().is_some()
    }

    // --- changing --------------------------------------------------------------------------------

    /// The groups of a leaf that is in memory, in order.
    pub fn groups_of(&self, key: GroupKey) -> impl Iterator<Item = (GroupKey, &[Run])> {
        let content = self.leaves.get(&key).and_then(|leaf| leaf.content.as_ref());
        content
            .into_iter()
            .flat_map(|it| it.groups.iter().map(|(group, runs)| (*group, runs.as_slice())))
    }

    /// Changes the runs of a group that is held. One without runs is none.
    pub fn change<T>(&mut self, group: GroupKey, change: impl FnOnce(&mut Vec<Run>) -> T) -> T {
        let key = self.leaf_of(group).expect("a held group has a leaf").0;
        let leaf = self.leaves.get_mut(&key).expect("found above");
        let content = leaf.content.as_mut().expect("what is changed is held");
        let runs = content.groups.entry(group).or_default();
        let result = change(runs);
        if runs.is_empty() {
            content.groups.remove(&group);
        }
        content.is_dirty = true;
        if self.changed.insert(key) {
            let slots = leaf.pointer.map_or(1, |pointer| pointer.location.slots());
            self.replaced += Occupancy { slots, fragments: 1 };
        }
        self.unmergeable.remove(&group);
        let is_unmerged = content.groups.get(&group).is_some_and(|runs| below(runs).unmerged);
        if is_unmerged {
            self.unmerged.insert(key);
        } else if self.unmerged.contains(&key) {
            self.note_unmerged(key);
        }
        result
    }

    /// A group that has changed takes so many bytes more.
    pub fn grew(&mut self, bytes: usize) {
        self.grown += bytes;
    }

    /// The group, or its leaf, cannot be read: it is not merged, as it is, before the pool is
    /// opened again.
    pub fn cannot_merge(&mut self, group: GroupKey) {
        self.unmergeable.insert(group);
        if let Some((key, _)) = self.leaf_of(group) {
            self.note_unmerged(key);
        }
    }

    /// The first group that is to be merged of the leaf, which is in memory, that `group` belongs
    /// to. The leaf is known for one without if there is none.
    pub fn first_unmerged_in(&mut self, group: GroupKey) -> Option<GroupKey> {
        let key = self.leaf_of(group)?.0;
        if key != group {
            self.unmerged.remove(&group);
        }
        self.note_unmerged(key);
        self.first_unmerged(key)
    }

    /// The first group of a leaf in memory that is to be merged.
    fn first_unmerged(&self, key: GroupKey) -> Option<GroupKey> {
        let mut groups = self.groups_of(key);
        groups
            .find(|(group, runs)| below(runs).unmerged && !self.unmergeable.contains(group))
            .map(|it| it.0)
    }

    fn note_unmerged(&mut self, key: GroupKey) {
        if self.first_unmerged(key).is_some() {
            self.unmerged.insert(key);
        } else {
            self.unmerged.remove(&key);
        }
    }

    // --- writing ---------------------------------------------------------------------------------

    /// Whether anything is to be written.
    pub fn is_stale(&self) -> bool {
        !self.changed.is_empty() || self.nodes.are_stale()
    }

    /// What the next checkpoint writes of the index, nearly.
    pub fn to_write(&self) -> Occupancy {
        if !self.is_stale() {
            return Occupancy::default();
        }
        let mut all = self.replaced;
        // A page that is cut because the next group does not fit is half full at least.
        all += pages(self.grown, self.grown.div_ceil(LEAF_BYTES_MAX / 2));
        let leaves = self.leaves.len();
        if leaves > 1 {
            let nodes = self.nodes.to_write(self.changed.len());
            all += pages((leaves * NODE_CHILD_BYTES).min(nodes * LEAF_BYTES_MAX), nodes);
        }
        all
    }

    /// The leaves that have changed. Each is to be cut; what changes from now on counts as changed
    /// again.
    pub fn take_changed(&mut self) -> BTreeSet<GroupKey> {
        (self.replaced, self.grown) = Default::default();
        std::mem::take(&mut self.changed)
    }

    /// Cuts a page off a leaf that has changed. What does not fit it becomes a leaf of its own.
    pub fn cut(&mut self, key: GroupKey) -> SplitOff {
        let is_held = self.is_held(key);
        let leaf = self.leaves.remove(&key).expect("a leaf that has changed stays until it is cut");
        let mut rest = leaf.content.expect("a leaf that has changed is in memory").groups;
        self.changed.remove(&key);
        let was_unmerged = self.unmerged.remove(&key);
        self.in_memory -= 1;
        self.nodes.touch(key);
        let groups = take_page(&mut rest);
        if groups.is_empty() {
            if is_held {
                self.put_in_memory(key, GroupsBelow::default(), Content::default());
            }
            return SplitOff { replaced: leaf.pointer, ..SplitOff::default() };
        }
        let of_groups = groups.values().map(|runs| below(runs));
        let below = of_groups.reduce(GroupsBelow::and).unwrap_or_default();
        let page = (key, encode_leaf(groups.iter().map(|(group, runs)| (group, runs.as_slice()))));
        self.put_in_memory(key, below, Content { groups, is_dirty: false });
        self.note_unmerged(key);
        let rest_key = rest.first_key_value().map(|(group, _)| *group);
        if let Some(rest_key) = rest_key {
            self.put_in_memory(
                rest_key,
                GroupsBelow::default(),
                Content { groups: rest, is_dirty: true },
            );
            if was_unmerged {
                self.unmerged.insert(rest_key);
            }
        }
        SplitOff { page: Some(page), replaced: leaf.pointer, rest: rest_key }
    }

    /// A leaf that lies nowhere yet.
    fn put_in_memory(&mut self, key: GroupKey, below: GroupsBelow, content: Content) {
        self.leaves.insert(key, Leaf { pointer: None, below, content: Some(Box::new(content)) });
        self.in_memory += 1;
    }

    /// A leaf is at `pointer` now.
    pub fn leaf_written(&mut self, key: GroupKey, pointer: Pointer) {
        self.leaves.get_mut(&key).expect("it was to be written").pointer = Some(pointer);
        self.nodes.touch(key);
        self.let_go(key);
    }

    /// The page of the leaf of `group` was copied elsewhere. False if the leaf is not there any
    /// more.
    pub fn leaf_moved(&mut self, group: GroupKey, from: Pointer, to: Pointer) -> bool {
        let leaf = self.leaves.range_mut(..=group).next_back();
        let Some((key, leaf)) = leaf.filter(|(_, leaf)| leaf.pointer == Some(from)) else {
            return false;
        };
        leaf.pointer = Some(to);
        let key = *key;
        self.nodes.touch(key);
        true
    }

    /// Whether the leaf of `group` is at `at`, and no checkpoint will write it. Its key may be
    /// another one than when it was written: a start knows an only leaf as the lowest.
    pub fn is_unchanged_at(&self, group: GroupKey, at: Pointer) -> bool {
        let is_dirty = |leaf: &Leaf| leaf.content.as_ref().is_some_and(|content| content.is_dirty);
        self.leaf_of(group).is_some_and(|(_, leaf)| leaf.pointer == Some(at) && !is_dirty(leaf))
    }

    /// Nodes that lie in `segment` are to be written elsewhere.
    pub fn touch_nodes_in(&mut self, segment: SegmentId) {
        self.nodes.touch_in(segment);
    }

    /// Nodes of this level, counted from the leaves, that are to be written, once those below are.
    /// `None`: the index is complete.
    pub fn changed_nodes(&mut self, level: usize) -> Option<NodePages> {
        let leaves = &self.leaves;
        let child = |(key, leaf): (&GroupKey, &Leaf)| {
            Some(Child { first: *key, pointer: leaf.pointer?, below: leaf.below })
        };
        self.nodes.changed(level, |range| Box::new(leaves.range(range).filter_map(child)))
    }

    /// A node is at `pointer` now.
    pub fn node_written(&mut self, level: usize, key: GroupKey, pointer: Pointer) {
        self.nodes.written(level, key, pointer);
    }

    /// Pages that nothing needs any more since the index is complete.
    pub fn take_unneeded(&mut self) -> Vec<Pointer> {
        self.nodes.take_unneeded()
    }

    /// Where the index begins: height and topmost page.
    pub fn root(&self) -> (u8, Option<Pointer>) {
        self.nodes.root()
    }
}

/// What there is to do about a group of these runs.
fn below(runs: &[Run]) -> GroupsBelow {
    let has_cut = || runs.iter().any(|run| matches!(run, Run::Cut { .. }));
    GroupsBelow { unmerged: runs.len() > RUNS_MAX || has_cut(), stacked: runs.len() > 1 }
}

/// What so many bytes take that are spread over so many pages.
fn pages(bytes: usize, pages: usize) -> Occupancy {
    Occupancy { slots: (bytes.div_ceil(SLOT_BYTES) + pages) as u64, fragments: pages as u64 }
}

/// Takes the first groups that fit a page, or the first one.
fn take_page(groups: &mut Groups) -> Groups {
    let mut page = Groups::new();
    let mut bytes = 0;
    while let Some(first) = groups.first_entry() {
        bytes += group_bytes(first.get());
        if bytes > LEAF_BYTES_MAX && !page.is_empty() {
            break;
        }
        let (group, runs) = first.remove_entry();
        page.insert(group, runs);
    }
    page
}

#[cfg(test)]
mod tests;
