use ashlar_block::{DriveId, DriveUuid};

use super::*;

fn lost(drive: u8) -> Lost {
    Lost {
        name: format!("drive-{drive}"),
        uuid: DriveUuid([drive; 16]).to_string(),
        is_released: false,
    }
}

fn found(drive: u8, changed: i64) -> FoundPlace {
    FoundPlace {
        uuid: DriveUuid([drive; 16]),
        drive: DriveId(u16::from(drive)),
        spec: format!("file:/d/{drive}.img"),
        mark: DriveMark::File {
            device: 1,
            inode: u64::from(drive),
            size_bytes: 1 << 30,
            changed: (changed, 0),
        },
        others: Vec::new(),
    }
}

fn next(returns: &Returns, lost: &[Lost], found: &[FoundPlace], now: Instant) -> Option<String> {
    returns.next(lost, found, now).map(|it| it.lost.name)
}

#[test]
fn a_lost_drive_comes_back_once_a_drive_with_its_identity_is_there() {
    let (returns, now) = (Returns::default(), Instant::now());
    assert_eq!(next(&returns, &[lost(1)], &[], now), None);
    assert_eq!(next(&returns, &[lost(1)], &[found(2, 0)], now), None);
    assert_eq!(next(&returns, &[], &[found(1, 0)], now), None);
    assert_eq!(
        next(&returns, &[lost(1)], &[found(2, 0), found(1, 0)], now).as_deref(),
        Some("drive-1")
    );
}

#[test]
fn a_drive_that_was_refused_is_left_alone_until_it_changes_and_that_is_said_once() {
    let (mut returns, now) = (Returns::default(), Instant::now());
    let it = Return { lost: lost(1), at: found(1, 0) };
    assert!(returns.was_refused(&it, "it is another".to_owned(), false, now));
    assert!(!returns.was_refused(&it, "it is another".to_owned(), false, now), "that is no news");
    let much_later = now + RETRY_MAX * 2;
    assert_eq!(next(&returns, &[lost(1)], &[found(1, 0)], much_later), None);
    assert_eq!(returns.refusal(&it.lost.uuid, &it.at, now).as_deref(), Some("it is another"));
    // The drive has changed, or the pool can do without what it has by now.
    assert!(next(&returns, &[lost(1)], &[found(1, 9)], now).is_some());
    assert_eq!(returns.refusal(&it.lost.uuid, &found(1, 9), now), None);
    assert!(
        next(&returns, &[Lost { is_released: true, ..lost(1) }], &[found(1, 0)], now).is_some()
    );
}

#[test]
fn a_refused_drive_keeps_no_other_one_waiting() {
    let (mut returns, now) = (Returns::default(), Instant::now());
    returns.was_refused(&Return { lost: lost(2), at: found(2, 0) }, "no".to_owned(), false, now);
    let both = [lost(1), lost(2)];
    assert_eq!(next(&returns, &both, &[found(1, 0), found(2, 0)], now).as_deref(), Some("drive-1"));
}

#[test]
fn a_refusal_for_a_reason_that_may_pass_is_tried_again_less_and_less_often() {
    let (mut returns, mut now) = (Returns::default(), Instant::now());
    let it = Return { lost: lost(1), at: found(1, 0) };
    let mut waits = Vec::new();
    for _ in 0..8 {
        returns.was_refused(&it, "it is in use".to_owned(), true, now);
        let begun = now;
        while next(&returns, &[lost(1)], &[found(1, 0)], now).is_none() {
            now += Duration::from_secs(1);
        }
        waits.push((now - begun).as_secs());
    }
    assert_eq!(waits, [60, 120, 240, 480, 960, 1920, 3600, 3600]);
}

#[test]
fn a_drive_that_comes_and_goes_is_left_alone_for_a_while() {
    let (mut returns, mut now) = (Returns::default(), Instant::now());
    // It has a new identity each time.
    for drive in 1..=3 {
        let at = FoundPlace { spec: "/dev/sda".to_owned(), ..found(drive, 0) };
        let it = returns.next(&[lost(drive)], &[at], now).expect("it comes back");
        assert_eq!(returns.came_back(&it, now), drive == 3);
        now += Duration::from_secs(60);
    }
    let at = FoundPlace { spec: "/dev/sda".to_owned(), ..found(4, 0) };
    assert!(returns.next(&[lost(4)], std::slice::from_ref(&at), now).is_none());
    assert!(returns.refusal(&lost(4).uuid, &at, now).unwrap().contains("come and gone 3 times"));
    assert!(
        returns.next(&[lost(4)], &[found(4, 0)], now).is_some(),
        "by another path it is another matter"
    );
    assert!(returns.next(&[lost(4)], &[at], now + FLAPPING_WINDOW).is_some());
}
