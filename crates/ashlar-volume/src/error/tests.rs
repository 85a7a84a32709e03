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
