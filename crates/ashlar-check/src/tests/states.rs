//! What the table, the maps and the drives say of each other; and which drives are there.

use ashlar_format::root::MemberState;

use super::*;

#[test]
fn a_good_pool_is_good_at_every_level_and_all_of_it_is_looked_at() {
    on_reactor(async {
        for (level, count) in [
            (Level::RAID0, 1),
            (Level::RAID1, 2),
            (Level::of(1, 2).expect("a level"), 4),
            (Level::RAID5, 3),
            (Level::RAID6, 5),
            (Level::RAID7_3, 6),
            (Level::of(4, 2).expect("a level"), 8),
        ] {
            let closed = Closed::new(level, count, End::Closed).await;
            let report = closed.check().await;
            assert!(report.is_good() && report.is_clean, "{level}: {report:#?}");
            let seen = report.seen;
            assert!(
                seen.batches > 50 && seen.pages > 5 && seen.groups >= GROUPS && seen.volumes == 1,
                "{seen:?}"
            );
            assert!(
                seen.fragments > seen.pages && seen.walks > 1 && seen.batches_to_replay == 0,
                "{seen:?}"
            );
            assert!(report.drives.iter().all(|drive| drive.superblocks == 3), "{report:#?}");
        }
    });
}

#[test]
fn after_a_cut_what_the_newest_root_names_is_good_and_the_rest_is_to_be_replayed() {
    on_reactor(async {
        let closed = Closed::new(Level::RAID5, 3, End::Cut).await;
        let report = closed.check().await;
        assert!(report.is_good() && !report.is_clean, "{report:#?}");
    });
}

#[test]
fn a_count_that_is_too_low_is_found() {
    on_reactor(async {
        let closed = Closed::new(Level::RAID5, 3, End::Closed).await;
        let mut table = closed.table().await;
        let counted =
            table.segments.iter_mut().find(|entry| entry.live.fragments > 0).expect("pages live");
        counted.live.fragments -= 1;
        let id = counted.id;
        closed.put_table(&table).await;
        let report = closed.check().await;
        let found = of_kind(&report, Kind::Count);
        assert!(found.len() == 1 && found[0].text.contains(&id.to_string()), "{report:#?}");
    });
}

#[test]
fn a_chunk_that_two_segments_claim_is_found() {
    on_reactor(async {
        let closed = Closed::new(Level::RAID5, 3, End::Closed).await;
        let mut table = closed.table().await;
        let window =
            |entry: &&mut ashlar_format::table::TableEntry| entry.state == SegmentState::Window;
        let taken = table.segments.iter().find(|entry| entry.state != SegmentState::Window);
        let taken = taken.expect("there are some").geometry.clone();
        let into = table.segments.iter_mut().find(window).expect("there is a window");
        into.geometry = taken.clone();
        closed.put_table(&table).await;
        let report = closed.check().await;
        let found = of_kind(&report, Kind::ChunkTwice);
        assert!(
            found.iter().any(|finding| finding.drive == Some(taken.columns[0].drive)),
            "{report:#?}"
        );
    });
}

#[test]
fn a_segment_that_is_named_and_is_not_in_the_table_is_found() {
    on_reactor(async {
        let closed = Closed::new(Level::RAID5, 3, End::Closed).await;
        let root = closed.root().await;
        let mut table = closed.table().await;
        let named = root.catalog.expect("there is a volume").location.segment();
        let before = table.segments.len();
        table.segments.retain(|entry| entry.id != named);
        table.leaves.clear();
        if table.segments.len() == before {
            // It is in a leaf: all leaves go.
            table.entries = Default::default();
        }
        closed.put_table(&table).await;
        let report = closed.check().await;
        let found = of_kind(&report, Kind::NoSegment);
        assert!(
            found.iter().any(|finding| finding.text.contains(&named.to_string())),
            "{report:#?}"
        );
    });
}

#[test]
fn rows_that_the_table_does_not_say_are_found_to_be_named() {
    on_reactor(async {
        let closed = Closed::new(Level::RAID5, 3, End::Closed).await;
        let mut table = closed.table().await;
        let entry =
            table.segments.iter_mut().find(|entry| entry.live.fragments > 0).expect("pages live");
        entry.rows = 0;
        closed.put_table(&table).await;
        let report = closed.check().await;
        assert!(!of_kind(&report, Kind::NotHeld).is_empty(), "{report:#?}");
    });
}

/// Writes other roots in the place of the newest ones.
async fn put_root(closed: &Closed, root: &Root) {
    let mut bytes = root.encode();
    bytes.resize(16 << 10, 0);
    for drive in 0..closed.drives.len() {
        closed.write(drive, Superblock::root_offset(root.generation.0), &bytes).await;
    }
}

