//! The manual: a page for each command, made of what its help says.

use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;

use crate::args::Arguments;

#[cfg(test)]
mod tests;

/// Writes `ashlar.1` and a page for each command, as `ashlar-pool-create.1`.
///
/// # Errors
/// The directory is not there, or takes nothing.
pub fn write(directory: &Path) -> anyhow::Result<()> {
    // A page has no terminal's width, and nothing is to be bold that is copied.
    let command = Arguments::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, directory)
        .with_context(|| format!("the manual cannot be written to {}", directory.display()))
}
