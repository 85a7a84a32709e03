use ashlar_block::DriveId;

use super::*;
use crate::report::HeldDrive;

#[test]
fn a_drive_that_is_kept_names_its_pool_and_the_way_out() {
    let error = FailError::TooMany { drive: DriveId(2), lost: 1 };
    let said = NodeError::FailDrive { pool: "tank".to_owned(), error }.to_string();
    for part in ["1 drive is lost of pool 'tank'", "without tank/drive-2", "--force"] {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
}

#[test]
fn who_brings_back_a_drive_that_works_is_told_which_are_lost() {
    let said = |lost: &[&str]| {
        let lost = lost.iter().map(|drive| (*drive).to_owned()).collect();
        NodeError::NotLost { pool: "tank".to_owned(), drive: "drive-5".to_owned(), lost }
            .to_string()
    };
    assert_eq!(
        said(&[]),
        "tank/drive-5 works: the pool has not lost it. Pool 'tank' has lost no drive"
    );
    assert_eq!(
        said(&["drive-1", "drive-2"]),
        "tank/drive-5 works: the pool has not lost it. It has lost tank/drive-1, tank/drive-2"
    );
}

#[test]
fn a_pool_that_is_named_already_is_not_named_again() {
    let (name, why) = ("tank".to_owned(), "; 0.img is gone".to_owned());
    let error = NodeError::Open { name, error: OpenError::NoRoot, why };
    assert_eq!(error.to_string(), format!("pool 'tank': {}", error.of_its_pool()));
}

#[test]
fn whoever_is_refused_the_removal_of_a_drive_is_told_of_which_pool() {
    let error = RemoveError::NoRoom { drive: DriveId(2), live: 5 << 30, limit: 4 << 30 };
    let said = NodeError::RemoveDrive { pool: "tank".to_owned(), error }.to_string();
    for part in ["pool 'tank': ", "holds 5GiB of live data", "without drive 2", "room for 4GiB"] {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
}

#[test]
fn an_opening_that_was_stopped_names_its_pool_once() {
    let error = NodeError::OpeningStopped { pool: "pool 'tank'".to_owned() };
    assert!(error.to_string().contains("stopped the opening of pool 'tank':"), "{error}");
    assert!(
        error.of_its_pool().contains("stopped the opening of the pool:"),
        "{}",
        error.of_its_pool()
    );
}

#[test]
fn a_drive_that_a_pool_has_lost_is_not_said_to_be_in_use() {
    let said = |is_lost| {
        let (spec, pool, drive) =
            ("file:/d/3.img".to_owned(), "tank".to_owned(), "drive-3".to_owned());
        HeldDrive { spec: spec.clone(), pool, drive, is_lost, is_being_erased: false }
            .refuses(&spec)
            .to_string()
    };
    for part in
        ["file:/d/3.img: it is drive-3", "drive return tank/drive-3", "remove-drive tank drive-3"]
    {
        assert!(said(true).contains(part), "'{part}' is not in: {}", said(true));
    }
    assert_eq!(said(false), "file:/d/3.img: in use by pool 'tank' of this daemon");
    let (spec, pool, drive) = ("file:/d/3.img".to_owned(), "tank".to_owned(), String::new());
    let erased = HeldDrive { spec, pool, drive, is_lost: false, is_being_erased: true };
    assert_eq!(
        erased.refuses("file:/d/3.img").to_string(),
        "file:/d/3.img: it is being erased, because its pool was destroyed with --secure: try \
         again once that is done"
    );
}
