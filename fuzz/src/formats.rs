//! What is on drives. Structures that a checksum or a MAC protects are read as they come and then
//! once more with the checksum put right, so that what lies behind it is reached as well.

use std::num::NonZeroU32;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{DriveId, DriveUuid, Lba, PoolUuid, SECTOR_BYTES, VolumeId};
use ashlar_format::catalog::{Catalog, Item};
use ashlar_format::codec::{Writer, crc32c};
use ashlar_format::compression::{Compression, ZstdLevel};
use ashlar_format::features::{Feature, FeatureKind, Features};
use ashlar_format::header::{
    BatchHeader, CrcWitness, FIXED_BYTES, HEADER_SECTORS_MAX, PageKind, RECORD_BYTES, Record,
    RecordKind,
};
use ashlar_format::heartbeat::Heartbeat;
use ashlar_format::location::{Codec, Location, Pointer, SegmentId};
use ashlar_format::page::{
    self, CatalogEntry, Directory, Filter, PAGE_BYTES_MAX, PageEntry, PageRef, Run,
};
use ashlar_format::root::{MemberRecord, MemberState, Root, SLOT_BYTES, ShardRoot, TableRoot};
use ashlar_format::superblock::{DriveClass, Secret, Superblock, SuperblockError};
use ashlar_format::table::{
    FirstTable, Listed, Occupancy, RowExtent, SegmentKind, SegmentState, TableEntry, TreeTop,
    decode_count_leaf, decode_first_table, decode_table_leaf, decode_tree_node, encode_count_leaf,
    encode_first_table, encode_table_leaf, encode_tree_node,
};
use ashlar_raid::{ChunkAddr, DriveLayout, Geometry};
use ashlar_store::{
    Family, Incarnation, Key, Layer, Levels, Lsn, RootGeneration, ScrubProgress, Settings, Usage,
    VolumeEntry, VolumeState,
};

use super::replay::Seed;

/// What the pool of the seeds signs its headers with.
const SECRET: Secret = Secret([9; 32]);

/// `bytes` at `at`, if the input is that long.
fn patched(input: &[u8], at: usize, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut patched = input.to_vec();
    patched.get_mut(at..at + bytes.len())?.copy_from_slice(bytes);
    Some(patched)
}

// --- superblock ----------------------------------------------------------------------------------

const SUPERBLOCK_CRC_AT: usize = 12;

