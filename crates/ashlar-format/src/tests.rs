use ashlar_block::{DriveId, DriveUuid, Lba, PoolUuid, SECTOR_BYTES};
use ashlar_raid::{ChunkAddr, DriveLayout, Geometry};
use proptest::prelude::*;

use super::codec::{Reader, Writer};
use super::features::{Feature, FeatureKind, Features};
use super::header::{BatchHeader, CrcWitness, PageKind, Prelude, Record, RecordKind};
use super::heartbeat::Heartbeat;
use super::location::{Codec, Location, Pointer, SegmentId, take_pointer};
use super::page::PageEntry;
use super::root::{MemberRecord, MemberState, Root, ShardRoot, TableRoot};
use super::superblock::{DriveClass, Secret, Superblock, SuperblockError};
use super::table::{decode_count_leaf, decode_first_table, decode_table_leaf, decode_tree_node};
use super::{header, location, page};
use crate::ids::{BLOCKS_MAX, Family, Incarnation, Key, Layer, Lsn, RootGeneration};

pub(crate) fn geometry() -> Geometry {
    let columns = (0..5u16).map(|n| ChunkAddr { drive: DriveId(n), chunk: 100 + u32::from(n) });
    Geometry::new(columns.collect(), 1)
}

fn superblock() -> Superblock {
    Superblock {
        generation: 3,
        pool: PoolUuid([1; 16]),
        drive_uuid: DriveUuid([2; 16]),
        drive: DriveId(4),
        class: DriveClass::Spinning,
        parity: 1,
        data: 4,
        member_count: 5,
        drive_bytes: 4 << 30,
        layout: DriveLayout { chunks_start: 1 << 20, chunk_bytes: 1 << 20, chunk_count: 4094 },
        secret: Secret([9; 32]),
        made_at: 1_700_000_000,
        segment_numbers: 1 << 12,
        features: Features::default(),
        pool_name: "tank".into(),
    }
}

fn root() -> Root {
    let pointer =
        Pointer { location: Location::new(SegmentId(7), 2, 99, 1000, Codec::Lz4), crc: 5 };
    Root {
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
        members: vec![MemberRecord {
            drive: DriveId(0),
            uuid: DriveUuid([3; 16]),
            state: MemberState::Absent,
            made_good: true,
            given_up: true,
            since: RootGeneration(70),
            parity_used: 0,
        }],
        line: vec![(Incarnation(5), RootGeneration(60)), (Incarnation(4), RootGeneration(10))],
        catalog: Some(pointer),
        shards: vec![ShardRoot { index_height: 1, index: Some(pointer), deltas: None }; 64],
    }
}

fn batch() -> BatchHeader {
    let key = Key { family: Family(1), lba: Lba(77), layer: Layer(2) };
    let location = Location::new(SegmentId(8), 0, 70, 4096, Codec::Raw);
    BatchHeader {
        rows: 2,
        segment: SegmentId(8),
        row: 6,
        incarnation: Incarnation(5),
        first_lsn: Lsn(64),
        lsn: Lsn(128),
        complete_through: Lsn(64),
        records: vec![
            Record { kind: RecordKind::Write, key, location: Some(location), crc: 1 },
            Record {
                kind: RecordKind::Move { from: location },
                key,
                location: Some(location),
                crc: 2,
            },
            Record { kind: RecordKind::ZeroRange { blocks: 512 }, key, location: None, crc: 0 },
            Record {
                kind: RecordKind::Page(PageKind::TableNode),
                key,
                location: Some(location),
                crc: 3,
            },
            Record {
                kind: RecordKind::Recode { from: location, from_crc: CrcWitness::of(0xdead_beef) },
                key,
                location: Some(location),
                crc: 4,
            },
        ],
        geometry: Some(geometry()),
    }
}

#[test]
fn a_superblock_reads_back_from_the_documented_bytes() {
    let sector = superblock().encode();
    assert_eq!(sector.len(), SECTOR_BYTES);
    assert_eq!(&sector[..12], b"ASHLARSB\x03\0\0\0");
    assert_eq!(sector[56..64], [4, 0, 2, 0, 1, 4, 5, 0]);
    assert_eq!(sector[136..140], *b"\0\x10\0\0");
    assert_eq!(sector[140..2048], [0; 1908]);
    assert_eq!(sector[2048..2053], *b"\x04tank");
    assert_eq!(Superblock::decode(&sector), Ok(superblock()));
}

