//! The walk over everything that the root names: the catalog, and the maps, group by group.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use ashlar_block::{Device, Lba};
use ashlar_format::catalog::{Catalog, Item, ItemKey};
use ashlar_format::ids::{
    GIB_BLOCKS, GROUP_BLOCKS, GroupKey, Key, Layer, RANGE_BLOCKS, SHARD_COUNT, ShardId,
};
use ashlar_format::location::Pointer;
use ashlar_format::page::{
    CatalogEntry, CatalogTop, Directory, GroupsBelow, PageEntry, PageRef, Run, Value,
    decode_catalog_directory, decode_catalog_top, decode_delta, decode_directory, decode_leaf,
    decode_map_page, decode_node,
};
use ashlar_format::root::ShardRoot;
use futures_util::stream::iter;
use futures_util::{Stream, StreamExt};

use crate::named::Named;
use crate::pool::{Had, Pool, page_of};
use crate::report::{Kind, shown};
use crate::table::PAGES_AT_A_TIME;

/// Levels of an index, at most: more than any number of groups takes.
const HEIGHT_MAX: u8 = 16;

/// The newest values of a shard's blocks, as its deltas say.
type Deltas = BTreeMap<Key, Value>;

pub(crate) struct Walk<'a, D> {
    pub pool: &'a Pool<D>,
    pub named: &'a Named<'a, D>,
    /// Pages of the segment table.
    pub table_pages: &'a [Pointer],
}

/// A shard's index, and what goes before it.
struct Shard<'w, 'a, D> {
    walk: &'w Walk<'a, D>,
    id: ShardId,
    deltas: Deltas,
    /// The group before: they come in order.
    last: RefCell<Option<GroupKey>>,
}

