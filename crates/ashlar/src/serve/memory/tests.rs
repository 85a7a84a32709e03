use ashlar_block::{DriveUuid, PoolUuid};

use super::*;

fn record(there: &[u8], members: &[u8]) -> PoolRecord {
    let uuid = |number: &u8| DriveUuid([*number; 16]);
    PoolRecord {
        uuid: PoolUuid([1; 16]),
        name: "tank".into(),
        drives: there
            .iter()
            .map(|number| (format!("file:/d/{number}.img"), uuid(number)))
            .collect(),
        members: members.iter().map(uuid).collect(),
        is_volatile: false,
    }
}

/// A drive was added while another was away, and the daemon did not look for that one at its next
/// start.
#[test]
fn where_a_member_was_that_is_away_is_remembered_until_it_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let mut memory = Memory::new(StateDir::open(directory.path()).unwrap(), |_| ());
    let uuid = record(&[], &[]).uuid.to_string();
    memory.remember(&record(&[0, 1, 2], &[0, 1, 2]));
    memory.remember(&record(&[0, 2, 3], &[0, 1, 2, 3]));
    let specs = ["file:/d/0.img", "file:/d/2.img", "file:/d/3.img", "file:/d/1.img"];
    assert_eq!(memory.pool(&uuid).unwrap().specs(), specs);
    memory.remember(&record(&[0, 2, 3], &[0, 2, 3]));
    assert_eq!(memory.pool(&uuid).unwrap().specs(), specs[..3]);
}

/// It was taken from its pool by whoever named it so, unasked: a spare holds nothing.
#[test]
fn a_spare_is_known_by_whatever_links_lead_to_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut memory = Memory::new(StateDir::open(directory.path()).unwrap(), |_| ());
    let uuid = record(&[], &[]).uuid.to_string();
    memory.remember(&record(&[0], &[0]));
    let place = |name: &str| directory.path().join(name);
    let spec = |name: &str| format!("file:{}", place(name).display());
    std::fs::write(place("7.img"), "").unwrap();
    std::fs::write(place("8.img"), "").unwrap();
    std::os::unix::fs::symlink(place("7.img"), place("link.img")).unwrap();
    std::fs::hard_link(place("7.img"), place("again.img")).unwrap();
    memory.change_spares(&uuid, |spares| spares.waiting.push(spec("7.img")));
    for name in ["7.img", "link.img", "again.img"] {
        let named = format!("{},size=1GiB", spec(name));
        assert_eq!(memory.pool_with_spare(&named).as_deref(), Some("tank"), "{name}");
        assert_eq!(memory.spare_of(&uuid, &spec(name)), Some(spec("7.img")), "{name}");
    }
    assert_eq!(memory.pool_with_spare(&spec("8.img")), None);
    // It is known by its name alone while it is away.
    std::fs::remove_file(place("7.img")).unwrap();
    assert_eq!(memory.pool_with_spare(&spec("7.img")).as_deref(), Some("tank"));
}

#[test]
fn a_spare_that_is_a_member_by_now_waits_no_more() {
    let directory = tempfile::tempdir().unwrap();
    let mut memory = Memory::new(StateDir::open(directory.path()).unwrap(), |_| ());
    let uuid = record(&[], &[]).uuid.to_string();
    memory.remember(&record(&[0], &[0]));
    memory.change_spares(&uuid, |spares| spares.waiting.push("file:/d/1.img".into()));
    // As after a start of a daemon that did not know that it was taken.
    memory.remember(&record(&[0, 1], &[0, 1]));
    assert!(memory.pools_with_spares().is_empty());
}
