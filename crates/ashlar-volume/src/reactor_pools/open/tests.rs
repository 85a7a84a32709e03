use super::*;
use crate::door::SubsystemInfo;

fn given(drives: &[(u16, &str)]) -> Vec<(DriveId, String)> {
    drives.iter().map(|(id, spec)| (DriveId(*id), (*spec).to_owned())).collect()
}

#[test]
fn drives_that_contradict_each_other_are_named_by_their_paths() {
    let given =
        given(&[(0, "/dev/nvme0n1"), (1, "file:/d/1.img,size=4GiB"), (1, "file:/copy/1.img")]);
    let cloned = not_opened("tank", OpenError::Cloned(DriveId(1)), &[], &given).to_string();
    assert!(cloned.contains("The two are file:/d/1.img and file:/copy/1.img"), "{cloned}");
    let diverged = OpenError::Diverged { drive: DriveId(0) };
    let diverged = not_opened("tank", diverged, &[], &given[..2]).to_string();
    assert!(
        diverged.contains("That drive is /dev/nvme0n1, and the others are file:/d/1.img"),
        "{diverged}"
    );
}

/// It said that no drives were given that might be these.
#[test]
fn a_stale_drive_is_told_from_one_that_was_not_given() {
    let given = given(&[(0, "/dev/nvme0n1"), (1, "file:/d/1.img,size=4GiB")]);
    let missing = |id| OpenError::NotWhole { missing: vec![DriveId(id)], members: 3 };
    let stale = not_opened("tank", missing(1), &[], &given).to_string();
    for part in ["file:/d/1.img is drive 1, but stale", "--degraded", "drive return tank/drive-1"] {
        assert!(stale.contains(part) && !stale.contains("No drives were given"), "{stale}");
    }
    let absent = not_opened("tank", missing(2), &[], &given).to_string();
    assert!(absent.contains("No drives were given") && !absent.contains("stale"), "{absent}");
}

/// The work of a pool that is being opened may panic before the pool is open.
#[test]
fn numbers_of_a_pool_that_does_not_come_to_be_open_are_let_go_of() {
    let subsystem = SubsystemInfo {
        nqn: "nqn.2014-08.org.example:node".into(),
        serial: "S".into(),
        model: "M".into(),
        firmware: "1".into(),
    };
    let table = Table::new(subsystem, 4, 1);
    let claimed = || Claimed { table: &table, pool: PoolUuid([1; 16]), nsids: Vec::new() };
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut claimed = claimed();
        assert_eq!([3, 4].map(|nsid| claimed.claim(Nsid(nsid)).unwrap()), [Nsid(3), Nsid(4)]);
        panic!("as its work does");
    }));
    assert!(panicked.is_err());
    let mut opened = claimed();
    assert_eq!(opened.claim(Nsid(3)).unwrap(), Nsid(3), "it has its number still");
    opened.keep();
    assert_eq!(claimed().claim(Nsid(3)).unwrap(), Nsid(5), "another pool has it now");
}
