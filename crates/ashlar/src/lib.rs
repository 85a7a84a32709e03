//! The Ashlar daemon and its command line: all of it, so that a program may choose how memory is
//! allocated.
//!
//! `serve` assembles a node in one function (`serve::assemble`); all other verbs speak to a daemon
//! over its socket, with the REST API that is open to everybody.

#![deny(clippy::print_stdout, clippy::print_stderr, reason = "they panic where nobody reads: see stdio")]

mod args;
mod bench;
mod causes;
mod cli;
mod colours;
mod demo;
mod logging;
mod serve;
mod stdio;
mod usage;

use ashlar_block::printable;
use std::process::ExitCode;

use args::{Arguments, Command, Output};
use cli::{Patience, Refused};
use stdio::StdoutError;

/// Does what the command line says.
pub fn main() -> ExitCode {
    let arguments = match usage::parse(std::env::args_os().collect()) {
        Ok(arguments) => arguments,
        Err(ends_with) => return ends_with,
    };
    let output = arguments.output;
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.downcast_ref().is_some_and(StdoutError::is_closed_pipe) => ExitCode::SUCCESS,
        Err(error) => {
            stdio::note(refusal(&error, output));
            ExitCode::FAILURE
        }
    }
}

/// An error as it is printed: for programs an object on a line, too. What the API says of it
/// besides goes with it.
fn refusal(error: &anyhow::Error, output: Output) -> String {
    let why = causes::with_causes(error.as_ref());
    if output == Output::Table {
        let lines: Vec<String> = why.lines().map(printable).collect();
        return format!("ashlar: {}", lines.join("\n"));
    }
    let mut printed = serde_json::json!({ "error": why });
    if let Some(Refused(body)) = error.downcast_ref() {
        // The hint has a name of its own.
        printed["error"] = body.message.as_str().into();
        printed["code"] = body.code.as_str().into();
        if let Some(hint) = body.hint.as_deref() {
            printed["hint"] = hint.into();
        }
    }
    printed.to_string()
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    match arguments.command {
        Command::Serve(options) => serve::run(&options, arguments.socket),
        Command::Demo(options) => demo::run(&options, arguments.socket, arguments.output),
        Command::Bench(options) => bench::run(&options, arguments.output),
        Command::Completions { shell } => {
            stdio::print(args::completions(shell))?;
            Ok(())
        }
        Command::Client(verb) => {
            cli::run(verb, arguments.socket, Patience::of(arguments.timeout), arguments.output)
        }
    }
}

#[cfg(test)]
mod tests;
