//! Small file systems that a test fills, and lets nobody write to.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

/// A small file system of its own, unmounted when dropped.
pub struct SmallDisk(pub PathBuf);

impl SmallDisk {
    /// `None` where mounting is not permitted.
    pub fn mount(at: PathBuf, kibibytes: u32) -> Option<Self> {
        fs::create_dir(&at).expect("a new directory");
        let size = format!("size={kibibytes}k");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&at).status();
        mounted.is_ok_and(|status| status.success()).then_some(SmallDisk(at))
    }

    /// Takes all its room.
    pub fn fill(&self) {
        let mut filler = File::create(self.filler()).expect("room for a name");
        while filler.write_all(&[1; 4096]).is_ok() {}
    }

    /// Gives that room back.
    pub fn clear(&self) {
        fs::remove_file(self.filler()).expect("it was filled");
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }

    /// Lets nobody write to it, or everybody again. Nobody has a file of it open for writing.
    pub fn remount(&self, how: &str) {
        let remounted =
            Command::new("mount").args(["-o", &format!("remount,{how}")]).arg(&self.0).status();
        assert!(remounted.expect("mount runs").success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: the daemon may still be ending.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
