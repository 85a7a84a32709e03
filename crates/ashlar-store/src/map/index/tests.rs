use ashlar_block::XorShift;
use ashlar_format::location::{Codec, Location};
use ashlar_format::page::{Filter, PageRef, StoredLeaf, decode_leaf, decode_node};

use super::*;

fn pointer(slot: u32) -> Pointer {
    let segment = SegmentId(1 + slot / 1000);
    Pointer { location: Location::new(segment, 0, slot % 1000, 64, Codec::Lz4), crc: slot }
}

fn group(gib: u32) -> GroupKey {
    GroupKey { family: Family(1), gib }
}

fn runs(pages: u32) -> Vec<Run> {
    let page = |n| PageRef { first_block: n, entries: 1, pointer: pointer(pages) };
    vec![Run::Pages { filter: Filter::default(), pages: (0..1 + pages % 17).map(page).collect() }]
}

/// An index, what should be in it, and the drives.
#[derive(Default)]
struct World {
    index: Index,
    groups: BTreeMap<GroupKey, Vec<Run>>,
    drives: BTreeMap<u32, Vec<u8>>,
    slots: u32,
}

impl World {
    fn of(groups: impl Iterator<Item = (GroupKey, Vec<Run>)>) -> Self {
        let mut world = World::default();
        groups.for_each(|(group, runs)| world.set(group, runs));
        world.checkpoint();
        world
    }

    fn stored(&self, at: Pointer) -> StoredLeaf {
        StoredLeaf::new(self.drives[&at.crc].clone()).expect("a leaf")
    }

    fn hold(&mut self, group: GroupKey) {
        self.index.hold(&[group]);
        for (key, at) in self.index.missing(&[group]) {
            let groups = self.stored(at).groups();
            self.index.read(key, at, groups);
        }
    }

    fn set(&mut self, group: GroupKey, runs: Vec<Run>) {
        self.hold(group);
        let more = group_bytes(&runs);
        self.index.grew(more);
        self.index.change(group, |before| *before = runs.clone());
        match runs.is_empty() {
            true => drop(self.groups.remove(&group)),
            false => drop(self.groups.insert(group, runs)),
        }
        self.index.release(&[group]);
    }

    fn write(&mut self, bytes: Vec<u8>) -> Pointer {
        self.slots += 1;
        self.drives.insert(self.slots, bytes);
        pointer(self.slots)
    }

    fn discard(&mut self, pages: impl IntoIterator<Item = Pointer>) {
        pages
            .into_iter()
            .for_each(|page| drop(self.drives.remove(&page.crc).expect("each goes once")));
    }

    /// Writes what has changed. Returns how many leaves and nodes that were.
    fn checkpoint(&mut self) -> (usize, usize) {
        self.checkpoint_with(|_| {})
    }

    /// The same; `meanwhile` happens after each page that is cut off a leaf, and before any is
    /// written.
    fn checkpoint_with(&mut self, mut meanwhile: impl FnMut(&mut Self)) -> (usize, usize) {
        let mut leaves = Vec::new();
        for key in self.index.take_changed() {
            let mut next = Some(key);
            while let Some(key) = next {
                let cut = self.index.cut(key);
                self.discard(cut.replaced);
                leaves.extend(cut.page);
                next = cut.rest;
                meanwhile(self);
            }
        }
        let (leaf_count, mut node_count) = (leaves.len(), 0);
        for (key, bytes) in leaves {
            let at = self.write(bytes);
            self.index.leaf_written(key, at);
        }
        for level in 0.. {
            let Some(nodes) = self.index.changed_nodes(level) else { break };
            self.discard(nodes.replaced);
            for (key, bytes) in nodes.pages {
                let at = self.write(bytes);
                self.index.node_written(level, key, at);
                node_count += 1;
            }
        }
        let unneeded = self.index.take_unneeded();
        self.discard(unneeded);
        (leaf_count, node_count)
    }

