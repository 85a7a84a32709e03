//! What the daemon is told: its file, and before that the command line.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use ashlar_block::ByteSize;
use ashlar_control::Role;
use ashlar_store::{OVER_PROVISIONING_PERCENT_MIN, Options};
use ashlar_target::nvme_tcp::{Limits, Portal};
use serde::Deserialize;

use super::finder::Wanted;
use super::health::HealthConfig;
use super::network::NetworkConfig;
use super::receivers::ReceiversConfig;
use super::state::{PoolState, StateDir};
use crate::args::ServeArguments;
use crate::logging::{self, LogFormat};
use limits::LimitsTable;
use memory::memory_bytes;

mod health;
pub mod keys;
mod limits;
mod memory;
mod network;
mod portals;
mod receivers;

/// Reactors of a node, at most: what the format of the drives has room for.
const REACTORS_MAX: usize = 64;
/// Reactors if nobody says otherwise: with two, half of the connections of a single pool are not
/// where it lives, and the hop costs more than the second processor gives (docs/performance.md,
/// Reactors).
const REACTORS_USUAL: usize = 1;
/// Longest spin, in microseconds: beyond it a reactor is as good as busy.
const SPIN_US_MAX: u64 = 10_000;
/// Least memory for a map.
const MAP_MEMORY_BYTES_MIN: u64 = 16 << 20;
/// The default, in so many parts of the memory, and its least; which is less where that would be
/// more than a part of a small memory.
const MAP_MEMORY_PART: u64 = 20;
const MAP_MEMORY_BYTES_DEFAULT_MIN: u64 = 256 << 20;
const MAP_MEMORY_PART_MAX: u64 = 8;

/// What members of the socket's group may do where nobody says.
const SOCKET_GROUP_ROLE_USUAL: Role = Role::Operator;

/// How long a start waits for drives that are late, by default and at most.
const MEMBER_WAIT_SECONDS_DEFAULT: u64 = 10;
const MEMBER_WAIT_SECONDS_MAX: u64 = 3600;

/// What is logged where nobody says.
const LOG_USUAL: &str = "info";

/// Everything that the daemon was told, checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// The daemon's directory.
    pub state: PathBuf,
    /// Where the API listens.
    pub socket: PathBuf,
    /// Whose members may speak to it, beside its own user and root.
    pub socket_group: Option<String>,
    /// What its members may do.
    pub socket_group_role: Role,
    /// Where the API is served by the network.
    pub network: NetworkConfig,
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
    /// How drives are asked for their health.
    pub health: HealthConfig,
    /// Pools whose work has ended the daemon are opened as well.
    pub open_all: bool,
    /// A file that says which drive's next write panics, for tests.
    pub inject_panics: Option<PathBuf>,
    /// What hosts may take.
    pub limits: Limits,
    /// What is logged, unless the environment says otherwise.
    pub log: String,
    /// How its lines are written.
    pub log_format: LogFormat,
    /// Who is told of events.
    pub receivers: ReceiversConfig,
}

/// A size as people write it, a number of bytes included.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a size, as in '64MiB', or a number of bytes")]
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

/// An address, or a list of them.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged, expecting = "an address, or a list of addresses")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn into_vec(self) -> Vec<String> {
        match self {
            OneOrMore::One(address) => vec![address],
            OneOrMore::More(addresses) => addresses,
        }
    }
}

/// When what still lives is cold, at the latest.
const COLD_AFTER_SECONDS_MAX: u64 = 10 * 365 * 86_400;

