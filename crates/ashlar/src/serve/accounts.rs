//! The accounts of the node, in the state directory.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use ashlar_control::{Accounts, Vault, VaultError};
use futures_util::future::BoxFuture;

use super::apart::OneByOne;
use super::state::{replace_if, way_out};

/// How long the file system may take.
const WAIT: Duration = Duration::from_secs(10);

/// The file that keeps them. One writer has it at a time: where the file system hangs, no change is
/// made until the one that hangs has come to its end. Otherwise that would come after it, and bring
/// a token back that was revoked.
struct File {
    directory: PathBuf,
    path: PathBuf,
    turn: OneByOne,
    longest: Duration,
}

impl Vault for File {
    fn keep(&self, text: String) -> BoxFuture<'static, Result<(), VaultError>> {
        let (directory, path) = (self.directory.clone(), self.path.clone());
        let (turn, longest) = (self.turn.clone(), self.longest);
        let is_given_up = Arc::new(AtomicBool::new(false));
        let write = {
            let (path, is_given_up) = (path.clone(), is_given_up.clone());
            let is_wanted = move || !is_given_up.load(Ordering::SeqCst);
            move || replace_if(&directory, &path, text.as_bytes(), is_wanted)
        };
        Box::pin(async move {
            let written = turn.run("accounts", longest, write).await.and_then(|written| written);
            // What was refused is not to be there after the next start.
            is_given_up.store(true, Ordering::SeqCst);
            written.map_err(|error| VaultError {
                why: format!("cannot write {}: {error}", path.display()),
                hint: way_out(&error, &path),
            })
        })
    }
}

/// The accounts that the state directory keeps. Where they cannot be read nobody is let in by the
/// network until they can be ([`read_again`]), and those who come by the socket are.
pub fn open(state_dir: &Path) -> (Arc<Accounts>, Option<String>) {
    let path = path_in(state_dir);
    let vault = || {
        let (directory, path) = (state_dir.to_owned(), path.clone());
        Box::new(File { directory, path, turn: OneByOne::new(), longest: WAIT })
    };
    let accounts = read(&path)
        .and_then(|text| Accounts::new(vault(), text.as_deref()).with_context(|| damaged(&path)));
    match accounts {
        Ok(accounts) => (Arc::new(accounts), None),
        Err(error) => {
            let why = format!("{error:#}");
            (Arc::new(Accounts::unreadable(vault(), why.clone())), Some(why))
        }
    }
}

/// Reads those that could not be read, one reader at a time.
///
/// # Errors
/// Why they cannot be now.
pub async fn read_again(
    accounts: &Accounts,
    state_dir: &Path,
    reading: &OneByOne,
) -> anyhow::Result<()> {
    let path = path_in(state_dir);
    let read = {
        let path = path.clone();
        move || read(&path)
    };
    let text = match reading.run("accounts", WAIT, read).await {
        Ok(text) => text?,
        Err(error) if error.kind() == ErrorKind::TimedOut => {
            bail!("the file system of {} hangs", path.display())
        }
        Err(error) => return Err(error.into()),
    };
    accounts.read_again(text.as_deref()).with_context(|| damaged(&path))
}

fn path_in(state_dir: &Path) -> PathBuf {
    state_dir.join("accounts.json")
}

fn damaged(path: &Path) -> String {
    format!("{} is damaged: put a copy back, or remove it and make tokens anew", path.display())
}

fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let way_out = way_out(&error, path);
            Err(error).with_context(|| format!("cannot read {} ({way_out})", path.display()))
        }
        Ok(text) => Ok(Some(text)),
    }
}

#[cfg(test)]
mod tests;
