//! Loads the segment table as of the root: what the first table does not have.

use std::collections::{BTreeSet, HashMap};

use ashlar_block::{DriveId, World};
use ashlar_format::codec::Malformed;
use ashlar_format::location::{Pointer, SegmentId};
use ashlar_format::table::{
    Counted, FirstTable, Listed, Occupancy, TableEntry, decode_count_leaf, decode_table_leaf,
    decode_tree_node,
};
use futures_util::future::try_join_all;

use crate::checkpoint::table::Tree;
use crate::pool::Pool;
use crate::recovery::OpenError;

/// Pages that are read at a time.
const PAGES_AT_A_TIME: usize = 64;

impl<W: World> Pool<W> {
    /// Loads the segments that the first table does not have, and the numbers that rest.
    pub(super) async fn load_table(&self, first: FirstTable) -> Result<(), OpenError> {
        for tree in [Tree::Entries, Tree::Counts] {
            self.load_nodes(tree).await?;
        }
        self.inline_leaves_replace_pages(&first);
        let mut counts: HashMap<SegmentId, Occupancy> =
            first.count_leaves.into_iter().flat_map(|(_, counted)| counted).collect();
        let count = |counted: Vec<Counted>| {
            counts.extend(counted);
            Ok(())
        };
        self.load_leaves(Tree::Counts, decode_count_leaf, count).await?;
        for (_, listed) in first.leaves {
            self.load_listed(listed, &counts)?;
        }
        let load = |listed| self.load_listed(listed, &counts);
        self.load_leaves(Tree::Entries, decode_table_leaf, load).await?;
        self.check_drives()
    }

    /// Nobody restores what lies on a drive that the root does not know.
    fn check_drives(&self) -> Result<(), OpenError> {
        let (segments, root) = (self.space.segments.borrow(), self.checkpoint.roots.newest());
        let is_known = |drive: DriveId| root.members.iter().any(|member| member.drive == drive);
        let what = "segment table: it names a drive that is no member";
        if segments.summary().drives_used().all(is_known) {
            Ok(())
        } else {
            Err(Malformed { what }.into())
        }
    }

    async fn load_nodes(&self, tree: Tree) -> Result<(), OpenError> {
        let height = self.checkpoint.table.borrow_mut().tree(tree).height();
        for level in (1..=height).rev() {
            for some in self.table_pages(tree, level).chunks(PAGES_AT_A_TIME) {
                let read = try_join_all(some.iter().map(|(_, page)| self.read_page(*page))).await?;
                for ((node, _), page) in some.iter().zip(read) {
                    let children = decode_tree_node(&page, *node)?;
                    self.checkpoint.table.borrow_mut().tree(tree).load(level - 1, children);
                }
                self.world.yield_now().await;
            }
        }
        Ok(())
    }

    /// A leaf that the first table has is in no page, whatever a node still says, and is to be
    /// written.
    fn inline_leaves_replace_pages(&self, first: &FirstTable) {
        let (mut trees, mut segments) =
            (self.checkpoint.table.borrow_mut(), self.space.segments.borrow_mut());
        for (leaf, _) in &first.leaves {
            trees.tree(Tree::Entries).place(0, *leaf, None);
            segments.touch_leaf(*leaf);
        }
        for (leaf, _) in &first.count_leaves {
            trees.tree(Tree::Counts).place(0, *leaf, None);
            segments.touch_count_leaf(*leaf);
        }
    }

    async fn load_leaves<T>(
        &self,
        tree: Tree,
        decode: impl Fn(&[u8], u32) -> Result<Vec<T>, Malformed>,
        mut load: impl FnMut(Vec<T>) -> Result<(), Malformed>,
    ) -> Result<(), OpenError> {
        for some in self.table_pages(tree, 0).chunks(PAGES_AT_A_TIME) {
            let read = try_join_all(some.iter().map(|(_, page)| self.read_page(*page))).await?;
            for ((leaf, _), page) in some.iter().zip(read) {
                load(decode(&page, *leaf)?)?;
            }
            self.world.yield_now().await;
        }
        Ok(())
    }

    fn table_pages(&self, tree: Tree, level: usize) -> Vec<(u32, Pointer)> {
        let mut trees = self.checkpoint.table.borrow_mut();
        trees.tree(tree).pages(level).iter().map(|(number, page)| (*number, *page)).collect()
    }

    /// What a leaf says, but for segments that the first table has: there they are as they were
    /// when the root was written.
    fn load_listed(
        &self,
        listed: Vec<Listed>,
        counts: &HashMap<SegmentId, Occupancy>,
    ) -> Result<(), Malformed> {
        let mut segments = self.space.segments.borrow_mut();
        let (mut entries, mut resting) = (Vec::new(), BTreeSet::new());
        for it in listed {
            match it {
                Listed::Resting(id) => drop(resting.insert(id)),
                Listed::Segment(entry) if segments.get(entry.id).is_some() => {}
                Listed::Segment(entry) => {
                    let live = counts.get(&entry.id).copied().unwrap_or_default();
                    entries.push(TableEntry { live, ..entry });
                }
            }
        }
        segments.load_listed(entries)?;
        segments.load_resting(resting);
        Ok(())
    }
}