    /// The index that a start finds.
    fn loaded(&self) -> Index {
        let (height, Some(top)) = self.index.root() else { return Index::default() };
        let mut children =
            vec![Child { first: LOWEST, pointer: top, below: GroupsBelow::default() }];
        let mut levels = Vec::new();
        for _ in 0..height {
            let nodes = children.iter().map(|child| decode_node(&self.drives[&child.pointer.crc]));
            let below = nodes.collect::<Result<Vec<_>, _>>().expect("nodes").concat();
            levels.insert(0, std::mem::replace(&mut children, below));
        }
        Index::loaded(children, levels)
    }

    fn runs_in(&self, index: &Index, group: GroupKey) -> Vec<Run> {
        match index.place(group) {
            Place::InMemory(runs) => runs.to_vec(),
            Place::Stored(at) => {
                let groups = self.stored(at).groups();
                groups
                    .into_iter()
                    .find(|(key, _)| *key == group)
                    .map_or(Vec::new(), |(_, runs)| runs)
            }
        }
    }

    /// `index` says what it should of each group, in leaves and by flags.
    fn check(&self, index: &Index, gibs: u32) {
        for gib in 0..gibs {
            let expected = self.groups.get(&group(gib)).cloned().unwrap_or_default();
            assert_eq!(self.runs_in(index, group(gib)), expected, "GiB {gib}");
        }
        let unmerged = self.groups.iter().filter(|(_, runs)| below(runs).unmerged);
        let leaves: BTreeSet<GroupKey> =
            unmerged.map(|(group, _)| index.leaf_of(*group).expect("it has one").0).collect();
        match index.root() {
            (0, _) => assert!(index.unmerged().is_superset(&leaves)),
            _ => assert_eq!(*index.unmerged(), leaves),
        }
    }
}

#[test]
fn only_leaves_that_have_changed_are_written_and_the_nodes_above_them() {
    let mut world = World::of((0..4000).map(|gib| (group(gib), runs(gib))));
    let (height, _) = world.index.root();
    assert!(height > 1, "{height} levels of nodes");
    for gib in [7, 1_999, 3_999] {
        world.set(group(gib), runs(gib + 17));
        assert_eq!(world.checkpoint(), (1, usize::from(height)));
    }
    assert_eq!(world.checkpoint(), (0, 0));
    world.check(&world.index, 4000);
    world.check(&world.loaded(), 4000);
}

#[test]
fn an_index_without_groups_has_no_page() {
    let mut world = World::of((0..5000).map(|gib| (group(gib), runs(gib))));
    (0..5000).for_each(|gib| world.set(group(gib), Vec::new()));
    world.checkpoint();
    assert_eq!(world.index.root(), (0, None));
    assert_eq!(world.drives, BTreeMap::new());
    assert_eq!(world.index.bytes(), 0);
}

#[test]
fn what_nobody_holds_and_has_not_changed_is_not_in_memory() {
    let mut world = World::of((0..5000).map(|gib| (group(gib), runs(gib))));
    let places = world.index.bytes();
    assert_eq!(places, world.index.leaves.len() * PLACE_BYTES);
    world.hold(group(70));
    world.hold(group(70));
    world.index.release(&[group(70)]);
    assert_eq!(world.index.bytes(), places + LEAF_MEMORY_BYTES);
    world.index.release(&[group(70)]);
    assert_eq!(world.index.bytes(), places);
}

#[test]
fn a_leaf_that_is_held_stays_in_memory_when_it_is_written_and_when_it_has_no_group_any_more() {
    let mut world = World::of([(group(5), runs(5))].into_iter());
    world.hold(group(5));
    world.set(group(5), runs(6));
    world.checkpoint();
    assert_eq!(world.index.place(group(5)), Place::InMemory(&runs(6)));
    world.set(group(5), Vec::new());
    world.checkpoint();
    world.index.change(group(5), |before| *before = runs(7));
    world.groups.insert(group(5), runs(7));
    world.index.release(&[group(5)]);
    world.checkpoint();
    world.check(&world.loaded(), 10);
}

