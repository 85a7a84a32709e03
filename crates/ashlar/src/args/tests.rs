use clap::{Command as Verb, CommandFactory};

use super::*;

#[path = "../../build.rs"]
#[expect(dead_code, clippy::print_stdout, reason = "its main is a program for cargo")]
mod build_script;

/// What a terminal of the usual width has room for: clap breaks longer lines, of examples as well.
const COLUMNS: usize = 80;

fn helps(verb: &Verb, name: &str) -> Vec<(String, String)> {
    let own = verb.get_after_help().map(|help| (name.to_owned(), help.to_string()));
    let below = verb
        .get_subcommands()
        .flat_map(|below| helps(below, &format!("{name} {}", below.get_name())));
    own.into_iter().chain(below).collect()
}

#[test]
fn no_line_of_an_example_is_broken() {
    for (verb, help) in helps(&Arguments::command(), "ashlar") {
        let long = help.lines().find(|line| line.chars().count() > COLUMNS);
        assert_eq!(long, None, "{verb}");
    }
}

#[test]
fn the_version_has_the_commit_that_was_given_or_that_git_knows() {
    let built_from = |given: &str, git: Option<&str>| {
        build_script::built_from(Some(given.to_owned()), || git.map(str::to_owned))
    };
    let (given, git) = ("0123abcd 2026-01-31", "4567ef01 2026-02-28");
    assert_eq!(built_from(given, Some(git)), given);
    assert_eq!(built_from("", Some(git)), git);
    assert_eq!(build_script::built_from(None, || None), "unknown");
    // What the build has given, the program says.
    let said = Arguments::command().render_version();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(said.trim(), format!("ashlar {version} ({})", env!("ASHLAR_BUILT_FROM")));
}

#[test]
fn too_little_memory_for_a_check_is_refused_with_the_least() {
    let line = |memory| {
        Arguments::try_parse_from(["ashlar", "pool", "check", "/dev/x", "--memory", memory])
    };
    for memory in ["0", "1", "16383KiB"] {
        let said = line(memory).expect_err("it is too little").to_string();
        assert!(said.contains("too little") && said.contains("16MiB or more"), "{said}");
    }
    assert!(line("16MiB").is_ok());
}

#[test]
fn whatever_can_be_said_has_examples() {
    let without = |verb: &&Verb| verb.get_after_help().is_none();
    let verbs = Arguments::command();
    let groups = verbs
        .get_subcommands()
        .flat_map(|verb| std::iter::once(verb).chain(verb.get_subcommands()));
    assert_eq!(groups.filter(without).map(Verb::get_name).collect::<Vec<_>>(), Vec::<&str>::new());
}
