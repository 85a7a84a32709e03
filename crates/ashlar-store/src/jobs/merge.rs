//! Merges keep the map small: they distribute buffers to groups, and merge the runs of a group.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};

use ashlar_block::{IoError, World};
use ashlar_format::header::PageKind;
use ashlar_format::ids::{GIB_BLOCKS, GroupKey, Key, Layer, ShardId};
use ashlar_format::location::Pointer;
use ashlar_format::page::{
    DELTA_ENTRIES_MAX, Filter, PageEntry, PageRef, Run, Value, encode_map_page, page_entries_max,
};

use crate::base::limits::PAGES_READ_AT_A_TIME;
use crate::lookup::map_unreadable;
use crate::map::index::Place;
use crate::pool::Pool;
use crate::space::ledger::{Discards, NamedAt};
use crate::space::segments::Claim;
use crate::writer::pages::{AppendError, NewPage};

/// Entries of one page.
const PAGE_ENTRIES: usize = page_entries_max(ashlar_format::page::PAGE_LAYERS_MAX);

/// Pages of deltas that are compacted at a time, at most.
const COMPACTED_PAGES_MAX: usize = 64;

/// Updates of a buffer that are looked at, or encoded, in one turn, nearly: hosts' operations wait
/// for its end.
const UPDATES_IN_A_TURN: usize = 512;
/// The same of groups that are held.
const GROUPS_IN_A_TURN: usize = 128;

/// What durable deltas say of a group: its updates in order.
struct Settled {
    group: GroupKey,
    updates: Vec<(Key, Value)>,
}

/// Pages of runs that have been written, and for each run what it says: nothing if it has none.
struct Written {
    pages: Vec<Pointer>,
    entries: Vec<Vec<PageEntry>>,
}

/// What a group says when its runs are put together: newest values, and what they hide.
#[derive(Default)]
struct Merged {
    values: BTreeMap<(u32, Layer), Value>,
    hidden: Discards,
    cuts: Vec<(Layer, u32, u32)>,
}

impl Merged {
    /// Hides what is `known` to have a newer value in the buffer: the next root has that in its
    /// deltas.
    fn hide(&mut self, known: impl Fn(&Key) -> bool, group: GroupKey) {
        let hidden = &mut self.hidden;
        self.values.retain(|(block, layer), value| {
            let lba = group.first_block().plus(u64::from(*block));
            let keep = !known(&Key { family: group.family, lba, layer: *layer });
            if let (Some(pointer), false) = (value, keep) {
                hidden.add(pointer.location);
            }
            keep
        });
    }

    /// Takes out what one run says in the place of all. There is no older run from which an absence
    /// would have to hide something.
    fn take_entries(&mut self) -> Vec<PageEntry> {
        std::mem::take(&mut self.values)
            .into_iter()
            .filter(|(_, value)| value.is_some())
            .map(|((block, layer), value)| PageEntry { block, layer, value })
            .collect()
    }

    /// Adds a page of the next older run.
    fn add_page(&mut self, entries: &[PageEntry]) {
        for entry in entries {
            let cut = self.cuts.iter().any(|(layer, first, end)| {
                *layer == entry.layer && (*first..*end).contains(&entry.block)
            });
            let key = (entry.block, entry.layer);
            match (self.values.entry(key), entry.value) {
                (Entry::Vacant(newest), value) if !cut => _ = newest.insert(value),
                (_, Some(hidden)) => self.hidden.add(hidden.location),
                (_, None) => {}
            }
        }
    }
}

/// What became of a merge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Merging {
    /// Nothing is hidden in the group any more.
    Done,
    /// It stays as it is: what is hidden stays hidden, its space is not returned.
    Unreadable,
}

impl<W: World> Pool<W> {
    /// Moves what a shard's buffer has in durable deltas into runs; its deltas go.
    ///
    /// A buffer may have a great many updates, and hosts go on in between. Upkeep does this, and
    /// all checkpoints: none comes until the runs say what the deltas said.
    pub async fn distribute(&self, id: ShardId) -> Result<(), AppendError> {
        let mut settled = self.settled_by_group(id).await;
        let mut held = Vec::new();
        for some in settled.chunks(GROUPS_IN_A_TURN) {
            held.push(self.hold(id, some.iter().map(|of| of.group).collect()).await);
            self.world.yield_now().await;
        }
        let mut closed: BTreeSet<GroupKey> =
            held.iter().flat_map(|some| &some.unreadable).copied().collect();
        let open = settled.iter().map(|of| of.group).filter(|group| !closed.contains(group));
        let unmergeable = self.merge_crowded(id, open).await?;
        closed.extend(unmergeable);
        let kept: Vec<_> = settled.extract_if(.., |of| closed.contains(&of.group)).collect();
        let written = self.write_settled(id, &settled).await?;
        let mut pointers = written.pages.into_iter();
        for (of, entries) in settled.iter().zip(&written.entries) {
            let run = (!entries.is_empty()).then(|| run_of(entries, &mut pointers));
            self.replace_by_run(id, of, run);
            self.world.yield_now().await;
        }
        self.with_shard(id, |shard| {
            shard.deltas.clear().into_iter().for_each(|old| self.space.ledger.discard_page(old));
            kept.iter().for_each(|of| shard.buffer.unsettle(&of.updates));
        });
        for some in held {
            drop(some);
            self.world.yield_now().await;
        }
        Ok(())
    }

