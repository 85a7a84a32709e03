//! `ashlar serve` and `ashlar demo` as people write them.

use std::path::PathBuf;

use ashlar_block::ByteSize;
use clap::Args;

use super::health::HealthArguments;
use crate::logging::LogFormat;

/// The daemon's options. They override the configuration file.
#[derive(Args, Clone, Default, Debug)]
#[command(after_help = "Examples:
  ashlar serve --state /var/lib/ashlar --listen 0.0.0.0:4420
  ashlar serve --state ./data --listen 0.0.0.0:4420 --listen [::]:4420
  ashlar serve --state ./data --discovery none --reactors 2

What a configuration file (TOML) may say, and more than there are options:
`ashlar config keys`. At a SIGHUP the daemon reads the file again.")]
pub struct ServeArguments {
    /// The daemon's directory: its identity, and which pools it opens
    #[arg(long, value_name = "DIR")]
    pub state: PathBuf,
    /// A configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The group whose members may speak to the daemon, with the role `socket_group_role` of the
    /// configuration (operator by default). Without it only its own user and root may
    #[arg(long, value_name = "GROUP")]
    pub socket_group: Option<String>,
    /// Where the API and the dashboard are served to other machines, with TLS, as IP:PORT;
    /// repeatable. Whoever comes there shows a token (`ashlar token create`) [default: nowhere]
    #[arg(long, value_name = "ADDR")]
    pub api_listen: Vec<String>,
    /// Where hosts connect, as IP:PORT; repeatable. 0.0.0.0 takes all IPv4 addresses of the
    /// machine, `[::]` all of IPv6 [default: 127.0.0.1:4420]
    #[arg(long, value_name = "ADDR")]
    pub listen: Vec<String>,
    /// Where the discovery service listens in addition, as IP:PORT, repeatable; or none [default:
    /// 127.0.0.1:8009]
    #[arg(long, value_name = "ADDR")]
    pub discovery: Vec<String>,
    /// Reactors (threads), 1 to 64. Each pool runs on one reactor, so more reactors than pools gain
    /// nothing [default: 1]
    #[arg(long, value_name = "N")]
    pub reactors: Option<usize>,
    /// Look for work this many microseconds before sleeping: less latency for more CPU [default: 0]
    #[arg(long, value_name = "MICROSECONDS")]
    pub spin_us: Option<u64>,
    /// Memory for the map, as 512MiB, or in bytes, counted per pool: two pools take twice as much
    /// [default: 5 % of the memory, at least 256MiB or, where that is less, an eighth of it]
    #[arg(long, value_name = "SIZE")]
    pub map_memory_bytes: Option<ByteSize>,
    /// How many seconds the opening of a pool waits for drives that the pool had when it was last
    /// open. Other pools, and hosts, do not wait [default: 10]
    #[arg(long, value_name = "SECONDS")]
    pub member_wait_seconds: Option<u64>,
    /// How the lines of the log are written [default: text]
    #[arg(long, value_enum, value_name = "text|json", hide_possible_values = true)]
    pub log_format: Option<LogFormat>,
    /// About the health of drives
    #[command(flatten)]
    pub health: HealthArguments,
    /// Also open pools whose work has ended the daemon twice within a minute; otherwise they stay
    /// closed
    #[arg(long)]
    pub open_all: bool,
    /// For tests: the next write to a drive panics once FILE says 'once PATH' or, so that the
    /// daemon ends, 'twice PATH'
    #[arg(long, value_name = "FILE", hide = true)]
    pub inject_panics: Option<PathBuf>,
}

/// The demonstration's options.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  ashlar demo --state ./ashlar-data
  ashlar demo --state ./ashlar-data --once --output json > figures.json
With --output json the figures are JSON on standard output, and progress goes to
standard error.")]
pub struct DemoArguments {
    /// The directory of its drives and its identity
    #[arg(long, value_name = "DIR")]
    pub state: PathBuf,
    /// Where hosts connect
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4420")]
    pub listen: String,
    /// Where the discovery service listens in addition, or none
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8009")]
    pub discovery: String,
    /// Where the dashboard and the API are served, with TLS, as IP:PORT; repeatable. Whoever comes
    /// there shows a token (`ashlar token create`) [default: nowhere]
    #[arg(long, value_name = "ADDR")]
    pub api_listen: Vec<String>,
    /// How many seconds the workload runs
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub seconds: u64,
    /// End after the workload instead of serving
    #[arg(long)]
    pub once: bool,
}
