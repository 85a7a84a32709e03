use std::rc::Rc;

use ashlar_block::VolumeId;
use ashlar_format::compression::Compression;
use ashlar_raid::Level;
use bytes::Bytes;

use super::*;
use crate::testing::{Drives, StillWorld, at_once};

const VOLUMES: u32 = 300;

/// A pool of volumes, of which a few need several pages.
fn pool_of_volumes() -> (Drives, Rc<Pool<StillWorld>>) {
    let drives = Drives::new(Level::RAID1, 2);
    let pool = drives.open();
    for number in 0..VOLUMES {
        let bytes = if number % 100 == 7 { 9000 } else { 40 };
        let attributes = Bytes::from(vec![number as u8; bytes]);
        pool.catalog.borrow_mut().insert_next(1 << 20, Compression::Lz4, attributes, 0);
    }
    checkpoint(&pool);
    (drives, pool)
}

fn checkpoint(pool: &Pool<StillWorld>) {
    at_once(pool.checkpoint(false)).expect("good drives");
}

fn pages(pool: &Pool<StillWorld>) -> BTreeSet<Pointer> {
    pool.checkpoint.catalog_pages.borrow().pages().collect()
}

/// What another start finds.
fn reopened(drives: &Drives, pool: Rc<Pool<StillWorld>>) -> Catalog {
    drop(pool);
    // What was written is what the pool adds to since it was opened.
    Catalog { lifetime: Lifetime::default(), ..drives.open().catalog.take() }
}

#[test]
fn only_what_has_changed_of_the_catalog_is_written() {
    let (drives, pool) = pool_of_volumes();
    let before = pages(&pool);
    checkpoint(&pool);
    assert_eq!(pages(&pool), before);
    pool.catalog.borrow_mut().volumes.get_mut(&VolumeId(9)).expect("it is there").blocks += 1;
    checkpoint(&pool);
    let after = pages(&pool);
    assert_eq!(
        after.difference(&before).count(),
        4,
        "the volume, what was written, their directory, and the list of these"
    );
    let expected = pool.catalog.borrow().clone();
    assert_eq!(reopened(&drives, pool), expected);
}

/// Each page is an append of its own, and a row at least: small pools have no more of them.
#[test]
fn an_only_directory_is_what_the_root_names() {
    let drives = Drives::new(Level::RAID1, 2);
    let pool = drives.open();
    pool.catalog.borrow_mut().insert_next(
        1 << 20,
        Compression::Lz4,
        vec![7; PAGE_BYTES_MAX].into(),
        0,
    );
    checkpoint(&pool);
    let pages = pool.checkpoint.catalog_pages.take();
    assert_eq!((pages.directories.len(), pages.list.len()), (1, 0));
    assert_eq!(pool.checkpoint.roots.newest().catalog, Some(pages.directories[0].1));
    assert_eq!(reopened(&drives, pool), pages.written);
}

/// The page and its directory were two appends, and a pool at its end had not so many rows.
#[test]
fn a_catalog_that_fits_a_page_is_one() {
    let drives = Drives::new(Level::RAID1, 2);
    let pool = drives.open();
    assert_eq!(
        (pages(&pool).len(), pool.checkpoint.roots.newest().catalog),
        (0, None),
        "there is nothing to say"
    );
    let id = pool.catalog.borrow_mut().insert_next(1 << 20, Compression::Lz4, Bytes::new(), 0);
    let attributes = |bytes| {
        let attributes = vec![7; bytes].into();
        pool.catalog.borrow_mut().volumes.get_mut(&id).expect("it is there").attributes =
            attributes;
        checkpoint(&pool);
        let (expected, live) =
            (pool.catalog.borrow().clone(), pool.space.segments.borrow().live().fragments);
        let opened = drives.open();
        let lifetime = opened.catalog.borrow().lifetime;
        assert_eq!(*opened.catalog.borrow(), Catalog { lifetime, ..expected });
        assert_eq!(pages(&opened), pages(&pool));
        (pages(&pool).len(), live)
    };
    let (small, live) = attributes(40);
    assert_eq!(small, 1);
    assert!(attributes(PAGE_BYTES_MAX).0 > 4, "items, and a directory");
    let (again, live_again) = attributes(40);
    assert_eq!((again, live_again), (1, live), "what it replaces is discarded");
}

#[test]
fn volumes_that_are_gone_are_in_no_page() {
    let (drives, pool) = pool_of_volumes();
    for number in 0..VOLUMES - 1 {
        pool.catalog.borrow_mut().remove(VolumeId(number));
    }
    checkpoint(&pool);
    assert!(pages(&pool).len() < 10, "{:?}", pages(&pool));
    let expected = pool.catalog.borrow().clone();
    assert_eq!(reopened(&drives, pool), expected);
}

#[test]
fn what_lies_in_a_segment_that_is_to_be_freed_is_written_elsewhere() {
    let (drives, pool) = pool_of_volumes();
    let of_segment = |page: &Pointer, segment| page.location.segment() == segment;
    let segments: BTreeSet<SegmentId> =
        pages(&pool).iter().map(|page| page.location.segment()).collect();
    for segment in segments {
        pool.checkpoint.catalog_pages.borrow_mut().touch_in(segment);
        let before = pages(&pool);
        checkpoint(&pool);
        let inside = |page: &&Pointer| of_segment(page, segment) && before.contains(page);
        assert_eq!(pages(&pool).iter().filter(inside).count(), 0, "{segment}");
    }
    let live = pool.space.segments.borrow().live().fragments;
    let expected = pool.catalog.borrow().clone();
    assert!(live < 2 * pages(&pool).len() as u64, "what it replaces is discarded: {live}");
    assert_eq!(reopened(&drives, pool), expected);
}

/// A pool that is full is opened and closed again and again: each start would take a segment.
#[test]
fn a_catalog_that_has_not_changed_stays_where_it_is() {
    let (drives, pool) = pool_of_volumes();
    let before = pages(&pool);
    drop(pool);
    assert_eq!(pages(&drives.open()), before);
}

/// Each checkpoint writes something, which makes the total more: of itself it is no reason for
/// another page.
#[test]
fn how_much_was_written_goes_along_with_what_else_changes_and_with_the_last_checkpoint() {
    let (drives, pool) = pool_of_volumes();
    let wrote = |pool: &Pool<StillWorld>, blocks| {
        pool.count(|counters| {
            counters.hosts.blocks_written += blocks;
            counters.drives.bytes_to_drives += 8192 * blocks;
        });
    };
    let written = |pool: &Pool<StillWorld>| {
        pool.checkpoint.catalog_pages.borrow().written.lifetime.blocks_written
    };
    wrote(&pool, 5);
    let before = pages(&pool);
    checkpoint(&pool);
    assert_eq!((pages(&pool), written(&pool)), (before, 0));
    pool.catalog.borrow_mut().volumes.get_mut(&VolumeId(9)).expect("it is there").blocks += 1;
    checkpoint(&pool);
    assert_eq!(written(&pool), 5);
    wrote(&pool, 2);
    at_once(pool.checkpoint(true)).expect("good drives");
    drop(pool);
    let pool = drives.open();
    wrote(&pool, 1);
    let lifetime = pool.status().lifetime;
    assert_eq!(lifetime.blocks_written, 8);
    assert!(lifetime.bytes_to_drives >= 8 * 8192, "{lifetime:?}");
}
