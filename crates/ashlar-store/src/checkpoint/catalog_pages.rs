//! Where the catalog is that the newest root names.

use ashlar_format::location::{Location, Pointer, SegmentId};

/// The pages of the catalog, and what they say.
#[derive(Default)]
pub(crate) struct CatalogPages {
    /// Its directory and pages.
    pages: Vec<Pointer>,
    /// Of the bytes. `None`: nobody has kept it, or they are to be written anew whatever they say.
    hash: Option<blake3::Hash>,
}

impl CatalogPages {
    /// What they say is of no interest: they will be written anew.
    pub fn of_anything(pages: Vec<Pointer>) -> Self {
        CatalogPages { pages, hash: None }
    }

    /// `pages` hold these bytes.
    pub fn holding(bytes: &[u8], pages: Vec<Pointer>) -> Self {
        CatalogPages { pages, hash: Some(blake3::hash(bytes)) }
    }

    pub fn pages(&self) -> &[Pointer] {
        &self.pages
    }

    pub fn locations(&self) -> impl Iterator<Item = Location> {
        self.pages.iter().map(|page| page.location)
    }

    /// Whether they can stay, if the catalog is these bytes now.
    pub fn hold(&self, bytes: &[u8]) -> bool {
        self.hash == Some(blake3::hash(bytes))
    }

    /// Has the next checkpoint write them anew if one lies in `segment`.
    pub fn touch_in(&mut self, segment: SegmentId) {
        if self.locations().any(|location| location.segment() == segment) {
            self.hash = None;
        }
    }
}

#[cfg(test)]
mod tests;
