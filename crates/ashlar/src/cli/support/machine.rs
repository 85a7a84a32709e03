//! What this machine says: its kernel, its devices, its logs, and what the daemon keeps.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use ashlar_block::ByteSize;
use tokio::sync::oneshot;
use tokio::time::timeout;

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
/// How long a program or a file may take: a file system may hang.
const PART_WAIT: Duration = Duration::from_secs(60);

/// Adds all of it.
///
/// # Errors
/// As of [`Bundle::add`].
pub async fn add(bundle: &mut Bundle, state: &Path, config: &Path) -> anyhow::Result<()> {
    for (part, path) in FILES {
        bundle.add(part, path, read(Path::new(path)).await.as_deref().map_err(String::as_str))?;
    }
    for (part, line) in PROGRAMS {
        let mut said = said_by(line, PART_WAIT, Child::kill).await;
        if *part == UNIT {
            said = said.map(|text| redact::unit(&String::from_utf8_lossy(&text)).into_bytes());
        }
        bundle.add(part, &line.join(" "), said.as_deref().map_err(String::as_str))?;
    }
    let plain = read(config).await;
    let plain = plain.and_then(|text| redact::config(&String::from_utf8_lossy(&text)));
    let from = config.display().to_string();
    bundle.add("config/ashlar.toml", &from, plain.as_deref().map_err(String::as_str))?;
    add_state(bundle, state).await
}

async fn add_state(bundle: &mut Bundle, state: &Path) -> anyhow::Result<()> {
    let from = state.display().to_string();
    let directory = state.to_owned();
    let list = in_time(&from, PART_WAIT, move || list(directory)).await;
    bundle.add("state/files.txt", &from, list.as_deref().map(str::as_bytes).map_err(|it| &**it))?;
    for name in STATE_FILES {
        let path = state.join(name);
        let content = read(&path).await;
        let part = format!("state/{name}");
        let from = path.display().to_string();
        bundle.add(&part, &from, content.as_deref().map_err(String::as_str))?;
    }
    Ok(())
}

async fn read(path: &Path) -> Result<Vec<u8>, String> {
    let (name, path) = (path.display().to_string(), path.to_owned());
    in_time(&name, PART_WAIT, move || read_part(fs::File::open(path)?)).await
}

fn read_part(from: impl Read) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    from.take(PART_BYTES_MAX).read_to_end(&mut content)?;
    Ok(content)
}

/// What the work of `what` comes to, if that is in time. It has a thread of its own, which is left
/// behind if it never ends.
async fn in_time<T: Send + 'static>(
    what: &str,
    wait: Duration,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, String> {
    let (sender, done) = oneshot::channel();
    let work = move || drop(sender.send(work()));
    let begun = thread::Builder::new().name("support".to_owned()).spawn(work);
    begun.map_err(|error| error.to_string())?;
    match timeout(wait, done).await {
        Ok(Ok(done)) => done.map_err(|error| error.to_string()),
        Ok(Err(_)) => Err(format!("{what} could not be read")),
        Err(_) => Err(format!("{what} has not ended within {wait:?}")),
    }
}

/// The files below a directory, each with its size.
fn list(directory: PathBuf) -> io::Result<String> {
    let mut lines = Vec::new();
    let mut left = vec![directory];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory)?.flatten() {
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

/// What a program says, which has failed if it says nothing but errors; then it is ended by `kill`.
async fn said_by(
    line: &[&str],
    wait: Duration,
    kill: impl FnOnce(&mut Child) -> io::Result<()>,
) -> Result<Vec<u8>, String> {
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
    let said = in_time(program, wait, move || read_part(stdout)).await;
    // One that has more to say, or hangs, is not waited for: what hangs in the kernel does not die.
    let _ = kill(&mut child);
    let _ = child.try_wait();
    let said = said?;
    if said.is_empty() { Err(format!("{program} has said nothing")) } else { Ok(said) }
}

#[cfg(test)]
mod tests;
