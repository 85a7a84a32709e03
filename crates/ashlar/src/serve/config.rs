//! What the daemon is told: its file, and before that the command line.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use ashlar_block::ByteSize;
use ashlar_store::{OVER_PROVISIONING_PERCENT_MIN, Options};
use ashlar_target::nvme_tcp::{Limits, Portal, PortalKind};
use serde::Deserialize;

use super::finder::Wanted;
use super::state::{PoolState, StateDir};
use crate::args::ServeArguments;
use limits::LimitsTable;
use memory::memory_bytes;

mod limits;
mod memory;

/// Reactors of a node, at most: what the format of the drives has room for.
const REACTORS_MAX: usize = 64;
/// Reactors if nobody says otherwise: with two, half of the connections of a single pool are not where it lives, and the hop costs
/// more than the second processor gives (docs/performance.md, scaling).
const REACTORS_USUAL: usize = 1;
/// Longest spin, in microseconds: beyond it a reactor is as good as busy.
const SPIN_US_MAX: u64 = 10_000;
/// Least memory for a map.
const MAP_MEMORY_BYTES_MIN: u64 = 16 << 20;
/// The default, in so many parts of the memory, and its least; which is less where that would be more than a
/// part of a small memory.
const MAP_MEMORY_PART: u64 = 20;
const MAP_MEMORY_BYTES_DEFAULT_MIN: u64 = 256 << 20;
const MAP_MEMORY_PART_MAX: u64 = 8;

/// How long a start waits for drives that are late, by default and at most.
const MEMBER_WAIT_SECONDS_DEFAULT: u64 = 10;
const MEMBER_WAIT_SECONDS_MAX: u64 = 3600;

/// Everything that the daemon was told, checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// The daemon's directory.
    pub state: PathBuf,
    /// Where the API listens.
    pub socket: PathBuf,
    /// Where hosts connect.
    pub portals: Vec<Portal>,
    /// Threads that serve.
    pub reactors: usize,
    /// How long each looks for work before it sleeps.
    pub spin: Duration,
    /// How pools are opened.
    pub store: Options,
    /// How long a start waits for drives that its pools had when they were last open.
    pub member_wait: Duration,
    /// Directories in which drives that are files are looked for.
    pub drive_directories: Vec<PathBuf>,
    /// Drives that were away come back to open pools by themselves.
    pub auto_rejoin: bool,
    /// What hosts may take.
    pub limits: Limits,
}

/// A size as people write it, a number of bytes included.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum SizeText {
    Bytes(u64),
    Text(String),
}

impl SizeText {
    fn parse(&self) -> anyhow::Result<ByteSize> {
        match self {
            SizeText::Bytes(bytes) => Ok(ByteSize(*bytes)),
            SizeText::Text(text) => Ok(text.parse()?),
        }
    }
}

/// The configuration file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    listen: Option<Vec<String>>,
    discovery: Option<String>,
    socket: Option<PathBuf>,
    reactors: Option<usize>,
    spin_us: Option<u64>,
    map_memory_bytes: Option<SizeText>,
    over_provisioning_percent: Option<u64>,
    member_wait_seconds: Option<u64>,
    #[serde(default)]
    drive_directories: Vec<PathBuf>,
    auto_rejoin: Option<bool>,
    #[serde(default)]
    limits: LimitsTable,
}

impl Config {
    /// What `arguments` and the file that they name say.
    ///
    /// # Errors
    /// The file's or the argument's fault, by name.
    pub fn resolve(arguments: &ServeArguments, socket: Option<PathBuf>) -> anyhow::Result<Self> {
        let file = arguments.config.as_deref().map(read_file).transpose()?.unwrap_or_default();
        let reactors = arguments.reactors.or(file.reactors).unwrap_or(REACTORS_USUAL);
        ensure!(
            (1..=REACTORS_MAX).contains(&reactors),
            "reactors is {reactors}: it must be 1 to {REACTORS_MAX}"
        );
        let spin_us = arguments.spin_us.or(file.spin_us).unwrap_or(0);
        ensure!(spin_us <= SPIN_US_MAX, "spin_us is {spin_us}: it must be at most {SPIN_US_MAX}");
        let listen =
            if arguments.listen.is_empty() { file.listen.clone() } else { Some(arguments.listen.clone()) };
        let listen = listen.unwrap_or_else(|| vec!["127.0.0.1:4420".to_owned()]);
        let discovery = arguments.discovery.clone().or(file.discovery.clone());
        let discovery = discovery.unwrap_or_else(|| "127.0.0.1:8009".to_owned());
        let socket = socket.or(file.socket.clone()).unwrap_or_else(|| arguments.state.join("ashlar.sock"));
        Ok(Config {
            state: arguments.state.clone(),
            socket,
            portals: portals(&listen, &discovery)?,
            reactors,
            spin: Duration::from_micros(spin_us),
            store: store_options(arguments, &file)?,
            member_wait: member_wait(arguments.member_wait_seconds.or(file.member_wait_seconds))?,
            drive_directories: drive_directories(file.drive_directories)?,
            auto_rejoin: file.auto_rejoin.unwrap_or(true),
            limits: file.limits.resolve(memory_bytes() / reactors as u64)?,
        })
    }

