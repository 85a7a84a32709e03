//! Memory of processes, as the kernel accounts it.

use std::fs;

use anyhow::Context;

/// Memory that a process has.
///
/// # Errors
/// It has ended, or `/proc` is not mounted.
pub fn resident_bytes_of(process: u32) -> anyhow::Result<u64> {
    figure_of(process, "VmRSS:")
}

/// The most memory that a process has had.
///
/// # Errors
/// As of [`resident_bytes_of`].
pub fn resident_most_bytes_of(process: u32) -> anyhow::Result<u64> {
    figure_of(process, "VmHWM:")
}

fn figure_of(process: u32, name: &str) -> anyhow::Result<u64> {
    let path = format!("/proc/{process}/status");
    let status = fs::read_to_string(&path).with_context(|| path.clone())?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kib =
        kib.with_context(|| format!("{path} says nothing of memory: the process has ended"))?;
    Ok(kib.trim().parse::<u64>()? << 10)
}

/// Memory that this process has.
///
/// # Errors
/// `/proc` is not mounted.
pub fn resident_bytes_of_this_process() -> anyhow::Result<u64> {
    resident_bytes_of(std::process::id())
}
