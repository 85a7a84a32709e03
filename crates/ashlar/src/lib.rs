//! The Ashlar daemon and its command line: all of it, so that a program may choose how memory is allocated.
//!
//! `serve` assembles a node in one function (`serve::assemble`); all other verbs speak to a daemon over its
//! socket, with the REST API that is open to everybody.

mod args;
mod bench;
mod causes;
mod cli;
mod demo;
mod serve;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command, Output};

/// Does what the command line says.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let output = arguments.output;
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", refusal(&causes::with_causes(error.as_ref()), output));
            ExitCode::FAILURE
        }
    }
}

/// An error as it is printed: for programs an object on a line, too.
fn refusal(why: &str, output: Output) -> String {
    match output {
        Output::Table => format!("ashlar: {why}"),
        Output::Json => serde_json::json!({ "error": why }).to_string(),
    }
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    match arguments.command {
        Command::Serve(options) => serve::run(&options, arguments.socket),
        Command::Demo(options) => demo::run(&options, arguments.socket),
        Command::Bench(options) => bench::run(&options, arguments.output),
        Command::Completions { shell } => {
            args::print_completions(shell);
            Ok(())
        }
        Command::Client(verb) => cli::run(verb, arguments.socket, arguments.output),
    }
}

#[cfg(test)]
mod tests;
