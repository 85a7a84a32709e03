//! The command line as people write it.

use std::path::PathBuf;
use std::time::Duration;

use ashlar_block::ByteSize;
use ashlar_store::Compression;
use ashlar_volume::AtomicWrites;
use clap::{ArgGroup, Parser, Subcommand, ValueEnum};

pub use crate::output::Output;
use crate::program::CommandLine;

mod access;
mod config;
mod drive;
mod events;
mod health;
mod host;
mod iostat;
mod jobs;
mod notify;
mod pool;
mod qos;
mod room;
mod serve;
mod status;
mod support;
mod tips;
mod top;

pub use access::{KeyCommand, RoleName, ServerArguments, TokenCommand};
pub use config::ConfigCommand;
pub use drive::DriveCommand;
pub use events::{AuditArguments, EventsArguments};
pub use health::HealthArguments;
pub use host::HostCommand;
pub use iostat::IostatArguments;
pub use jobs::JobCommand;
pub use notify::NotifyCommand;
pub use pool::{CreateArguments, PoolCommand, SpareCommand};
pub use qos::{LimitArguments, QosCommand};
pub use room::{CapacityFormat, RoomCommand};
pub use serve::{DemoArguments, ServeArguments};
pub use status::StatusArguments;
pub use support::SupportArguments;
pub use top::TopArguments;

/// The environment variable that names the daemon's socket.
const SOCKET_VARIABLE: &str = "ASHLAR_SOCKET";
/// The version, and the commit that the program was built from.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("ASHLAR_BUILT_FROM"), ")");
/// What the help shows the options of all commands under.
const GLOBAL_OPTIONS: &str = "Global options";

/// Turns a Linux server into an NVMe/TCP flash appliance: compressed, parity-protected thin
/// volumes.
#[derive(Parser, Debug)]
#[command(
    name = "ashlar",
    version = VERSION,
    after_help = "Examples:
  ashlar serve --state /var/lib/ashlar
  ashlar pool create tank --level 1 --drive /dev/nvme1n1 --drive /dev/nvme2n1
  ashlar volume create tank/v0 --size 20GiB --allow any
  ashlar status"
)]
pub struct Arguments {
    /// The daemon's socket. Without it and ASHLAR_SOCKET: ./ashlar-data/ashlar.sock, then
    /// /run/ashlar/ashlar.sock; for `serve`, DIR/ashlar.sock
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// A daemon on another machine
    #[command(flatten)]
    pub server: ServerArguments,
    /// How to print the answer
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, value_enum, default_value_t = Output::Table)]
    pub output: Output,
    /// How long to wait for each answer of the daemon: 30s, 5m or off; a number without a unit is
    /// of seconds [default: 30s, and longer for changes while the daemon answers questions]
    #[arg(
        long,
        global = true,
        help_heading = GLOBAL_OPTIONS,
        value_name = "TIME",
        value_parser = parse_timeout
    )]
    pub timeout: Option<Duration>,
    #[command(subcommand)]
    pub command: Command,
}

impl Arguments {
    /// The daemon's socket, where the command line or the environment names one. The environment is
    /// read here and not by clap, whose messages show what comes from it as a part of the usage.
    pub fn take_socket(&mut self) -> Option<PathBuf> {
        let of_environment = || std::env::var_os(SOCKET_VARIABLE).filter(|path| !path.is_empty());
        self.socket.take().or_else(|| of_environment().map(PathBuf::from))
    }
}

impl CommandLine for Arguments {
    fn output(&self) -> Output {
        self.output
    }

    fn tip(error: &clap::Error, words: &[String]) -> Option<String> {
        tips::of(error, words)
    }
}

/// A time to wait; a number without a unit is of seconds.
fn parse_timeout(text: &str) -> Result<Duration, String> {
    if text == "off" {
        return Ok(Duration::MAX);
    }
    let seconds = text.parse().ok().map(Duration::from_secs);
    let time = seconds.or_else(|| humantime::parse_duration(text).ok());
    let time = time.filter(|time| !time.is_zero());
    time.ok_or_else(|| format!("'{text}' is no time to wait: write 30s, 5m, 500ms or off"))
}

