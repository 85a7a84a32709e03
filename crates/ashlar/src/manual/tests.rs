use std::fs;

use clap::{Parser, ValueEnum};

use super::*;

#[test]
fn each_command_has_a_page_with_its_options_and_examples() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path()).unwrap();
    for (page, says) in [
        ("ashlar.1", "NVMe/TCP"),
        ("ashlar-pool-create.1", "ashlar pool create tank"),
        ("ashlar-volume-allow.1", "NQN"),
    ] {
        let text = fs::read_to_string(directory.path().join(page)).unwrap();
        // Roff writes a dash as a letter of its own.
        let text = text.replace("\\-", "-");
        assert!(text.starts_with(".ie") || text.contains(".TH"), "{page}");
        assert!(text.contains(says), "{page}: {text}");
    }
    let said = write(Path::new("/nowhere/man1")).unwrap_err().to_string();
    assert!(said.contains("/nowhere/man1"), "{said}");
}

/// Filled as a text, examples ran into each other and into what follows.
#[test]
fn each_example_is_a_line_of_its_page() {
    fn check(command: &clap::Command, directory: &Path) -> usize {
        let below = command.get_subcommands().filter(|below| !below.is_hide_set());
        let of_below: usize = below.map(|below| check(below, directory)).sum();
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        let page = fs::read_to_string(directory.join(format!("{name}.1"))).expect(name);
        assert!(page.contains(concat!("\"ashlar ", env!("CARGO_PKG_VERSION"), "\"")), "{page}");
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let examples: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("  ")).collect();
        let blocks: Vec<&str> =
            page.split("\n.nf\n").skip(1).filter_map(|rest| rest.split("\n.fi").next()).collect();
        let lines: Vec<&str> = blocks.iter().flat_map(|block| block.lines()).collect();
        let wanted: Vec<String> = examples.iter().map(|line| roff::plain(line)).collect();
        assert_eq!(lines, wanted, "{name}");
        of_below + examples.len()
    }
    let directory = tempfile::tempdir().unwrap();
    write(directory.path()).unwrap();
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    assert!(check(&command, directory.path()) > 100);
    let status = fs::read_to_string(directory.path().join("ashlar-status.1")).unwrap();
    assert!(status.contains("\n.SH \"EXIT STATUS\"\n0 all is well"), "{status}");
    let create = fs::read_to_string(directory.path().join("ashlar-pool-create.1")).unwrap();
    assert!(create.contains("\\-\\-level <LEVEL>"), "its options show their values: {create}");
}

/// The pages that are committed.
const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

#[test]
fn the_pages_of_the_reference_in_docs_are_what_the_program_prints() {
    for page in Page::value_variants() {
        let name = page.to_possible_value().expect("none is hidden").get_name().to_owned();
        let path = Path::new(DOCS).join(&name).with_extension("md");
        let is_same = fs::read_to_string(&path).unwrap_or_default() == text_of(*page);
        assert!(is_same, "`ashlar man --page {name} > docs/{name}.md`, or `make pages`, mends it");
    }
}

/// The commands in the examples of the reference, each on one line.
fn examples(page: &str) -> Vec<String> {
    let blocks = page.split("\n```console").skip(1);
    let blocks = blocks.map(|rest| rest.split_once("\n```").expect("it has an end").0);
    let joined = blocks.map(|block| block.replace("\\\n", " "));
    let commands = joined.flat_map(|block| {
        block
            .lines()
            .filter_map(|line| Some(line.strip_prefix("$ ")?.to_owned()))
            .collect::<Vec<_>>()
    });
    commands.collect()
}

/// The words of a command as a shell divides them, up to where its output goes.
fn words(command: &str) -> Vec<String> {
    let quoted = command.split('\'').enumerate().flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    quoted.take_while(|word| !matches!(word.as_str(), ">" | "|")).collect()
}

#[test]
fn every_example_of_the_reference_is_one_that_the_command_line_takes() {
    let examples = examples(&text_of(Page::Commands));
    for example in &examples {
        let read = Arguments::try_parse_from(words(example));
        assert!(read.is_ok(), "{example}: {}", read.expect_err("it is refused"));
    }
    assert!(examples.len() > 100, "{}", examples.len());
}

#[test]
fn the_reference_names_every_option_that_is_not_hidden() {
    fn check(command: &clap::Command, page: &str) {
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let long = arg.get_long().map(|long| format!("`--{long}"));
            assert!(long.is_none_or(|long| page.contains(&long)), "{arg}");
        }
        let below = command.get_subcommands().filter(|below| !below.is_hide_set());
        below.for_each(|below| check(below, page));
    }
    check(&Arguments::command(), &text_of(Page::Commands));
}
