//! The accounts of the node, in the state directory.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use ashlar_control::{Accounts, Vault, VaultError};
use futures_util::future::BoxFuture;
use tokio::time::timeout;

use super::apart::apart;
use super::state::{replace, way_out};

/// How long the file system may take. What it does later is there after the next start, though it
/// was refused.
const WRITE_WAIT: Duration = Duration::from_secs(10);

/// The file that keeps them.
struct File {
    directory: PathBuf,
    path: PathBuf,
}

impl Vault for File {
    fn keep(&self, text: String) -> BoxFuture<'static, Result<(), VaultError>> {
        let (directory, path) = (self.directory.clone(), self.path.clone());
        let write = {
            let path = path.clone();
            move || replace(&directory, &path, text.as_bytes())
        };
        Box::pin(async move {
            let written = match apart("accounts", write) {
                Ok(writing) => match timeout(WRITE_WAIT, writing).await {
                    Ok(Ok(written)) => written,
                    _ => Err(ErrorKind::TimedOut.into()),
                },
                Err(error) => Err(error),
            };
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
    let vault = || Box::new(File { directory: state_dir.to_owned(), path: path.clone() });
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

/// Reads those that could not be read.
///
/// # Errors
/// Why they cannot be now.
pub async fn read_again(accounts: &Accounts, state_dir: &Path) -> anyhow::Result<()> {
    let path = path_in(state_dir);
    let reading = {
        let path = path.clone();
        apart("accounts", move || read(&path))?
    };
    let text = match timeout(WRITE_WAIT, reading).await {
        Ok(Ok(text)) => text?,
        _ => bail!("the file system of {} hangs", path.display()),
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
