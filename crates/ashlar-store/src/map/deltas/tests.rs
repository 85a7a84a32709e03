use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::format::location::{Codec, Location};
use crate::format::page::{decode_directory, encode_directory};

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
        let location =
            Location::new(SegmentId(1 + self.written / 1000), 0, self.written % 1000, 64, Codec::Lz4);
        Pointer { location, crc: self.written }
    }

    fn write(&mut self, directory: &Directory) -> Pointer {
        let at = self.place();
        self.directories.insert(at, encode_directory(directory));
        at
    }

    /// The directories from `head` on, newest first, as a start reads them.
    fn read(&self, head: Option<Pointer>) -> Vec<(Pointer, Directory)> {
        let read = |at: Pointer| (at, decode_directory(&self.directories[&at]).expect("a directory"));
        let first = head.map(read);
        std::iter::successors(first, |(_, directory)| directory.previous.map(read)).collect()
    }
}

/// Appends pages as a checkpoint does.
fn append(deltas: &mut Deltas, drives: &mut Drives, pages: &[Pointer]) {
    let Addition { directories, replaced } = deltas.add(pages);
    replaced.into_iter().for_each(|old| drop(drives.directories.remove(&old)));
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
    /// A checkpoint writes all updates anew, into so many pages.
    Rewrite(usize),
    /// The pool is opened again.
    Reload,
}

fn any_step() -> impl Strategy<Value = Step> {
    let pages = prop_oneof![1..5usize, 1..2 * DIRECTORY_PAGES_MAX, Just(DIRECTORY_PAGES_MAX)];
    prop_oneof![
        6 => pages.clone().prop_map(Step::Append),
        1 => pages.prop_map(Step::Rewrite),
        3 => Just(Step::Reload),
    ]
}

proptest! {
    #[test]
    fn every_page_is_found_in_order_however_often_the_pool_was_opened(
        steps in proptest::collection::vec(any_step(), 1..20),
    ) {
        let (mut deltas, mut drives) = (Deltas::default(), Drives::default());
        let mut model: Vec<Pointer> = Vec::new();
        for step in steps {
            if matches!(step, Step::Rewrite(_)) {
                deltas.clear().iter().for_each(|old| drop(drives.directories.remove(old)));
                model.clear();
            }
            match step {
                Step::Append(count) | Step::Rewrite(count) => {
                    let pages: Vec<Pointer> = (0..count).map(|_| drives.place()).collect();
                    append(&mut deltas, &mut drives, &pages);
                    model.extend(pages);
                }
                Step::Reload => deltas = Deltas::loaded(drives.read(deltas.head())),
            }
            let found = drives.read(deltas.head());
            let in_order: Vec<Pointer> =
                found.iter().rev().flat_map(|(_, directory)| directory.pages.clone()).collect();
            prop_assert_eq!(&in_order, &model);
            prop_assert_eq!(found.len(), drives.directories.len(), "a directory that nothing leads to is kept");
            let mut counted: Vec<Pointer> = deltas.pages().collect();
            let mut named: Vec<Pointer> = drives.directories.keys().chain(&model).copied().collect();
            counted.sort_unstable();
            named.sort_unstable();
            prop_assert_eq!(counted, named, "every page is counted once");
        }
    }
}