/// Bytes that hosts are told are atomic; 0 for none, which is written as off alone.
fn parse_atomic(text: &str) -> Result<u64, String> {
    if text == "off" {
        return Ok(0);
    }
    let bytes = text.parse::<ByteSize>().map_err(|error| error.to_string())?.0;
    if bytes == 0 {
        return Err("to tell hosts of no atomic writes, write off".to_owned());
    }
    AtomicWrites::new(bytes).map(|_| bytes).map_err(|error| error.to_string())
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run the daemon, which serves volumes
    Serve(ServeArguments),
    /// Serve a demonstration pool, and measure it with a verified workload
    Demo(DemoArguments),
    /// Write, check and explain the configuration file
    #[command(
        subcommand,
        after_help = "Examples:
  ashlar config example > ashlar.toml
  ashlar config check ashlar.toml
  ashlar config keys"
    )]
    Config(ConfigCommand),
    /// List the metrics that `/metrics` has for Prometheus
    #[command(after_help = "Examples:
  ashlar metrics
  ashlar metrics --output json
The metrics themselves: curl --unix-socket SOCKET http://ashlar/metrics; by the
network at https://HOST:PORT/metrics, with a token of the role viewer.")]
    Metrics {
        /// As a page of the documentation
        #[arg(long, hide = true)]
        page: bool,
    },
    /// Write the manual: a page for each command
    #[command(after_help = "Examples:
  ashlar man /usr/local/share/man/man1
  ashlar man --page events > docs/events.md")]
    Man {
        /// The directory that the pages go to
        #[arg(value_name = "DIR", required_unless_present = "page")]
        directory: Option<PathBuf>,
        /// Print a page of the book's reference instead: the file of that name in docs/
        #[arg(long, value_enum, value_name = "PAGE", conflicts_with = "directory")]
        page: Option<Page>,
    },
    /// Print a completion script for a shell, which knows pools, volumes, drives and jobs, too
    #[command(after_help = "Example:\n  ashlar completions bash > /etc/bash_completion.d/ashlar")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    #[command(flatten)]
    Client(ClientCommand),
}

/// What the commands ask the daemon for.
#[derive(Subcommand, Debug)]
pub enum ClientCommand {
    /// Make, open, close and look at pools
    #[command(
        subcommand,
        after_help = "Examples:
  ashlar pool create tank --level 1 --drive /dev/nvme1n1 --drive /dev/nvme2n1
  ashlar pool show tank
  ashlar pool import tank --drive /dev/nvme1n1 --drive /dev/nvme2n1
ashlar pool VERB --help has more of each."
    )]
    Pool(PoolCommand),
    /// Look at drives, give them up, take them back and free them
    #[command(
        subcommand,
        after_help = "Examples:
  ashlar drive list
  ashlar drive show /dev/nvme1n1
  ashlar drive return tank/drive-2
ashlar drive VERB --help has more of each."
    )]
    Drive(DriveCommand),
    /// Make, change and look at volumes
    #[command(
        subcommand,
        after_help = "Examples:
  ashlar volume create tank/v0 --size 20GiB --allow any
  ashlar volume list
  ashlar volume delete tank/v0 --yes
ashlar volume VERB --help has more of each."
    )]
    Volume(VolumeCommand),
    /// Look at long work, wait for it and stop it
    #[command(
        subcommand,
        after_help = "Examples:\n  ashlar job list\n  ashlar job wait tank/rebuild"
    )]
    Job(JobCommand),
    /// Limit what volumes may take of their pool, and say who goes first
    #[command(
        subcommand,
        after_help = "Examples:
  ashlar qos create tank gold --iops 20000 --bandwidth 500MiB
  ashlar volume set tank/v0 --qos gold
  ashlar qos list
