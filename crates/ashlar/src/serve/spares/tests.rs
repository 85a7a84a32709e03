use super::*;

fn spares(waiting: &[&str]) -> Spares {
    Spares { waiting: waiting.iter().map(|spec| (*spec).to_owned()).collect(), ..Spares::default() }
}

fn lost(uuids: &[&str]) -> Vec<String> {
    uuids.iter().map(|uuid| (*uuid).to_owned()).collect()
}

fn next(spares: &Spares, lost: &[String], refused: &[&str]) -> Option<Taking> {
    let lacking = Lacking { lost, is_reduced: false };
    spares.next(lacking, &refused.iter().copied().collect())
}

#[test]
fn each_member_that_is_lost_gets_one_spare_in_their_order() {
    let mut spares = spares(&["a", "b", "c"]);
    let lost = lost(&["x", "y"]);
    for (spec, uuid) in [("a", "x"), ("b", "y")] {
        let taking = next(&spares, &lost, &[]);
        assert_eq!(taking, Some(Taking { spec: spec.to_owned(), lost: Some(uuid.to_owned()) }));
        spares.taking = taking;
        spares.taken();
    }
    assert_eq!(next(&spares, &lost, &[]), None);
    assert_eq!(spares.waiting, ["c"]);
}

#[test]
fn a_spare_that_cannot_be_taken_keeps_the_next_from_nothing() {
    let spares = spares(&["a", "b"]);
    assert_eq!(
        next(&spares, &lost(&["x"]), &["a"]).map(|taking| taking.spec),
        Some("b".to_owned())
    );
    assert_eq!(next(&spares, &lost(&["x"]), &["a", "b"]), None);
    assert_eq!(next(&spares, &[], &[]), None, "nothing is lost");
}

#[test]
fn a_pool_that_has_become_smaller_becomes_as_large_as_it_was() {
    let reduced = Lacking { lost: &[], is_reduced: true };
    let taking = spares(&["a"]).next(reduced, &BTreeSet::new());
    assert_eq!(taking, Some(Taking { spec: "a".to_owned(), lost: None }));
}

#[test]
fn what_was_made_good_is_remembered_for_as_long_as_the_pool_knows_the_member() {
    let mut spares = Spares { made_good: lost(&["x", "y"]), ..Spares::default() };
    spares.keep_members(&lost(&["y", "z"]));
    assert_eq!(spares.made_good, ["y"]);
}

#[test]
fn a_member_that_stays_after_all_gets_a_spare_once_it_is_lost() {
    let mut spares = Spares { made_good: lost(&["x", "y"]), ..spares(&["a"]) };
    assert_eq!(next(&spares, &lost(&["x"]), &[]), None);
    spares.stays("x");
    assert_eq!(next(&spares, &lost(&["x"]), &[]).map(|taking| taking.spec), Some("a".to_owned()));
    assert_eq!(spares.made_good, ["y"]);
}

#[test]
fn a_name_that_leads_to_another_drive_is_no_spare() {
    let mut spares = Spares::default();
    spares.add("/dev/sdb".to_owned(), Some("naa.1".to_owned()));
    spares.add("/dev/vdb".to_owned(), None);
    assert!(spares.is_still("/dev/sdb", Some("naa.1")));
    assert!(!spares.is_still("/dev/sdb", Some("naa.2")));
    assert!(!spares.is_still("/dev/sdb", None), "nothing is there");
    assert!(spares.is_still("/dev/vdb", Some("naa.2")), "nothing told it");
    spares.remove("/dev/sdb");
    assert!(spares.is_still("/dev/sdb", None));
    assert_eq!((spares.waiting.len(), spares.identities.len()), (1, 0));
}
