use super::super::report::tests::two_volumes;
use super::*;

/// Columns of a terminal.
const WIDTH: usize = 80;

fn interval(from: u64, to: u64) -> Report {
    Report::new(Some(&two_volumes(10.0, from)), &two_volumes(11.0, to))
}

#[test]
fn a_report_has_a_line_for_each_thing_below_a_header() {
    let text = Page::new(false).text(&interval(200, 1_434)).expect("there is something");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..2], header_in_short());
    assert_eq!(
        lines[2],
        "tank            1.23K     0 4.82M     0  50us  50us     -     -   0.1    2  1.50"
    );
    assert_eq!(
        lines[4],
        "  b                 0     0     0     0     -     -     -     -     0    1  2.00"
    );
    assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "{text}");
}

#[test]
fn latencies_in_full_have_a_line_for_each_kind() {
    let text = Page::new(true).text(&interval(200, 1_434)).expect("there is something");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[1],
        "tank                read  1.23K  50us  50us  50us  50us  50us  50us  50us"
    );
    assert_eq!(
        lines[2],
        "                    write     0     -     -     -     -     -     -     -"
    );
    assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "{text}");
    assert!(!text.contains("trim"), "there was none");
}

#[test]
fn the_header_comes_again_once_it_would_be_out_of_sight() {
    let mut page = Page::new(false);
    let texts: Vec<String> = (0..20).filter_map(|at| page.text(&interval(at, at + 1))).collect();
    let has_header = |text: &&String| text.contains(&header_in_short()[1]);
    assert_eq!(texts.iter().filter(has_header).count(), 3, "8 reports of 3 lines below each");
    assert!(
        texts[0].starts_with(&header_in_short()[0]) && texts[1].starts_with('\n'),
        "a gap between them"
    );
}

#[test]
fn a_long_name_is_shortened() {
    let mut report = interval(0, 1);
    report.lines[1].name = "a-volume-with-a-long-name".to_owned();
    let text = Page::new(false).text(&report).expect("there is something");
    assert!(text.contains("  a-volume-wit… "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
}
