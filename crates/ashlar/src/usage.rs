//! A command line that is not understood, as people or programs are told of it.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};

use crate::args::Arguments;
use crate::cli::SETTINGS;
use crate::stdio::{self, StdoutError};

/// What ends with it that a command line is not understood.
const USAGE: u8 = 2;

/// What the command line says.
///
/// # Errors
/// What the process ends with: it asks for help, or is not understood, and that has been said.
pub fn parse(words: Vec<OsString>) -> Result<Arguments, ExitCode> {
    let error = match Arguments::try_parse_from(&words) {
        Ok(arguments) => return Ok(arguments),
        Err(error) => error,
    };
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let error = with_meant_setting(error, &words);
    if !error.use_stderr() {
        return Err(print_help(&error));
    }
    if asks_for_json(&words) {
        stdio::note(in_json(&error));
    } else {
        // Nobody is left to be told that it cannot be printed.
        let _ = error.print();
    }
    Err(ExitCode::from(USAGE))
}

/// Prints what was asked for: help, or the version.
fn print_help(help: &clap::Error) -> ExitCode {
    let printed = help.print().and_then(|()| std::io::stdout().flush()).map_err(StdoutError::from);
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            stdio::note(format_args!("ashlar: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Whether errors are for programs. Of a command line that is not understood no more can be known.
fn asks_for_json(words: &[String]) -> bool {
    let follows = words.windows(2).any(|pair| pair[0] == "--output" && pair[1] == "json");
    follows || words.iter().any(|word| word == "--output=json")
}

/// The error in the shape of all others: what is wrong, and then how it is to be written.
fn in_json(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    let (why, usage) = text.split_once("\n\n").unwrap_or((text, ""));
    let hint: Vec<&str> = usage.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let why = why.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    serde_json::json!({ "error": why, "code": "usage", "hint": hint.join("\n") }).to_string()
}

/// Says how a setting of a pool is written, where one was written as an option.
fn with_meant_setting(mut error: clap::Error, words: &[String]) -> clap::Error {
    if let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg)
        && let Some(setting) = meant_setting(option, words)
    {
        let tip = StyledStr::from(format!("settings have no dashes: ashlar pool set POOL {setting}"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

fn meant_setting(option: &str, words: &[String]) -> Option<String> {
    let name = option.strip_prefix("--").filter(|name| SETTINGS.contains(name))?;
    let value_at = |at: usize| {
        let rest = words[at].strip_prefix(option)?;
        rest.strip_prefix('=').or_else(|| words.get(at + 1).map(String::as_str).filter(|_| rest.is_empty()))
    };
    let value = (0..words.len()).find_map(value_at).unwrap_or("VALUE");
    Some(format!("{name}={value}"))
}

#[cfg(test)]
mod tests;
