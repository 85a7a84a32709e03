use super::changed;

#[test]
fn added_removed_and_changed_namespaces_are_found() {
    let before = [(1, 10), (2, 20), (3, 30)].into();
    let after = [(1, 10), (3, 31), (4, 40)].into();
    assert_eq!(changed(&before, &after), [2, 3, 4]);
    assert!(changed(&after, &after).is_empty());
}
