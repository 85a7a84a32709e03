//! What drives do when they are bad: each way in which the simulation's drives misbehave and leave
//! something behind.

use super::*;

/// A pool and a row of it in which there are fragments.
async fn with_row() -> (Closed, Geometry, Kind) {
    let closed = Closed::new(Level::RAID6, 5, End::Closed).await;
    let segments = closed.segments().await;
    let geometry = segments.geometry(&sealed(&segments));
    (closed, geometry, Kind::Fragment)
}

#[test]
fn a_bit_that_rots_is_found() {
    on_reactor(async {
        let (closed, geometry, kind) = with_row().await;
        let (drive, offset) = closed.place(geometry.columns[1], 1).await;
        closed.change(drive, offset, |bytes| bytes[1234] ^= 1).await;
        assert_found(&closed.check().await, kind, drive);
    });
}

#[test]
fn a_write_that_was_lost_is_found() {
    on_reactor(async {
        let (closed, geometry, kind) = with_row().await;
        // What was there before: nothing.
        let (drive, offset) = closed.place(geometry.columns[1], 0).await;
        closed.change(drive, offset, |bytes| bytes.fill(0)).await;
        assert_found(&closed.check().await, kind, drive);
    });
}

/// All columns of a moment are as they were before: then nothing gives the batch back.
#[test]
fn writes_of_a_moment_that_were_lost_on_all_drives_are_found() {
    on_reactor(async {
        let (closed, geometry, _) = with_row().await;
        for column in geometry.columns.iter() {
            let (drive, offset) = closed.place(*column, 0).await;
            closed.write(drive, offset, &vec![0; SECTOR_BYTES]).await;
        }
        let report = closed.check().await;
        assert!(
            report.findings.iter().any(|it| it.kind == Kind::Header && it.is_lost),
            "{report:#?}"
        );
    });
}

#[test]
fn a_write_that_went_elsewhere_is_found_at_both_places() {
    on_reactor(async {
        let (closed, geometry, _) = with_row().await;
        let (drive, from) = closed.place(geometry.columns[0], 0).await;
        let (_, to) = closed.place(geometry.columns[0], 2).await;
        let sector = closed.read(drive, from, SECTOR_BYTES).await;
        closed.write(drive, to, &sector).await;
        closed.write(drive, from, &vec![0; SECTOR_BYTES]).await;
        let report = closed.check().await;
        let found = |at: u64| {
            let is_there =
                |it: &&Finding| it.offset.is_some_and(|from| (from..from + it.bytes).contains(&at));
            report.findings.iter().find(is_there).is_some()
        };
        assert!(found(from) && found(to), "{report:#?}");
        assert_found(&report, Kind::Header, drive);
    });
}

/// A header that is carried elsewhere is not believed, whole as it is.
#[test]
fn a_batch_that_lies_in_the_place_of_another_one_is_found() {
    on_reactor(async {
        let closed = Closed::new(Level::RAID1, 2, End::Closed).await;
        let segments = closed.segments().await;
        let geometry = segments.geometry(&sealed(&segments));
        let other = segments.iter().find(|it| {
            it.id != sealed(&segments).id && crate::pass::is_walked(it) && !it.kind.is_of_pages()
        });
        let other = segments.geometry(other.expect("there are more"));
        let (drive, to) = closed.place(geometry.columns[0], 0).await;
        let (of, from) = closed.place(other.columns[0], 0).await;
        let sector = closed.read(of, from, SECTOR_BYTES).await;
        closed.write(drive, to, &sector).await;
        assert_found(&closed.check().await, Kind::Header, drive);
    });
}

#[test]
fn a_sector_that_is_torn_is_found() {
    on_reactor(async {
        let (closed, geometry, kind) = with_row().await;
        let (drive, offset) = closed.place(geometry.columns[1], 0).await;
        closed.change(drive, offset, |bytes| bytes[512..1536].fill(0)).await;
        assert_found(&closed.check().await, kind, drive);
    });
}

#[test]
fn sectors_that_cannot_be_read_are_found_and_others_beside_them_are_checked() {
    on_reactor(async {
        let (closed, geometry, _) = with_row().await;
        let (drive, offset) = closed.place(geometry.columns[1], 0).await;
        *closed.drives[drive].unreadable.borrow_mut() = offset + 4096..offset + 3 * 4096;
        let report = closed.check().await;
        let found: Vec<&Finding> =
            report.findings.iter().filter(|it| it.text.contains("cannot be read")).collect();
        assert!(!found.is_empty() && !report.findings.iter().any(|it| it.is_lost), "{report:#?}");
        let within = |it: &&Finding| {
            it.offset.is_some_and(|at| at >= offset + 4096 && at < offset + 3 * 4096)
        };
        assert!(report.findings.iter().all(|it| within(&it)), "{report:#?}");
    });
}

#[test]
fn two_drives_that_are_wrong_in_one_row_are_both_named() {
    on_reactor(async {
        let (closed, geometry, _) = with_row().await;
        let mut drives = Vec::new();
        for column in [0, 1] {
            let (drive, offset) = closed.place(geometry.columns[column], 0).await;
            closed
                .change(drive, offset, |bytes| bytes[..2000].iter_mut().for_each(|byte| *byte ^= 3))
                .await;
            drives.push(drive);
        }
        let report = closed.check().await;
        let named = |drive: &usize| {
            report.findings.iter().any(|it| it.drive == Some(DriveId(*drive as u16)))
        };
        assert!(
            drives.iter().all(named) && !report.findings.iter().any(|it| it.is_lost),
            "{report:#?}"
        );
    });
}

/// Each sector of a stripe by itself, and each two of them.
#[test]
fn any_two_sectors_of_a_row_are_found_and_restored() {
    on_reactor(async {
        let (closed, geometry, _) = with_row().await;
        for one in 0..geometry.columns.len() {
            for other in one + 1..geometry.columns.len() {
                let mut before = Vec::new();
                for column in [one, other] {
                    let (drive, offset) = closed.place(geometry.columns[column], 0).await;
                    let change = |bytes: &mut [u8]| bytes.iter_mut().for_each(|byte| *byte ^= 0x11);
                    before.push((drive, offset, closed.change(drive, offset, change).await));
                }
                let report = closed.check().await;
                assert!(
                    report.count() >= 2 && !report.findings.iter().any(|it| it.is_lost),
                    "{report:#?}"
                );
                for (drive, offset, bytes) in before {
                    closed.write(drive, offset, &bytes).await;
                }
            }
        }
        assert!(closed.check().await.is_good());
    });
}