impl<D: Device> Walk<'_, D> {
    /// Notes all that the root names.
    pub async fn run(&self) {
        self.pool.findings.count(|seen| seen.walks += 1);
        self.table_pages.iter().for_each(|page| self.note_page(*page));
        self.catalog().await;
        if self.pool.root.shards.len() != SHARD_COUNT {
            let text = format!("it has {} shards", self.pool.root.shards.len());
            self.tell(Kind::Root, text);
        }
        for (number, shard) in self.pool.root.shards.iter().enumerate() {
            self.shard(ShardId(number as u8), *shard).await;
        }
    }

    /// Tells of something the first time that it is seen.
    fn tell(&self, kind: Kind, text: String) {
        if self.named.is_first_walk() {
            self.pool.findings.add_of_pool(kind, text);
        }
    }

    fn note_page(&self, page: Pointer) {
        if self.named.is_first_walk() {
            self.pool.findings.count(|seen| seen.pages += 1);
        }
        self.named.note(page, true);
    }

    async fn page(&self, pointer: Pointer, kind: Kind, what: &str) -> Option<Vec<u8>> {
        self.note_page(pointer);
        let geometry = {
            let segments = self.named.segments.borrow();
            let segment = segments.get(pointer.location.segment())?;
            segments.geometry(segment)
        };
        let stored = match self.pool.fragment(&geometry, pointer, kind, what).await {
            Had::AsItIs(stored) | Had::Restored(stored) => stored,
            Had::Not => return None,
        };
        let page = page_of(stored, pointer.location.codec());
        if page.is_none() {
            self.tell(
                kind,
                format!("{what} ({}) has its checksum and is no page", shown(pointer.location)),
            );
        }
        page
    }

    /// What a page holds, if it can be had.
    async fn decoded<T, E: std::fmt::Display>(
        &self,
        pointer: Pointer,
        kind: Kind,
        what: &str,
        decode: impl Fn(&[u8]) -> Result<T, E>,
    ) -> Option<T> {
        let page = self.page(pointer, kind, what).await?;
        let decoded = decode(&page);
        if let Err(error) = &decoded {
            self.tell(
                kind,
                format!("{what} ({}) has its checksum: {error}", shown(pointer.location)),
            );
        }
        decoded.ok()
    }

    /// The pages that are reached from a directory, in their order.
    async fn pages_from(&self, head: Option<Pointer>) -> Vec<Pointer> {
        let (mut directories, mut seen) = (Vec::<Directory>::new(), BTreeSet::new());
        let mut next = head;
        while let Some(pointer) = next.filter(|pointer| seen.insert(*pointer)) {
            let read =
                self.decoded(pointer, Kind::Directory, "a directory", decode_directory).await;
            let Some(directory) = read else { break };
            next = directory.previous;
            directories.push(directory);
        }
        directories.into_iter().rev().flat_map(|directory| directory.pages).collect()
    }

    // --- catalog ---------------------------------------------------------------------------------

    async fn catalog(&self) {
        let (mut items, entries) = self.catalog_entries().await;
        for (item, entry) in entries {
            let mut bytes = Vec::new();
            for page in &entry.pages {
                match self.page(*page, Kind::Catalog, "a page of the catalog").await {
                    Some(page) => bytes.extend(page),
                    None => return,
                }
            }
            if bytes.len() != entry.bytes as usize {
                let what = format!("item {item:?} has {} bytes of {}", bytes.len(), entry.bytes);
                self.tell(Kind::Catalog, what);
            }
            items.push((item, bytes));
        }
        if items.is_empty() || !self.named.is_first_walk() {
            return;
        }
        match Catalog::of_items(&items) {
            Ok(catalog) => {
                self.pool.findings.count(|seen| seen.volumes = catalog.volumes.len() as u64)
            }
            Err(error) => self.tell(Kind::Catalog, format!("the catalog: {error}")),
        }
    }

    /// The items that the root's page is made of, and those that directories list, as far as these
    /// can be had.
    async fn catalog_entries(&self) -> (Vec<Item>, Vec<(ItemKey, CatalogEntry)>) {
        let what = "a directory of the catalog";
        let (mut entries, mut seen) = (Vec::new(), BTreeSet::new());
        let mut next = self.pool.root.catalog;
        while let Some(top) = next.take().filter(|top| seen.insert(*top)) {
            match self.decoded(top, Kind::Catalog, what, decode_catalog_top).await {
                Some(CatalogTop::Whole(items)) => return (items, Vec::new()),
                Some(CatalogTop::Items(items)) => entries.extend(items),
                Some(CatalogTop::List(list)) => {
                    for page in &list.pages {
                        let read = self
                            .decoded(*page, Kind::Catalog, what, decode_catalog_directory)
                            .await;
                        entries.extend(read.into_iter().flatten());
                    }
                    next = list.previous;
                }
                None => return Default::default(),
            }
        }
        entries.sort_by_key(|(item, _)| *item);
        (Vec::new(), entries)
    }

    // --- a shard ---------------------------------------------------------------------------------

    async fn shard(&self, id: ShardId, root: ShardRoot) {
        let deltas = self.deltas(id, root.deltas).await;
        deltas.values().flatten().for_each(|pointer| self.named.note(*pointer, false));
        let Some(top) = root.index else { return };
        if root.index_height > HEIGHT_MAX {
            return self
                .tell(Kind::Root, format!("shard {} has {} levels", id.0, root.index_height));
        }
        let shard = Shard { walk: self, id, deltas, last: RefCell::new(None) };
        let all = Keys { first: GroupKey::default(), end: None };
        shard.below(top, root.index_height, &all).await;
    }

    async fn deltas(&self, id: ShardId, head: Option<Pointer>) -> Deltas {
        let pages = self.pages_from(head).await;
        let reads = iter(&pages)
            .map(|page| self.decoded(*page, Kind::DeltaPage, "a page of deltas", decode_delta));
        let mut reads = reads.buffered(PAGES_AT_A_TIME);
        let mut deltas = Deltas::new();
        while let Some(updates) = reads.next().await {
            for (key, value) in updates.into_iter().flatten() {
                if ShardId::of(key.family, key.lba) != id {
                    self.tell(
                        Kind::DeltaPage,
                        format!("shard {} has a delta of {key:?}, which is not its own", id.0),
                    );
                }
                deltas.insert(key, value);
            }
        }
        deltas
    }
}

