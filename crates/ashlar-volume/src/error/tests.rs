use ashlar_block::{DriveId, DriveUuid};
use ashlar_store::{DriveCondition, DriveStatus};

use super::*;
use crate::report::name_of_lost;

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
        NodeError::NotLost { pool: "tank".to_owned(), drive: "drive-5".to_owned(), lost }.to_string()
    };
    assert_eq!(said(&[]), "tank/drive-5 is used: it was not lost. Pool 'tank' has lost no drive");
    assert_eq!(
        said(&["drive-1", "drive-2"]),
        "tank/drive-5 is used: it was not lost. Lost are tank/drive-1, tank/drive-2"
    );
}

#[test]
fn a_pool_that_is_named_already_is_not_named_again() {
    let (name, why) = ("tank".to_owned(), "; 0.img is gone".to_owned());
    let error = NodeError::Open { name, error: OpenError::NoRoot, why };
    assert_eq!(error.to_string(), format!("pool 'tank': {}", error.of_its_pool()));
}

#[test]
fn a_drive_that_a_pool_has_lost_is_not_said_to_be_in_use() {
    let said = |condition: DriveCondition| {
        let (drive, uuid) = (DriveId(3), DriveUuid([3; 16]));
        let (read_errors, lies, is_slow, failure) = (0, 0, false, None);
        let (is_made_good, is_given_up) = (false, false);
        let status = DriveStatus {
            drive,
            uuid,
            condition,
            failure,
            is_made_good,
            is_given_up,
            read_errors,
            lies,
            is_slow,
        };
        NodeError::of_pools_drive("file:/d/3.img", name_of_lost(&status), "tank").to_string()
    };
    for condition in [DriveCondition::Released, DriveCondition::Absent] {
        let said = said(condition);
        let parts =
            ["file:/d/3.img: it is drive-3", "drive return tank/drive-3", "remove-drive tank drive-3"];
        for part in parts {
            assert!(said.contains(part), "'{part}' is not in: {said}");
        }
    }
    for condition in [DriveCondition::Online, DriveCondition::Leaving, DriveCondition::Returned(DriveId(5))] {
        assert!(said(condition).contains("in use by pool 'tank'"));
    }
}
