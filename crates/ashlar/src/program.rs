//! How a program of ours begins and ends: what its command line says, and how it tells people, or
//! other programs, that it has failed.

use std::process::ExitCode;

use ashlar_block::{printable, with_causes};
use clap::Parser;

use crate::args::Output;
use crate::cli::{NOT_WELL, NotWell, Refused};
use crate::stdio::{self, StdoutError};
use crate::usage;

/// The command line of a program.
pub trait CommandLine: Parser {
    /// For whom the program prints.
    fn output(&self) -> Output;

    /// What was meant by a command line of these words that is not understood, where that is known.
    fn tip(_error: &clap::Error, _words: &[String]) -> Option<String> {
        None
    }
}

/// Does what the command line of this process says. Returns what the process ends with; what has
/// failed has then been said.
pub fn run<C: CommandLine>(work: impl FnOnce(C) -> anyhow::Result<()>) -> ExitCode {
    let line: C = match usage::parse(std::env::args_os().collect()) {
        Ok(line) => line,
        Err(ends_with) => return ends_with,
    };
    let output = line.output();
    match work(line) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.downcast_ref().is_some_and(StdoutError::is_closed_pipe) => {
            ExitCode::SUCCESS
        }
        Err(error) if error.is::<NotWell>() => ExitCode::from(NOT_WELL),
        Err(error) => {
            stdio::note(refusal(&name::<C>(), &error, output));
            ExitCode::FAILURE
        }
    }
}

/// What the program of this command line is called.
pub(crate) fn name<C: CommandLine>() -> String {
    C::command().get_name().to_owned()
}

/// An error of `program` as it is printed: for programs an object on a line, too. What the API says
/// of it besides goes with it.
fn refusal(program: &str, error: &anyhow::Error, output: Output) -> String {
    let why = with_causes(error.as_ref());
    if output != Output::Json {
        let lines: Vec<String> = why.lines().map(printable).collect();
        return format!("{program}: {}", lines.join("\n"));
    }
    let mut printed = serde_json::json!({ "error": why });
    if let Some(Refused { code, detail, hint }) = error.downcast_ref() {
        // The hint has a name of its own.
        printed["error"] = detail.as_str().into();
        printed["code"] = code.as_str().into();
        if let Some(hint) = hint.as_deref() {
            printed["hint"] = hint.into();
        }
    }
    printed.to_string()
}

#[cfg(test)]
mod tests;