#[test]
fn a_place_that_no_header_has_is_found_to_be_named() {
    on_reactor(async {
        let closed = Closed::new(Level::RAID5, 3, End::Closed).await;
        let mut root = closed.root().await;
        // The same bytes and a zero behind them.
        let head = root.catalog.expect("there is a volume").location;
        let longer = Location::new(
            head.segment(),
            head.column(),
            head.slot(),
            head.bytes() + 1,
            head.codec(),
        );
        assert_eq!(longer.slots(), head.slots(), "there is padding");
        let (drive, offset) = closed.place_of(head).await;
        let start = offset / 4096 * 4096;
        let sectors = closed.read(drive, start, longer.sectors().len() * SECTOR_BYTES).await;
        let crc = crc32c(&sectors[longer.within_sectors()]);
        root.catalog = Some(Pointer { location: longer, crc });
        put_root(&closed, &root).await;
        let report = closed.check().await;
        assert_eq!(of_kind(&report, Kind::NoRecord).len(), 1, "{report:#?}");
    });
}

#[test]
fn places_that_two_shards_name_are_found() {
    on_reactor(async {
        let closed = Closed::new(Level::RAID5, 3, End::Closed).await;
        let mut root = closed.root().await;
        let from =
            root.shards.iter().position(|shard| shard.deltas.is_some()).expect("there are some");
        let to = root.shards.iter().position(|shard| shard.deltas != root.shards[from].deltas);
        root.shards[to.expect("there are more")].deltas = root.shards[from].deltas;
        put_root(&closed, &root).await;
        let report = closed.check().await;
        assert!(!of_kind(&report, Kind::NamedTwice).is_empty(), "{report:#?}");
        assert!(!of_kind(&report, Kind::DeltaPage).is_empty(), "{report:#?}");
    });
}

#[test]
fn an_entry_with_two_columns_on_one_drive_is_found() {
    on_reactor(async {
        let closed = Closed::new(Level::RAID5, 3, End::Closed).await;
        let mut table = closed.table().await;
        let window =
            |entry: &&mut ashlar_format::table::TableEntry| entry.state == SegmentState::Window;
        let entry = table.segments.iter_mut().find(window).expect("there is a window");
        let mut columns = entry.geometry.columns.clone();
        columns[1].drive = columns[0].drive;
        entry.geometry = std::rc::Rc::new(Geometry::new(columns, entry.geometry.parity()));
        closed.put_table(&table).await;
        assert!(!of_kind(&closed.check().await, Kind::Entry).is_empty());
    });
}

// --- which drives are there ----------------------------------------------------------------------

#[test]
fn a_drive_that_is_not_given_is_missing_and_all_else_is_checked_without_it() {
    on_reactor(async {
        let closed = Closed::new(Level::RAID6, 5, End::Closed).await;
        let report = closed.check_some(|drive| drive != 2 && drive != 4).await.expect("a pool");
        let kinds: Vec<(Kind, Option<DriveId>)> =
            report.findings.iter().map(|finding| (finding.kind, finding.drive)).collect();
        let missing = [2, 4].map(|drive| (Kind::DriveMissing, Some(DriveId(drive))));
        assert_eq!(kinds, missing, "{report:#?}");
        assert!(
            report.seen.sectors_restored > 0 && report.seen.columns_missing > 0,
            "{:?}",
            report.seen
        );
    });
}

#[test]
fn what_is_wrong_beside_a_drive_that_is_missing_is_found_and_restored() {
    on_reactor(async {
        let closed = Closed::new(Level::RAID6, 5, End::Closed).await;
        let segments = closed.segments().await;
        let geometry = segments.geometry(&sealed(&segments));
        let (missing, wrong) = (geometry.columns[0].drive, geometry.columns[1]);
        let (drive, offset) = closed.place(wrong, 0).await;
        closed.change(drive, offset, |bytes| bytes[10] ^= 1).await;
        let report =
            closed.check_some(|drive| drive != usize::from(missing.0)).await.expect("a pool");
        let others = report.findings.iter().filter(|finding| finding.kind != Kind::DriveMissing);
        let others: Vec<&Finding> = others.collect();
        assert!(
            others.len() == 1 && others[0].drive == Some(wrong.drive) && !others[0].is_lost,
            "{report:#?}"
        );
    });
}

#[test]
fn without_more_drives_than_there_is_parity_nothing_is_said_of_the_data() {
    on_reactor(async {
        let closed = Closed::new(Level::RAID5, 4, End::Closed).await;
        let refused = closed.check_some(|drive| drive < 2).await.expect_err("too few");
        let said = refused.to_string();
        assert!(
            said.contains("2 of 4 drives are missing") && said.contains("drive 2, drive 3"),
            "{said}"
        );
    });
}

