use super::*;

#[test]
fn a_pool_is_listed_with_the_command_that_opens_it() {
    let pool = ImportablePool {
        name: "tank".to_owned(),
        uuid: "11111111-2222-3333-4444-555555555555".to_owned(),
        level: "5".to_owned(),
        drives_made_with: 3,
        drives: vec!["/dev/sda".to_owned(), "/dev/sdb".to_owned()],
        notes: vec!["/dev/sdc holds a damaged label".to_owned()],
    };
    let said = importable(&[pool], ON_DEVICES);
    assert!(said.contains("2 of 3") && said.contains("/dev/sdc holds a damaged label"), "{said}");
    let command = "  ashlar pool import 11111111-2222-3333-4444-555555555555 --drive /dev/sda \
                   --drive /dev/sdb";
    assert_eq!(said.lines().last(), Some(command));
    let none = importable(&[], ON_DEVICES).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(none.contains("no pool was found"), "{none}");
    assert!(
        none.contains("`ashlar pool import --drive DIR --dry-run`"),
        "looking opens none: {none}"
    );
    assert!(!importable(&[], ON_NAMED).contains("block devices"));
}
