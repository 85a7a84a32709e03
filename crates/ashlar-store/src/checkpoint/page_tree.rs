//! Where the pages of a tree of the segment table are.
//!
//! Owns the pointers, and knows which nodes a checkpoint has to write. It does not know what the
//! pages say, and does no I/O.
//!
//! 1. A page's parent has changed once the page has: [`PageTree::place`] sees to that.
//! 2. The topmost level has at most [`TOP_PAGES_MAX`] pages: the first table points to them.

use std::collections::{BTreeMap, BTreeSet};

use ashlar_format::location::{Location, Pointer, SegmentId};
use ashlar_format::table::{NODE_CHILDREN, TOP_PAGES_MAX, TREE_HEIGHT_MAX, TreeTop};

const LEVELS: usize = TREE_HEIGHT_MAX as usize + 1;

/// The pages of one level, and which are to be written.
#[derive(Default)]
struct Level {
    pages: BTreeMap<u32, Pointer>,
    changed: BTreeSet<u32>,
}

/// One tree. Level 0 are its leaves.
#[derive(Default)]
pub(crate) struct PageTree {
    height: usize,
    levels: [Level; LEVELS],
    /// Nodes are to be written for where they lie.
    is_touched: bool,
}

impl PageTree {
    /// A tree of which the topmost pages are known.
    pub fn of_top(top: &TreeTop) -> Self {
        let mut tree = PageTree { height: usize::from(top.height), ..PageTree::default() };
        tree.levels[tree.height].pages = top.pages.iter().copied().collect();
        tree
    }

    /// What a node that was read says of the level below it.
    pub fn load(&mut self, level: usize, children: Vec<(u32, Pointer)>) {
        self.levels[level].pages.extend(children);
    }

    /// The level of the topmost pages.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The pages of a level, by their numbers.
    pub fn pages(&self, level: usize) -> &BTreeMap<u32, Pointer> {
        &self.levels[level].pages
    }

    /// Where the tree begins.
    pub fn top(&self) -> TreeTop {
        let pages = self.levels[self.height].pages.iter().map(|(number, page)| (*number, *page));
        TreeTop { height: self.height as u8, pages: pages.collect() }
    }

    /// The page of that number is there now, or nowhere. Returns where it was.
    pub fn place(&mut self, level: usize, number: u32, page: Option<Pointer>) -> Option<Pointer> {
        if let Some(above) = self.levels.get_mut(level + 1) {
            above.changed.insert(number / NODE_CHILDREN);
        }
        match page {
            Some(page) => self.levels[level].pages.insert(number, page),
            None => self.levels[level].pages.remove(&number),
        }
    }

    /// The nodes of a level that are to be written now that the level below is, in order; `None`
    /// if that is the topmost one, or the topmost one is still lower.
    pub fn due(&mut self, level: usize) -> Option<Vec<u32>> {
        if level > self.height + 1 {
            return None;
        }
        let below = &self.levels[level - 1].pages;
        if below.len() <= TOP_PAGES_MAX {
            self.height = level - 1;
            return None;
        }
        let all = || below.keys().map(|child| child / NODE_CHILDREN).collect::<BTreeSet<u32>>();
        let is_new = self.height < level;
        let due = if is_new { all() } else { std::mem::take(&mut self.levels[level].changed) };
        self.levels[level].changed.clear();
        self.height = self.height.max(level);
        Some(due.into_iter().collect())
    }

    /// The children of a node.
    pub fn children(&self, level: usize, node: u32) -> Vec<(u32, Pointer)> {
        let numbers = node * NODE_CHILDREN..=node * NODE_CHILDREN + (NODE_CHILDREN - 1);
        self.levels[level - 1].pages.range(numbers).map(|(number, page)| (*number, *page)).collect()
    }

    /// The nodes that were due have been written. Returns the pages above the topmost level, which
    /// no root names any more.
    pub fn nodes_written(&mut self) -> Vec<Pointer> {
        self.is_touched = false;
        let above = &mut self.levels[self.height + 1..];
        let pages = above.iter_mut().flat_map(|level| std::mem::take(level).pages.into_values());
        pages.collect()
    }

    /// Whether nodes are to be written for where they lie.
    pub fn is_touched(&self) -> bool {
        self.is_touched
    }

    /// Has the nodes that lie in the segment written anew by the next checkpoint. Returns the
    /// leaves that lie there: their owner sees to them.
    pub fn touch_in(&mut self, segment: SegmentId) -> Vec<u32> {
        for level in &mut self.levels[1..] {
            let inside = level.pages.iter().filter(|(_, page)| page.location.segment() == segment);
            let inside: Vec<u32> = inside.map(|(number, _)| *number).collect();
            self.is_touched |= !inside.is_empty();
            level.changed.extend(inside);
        }
        let leaves = self.levels[0].pages.iter();
        let inside = leaves.filter(|(_, page)| page.location.segment() == segment);
        inside.map(|(number, _)| *number).collect()
    }

    /// Where all pages are.
    pub fn locations(&self) -> impl Iterator<Item = Location> {
        self.levels.iter().flat_map(|level| level.pages.values()).map(|page| page.location)
    }
}

#[cfg(test)]
mod tests;
