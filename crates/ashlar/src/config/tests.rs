use super::*;

#[test]
fn what_a_file_sets_is_named_with_its_tables() {
    let file = toml::from_str("reactors = 2\n[limits]\nio_queues_max = 7\n").unwrap();
    let mut found = names("", &file);
    found.sort();
    assert_eq!(found, ["limits.io_queues_max", "reactors"]);
}

#[test]
fn the_table_has_every_key_on_a_terminal_of_the_usual_width() {
    let table = table();
    assert!(table.lines().all(|line| line.chars().count() <= usize::from(COLUMNS)), "{table}");
    for key in keys::all() {
        assert!(table.contains(key.name), "{}: {table}", key.name);
    }
}

#[test]
fn a_file_that_is_not_good_is_refused_by_its_name_and_with_the_reason() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "reactors = 100").unwrap();
    let error = format!("{:#}", check(file.path(), Output::Table).unwrap_err());
    let name = file.path().display().to_string();
    assert!(error.starts_with(&name) && error.ends_with("it must be 1 to 64"), "{error}");
}

#[test]
fn a_module_that_may_be_mistyped_is_noted_of_a_file_that_is_good() {
    let noted = |text: &str| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        check(file.path(), Output::Table).unwrap();
        let config = Some(file.path().to_owned());
        let arguments = ServeArguments { config, ..ServeArguments::default() };
        notes(&Config::resolve(&arguments, None).unwrap())
    };
    assert!(noted("log = 'info,hyper=warn'")[0].starts_with("log: none of Ashlar's modules"));
    assert!(noted("log = 'info, ashlar_store=debug,'").is_empty());
}
