use std::collections::BTreeSet;
use std::fs;

use super::*;
use crate::args::ServeArguments;

fn resolve(text: &str) -> anyhow::Result<Config> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    let config = Some(file.path().to_owned());
    Config::resolve(&ServeArguments { config, ..ServeArguments::default() }, None)
}

/// What a table has to have beside the key.
const NEEDED: [(&str, &str, &str); 7] = [
    ("webhook", "url", "\"https://example.org\""),
    ("webhook", "secret_file", "\"/secret\""),
    ("mail", "server", "\"example.net\""),
    ("mail", "from", "\"a@example.net\""),
    ("mail", "to", "\"b@example.net\""),
    ("mail", "user", "\"who\""),
    ("mail", "password_file", "\"/password\""),
];

/// A file that says `name = value`, and what is needed beside that.
fn file_with(key: &Key, value: &str) -> String {
    let Some((table, name)) = key.name.split_once('.') else {
        return format!("{} = {value}\n", key.name);
    };
    let needed = NEEDED.iter().filter(|(of, other, _)| *of == table && *other != name);
    let needed: String = needed.map(|(_, name, value)| format!("{name} = {value}\n")).collect();
    format!("[{table}]\n{needed}{name} = {value}\n")
}

/// The same without the key; of one that is needed there is none.
fn without(key: &Key) -> Config {
    let file = file_with(key, "")
        .lines()
        .filter(|line| !line.ends_with("= "))
        .fold(String::new(), |file, line| file + line + "\n");
    resolve(&file).or_else(|_| resolve("")).unwrap()
}

/// The names that serde knows: it lists them where a name is none.
fn names_by_serde(prefix: &str) -> BTreeSet<String> {
    let before = if prefix.is_empty() { String::new() } else { format!("[{prefix}]\n") };
    let error = format!("{:#}", resolve(&format!("{before}no_such_key = 1\n")).unwrap_err());
    let (_, listed) = error.split_once("expected one of ").expect("serde lists the names");
    let listed = listed.lines().next().unwrap().split(", ");
    listed.map(|name| name.trim_matches('`').to_owned()).collect()
}

#[test]
fn the_list_has_the_keys_that_the_file_may_have_and_no_others() {
    let tables: BTreeSet<_> = all().filter_map(|key| Some(key.name.split_once('.')?.0)).collect();
    let mut parsed = names_by_serde("");
    for table in &tables {
        assert!(parsed.remove(*table), "{table}: {parsed:?}");
        parsed.extend(names_by_serde(table).iter().map(|name| format!("{table}.{name}")));
    }
    let listed: BTreeSet<_> = all().map(|key| key.name.to_owned()).collect();
    assert_eq!(listed, parsed);
    assert_eq!(listed.len(), all().count(), "each key once");
}

#[test]
fn the_example_of_each_key_is_good_and_changes_what_the_daemon_takes() {
    for key in all() {
        let before = without(key);
        let now = resolve(&file_with(key, key.example)).unwrap();
        assert_ne!((key.value)(&before), (key.value)(&now), "{}", key.name);
    }
}

#[test]
fn what_is_said_to_be_the_default_is_what_holds_without_the_key() {
    for key in all() {
        let without = without(key);
        if let Usual::Value(value) = key.default {
            let with = resolve(&file_with(key, value)).unwrap();
            assert_eq!((key.value)(&without), (key.value)(&with), "{}", key.name);
        }
    }
}

#[test]
fn the_file_to_begin_with_is_good_as_it_is_and_with_every_key_in_it() {
    let text = example();
    let (as_it_is, without) = (resolve(&text).unwrap(), resolve("").unwrap());
    all().for_each(|key| assert_eq!((key.value)(&as_it_is), (key.value)(&without), "{}", key.name));
    let is_key = |line: &str| line.starts_with('#') && !line.starts_with("# ") && line.len() > 1;
    let every: Vec<_> =
        text.lines().map(|line| if is_key(line) { &line[1..] } else { line }).collect();
    assert_eq!(every.iter().filter(|line| line.contains(" = ")).count(), all().count());
    resolve(&every.join("\n")).unwrap();
}