    /// What durable deltas say of each group.
    async fn settled_by_group(&self, id: ShardId) -> Vec<Settled> {
        let mut all: Vec<Settled> = Vec::new();
        let mut next = None;
        loop {
            let (updates, behind) =
                self.with_shard(id, |shard| shard.buffer.settled_from(next, UPDATES_IN_A_TURN));
            let group = |(key, _): &(Key, Value)| GroupKey::of(key.family, key.lba);
            let of_groups = updates.chunk_by(|one, other| group(one) == group(other));
            all.extend(of_groups.map(|of| Settled { group: group(&of[0]), updates: of.to_vec() }));
            if behind.is_none() {
                return all;
            }
            next = behind;
            self.world.yield_now().await;
        }
    }

    /// Writes the pages of a run for each of these groups, if it is to have one.
    async fn write_settled(
        &self,
        id: ShardId,
        settled: &[Settled],
    ) -> Result<Written, AppendError> {
        let (mut pages, mut entries) = (Vec::new(), Vec::with_capacity(settled.len()));
        let mut encoded = 0;
        for of in settled {
            entries.push(self.entries_of_run(id, of));
            let of_group = entries.last().expect("pushed");
            pages.extend(pages_of_run(id, of.group, of_group));
            encoded += of_group.len();
            if encoded >= UPDATES_IN_A_TURN {
                encoded = 0;
                self.world.yield_now().await;
            }
        }
        Ok(Written { pages: self.append_pages(Claim::Upkeep, pages).await?, entries })
    }

    /// What a run says in the place of these updates. An absence that hides nothing would be a run
    /// of nothing, which no merge ever comes to.
    fn entries_of_run(&self, id: ShardId, settled: &Settled) -> Vec<PageEntry> {
        self.with_shard(id, |shard| {
            let is_said =
                |(key, value): &&(Key, Value)| value.is_some() || shard.may_have_runs(key);
            let entry = |(key, value): &(Key, Value)| PageEntry {
                block: (key.lba.0 % GIB_BLOCKS) as u32,
                layer: key.layer,
                value: *value,
            };
            settled.updates.iter().filter(is_said).map(entry).collect()
        })
    }

    /// The group's run says what updates of it said. It names again what was displaced while it was
    /// written, which its merge will discard.
    fn replace_by_run(&self, id: ShardId, settled: &Settled, run: Option<Run>) {
        let displaced = self.with_shard(id, |shard| {
            run.into_iter().for_each(|run| shard.push_run(settled.group, run));
            shard.buffer.distributed(&settled.updates)
        });
        let place = NamedAt { shard: id, group: settled.group };
        for pointer in displaced.into_iter().filter_map(|(_, value)| value) {
            self.space.ledger.credit(place, pointer.location);
        }
    }

    /// Takes the oldest pages of a shard's deltas out of their chain, so few that a checkpoint has
    /// room for what is written again.
    pub async fn compact(&self, id: ShardId) {
        let count =
            (self.fresh_entries_max() / 2 / DELTA_ENTRIES_MAX).clamp(1, COMPACTED_PAGES_MAX);
        let pages = self.with_shard(id, |shard| shard.deltas.oldest(count));
        match self.read_pages(&pages, async |page| self.read_delta_page(*page).await).await {
            Ok(read) => {
                for updates in read {
                    let dropped = self.with_shard(id, |shard| shard.compact(1, &updates));
                    dropped.into_iter().for_each(|old| self.space.ledger.discard_page(old));
                    self.world.yield_now().await;
                }
                self.requests.written(self.fresh_entries());
                self.jobs.collecting.compacted();
            }
            Err(error) => self.spoiled(id, &error),
        }
    }

    /// A page of a shard's deltas cannot be read: they have to go before the next start needs it.
    pub fn spoiled(&self, id: ShardId, error: &IoError) {
        tracing::warn!(
            "a page of the deltas of {id:?} cannot be read; what it says goes into runs: {error}"
        );
        self.with_shard(id, |shard| shard.deltas.spoil());
    }