    /// What is looked for by a daemon with this state.
    pub fn wanted(&self, state: &StateDir) -> Wanted {
        let pools = state.node.pools.iter().map(PoolState::wanted).collect();
        Wanted { pools, directories: self.drive_directories.clone() }
    }
}

fn read_file(path: &Path) -> anyhow::Result<File> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read the configuration {}", path.display()))?;
    // The error shows the line, the key and what there is.
    toml::from_str(&text).with_context(|| format!("in the configuration {}", path.display()))
}

fn portals(listen: &[String], discovery: &str) -> anyhow::Result<Vec<Portal>> {
    ensure!(!listen.is_empty(), "listen names no address: hosts could not connect");
    let mut portals = Vec::new();
    for text in listen {
        portals.push(Portal { address: address("listen", text)?, kind: PortalKind::Io });
    }
    if discovery != "none" {
        portals.push(Portal { address: address("discovery", discovery)?, kind: PortalKind::Discovery });
    }
    for (index, portal) in portals.iter().enumerate() {
        let again = portals[..index].iter().any(|other| other.address == portal.address);
        if again && portal.address.port() != 0 {
            bail!("{} is given twice: every address is listened on once", portal.address);
        }
    }
    Ok(portals)
}

fn address(key: &str, text: &str) -> anyhow::Result<SocketAddr> {
    let hint = "write an IP address and a port, as in 192.0.2.10:4420, 0.0.0.0:4420 or [::]:4420";
    text.parse().with_context(|| format!("{key}: '{text}' is not an address: {hint}"))
}

fn store_options(arguments: &ServeArguments, file: &File) -> anyhow::Result<Options> {
    let from_file = file.map_memory_bytes.as_ref().map(SizeText::parse).transpose();
    let from_file = from_file.context("map_memory_bytes")?;
    let map_memory =
        arguments.map_memory_bytes.or(from_file).unwrap_or_else(|| default_map_memory(memory_bytes()));
    let least = ByteSize(MAP_MEMORY_BYTES_MIN);
    ensure!(map_memory >= least, "map_memory_bytes is {map_memory}: it must be at least {least}");
    let defaults = Options::default();
    let percent = file.over_provisioning_percent.unwrap_or(defaults.over_provisioning_percent);
    ensure!(
        (OVER_PROVISIONING_PERCENT_MIN..=90).contains(&percent),
        "over_provisioning_percent is {percent}: it must be {OVER_PROVISIONING_PERCENT_MIN} to 90"
    );
    Ok(Options { map_memory_bytes: map_memory.0 as usize, over_provisioning_percent: percent, ..defaults })
}

/// Memory for the map of a pool where nothing is said.
fn default_map_memory(memory_bytes: u64) -> ByteSize {
    let least = MAP_MEMORY_BYTES_DEFAULT_MIN.min(memory_bytes / MAP_MEMORY_PART_MAX);
    ByteSize((memory_bytes / MAP_MEMORY_PART).max(least).max(MAP_MEMORY_BYTES_MIN))
}

/// They may come later, with what is mounted there.
fn drive_directories(directories: Vec<PathBuf>) -> anyhow::Result<Vec<PathBuf>> {
    for directory in &directories {
        ensure!(
            directory.is_absolute(),
            "drive_directories: '{}' does not begin with /: name the whole path",
            directory.display()
        );
    }
    Ok(directories)
}

fn member_wait(seconds: Option<u64>) -> anyhow::Result<Duration> {
    let seconds = seconds.unwrap_or(MEMBER_WAIT_SECONDS_DEFAULT);
    ensure!(
        seconds <= MEMBER_WAIT_SECONDS_MAX,
        "member_wait_seconds is {seconds}: it must be at most {MEMBER_WAIT_SECONDS_MAX}"
    );
    Ok(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests;
