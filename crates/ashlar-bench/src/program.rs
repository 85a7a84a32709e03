//! The program `ashlar`, whose daemons are measured.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, anyhow, ensure};

/// What it is called.
const NAME: &str = "ashlar";
/// How it is had, where it is missing.
const WAY_OUT: &str =
    "cargo build --release -p ashlar makes it beside ashlar-bench, --ashlar FILE names another one";

/// Where the program is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program(PathBuf);

impl Program {
    /// The one that is `named`, or else the one beside the program that runs, be it there or not.
    ///
    /// # Errors
    /// When this process does not know where it runs.
    pub fn find(named: Option<&Path>) -> anyhow::Result<Self> {
        let path = match named {
            // A name alone is that of a file here, and not of a program on the search path.
            Some(named) => {
                std::path::absolute(named).context("where is the program that --ashlar names?")?
            }
            None => std::env::current_exe().context("where is this program?")?.with_file_name(NAME),
        };
        Ok(Program(path))
    }

    /// Has it say its name.
    ///
    /// # Errors
    /// When it does not run, or is another program.
    pub fn check(&self) -> anyhow::Result<()> {
        let path = self.0.display();
        let said = Command::new(&self.0).arg("--version").stdin(Stdio::null()).output();
        let said = said.map_err(|error| {
            anyhow!("cannot run {path}, whose daemon is measured: {error}; {WAY_OUT}")
        })?;
        let is_named = String::from_utf8_lossy(&said.stdout).split(' ').next() == Some(NAME);
        ensure!(said.status.success() && is_named, "{path} is not the program {NAME}: {WAY_OUT}");
        Ok(())
    }

    /// Starts a daemon with this state directory, on any port, and with these further arguments of
    /// `ashlar serve`.
    ///
    /// # Errors
    /// When it does not run.
    pub fn serve(&self, state: &Path, arguments: &[String]) -> anyhow::Result<Child> {
        let mut command = Command::new(&self.0);
        command.arg("serve").arg("--state").arg(state);
        command.args(["--listen", "127.0.0.1:0", "--discovery", "none"]).args(arguments);
        command.env_remove("ASHLAR_SOCKET").env_remove("NOTIFY_SOCKET").env("RUST_LOG", "warn");
        let started = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        started.with_context(|| format!("starting a daemon of {}", self.0.display()))
    }
}

#[cfg(test)]
mod tests;
