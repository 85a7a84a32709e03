//! What a root names of the catalog: a page of all items, the only directory of them, or a list of
//! directories.

use super::{Directory, PAGE_BYTES_MAX, decode_directory, encode_directory};
use crate::catalog::{Item, ItemKey};
use crate::codec::{Malformed, Reader, Writer};
use crate::location::{Pointer, put_pointer, take_pointer};

/// An item of the catalog in its directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CatalogEntry {
    /// Bytes of the item.
    pub bytes: u32,
    /// Its pages, all of which are full but the last.
    pub pages: Vec<Pointer>,
}

const CATALOG_ENTRY_FIXED_BYTES: usize = 2 + 4 + 4;

/// Bytes that an item takes in its directory.
pub fn catalog_entry_bytes(entry: &CatalogEntry) -> usize {
    CATALOG_ENTRY_FIXED_BYTES + entry.pages.len() * Pointer::BYTES
}

/// What a root names of a catalog.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CatalogTop {
    /// All items themselves.
    Whole(Vec<Item>),
    /// The only directory.
    Items(Vec<(ItemKey, CatalogEntry)>),
    /// A list of directories.
    List(Directory),
}

const CATALOG_ITEMS: u8 = 0;
const CATALOG_LIST: u8 = 1;
const CATALOG_WHOLE: u8 = 2;

const CATALOG_TOP_BYTES: usize = 1 + 2;

/// Bytes that the items of a directory may take.
pub const CATALOG_ENTRIES_BYTES_MAX: usize = PAGE_BYTES_MAX - CATALOG_TOP_BYTES;

/// A list of directories of the catalog.
pub fn encode_catalog_list(directory: &Directory) -> Vec<u8> {
    [vec![CATALOG_LIST], encode_directory(directory)].concat()
}

/// A page of these items, which are in order, if they fit one. No more of them are taken than that.
pub fn encode_whole_catalog(items: impl Iterator<Item = Item>) -> Option<Vec<u8>> {
    let (mut w, mut count) = (Writer::default(), 0);
    for ((tag, key), bytes) in items {
        w.u16(tag).u32(key).u32(bytes.len() as u32).bytes(&bytes);
        count += 1;
        if CATALOG_TOP_BYTES + w.0.len() > PAGE_BYTES_MAX {
            return None;
        }
    }
    let mut top = Writer::default();
    top.u8(CATALOG_WHOLE).u16(count).bytes(&w.0);
    Some(top.0)
}

fn decode_whole_catalog(bytes: &[u8]) -> Result<Vec<Item>, Malformed> {
    let mut r = Reader::new("catalog", bytes);
    (0..r.u16()?)
        .map(|_| {
            let (item, bytes) = ((r.u16()?, r.u32()?), r.u32()?);
            Ok((item, r.bytes(bytes as usize)?.to_vec()))
        })
        .collect()
}

/// What a root names of a catalog, from its page.
pub fn decode_catalog_top(bytes: &[u8]) -> Result<CatalogTop, Malformed> {
    match bytes.split_first() {
        Some((&CATALOG_WHOLE, items)) => decode_whole_catalog(items).map(CatalogTop::Whole),
        Some((&CATALOG_LIST, list)) => decode_directory(list).map(CatalogTop::List),
        _ => decode_catalog_directory(bytes).map(CatalogTop::Items),
    }
}

/// A directory of these items, which are in order.
pub fn encode_catalog_directory(entries: &[(ItemKey, &CatalogEntry)]) -> Vec<u8> {
    let mut w = Writer::default();
    w.u8(CATALOG_ITEMS).u16(entries.len() as u16);
    for ((tag, key), entry) in entries {
        w.u16(*tag).u32(*key).u32(entry.bytes);
        entry.pages.iter().for_each(|page| put_pointer(&mut w, Some(*page)));
    }
    assert!(w.0.len() <= PAGE_BYTES_MAX, "a directory of {} bytes", w.0.len());
    w.0
}

/// The items of a directory.
pub fn decode_catalog_directory(bytes: &[u8]) -> Result<Vec<(ItemKey, CatalogEntry)>, Malformed> {
    let mut r = Reader::new("catalog directory", bytes);
    if r.u8()? != CATALOG_ITEMS {
        return Err(r.malformed());
    }
    (0..r.u16()?)
        .map(|_| {
            let (item, bytes) = ((r.u16()?, r.u32()?), r.u32()?);
            let count = (bytes as usize).div_ceil(PAGE_BYTES_MAX);
            let pages = (0..count).map(|_| take_pointer(&mut r)?.ok_or(r.malformed()));
            let pages = pages.collect::<Result<_, Malformed>>()?;
            Ok((item, CatalogEntry { bytes, pages }))
        })
        .collect()
}
