//! `ashlar demo`.

use std::path::PathBuf;

use crate::args::DemoArguments;

pub fn run(_options: &DemoArguments, _socket: Option<PathBuf>) -> anyhow::Result<()> {
    Ok(())
}
