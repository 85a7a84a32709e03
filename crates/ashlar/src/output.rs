//! How an answer is printed: for people, or for programs in the form that they read.
//!
//! Every form has the same names. In CSV an object is a line: what is inside of it gets the names
//! on the way to it with dots between them, and a list becomes its parts with semicolons between
//! them.

use anyhow::Context;
use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Map, Value};

#[cfg(test)]
mod tests;
mod yaml;

/// How to print.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Output {
    /// For people
    Table,
    /// For programs: JSON
    Json,
    /// For programs: YAML
    Yaml,
    /// For spreadsheets: a line for each entry, the names in the first; nothing if there is none
    Csv,
}

impl Output {
    /// Whether it is for programs.
    pub fn is_for_programs(self) -> bool {
        self != Output::Table
    }

    /// `value` in this form, for people as `table` says it, without the last line's end.
    ///
    /// # Errors
    /// It cannot be written so.
    pub fn text<T: Serialize + ?Sized>(
        self,
        value: &T,
        table: impl FnOnce(&T) -> String,
    ) -> anyhow::Result<String> {
        match self {
            Output::Table => Ok(table(value)),
            Output::Json => Ok(serde_json::to_string_pretty(value)?),
            Output::Yaml => Ok(yaml::text(&serde_json::to_value(value)?)),
            Output::Csv => csv(rows(serde_json::to_value(value)?), None),
        }
    }
}

/// Answers that come one after the other, each whole: JSON on a line, a document of YAML, rows of
/// CSV under the names of the first.
#[derive(Debug)]
pub struct Lines {
    output: Output,
    /// The names of the columns, once they are printed.
    columns: Option<Vec<String>>,
}

impl Lines {
    /// None is printed yet.
    pub fn new(output: Output) -> Self {
        Lines { output, columns: None }
    }

    /// The next one.
    ///
    /// # Errors
    /// It cannot be written so.
    pub fn text<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
        table: impl FnOnce(&T) -> String,
    ) -> anyhow::Result<String> {
        match self.output {
            Output::Table => Ok(table(value)),
            Output::Json => Ok(serde_json::to_string(value)?),
            Output::Yaml => Ok(format!("---\n{}", yaml::text(&serde_json::to_value(value)?))),
            Output::Csv => {
                let rows = rows(serde_json::to_value(value)?);
                let known = self.columns.clone();
                self.columns.get_or_insert_with(|| columns(&rows));
                csv(rows, known.as_deref())
            }
        }
    }
}

/// The entries of a list, or what else there is as the only one; each flat.
fn rows(value: Value) -> Vec<Map<String, Value>> {
    let all = match value {
        Value::Array(all) => all,
        one => vec![one],
    };
    all.into_iter().map(flat).collect()
}

fn flat(value: Value) -> Map<String, Value> {
    let mut row = Map::new();
    flatten("", value, &mut row);
    row
}

fn flatten(name: &str, value: Value, row: &mut Map<String, Value>) {
    match value {
        Value::Object(all) => {
            for (part, value) in all {
                let name = if name.is_empty() { part } else { format!("{name}.{part}") };
                flatten(&name, value, row);
            }
        }
        Value::Array(all) => {
            let parts: Vec<String> = all.iter().map(cell).collect();
            row.insert(name.to_owned(), parts.join(";").into());
        }
        plain => {
            let name = if name.is_empty() { "value" } else { name };
            row.insert(name.to_owned(), plain);
        }
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Every name that some row has, in the order in which they come.
fn columns(rows: &[Map<String, Value>]) -> Vec<String> {
    let mut columns = Vec::<String>::new();
    for name in rows.iter().flat_map(Map::keys) {
        // Entries of a list are alike: the place where the last one had it is nearly always right.
        if !columns.contains(name) {
            columns.push(name.clone());
        }
    }
    columns
}

/// The rows, below their names unless those are `printed`.
fn csv(rows: Vec<Map<String, Value>>, printed: Option<&[String]>) -> anyhow::Result<String> {
    let columns = printed.map_or_else(|| columns(&rows), <[String]>::to_vec);
    let mut writer = csv::Writer::from_writer(Vec::new());
    if printed.is_none() && !columns.is_empty() {
        writer.write_record(&columns)?;
    }
    for row in rows {
        writer.write_record(
            columns.iter().map(|name| row.get(name).map_or_else(String::new, cell)),
        )?;
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    let text = String::from_utf8(bytes).context("what is written is no text")?;
    Ok(text.trim_end().to_owned())
}