#[test]
fn a_group_that_changes_while_its_leaf_is_written_is_written_again() {
    // A zero range came while a checkpoint was writing the leaf, and the next checkpoint left it
    // out: after a crash the blocks held their old content.
    let mut world = World::of([(group(5), runs(5))].into_iter());
    world.set(group(5), runs(6));
    world.checkpoint_with(|world| world.set(group(5), runs(7)));
    assert!(world.index.is_stale());
    assert_eq!(world.checkpoint().0, 1);
    world.check(&world.loaded(), 10);
}

#[test]
fn a_large_leaf_is_cut_a_page_at_a_time_and_what_changes_meanwhile_is_not_lost() {
    // All groups that came before the first checkpoint are in one leaf. It was cut in one turn, for
    // which hosts waited.
    const GIBS: u32 = 2000;
    let mut world = World::default();
    (0..GIBS).for_each(|gib| world.set(group(gib), runs(gib)));
    let mut gib = 0;
    let (leaves, _) = world.checkpoint_with(|world| {
        // Some of what has been cut already, some of what has not.
        gib = (gib + 777) % GIBS;
        world.set(group(gib), if gib % 3 == 0 { Vec::new() } else { runs(gib + 1) });
    });
    assert!(leaves > 50, "{leaves}");
    world.check(&world.index, GIBS);
    world.checkpoint();
    world.check(&world.loaded(), GIBS);
}

#[test]
fn a_page_that_was_copied_elsewhere_is_named_there() {
    let mut world = World::of((0..2000).map(|gib| (group(gib), runs(gib))));
    let key = world.index.leaf_from(group(1000)).expect("there is one");
    let from = world.index.leaves[&key].pointer.expect("it is written");
    assert!(world.index.is_unchanged_at(key, from));
    let to = world.write(world.drives[&from.crc].clone());
    assert!(world.index.leaf_moved(key, from, to));
    assert!(!world.index.leaf_moved(key, from, to), "it is there no more");
    world.discard([from]);
    world.checkpoint();
    world.check(&world.loaded(), 2000);
}

/// A start knows an only leaf as the lowest, whatever it was before: garbage collection did not
/// find it, and its segment was collected for ever.
#[test]
fn an_only_leaf_is_found_by_the_key_that_it_had_among_others() {
    let mut world = World::of((0..200).map(|gib| (group(gib), runs(16))));
    let last = world.index.leaf_from(group(199)).expect("there is one");
    (0..last.gib).for_each(|gib| world.set(group(gib), Vec::new()));
    world.checkpoint();
    let (at, mut loaded) = (world.index.root(), world.loaded());
    assert_eq!(at, (0, world.index.leaves[&last].pointer));
    let from = at.1.expect("it has a page");
    assert!(loaded.is_unchanged_at(last, from));
    let to = world.write(world.drives[&from.crc].clone());
    assert!(loaded.leaf_moved(last, from, to) && loaded.is_stale());
}

/// A node that had taken in children of another parent was split again, and that parent was not
/// written: a start did not find what was below it.
#[test]
fn what_is_below_a_node_is_found_whichever_parent_it_has_come_to() {
    let mut world = World::of((0..9000).map(|gib| (group(gib), runs(16))));
    assert!(world.index.root().0 >= 4, "{:?}", world.index.root());
    let mut rng = XorShift::new(5);
    for _ in 0..200 {
        let first = rng.next_u64() as u32 % 9000;
        let is_gone = rng.next_u64().is_multiple_of(2);
        for gib in first..(first + 700).min(9000) {
            world.set(group(gib), if is_gone { Vec::new() } else { runs(16) });
        }
        world.checkpoint();
        let loaded = world.loaded();
        let found = |index: &Index| index.leaves.keys().copied().collect::<Vec<_>>();
        assert_eq!(found(&loaded), found(&world.index));
    }
    world.check(&world.loaded(), 9000);
}

#[test]
fn nodes_that_lie_in_a_segment_are_written_elsewhere() {
    let mut world = World::of((0..2000).map(|gib| (group(gib), runs(gib))));
    let (_, root) = world.index.root();
    world.index.touch_nodes_in(SegmentId(77));
    assert_eq!(world.checkpoint(), (0, 0));
    world.index.touch_nodes_in(root.expect("it has one").location.segment());
    assert!(world.checkpoint().1 >= 1);
    assert_ne!(world.index.root().1, root);
    world.check(&world.loaded(), 2000);
}