#[test]
fn a_whole_superblock_that_says_what_cannot_be_is_refused_and_the_field_named() {
    let refused = |what: &str, change: &dyn Fn(&mut Superblock)| {
        let mut wrong = superblock();
        change(&mut wrong);
        match Superblock::decode(&wrong.encode()) {
            Err(SuperblockError::Impossible(named)) => assert_eq!(named, what),
            other => panic!("{what}: {other:?}"),
        }
    };
    refused("level", &|superblock| superblock.data = 21);
    refused("level", &|superblock| superblock.parity = 200);
    refused("chunk size", &|superblock| superblock.layout.chunk_bytes = 0);
    refused("chunk size", &|superblock| superblock.layout.chunk_bytes = 4097);
    refused("chunk size", &|superblock| superblock.layout.chunk_bytes = 128 << 20);
    refused("number of chunks", &|superblock| superblock.layout.chunk_count = u32::MAX);
    refused("chunks' start", &|superblock| superblock.layout.chunks_start = 0);
    refused("chunks' start", &|superblock| superblock.layout.chunks_start = u64::MAX);
    refused("drive's size", &|superblock| superblock.drive_bytes = 0);
    refused("chunks' start", &|superblock| superblock.layout.chunks_start = 2 << 20);
    refused("segment numbers", &|superblock| superblock.segment_numbers = 3);
    refused("pool's name", &|superblock| superblock.pool_name = "x".repeat(65));
}

#[test]
fn every_flipped_bit_of_a_superblock_is_noticed() {
    let sector = superblock().encode();
    for bit in 0..256 * 8 {
        let mut flipped = sector.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(Superblock::decode(&flipped).is_err(), "bit {bit}");
    }
}

#[test]
fn another_major_format_is_named() {
    let mut sector = superblock().encode();
    for (major, advice) in [(4, "use a newer Ashlar"), (2, "use the older Ashlar")] {
        sector[8] = major;
        sector[12..16].fill(0);
        let crc = super::codec::crc32c(&sector);
        sector[12..16].copy_from_slice(&crc.to_le_bytes());
        let error = Superblock::decode(&sector).expect_err("another");
        assert_eq!(error, SuperblockError::OtherFormat { major: major.into(), minor: 0 });
        assert!(error.to_string().contains(advice));
    }
}

#[test]
fn what_a_newer_version_uses_is_refused_by_name_unless_it_is_compatible() {
    let feature = |kind, name: &str| Feature { kind, bit: 7, name: name.to_owned() };
    let compatible = Features::new(vec![feature(FeatureKind::Compatible, "usage")]);
    let with_usage = Superblock { features: compatible, ..superblock() };
    assert_eq!(Superblock::decode(&with_usage.encode()), Ok(with_usage));
    let more = vec![
        feature(FeatureKind::Incompatible, "dedup"),
        feature(FeatureKind::Compatible, "usage"),
        feature(FeatureKind::ReadOnlyCompatible, "snapshots"),
    ];
    let with_more = Superblock { features: Features::new(more), ..superblock() };
    let error = Superblock::decode(&with_more.encode()).expect_err("it is not known");
    let expected =
        "the pool uses what this Ashlar does not know (dedup, snapshots): use a newer Ashlar";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn each_codec_has_its_code_and_what_has_no_segment_is_no_location() {
    let raw = Location::new(SegmentId(7), 3, 40, 900, Codec::Raw).to_bits();
    for (code, codec) in [(0, Codec::Raw), (1, Codec::Lz4), (2, Codec::Zstd), (3, Codec::Named)] {
        assert_eq!(Location::from_bits(raw | code).map(Location::codec), Ok(codec));
        assert_eq!(Location::new(SegmentId(7), 3, 40, 900, codec).to_bits(), raw | code);
    }
    let nowhere = Location::from_bits(2).expect_err("there is no segment 0");
    assert_eq!(nowhere.to_string(), "malformed location");
}

#[test]
fn zero_here_is_a_value_and_no_location() {
    assert!(Location::from_bits(location::ZERO_HERE).is_err());
    let mut w = Writer::default();
    w.u64(location::ZERO_HERE).u32(0);
    assert!(
        take_pointer(&mut Reader::new("pointer", &w.0)).is_err(),
        "a page is somewhere, or there is none"
    );
    let page = page::encode_map_page(&[PageEntry { block: 5, layer: Layer(0), value: None }]);
    let at = page.len() - 12;
    let mut zero = page.clone();
    zero[at..at + 8].copy_from_slice(&location::ZERO_HERE.to_le_bytes());
    assert_eq!(page::decode_map_page(&zero), page::decode_map_page(&page));
}

#[test]
fn a_root_of_batches_of_several_reactors_is_refused() {
    let mut bytes = root().encode();
    // Their count is behind the table's root.
    let at = 96;
    assert_eq!(bytes[at..at + 2], [1, 0]);
    bytes[at] = 2;
    let crc = super::codec::crc32c(&bytes[12..]);
    bytes[8..12].copy_from_slice(&crc.to_le_bytes());
    assert!(Root::decode(&bytes).is_err());
}

#[test]
fn a_root_reads_back_and_every_flipped_bit_is_noticed() {
    let bytes = root().encode();
    assert_eq!(Root::decode(&bytes), Ok(root()));
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_ne!(Root::decode(&flipped), Ok(root()), "bit {bit}");
    }
}

