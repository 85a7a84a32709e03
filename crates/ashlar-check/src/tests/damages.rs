//! One thing that a drive has wrong: bytes of something that the root needs, or of a batch.

use super::*;

/// Flips a byte at each of these places in turn, each of another kind, and looks whether that is
/// found on its drive.
async fn assert_each_found(closed: &Closed, places: &[(Kind, (usize, u64))]) {
    assert!(closed.check().await.is_good(), "{:#?}", closed.check().await);
    for (kind, (drive, offset)) in places {
        let before = closed.change(*drive, *offset, |bytes| bytes[0] ^= 0x40).await;
        assert_found(&closed.check().await, *kind, *drive);
        closed.write(*drive, offset / 4096 * 4096, &before).await;
    }
    assert!(closed.check().await.is_good());
}

#[test]
fn what_is_at_fixed_places_is_found_wrong_on_its_drive() {
    on_reactor(async {
        let closed = Closed::new(Level::RAID5, 3, End::Closed).await;
        let root = closed.root().await;
        let copies =
            Superblock::offsets(DRIVE_BYTES).map(|offset| (Kind::Superblock, (1, offset + 200)));
        let others = [
            (Kind::Root, (2, Superblock::root_offset(root.generation.0) + 50)),
            (Kind::FirstTable, (0, Superblock::table_offset(root.table.area) + 5)),
        ];
        assert_each_found(&closed, &copies).await;
        assert_each_found(&closed, &others).await;
    });
}

#[test]
fn pages_of_the_table_are_found_wrong_by_their_names() {
    on_reactor(async {
        let closed = Closed::new(Level::RAID6, 5, End::Closed).await;
        let table = closed.table().await;
        assert!(!table.entries.pages.is_empty() && !table.counts.pages.is_empty(), "{table:?}");
        let leaf = closed.place_of(table.entries.pages[0].1.location).await;
        let counts = closed.place_of(table.counts.pages[0].1.location).await;
        assert_each_found(&closed, &[(Kind::TableLeaf, leaf), (Kind::CountLeaf, counts)]).await;
    });
}

#[test]
fn a_node_of_the_table_is_found_wrong() {
    on_reactor(async {
        let many = async |store: &Store<DriveWorld>| {
            let volume =
                store.create_volume(1 << 20, Compression::None, Bytes::new()).await.expect("room");
            let data = Bytes::from(vec![7; 64 << 10]);
            for nth in 0..2300 {
                store.write(volume, Lba(nth * 16), data.clone()).await.expect("room");
            }
            store.close().await.expect("good drives");
        };
        let closed = Closed::with(Level::RAID5, 3, 112 << 20, many).await;
        let table = closed.table().await;
        assert!(table.entries.height > 0, "{:?}", table.entries);
        let node = closed.place_of(table.entries.pages[0].1.location).await;
        assert_each_found(&closed, &[(Kind::TableNode, node)]).await;
    });
}

#[test]
fn pages_of_a_catalog_that_does_not_fit_one_are_found_wrong() {
    on_reactor(async {
        let large = async |store: &Store<DriveWorld>| {
            store
                .create_volume(1 << 20, Compression::None, vec![7; 9000].into())
                .await
                .expect("room");
            store.close().await.expect("good drives");
        };
        let closed = Closed::with(Level::RAID5, 3, 112 << 20, large).await;
        let directory = closed.root().await.catalog.expect("there is a volume");
        let items = ashlar_format::page::decode_catalog_directory(&closed.page(directory).await)
            .expect("the only directory");
        let pages = items.iter().map(|(_, entry)| entry.pages[0]).chain([directory]);
        let mut places = Vec::new();
        for page in pages {
            places.push((Kind::Catalog, closed.place_of(page.location).await));
        }
        assert_each_found(&closed, &places).await;
    });
}

