use super::*;

#[test]
fn what_fits_is_shown_whole() {
    let said = table(
        &[("name", Kind::Name), ("where", Kind::Place)],
        vec![vec!["tank".into(), "/dev/sda".into()]],
    );
    assert_eq!(said, " NAME  WHERE\n tank  /dev/sda");
}

#[test]
fn words_are_wrapped_before_names_are_shortened() {
    let (name, states) = ("n".repeat(50), "degraded, need-rebuild, read-only, out-of-room");
    let said = table(
        &[("name", Kind::Name), ("states", Kind::Words)],
        vec![vec![name.as_str().into(), states.into()]],
    );
    assert!(said.contains(&name) && !said.contains('…'), "{said}");
    assert!(said.lines().count() > 2 && said.lines().all(|line| width(line) <= WIDTH), "{said}");
}

#[test]
fn of_a_name_the_beginning_stays_and_of_a_place_the_end() {
    let long = format!("a{}z", "-".repeat(100));
    let said =
        table(&[("name", Kind::Name), ("where", Kind::Place)], vec![vec![long.as_str().into(); 2]]);
    let row: Vec<&str> = said.lines().nth(1).expect("a row").split_whitespace().collect();
    assert!(row[0].starts_with('a') && row[0].ends_with('…'), "{said}");
    assert!(row[1].starts_with('…') && row[1].ends_with('z'), "{said}");
    assert!(said.lines().all(|line| width(line) <= WIDTH), "{said}");
}

#[test]
fn places_are_shortened_to_a_width() {
    let cases = [
        ("/dev/sda", 8, "/dev/sda"),
        ("wwn-0x5000c500a1b2c3d4", 9, "…a1b2c3d4"),
        ("/ä/ö/ü", 3, "…/ü"),
    ];
    for (place, max, wanted) in cases {
        assert_eq!(shortened_at_beginning(place, max), wanted);
    }
}

#[test]
fn a_value_that_is_to_be_copied_stays_whole_below_its_title() {
    let nqn = format!("nqn.2014-08.org.nvmexpress:uuid:{}", "x".repeat(100));
    let said = sheet(vec![("access", format!("{nqn}\nshort")), ("size", "1GiB".to_owned())]);
    assert_eq!(said, format!(" access\n    {nqn}\n    short\n size    1GiB"));
}

#[test]
fn prose_goes_on_indented() {
    let said = prose(&"word ".repeat(40));
    let lines: Vec<&str> = said.lines().collect();
    assert!(
        lines.len() > 2 && lines[0].starts_with("word") && lines[1].starts_with("    word"),
        "{said}"
    );
    assert!(lines.iter().all(|line| width(line) <= WIDTH), "{said}");
}