#[test]
fn a_root_knows_which_roots_came_before_it() {
    let root = root();
    for (incarnation, generation, before) in [
        (5, 60, true),
        (5, 77, true),
        (5, 78, false),
        (4, 59, true),
        (4, 60, false),
        (4, 9, false),
        (3, 20, false),
    ] {
        let answer = root.descends_from(Incarnation(incarnation), RootGeneration(generation));
        assert_eq!(answer, before, "incarnation {incarnation} generation {generation}");
    }
}

#[test]
fn a_full_root_of_the_largest_pool_fits_its_slot() {
    let mut largest = root();
    largest.members = vec![largest.members[0]; 256];
    largest.line = vec![largest.line[0]; super::root::LINE_MAX];
    assert!(largest.encode().len() <= super::root::SLOT_BYTES);
}

#[test]
fn a_batch_header_reads_back_only_with_its_secret() {
    let bytes = batch().encode(&Secret([9; 32]));
    assert_eq!(bytes.len(), batch().bytes());
    assert_eq!(&bytes[..8], b"ASHLBTCH");
    assert_eq!(BatchHeader::decode(&Secret([9; 32]), &bytes), Ok(batch()));
    assert!(BatchHeader::decode(&Secret([8; 32]), &bytes).is_err());
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(BatchHeader::decode(&Secret([9; 32]), &flipped).is_err(), "bit {bit}");
    }
}

#[test]
fn a_sound_header_names_nothing_outside_its_own_rows() {
    let within = |column, slot, bytes| Location::new(SegmentId(8), column, slot, bytes, Codec::Raw);
    let naming = |location| {
        let mut header = batch();
        header.records = vec![Record { location: Some(location), ..header.records[0] }];
        header
    };
    assert!(naming(within(0, 6 * 64 + 8, 4096 - 512)).fits(4, 8));
    assert!(naming(within(3, 8 * 64 - 1, 64)).fits(4, 8));
    for outside in [
        within(4, 6 * 64, 64),
        within(3, 6 * 64 - 1, 64),
        within(3, 8 * 64 - 1, 65),
        Location::new(SegmentId(9), 3, 6 * 64, 64, Codec::Raw),
    ] {
        assert!(!naming(outside).fits(4, 8), "{outside:?}");
    }
    let header = naming(within(0, 6 * 64 + 8, 64));
    assert!(!header.fits(4, 7), "it ends behind the segment");
    assert!(!BatchHeader { rows: 0, ..header.clone() }.fits(4, 8));
    assert!(!BatchHeader { rows: u32::MAX, ..header.clone() }.fits(4, 8));
    let records = vec![header.records[0]; header::RECORDS_MAX];
    assert!(!BatchHeader { rows: 1, records, ..header }.fits(4, 8), "it is longer than its rows");
}

#[test]
fn a_record_of_blocks_that_no_volume_has_is_refused() {
    let secret = Secret([9; 32]);
    let read = |lba: u64, blocks| {
        let mut header = batch();
        let key = Key { lba: Lba(lba), ..header.records[0].key };
        header.records =
            vec![Record { kind: RecordKind::ZeroRange { blocks }, key, location: None, crc: 0 }];
        BatchHeader::decode(&secret, &header.encode(&secret)).is_ok()
    };
    assert!(read(BLOCKS_MAX - 5, 5));
    assert!(!read(BLOCKS_MAX - 5, 6));
    assert!(!read(u64::MAX, 1));
}

#[test]
fn the_first_sector_of_the_largest_header_says_what_the_whole_says() {
    let mut largest = batch();
    largest.records = vec![largest.records[0]; header::RECORDS_MAX];
    let bytes = largest.encode(&Secret([9; 32]));
    let prelude = Prelude {
        sectors: 3,
        segment: largest.segment,
        row: largest.row,
        incarnation: largest.incarnation,
        first_lsn: largest.first_lsn,
    };
    assert_eq!(BatchHeader::prelude(&bytes[..SECTOR_BYTES]), Some(prelude));
    assert_eq!(BatchHeader::prelude(&[0; SECTOR_BYTES]), None);
}

