//! Files that receivers need: passwords, secrets and certificates. They are read anew for each
//! attempt, by a thread of its own, so that a change of one is taken at once, and one that is
//! missing keeps no daemon from its start.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use tokio::time::timeout;

use super::super::apart::apart;
use super::Failure;

/// How long the file system may take.
const WAIT: Duration = Duration::from_secs(10);
/// The largest file that is read: a bundle of all authorities has some hundred KiB.
const BYTES_MAX: u64 = 4 << 20;

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

/// What `work` comes to, which reads files.
///
/// # Errors
/// Its own; or that it takes too long.
pub async fn in_time<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let reading = apart("receiver", work).map_err(Failure::later)?;
    match timeout(WAIT, reading).await {
        Ok(Ok(done)) => done,
        _ => Err(Failure::later("the file system with its secrets hangs")),
    }
}
