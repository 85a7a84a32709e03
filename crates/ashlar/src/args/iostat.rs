//! `ashlar iostat` as people write it.

use std::time::Duration;

use clap::Args;

/// The shortest time from one report to the next.
const INTERVAL_MIN: Duration = Duration::from_millis(100);
/// The longest.
const INTERVAL_MAX: Duration = Duration::from_secs(30 * 86_400);

/// What is reported, and how often.
#[derive(Args, Clone, PartialEq, Eq, Debug, Default)]
#[command(after_help = "Examples:
  ashlar iostat
  ashlar iostat -i 1s tank
  ashlar iostat -i 5s -n 12 -l tank/v0 tank/v1
  ashlar iostat -v -i 1s --output json tank
The first report is of the time since the daemon started, each one after it of
the interval before it. Without -i and -n there is one report.")]
pub struct IostatArguments {
    /// Pools with their volumes, volumes (POOL/VOLUME) and drives (POOL/DRIVE, or their paths)
    /// [default: all pools]
    #[arg(value_name = "POOL|VOLUME|DRIVE")]
    pub names: Vec<String>,
    /// Report again after each interval: 1s, 500ms, 5m; a number without a unit is of seconds
    /// [default, with -n: 1s]
    #[arg(
        short,
        long,
        value_name = "TIME",
        value_parser = parse_interval,
        allow_hyphen_values = true
    )]
    pub interval: Option<Duration>,
    /// End after so many reports [default, with -i: when interrupted]
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_count, allow_hyphen_values = true)]
    pub count: Option<u64>,
    /// Latencies in full, a line each for reads, writes and trims
    #[arg(short, long)]
    pub latency: bool,
    /// Also the drives of the pools
    #[arg(short = 'v', long)]
    pub drives: bool,
}

pub(super) fn parse_interval(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok();
    let time = match seconds {
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        None => humantime::parse_duration(text).ok(),
    };
    let time = time.filter(|time| (INTERVAL_MIN..=INTERVAL_MAX).contains(time));
    time.ok_or_else(|| {
        format!("'{text}' is no interval: write 1s, 500ms or 5m, from 100ms to 30days")
    })
}

fn parse_count(text: &str) -> Result<u64, String> {
    let count = text.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| format!("'{text}' is no number of reports: write 1 or more"))
}

#[cfg(test)]
mod tests;
