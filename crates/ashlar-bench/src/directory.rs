//! Drives that are files: they outlive a daemon, and are no part of its memory.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use ashlar::stdio::note;
use ashlar_block::ByteSize;

use super::daemon::DRIVES;

/// A file system in memory, if there is one: drives in files there cost no device time.
const MEMORY_DIRECTORY: &str = "/dev/shm";

/// The drives' directory. It goes with its owner.
pub struct Directory(PathBuf);

impl Directory {
    /// An empty one, in memory if the machine has such a file system.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new() -> anyhow::Result<Self> {
        let memory = Path::new(MEMORY_DIRECTORY);
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let path = parent.join(format!("ashlar-bench-{}-drives", std::process::id()));
        fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
        Ok(Directory(path))
    }

    /// The drives of a pool, files that take space as they are written.
    pub fn drives(&self, size: ByteSize) -> Vec<String> {
        let drive = |index| format!("file:{}/{index}.img,size={size},sparse=on", self.0.display());
        (0..DRIVES).map(drive).collect()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            note(format_args!("{} is left: {error}", self.0.display()));
        }
    }
}
