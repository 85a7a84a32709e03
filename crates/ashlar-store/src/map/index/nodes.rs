//! The nodes above a shard's leaves: which of them a change makes due.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeFrom, RangeToInclusive};

use ashlar_format::ids::GroupKey;
use ashlar_format::location::{Pointer, SegmentId};
use ashlar_format::page::{CHILDREN_MAX, Child, GroupsBelow, encode_node};

use super::LOWEST;

/// A node of fewer children takes in the next one, if there is room.
const CHILDREN_FEW: usize = NODE_CHILDREN_MAX / 4;

/// Children of a node, at most. Few in this crate's own tests, so that trees are high there.
const NODE_CHILDREN_MAX: usize = if cfg!(test) { 8 } else { CHILDREN_MAX };

/// Bounds of keys.
pub type Keys = (Bound<GroupKey>, Bound<GroupKey>);

/// Nodes that are to be written: their lowest key and their bytes; and the pages that they replace.
#[derive(Default, Debug)]
pub struct NodePages {
    pub pages: Vec<(GroupKey, Vec<u8>)>,
    pub replaced: Vec<Pointer>,
}

#[derive(Default)]
struct Node {
    pointer: Option<Pointer>,
    below: GroupsBelow,
    is_changed: bool,
}

type Level = BTreeMap<GroupKey, Node>;

/// All nodes, by level, from the leaves up, and by the lowest key that belongs to them.
#[derive(Default)]
pub struct Nodes {
    levels: Vec<Level>,
    /// The topmost page: a node, or the only leaf.
    root: Option<Pointer>,
    are_stale: bool,
    /// Nodes that have changed since the index was complete, at most.
    changed: usize,
    /// Pages of levels that are not needed any more.
    unneeded: Vec<Pointer>,
}

impl Nodes {
    /// The nodes that were found on the drives, from the lowest level up.
    pub fn loaded(levels: Vec<Vec<Child>>, root: Option<Pointer>) -> Self {
        let node = |it: Child| {
            (it.first, Node { pointer: Some(it.pointer), below: it.below, is_changed: false })
        };
        let levels =
            levels.into_iter().map(|level| level.into_iter().map(node).collect()).collect();
        Nodes { levels, root, ..Nodes::default() }
    }

    pub fn are_stale(&self) -> bool {
        self.are_stale
    }