/// Groups that belong to a node or leaf.
struct Keys {
    first: GroupKey,
    /// The first one that does not.
    end: Option<GroupKey>,
}

impl Keys {
    fn has(&self, group: GroupKey) -> bool {
        self.first <= group && self.end.is_none_or(|end| group < end)
    }
}

impl<D: Device> Shard<'_, '_, D> {
    /// Walks what is below a node or leaf: the leaves come in their order, so that no more than a
    /// node of each level is in memory.
    async fn below(&self, top: Pointer, height: u8, keys: &Keys) -> Option<GroupsBelow> {
        if height == 0 {
            return self.leaf(top, keys).await;
        }
        let what = "a node of an index";
        let children = self.walk.decoded(top, Kind::IndexNode, what, decode_node).await?;
        let tell =
            |what| self.walk.tell(Kind::IndexNode, format!("{what} of {}", shown(top.location)));
        if !children.is_sorted_by(|one, next| one.first < next.first) {
            tell("the children are out of order");
        }
        let mut all = Some(GroupsBelow::default());
        for (nth, child) in children.iter().enumerate() {
            let end = children.get(nth + 1).map_or(keys.end, |next| Some(next.first));
            let first = if nth == 0 { keys.first } else { child.first };
            // One that cannot be read hides what is below it, and not its neighbours.
            let below = Box::pin(self.below(child.pointer, height - 1, &Keys { first, end })).await;
            if below.is_some_and(|below| below.and(child.below) != child.below) {
                tell("something that is to be merged is not said to be below a child");
            }
            all = all.zip(below).map(|(all, below)| all.and(below));
        }
        all
    }

    /// Looks a leaf through. Returns what there is to do about its groups, as far as that can be
    /// told without knowing when the store merges.
    async fn leaf(&self, pointer: Pointer, keys: &Keys) -> Option<GroupsBelow> {
        let what = "a leaf of an index";
        let groups = self.walk.decoded(pointer, Kind::IndexLeaf, what, decode_leaf).await?;
        if !groups.iter().all(|(group, _)| keys.has(*group)) {
            let what =
                format!("{} has groups that belong to another leaf", shown(pointer.location));
            self.walk.tell(Kind::IndexLeaf, what);
        }
        let has_cut = |runs: &Vec<Run>| runs.iter().any(|run| matches!(run, Run::Cut { .. }));
        let below = GroupsBelow {
            unmerged: groups.iter().any(|(_, runs)| has_cut(runs)),
            stacked: groups.iter().any(|(_, runs)| runs.len() > 1),
        };
        if self.walk.named.is_first_walk() {
            self.walk.pool.findings.count(|seen| seen.groups += groups.len() as u64);
        }
        for (group, _) in &groups {
            if self.last.replace(Some(*group)).is_some_and(|last| last >= *group) {
                self.walk.tell(
                    Kind::IndexLeaf,
                    format!("{group:?} of shard {} is out of order", self.id.0),
                );
            }
        }
        let pages: Vec<PageRef> =
            groups.iter().flat_map(|(_, runs)| runs.iter().flat_map(Run::pages)).copied().collect();
        let what = "a page of the map";
        let reads = iter(&pages)
            .map(|page| self.walk.decoded(page.pointer, Kind::MapPage, what, decode_map_page));
        let mut reads = reads.buffered(PAGES_AT_A_TIME);
        for (group, runs) in &groups {
            self.group(*group, runs, &mut reads).await;
        }
        Some(below)
    }

    /// Notes what the group's runs name, whose pages come next.
    async fn group(
        &self,
        group: GroupKey,
        runs: &[Run],
        pages: &mut (impl Stream<Item = Option<Vec<PageEntry>>> + Unpin),
    ) {
        let mut hidden = Hidden::of_deltas(&self.deltas, group);
        for run in runs {
            if let Run::Cut { layer, first, end } = run {
                for block in self.own_blocks(group, *first..*end) {
                    hidden.hide(block, *layer);
                }
            }
            for page in run.pages() {
                let entries = pages.next().await.flatten().unwrap_or_default();
                self.check_page(group, run, page, &entries);
                self.note_entries(&mut hidden, &entries);
            }
        }
    }

