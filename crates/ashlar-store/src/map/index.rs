//! A shard's index on the drives: which leaf holds which groups, and which leaves have changed.

use std::collections::BTreeMap;
use std::ops::Bound;

use ashlar_format::ids::{Family, GroupKey};
use ashlar_format::location::{Pointer, SLOT_BYTES, SegmentId};
use ashlar_format::page::{
    CHILDREN_MAX, Child, LEAF_BYTES_MAX, NODE_CHILD_BYTES, Run, encode_leaf, encode_node, group_bytes,
};
use ashlar_format::table::Occupancy;

/// Below every group.
const LOWEST: GroupKey = GroupKey { family: Family(0), gib: 0 };

#[derive(Clone, Copy, Default)]
struct Leaf {
    pointer: Option<Pointer>,
    changed: bool,
}

impl Leaf {
    /// It has changed; `all` sums up what those take that have.
    fn change(&mut self, all: &mut Occupancy) {
        if !std::mem::replace(&mut self.changed, true) {
            let slots = self.pointer.map_or(1, |pointer| pointer.location.slots());
            *all += Occupancy { slots, fragments: 1 };
        }
    }
}

/// The leaves of a shard's index, and the nodes above them.
#[derive(Default)]
pub struct Index {
    /// By the lowest key that belongs to the leaf.
    leaves: BTreeMap<GroupKey, Leaf>,
    nodes: Vec<Pointer>,
    height: u8,
    root: Option<Pointer>,
    stale: bool,
    /// What the changed leaves took when they were written.
    changed: Occupancy,
    /// Bytes by which groups have grown since.
    grown: usize,
}

/// Leaves to be written: by their lowest key, and their bytes.
pub type LeafPages = Vec<(GroupKey, Vec<u8>)>;

impl Index {
    /// The index that was found on the drives.
    pub fn loaded(leaves: Vec<Child>, nodes: Vec<Pointer>, height: u8, root: Option<Pointer>) -> Self {
        let leaf = |(key, pointer)| (key, Leaf { pointer: Some(pointer), changed: false });
        let leaves = leaves.into_iter().map(leaf).collect();
        Index { leaves, nodes, height, root, ..Index::default() }
    }

    /// A group has changed.
    pub fn touch(&mut self, group: GroupKey) {
        self.stale = true;
        if self.leaves.range(..=group).next_back().is_none() {
            self.leaves.insert(LOWEST, Leaf::default());
        }
        let (_, leaf) = self.leaves.range_mut(..=group).next_back().expect("there is one for every group");
        leaf.change(&mut self.changed);
    }

    /// A group that has changed takes so many bytes more.
    pub fn grew(&mut self, bytes: usize) {
        self.grown += bytes;
    }

    /// What the next checkpoint writes of the index, nearly.
    pub fn to_write(&self) -> Occupancy {
        if !self.stale {
            return Occupancy::default();
        }
        let mut all = self.changed;
        // A page that is cut because the next group does not fit is half full at least.
        all += pages(self.grown, self.grown.div_ceil(LEAF_BYTES_MAX / 2));
        let leaves = self.leaves.len();
        if leaves > 1 {
            all += pages(leaves * NODE_CHILD_BYTES, leaves.div_ceil(CHILDREN_MAX - 1));
        }
        all
    }

    /// What lies in `segment` is to be written elsewhere.
    pub fn touch_pages_in(&mut self, segment: SegmentId) {
        let inside = |pointer: &Pointer| pointer.location.segment() == segment;
        for leaf in self.leaves.values_mut().filter(|leaf| leaf.pointer.as_ref().is_some_and(inside)) {
            leaf.change(&mut self.changed);
            self.stale = true;
        }
        self.stale |= self.nodes.iter().any(inside);
    }

    /// All pages of the index.
    pub fn pages(&self) -> impl Iterator<Item = Pointer> + '_ {
        self.leaves.values().filter_map(|leaf| leaf.pointer).chain(self.nodes.iter().copied())
    }

    /// Whether anything is to be written.
    pub fn is_stale(&self) -> bool {
        self.stale
    }

    /// The changed leaves' new pages, and the pages that they replace. Each new one is to be
    /// reported to [`Index::leaf_written`]; what changes until then counts as changed again.
    pub fn changed_leaves(&mut self, groups: &BTreeMap<GroupKey, Vec<Run>>) -> (LeafPages, Vec<Pointer>) {
        self.stale = false;
        (self.changed, self.grown) = Default::default();
        let changed: Vec<GroupKey> =
            self.leaves.iter().filter(|(_, leaf)| leaf.changed).map(|(key, _)| *key).collect();
        let mut pages = Vec::new();
        let mut replaced = Vec::new();
        for key in changed {
            let end = self.leaves.range((Bound::Excluded(key), Bound::Unbounded)).next().map(|(key, _)| *key);
            replaced.extend(self.leaves.remove(&key).and_then(|leaf| leaf.pointer));
            let range = (Bound::Included(key), end.map_or(Bound::Unbounded, Bound::Excluded));
            pages.extend(leaf_pages(key, groups.range(range)));
        }
        self.leaves.extend(pages.iter().map(|(key, _)| (*key, Leaf::default())));
        (pages, replaced)
    }

    /// A leaf is at `pointer` now.
    pub fn leaf_written(&mut self, key: GroupKey, pointer: Pointer) {
        self.leaves.get_mut(&key).expect("it was to be written").pointer = Some(pointer);
    }

    /// The lowest level of nodes, from the leaves as they are; empty if none is needed.
    pub fn children(&self) -> Vec<Child> {
        self.leaves.iter().filter_map(|(key, leaf)| Some((*key, leaf.pointer?))).collect()
    }

    /// The nodes above have been written; returns those that they replace.
    pub fn nodes_written(&mut self, nodes: Vec<Pointer>, height: u8, root: Option<Pointer>) -> Vec<Pointer> {
        self.height = height;
        self.root = root;
        std::mem::replace(&mut self.nodes, nodes)
    }

    /// Where the index begins: height and topmost page.
    pub fn root(&self) -> (u8, Option<Pointer>) {
        (self.height, self.root)
    }
}

/// What so many bytes take that are spread over so many pages.
fn pages(bytes: usize, pages: usize) -> Occupancy {
    Occupancy { slots: (bytes.div_ceil(SLOT_BYTES) + pages) as u64, fragments: pages as u64 }
}

/// Cuts groups into pages; the first one takes over the leaf's own key.
fn leaf_pages<'a>(key: GroupKey, groups: impl Iterator<Item = (&'a GroupKey, &'a Vec<Run>)>) -> LeafPages {
    let mut pages = Vec::new();
    let mut page: Vec<(&GroupKey, &[Run])> = Vec::new();
    let mut bytes = 0;
    let mut page_key = key;
    for (group, runs) in groups {
        let more = group_bytes(runs);
        if bytes + more > LEAF_BYTES_MAX {
            pages.push((page_key, encode_leaf(page.drain(..))));
            bytes = 0;
            page_key = *group;
        }
        bytes += more;
        page.push((group, runs));
    }
    if !page.is_empty() {
        pages.push((page_key, encode_leaf(page.drain(..))));
    }
    pages
}

/// One level of nodes above `children`: each node's lowest key and its bytes.
pub fn nodes_above(children: &[Child]) -> Vec<(GroupKey, Vec<u8>)> {
    children.chunks(CHILDREN_MAX).map(|chunk| (chunk[0].0, encode_node(chunk))).collect()
}

#[cfg(test)]
mod tests;
