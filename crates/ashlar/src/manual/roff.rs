//! A page for `man` of each command: as its help says, each example on a line of its own.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use clap::Command;
use clap_mangen::Man;

const SOURCE: &str = concat!("ashlar ", env!("CARGO_PKG_VERSION"));

/// Writes the pages of a command that is built, and of those below it.
///
/// # Errors
/// The directory is not there, or takes nothing.
pub fn write(command: &Command, directory: &Path) -> io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write(below, directory)?;
    }
    let man = Man::new(command.clone()).source(SOURCE).manual("Ashlar");
    fs::write(directory.join(man.get_filename()), page(command, &man)?)
}

fn page(command: &Command, man: &Man) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    // No word is divided: whoever copies a command copies no hyphen.
    page.extend_from_slice(b".nh\n");
    man.render_name_section(&mut page)?;
    page.extend_from_slice(synopsis(command).as_bytes());
    man.render_description_section(&mut page)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }
    if command.get_subcommands().any(|below| !below.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(help) = command.get_after_help() {
        page.extend_from_slice(after(&help.to_string()).as_bytes());
    }
    Ok(page)
}

/// How it is written, with the values that its options take.
fn synopsis(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let lines = usage.trim_start_matches("Usage:").lines().map(str::trim);
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).map(plain).collect();
    format!(".SH SYNOPSIS\n{}\n", lines.join("\n.br\n"))
}

/// What stands below the options: what is indented there stays in its lines, the rest is filled.
pub(super) fn after(help: &str) -> String {
    let (mut text, mut is_block) = (String::new(), false);
    for line in help.lines() {
        let inside = line.strip_prefix("  ");
        if inside.is_some() != is_block {
            is_block = inside.is_some();
            text.push_str(if is_block { ".nf\n" } else { ".fi\n.PP\n" });
        }
        let _ = match (inside, line.split_once(':')) {
            (Some(inside), _) => writeln!(text, "{}", plain(inside)),
            (None, Some(("Example" | "Examples", ""))) => writeln!(text, ".SH EXAMPLES"),
            (None, Some(("Exit codes", rest))) => {
                writeln!(text, ".SH \"EXIT STATUS\"\n{}", plain(rest.trim()))
            }
            (None, _) => {
                let head = if text.is_empty() { ".SH NOTES\n" } else { "" };
                writeln!(text, "{head}{}", plain(line))
            }
        };
    }
    text.push_str(if is_block { ".fi\n" } else { "" });
    text
}

/// A line as it is, and as a terminal takes it when it is copied.
pub(super) fn plain(line: &str) -> String {
    let mut text = String::new();
    for letter in line.chars() {
        match letter {
            '\\' => text.push_str("\\e"),
            '-' => text.push_str("\\-"),
            '\'' => text.push_str("\\(aq"),
            '`' => text.push_str("\\(ga"),
            '^' => text.push_str("\\(ha"),
            '~' => text.push_str("\\(ti"),
            '.' if text.is_empty() => text.push_str("\\&."),
            other => text.push(other),
        }
    }
    text
}
