//! A shard's deltas on the drives: the pages that a checkpoint appends, and the directories that
//! lead to them.

use ashlar_format::location::{Pointer, SegmentId};
use ashlar_format::page::{DELTA_ENTRIES_MAX, DIRECTORY_PAGES_MAX, Directory};

/// Pages that may be mostly empty before the chain is compacted.
const THIN_PAGES_MAX: usize = 32;

/// A directory that has been written.
struct Link {
    at: Pointer,
    /// What it lists.
    pages: Vec<Pointer>,
    /// It is to be written anew: it has to move, or a page that it lists has.
    stale: bool,
}

impl Link {
    fn new(at: Pointer, pages: Vec<Pointer>) -> Self {
        Link { at, pages, stale: false }
    }

    /// Pages may be added to what it lists, in a directory that replaces it.
    fn has_room(&self) -> bool {
        self.pages.len() < DIRECTORY_PAGES_MAX
    }
}

/// The delta pages that a shard's root leads to.
#[derive(Default)]
pub struct Deltas {
    /// The directories, oldest first: each leads to the one before it, and the root to the last.
    chain: Vec<Link>,
    spoiled: bool,
}

/// What is to be written so that a chain leads to more pages, or to where they are now.
pub struct Addition {
    /// The pages of each directory that is to be written, in order; see [`Deltas::following`].
    pub directories: Vec<Vec<Pointer>>,
    /// The directories that they replace.
    pub replaced: Vec<Pointer>,
}

impl Deltas {
    /// The deltas that were found on the drives: directories as they are read, from the newest to
    /// the oldest.
    pub fn loaded(directories: Vec<(Pointer, Directory)>) -> Self {
        let link = |(at, directory): (Pointer, Directory)| Link::new(at, directory.pages);
        Deltas { chain: directories.into_iter().rev().map(link).collect(), spoiled: false }
    }

    /// Where the newest directory is.
    pub fn head(&self) -> Option<Pointer> {
        self.chain.last().map(|link| link.at)
    }

    /// Every page that they take.
    pub fn pages(&self) -> impl Iterator<Item = Pointer> + '_ {
        self.chain.iter().flat_map(|link| link.pages.iter().copied().chain([link.at]))
    }

    /// Whether there are many more pages than so many updates need: so many that they must not
    /// stay, however busy the pool is.
    pub fn are_thin(&self, updates: usize) -> bool {
        self.len() > THIN_PAGES_MAX + pages_worthwhile(updates)
    }

    /// Whether there are more pages than so many updates are worth.
    pub fn are_loose(&self, updates: usize) -> bool {
        self.len() > pages_worthwhile(updates)
    }

    fn len(&self) -> usize {
        self.chain.iter().map(|link| link.pages.len()).sum()
    }

    /// A page of updates cannot be read.
    pub fn spoil(&mut self) {
        self.spoiled = true;
    }

    /// A page of updates cannot be read: the chain has to go, while memory still has what it says.
    pub fn are_spoiled(&self) -> bool {
        self.spoiled
    }

    /// The oldest pages of updates, in order.
    pub fn oldest(&self, count: usize) -> Vec<Pointer> {
        self.chain.iter().flat_map(|link| &link.pages).take(count).copied().collect()
    }

    /// Takes the oldest pages of updates out of the chain. Returns what is not needed any more.
    pub fn drop_oldest(&mut self, count: usize) -> Vec<Pointer> {
        let mut dropped = Vec::new();
        let mut left = count;
        while left > 0 {
            let link = self.chain.first_mut().expect("only pages that there are can be dropped");
            let some = left.min(link.pages.len());
            dropped.extend(link.pages.drain(..some));
            left -= some;
            if link.pages.is_empty() {
                dropped.push(self.chain.remove(0).at);
            }
        }
        // It leads to one that is gone, or lists pages that are.
        self.chain.iter_mut().take(1).for_each(|link| link.stale = true);
        dropped
    }

    /// The pages of updates that lie in `segment`.
    pub fn pages_in(&self, segment: SegmentId) -> impl Iterator<Item = Pointer> + '_ {
        let pages = self.chain.iter().flat_map(|link| &link.pages).copied();
        pages.filter(move |page| page.location.segment() == segment)
    }

    /// The directories that lie in `segment` are to be written elsewhere.
    pub fn touch_directories_in(&mut self, segment: SegmentId) {
        for link in self.chain.iter_mut().filter(|link| link.at.location.segment() == segment) {
            link.stale = true;
        }
    }

    /// A page of updates is elsewhere now.
    pub fn page_moved(&mut self, from: Pointer, to: Pointer) {
        let mut links = self.chain.iter_mut();
        let found = links.find_map(|link| {
            let at = link.pages.iter().position(|page| *page == from)?;
            Some((link, at))
        });
        let (link, at) = found.expect("upkeep alone replaces pages");
        link.pages[at] = to;
        link.stale = true;
    }

    /// Forgets everything; returns the pages that are not needed any more.
    pub fn clear(&mut self) -> Vec<Pointer> {
        let pages = self.pages().collect();
        *self = Deltas::default();
        pages
    }

    /// Adds pages. The chain is whole again when the directories have been written, in order.
    pub fn add(&mut self, pages: &[Pointer]) -> Addition {
        let replaced = self.chain.split_off(self.kept(!pages.is_empty()));
        let before = replaced.iter().flat_map(|link| &link.pages);
        let all: Vec<Pointer> = before.chain(pages).copied().collect();
        Addition {
            directories: all.chunks(DIRECTORY_PAGES_MAX).map(<[Pointer]>::to_vec).collect(),
            replaced: replaced.iter().map(|link| link.at).collect(),
        }
    }

    /// How many directories stay as they are: those before the first that is stale, or, if `more`
    /// pages are to be added, that has room for them.
    fn kept(&self, more: bool) -> usize {
        let replaced = |link: &Link| link.stale || (more && link.has_room());
        self.chain.iter().position(replaced).unwrap_or(self.chain.len())
    }

    /// The directory of these pages, as it is to be written behind the newest one.
    pub fn following(&self, pages: &[Pointer]) -> Directory {
        Directory { previous: self.head(), pages: pages.to_vec() }
    }

    /// A directory that follows the newest one has been written.
    pub fn directory_written(&mut self, directory: Directory, at: Pointer) {
        assert_eq!(directory.previous, self.head(), "a directory leads to the one before it");
        self.chain.push(Link::new(at, directory.pages));
    }
}

/// Pages that so many updates may take: twice what they need.
fn pages_worthwhile(updates: usize) -> usize {
    2 * updates.div_ceil(DELTA_ENTRIES_MAX)
}

#[cfg(test)]
mod tests;
