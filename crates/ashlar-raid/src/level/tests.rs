use super::*;

fn level(text: &str) -> Level {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_level_is_read_and_printed_again() {
    let names = ["0", "1", "1x3", "1x5", "5", "6", "7.3", "2+1", "4+2", "8+3", "20+4"];
    for name in names {
        assert_eq!(level(name).to_string(), name);
        assert_eq!(
            Level::of(level(name).exact_data(), level(name).parity()),
            Some(level(name)),
            "{name}"
        );
    }
    assert_eq!(level("1+1"), Level::RAID1, "one data column makes copies");
    assert_eq!(level("1x2"), Level::RAID1);
}

#[test]
fn what_is_no_level_is_refused_and_the_levels_are_named() {
    for text in [
        "", "2", "7", "1x", "1x1", "1x6", "4+0", "0+1", "21+1", "4+5", "4+", "+2", "-4+2", "4 + 2",
        "4++2", "5 ",
    ] {
        let error = text.parse::<Level>().expect_err(text).to_string();
        assert!(
            error.contains(&format!("'{text}' is not a level")) && error.contains("7.3"),
            "{error}"
        );
    }
}

#[test]
fn whoever_leaves_out_the_parities_of_level_7_3_is_asked_about_it() {
    let said = |text: &str| text.parse::<Level>().expect_err(text).to_string();
    assert!(said("7").starts_with("'7' is not a level (is 7.3 meant?): choose"));
    assert!(said("8").starts_with("'8' is not a level: choose"));
}

#[test]
fn each_level_says_what_it_needs_and_survives() {
    let facts = [
        ("0", 1, 0),
        ("1", 2, 1),
        ("1x3", 3, 2),
        ("5", 3, 1),
        ("6", 4, 2),
        ("7.3", 5, 3),
        ("4+2", 6, 2),
    ];
    for (name, drives, survives) in facts {
        assert_eq!((level(name).drives_min(), level(name).parity()), (drives, survives), "{name}");
        assert!(level(name).data_columns(drives).is_ok());
        let error = level(name).data_columns(drives - 1).expect_err("too few").to_string();
        assert!(error.contains(&format!("level {name} needs at least {drives} drives")), "{error}");
    }
}

#[test]
fn stripes_are_as_wide_as_the_level_asks_or_the_drives_allow() {
    assert_eq!(level("5").data_columns(5), Ok(4));
    assert_eq!(level("6").data_columns(200), Ok(8));
    assert_eq!(level("1x3").data_columns(200), Ok(1));
    assert_eq!(level("4+2").data_columns(200), Ok(4));
}

#[test]
fn levels_in_groups_are_answered_with_the_level_that_does_better() {
    for (asked, given) in [("10", "1"), ("50", "5"), ("60", "6"), ("70", "7.3")] {
        let (level, why) = Level::instead_of_groups(asked).expect("known elsewhere");
        assert_eq!((level.to_string(), asked.parse()), (given.to_owned(), Ok(level)));
        assert!(why.contains(&format!("Ashlar takes level {given}")), "{why}");
    }
    assert_eq!(Level::instead_of_groups("5"), None);
}

/// A pool of eight drives that was opened without two of them was said to be unable to use any of
/// the others.
#[test]
fn stripes_are_no_wider_than_there_are_drives() {
    assert_eq!(Level::RAID6.columns_on(8), 8);
    assert_eq!(Level::RAID6.columns_on(30), 10);
    assert_eq!(Level::RAID6.columns_on(3), 3);
    let four_and_one: Level = "4+1".parse().expect("a level");
    assert_eq!(four_and_one.columns_on(7), 5);
    assert_eq!(four_and_one.columns_on(4), 4);
}
