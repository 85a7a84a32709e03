//! The accounts of the node, in the state directory.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use ashlar_control::{Accounts, Vault, VaultError};

use super::state::{replace, way_out};

/// The file that keeps them.
struct File {
    directory: PathBuf,
    path: PathBuf,
}

impl Vault for File {
    fn keep(&self, text: String) -> Result<(), VaultError> {
        replace(&self.directory, &self.path, text.as_bytes()).map_err(|error| VaultError {
            why: format!("cannot write {}: {error}", self.path.display()),
            hint: way_out(&error, &self.path),
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
