//! A new file, of which nothing is there before it is whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat};

/// Others cannot read it.
const MODE: u32 = 0o600;

/// A file that is being made.
pub struct NewFile {
    path: PathBuf,
    /// Without a name yet, so that nothing is left of it if the process ends. None: the file system
    /// makes no such files.
    unnamed: Option<File>,
}

impl NewFile {
    /// # Errors
    /// When there is something of that name already, or nothing can be made there.
    pub fn begin(path: &Path) -> anyhow::Result<Self> {
        let cannot = || format!("cannot make {}: name another file", path.display());
        if path.symlink_metadata().is_ok() {
            return Err(anyhow!("there is something of that name")).with_context(cannot);
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let directory = parent.unwrap_or(Path::new("."));
        let unnamed = match rustix::fs::open(directory, flags, Mode::from_raw_mode(MODE)) {
            Ok(file) => Some(File::from(file)),
            Err(error) if makes_no_unnamed(&error.into()) => None,
            Err(error) => return Err(error).with_context(cannot),
        };
        Ok(NewFile { path: path.to_owned(), unnamed })
    }

    /// Has it hold that, and be there.
    ///
    /// # Errors
    /// When it cannot be written, or something of that name has come meanwhile.
    pub fn end(self, content: &[u8]) -> anyhow::Result<()> {
        let NewFile { path, unnamed } = self;
        let written = match unnamed {
            Some(file) => write(file, content).and_then(|file| {
                let open = format!("/proc/self/fd/{}", file.as_raw_fd());
                Ok(linkat(CWD, open, CWD, &path, AtFlags::SYMLINK_FOLLOW)?)
            }),
            None => write_named(&path, content),
        };
        written.with_context(|| format!("cannot write {}", path.display()))
    }
}

/// As file systems say it, each in its way.
fn makes_no_unnamed(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::IsADirectory)
        || error.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error())
}

fn write(mut file: File, content: &[u8]) -> io::Result<File> {
    file.write_all(content)?;
    file.sync_all()?;
    Ok(file)
}

fn write_named(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = OpenOptions::new().write(true).create_new(true).mode(MODE).open(path)?;
    write(new, content).map(drop).inspect_err(|_| {
        // Half of it helps nobody.
        let _ = fs::remove_file(path);
    })
}

#[cfg(test)]
mod tests;
