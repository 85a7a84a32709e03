//! The segment table that a checkpoint writes: leaves that have changed, the nodes above them, then
//! the first table.
//!
//! Leaves go into pages once the first table has no room for them; before that the first table
//! carries them. A pool that has no more segments to open than checkpoints need writes no pages
//! while the first table has room: it could not give back what they would take.

use ashlar_block::World;
use ashlar_format::header::PageKind;
use ashlar_format::location::{Pointer, SegmentId};
use ashlar_format::page::PAGE_BYTES_MAX;
use ashlar_format::table::{
    Counted, FirstTable, Listed, TREE_HEIGHT_MAX, encode_count_leaf, encode_table_leaf,
    encode_tree_node,
};

use super::CheckpointError;
use super::page_tree::PageTree;
use crate::pool::Pool;
use crate::writer::append::StreamId;
use crate::writer::pages::NewPage;

/// Leaves that are written together.
const LEAVES_AT_A_TIME: usize = 64;
/// Leaves that are encoded in one turn: hosts' operations wait for its end.
const LEAVES_IN_A_TURN: usize = 4;
/// What a leaf takes in the first table beside its own bytes.
const INLINE_LEAF_BYTES: usize = 6;
/// Bytes of leaves in the first table of a pool that has no segment for them.
const INLINE_BYTES_CORNERED: usize = 160 << 10;

/// The two trees.
#[derive(Default)]
pub(crate) struct TableTrees {
    entries: PageTree,
    counts: PageTree,
}

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tree {
    Entries,
    Counts,
}

impl TableTrees {
    /// The trees that a first table names.
    pub fn of(table: &FirstTable) -> Self {
        TableTrees {
            entries: PageTree::of_top(&table.entries),
            counts: PageTree::of_top(&table.counts),
        }
    }

    pub fn tree(&mut self, tree: Tree) -> &mut PageTree {
        match tree {
            Tree::Entries => &mut self.entries,
            Tree::Counts => &mut self.counts,
        }
    }

    /// Where all their pages are.
    pub fn locations(&self) -> impl Iterator<Item = ashlar_format::location::Location> {
        self.entries.locations().chain(self.counts.locations())
    }
}

/// A page that is to be written, or that is not needed any more.
struct Due {
    tree: Tree,
    level: usize,
    number: u32,
    page: Option<Vec<u8>>,
}

impl Due {
    fn kind(&self) -> PageKind {
        match (self.level, self.tree) {
            (0, Tree::Entries) => PageKind::TableLeaf,
            (0, Tree::Counts) => PageKind::CountLeaf,
            _ => PageKind::TableNode,
        }
    }
}

/// Leaves that go along in the first table.
#[derive(Default)]
pub(super) struct InlineLeaves {
    pub entries: Vec<(u32, Vec<Listed>)>,
    pub counts: Vec<(u32, Vec<Counted>)>,
}

impl<W: World> Pool<W> {
    /// Writes what has changed of the trees. Returns what goes along in the first table.
    pub(super) async fn write_leaves(&self) -> Result<InlineLeaves, CheckpointError> {
        let leaves = match self.inline_leaves() {
            Some(leaves) => leaves,
            None => {
                let leaves = self.page_leaves().await?;
                self.write_tree_nodes().await?;
                leaves
            }
        };
        self.drop_pages_of(&leaves);
        Ok(leaves)
    }

    /// All leaves that have changed, if they are few enough for the first table, and no node has to
    /// be written.
    fn inline_leaves(&self) -> Option<InlineLeaves> {
        let mut trees = self.checkpoint.table.borrow_mut();
        if [Tree::Entries, Tree::Counts].into_iter().any(|tree| trees.tree(tree).is_touched()) {
            return None;
        }
        let mut segments = self.space.segments.borrow_mut();
        let room = if segments.window_is_empty() {
            INLINE_BYTES_CORNERED
        } else {
            self.options.table_inline_bytes_max
        };
        let mut inline = InlineLeaves::default();
        let mut bytes = 0;
        for leaf in segments.changed_leaves() {
            let listed = segments.list(leaf);
            bytes += INLINE_LEAF_BYTES + encode_table_leaf(&listed).len();
            inline.entries.push((leaf, listed));
            if bytes > room {
                return None;
            }
        }
        for leaf in segments.changed_count_leaves() {
            let counted = segments.counted(leaf);
            bytes += INLINE_LEAF_BYTES + encode_count_leaf(&counted).len();
            inline.counts.push((leaf, counted));
            if bytes > room {
                return None;
            }
        }
        Some(inline)
    }