ashlar qos VERB --help has more of each."
    )]
    Qos(QosCommand),
    /// Look at connected hosts
    #[command(subcommand, after_help = "Example:\n  ashlar host list")]
    Host(HostCommand),
    /// Make and revoke tokens, by which clients on other machines are let in
    #[command(
        subcommand,
        after_help = "Example:\n  ashlar token create ci --role operator --expires 90d"
    )]
    Token(TokenCommand),
    /// Register public keys whose owners sign tokens of their own (JWT)
    #[command(
        subcommand,
        after_help = "Example:\n  ashlar key add sso --role viewer sso-public.pem"
    )]
    Key(KeyCommand),
    /// Make a bundle of all that helps to find out what is wrong, without secrets
    Support(SupportArguments),
    /// Show who I am to the daemon, what I may do, and where its API is served
    #[command(after_help = "Example:\n  ashlar session")]
    Session,
    /// Show who is told of events, by webhooks and mail, and test that
    #[command(
        subcommand,
        after_help = "Examples:\n  ashlar notify list\n  ashlar notify test mail"
    )]
    Notify(NotifyCommand),
    /// Show what has happened, the oldest first
    Events(EventsArguments),
    /// Show who has asked for which change, and what came of it, the oldest first
    Audit(AuditArguments),
    /// Show what goes on: operations, bytes, latencies and queues, once or again and again
    Iostat(IostatArguments),
    /// Show what goes on, live: pools, volumes, drives, hosts and jobs
    Top(TopArguments),
    /// Everything at a glance
    Status(StatusArguments),
}

/// About volumes.
#[derive(Subcommand, Debug)]
pub enum VolumeCommand {
    /// Make a thin volume
    #[command(after_help = "Examples:
  ashlar volume create tank/v0 --size 20GiB --allow any
  ashlar volume create tank/v1 --size 1TiB --allow nqn.2014-08.org.example:h1")]
    Create {
        /// POOL/NAME
        volume: String,
        /// Its size, as 20GiB, or in bytes; it takes space only as hosts write
        #[arg(long)]
        size: ByteSize,
        /// Who may see it: any, none, or a host's NQN (repeatable) [default: none]
        #[arg(long, value_name = "HOST")]
        allow: Vec<String>,
        /// Bytes of the sectors that hosts see: 512 or 4096
        #[arg(long, value_name = "BYTES", default_value_t = 4096, alias = "lba-size")]
        sector_size: u32,
        /// How blocks are stored: none, lz4, zstd, zstd:1 to zstd:19, or auto (LZ4 when they are
        /// written, zstd once they are cold)
        #[arg(long, value_name = "CODEC", default_value_t = Compression::Auto)]
        compression: Compression,
    },
    /// Tell how much room data would take, and how fast, with each codec: from a sample of it
    #[command(after_help = "Needs no daemon, and only reads. Examples:
  ashlar volume estimate /var/lib/postgresql
  ashlar volume estimate /dev/nvme0n1 --sample 256MiB")]
    Estimate {
        /// A file, a folder or a block device
        #[arg(value_name = "PATH|DEVICE")]
        data: PathBuf,
        /// How much of it is read
        #[arg(long, value_name = "SIZE", default_value = "32MiB")]
        sample: ByteSize,
    },
    /// List the volumes
    #[command(after_help = "Example:\n  ashlar volume list")]
    List,
    /// Show a volume and its figures
    #[command(after_help = "Examples:
  ashlar volume show tank/v0 --output json
  ashlar volume show -e tank/v0")]
    Show {
        /// POOL/NAME
        volume: String,
        /// Also how long commands of hosts took, by kind and size
        #[arg(short, long)]
        extended: bool,
    },
    /// Make a volume larger, or smaller; connected hosts see it at once
    #[command(after_help = "Examples:
  ashlar volume resize tank/v0 --size 30GiB
  ashlar volume resize tank/v0 --size 10GiB --yes")]
    Resize {
        /// POOL/NAME
        volume: String,
        /// Its new size, as 30GiB, or in bytes
        #[arg(long)]
        size: ByteSize,
        /// Do not ask before it shrinks and loses what lies beyond its new size
        #[arg(long)]
        yes: bool,
    },
    /// Give a volume another name
    #[command(after_help = "Example:\n  ashlar volume rename tank/v0 database")]
    Rename {
        /// POOL/NAME
        volume: String,
        /// Its new name
        name: String,
    },
    /// Change what a volume is: how its blocks are stored, its write protection, which hosts can
    /// set, too, what hosts are told of atomic writes, and what it may take of its pool
    #[command(
        group = ArgGroup::new("change").required(true).multiple(true),
        override_usage = "ashlar volume set [OPTIONS] <VOLUME>",
        after_help = "Examples:
  ashlar volume set tank/v0 --compression zstd:5
  ashlar volume set tank/v0 --write-protect off
  ashlar volume set tank/v0 --write-protect on --yes
  ashlar volume set tank/v0 --atomic 16KiB
  ashlar volume set tank/v0 --atomic off
  ashlar volume set tank/v0 --qos gold"
    )]
    Set {
        /// POOL/NAME
        volume: String,
        /// Whether the writes of hosts fail
        #[arg(long, value_enum, value_name = "on|off", group = "change")]
        write_protect: Option<Switch>,
        /// How blocks are stored from now on: none, lz4, zstd, zstd:1 to zstd:19, or auto
        #[arg(long, value_name = "CODEC", group = "change")]
        compression: Option<Compression>,
        /// The largest write that hosts are told is atomic, a power of two from 4KiB to 256KiB, or
        /// off. Ashlar writes as much as ever as one
        #[arg(long, value_name = "SIZE|off", group = "change", value_parser = parse_atomic,
            allow_hyphen_values = true)]
        atomic: Option<u64>,
        /// The policy of its pool that counts for it; none, for no limits; or default, for that of
        /// volumes of which nothing is said
        #[arg(long, value_name = "POLICY|none|default", group = "change")]
        qos: Option<String>,
        /// Do not ask before writes of connected hosts fail
        #[arg(long)]
        yes: bool,
    },
    /// Erase all that a volume holds, and what was counted of it; the volume stays
    #[command(after_help = "Examples:
  ashlar volume wipe tank/v0
  ashlar volume wipe tank/v0 --yes
