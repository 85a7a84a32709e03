//! The profile of a modelled drive, in a file as long as daemons need it.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context;

/// The file. It is gone when dropped.
pub struct ProfileFile(PathBuf);

impl ProfileFile {
    /// A file that says `profile`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(profile: &str) -> anyhow::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ashlar-bench-profile-{}-{number}.toml", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, profile).with_context(|| path.display().to_string())?;
        Ok(ProfileFile(path))
    }

    /// A drive in memory that is like that, of so many bytes.
    pub fn drive(&self, bytes: u64) -> String {
        format!("mem:{bytes},touched=on,model={}", self.0.display())
    }
}

impl Drop for ProfileFile {
    fn drop(&mut self) {
        // Whoever cannot remove it from the directory for such files has other worries.
        let _ = fs::remove_file(&self.0);
    }
}
