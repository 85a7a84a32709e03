//! The rule for names, as `docs/api.md` has it, and the document of the API held to it.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::*;
use crate::{ApiError, ErrorCode, Problem};

/// What a name may end in, by what it is about: words of which one in a name asks for an ending.
const ENDINGS: [(&[&str], &[&str]); 5] = [
    (&["byte", "bytes", "size", "capacity", "kib", "mib", "gib"], &["_bytes"]),
    (
        &[
            "second", "seconds", "sec", "secs", "s", "ms", "millis", "us", "micros", "ns", "nanos",
            "duration", "eta", "uptime", "timeout", "interval", "latency", "age",
        ],
        &["_seconds", "_us"],
    ),
    (&["percent", "percentage", "pct", "prio", "share", "part"], &["_percent"]),
    (&["at", "since", "until", "when", "date", "timestamp"], &["_at"]),
    (&["ratio"], &["compression_ratio", "formatted_ratio"]),
];
/// Names of RFC 9457.
const OF_PROBLEMS: [&str; 2] = ["type", "status"];
/// Words that no name has, and what is said instead.
const OTHER_WORDS: [(&str, &str); 7] = [
    ("state", "states, a list"),
    ("status", "states, a list"),
    ("lies", "wrong"),
    ("left", "left_bytes"),
    ("written", "logical_used_bytes, or a counter that names its unit"),
    ("mtime", "a name that ends in _at"),
    ("ctime", "a name that ends in _at"),
];

/// What is wrong with a name, of which `schema` is said.
fn fault(name: &str, schema: &Value) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.chars().all(is_plain) || !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Some("it has other characters than a-z, 0-9 and _".to_owned());
    }
    // A rate has two units, and says both.
    if name.contains("_per_") {
        let ends = ["bytes_per_second_max", "iops_per_gib"];
        let is_rate = ends.iter().any(|end| name.ends_with(end));
        return (!is_rate).then(|| format!("it is a rate, and ends in none of {ends:?}"));
    }
    let words: Vec<&str> = name.split('_').collect();
    let ends_in = |ending: &&str| name.ends_with(*ending) || name == ending.trim_start_matches('_');
    for (about, endings) in ENDINGS {
        let word = words.iter().find(|word| about.contains(word));
        if let Some(word) = word.filter(|_| !endings.iter().any(&ends_in)) {
            return Some(format!("it has '{word}', and ends in none of {endings:?}"));
        }
    }
    // Counters and sizes say what they count.
    let is_counter = words.iter().any(|word| ["blocks", "bytes"].contains(word));
    let is_given = is_counter || OF_PROBLEMS.contains(&name);
    let other = OTHER_WORDS.iter().find(|(word, _)| words.contains(word) && !is_given);
    if let Some((word, instead)) = other {
        return Some(format!("'{word}' is called {instead}"));
    }
    let types = types(schema);
    let is = |kind: &str| types.iter().all(|it| it == kind || it == "null");
    let is_number = types.iter().all(|it| ["integer", "number", "null"].contains(&it.as_str()));
    match () {
        () if name == "states" => (!is("array")).then(|| "it is no list".to_owned()),
        () if name == "time" || name.ends_with("_at") => {
            let is_time = is("string") && schema["format"] == "date-time";
            (!is_time).then(|| "it is no time as of RFC 3339".to_owned())
        }
        () if ["_bytes", "_seconds", "_us", "_percent", "_ratio"]
            .iter()
            .any(|end| name.ends_with(end)) =>
        {
            (!is_number).then(|| "it is no number".to_owned())
        }
        () => None,
    }
}

