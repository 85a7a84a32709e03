use super::*;

fn refusal(text: &str) -> String {
    format!("{:#}", parse(text).expect_err(text))
}

#[test]
fn levels_and_levels_by_module_are_taken() {
    for text in ["info", "WARN", "off", "3", "info,ashlar_store=debug", "error,ashlar::serve=trace"]
    {
        assert!(parse(text).is_ok(), "{text}");
        assert_eq!(doubt(text), None, "{text}");
    }
}

#[test]
fn blanks_and_nothing_between_commas_say_nothing_else() {
    let is = |text: &str| parse(text).expect(text).to_string();
    assert_eq!(is("info,"), "info");
    for text in ["info, ashlar_store=debug", " info ,,ashlar_store=debug,"] {
        assert_eq!(is(text), is("info,ashlar_store=debug"), "{text}");
    }
    assert_eq!(is("ashlar_store=debug"), "ashlar_store=debug", "and errors of no other module");
}

#[test]
fn what_is_in_brackets_is_of_one_part() {
    for text in ["ashlar_store[{a,b}]=debug", "debug,[x]=info", "info,[x]", "ashlar[x{a=1}]=warn"] {
        assert!(parse(text).is_ok(), "{text}");
        assert_eq!(doubt(text), None, "{text}");
    }
}

/// It was taken for a module, and silenced the log.
#[test]
fn a_level_that_is_mistyped_is_refused_with_those_that_there_are() {
    for (text, level) in [
        ("inof", "inof"),
        ("info,inof", "inof"),
        ("ashlar_store", "ashlar_store"),
        ("ashlar_store=loud", "loud"),
        ("ashlar_store[{a,b}]=loud", "loud"),
        ("", ""),
        (" , ", ""),
        ("6", "6"),
    ] {
        let said = refusal(text);
        assert!(said.contains(&format!("'{text}' does not say what to log")), "{said}");
        assert!(said.contains(&format!("'{level}' is no level: error, warn, info")), "{said}");
    }
}

#[test]
fn what_the_subscriber_does_not_understand_is_refused() {
    for text in ["=debug", "ashlar_store[{a,b]=debug", "info,ashlar_store[=debug"] {
        assert!(refusal(text).contains("does not say what to log"), "{text}");
    }
}

#[test]
fn a_module_that_is_none_of_ours_is_taken_with_a_doubt() {
    for (text, modules) in [
        ("info,hyper=warn", "'hyper'"),
        ("info,ashlar_sotre=debug,mio::net[x]", "'ashlar_sotre', 'mio::net'"),
    ] {
        assert!(parse(text).is_ok(), "{text}");
        let said = doubt(text).expect("one of them is mistyped");
        let begins = format!("none of Ashlar's modules is called {modules}: they are of ashlar,");
        assert!(said.starts_with(&begins), "{said}");
    }
}

/// Otherwise what a new crate logs could not be asked for.
#[test]
fn all_crates_that_the_daemon_is_made_of_are_known() {
    let crates = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let entries = std::fs::read_dir(crates).expect("they are there");
    let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().replace('-', "_");
    let mut names: Vec<String> = entries.map(|entry| name(entry.expect("one"))).collect();
    names.retain(|name| !["ashlar_bench", "ashlar_isal"].contains(&name.as_str()));
    names.sort();
    assert_eq!(names, CRATES);
}
