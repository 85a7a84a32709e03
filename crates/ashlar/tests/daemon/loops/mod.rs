//! Files as block devices.

use std::path::Path;
use std::process::Command;

/// A file as a block device, for as long as this lives.
pub struct Loop(pub String);

impl Loop {
    /// `None`: this machine makes no loop devices.
    pub fn over(path: &Path) -> Option<Self> {
        let made = Command::new("losetup").args(["--find", "--show"]).arg(path).output().ok()?;
        let name = String::from_utf8(made.stdout).expect("a name").trim().to_owned();
        made.status.success().then_some(Loop(name))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}
