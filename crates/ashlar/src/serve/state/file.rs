//! The file in the state directory, read and written with errors that name it, the reason and the
//! way out.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::NodeState;
use super::lock::LockError;

/// The version of the file that this code writes.
pub const VERSION: u32 = 1;
/// Files of the daemon are its own alone: some of them say who may do what.
const MODE: u32 = 0o600;

/// Why the file says nothing.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system refuses.
    #[error("cannot read {}: {source}; {}", path.display(), way_out(source, path))]
    Os {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not what was written.
    #[error("{} is damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where, and how.
        source: toml::de::Error,
    },
    /// Another Ashlar has written it.
    #[error("{} has version {version}, and this Ashlar knows {VERSION}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
}

/// Why the file stays as it was.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The operating system refuses.
    #[error("cannot write {}: {source}", path.display())]
    Os {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The directory is another one than at the start, and cannot be used.
    #[error("the state directory is not the one that this daemon was started with: {0}")]
    Lock(LockError),
    /// The same, and what is in it cannot be read.
    #[error("the state directory is not the one that this daemon was started with: {0}")]
    Read(ReadError),
    /// The same, and it is another node's.
    #[error("{} is another node's: the directory is not the one that this daemon was started with", path.display())]
    OtherNode {
        /// The file.
        path: PathBuf,
    },
}

impl WriteError {
    /// What an operator does about it.
    pub fn way_out(&self) -> String {
        match self {
            WriteError::Os { path, source } => way_out(source, path),
            WriteError::Lock(_) | WriteError::Read(_) | WriteError::OtherNode { .. } => {
                "put the directory back that was there before".to_owned()
            }
        }
    }
}

/// What an operator does about a file that cannot be read or written.
pub fn way_out(error: &io::Error, path: &Path) -> String {
    let directory = path.parent().unwrap_or(path).display();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            format!("make room on the file system of {directory}")
        }
        ErrorKind::ReadOnlyFilesystem => format!(
            "the kernel's log says whether an error has made the file system of {directory} \
             read-only: repair that, and mount it for writing (mount -o remount,rw)"
        ),
        ErrorKind::PermissionDenied => {
            format!("let the user that the daemon runs as write in {directory}")
        }
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            format!("make {directory} a directory that the daemon may write in")
        }
        ErrorKind::AlreadyExists => {
            format!(
                "{} is there and is no directory: name another one, or take that away",
                path.display()
            )
        }
        ErrorKind::IsADirectory => format!("take the directory {} away", path.display()),
        _ => format!(
            "the kernel's log says what ails the drive or the file system of {directory}: repair that"
        ),
    }
}

/// Where the file is.
pub fn file_in(directory: &Path) -> PathBuf {
    directory.join("node.toml")
}

/// What the file says; `None`: there is none.
///
/// # Errors
/// [`ReadError`].
pub fn read(directory: &Path) -> Result<Option<NodeState>, ReadError> {
    let path = file_in(directory);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(ReadError::Os { path, source }),
    };
    match toml::from_str::<NodeState>(&text) {
        Ok(NodeState { version, .. }) if version != VERSION => {
            Err(ReadError::Version { path, version })
        }
        Ok(node) => Ok(Some(node)),
        Err(source) => Err(ReadError::Damaged { path, source }),
    }
}

/// Writes the file anew beside the old one and puts it in its place: a crash leaves the one or the
/// other.
///
/// # Errors
/// [`WriteError::Os`]; the file is as it was, unless the directory alone could not be made durable.
pub fn write(directory: &Path, node: &NodeState) -> Result<(), WriteError> {
    let text = toml::to_string_pretty(node).expect("a state is made of tables and plain values");
    let path = file_in(directory);
    replace(directory, &path, text.as_bytes()).map_err(|source| WriteError::Os { path, source })
}

/// Puts a file with that content in the place of the one at `path` in `directory`, durably.
///
/// # Errors
/// Why the file is as it was, unless the directory alone could not be made durable.
pub fn replace(directory: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    replace_if(directory, path, content, || true)
}

/// The same, if it is wanted still once it is written.
///
/// # Errors
/// As of [`replace`]; or that it took too long.
pub fn replace_if(
    directory: &Path,
    path: &Path,
    content: &[u8],
    is_wanted: impl FnOnce() -> bool,
) -> io::Result<()> {
    let new = beside(path);
    let put = || match is_wanted() {
        true => fs::rename(&new, path),
        false => Err(ErrorKind::TimedOut.into()),
    };
    let written = write_new(&new, content).and_then(|()| put());
    if written.is_err() {
        // What was written of it takes room that there is none of.
        let _ = fs::remove_file(&new);
    }
    written?;
    File::open(directory)?.sync_all()
}

/// Where it is written before it is there.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(MODE).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

#[cfg(test)]
mod tests;