    /// Those of the blocks that are of this shard: every 64th range.
    fn own_blocks(
        &self,
        group: GroupKey,
        blocks: std::ops::Range<u32>,
    ) -> impl Iterator<Item = u32> {
        let range_blocks = RANGE_BLOCKS as u32;
        let shard_of = |range: u32| {
            ShardId::of(group.family, group.first_block().plus(u64::from(range * range_blocks)))
        };
        let first = (0..SHARD_COUNT as u32).find(|range| shard_of(*range) == self.id).unwrap_or(0);
        let ranges = (first..GIB_BLOCKS as u32 / range_blocks).step_by(SHARD_COUNT);
        ranges.flat_map(move |range| {
            let (start, end) = (range * range_blocks, (range + 1) * range_blocks);
            blocks.start.max(start)..blocks.end.min(end)
        })
    }

    /// A value that nothing newer hides names its place.
    fn note_entries(&self, hidden: &mut Hidden, entries: &[PageEntry]) {
        for entry in entries {
            let is_newest = hidden.hide(entry.block, entry.layer);
            entry
                .value
                .filter(|_| is_newest)
                .into_iter()
                .for_each(|value| self.walk.named.note(value, false));
        }
    }

    fn check_page(&self, group: GroupKey, run: &Run, page: &PageRef, entries: &[PageEntry]) {
        // A page that cannot be had has been told of.
        if entries.is_empty() || !self.walk.named.is_first_walk() {
            return;
        }
        let Run::Pages { filter, .. } = run else { return };
        let is_own = |entry: &PageEntry| {
            let block = group.first_block().plus(u64::from(entry.block));
            u64::from(entry.block) < GIB_BLOCKS && ShardId::of(group.family, block) == self.id
        };
        let facts = [
            (entries.len() == usize::from(page.entries), "as many entries as its run says"),
            (entries[0].block == page.first_block, "the first block that its run says"),
            (entries.is_sorted_by_key(|entry| (entry.block, entry.layer)), "its entries in order"),
            (entries.iter().all(is_own), "blocks of its group and shard alone"),
            (
                entries.iter().all(|entry| filter.may_have(entry.block)),
                "blocks that its run's filter has",
            ),
        ];
        for (_, what) in facts.iter().filter(|(holds, _)| !holds) {
            let text =
                format!("a page of the map ({}) should have {what}", shown(page.pointer.location));
            self.walk.tell(Kind::MapPage, text);
        }
    }
}

/// Blocks of a group of which something newer has been said.
struct Hidden(Vec<(Layer, Box<[u64; GROUP_BLOCKS / 64]>)>);

impl Hidden {
    fn of_deltas(deltas: &Deltas, group: GroupKey) -> Self {
        let mut hidden = Hidden(Vec::new());
        let first = group.first_block();
        let key = |lba: Lba| Key { family: group.family, lba, layer: Layer(0) };
        for key in deltas.range(key(first)..key(first.plus(GIB_BLOCKS))).map(|(key, _)| key) {
            hidden.hide((key.lba.0 - first.0) as u32, key.layer);
        }
        hidden
    }

    /// Whatever comes later says nothing of the block. Whether nothing newer did before.
    fn hide(&mut self, block: u32, layer: Layer) -> bool {
        let known = self.0.iter().position(|(of, _)| *of == layer).unwrap_or_else(|| {
            self.0.push((layer, Box::new([0; GROUP_BLOCKS / 64])));
            self.0.len() - 1
        });
        let (range, within) =
            (block as usize / RANGE_BLOCKS as usize, block as usize % RANGE_BLOCKS as usize);
        let at = (range / SHARD_COUNT * RANGE_BLOCKS as usize + within) % GROUP_BLOCKS;
        let (word, bit) = (&mut self.0[known].1[at / 64], 1 << (at % 64));
        let is_news = *word & bit == 0;
        *word |= bit;
        is_news
    }
}
