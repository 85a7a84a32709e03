//! A command line that is not understood, as people or programs are told of it.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};

use crate::program::{self, CommandLine};
use crate::stdio::{self, StdoutError};

/// What ends with it that a command line is not understood.
const USAGE: u8 = 2;

/// What the command line says.
///
/// # Errors
/// What the process ends with: it asks for help, or is not understood, and that has been said.
pub fn parse<C: CommandLine>(words: Vec<OsString>) -> Result<C, ExitCode> {
    let error = match C::try_parse_from(&words) {
        Ok(line) => return Ok(line),
        Err(error) => error,
    };
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    if !error.use_stderr() {
        return Err(print_help(&program::name::<C>(), &error));
    }
    let error = with_tip::<C>(error, &words);
    if asks_for_json(&words) {
        stdio::note(in_json(&error));
    } else {
        // Nobody is left to be told that it cannot be printed.
        let _ = error.print();
    }
    Err(ExitCode::from(USAGE))
}

/// Prints what was asked for: help, or the version.
fn print_help(program: &str, help: &clap::Error) -> ExitCode {
    let printed = help.print().and_then(|()| std::io::stdout().flush()).map_err(StdoutError::from);
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            stdio::note(format_args!("{program}: {error}"));
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

/// The error, with what was probably meant.
fn with_tip<C: CommandLine>(mut error: clap::Error, words: &[String]) -> clap::Error {
    if let Some(tip) = C::tip(&error, words) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
    error
}

#[cfg(test)]
mod tests;