From its beginning on nothing that the volume held can be read through Ashlar
any more, also after a crash, and its space comes back. The bytes lie on the
drives until Ashlar writes there again, or until drives that take discards have
been told (autotrim).")]
    Wipe {
        /// POOL/NAME
        volume: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Delete a volume: all that it holds is lost
    #[command(after_help = "Example:\n  ashlar volume delete tank/v0 --yes")]
    Delete {
        /// POOL/NAME
        volume: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Let hosts see a volume
    #[command(after_help = "Examples:
  ashlar volume allow tank/v0 nqn.2014-08.org.example:h1
  ashlar volume allow tank/v0 any
  ashlar volume allow tank/v0 nqn.2014-08.org.example:h1 --only")]
    Allow {
        /// POOL/NAME
        volume: String,
        /// Host NQNs, or any
        #[arg(required = true)]
        hosts: Vec<String>,
        /// These hosts alone: all others lose it
        #[arg(long)]
        only: bool,
        /// Do not ask before connected hosts lose it, or a list of hosts is lost
        #[arg(long)]
        yes: bool,
    },
    /// Stop hosts from seeing a volume
    #[command(after_help = "Examples:
  ashlar volume deny tank/v0 nqn.2014-08.org.example:h1
  ashlar volume deny tank/v0 any
  ashlar volume deny tank/v0 all --yes")]
    Deny {
        /// POOL/NAME
        volume: String,
        /// Host NQNs; any revokes that any host is allowed; all revokes both
        #[arg(required = true)]
        hosts: Vec<String>,
        /// Do not ask before connected hosts lose it
        #[arg(long)]
        yes: bool,
    },
}

/// On or off.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Switch {
    /// Hosts cannot write
    On,
    /// Hosts can write
    Off,
}

/// A page of the book's reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Page {
    /// Every command
    Commands,
    /// Every operation of the API
    ApiReference,
    /// Every key of the configuration file
    Configuration,
    /// Every metric
    Metrics,
    /// Every kind of event
    Events,
}

#[cfg(test)]
mod tests;
