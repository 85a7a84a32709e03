use super::*;

fn trim(state: &str) -> Trim {
    Trim { states: vec![state.to_owned()], free_bytes: 8 << 30, ..Trim::default() }
}

#[test]
fn a_trim_that_goes_on_says_how_far_it_is() {
    let trim =
        Trim { done_percent: 25.0, left_bytes: 6 << 30, eta_seconds: Some(70), ..trim("running") };
    assert_eq!(trimmed(&trim), "a trim is 25.0 % done, 6GiB left, 1m 10s to go");
}

#[test]
fn one_that_has_ended_names_what_it_has_left_out_and_what_was_refused() {
    assert_eq!(trimmed(&trim("finished")), "the drives know of 8GiB of free space");
    let stopped = Trim { done_percent: 25.0, ..trim("stopped") };
    assert_eq!(trimmed(&stopped), "a trim of 8GiB of free space was stopped at 25.0 %");
    let trim = Trim { refusals: 2, skipped_drives: vec!["drive-1".to_owned()], ..trim("finished") };
    let said = trimmed(&trim);
    assert!(
        said.ends_with("refused 2 times, and the log says why; these take no discards: drive-1"),
        "{said}"
    );
}
