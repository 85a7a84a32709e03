use super::*;

#[test]
fn equal_drives_waste_nothing_worth_a_word() {
    assert_eq!(unusable_chunks(vec![100; 5], 5, 1), 0);
    assert_eq!(unusable_chunks(vec![100; 7], 5, 1), 0);
}

#[test]
fn what_only_one_drive_has_no_stripe_can_use() {
    assert_eq!(unusable_chunks(vec![100, 100, 250], 3, 1), 150);
}

#[test]
fn larger_drives_are_used_as_far_as_stripes_can_alternate() {
    assert_eq!(unusable_chunks(vec![200, 100, 100], 2, 1), 0);
    assert_eq!(unusable_chunks(vec![300, 100, 100], 2, 1), 100);
    assert_eq!(unusable_chunks(vec![250, 250, 100], 3, 1), 0, "stripes get narrower");
}

fn facts(spec: &str) -> DriveFacts {
    DriveFacts {
        spec: spec.to_owned(),
        kernel: None,
        stable_name: None,
        kind: "file".to_owned(),
        size_bytes: 48 << 20,
        is_volatile: false,
        is_sparse: true,
        is_direct: true,
        model: None,
        serial: None,
        slot: None,
    }
}

#[test]
fn what_an_opening_has_found_is_said_until_it_is_over() {
    let missing = NoMember {
        spec: "file:/d/1.img,size=4GiB".to_owned(),
        why: "/d/1.img: no such file".to_owned(),
    };
    let notes = Notes { difference: None, others: vec![missing], unknown: Vec::new() };
    let (one, two) = (facts("file:/d/0.img"), facts("file:/d/1.img"));
    let said = |working: &[&DriveFacts], all_back| notes.now(working, all_back).join("; ");
    assert!(said(&[&one], false).contains("/d/1.img: no such file"));
    assert!(!said(&[&one, &two], false).contains("no such file"), "it is back where it was");
    assert!(!said(&[&one], true).contains("no such file"), "it is back elsewhere");
}

#[test]
fn sparse_files_are_counted_as_they_are_now() {
    let notes = Notes { difference: None, others: Vec::new(), unknown: Vec::new() };
    let (one, two) = (facts("file:/d/0.img"), facts("file:/d/1.img"));
    assert!(notes.now(&[&one], false)[0].starts_with("1 drive is a sparse file"));
    assert!(notes.now(&[&one, &two], false)[0].starts_with("2 drives are sparse files"));
    assert!(notes.now(&[], false).is_empty());
}