    /// What the first table has of leaves, no page has. A node may point to one of before all the
    /// same, until it is written anew: nobody follows that.
    fn drop_pages_of(&self, inline: &InlineLeaves) {
        let mut trees = self.checkpoint.table.borrow_mut();
        let entries = inline.entries.iter().map(|(leaf, _)| (Tree::Entries, *leaf));
        let counts = inline.counts.iter().map(|(leaf, _)| (Tree::Counts, *leaf));
        for (tree, leaf) in entries.chain(counts) {
            if let Some(page) = trees.tree(tree).place(0, leaf, None) {
                self.space.ledger.discard_page(page);
            }
        }
    }

    /// Writes all leaves that have changed to pages. Returns those that have no room in one.
    async fn page_leaves(&self) -> Result<InlineLeaves, CheckpointError> {
        let (mut due, mut inline) = (Vec::new(), InlineLeaves::default());
        let leaves = self.space.segments.borrow().changed_leaves();
        for leaf in leaves {
            let listed = self.space.segments.borrow_mut().list(leaf);
            let page = (!listed.is_empty()).then(|| encode_table_leaf(&listed));
            if page.as_ref().is_some_and(|page| page.len() > PAGE_BYTES_MAX) {
                inline.entries.push((leaf, listed));
                continue;
            }
            self.space.segments.borrow_mut().leaf_written(leaf);
            due.push(Due { tree: Tree::Entries, level: 0, number: leaf, page });
            self.put_if_many(&mut due).await?;
        }
        // Not before: the counts of what has been listed meanwhile are due, too.
        let count_leaves = self.space.segments.borrow().changed_count_leaves();
        for leaf in count_leaves {
            let counted = self.count_leaf(leaf);
            let page = (!counted.is_empty()).then(|| encode_count_leaf(&counted));
            due.push(Due { tree: Tree::Counts, level: 0, number: leaf, page });
            self.put_if_many(&mut due).await?;
        }
        self.put_pages(due).await?;
        Ok(inline)
    }

    fn count_leaf(&self, leaf: u32) -> Vec<Counted> {
        let mut segments = self.space.segments.borrow_mut();
        segments.count_leaf_written(leaf);
        segments.counted(leaf)
    }

    async fn write_tree_nodes(&self) -> Result<(), CheckpointError> {
        for level in 1..=usize::from(TREE_HEIGHT_MAX) {
            let mut due = Vec::new();
            for tree in [Tree::Entries, Tree::Counts] {
                let nodes = self.checkpoint.table.borrow_mut().tree(tree).due(level);
                for number in nodes.into_iter().flatten() {
                    let children =
                        self.checkpoint.table.borrow_mut().tree(tree).children(level, number);
                    let page = (!children.is_empty()).then(|| encode_tree_node(&children));
                    due.push(Due { tree, level, number, page });
                    self.put_if_many(&mut due).await?;
                }
            }
            self.put_pages(due).await?;
        }
        for tree in [Tree::Entries, Tree::Counts] {
            let unneeded = self.checkpoint.table.borrow_mut().tree(tree).nodes_written();
            unneeded.into_iter().for_each(|page| self.space.ledger.discard_page(page));
        }
        Ok(())
    }

    /// Ends the turn where enough has been encoded in it, and writes the pages once they are many.
    async fn put_if_many(&self, due: &mut Vec<Due>) -> Result<(), CheckpointError> {
        if due.len().is_multiple_of(LEAVES_IN_A_TURN) {
            self.world.yield_now().await;
        }
        if due.len() < LEAVES_AT_A_TIME {
            return Ok(());
        }
        self.put_pages(std::mem::take(due)).await
    }

    /// Writes pages, and notes where they are.
    async fn put_pages(&self, mut due: Vec<Due>) -> Result<(), CheckpointError> {
        let new =
            |due: &mut Due| Some(NewPage::listed(due.kind(), std::mem::take(due.page.as_mut()?)));
        let pages: Vec<NewPage> = due.iter_mut().filter_map(new).collect();
        let claim = self.checkpoint.claim.get();
        let mut written = self.append_pages_to(StreamId::Table, claim, pages).await?.into_iter();
        for Due { tree, level, number, page } in due {
            let at: Option<Pointer> = page.map(|_| written.next().expect("each page is written"));
            let before = self.checkpoint.table.borrow_mut().tree(tree).place(level, number, at);
            before.into_iter().for_each(|page| self.space.ledger.discard_page(page));
        }
        Ok(())
    }

    /// Has the pages of the table that lie in the segment written elsewhere by the next checkpoint.
    pub fn touch_table_in(&self, segment: SegmentId) {
        let mut trees = self.checkpoint.table.borrow_mut();
        let mut segments = self.space.segments.borrow_mut();
        trees
            .tree(Tree::Entries)
            .touch_in(segment)
            .into_iter()
            .for_each(|leaf| segments.touch_leaf(leaf));
        let counts = trees.tree(Tree::Counts).touch_in(segment);
        counts.into_iter().for_each(|leaf| segments.touch_count_leaf(leaf));
    }
}
