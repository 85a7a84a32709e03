//! What this machine says: its kernel, its devices, its logs, and what the daemon keeps.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use ashlar_block::ByteSize;

use super::bundle::Bundle;
use super::redact;

/// Files of the kernel and the distribution.
const FILES: &[(&str, &str)] = &[
    ("machine/os-release.txt", "/etc/os-release"),
    ("machine/kernel.txt", "/proc/version"),
    ("machine/command-line.txt", "/proc/cmdline"),
    ("machine/processors.txt", "/proc/cpuinfo"),
    ("machine/memory.txt", "/proc/meminfo"),
    ("machine/partitions.txt", "/proc/partitions"),
    ("machine/mounts.txt", "/proc/mounts"),
    ("machine/modules.txt", "/proc/modules"),
    ("machine/interrupts.txt", "/proc/interrupts"),
    ("machine/disk-figures.txt", "/proc/diskstats"),
    ("machine/pressure-io.txt", "/proc/pressure/io"),
    ("machine/pressure-memory.txt", "/proc/pressure/memory"),
];

/// The part that has the unit with its drop-ins, which may have secrets.
const UNIT: &str = "machine/unit.txt";

/// Programs, each with the lines of a log that it is asked for at most.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("machine/devices.txt", &["lsblk", "--all", "--output-all", "--pairs"]),
    ("machine/links.txt", &["ip", "-statistics", "address"]),
    ("machine/service.txt", &["systemctl", "--no-pager", "--full", "status", "ashlar"]),
    (UNIT, &["systemctl", "--no-pager", "cat", "ashlar"]),
    ("logs/daemon.txt", &["journalctl", "--no-pager", "--unit", "ashlar", "--lines", "50000"]),
    ("logs/kernel.txt", &["journalctl", "--no-pager", "--dmesg", "--lines", "20000"]),
];

/// What the daemon keeps that has no secrets.
const STATE_FILES: &[&str] = &["node.toml", "namespaces.json"];

/// More of one part is not taken.
const PART_BYTES_MAX: u64 = 64 << 20;
/// How long a program may take.
const PROGRAM_WAIT: Duration = Duration::from_secs(60);

/// Adds all of it.
///
/// # Errors
/// As of [`Bundle::add`].
pub async fn add(bundle: &mut Bundle, state: &Path, config: &Path) -> anyhow::Result<()> {
    for (part, path) in FILES {
        bundle.add(part, path, read(Path::new(path)).as_deref().map_err(String::as_str))?;
    }
    for (part, line) in PROGRAMS {
        let mut said = said_by(line).await;
        if *part == UNIT {
            said = said.map(|text| redact::unit(&String::from_utf8_lossy(&text)).into_bytes());
        }
        bundle.add(part, &line.join(" "), said.as_deref().map_err(String::as_str))?;
    }
    let plain = read(config).and_then(|text| redact::config(&String::from_utf8_lossy(&text)));
    let from = config.display().to_string();
    bundle.add("config/ashlar.toml", &from, plain.as_deref().map_err(String::as_str))?;
    add_state(bundle, state)
}

fn add_state(bundle: &mut Bundle, state: &Path) -> anyhow::Result<()> {
    let from = state.display().to_string();
    let list = list(state);
    bundle.add("state/files.txt", &from, list.as_deref().map(str::as_bytes).map_err(|it| &**it))?;
    for name in STATE_FILES {
        let path = state.join(name);
        let content = read(&path);
        let part = format!("state/{name}");
        let from = path.display().to_string();
        bundle.add(&part, &from, content.as_deref().map_err(String::as_str))?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(PART_BYTES_MAX).read_to_end(&mut content).map_err(|error| error.to_string())?;
    Ok(content)
}

/// The files below a directory, each with its size.
fn list(directory: &Path) -> Result<String, String> {
    let mut lines = Vec::new();
    let mut left = vec![directory.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).map_err(|error| error.to_string())?.flatten() {
            let path = entry.path();
            match entry.metadata() {
                Ok(found) if found.is_dir() => left.push(path),
                Ok(found) => lines.push(format!("{} {}", path.display(), ByteSize(found.len()))),
                Err(error) => lines.push(format!("{} {error}", path.display())),
            }
        }
    }
    lines.sort();
    Ok(lines.join("\n") + "\n")
}

/// What a program says, which has failed if it says nothing but errors.
async fn said_by(line: &'static [&'static str]) -> Result<Vec<u8>, String> {
    let (program, arguments) = line.split_first().expect("a line names its program");
    let mut child = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{program} cannot be run: {error}"))?;
    let stdout = child.stdout.take().expect("it is piped");
    let reading = tokio::task::spawn_blocking(move || {
        let mut said = Vec::new();
        stdout.take(PART_BYTES_MAX).read_to_end(&mut said).map(|_| said)
    });
    let said = tokio::time::timeout(PROGRAM_WAIT, reading).await;
    // One that has more to say, or hangs, is not waited for.
    let _ = child.kill();
    let _ = child.wait();
    let said = said.map_err(|_| format!("{program} has not ended within {PROGRAM_WAIT:?}"))?;
    let said = said.context("reading it").map_err(|error| format!("{error:#}"))?;
    let said = said.map_err(|error| error.to_string())?;
    if said.is_empty() { Err(format!("{program} has said nothing")) } else { Ok(said) }
}
