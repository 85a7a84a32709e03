//! What and when it was measured on, for whoever compares two runs.

use std::fmt;
use std::fs;
use std::time::SystemTime;

use anyhow::Context;
use ashlar_block::ByteSize;
use humantime::format_rfc3339_seconds;
use serde::Serialize;

/// The machine of a run, and when it began.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Machine {
    /// Processors that the servers and the load had between them.
    pub processors: usize,
    /// What they are called.
    pub processor: String,
    /// Memory that it has.
    pub memory_bytes: u64,
    /// The kernel, with its version.
    pub kernel: String,
    /// RFC 3339, UTC.
    pub measured_at: String,
}

impl Machine {
    /// This one, now.
    ///
    /// # Errors
    /// When it does not say what it is.
    pub fn here() -> anyhow::Result<Self> {
        let cpus = fs::read_to_string("/proc/cpuinfo").context("cannot read /proc/cpuinfo")?;
        let (memory, kernel) = (rustix::system::sysinfo(), rustix::system::uname());
        Ok(Machine {
            processors: std::thread::available_parallelism()?.get(),
            processor: model_name(&cpus).unwrap_or("unknown").to_owned(),
            memory_bytes: memory.totalram * u64::from(memory.mem_unit),
            kernel: format!(
                "{} {}",
                kernel.sysname().to_string_lossy(),
                kernel.release().to_string_lossy()
            ),
            measured_at: format_rfc3339_seconds(SystemTime::now()).to_string(),
        })
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine { processors, processor, memory_bytes, kernel, measured_at } = self;
        let memory = ByteSize(*memory_bytes >> 20 << 20);
        write!(
            f,
            "{measured_at}: {processors} processors ({processor}), {memory} of memory, {kernel}"
        )
    }
}

fn model_name(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo.lines().find_map(|line| line.strip_prefix("model name"))?;
    Some(line.split_once(':')?.1.trim())
}

#[cfg(test)]
mod tests;
