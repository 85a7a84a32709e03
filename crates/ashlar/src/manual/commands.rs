//! `docs/commands.md`: every command with its options, defaults and examples, of the definitions by
//! which the command line is read.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory};

use super::{cell, paragraph};
use crate::args::Arguments;

const HEAD: &str = "# Commands

<!-- `ashlar man --page commands` writes this page. -->

Every command of `ashlar`, its options, their defaults, and examples. `ashlar COMMAND --help` says
the same, and so do the pages of `man` (`man ashlar-pool-create`). Sizes are written as `10GiB` or
`500MiB`, or in bytes; times as `30s`, `5m`, `12h` or `30d`. A command ends with 0 once it has done
what it was asked for, with 2 if its words make no command line, with 3 if `ashlar status --check`
has found something that is not well, and otherwise with 1: also if a name or a value is refused.
";

/// How the block of an example begins: a test gives each example to the command line's own reader.
pub(super) const EXAMPLE_FENCE: &str = "```console,reference";

/// The page.
pub fn page() -> String {
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    let mut page = HEAD.to_owned();
    let _ = write!(page, "\n## Options of every command\n\n{}", options(&command, true));
    for command in visible(&command) {
        section(&mut page, command, &format!("ashlar {}", command.get_name()), "##");
    }
    page
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set())
}

/// A command, and those below it.
fn section(page: &mut String, command: &Command, name: &str, level: &str) {
    let about = command.get_long_about().or_else(|| command.get_about());
    let about = about.map(|text| sentences(&text.to_string())).unwrap_or_default();
    let _ = writeln!(page, "\n{level} {name}\n\n{about}");
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim();
    if visible(command).next().is_none() {
        let _ = writeln!(page, "\n```text\n{usage}\n```");
        let options = options(command, false);
        if !options.is_empty() {
            let _ = write!(page, "\n{options}");
        }
    }
    if let Some(help) = command.get_after_help() {
        page.push_str(&after(&help.to_string()));
    }
    for below in visible(command) {
        section(page, below, &format!("{name} {}", below.get_name()), "###");
    }
}

/// A table of what a command takes, but for what all of them do; or of that.
fn options(command: &Command, is_of_all: bool) -> String {
    let is_wanted = |arg: &&Arg| {
        let is_plain = !["help", "version"].contains(&arg.get_id().as_str());
        is_plain && !arg.is_hide_set() && arg.is_global_set() == is_of_all
    };
    let rows: String = command.get_arguments().filter(is_wanted).map(row).collect();
    if rows.is_empty() {
        return rows;
    }
    format!("| takes | default | is |\n|---|---|---|\n{rows}")
}

fn row(arg: &Arg) -> String {
    let help = arg.get_long_help().or_else(|| arg.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let (help, said) = without_default(&help);
    let values: Vec<_> = arg.get_default_values().iter().map(|it| it.to_string_lossy()).collect();
    // A switch has a default of its own, which says nothing.
    let is_switch = !arg.get_action().takes_values();
    let default = if is_switch || values.is_empty() { said } else { values.join(", ") };
    let required = if arg.is_required_set() { "; needed" } else { "" };
    let help = format!("{}{}{required}", cell(&plain(&help)), one_of(arg));
    format!("| {} | {} | {help} |\n", cell(&spelling(arg)), cell(&plain(&default)))
}

/// The text of a help without the `[default: ...]` that it ends with, and that.
fn without_default(help: &str) -> (String, String) {
    match help.split_once("[default: ") {
        Some((before, default)) => {
            let (default, after) = default.split_once(']').expect("the bracket is closed");
            (format!("{}{after}", before.trim_end()), default.replace('\n', " "))
        }
        None => (help.to_owned(), String::new()),
    }
}

/// The values that there are, where there are some.
fn one_of(arg: &Arg) -> String {
    let values = arg.get_possible_values();
    let is_hidden = arg.is_hide_possible_values_set() || !arg.get_action().takes_values();
    if is_hidden || values.is_empty() {
        return String::new();
    }
    let words: Vec<String> = values.iter().map(|value| format!("`{}`", value.get_name())).collect();
    format!(": {}", words.join(", "))
}

/// How it is written.
fn spelling(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let value = names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" ");
    let takes = arg.get_action().takes_values();
    let Some(long) = arg.get_long() else {
        let many =
            if arg.get_num_args().is_some_and(|range| range.max_values() > 1) { "..." } else { "" };
        return format!("`{value}{many}`");
    };
    let short = arg.get_short().map(|short| format!("`-{short}`, ")).unwrap_or_default();
    let value = if takes { format!(" {value}") } else { String::new() };
    format!("{short}`--{long}{value}`")
}

/// A help as Markdown has it: what is no code has no sign that means something there.
fn plain(help: &str) -> String {
    let parts = help.split('`').enumerate();
    let escaped = parts.map(|(at, part)| match at % 2 {
        0 => part.replace('\\', "\\\\").replace('<', "\\<").replace('*', "\\*"),
        _ => format!("`{part}`"),
    });
    escaped.collect()
}

/// The paragraphs of a help, with the full stops that they have in a book.
fn sentences(help: &str) -> String {
    let paragraphs = help.split("\n\n").map(|text| {
        let text = plain(text.trim());
        let stop = if text.ends_with(['.', ':']) { "" } else { "." };
        paragraph(&format!("{text}{stop}"))
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

/// What stands below the options: examples as blocks of commands, other lists as they are.
fn after(help: &str) -> String {
    let mut text = String::new();
    let mut block: Vec<&str> = Vec::new();
    for line in help.lines().chain([""]) {
        if let Some(inside) = line.strip_prefix("  ") {
            block.push(inside);
            continue;
        }
        text += &fenced(&std::mem::take(&mut block));
        // What is shown says itself that it is an example.
        let line = line.trim_end_matches("Examples:").trim_end_matches("Example:").trim();
        if !line.is_empty() {
            let gap = if text.ends_with("```\n") || text.is_empty() { "\n" } else { "" };
            let _ = writeln!(text, "{gap}{}", plain(line));
        }
    }
    text
}

fn fenced(block: &[&str]) -> String {
    let Some(first) = block.first() else { return String::new() };
    let is_example = first.starts_with("ashlar");
    let prompt = |line: &&str| match line.starts_with("ashlar") && is_example {
        true => format!("$ {line}\n"),
        false => format!("{line}\n"),
    };
    let lines: String = block.iter().map(prompt).collect();
    let fence = if is_example { EXAMPLE_FENCE } else { "```text" };
    format!("\n{fence}\n{lines}```\n")
}
