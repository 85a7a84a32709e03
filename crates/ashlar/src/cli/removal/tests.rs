use super::*;

fn member(name: &str, uuid: &str, state: &str, spec: &str) -> PoolDrive {
    PoolDrive {
        name: name.to_owned(),
        uuid: uuid.to_owned(),
        spec: Some(spec.to_owned()),
        states: vec![state.to_owned(), "slow".to_owned()],
        ..PoolDrive::default()
    }
}

/// A pool of two drives, of which `drive-1` at `/d/1` is to go.
fn pool(of_leaver: &[PoolDrive]) -> Pool {
    let mut drives = vec![member("drive-0", "a", "online", "/d/0")];
    drives.extend_from_slice(of_leaver);
    Pool { name: "tank".to_owned(), drives, ..Pool::default() }
}

fn leaver() -> Leaver {
    let begun = pool(&[member("drive-1", "b", "evacuating", "/d/1")]);
    let named = |name: &str| Leaver::named(&begun, name).expect("it is a member");
    for name in ["1", "drive-1", "/d/1"] {
        assert_eq!((&*named(name).name, &*named(name).uuid), ("drive-1", "b"));
    }
    named("1")
}

#[test]
fn a_drive_is_on_its_way_out_until_it_is_no_member() {
    let stage = |state: &str| {
        leaver().stage(&pool(&[member("drive-1", "b", state, "/d/1")])).expect("it goes")
    };
    assert_eq!(stage("evacuating"), Stage::Moving);
    assert_eq!(stage("failed"), Stage::Lost);
    assert_eq!(stage("absent"), Stage::Lost);
    assert_eq!(stage("released"), Stage::Released);
    let open = Pool { parting: vec!["/d/1".to_owned()], ..pool(&[]) };
    assert_eq!(leaver().stage(&open).expect("it has gone"), Stage::Parting);
    assert_eq!(leaver().stage(&pool(&[])).expect("it has gone"), Stage::Left);
}

#[test]
fn a_drive_that_had_come_back_before_is_out_only_with_all_its_numbers() {
    let old = member("drive-1", "b", "returned", "/d/1");
    let stage = |now: &[PoolDrive]| leaver().stage(&pool(now)).expect("it goes");
    assert_eq!(stage(&[old.clone(), member("drive-5", "b", "evacuating", "/d/1")]), Stage::Moving);
    assert_eq!(stage(&[old.clone(), member("drive-5", "b", "released", "/d/1")]), Stage::Lost);
    assert_eq!(stage(&[old]), Stage::Lost);
}

#[test]
fn who_waits_for_a_drive_that_stays_is_told_so() {
    let stays = pool(&[member("drive-1", "b", "online", "/d/1")]);
    let why = leaver().stage(&stays).unwrap_err().to_string();
    assert!(why.contains("drive-1 stays in pool 'tank'"), "{why}");
    let back = pool(&[
        member("drive-1", "c", "returned", "/d/1"),
        member("drive-5", "c", "online", "/d/1"),
    ]);
    let why = leaver().stage(&back).unwrap_err().to_string();
    assert!(why.contains("brought it back") && why.contains("remove-drive tank drive-5"), "{why}");
}

#[test]
fn a_drive_was_lost_before_if_it_works_under_none_of_its_numbers() {
    let was_lost =
        |records: &[PoolDrive]| Leaver::named(&pool(records), "1").expect("a member").was_lost;
    let one = |state: &str| was_lost(&[member("drive-1", "b", state, "/d/1")]);
    assert_eq!(
        ["online", "evacuating", "failed", "absent", "released"].map(one),
        [false, false, true, true, true]
    );
    let old = member("drive-1", "b", "returned", "/d/1");
    assert!(!was_lost(&[old, member("drive-5", "b", "online", "/d/1")]));
}

#[test]
fn a_new_drive_in_the_place_of_the_one_that_it_replaces_is_not_waited_for() {
    let named = || {
        Leaver::named(&pool(&[member("drive-1", "b", "failed", "/d/1")]), "1").expect("a member")
    };
    let replaced = pool(&[member("drive-5", "c", "online", "/d/1")]);
    assert!(named().instead_of("/d/2").stage(&replaced).is_err(), "somebody has brought it back");
    assert_eq!(named().instead_of("/d/1").stage(&replaced).expect("it has left"), Stage::Left);
}
