//! The Ashlar daemon and its command line: all of the program `ashlar` but for its allocator.
//!
//! `serve` assembles a node in one function ([`assemble`]); all other verbs speak to a daemon over
//! its socket, with the REST API that is open to everybody ([`Client`]). What is public beside
//! [`main`] is what the benchmark needs, a program of its own.

#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nobody reads: see stdio"
)]

mod args;
mod cli;
mod colours;
mod complete;
mod config;
mod demo;
mod logging;
mod manual;
mod output;
pub mod program;
mod serve;
pub mod stdio;
mod usage;

use std::process::ExitCode;

use args::{Arguments, Command};
pub use args::{Output, ServeArguments};
pub use cli::{Client, Patience};
pub use serve::{Config, Running, Signals, assemble, on_runtime};

/// Does what the command line says.
pub fn main() -> ExitCode {
    complete::answer();
    program::run(run)
}

fn run(mut arguments: Arguments) -> anyhow::Result<()> {
    // What the environment says is meant for daemons of this machine.
    let names_socket = arguments.socket.is_some();
    let socket = arguments.take_socket();
    match arguments.command {
        Command::Serve(options) => serve::run(&options, socket),
        Command::Demo(options) => demo::run(&options, socket, arguments.output),
        Command::Config(command) => config::run(&command, arguments.output),
        Command::Man { page: Some(page), .. } => manual::print_page(page),
        Command::Man { directory, .. } => manual::write(&directory.expect("clap asks for it")),
        Command::Metrics { page: true } => manual::print_page(args::Page::Metrics),
        Command::Metrics { .. } => cli::metrics(arguments.output),
        Command::Completions { shell } => {
            stdio::print(complete::script(shell))?;
            Ok(())
        }
        Command::Client(verb) => {
            let client = cli::Reach {
                socket,
                names_socket,
                server: arguments.server,
                patience: Patience::of(arguments.timeout),
            };
            cli::run(verb, client, arguments.output)
        }
    }
}
