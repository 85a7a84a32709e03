//! A shard's deltas on the drives: the pages that a checkpoint appends, and the directories that lead to them.

use crate::format::location::{Pointer, SegmentId};
use crate::format::page::{DELTA_ENTRIES_MAX, DIRECTORY_PAGES_MAX, Directory};

/// Pages that may be mostly empty before all updates are written anew.
const THIN_PAGES_MAX: usize = 32;

/// The delta pages that a shard's root leads to.
#[derive(Default)]
pub struct Deltas {
    /// Where the newest directory is.
    head: Option<Pointer>,
    /// What it holds.
    directory: Directory,
    /// Full directories before it, and their pages: no longer appended to.
    full: Vec<Pointer>,
    full_pages: Vec<Pointer>,
    rewrite: bool,
}

impl Deltas {
    /// The deltas that were found on the drives: directories from the newest to the oldest.
    pub fn loaded(mut directories: Vec<(Pointer, Directory)>) -> Self {
        if directories.is_empty() {
            return Deltas::default();
        }
        let (head, directory) = directories.remove(0);
        let full_pages = directories.iter().flat_map(|(_, directory)| directory.pages.clone()).collect();
        let full = directories.into_iter().map(|(pointer, _)| pointer).collect();
        Deltas { head: Some(head), directory, full, full_pages, rewrite: false }
    }

    /// Where they begin.
    pub fn head(&self) -> Option<Pointer> {
        self.head
    }

    /// Every page that they take.
    pub fn pages(&self) -> impl Iterator<Item = Pointer> + '_ {
        let directories = self.head.iter().chain(&self.full);
        directories.chain(&self.directory.pages).chain(&self.full_pages).copied()
    }

    /// Whether all `updates` of the shard should be written anew, because a page of them has to move, or they are
    /// spread thin.
    pub fn wants_rewrite(&self, updates: usize) -> bool {
        let pages = self.directory.pages.len() + self.full_pages.len();
        self.rewrite || pages > THIN_PAGES_MAX + 2 * updates.div_ceil(DELTA_ENTRIES_MAX)
    }

    /// What lies in `segment` is to be written elsewhere.
    pub fn touch_pages_in(&mut self, segment: SegmentId) {
        let touched = self.pages().any(|pointer| pointer.location.segment() == segment);
        self.rewrite |= touched;
    }

    /// Forgets everything; returns the pages that are not needed any more.
    pub fn clear(&mut self) -> Vec<Pointer> {
        let pages = self.pages().collect();
        *self = Deltas::default();
        pages
    }

    /// Adds pages. Returns the directories to be written, in order; all but the last are full.
    pub fn add(&mut self, pages: &[Pointer]) -> Vec<Directory> {
        let all: Vec<Pointer> = self.directory.pages.iter().chain(pages).copied().collect();
        all.chunks(DIRECTORY_PAGES_MAX)
            .map(|chunk| Directory { previous: None, pages: chunk.to_vec() })
            .collect()
    }

    /// A directory that [`Deltas::add`] has made, and that follows the full ones so far, is to lead to those.
    pub fn previous(&self) -> Option<Pointer> {
        self.full.last().copied()
    }

    /// A directory has been written; `last`: it is the one that will be appended to. Returns the one that it
    /// replaces.
    pub fn directory_written(&mut self, directory: Directory, at: Pointer, last: bool) -> Option<Pointer> {
        let replaced = self.head.take();
        if last {
            (self.head, self.directory) = (Some(at), directory);
        } else {
            self.full.push(at);
            self.full_pages.extend(directory.pages);
            self.directory = Directory::default();
        }
        replaced
    }
}
