use clap::{Command as Verb, CommandFactory};

use super::*;

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