/// The configuration file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    listen: Option<Vec<String>>,
    discovery: Option<OneOrMore>,
    socket: Option<PathBuf>,
    socket_group: Option<String>,
    socket_group_role: Option<Role>,
    api_listen: Option<OneOrMore>,
    api_certificate: Option<PathBuf>,
    reactors: Option<usize>,
    spin_us: Option<u64>,
    map_memory_bytes: Option<SizeText>,
    over_provisioning_percent: Option<u64>,
    cold_after_seconds: Option<u64>,
    member_wait_seconds: Option<u64>,
    log: Option<String>,
    log_format: Option<LogFormat>,
    #[serde(default)]
    drive_directories: Vec<PathBuf>,
    auto_rejoin: Option<bool>,
    drive_poll_seconds: Option<u64>,
    drive_hot_celsius: Option<i16>,
    drive_worn_percent: Option<u8>,
    #[serde(default)]
    limits: LimitsTable,
    #[serde(default, deserialize_with = "receivers::one_or_more")]
    webhook: Vec<receivers::WebhookTable>,
    #[serde(default)]
    mail: receivers::MailTable,
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
        let given = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
        let listen = given(&arguments.listen).or(file.listen.clone());
        let listen = listen.unwrap_or_else(|| vec!["127.0.0.1:4420".to_owned()]);
        let from_file = file.discovery.clone().map(OneOrMore::into_vec);
        let discovery = given(&arguments.discovery).or(from_file);
        let discovery = discovery.unwrap_or_else(|| vec!["127.0.0.1:8009".to_owned()]);
        let socket =
            socket.or(file.socket.clone()).unwrap_or_else(|| arguments.state.join("ashlar.sock"));
        Ok(Config {
            state: arguments.state.clone(),
            socket,
            socket_group: arguments.socket_group.clone().or(file.socket_group.clone()),
            socket_group_role: file.socket_group_role.unwrap_or(SOCKET_GROUP_ROLE_USUAL),
            network: network::resolve(&arguments.api_listen, &file)?,
            portals: portals::portals(&listen, &discovery)?,
            reactors,
            spin: Duration::from_micros(spin_us),
            store: store_options(arguments, &file)?,
            member_wait: member_wait(arguments.member_wait_seconds.or(file.member_wait_seconds))?,
            health: health::health(&arguments.health, &file)?,
            drive_directories: drive_directories(file.drive_directories)?,
            auto_rejoin: file.auto_rejoin.unwrap_or(true),
            open_all: arguments.open_all,
            inject_panics: arguments.inject_panics.clone(),
            limits: file.limits.resolve(memory_bytes() / reactors as u64)?,
            log: log_filter(file.log)?,
            log_format: arguments.log_format.or(file.log_format).unwrap_or_default(),
            receivers: receivers::resolve(file.webhook, file.mail)?,
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

fn store_options(arguments: &ServeArguments, file: &File) -> anyhow::Result<Options> {
    let from_file = file.map_memory_bytes.as_ref().map(SizeText::parse).transpose();
    let from_file = from_file.context("map_memory_bytes")?;
    let map_memory = arguments
        .map_memory_bytes
        .or(from_file)
        .unwrap_or_else(|| default_map_memory(memory_bytes()));
    let least = ByteSize(MAP_MEMORY_BYTES_MIN);
    ensure!(map_memory >= least, "map_memory_bytes is {map_memory}: it must be at least {least}");
    let defaults = Options::default();
    let percent = file.over_provisioning_percent.unwrap_or(defaults.over_provisioning_percent);
    ensure!(
        (OVER_PROVISIONING_PERCENT_MIN..=90).contains(&percent),
        "over_provisioning_percent is {percent}: it must be {OVER_PROVISIONING_PERCENT_MIN} to 90"
    );
    let cold_after = file.cold_after_seconds.unwrap_or(defaults.cold_after.as_secs());
    ensure!(
        cold_after <= COLD_AFTER_SECONDS_MAX,
        "cold_after_seconds is {cold_after}: it must be at most {COLD_AFTER_SECONDS_MAX}, ten years"
    );
    Ok(Options {
        map_memory_bytes: map_memory.0 as usize,
        over_provisioning_percent: percent,
        cold_after: Duration::from_secs(cold_after),
        ..defaults
    })
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

fn log_filter(filter: Option<String>) -> anyhow::Result<String> {
    let filter = filter.unwrap_or_else(|| LOG_USUAL.to_owned());
    logging::parse(&filter).context("log")?;
    Ok(filter)
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