    pub fn pages(&self) -> impl Iterator<Item = Pointer> + '_ {
        self.levels.iter().flat_map(|level| level.values().filter_map(|node| node.pointer))
    }

    /// Height and topmost page.
    pub fn root(&self) -> (u8, Option<Pointer>) {
        (self.levels.len() as u8, self.root)
    }

    /// Nodes that are written where so many leaves have changed, nearly.
    pub fn to_write(&self, leaves: usize) -> usize {
        let lowest = self.levels.first().map_or(1, BTreeMap::len);
        (leaves.clamp(1, lowest) + self.levels.len().saturating_sub(1)).max(self.changed)
    }

    /// A leaf is new, gone, or elsewhere.
    pub fn touch(&mut self, leaf: GroupKey) {
        self.are_stale = true;
        if let Some(level) = self.levels.first_mut() {
            self.changed += usize::from(touch_parent(level, leaf));
        }
    }

    /// Nodes that lie in `segment` are to be written elsewhere.
    pub fn touch_in(&mut self, segment: SegmentId) {
        let nodes = self.levels.iter_mut().flat_map(BTreeMap::values_mut);
        for node in
            nodes.filter(|node| node.pointer.is_some_and(|at| at.location.segment() == segment))
        {
            self.changed += usize::from(!std::mem::replace(&mut node.is_changed, true));
            self.are_stale = true;
        }
    }

    /// Nodes of this level that are to be written; `leaves`: those within bounds. `None`: there is
    /// but one page below, which is the topmost one.
    pub fn changed<'l>(
        &mut self,
        level: usize,
        leaves: impl Fn(Keys) -> Box<dyn Iterator<Item = Child> + 'l>,
    ) -> Option<NodePages> {
        let all = (Bound::Unbounded, Bound::Unbounded);
        let top: Vec<Child> = self.children(level, all, &leaves).take(2).collect();
        if top.len() < 2 {
            self.end_below(level, top.first().map(|child| child.pointer));
            return None;
        }
        if self.levels.len() == level {
            let node = Node { is_changed: true, ..Node::default() };
            self.levels.push(Level::from([(LOWEST, node)]));
        }
        let due =
            self.levels[level].iter().filter(|(_, node)| node.is_changed).map(|(key, _)| *key);
        let mut written = NodePages::default();
        for key in due.collect::<Vec<_>>() {
            self.form(level, key, &leaves, &mut written);
        }
        Some(written)
    }

    /// The index ends below `level`.
    fn end_below(&mut self, level: usize, root: Option<Pointer>) {
        let above = self.levels.drain(level..).flat_map(BTreeMap::into_values);
        self.unneeded.extend(above.filter_map(|node| node.pointer));
        self.root = root;
        self.changed =
            self.levels.iter().flat_map(BTreeMap::values).filter(|node| node.is_changed).count();
        self.are_stale = self.changed > 0;
    }

    /// Forms a node that has changed: of a few children together with the next one, of too many as
    /// several.
    fn form<'l>(
        &mut self,
        level: usize,
        key: GroupKey,
        leaves: &impl Fn(Keys) -> Box<dyn Iterator<Item = Child> + 'l>,
        written: &mut NodePages,
    ) {
        let Some(node) = self.levels[level].remove(&key) else { return };
        written.replaced.extend(node.pointer);
        let mut end = self.behind(level, key);
        let keys = (Bound::Included(key), excluded(end));
        let mut children: Vec<Child> = self.children(level, keys, leaves).collect();
        while let (true, Some(next)) = (children.len() < CHILDREN_FEW, end) {
            let behind = self.behind(level, next);
            let keys = (Bound::Included(next), excluded(behind));
            let more: Vec<Child> = self.children(level, keys, leaves).collect();
            if children.len() + more.len() > NODE_CHILDREN_MAX {
                break;
            }
            let taken_in = self.levels[level].remove(&next).expect("it is the next one");
            written.replaced.extend(taken_in.pointer);
            self.touch_above(level, next);
            children.extend(more);
            end = behind;
        }
        self.touch_above(level, key);
        let parts = children.len().div_ceil(NODE_CHILDREN_MAX).max(1);
        for (nth, part) in children.chunks(children.len().div_ceil(parts).max(1)).enumerate() {
            let key = if nth == 0 { key } else { part[0].first };
            let below =
                part.iter().map(|child| child.below).reduce(GroupsBelow::and).unwrap_or_default();
            // A part may belong to the parent behind: a node takes in the next one across parents.
            self.touch_above(level, key);
            written.pages.push((key, encode_node(part)));
            self.levels[level].insert(key, Node { pointer: None, below, is_changed: false });
        }
    }

    /// The children of nodes of a level, within bounds.
    fn children<'s, 'l: 's>(
        &'s self,
        level: usize,
        keys: Keys,
        leaves: &impl Fn(Keys) -> Box<dyn Iterator<Item = Child> + 'l>,
    ) -> Box<dyn Iterator<Item = Child> + 's> {
        let Some(below) = level.checked_sub(1) else { return leaves(keys) };
        let child = |(key, node): (&GroupKey, &Node)| {
            let pointer = node.pointer.expect("the nodes below have been written");
            Child { first: *key, pointer, below: node.below }
        };
        Box::new(self.levels[below].range(keys).map(child))
    }

    fn behind(&self, level: usize, key: GroupKey) -> Option<GroupKey> {
        let behind = (Bound::Excluded(key), Bound::Unbounded);
        self.levels[level].range(behind).next().map(|(key, _)| *key)
    }

    fn touch_above(&mut self, level: usize, key: GroupKey) {
        if let Some(above) = self.levels.get_mut(level + 1) {
            self.changed += usize::from(touch_parent(above, key));
        }
    }

    /// A node is at `pointer` now.
    pub fn written(&mut self, level: usize, key: GroupKey, pointer: Pointer) {
        self.levels[level].get_mut(&key).expect("it was to be written").pointer = Some(pointer);
    }

    pub fn take_unneeded(&mut self) -> Vec<Pointer> {
        std::mem::take(&mut self.unneeded)
    }
}

/// The node that a child with this key belongs to has changed; whether it had not before. What is
/// below the first one belongs to that.
fn touch_parent(level: &mut Level, child: GroupKey) -> bool {
    let to_child: RangeToInclusive<GroupKey> = ..=child;
    if let Some((_, node)) = level.range_mut(to_child).next_back() {
        return !std::mem::replace(&mut node.is_changed, true);
    }
    let from: RangeFrom<GroupKey> = child..;
    let Some(first) = level.range(from).next().map(|(key, _)| *key) else { return false };
    let node = level.remove(&first).expect("found above");
    let had_not = !node.is_changed;
    level.insert(LOWEST, Node { is_changed: true, ..node });
    had_not
}

fn excluded(end: Option<GroupKey>) -> Bound<GroupKey> {
    end.map_or(Bound::Unbounded, Bound::Excluded)
}
