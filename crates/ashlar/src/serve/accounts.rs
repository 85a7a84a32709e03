//! The accounts of the node, in the state directory.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
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

/// The accounts that the state directory keeps.
///
/// # Errors
/// When they cannot be read: nobody is let in, or kept out, by what may be missing there.
pub fn open(state_dir: &Path) -> anyhow::Result<Arc<Accounts>> {
    let path = state_dir.join("accounts.json");
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => {
            let way_out = way_out(&error, &path);
            return Err(error)
                .with_context(|| format!("cannot read {} ({way_out})", path.display()));
        }
        Ok(text) => Some(text),
    };
    let file = File { directory: state_dir.to_owned(), path: path.clone() };
    let accounts = Accounts::new(Box::new(file), text.as_deref()).with_context(|| {
        format!("{} is damaged: put a copy back, or remove it and make tokens anew", path.display())
    })?;
    Ok(Arc::new(accounts))
}

#[cfg(test)]
mod tests;
