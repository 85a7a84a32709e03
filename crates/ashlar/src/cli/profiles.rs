//! Profiles: servers by a name, in a file of the user's.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use super::client::ServerOptions;
use crate::args::ServerArguments;

/// The environment variable that names a profile.
const PROFILE_VARIABLE: &str = "ASHLAR_PROFILE";

/// The server that the command line names, by a profile or by itself; nothing if a daemon of this
/// machine is meant. What the command line says goes before the profile.
///
/// # Errors
/// What is missing, or contradicts itself.
pub fn server(
    arguments: &ServerArguments,
    names_socket: bool,
) -> anyhow::Result<Option<ServerOptions>> {
    let of_environment = || std::env::var(PROFILE_VARIABLE).ok().filter(|name| !name.is_empty());
    let is_by_hand = arguments.server.is_some() || names_socket;
    let profile = arguments.profile.clone().or_else(|| of_environment().filter(|_| !is_by_hand));
    let of_profile = profile.map(|name| profile_of(&name)).transpose()?.unwrap_or_default();
    let ServerArguments { server, token_file, fingerprint, ca, .. } = arguments.clone();
    let options = ServerOptions {
        server: server.or(of_profile.server),
        token_file: token_file.or(of_profile.token_file),
        fingerprint: fingerprint.or(of_profile.fingerprint),
        ca: ca.or(of_profile.ca),
    };
    if options == ServerOptions::default() {
        return Ok(None);
    }
    ensure!(!names_socket, "give either --socket, of a daemon here, or --server, not both");
    ensure!(options.server.is_some(), "which server? Name it with --server or --profile");
    Ok(Some(options))
}

fn profile_of(name: &str) -> anyhow::Result<ServerOptions> {
    let path = file().context("there is no home directory to look for profiles in")?;
    let text = fs::read_to_string(&path).with_context(|| {
        format!("--profile '{name}': cannot read the profiles in {}", path.display())
    })?;
    find(&text, name, &path)
}

fn find(text: &str, name: &str, path: &Path) -> anyhow::Result<ServerOptions> {
    let mut all: BTreeMap<String, ServerOptions> =
        toml::from_str(text).with_context(|| format!("in the profiles {}", path.display()))?;
    let names = all.keys().cloned().collect::<Vec<_>>().join(", ");
    let found = all.remove(name).with_context(|| {
        format!("there is no profile '{name}' in {}: it has {names}", path.display())
    })?;
    ensure!(found.server.is_some(), "profile '{name}' in {} names no server", path.display());
    Ok(found)
}

/// `$XDG_CONFIG_HOME/ashlar/profiles.toml`, as the XDG base directory specification has it.
fn file() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(config.join("ashlar/profiles.toml"))
}

#[cfg(test)]
mod tests;
