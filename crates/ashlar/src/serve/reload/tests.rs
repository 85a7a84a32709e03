use std::fs;

use super::*;
use crate::args::ServeArguments;
use crate::logging::LogFormat;

fn config(text: &str) -> Config {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    let config = Some(file.path().to_owned());
    Config::resolve(&ServeArguments { config, ..ServeArguments::default() }, None).unwrap()
}

#[test]
fn what_a_start_takes_is_named_when_it_has_changed() {
    let now = config("spin_us = 7\nlog = 'debug'\n[limits]\nio_queues_max = 7");
    assert_eq!(differing(&config(""), &now), ["spin_us", "limits.io_queues_max"]);
}

#[test]
fn what_is_logged_and_what_has_not_changed_needs_no_start() {
    assert!(differing(&config(""), &config("log = 'debug'\nreactors = 1")).is_empty());
}

#[test]
fn a_filter_that_cannot_be_set_leaves_the_format_as_it_was() {
    let mut before = config("");
    let now = config("log = 'debug'\nlog_format = 'json'");
    let error = take(&mut before, &now, &Log::that_keeps_its_filter()).unwrap_err();
    assert_eq!(error.to_string(), "the filter stays");
    assert_eq!((before.log, before.log_format), (config("").log, LogFormat::Text));
}
