use std::collections::BTreeMap;

use ashlar_format::location::{Codec, Location};
use ashlar_format::page::{decode_directory, encode_directory};
use proptest::prelude::*;

use super::*;

/// Pages of one segment.
const SEGMENT_PAGES: u32 = 300;

/// Where directories are written, and what one reads there.
#[derive(Default)]
struct Drives {
    directories: BTreeMap<Pointer, Vec<u8>>,
    written: u32,
}

impl Drives {
    /// Where the next page is written.
    fn place(&mut self) -> Pointer {
        self.written += 1;
        let (segment, slot) = (SegmentId(self.segments()), self.written % SEGMENT_PAGES);
        Pointer { location: Location::new(segment, 0, slot, 64, Codec::Lz4), crc: self.written }
    }

    /// Segments that anything was written to.
    fn segments(&self) -> u32 {
        1 + self.written / SEGMENT_PAGES
    }

    /// The next page is written to a new segment.
    fn seal(&mut self) {
        self.written = self.segments() * SEGMENT_PAGES;
    }

    /// These pages are not needed any more.
    fn forget(&mut self, pages: Vec<Pointer>) {
        self.directories.retain(|at, _| !pages.contains(at));
    }

    fn write(&mut self, directory: &Directory) -> Pointer {
        let at = self.place();
        self.directories.insert(at, encode_directory(directory));
        at
    }

    /// The directories from `head` on, newest first, as a start reads them.
    fn read(&self, head: Option<Pointer>) -> Vec<(Pointer, Directory)> {
        let read =
            |at: Pointer| (at, decode_directory(&self.directories[&at]).expect("a directory"));
        let first = head.map(read);
        std::iter::successors(first, |(_, directory)| directory.previous.map(read)).collect()
    }
}

/// Appends pages as a checkpoint does.
fn append(deltas: &mut Deltas, drives: &mut Drives, pages: &[Pointer]) {
    let Addition { directories, replaced } = deltas.add(pages);
    drives.forget(replaced);
    for pages in directories {
        let directory = deltas.following(&pages);
        let at = drives.write(&directory);
        deltas.directory_written(directory, at);
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// A checkpoint appends so many pages.
    Append(usize),
    /// The oldest pages go, so many at most, and nothing of them is written again.
    Compact(usize),
    /// All go.
    Distribute,
    /// One of the segments is emptied.
    Collect(u32),
    /// The pool is opened again.
    Reload,
}

fn any_step() -> impl Strategy<Value = Step> {
    let pages = || prop_oneof![0..5usize, 1..2 * DIRECTORY_PAGES_MAX, Just(DIRECTORY_PAGES_MAX)];
    prop_oneof![
        6 => pages().prop_map(Step::Append),
        2 => pages().prop_map(Step::Compact),
        1 => Just(Step::Distribute),
        3 => any::<u32>().prop_map(Step::Collect),
        3 => Just(Step::Reload),
    ]
}

/// A chain, what it should be, and what it was at the last checkpoint.
#[derive(Default)]
struct World {
    deltas: Deltas,
    drives: Drives,
    model: Vec<Pointer>,
    durable: Vec<Pointer>,
}

impl World {
    fn step(&mut self, step: &Step) {
        match step {
            Step::Append(count) => self.checkpoint(*count),
            Step::Compact(count) => {
                let oldest = self.deltas.oldest(*count);
                assert_eq!(self.model.drain(..oldest.len()).collect::<Vec<_>>(), oldest);
                let dropped = self.deltas.drop_oldest(oldest.len());
                self.drives.forget(dropped);
                self.checkpoint(0);
            }
            Step::Distribute => {
                let dropped = self.deltas.clear();
                self.drives.forget(dropped);
                self.model.clear();
                self.checkpoint(0);
            }
            Step::Collect(nth) => {
                let victim = SegmentId(1 + nth % self.drives.segments());
                self.drives.seal();
                self.collect(victim);
            }
            Step::Reload => {
                self.deltas = Deltas::loaded(self.drives.read(self.deltas.head()));
                self.model.clone_from(&self.durable);
            }
        }
    }

    fn checkpoint(&mut self, count: usize) {
        let pages: Vec<Pointer> = (0..count).map(|_| self.drives.place()).collect();
        append(&mut self.deltas, &mut self.drives, &pages);
        self.model.extend(pages);
        self.durable.clone_from(&self.model);
    }

    /// As collection does, with the checkpoint that follows it, or the pool is opened again before
    /// that.
    fn collect(&mut self, victim: SegmentId) {
        self.deltas.touch_directories_in(victim);
        let inside: Vec<Pointer> = self.deltas.pages_in(victim).collect();
        for from in inside {
            let to = self.drives.place();
            self.deltas.page_moved(from, to);
            let at =
                self.model.iter().position(|page| *page == from).expect("it is one of the pages");
            self.model[at] = to;
        }
        if victim.0.is_multiple_of(4) {
            return self.step(&Step::Reload);
        }
        self.checkpoint(0);
        assert!(self.deltas.pages().all(|page| page.location.segment() != victim), "it is empty");
    }

    /// Every page is found, in order; and each is counted once.
    fn check(&self) -> Result<(), TestCaseError> {
        let found = self.drives.read(self.deltas.head());
        let in_order: Vec<Pointer> =
            found.iter().rev().flat_map(|(_, directory)| directory.pages.clone()).collect();
        prop_assert_eq!(&in_order, &self.model);
        prop_assert_eq!(
            found.len(),
            self.drives.directories.len(),
            "a directory is kept that nothing leads to"
        );
        let mut counted: Vec<Pointer> = self.deltas.pages().collect();
        let mut named: Vec<Pointer> =
            self.drives.directories.keys().chain(&self.model).copied().collect();
        counted.sort_unstable();
        named.sort_unstable();
        prop_assert_eq!(counted, named);
        Ok(())
    }
}

proptest! {
    #[test]
    fn every_page_of_deltas_is_found_in_order_however_often_the_pool_was_opened(
        steps in proptest::collection::vec(any_step(), 1..20),
    ) {
        let mut world = World::default();
        for step in steps {
            world.step(&step);
            world.check()?;
        }
    }
}

#[test]
fn a_chain_is_thin_when_it_has_more_than_twice_the_pages_that_its_updates_need() {
    let (mut deltas, mut drives) = (Deltas::default(), Drives::default());
    let pages: Vec<Pointer> = (0..THIN_PAGES_MAX + 4).map(|_| drives.place()).collect();
    append(&mut deltas, &mut drives, &pages);
    assert!(!deltas.are_thin(DELTA_ENTRIES_MAX + 1));
    assert!(deltas.are_thin(DELTA_ENTRIES_MAX));
    deltas.drop_oldest(2);
    assert!(!deltas.are_thin(DELTA_ENTRIES_MAX));
}

#[test]
fn deltas_are_loose_that_take_more_than_twice_what_their_updates_need() {
    let (mut deltas, mut drives) = (Deltas::default(), Drives::default());
    assert!(!deltas.are_loose(0));
    let pages: Vec<Pointer> = (0..5).map(|_| drives.place()).collect();
    append(&mut deltas, &mut drives, &pages);
    assert!(deltas.are_loose(0));
    assert!(deltas.are_loose(2 * DELTA_ENTRIES_MAX));
    assert!(!deltas.are_loose(2 * DELTA_ENTRIES_MAX + 1));
}