#[test]
fn of_what_cannot_be_merged_nobody_is_told_again_until_it_changes() {
    let cut = Run::Cut { layer: ashlar_format::ids::Layer(0), first: 1, end: 9 };
    let mut world = World::of([(group(5), [vec![cut], runs(5)].concat())].into_iter());
    world.hold(group(5));
    assert_eq!(world.index.first_unmerged_in(group(5)), Some(group(5)));
    world.index.cannot_merge(group(5));
    assert_eq!(world.index.first_unmerged_in(group(5)), None);
    assert!(world.index.unmerged().is_empty());
    assert!(!world.loaded().unmerged().is_empty(), "the next start tries it again");
    world.index.change(group(5), |runs| runs.extend(super::tests::runs(6)));
    assert_eq!(world.index.first_unmerged_in(group(5)), Some(group(5)));
}

/// Groups come, change and go, checkpoints come in between and on the way, leaves are held and
/// moved: the index says what it should, and so does what a start finds.
#[test]
fn whatever_happens_to_groups_the_index_knows_them() {
    const GIBS: u32 = 3000;
    let mut rng = XorShift::new(27);
    let mut world = World::default();
    let mut held: Vec<GroupKey> = Vec::new();
    let change = |world: &mut World, rng: &mut XorShift| {
        let first = rng.next_u64() as u32 % GIBS;
        for gib in first..(first + 1 + rng.next_u64() as u32 % 150).min(GIBS) {
            let mut content = runs(rng.next_u64() as u32 % 100);
            for _ in 0..rng.next_u64() % 8 {
                content.extend(runs(2));
            }
            let is_gone = rng.next_u64().is_multiple_of(3);
            world.set(group(gib), if is_gone { Vec::new() } else { content });
        }
    };
    for round in 0..300 {
        match rng.next_u64() % 6 {
            0 => {
                let group = group(rng.next_u64() as u32 % GIBS);
                world.hold(group);
                held.push(group);
            }
            1 => held.pop().into_iter().for_each(|group| world.index.release(&[group])),
            2 => {
                world.checkpoint_with(|world| {
                    if rng.next_u64().is_multiple_of(16) {
                        change(world, &mut rng);
                    }
                });
            }
            3 => {
                world.checkpoint();
                world.check(&world.loaded(), GIBS);
            }
            _ => change(&mut world, &mut rng),
        }
        if round % 10 == 0 {
            world.check(&world.index, GIBS);
        }
    }
    held.iter().for_each(|group| world.index.release(&[*group]));
    world.checkpoint();
    let pages: BTreeSet<u32> = world.index.pages().map(|page| page.crc).collect();
    assert_eq!(pages, world.drives.keys().copied().collect(), "nothing else is left on the drives");
    assert_eq!(world.index.in_memory, 0);
    world.check(&world.loaded(), GIBS);
}

#[test]
fn what_a_checkpoint_writes_is_foretold() {
    let mut world = World::default();
    (0..2000).for_each(|gib| world.set(group(gib), runs(gib)));
    let foretold = world.index.to_write();
    let pages = world.checkpoint().0 as u64;
    let bytes: usize = world.drives.values().map(Vec::len).sum();
    assert!((pages..4 * pages).contains(&foretold.fragments), "{foretold:?}, and {pages} pages");
    assert!(
        (bytes..2 * bytes).contains(&(foretold.slots as usize * SLOT_BYTES)),
        "{foretold:?}, and {bytes} bytes"
    );
    assert_eq!(world.index.to_write(), Occupancy::default());
    world.set(group(7), runs(7));
    world.set(group(8), runs(8));
    assert!((1..=10).contains(&world.index.to_write().fragments), "one leaf, and the nodes");
    assert!(
        world.drives.values().all(|page| decode_leaf(page).is_ok() || decode_node(page).is_ok())
    );
}
