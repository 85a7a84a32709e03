//! `ashlar top` as people write it.

use std::time::Duration;

use clap::Args;

use super::iostat::parse_interval;

/// How often it looks.
#[derive(Args, Clone, PartialEq, Eq, Debug)]
#[command(after_help = "Examples:
  ashlar top
  ashlar top -i 5s
Keys: 1 to 5 or Tab choose pools, volumes, drives, hosts or jobs; o, b, l and n
sort by operations, bytes, latency or name; arrows and pages scroll; space stops
the clock; q ends. Where there is no terminal: ashlar iostat -i 1s.")]
pub struct TopArguments {
    /// Look again after each interval: 1s, 500ms, 5m; a number without a unit is of seconds
    #[arg(
        short,
        long,
        value_name = "TIME",
        value_parser = parse_interval,
        default_value = "1s",
        allow_hyphen_values = true
    )]
    pub interval: Duration,
}
