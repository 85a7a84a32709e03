use ashlar_block::DriveId;

use super::*;

#[test]
fn a_drive_that_is_kept_names_its_pool_and_the_way_out() {
    let error = FailError::TooMany { drive: DriveId(2), lost: 1 };
    let said = NodeError::FailDrive { pool: "tank".to_owned(), error }.to_string();
    for part in ["1 drive is lost of pool 'tank'", "without tank/drive-2", "--force"] {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
}

#[test]
fn a_drive_without_which_nothing_could_be_written_names_what_to_do_instead() {
    let error = FailError::TooFew { drive: DriveId(2), left: 2, needed: 3 };
    let said = NodeError::FailDrive { pool: "tank".to_owned(), error }.to_string();
    let parts = [
        "2 drives would be left",
        "needs 3",
        "would take no writes",
        "pool add-drive tank",
        "tank/drive-2 --force",
    ];
    for part in parts {
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