/// Fuzzing has found headers that were read though no header has so many bytes, and whose first
/// sector did not look like a header's.
#[test]
fn a_header_that_says_it_is_longer_than_any_is_none() {
    let secret = Secret([9; 32]);
    let sealed = |bytes: usize| {
        let mut header = batch().encode(&secret);
        header.resize(bytes, 0);
        header[24..28].copy_from_slice(&(bytes as u32).to_le_bytes());
        let mac = blake3::keyed_hash(&secret.0, &header[24..]);
        header[8..24].copy_from_slice(&mac.as_bytes()[..16]);
        header
    };
    let longest = header::header_bytes(header::RECORDS_MAX, None) + header::GEOMETRY_BYTES_MAX;
    assert!(BatchHeader::decode(&secret, &sealed(longest)).is_ok());
    assert!(BatchHeader::decode(&secret, &sealed(longest + 1)).is_err());
    assert_eq!(BatchHeader::prelude(&sealed(longest + 1)[..SECTOR_BYTES]), None);
}

proptest! {
    #[test]
    fn locations_read_back(segment in 1u32..1 << 25, column in 0usize..32, slot in 0u32..1 << 20, bytes in 1usize..=4096) {
        prop_assume!(u64::from(segment) <= SegmentId::COUNT);
        let location = Location::new(SegmentId(segment), column, slot, bytes, Codec::Lz4);
        prop_assert_eq!(Location::from_bits(location.to_bits()), Ok(location));
        prop_assert_eq!((location.segment(), location.column()), (SegmentId(segment), column));
        prop_assert_eq!((location.slot(), location.bytes(), location.codec()), (slot, bytes, Codec::Lz4));
        let sectors = location.sectors();
        prop_assert!(location.within_sectors().end <= sectors.len() * SECTOR_BYTES);
    }

    #[test]
    fn no_parser_panics_on_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Superblock::decode(&bytes);
        let _ = Root::decode(&bytes);
        let _ = decode_first_table(&bytes);
        let _ = decode_table_leaf(&bytes, 3);
        let _ = decode_count_leaf(&bytes, 3);
        let _ = decode_tree_node(&bytes, 3);
        let _ = BatchHeader::decode(&Secret([9; 32]), &bytes);
        let _ = BatchHeader::prelude(&bytes);
        let _ = page::decode_map_page(&bytes);
        let _ = page::decode_leaf(&bytes);
        let _ = page::decode_node(&bytes);
        let _ = page::decode_delta(&bytes);
        let _ = page::decode_directory(&bytes);
    }
}

#[test]
fn a_heartbeat_is_read_as_it_was_written_and_refused_once_damaged() {
    let heartbeat = Heartbeat {
        pool: PoolUuid([1; 16]),
        is_open: true,
        holder: [2; 16],
        epoch: 3,
        session: 4,
        count: 5,
        written_at: 1_700_000_000,
        holder_name: "alpha.example".into(),
    };
    let sector = heartbeat.encode();
    assert_eq!(sector.len(), SECTOR_BYTES);
    assert_eq!(Heartbeat::decode(&sector), Ok(heartbeat.clone()));
    let closed = Heartbeat { is_open: false, ..heartbeat };
    assert_eq!(Heartbeat::decode(&closed.encode()), Ok(closed));
    for at in [0, 8, 12, 60, 81, 4095] {
        let mut damaged = sector.clone();
        damaged[at] ^= 1;
        assert!(Heartbeat::decode(&damaged).is_err(), "byte {at}");
    }
    assert!(Heartbeat::decode(&[0; SECTOR_BYTES]).is_err());
}

#[test]
fn every_kind_of_page_reads_back() {
    let kinds = [
        PageKind::Map,
        PageKind::IndexLeaf,
        PageKind::IndexNode,
        PageKind::Delta,
        PageKind::Directory,
        PageKind::Catalog,
        PageKind::TableLeaf,
        PageKind::CountLeaf,
        PageKind::TableNode,
    ];
    let mut batch = batch();
    let page = batch.records[3];
    batch.records = kinds.map(|kind| Record { kind: RecordKind::Page(kind), ..page }).to_vec();
    let secret = Secret([9; 32]);
    assert_eq!(BatchHeader::decode(&secret, &batch.encode(&secret)), Ok(batch));
}
