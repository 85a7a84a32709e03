//! What a shell offers for what is written so far: also the pools, volumes, drives, jobs and
//! policies that the daemon has at that moment.
//!
//! The shell asks this program. Where no daemon answers at once, it offers nothing.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use ashlar_control::types::{Job, Pool, PoolDrive, QosPolicy, Spare, Volume};
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
const SOCKET: &str = "--socket";

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
            ("drive", "pool") if matches!(&*name, "remove-drive" | "replace") => {
                ArgValueCandidates::new(members)
            }
            ("drive", "spare") if name == "remove" => ArgValueCandidates::new(spares),
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

/// The drives of the pool that the line names.
fn members() -> Vec<CompletionCandidate> {
    let line = line();
    let all = asked::<PoolDrive>("/drives").into_iter();
    named(all.filter(|drive| line.contains(&drive.pool)).collect(), |drive| drive.name.clone())
}

/// The spares of the pool that the line names.
fn spares() -> Vec<CompletionCandidate> {
    let line = line();
    let pools = asked::<Pool>("/pools").into_iter().filter(|pool| line.contains(&pool.name));
    named(pools.flat_map(|pool| pool.spares).collect(), |spare: &Spare| spare.spec.clone())
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

/// The words that are written so far, as the shell's script hands them over.
fn line() -> Vec<String> {
    let words = std::env::args_os().skip_while(|word| word != "--").skip(1);
    words.map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The socket that the line names, or else the environment; `None` of the inner: the usual ones.
/// `None`: the command is for another machine, and what this one has is nothing to offer.
fn door(line: &[String], variable: impl Fn(&str) -> Option<OsString>) -> Option<Option<PathBuf>> {
    let has = |name: &str| {
        line.iter().any(|word| {
            word.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        })
    };
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let after = line.iter().position(|word| word == SOCKET).and_then(|at| line.get(at + 1));
    let joined = line.iter().find_map(|word| word.strip_prefix(SOCKET)?.strip_prefix('='));
    if let Some(socket) = joined.or(after.map(String::as_str)) {
        return Some(Some(PathBuf::from(socket)));
    }
    if has("--server") || has("--profile") || set("ASHLAR_PROFILE").is_some() {
        return None;
    }
    Some(set("ASHLAR_SOCKET").map(PathBuf::from))
}

/// What the daemon has at that path. Nothing, if it does not say.
fn asked<T: DeserializeOwned>(path: &str) -> Vec<T> {
    let ask = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        let socket = door(&line(), |name| std::env::var_os(name))?;
        let client = Client::new(socket, Patience::of(Some(PATIENCE))).ok()?;
        runtime.block_on(client.get(path)).ok()
    };
    ask().unwrap_or_default()
}
