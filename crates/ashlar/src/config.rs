//! The verbs about the configuration file. They need no daemon.

use std::path::Path;

use anyhow::Context;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use serde_json::json;

use crate::args::{ConfigCommand, Output, Page, ServeArguments};
use crate::logging;
use crate::manual;
use crate::serve::{Config, keys};
use crate::stdio::{print, print_line};

/// Columns of a terminal, where standard output is none.
const COLUMNS: u16 = 80;

/// Does what a verb says.
pub fn run(command: &ConfigCommand, output: Output) -> anyhow::Result<()> {
    match command {
        ConfigCommand::Example => Ok(print(keys::example())?),
        ConfigCommand::Page => manual::print_page(Page::Configuration),
        ConfigCommand::Check { file } => check(file, output),
        ConfigCommand::Keys => list(output),
    }
}

/// Reads the file as a daemon does, and says what it sets.
fn check(file: &Path, output: Output) -> anyhow::Result<()> {
    let arguments = ServeArguments { config: Some(file.to_owned()), ..ServeArguments::default() };
    let config = Config::resolve(&arguments, None)
        .with_context(|| format!("{} is not good", file.display()))?;
    let text = std::fs::read_to_string(file)?;
    let sets = names("", &toml::from_str(&text)?);
    let notes = notes(&config);
    let what = if sets.is_empty() { "nothing".to_owned() } else { sets.join(", ") };
    let said =
        notes.iter().fold(format!("{} is good: it sets {what}", file.display()), |said, note| {
            format!("{said}\nnote: {note}")
        });
    let found = json!({ "file": file, "good": true, "sets": sets, "notes": notes });
    Ok(print_line(output.text(&found, |_| said)?)?)
}

/// What a daemon takes, and may not be what was meant.
fn notes(config: &Config) -> Vec<String> {
    logging::doubt(&config.log).map(|doubt| format!("log: {doubt}")).into_iter().collect()
}

/// The keys that a table sets, with the names of the tables that they are in.
fn names(prefix: &str, table: &toml::Table) -> Vec<String> {
    let mut found = Vec::new();
    for (name, value) in table {
        match value {
            toml::Value::Table(below) => found.extend(names(&format!("{prefix}{name}."), below)),
            _ => found.push(format!("{prefix}{name}")),
        }
    }
    found
}

fn list(output: Output) -> anyhow::Result<()> {
    let keys = keys::all().collect::<Vec<_>>();
    Ok(print_line(output.text(&keys, |_| table())?)?)
}

fn table() -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(COLUMNS);
    table.set_header(["KEY", "DEFAULT", "RANGE", "TAKEN"]);
    for key in keys::all() {
        let taken = if key.reloads { "reload" } else { "start" };
        table.add_row([key.name, key.default.text(), key.range, taken]);
    }
    // A name that is broken cannot be searched for.
    for column in [0, 3] {
        let column = table.column_mut(column).expect("there are four");
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    table.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
