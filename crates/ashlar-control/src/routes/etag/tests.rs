use super::*;
use crate::types::{Access, PoolDrive, PoolSettings, PoolSpace, VolumeQos};

fn volume() -> Volume {
    Volume { uuid: "u".to_owned(), name: "v0".to_owned(), size_bytes: 4096, ..Volume::default() }
}

#[test]
fn a_volume_that_is_used_stays_the_same_version_and_one_that_is_changed_does_not() {
    let tag = ETag::of_volume(&volume());
    let qos = VolumeQos { delayed_operations: 9, throttled: true, ..VolumeQos::default() };
    let used = Volume { logical_used_bytes: 4096, physical_used_bytes: 64, qos, ..volume() };
    assert_eq!(ETag::of_volume(&used), tag);
    let access = Access { allow_any: true, hosts: Vec::new() };
    for changed in [
        Volume { size_bytes: 8192, ..volume() },
        Volume { name: "v1".to_owned(), ..volume() },
        Volume { access, ..volume() },
        Volume { write_protected: true, ..volume() },
        Volume { qos: VolumeQos { weight: 7, ..VolumeQos::default() }, ..volume() },
    ] {
        assert_ne!(ETag::of_volume(&changed), tag, "{changed:?}");
    }
}

#[test]
fn a_pool_is_another_version_with_another_setting_and_not_with_other_figures() {
    let pool = || Pool {
        settings: Some(PoolSettings::default()),
        space: Some(PoolSpace::default()),
        ..Pool::default()
    };
    let tag = ETag::of_pool(&pool(), &[]);
    let space = Some(PoolSpace { physical_used_bytes: 1, ..PoolSpace::default() });
    assert_eq!(ETag::of_pool(&Pool { space, ..pool() }, &[]), tag);
    let settings = Some(PoolSettings { autotrim: true, ..PoolSettings::default() });
    assert_ne!(ETag::of_pool(&Pool { settings, ..pool() }, &[]), tag);
    let gold = QosPolicy { name: "gold".to_owned(), pool: pool().name, ..QosPolicy::default() };
    assert_eq!(ETag::of_pool(&pool(), std::slice::from_ref(&gold)), tag);
    assert_ne!(ETag::of_pool(&pool(), &[QosPolicy { default: true, ..gold }]), tag);
}

#[test]
fn a_pool_is_another_version_once_a_drive_is_given_up_or_to_leave_and_not_with_its_rebuild() {
    let with = |states: &[&str]| {
        let states = states.iter().map(ToString::to_string).collect();
        let drive = PoolDrive { uuid: "d".to_owned(), states, ..PoolDrive::default() };
        ETag::of_pool(&Pool { drives: vec![drive], ..Pool::default() }, &[])
    };
    let (used, leaving, lost) = (with(&["online"]), with(&["evacuating"]), with(&["failed"]));
    assert!(used != leaving && leaving != lost && lost != used);
    assert_eq!(with(&["online", "slow", "sparse"]), used);
    assert_eq!(with(&["released"]), lost);
}

#[test]
fn if_match_takes_a_list_and_a_star() {
    let tag = ETag::of_volume(&volume());
    let text = tag.header().to_str().expect("ASCII").to_owned();
    assert!(tag.is_in(&text) && tag.is_in("*") && tag.is_in(&format!("\"other\", {text}")));
    assert!(!tag.is_in("\"other\"") && !tag.is_in("") && !tag.is_in(&format!("W/{text}")));
}

#[test]
fn a_policy_is_another_version_with_another_weight_and_not_with_another_volume() {
    let policy = || QosPolicy { name: "gold".to_owned(), weight: 100, ..QosPolicy::default() };
    let tag = ETag::of_policy(&policy());
    let used = QosPolicy { volumes: vec!["v0".to_owned()], ..policy() };
    assert_eq!(ETag::of_policy(&used), tag);
    assert_ne!(ETag::of_policy(&QosPolicy { weight: 101, ..policy() }), tag);
}