fn types(schema: &Value) -> BTreeSet<String> {
    match &schema["type"] {
        Value::String(one) => BTreeSet::from([one.clone()]),
        Value::Array(several) => {
            several.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => BTreeSet::new(),
    }
}

/// Every name with what is said of it, wherever in the document it is.
fn walk(value: &Value, found: &mut Vec<(String, Value)>) {
    if let Some(properties) = value["properties"].as_object() {
        found.extend(properties.iter().map(|(name, schema)| (name.clone(), schema.clone())));
    }
    match value {
        Value::Object(all) => all.values().for_each(|value| walk(value, found)),
        Value::Array(all) => all.iter().for_each(|value| walk(value, found)),
        _ => {}
    }
}

#[test]
fn every_name_of_the_api_keeps_to_the_rule() {
    let document =
        serde_json::to_value(crate::operation::document(&crate::operations())).expect("JSON");
    let mut names = Vec::new();
    walk(&document["components"]["schemas"], &mut names);
    let told: Vec<String> = names
        .iter()
        .filter_map(|(name, schema)| Some(format!("{name}: {}", fault(name, schema)?)))
        .collect();
    assert!(told.is_empty(), "{}", told.join("\n"));
    for known in
        ["limit_bytes", "uptime_seconds", "created_at", "done_percent", "time", "compression_ratio"]
    {
        assert!(names.iter().any(|(name, _)| name == known), "{known} is not looked at");
    }
}

#[test]
fn names_that_break_the_rule_are_told() {
    let (number, text, list) =
        (json!({"type": "integer"}), json!({"type": "string"}), json!({"type": "array"}));
    let time = json!({"type": ["string", "null"], "format": "date-time"});
    for (name, schema) in [
        ("eta_s", &number),
        ("io_timeout_ms", &number),
        ("bytes_left", &number),
        ("size", &number),
        ("percent_done", &number),
        ("recon_prio", &number),
        ("ratio", &number),
        ("since", &number),
        ("created_at", &number),
        ("started_at", &text),
        ("state", &text),
        ("states", &text),
        ("lies", &number),
        ("limitBytes", &number),
        ("limit_bytes", &text),
        ("mib_per_second", &number),
    ] {
        assert!(fault(name, schema).is_some(), "{name} as {schema} is let through");
    }
    for (name, schema) in [
        ("eta_seconds", &number),
        ("recon_p99_us", &number),
        ("left_bytes", &number),
        ("read_bytes_per_second_max", &number),
        ("iops_per_gib", &number),
        ("done_percent", &number),
        ("states", &list),
        ("finished_at", &time),
        ("name", &text),
        ("blocks_written", &number),
    ] {
        assert_eq!(fault(name, schema), None, "{name}");
    }
}

/// The names that are left out of `value`, a value of that type.
fn names_left_out<T: Serialize + utoipa::PartialSchema>(value: &T) -> Vec<String> {
    let schema = serde_json::to_value(T::schema()).expect("JSON");
    let value = serde_json::to_value(value).expect("JSON");
    let mut names = Vec::new();
    walk(&schema, &mut names);
    assert!(!names.is_empty());
    names.into_iter().map(|(name, _)| name).filter(|name| value.get(name).is_none()).collect()
}

#[test]
fn what_is_unknown_is_null_and_not_left_out() {
    let happening = Happening::default();
    let event = Event { seq: 1, time: String::new(), what: happening.clone() };
    let error = Problem::from(ApiError::new(ErrorCode::Internal, "a fault"));
    let all = [
        names_left_out(&Pool::default()),
        names_left_out(&PoolSpace::default()),
        names_left_out(&PoolSettings::default()),
        names_left_out(&PoolJobs::default()),
        names_left_out(&Progress::default()),
        names_left_out(&Scrub::default()),
        names_left_out(&ScrubbedDrive::default()),
        names_left_out(&PoolDrive::default()),
        names_left_out(&DriveHealth::default()),
        names_left_out(&PoolCounters::default()),
        names_left_out(&Volume::default()),
        names_left_out(&Spare::default()),
        names_left_out(&happening),
        names_left_out(&event),
        names_left_out(&error),
    ];
    assert!(all.iter().all(Vec::is_empty), "{all:?}");
    let shown = serde_json::to_value(Pool::default()).expect("JSON");
    let zeros: Map<String, Value> = shown.as_object().expect("an object").clone();
    let zeros: Vec<_> = zeros.into_iter().filter(|(_, value)| value.is_number()).collect();
    assert!(zeros.is_empty(), "of a pool of which nothing is known: {zeros:?}");
}

#[test]
fn a_default_is_taken_away_by_null_and_not_by_saying_nothing() {
    let parse = |text| serde_json::from_str::<ChooseDefaultPolicy>(text);
    assert_eq!(parse(r#"{"policy":null}"#).expect("it is said").policy, None);
    parse("{}").expect_err("it is left out");
}