    /// Merges those of the groups, which are held, that have no room for another run. Returns those
    /// that cannot be merged.
    async fn merge_crowded(
        &self,
        id: ShardId,
        groups: impl Iterator<Item = GroupKey>,
    ) -> Result<BTreeSet<GroupKey>, AppendError> {
        let mut closed = BTreeSet::new();
        for group in groups {
            let crowded = self.with_shard(id, |shard| shard.is_crowded(group));
            if crowded && self.merge(id, group).await? == Merging::Unreadable {
                closed.insert(group);
            }
        }
        Ok(closed)
    }

    /// Writes a run of a group.
    async fn write_run(
        &self,
        id: ShardId,
        group: GroupKey,
        entries: &[PageEntry],
    ) -> Result<Run, AppendError> {
        let pages = pages_of_run(id, group, entries).collect();
        let mut pointers = self.append_pages(Claim::Upkeep, pages).await?.into_iter();
        Ok(run_of(entries, &mut pointers))
    }

    /// Puts the runs of a group together, and discards what they and the buffer hid.
    pub async fn merge(&self, id: ShardId, group: GroupKey) -> Result<Merging, AppendError> {
        let _held = match self.hold_group(id, group).await {
            Ok(held) => held,
            Err(error) => return Ok(self.cannot_merge(id, group, &error)),
        };
        let runs = self.with_shard(id, |shard| match shard.index.place(group) {
            Place::InMemory(runs) => runs.to_vec(),
            Place::Stored(_) => unreachable!("it is held"),
        });
        if runs.is_empty() {
            return Ok(Merging::Done);
        }
        let mut merged = match self.read_merged(&runs).await {
            Ok(merged) => merged,
            Err(error) => return Ok(self.cannot_merge(id, group, &error)),
        };
        let absent = self.with_shard(id, |shard| {
            merged.hide(|key| shard.buffer.get(key).is_some(), group);
            shard.buffer.settled_absences(&group)
        });
        let entries = merged.take_entries();
        let written = if entries.is_empty() {
            None
        } else {
            Some(self.write_run(id, group, &entries).await?)
        };
        self.with_shard(id, |shard| {
            shard.install_merged(group, &runs, written);
            shard.buffer.forget_absences(&absent);
        });
        let place = NamedAt { shard: id, group };
        self.space.ledger.discard_all(place, merged.hidden);
        for page in runs.iter().flat_map(Run::pages) {
            self.space.ledger.discard_run_page(place, page.pointer);
        }
        Ok(Merging::Done)
    }

    fn cannot_merge(&self, id: ShardId, group: GroupKey, error: &IoError) -> Merging {
        tracing::error!("{group:?} of {id:?} cannot be merged: {error}");
        self.with_shard(id, |shard| shard.index.cannot_merge(group));
        Merging::Unreadable
    }

    /// Merges a group of the leaf that is to be merged, if there is one.
    pub async fn merge_one_of(&self, id: ShardId, leaf: GroupKey) -> Result<Merging, AppendError> {
        let _held = match self.hold_group(id, leaf).await {
            Ok(held) => held,
            Err(error) => return Ok(self.cannot_merge(id, leaf, &error)),
        };
        match self.with_shard(id, |shard| shard.index.first_unmerged_in(leaf)) {
            Some(group) => self.merge(id, group).await,
            None => Ok(Merging::Done),
        }
    }

    async fn read_merged(&self, runs: &[Run]) -> Result<Merged, IoError> {
        let mut merged = Merged::default();
        for run in runs {
            match run {
                Run::Cut { layer, first, end } => merged.cuts.push((*layer, *first, *end)),
                Run::Pages { pages, .. } => {
                    // Not all at once: the cache bounds what of them is in memory.
                    for few in pages.chunks(PAGES_READ_AT_A_TIME) {
                        let few = self
                            .read_pages(few, async |page| self.read_map_page(page.pointer).await);
                        for page in few.await.map_err(map_unreadable)? {
                            merged.add_page(&page);
                            self.world.yield_now().await;
                        }
                    }
                }
            }
        }
        Ok(merged)
    }
}

/// The pages of a run of these entries.
fn pages_of_run(
    id: ShardId,
    group: GroupKey,
    entries: &[PageEntry],
) -> impl Iterator<Item = NewPage> {
    let page = move |chunk: &[PageEntry]| {
        NewPage::of_map(PageKind::Map, id, group, encode_map_page(chunk))
    };
    entries.chunks(PAGE_ENTRIES).map(page)
}

/// The run whose pages these are, which are where the next pointers say.
fn run_of(entries: &[PageEntry], pointers: &mut impl Iterator<Item = Pointer>) -> Run {
    let mut filter = Filter::default();
    entries.iter().for_each(|entry| filter.add(entry.block));
    let page = |chunk: &[PageEntry]| PageRef {
        first_block: chunk[0].block,
        entries: chunk.len() as u16,
        pointer: pointers.next().expect("a pointer for each page"),
    };
    Run::Pages { filter, pages: entries.chunks(PAGE_ENTRIES).map(page).collect() }
}