#[test]
fn pages_of_the_maps_and_of_the_catalog_are_found_wrong_by_their_names() {
    on_reactor(async {
        let closed = Closed::new(Level::RAID5, 4, End::Closed).await;
        let root = closed.root().await;
        let (leaf, nodes) = leaf_of(&closed).await;
        let groups = decode_leaf(&closed.page(leaf).await).expect("a leaf");
        let page = groups[0]
            .1
            .iter()
            .flat_map(ashlar_format::page::Run::pages)
            .next()
            .expect("a run")
            .pointer;
        let deltas = root.shards.iter().find_map(|shard| shard.deltas).expect("there are some");
        let delta = directory_page(&closed, deltas).await;
        let catalog = root.catalog.expect("there is a volume");
        let mut places = Vec::new();
        let pages = [
            (Kind::IndexLeaf, leaf),
            (Kind::IndexNode, nodes[0]),
            (Kind::MapPage, page),
            (Kind::Directory, deltas),
            (Kind::DeltaPage, delta),
            (Kind::Catalog, catalog),
        ];
        for (kind, pointer) in pages {
            places.push((kind, closed.place_of(pointer.location).await));
        }
        assert_each_found(&closed, &places).await;
    });
}

#[test]
fn every_part_of_a_batch_is_found_wrong_where_it_lies() {
    on_reactor(async {
        for (level, count) in [(Level::RAID1, 2), (Level::RAID5, 3), (Level::RAID6, 6)] {
            let closed = Closed::new(level, count, End::Closed).await;
            let segments = closed.segments().await;
            let segment = sealed(&segments);
            let geometry = segments.geometry(&segment);
            let (drive, header) = closed.place(geometry.columns[0], 0).await;
            let parity = closed.place(geometry.columns[geometry.data()], 0).await;
            let bytes = closed.read(drive, header, 4 * SECTOR_BYTES).await;
            let secret = closed.superblock().await.secret;
            let batch =
                ashlar_format::header::BatchHeader::decode(&secret, &bytes).expect("a batch");
            let location =
                batch.records.iter().find_map(|record| record.location).expect("a fragment");
            let fragment = closed.place_of(location).await;
            let padding = (drive, header + batch.bytes() as u64);
            assert!(!batch.bytes().is_multiple_of(64), "there is some");
            let places = [
                (Kind::Header, (drive, header + 100)),
                (Kind::Parity, parity),
                (Kind::Fragment, fragment),
                (Kind::Padding, padding),
            ];
            assert_each_found(&closed, &places).await;
        }
    });
}

#[test]
fn overwritten_sectors_of_one_drive_are_told_apart_and_restored() {
    on_reactor(async {
        let closed = Closed::new(Level::RAID6, 5, End::Closed).await;
        let segments = closed.segments().await;
        let chunk = segments.geometry(&sealed(&segments)).columns[1];
        let (drive, offset) = closed.place(chunk, 0).await;
        closed.write(drive, offset, &vec![0x5a; 8 * SECTOR_BYTES]).await;
        let report = closed.check().await;
        assert!(!report.is_good());
        assert!(
            report.findings.iter().all(|it| it.drive == Some(chunk.drive) && !it.is_lost),
            "{report:#?}"
        );
        let places =
            |it: &Finding| it.offset.is_some_and(|at| (offset..offset + 8 * 4096).contains(&at));
        assert!(report.findings.iter().all(places), "{report:#?}");
    });
}

#[test]
fn what_more_drives_have_wrong_than_there_is_parity_is_lost_and_said_to_be() {
    on_reactor(async {
        let closed = Closed::new(Level::RAID5, 3, End::Closed).await;
        let segments = closed.segments().await;
        let segment = sealed(&segments);
        for column in segments.columns(&segment).take(2).collect::<Vec<_>>() {
            let (drive, offset) = closed.place(column, 0).await;
            closed.write(drive, offset, &vec![0x5a; 2 * SECTOR_BYTES]).await;
        }
        let report = closed.check().await;
        let lost: Vec<&Finding> =
            report.findings.iter().filter(|finding| finding.is_lost).collect();
        let names = |finding: &&&Finding| finding.text.contains(&segment.id.to_string());
        assert!(lost.iter().any(|finding| names(&finding)), "{report:#?}");
        assert!(lost.iter().any(|finding| finding.text.contains("no batch begins")), "{report:#?}");
    });
}
