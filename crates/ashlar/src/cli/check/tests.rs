use std::collections::BTreeMap;

use ashlar_block::PoolUuid;
use ashlar_store::format::ids::RootGeneration;

use super::*;

fn report(verdict: MemberVerdict) -> Report {
    let (name, drive) = ("/dev/nvme1n1".to_owned(), DriveId(1));
    let finding = Finding {
        kind: Kind::DriveStale,
        drive: Some(drive),
        name: name.clone(),
        offset: None,
        bytes: 0,
        is_lost: false,
        text: String::new(),
    };
    Report {
        pool: PoolUuid([1; 16]),
        pool_name: "tank".to_owned(),
        level: "5".to_owned(),
        root: RootGeneration(7),
        is_clean: true,
        written_at: 0,
        drives: vec![DriveReport {
            name,
            drive,
            verdict,
            superblocks: 3,
            root: None,
            slots_damaged: 0,
        }],
        absent: Vec::new(),
        seen: Seen::default(),
        findings: vec![finding],
        unlisted: BTreeMap::new(),
    }
}

#[test]
fn a_stale_drive_is_to_be_returned_and_a_diverged_one_left_out() {
    let stale = way_on(&report(MemberVerdict::Stale));
    assert!(stale.contains("--degraded") && stale.contains("drive return tank/drive-1"), "{stale}");
    let diverged = way_on(&report(MemberVerdict::Diverged));
    assert!(
        diverged.contains("leave /dev/nvme1n1 out") && !diverged.contains("return"),
        "{diverged}"
    );
    for part in ["label-clear", "pool replace tank drive-1 NEW"] {
        assert!(diverged.contains(part), "'{part}' is not in: {diverged}");
    }
}
