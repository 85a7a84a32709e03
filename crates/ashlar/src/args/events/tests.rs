use clap::Parser;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    events: EventsArguments,
}

fn query(line: &[&str]) -> Vec<(&'static str, String)> {
    Line::try_parse_from([&["events"], line].concat()).expect("it is understood").events.query()
}

#[test]
fn what_is_asked_for_has_the_names_of_the_api() {
    assert!(query(&[]).is_empty());
    let line = ["--pool", "tank", "--severity", "warning", "--limit", "5", "--after", "7"];
    let mut query = query(&line);
    query.sort();
    let expected = [("after", "7"), ("limit", "5"), ("pool", "tank"), ("severity", "warning")];
    assert_eq!(query, expected.map(|(name, value)| (name, value.to_owned())));
}

#[test]
fn a_time_is_one_or_how_long_ago() {
    assert_eq!(parse_time("2026-01-31T12:00:00Z"), Ok("2026-01-31T12:00:00.000Z".to_owned()));
    assert!(parse_time("2h").is_ok_and(|time| time.ends_with('Z')));
    assert!(parse_time("100y").is_err(), "nobody had events then");
    assert!(parse_time("yesterday").is_err_and(|why| why.contains("'yesterday'")));
}

/// The daemon refused it, as if it could have been otherwise.
#[test]
fn who_follows_asks_for_all_that_comes() {
    let line = ["events", "--follow", "--limit", "1"];
    let refused = Line::try_parse_from(line).err().expect("it cannot be both");
    assert_eq!(
        (refused.kind(), refused.exit_code()),
        (clap::error::ErrorKind::ArgumentConflict, 2)
    );
    assert!(Line::try_parse_from(["events", "--follow", "--after", "7", "--since", "2h"]).is_ok());
}
