use ashlar_block::{DriveUuid, PoolUuid};

use super::*;

fn record(there: &[u8], members: &[u8]) -> PoolRecord {
    let uuid = |number: &u8| DriveUuid([*number; 16]);
    PoolRecord {
        uuid: PoolUuid([1; 16]),
        name: "tank".into(),
        drives: there.iter().map(|number| (format!("file:/d/{number}.img"), uuid(number))).collect(),
        members: members.iter().map(uuid).collect(),
        is_volatile: false,
    }
}

/// A drive was added while another was away, and the daemon did not look for that one at its next start.
#[test]
fn where_a_member_was_that_is_away_is_remembered_until_it_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let mut memory = Memory::new(StateDir::open(directory.path()).unwrap(), Vec::new());
    let uuid = record(&[], &[]).uuid.to_string();
    memory.remember(&record(&[0, 1, 2], &[0, 1, 2])).unwrap();
    memory.remember(&record(&[0, 2, 3], &[0, 1, 2, 3])).unwrap();
    let specs = ["file:/d/0.img", "file:/d/2.img", "file:/d/3.img", "file:/d/1.img"];
    assert_eq!(memory.pool(&uuid).unwrap().specs(), specs);
    memory.remember(&record(&[0, 2, 3], &[0, 2, 3])).unwrap();
    assert_eq!(memory.pool(&uuid).unwrap().specs(), specs[..3]);
}
