//! Files that receivers need: passwords, secrets and certificates. They are read anew for each
//! attempt, by a thread of its own, so that a change of one is taken at once, and one that is
//! missing keeps no daemon from its start.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use super::super::apart::OneByOne;
use super::Failure;

/// How long the file system may take.
const WAIT: Duration = Duration::from_secs(10);
/// The largest file that is read: a bundle of all authorities has some hundred KiB.
const BYTES_MAX: u64 = 4 << 20;
/// The right of everybody to read a file.
const READ_BY_ALL: u32 = 0o004;

/// What such a file holds.
///
/// # Errors
/// Its name, and why it cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let cannot = |error| Failure::Later(format!("cannot read {}: {error}", path.display()));
    let mut text = Vec::new();
    let file = fs::File::open(path).map_err(cannot)?;
    file.take(BYTES_MAX).read_to_end(&mut text).map_err(cannot)?;
    Ok(text)
}

/// The one line of text that such a file holds.
///
/// # Errors
/// As of [`read`]; or that it holds none.
pub fn line(path: &Path) -> Result<String, Failure> {
    let text = String::from_utf8(read(path)?);
    let text = text.ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    text.ok_or_else(|| Failure::Later(format!("{} holds no line of text", path.display())))
}

/// That others may know what such a file holds; nothing: it is a secret.
pub fn exposed(path: &Path) -> Option<String> {
    let mode = fs::metadata(path).ok()?.mode();
    let path = path.display();
    (mode & READ_BY_ALL != 0).then(|| format!("everybody may read {path}: chmod 600 {path}"))
}

/// What `work` comes to, which reads files when it is its turn.
///
/// # Errors
/// Its own; or that it takes too long.
pub async fn in_time<T: Send + 'static>(
    turns: &OneByOne,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let read = turns.run("receiver", WAIT, work).await;
    read.map_err(|error| match error.kind() {
        std::io::ErrorKind::TimedOut => Failure::later("the file system with its secrets hangs"),
        _ => Failure::later(error),
    })?
}
