use super::*;

fn refusal(text: &str) -> String {
    format!("{:#}", parse(text).expect_err(text))
}

#[test]
fn levels_and_levels_by_module_are_taken() {
    for text in ["info", "WARN", "off", "info,ashlar_store=debug", "error,ashlar::serve=trace"] {
        assert!(parse(text).is_ok(), "{text}");
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
        ("", ""),
        ("info,", ""),
        ("3", "3"),
    ] {
        let said = refusal(text);
        assert!(said.contains(&format!("'{text}' does not say what to log")), "{said}");
        assert!(said.contains(&format!("'{level}' is no level: error, warn, info")), "{said}");
    }
}

#[test]
fn a_module_that_is_none_of_ours_is_refused_with_those_that_log() {
    for text in ["info,ashlar_sotre=debug", "hyper=debug", "=debug"] {
        let said = refusal(text);
        assert!(said.contains("is none of the modules that log"), "{said}");
        assert!(said.contains("ashlar_store, ashlar_target"), "{said}");
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
