use super::*;

#[test]
fn intervals_are_of_seconds_without_a_unit() {
    for (text, millis) in
        [("1", 1_000), ("0.5", 500), ("1s", 1_000), ("500ms", 500), ("5m", 300_000)]
    {
        assert_eq!(parse_interval(text), Ok(Duration::from_millis(millis)), "{text}");
    }
}

#[test]
fn what_is_no_interval_is_refused_with_examples() {
    for text in
        ["0", "0s", "-1", "-1s", "99ms", "1x", "1KiB", "", "s", "inf", "nan", "31days", "1e300"]
    {
        let why = parse_interval(text).expect_err(text);
        assert!(
            why.contains(&format!("'{text}' is no interval")) && why.contains("500ms"),
            "{why}"
        );
    }
}

#[test]
fn what_is_no_number_of_reports_is_refused() {
    assert_eq!(parse_count("3"), Ok(3));
    for text in ["0", "-1", "1.5", "x", ""] {
        assert!(parse_count(text).expect_err(text).contains("1 or more"), "{text}");
    }
}