/// Reads a sector as a superblock.
pub fn superblock(input: &[u8]) {
    let sector = &input[..input.len().min(SECTOR_BYTES)];
    superblock_once(sector);
    let Some(mut sealed) = patched(sector, SUPERBLOCK_CRC_AT, &[0; 4]) else { return };
    let crc = crc32c(&sealed);
    sealed[SUPERBLOCK_CRC_AT..SUPERBLOCK_CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
    superblock_once(&sealed);
}

fn superblock_once(sector: &[u8]) {
    match Superblock::decode(sector) {
        Ok(superblock) => assert_eq!(Superblock::decode(&superblock.encode()), Ok(superblock)),
        Err(SuperblockError::Absent) => {}
        Err(error) => assert!(sector.len() < 8 || sector.starts_with(b"ASHLARSB"), "{error}"),
    }
}

/// A superblock.
pub fn superblock_seeds() -> Vec<Seed> {
    let feature = Feature { kind: FeatureKind::Compatible, bit: 3, name: "usage".to_owned() };
    let superblock = Superblock {
        generation: 3,
        pool: PoolUuid([1; 16]),
        drive_uuid: DriveUuid([2; 16]),
        drive: DriveId(4),
        class: DriveClass::Flash,
        parity: 1,
        data: 4,
        member_count: 5,
        drive_bytes: 4 << 30,
        layout: DriveLayout { chunks_start: 1 << 20, chunk_bytes: 1 << 20, chunk_count: 4094 },
        secret: SECRET,
        made_at: 1_700_000_000,
        segment_numbers: 1 << 12,
        features: Features::new(vec![feature]),
        pool_name: "tank".into(),
    };
    vec![("superblock", superblock.encode())]
}

// --- heartbeat -----------------------------------------------------------------------------------

const HEARTBEAT_CRC_AT: usize = 8;

/// Reads a sector as a heartbeat.
pub fn heartbeat(input: &[u8]) {
    let sector = &input[..input.len().min(SECTOR_BYTES)];
    heartbeat_once(sector);
    let Some(mut sealed) = patched(sector, HEARTBEAT_CRC_AT, &[0; 4]) else { return };
    let crc = crc32c(&sealed);
    sealed[HEARTBEAT_CRC_AT..HEARTBEAT_CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
    heartbeat_once(&sealed);
}

fn heartbeat_once(sector: &[u8]) {
    if let Ok(heartbeat) = Heartbeat::decode(sector) {
        assert_eq!(Heartbeat::decode(&heartbeat.encode()), Ok(heartbeat));
    }
}

/// A heartbeat.
pub fn heartbeat_seeds() -> Vec<Seed> {
    let heartbeat = Heartbeat {
        pool: PoolUuid([1; 16]),
        is_open: true,
        holder: [2; 16],
        epoch: 3,
        session: 4,
        count: 5,
        written_at: 1_700_000_000,
        holder_name: "alpha".into(),
    };
    vec![("heartbeat", heartbeat.encode())]
}

// --- root ----------------------------------------------------------------------------------------

const ROOT_CRC_AT: usize = 8;
const ROOT_COVERED_FROM: usize = 12;

/// Reads a slot as a root.
pub fn root(input: &[u8]) {
    let slot = &input[..input.len().min(SLOT_BYTES)];
    root_once(slot);
    let Some(mut sealed) = patched(slot, ROOT_COVERED_FROM, &(slot.len() as u32).to_le_bytes())
    else {
        return;
    };
    let crc = crc32c(&sealed[ROOT_COVERED_FROM..]);
    sealed[ROOT_CRC_AT..ROOT_COVERED_FROM].copy_from_slice(&crc.to_le_bytes());
    root_once(&sealed);
}

fn root_once(slot: &[u8]) {
    let Ok(root) = Root::decode(slot) else { return };
    assert!(
        root.members.len() + root.line.len() + root.shards.len() <= slot.len(),
        "more than there are bytes"
    );
    let _ = root.descends_from(root.incarnation(), root.line[0].1);
    assert_eq!(Root::decode(&root.encode()), Ok(root));
}

/// Roots of a new pool and of one in use.
pub fn root_seeds() -> Vec<Seed> {
    let mut root = Root {
        pool: PoolUuid([1; 16]),
        generation: RootGeneration(77),
        next_lsn: Lsn(640),
        replay_floor: Lsn(64),
        segment_ordinal: 9,
        segment_swept: 5,
        clean: true,
        written_at: 1,
        unclean_starts: 2,
        table: TableRoot { area: 1, bytes: 100, crc: 3 },
        parity_used: 1,
        members: vec![
            member(0, MemberState::Present),
            member(1, MemberState::Absent),
            member(2, MemberState::Released),
        ],
        line: vec![(Incarnation(5), RootGeneration(60)), (Incarnation(4), RootGeneration(10))],
        catalog: Some(pointer()),
        shards: vec![ShardRoot { index_height: 1, index: Some(pointer()), deltas: None }; 64],
    };
    let used = root.encode();
    root.shards.truncate(1);
    root.catalog = None;
    vec![("used", used), ("small", root.encode())]
}

fn member(number: u16, state: MemberState) -> MemberRecord {
    let made_good = state == MemberState::Released;
    MemberRecord {
        drive: DriveId(number),
        uuid: DriveUuid([3; 16]),
        state,
        made_good,
        given_up: made_good,
        since: RootGeneration(70),
        parity_used: 0,
    }
}

// --- segment table -------------------------------------------------------------------------------

/// Reads a first table, and pages of the table's trees. Their number comes from the tree: here from
/// the first four bytes.
pub fn segment_table(input: &[u8]) {
    let Some((number, bytes)) = input.split_first_chunk::<4>() else { return };
    let number = u32::from_le_bytes(*number);
    if let Ok(table) = decode_first_table(bytes) {
        assert!(table.segments.len() * 58 <= bytes.len(), "more entries than there are bytes for");
        assert_eq!(decode_first_table(&encode_first_table(&table)), Ok(table));
    }
    if let Ok(listed) = decode_table_leaf(bytes, number) {
        assert_eq!(decode_table_leaf(&encode_table_leaf(&listed), number), Ok(listed));
    }
    if let Ok(counts) = decode_count_leaf(bytes, number) {
        assert_eq!(decode_count_leaf(&encode_count_leaf(&counts), number), Ok(counts));
    }
    if let Ok(children) = decode_tree_node(bytes, number) {
        assert_eq!(decode_tree_node(&encode_tree_node(&children), number), Ok(children));
    }
}

/// A first table with and without segments, a leaf of each tree, and a node.
pub fn segment_table_seeds() -> Vec<Seed> {
    let entry = TableEntry {
        id: SegmentId(12),
        state: SegmentState::Sealed,
        kind: SegmentKind::Journal,
        geometry: Rc::new(geometry()),
        placed_lsn: Lsn(63),
        first_lsn: Lsn(64),
        last_lsn: Lsn(128),
        live: Occupancy { slots: 1000, fragments: 90 },
        sealed_at: 5,
        rows: 200,
        accepted: vec![RowExtent { row: 0, rows: 10 }, RowExtent { row: 12, rows: 188 }],
    };
    let open = TableEntry {
        state: SegmentState::Open,
        kind: SegmentKind::Data,
        accepted: vec![],
        ..entry.clone()
    };
    let top = TreeTop { height: 1, pages: vec![(3, pointer())] };
    let uncounted = TableEntry { live: Occupancy::default(), ..entry.clone() };
    let listed = [Listed::Segment(uncounted), Listed::Resting(SegmentId(13))];
    let segments = vec![entry.clone(), open];
    let counted = [(SegmentId(12), entry.live)];
    let (leaves, count_leaves) = (vec![(0, listed.to_vec())], vec![(0, counted.to_vec())]);
    let two = FirstTable { entries: top.clone(), counts: top, segments, leaves, count_leaves };
    let numbered = |bytes: Vec<u8>| [&[0; 4][..], &bytes].concat();
    vec![
        ("two", numbered(encode_first_table(&two))),
        ("none", numbered(encode_first_table(&FirstTable::default()))),
        ("leaf", numbered(encode_table_leaf(&listed))),
        ("counts", numbered(encode_count_leaf(&counted))),
        ("node", numbered(encode_tree_node(&[(5, pointer())]))),
    ]
}

fn geometry() -> Geometry {
    let columns = (0..5u16).map(|n| ChunkAddr { drive: DriveId(n), chunk: 100 + u32::from(n) });
    Geometry::new(columns.collect(), 1)
}

// --- batch header --------------------------------------------------------------------------------

const MAC_AT: usize = 8;
const MAC_FROM: usize = 24;

/// Reads sectors as a batch header.
pub fn batch_header(input: &[u8]) {
    let sectors = &input[..input.len().min(HEADER_SECTORS_MAX * SECTOR_BYTES)];
    batch_header_once(sectors);
    let Some(mut sealed) = patched(sectors, MAC_FROM, &(sectors.len() as u32).to_le_bytes()) else {
        return;
    };
    let mac = blake3::keyed_hash(&SECRET.0, &sealed[MAC_FROM..]);
    sealed[MAC_AT..MAC_FROM].copy_from_slice(&mac.as_bytes()[..MAC_FROM - MAC_AT]);
    batch_header_once(&sealed);
}

fn batch_header_once(sectors: &[u8]) {
    let prelude = BatchHeader::prelude(sectors);
    if let Some(prelude) = prelude {
        assert!((1..=HEADER_SECTORS_MAX).contains(&prelude.sectors), "{prelude:?}");
    }
    let Ok(header) = BatchHeader::decode(&SECRET, sectors) else { return };
    let prelude = prelude.expect("a header that is right begins like one");
    assert_eq!((prelude.segment, prelude.row), (header.segment, header.row));
    assert_eq!((prelude.incarnation, prelude.first_lsn), (header.incarnation, header.first_lsn));
    assert!(
        FIXED_BYTES + header.records.len() * RECORD_BYTES <= sectors.len(),
        "more records than bytes"
    );
    let again = header.encode(&SECRET);
    assert_eq!(again.len(), header.bytes());
    assert_eq!(BatchHeader::decode(&SECRET, &again), Ok(header));
}

/// Headers with every kind of record, and with none.
pub fn batch_header_seeds() -> Vec<Seed> {
    let key = Key { family: Family(1), lba: Lba(77), layer: Layer(2) };
    let location = pointer().location;
    let record = |kind, location| Record { kind, key, location, crc: 1 };
    let mut header = BatchHeader {
        rows: 2,
        segment: SegmentId(8),
        row: 6,
        incarnation: Incarnation(5),
        first_lsn: Lsn(64),
        lsn: Lsn(128),
        complete_through: Lsn(64),
        records: vec![
            record(RecordKind::Write, Some(location)),
            record(RecordKind::Move { from: location }, Some(location)),
            record(RecordKind::ZeroRange { blocks: 512 }, None),
            record(
                RecordKind::Recode { from: location, from_crc: CrcWitness::of(7) },
                Some(location),
            ),
            record(RecordKind::Page(PageKind::IndexLeaf), Some(location)),
        ],
        geometry: Some(geometry()),
    };
    let full = header.encode(&SECRET);
    (header.geometry, header.records) = (None, Vec::new());
    vec![("full", full), ("empty", header.encode(&SECRET))]
}

// --- pages of the maps ---------------------------------------------------------------------------

fn page_of(input: &[u8]) -> &[u8] {
    &input[..input.len().min(PAGE_BYTES_MAX)]
}

/// Reads a map page.
pub fn map_page(input: &[u8]) {
    let bytes = page_of(input);
    let Ok(entries) = page::decode_map_page(bytes) else { return };
    assert!(entries.len() * 16 <= bytes.len(), "more entries than there are bytes for");
    assert_eq!(page::decode_map_page(&page::encode_map_page(&entries)), Ok(entries));
}

/// Reads an index leaf.
pub fn index_leaf(input: &[u8]) {
    let Ok(groups) = page::decode_leaf(page_of(input)) else { return };
    let bytes: usize = groups.iter().map(|(_, runs)| page::group_bytes(runs)).sum();
    assert!(bytes <= page::LEAF_BYTES_MAX, "a leaf of {bytes} bytes out of a page");
    let stored = page::StoredLeaf::new(page_of(input).to_vec()).expect("it can be decoded");
    for (key, runs) in &groups {
        runs.iter().for_each(look_up);
        // One that comes twice is found once.
        let stored: Vec<_> = stored.runs_of(*key).expect("it is there").collect();
        let is_first =
            groups.iter().find(|(other, _)| other == key).is_some_and(|first| first.1 == *runs);
        assert!(!is_first || says_the_same(runs, &stored));
    }
    let again = page::encode_leaf(groups.iter().map(|(key, runs)| (key, runs.as_slice())));
    assert_eq!(page::decode_leaf(&again), Ok(groups));
}

/// Whatever block is asked for, a run says the same as it does where it is stored.
fn says_the_same(runs: &[Run], stored: &[page::StoredRun<'_>]) -> bool {
    let blocks = [0, 1, 4, 5, 89, 90, 255, 256, 37_856, (1 << 18) - 1];
    let same = |(run, stored): (&Run, &page::StoredRun<'_>)| {
        blocks.iter().all(|block| {
            run.page_of(*block).map(|page| page.pointer) == stored.page_of(*block)
                && (0..3).all(|layer| {
                    run.cuts(Layer(layer), *block) == stored.cuts(Layer(layer), *block)
                })
        })
    };
    runs.len() == stored.len() && runs.iter().zip(stored).all(same)
}

/// Whatever block is asked for, the answer is one of the run's pages.
fn look_up(run: &Run) {
    for block in [0, 1, 255, 256, (1 << 18) - 1] {
        if let Some(found) = run.page_of(block) {
            assert!(run.pages().contains(found));
        }
    }
}

/// Reads an index node.
pub fn index_node(input: &[u8]) {
    let Ok(children) = page::decode_node(page_of(input)) else { return };
    assert!(children.len() <= page::CHILDREN_MAX, "{} children", children.len());
    assert_eq!(page::decode_node(&page::encode_node(&children)), Ok(children));
}

/// Reads a delta page.
pub fn delta(input: &[u8]) {
    let Ok(updates) = page::decode_delta(page_of(input)) else { return };
    assert!(updates.len() <= page::DELTA_ENTRIES_MAX, "{} updates", updates.len());
    assert_eq!(page::decode_delta(&page::encode_delta(&updates)), Ok(updates));
}

/// Reads a directory page.
pub fn directory(input: &[u8]) {
    let Ok(directory) = page::decode_directory(page_of(input)) else { return };
    assert!(directory.pages.len() <= page::DIRECTORY_PAGES_MAX, "{} pages", directory.pages.len());
    assert_eq!(page::decode_directory(&page::encode_directory(&directory)), Ok(directory));
}

fn pointer() -> Pointer {
    Pointer { location: Location::new(SegmentId(7), 2, 99, 1000, Codec::Lz4), crc: 5 }
}

/// Map pages with one layer and with several.
pub fn map_page_seeds() -> Vec<Seed> {
    let entry = |n: u32, layers: u32| PageEntry {
        block: n * 3,
        layer: Layer(n % layers * 9),
        value: (!n.is_multiple_of(5)).then_some(pointer()),
    };
    let page =
        |layers| page::encode_map_page(&(0..20).map(|n| entry(n, layers)).collect::<Vec<_>>());
    vec![("one-layer", page(1)), ("layers", page(4)), ("empty", page::encode_map_page(&[]))]
}

fn groups_of(page: &[u8]) -> page::LeafGroup {
    page::decode_leaf(page).expect("a leaf of our own").remove(0)
}

/// A leaf with every kind of run.
pub fn index_leaf_seeds() -> Vec<Seed> {
    let mut filter = Filter::default();
    filter.add(4);
    let runs = [
        Run::Cut { layer: Layer(1), first: 5, end: 90 },
        Run::Pages {
            filter,
            pages: vec![PageRef { first_block: 4, entries: 3, pointer: pointer() }; 4].into(),
        },
    ];
    // A group's key has no public constructor: the bytes of a leaf of one empty group make it.
    let key = groups_of(&[1, 0, 3, 0, 0, 0, 9, 0, 0, 0, 0]).0;
    vec![("runs", page::encode_leaf([(&key, &runs[..])].into_iter())), ("empty", vec![0, 0])]
}

/// A node with children.
pub fn index_node_seeds() -> Vec<Seed> {
    let first = groups_of(&[1, 0, 3, 0, 0, 0, 9, 0, 0, 0, 0]).0;
    let below = page::GroupsBelow { unmerged: true, stacked: false };
    let child = page::Child { first, pointer: pointer(), below };
    vec![("children", page::encode_node(&[child; 5]))]
}

/// Updates of both kinds.
pub fn delta_seeds() -> Vec<Seed> {
    let key = Key { family: Family(1), lba: Lba(9), layer: Layer(0) };
    vec![("updates", page::encode_delta(&[(key, Some(pointer())), (key, None)]))]
}

/// Directories, the first of a chain and a later one.
pub fn directory_seeds() -> Vec<Seed> {
    let first = Directory { previous: None, pages: vec![pointer(); 2] };
    let later = Directory { previous: Some(pointer()), pages: vec![pointer(); 5] };
    vec![("first", page::encode_directory(&first)), ("later", page::encode_directory(&later))]
}

// --- catalog -------------------------------------------------------------------------------------

/// Reads the volume table.
pub fn catalog(input: &[u8]) {
    let Some(items) = items_of(input) else { return };
    let Ok(catalog) = Catalog::of_items(&items) else { return };
    let attributes: usize = catalog.volumes.values().map(|volume| volume.attributes.len()).sum();
    let bytes = catalog.volumes.len() * 26 + attributes + catalog.usages.len() * 24;
    assert!(bytes <= input.len(), "{bytes} bytes of volumes and families out of {}", input.len());
    // A new pool's is nothing at all, and never read.
    if catalog != Catalog::default() {
        assert_eq!(Catalog::of_items(&catalog.items()), Ok(catalog));
    }
}

/// The items that bytes are: each its tag, its key, how long it is, and itself.
fn items_of(mut input: &[u8]) -> Option<Vec<Item>> {
    let mut items = Vec::new();
    while let Some((head, rest)) = input.split_first_chunk::<10>() {
        let tag = u16::from_le_bytes([head[0], head[1]]);
        let key = u32::from_le_bytes([head[2], head[3], head[4], head[5]]);
        let bytes = u32::from_le_bytes([head[6], head[7], head[8], head[9]]) as usize;
        let (item, behind) = rest.split_at_checked(bytes)?;
        items.push(((tag, key), item.to_vec()));
        input = behind;
    }
    input.is_empty().then_some(items)
}

fn bytes_of(items: &[Item]) -> Vec<u8> {
    let mut w = Writer::default();
    for ((tag, key), bytes) in items {
        w.u16(*tag).u32(*key).u32(bytes.len() as u32).bytes(bytes);
    }
    w.0
}

/// Reads a directory of the catalog.
pub fn catalog_directory(input: &[u8]) {
    match page::decode_catalog_top(page_of(input)) {
        Ok(page::CatalogTop::List(list)) => {
            let again = page::decode_catalog_top(&page::encode_catalog_list(&list));
            assert_eq!(again, Ok(page::CatalogTop::List(list)));
        }
        Ok(page::CatalogTop::Whole(items)) => {
            let again =
                page::encode_whole_catalog(items.iter().cloned()).expect("they were in a page");
            assert_eq!(page::decode_catalog_top(&again), Ok(page::CatalogTop::Whole(items)));
        }
        _ => {}
    }
    let Ok(entries) = page::decode_catalog_directory(page_of(input)) else { return };
    let again: Vec<_> = entries.iter().map(|(item, entry)| (*item, entry)).collect();
    let bytes: usize = entries.iter().map(|(_, entry)| page::catalog_entry_bytes(entry)).sum();
    assert!(bytes <= PAGE_BYTES_MAX, "{bytes} bytes of items in a page");
    assert_eq!(
        page::decode_catalog_directory(&page::encode_catalog_directory(&again)),
        Ok(entries)
    );
}

/// Directories with items of no page, of one and of several.
pub fn catalog_directory_seeds() -> Vec<Seed> {
    let entry =
        |bytes: u32| CatalogEntry { bytes, pages: vec![pointer(); bytes.div_ceil(4096) as usize] };
    let entries = [((1, 0), entry(0)), ((5, 7), entry(4096)), ((5, 9), entry(9000))];
    let entries: Vec<_> = entries.iter().map(|(item, entry)| (*item, entry)).collect();
    let list = Directory { previous: Some(pointer()), pages: vec![pointer(); 3] };
    let list = page::encode_catalog_list(&list);
    let items = [((1, 0), vec![]), ((5, 7), vec![6; 40])];
    let whole = page::encode_whole_catalog(items.into_iter()).expect("they fit");
    let items = page::encode_catalog_directory(&entries);
    vec![("items", items), ("list", list), ("whole", whole), ("empty", vec![0, 0, 0])]
}

/// Catalogs of a pool in use, by this version and by a newer one, and of one without volumes.
pub fn catalog_seeds() -> Vec<Seed> {
    let volume = |number, state, attributes: &'static [u8]| {
        let (family, layer) = (Family(number), Layer(0));
        let entry = VolumeEntry {
            family,
            layer,
            state,
            blocks: 1 << 18,
            compression: Compression::Zstd(ZstdLevel::DEFAULT),
            attributes: attributes.into(),
        };
        (VolumeId(number), entry)
    };
    let mut catalog = Catalog { next_id: 9, ..Catalog::default() };
    let none = bytes_of(&catalog.items());
    catalog.volumes =
        [volume(2, VolumeState::Live, b"name"), volume(5, VolumeState::Deleting, b"")].into();
    catalog.usages = [2, 5].map(|number| (Family(number), Usage { blocks: 7, slots: 3 })).into();
    catalog.settings = Settings {
        recon_prio: 10,
        recon_p99: Some(Duration::from_millis(2)),
        scrub_prio: 7,
        scrub_interval: Some(Duration::from_secs(3600)),
        fault_threshold: NonZeroU32::new(3),
        io_timeout: Some(Duration::from_secs(5)),
        autotrim: false,
        overcommit: true,
        levels: Levels { warn: 70, throttle: 85, stop: 97 },
    };
    (catalog.scrub.started_at, catalog.scrub.findings.repaired) = (3, 2);
    catalog.scrub.drives = [(DriveId(3), catalog.scrub.findings)].into();
    catalog.rebalance_below = Some(Lsn(77));
    (catalog.rebuilt_bytes, catalog.rebalanced_bytes) = (1 << 30, 1 << 20);
    catalog.scrub_progress = Some(ScrubProgress {
        started_at: 7,
        end: Lsn(88),
        next: (SegmentId(5), 6),
        rows_done: 70,
        rows_total: 80,
        bytes_checked: 1 << 30,
        findings: catalog.scrub.findings,
        drives: catalog.scrub.drives.clone(),
    });
    let used = bytes_of(&catalog.items());
    // An item and a field that a newer version has added.
    let mut w = Writer(used.clone());
    w.u16(12).u32(1).u32(6 + 4).u16(3).u32(4).bytes(b"tier");
    vec![("used", used), ("newer", w.0), ("none", none)]
}
