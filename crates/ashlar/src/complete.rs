//! What a shell offers for what is written so far: also the pools, volumes, drives, jobs and
//! policies that the daemon has at that moment.
//!
//! The shell asks this program. Where no daemon answers at once, it offers nothing.

use std::time::Duration;

use ashlar_control::types::{Job, Pool, PoolDrive, QosPolicy, Volume};
use clap::{Command, CommandFactory};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};
use serde::de::DeserializeOwned;

use crate::args::Arguments;
use crate::cli::{Client, Patience};

#[cfg(test)]
mod tests;

/// Whoever has pressed a key does not wait longer.
const PATIENCE: Duration = Duration::from_secs(1);
/// How the script asks the program.
const VARIABLE: &str = "COMPLETE";

/// Answers a shell and ends, if it is one that asks.
pub fn answer() {
    CompleteEnv::with_factory(command).var(VARIABLE).complete();
}

/// The script that makes a shell ask.
pub fn script(shell: Shell) -> String {
    let name = shell.to_string();
    let shells = Shells::builtins();
    let shell = shells.completer(&name).expect("each shell that has a name has a script");
    let mut script = Vec::new();
    shell
        .write_registration(VARIABLE, "ashlar", "ashlar", "ashlar", &mut script)
        .expect("a vector takes everything");
    String::from_utf8_lossy(&script).into_owned()
}

/// The command line, with what may stand for each name of a thing.
fn command() -> Command {
    with_candidates(Arguments::command(), "")
}

fn with_candidates(command: Command, group: &str) -> Command {
    let name = command.get_name().to_owned();
    let command = command.mut_args(|argument| {
        let candidates = match (argument.get_id().as_str(), group) {
            ("pool", _) => ArgValueCandidates::new(pools),
            ("volume", _) if name != "create" => ArgValueCandidates::new(volumes),
            ("drive", "drive") => ArgValueCandidates::new(drives),
            ("job", _) => ArgValueCandidates::new(jobs),
            ("policy", _) if name != "create" => ArgValueCandidates::new(policies),
            _ => return argument,
        };
        argument.add(candidates)
    });
    command.mut_subcommands(|below| with_candidates(below, &name))
}

fn pools() -> Vec<CompletionCandidate> {
    named(asked::<Pool>("/pools"), |pool| pool.name.clone())
}

fn volumes() -> Vec<CompletionCandidate> {
    named(asked::<Volume>("/volumes"), |volume| format!("{}/{}", volume.pool, volume.name))
}

fn drives() -> Vec<CompletionCandidate> {
    named(asked::<PoolDrive>("/drives"), |drive| format!("{}/{}", drive.pool, drive.name))
}

fn jobs() -> Vec<CompletionCandidate> {
    named(asked::<Job>("/jobs"), |job| job.id.clone())
}

fn policies() -> Vec<CompletionCandidate> {
    named(asked::<QosPolicy>("/qos"), |policy| policy.name.clone())
}

fn named<T>(all: Vec<T>, name: impl Fn(&T) -> String) -> Vec<CompletionCandidate> {
    let mut names: Vec<String> = all.iter().map(name).collect();
    names.sort();
    names.dedup();
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// What the daemon has at that path. Nothing, if it does not say.
fn asked<T: DeserializeOwned>(path: &str) -> Vec<T> {
    let ask = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        let socket = std::env::var_os("ASHLAR_SOCKET").filter(|path| !path.is_empty());
        let client = Client::new(socket.map(Into::into), Patience::of(Some(PATIENCE))).ok()?;
        runtime.block_on(client.get(path)).ok()
    };
    ask().unwrap_or_default()
}