#[test]
fn a_drive_that_has_missed_roots_is_stale_and_named() {
    on_reactor(async {
        let closed = Closed::new(Level::RAID5, 3, End::Closed).await;
        let newest = closed.root().await;
        // Its roots are three older than those of the others.
        for slot in 0..8 {
            let offset = Superblock::root_offset(slot);
            let root = Root::decode(&closed.read(1, offset, 16 << 10).await);
            if root.is_ok_and(|root| root.generation.0 + 3 > newest.generation.0) {
                closed.write(1, offset, &vec![0; 16 << 10]).await;
            }
        }
        let report = closed.check().await;
        let stale = of_kind(&report, Kind::DriveStale);
        assert!(stale.len() == 1 && stale[0].name == "d1", "{report:#?}");
        assert_eq!(report.drives[1].verdict, MemberVerdict::Stale);
    });
}

#[test]
fn a_drive_of_another_pool_is_named_as_such() {
    on_reactor(async {
        let closed = Closed::new(Level::RAID5, 3, End::Closed).await;
        let mut other = Closed::new(Level::RAID0, 1, End::Closed).await;
        let mut all = Closed { drives: closed.drives.clone() };
        all.drives.append(&mut other.drives);
        let report = all.check().await;
        let foreign = of_kind(&report, Kind::DriveForeign);
        assert!(
            foreign.len() == 1 && foreign[0].name == "d3" && report.count() == 1,
            "{report:#?}"
        );
    });
}

#[test]
fn a_member_whose_root_says_that_it_is_absent_is_not_believed() {
    on_reactor(async {
        let closed = Closed::new(Level::RAID6, 5, End::Closed).await;
        let mut root = closed.root().await;
        root.members[3].state = MemberState::Absent;
        put_root(&closed, &root).await;
        let report = closed.check().await;
        let parity_used = of_kind(&report, Kind::Root);
        assert!(parity_used.len() == 1 && report.absent == [DriveId(3)], "{report:#?}");
        assert_eq!(report.drives[3].verdict, MemberVerdict::Stale);
    });
}

#[test]
fn what_is_no_drive_of_a_pool_is_refused_by_its_name() {
    on_reactor(async {
        let closed = Closed::new(Level::RAID5, 3, End::Closed).await;
        for offset in [0, Superblock::second_offset(DRIVE_BYTES)] {
            closed.write(1, offset, &vec![0; SECTOR_BYTES]).await;
        }
        let refused = closed.check_some(|_| true).await.expect_err("no label").to_string();
        assert!(refused.contains("d1") && refused.contains("label-restore"), "{refused}");
        let copy = Closed { drives: vec![closed.drives[0].clone(), closed.drives[0].clone()] };
        let refused = copy.check_some(|_| true).await.expect_err("clones").to_string();
        assert!(
            refused.contains("d0") && refused.contains("d1") && refused.contains("copy"),
            "{refused}"
        );
    });
}

// --- who has it open -----------------------------------------------------------------------------

fn heartbeat(pool: ashlar_block::PoolUuid, is_open: bool, count: u64) -> Vec<u8> {
    let (holder, holder_name) = ([1; 16], "other-machine".to_owned());
    Heartbeat { pool, is_open, holder, epoch: 3, session: 1, count, written_at: 0, holder_name }
        .encode()
}

/// Twelve seconds pass at once, and something happens in them.
struct Meanwhile<F>(F);

impl<F: AsyncFn() + Clone + 'static> ashlar_block::Clock for Meanwhile<F> {
    fn now(&self) -> ashlar_block::Nanos {
        ashlar_block::Nanos(0)
    }

    fn unix_seconds(&self) -> u64 {
        0
    }

    fn sleep(&self, _: std::time::Duration) -> impl Future<Output = ()> + 'static {
        let what = self.0.clone();
        async move { what().await }
    }
}

#[test]
fn a_pool_that_a_machine_sends_heartbeats_for_is_refused_and_one_that_was_left_is_not() {
    on_reactor(async {
        let closed = Rc::new(Closed::new(Level::RAID1, 2, End::Closed).await);
        let pool = closed.superblock().await.pool;
        let given = || {
            let drives = closed.drives.iter().enumerate();
            drives
                .map(|(nth, drive)| Given { name: format!("d{nth}"), device: drive.clone() })
                .collect::<Vec<_>>()
        };
        let put = |is_open, count| {
            let closed = closed.clone();
            async move || closed.write(0, HEARTBEAT, &heartbeat(pool, is_open, count)).await
        };
        let nothing = Meanwhile(async || ());
        put(true, 1)().await;
        assert!(unused(&nothing, &given()).await.is_ok(), "it was left");
        let goes_on = Meanwhile({
            let closed = closed.clone();
            async move || closed.write(0, HEARTBEAT, &heartbeat(pool, true, 2)).await
        });
        let refused =
            unused(&goes_on, &given()).await.err().expect("a machine sends heartbeats").to_string();
        assert!(refused.contains("other-machine"), "{refused}");
        put(false, 3)().await;
        let handed_back =
            unused(&goes_on, &given()).await.expect("nobody waits for what is handed back");
        put(true, 4)().await;
        assert!(handed_back.check_unchanged(&given()).await.is_err(), "it was opened meanwhile");
    });
}
