use ashlar_control::types::{IoStatDrive, IoStatPool, IoStatVolume};

use super::*;

fn found() -> IoStat {
    let pool = IoStatPool { name: "tank".into(), uuid: "P".into(), ..IoStatPool::default() };
    let volume = |pool: &str, uuid: &str| IoStatVolume {
        pool: pool.into(),
        uuid: uuid.into(),
        ..IoStatVolume::default()
    };
    let drive = |pool: &str, uuid: &str| IoStatDrive {
        pool: pool.into(),
        uuid: uuid.into(),
        ..IoStatDrive::default()
    };
    IoStat {
        pools: vec![pool],
        volumes: vec![volume("tank", "V1"), volume("pond", "V2")],
        drives: vec![drive("tank", "D1"), drive("pond", "D2")],
        ..IoStat::default()
    }
}

#[test]
fn what_was_named_once_is_asked_for_by_what_stays() {
    assert_eq!(identities(&found(), true), ["P", "V2", "D2"], "a pool brings what is below it");
    assert_eq!(identities(&found(), false), ["P", "V2", "D1", "D2"]);
}

#[test]
fn names_of_pools_and_volumes_are_no_paths() {
    for name in ["tank", "tank/v0", "tank/drive-2", "tank/2", "nvme1n1"] {
        assert!(is_plain(name), "{name}");
    }
    for name in ["/dev/nvme1n1", "file:/d/0.img", "./0.img", "tank//dev/sda", "a/b/c", "", "tank/"]
    {
        assert!(!is_plain(name), "{name}");
    }
}

#[test]
fn a_drive_is_meant_by_its_path_and_others_are_refused() {
    let members = [PoolDrive {
        name: "drive-0".into(),
        pool: "tank".into(),
        uuid: "D".into(),
        spec: Some("/dev/nowhere1".into()),
        ..PoolDrive::default()
    }];
    for name in ["/dev/nowhere1", "tank//dev/nowhere1"] {
        assert_eq!(identity_of_drive(&members, name).expect(name), "D");
    }
    let refused = identity_of_drive(&members, "/dev/nowhere2").expect_err("nothing has it");
    assert!(refused.to_string().contains("'/dev/nowhere2' names no pool, volume or drive"));
}
