use std::time::Duration;

use ashlar_block::latency::Activity;

use super::*;

fn pool(is_whole: bool) -> PoolActivity {
    let (volumes, drives) = (vec![volume()], vec![drive()]);
    PoolActivity { name: "tank".to_owned(), uuid: PoolUuid([1; 16]), is_whole, volumes, drives }
}

fn volume() -> VolumeActivity {
    let (usage, activity) = (Usage::default(), Activity::default());
    VolumeActivity {
        name: "v0".to_owned(),
        uuid: VolumeUuid([2; 16]),
        usage,
        activity,
        delays: Default::default(),
    }
}

fn drive() -> DriveActivity {
    DriveActivity {
        name: "drive-2".to_owned(),
        uuid: DriveUuid([3; 16]),
        place: "/dev/disk/by-id/x".to_owned(),
        kernel_name: Some("nvme1n1".to_owned()),
        activity: Activity::default(),
        busy: Duration::ZERO,
    }
}

fn scope(names: &[&str]) -> Scope {
    Scope { names: names.iter().map(|name| (*name).to_owned()).collect(), drives: false }
}

#[test]
fn without_names_everything_but_drives_is_wanted() {
    let (all, pool) = (scope(&[]), pool(true));
    assert!(all.wants_pool(&pool) && all.wants_volume(&pool, &volume()));
    assert!(!all.wants_drive(&pool, &drive()) && !all.may_want_drives(&pool));
    assert!(Scope { drives: true, ..all }.wants_drive(&pool, &drive()));
}

#[test]
fn a_pool_is_wanted_with_its_volumes_and_a_volume_without_its_pool() {
    assert!(scope(&["tank"]).wants_pool(&pool(false)));
    assert!(scope(&["tank"]).wants_volume(&pool(true), &volume()));
    let of_volume = scope(&["tank/v0"]);
    assert!(of_volume.wants_volume(&pool(false), &volume()) && !of_volume.wants_pool(&pool(false)));
    assert!(!scope(&["tank/v1"]).wants_volume(&pool(false), &volume()));
}

#[test]
fn drives_are_wanted_by_each_of_their_names() {
    let uuid = DriveUuid([3; 16]).to_string();
    for name in ["tank/drive-2", "tank/2", "nvme1n1", "/dev/disk/by-id/x", &uuid] {
        assert!(scope(&[name]).wants_drive(&pool(false), &drive()), "{name}");
    }
    assert!(!scope(&["tank/drive-20"]).wants_drive(&pool(false), &drive()));
}

#[test]
fn what_nothing_is_called_is_missing() {
    let asked = scope(&["tank", "tank/v0", "tank/v9", "pond", "nvme1n1"]);
    assert_eq!(asked.missing(&[pool(true)]), ["pond", "tank/v9"]);
    assert_eq!(scope(&["tank"]).missing(&[pool(false)]), ["tank"]);
    assert!(scope(&[]).missing(&[]).is_empty());
}
