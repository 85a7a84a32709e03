//! Policies as people write them.

use ashlar_block::ByteSize;
use clap::{Args, Subcommand};

/// About policies.
#[derive(Subcommand, Debug)]
pub enum QosCommand {
    /// Make a policy of a pool
    #[command(after_help = "Examples:
  ashlar qos create tank gold --iops 20000 --bandwidth 500MiB --weight 300
  ashlar qos create tank bronze --read-iops 2000 --write-iops 500
  ashlar qos create tank sized --iops-per-gib 30 --burst-seconds 5
No volume has it yet: `ashlar volume set POOL/NAME --qos POLICY`.")]
    Create {
        /// The pool
        pool: String,
        /// Its name
        policy: String,
        #[command(flatten)]
        limits: LimitArguments,
    },
    /// List the policies
    #[command(after_help = "Examples:\n  ashlar qos list\n  ashlar qos list tank")]
    List {
        /// Of this pool alone
        pool: Option<String>,
    },
    /// Show a policy, and the volumes that it counts for
    #[command(after_help = "Example:\n  ashlar qos show tank gold")]
    Show {
        /// The pool
        pool: String,
        /// The policy
        policy: String,
    },
    /// Change a policy; its volumes are held to it at once
    #[command(after_help = "Examples:
  ashlar qos set tank gold --iops 30000
  ashlar qos set tank gold --bandwidth none --weight 500")]
    Set {
        /// The pool
        pool: String,
        /// The policy
        policy: String,
        #[command(flatten)]
        limits: LimitArguments,
    },
    /// Delete a policy that no volume names, and that is not the default
    #[command(after_help = "Example:\n  ashlar qos delete tank gold")]
    Delete {
        /// The pool
        pool: String,
        /// The policy
        policy: String,
    },
    /// Say which policy counts for volumes of which nothing is said
    #[command(after_help = "Examples:
  ashlar qos default tank bronze
  ashlar qos default tank none")]
    Default {
        /// The pool
        pool: String,
        /// The policy, or none
        policy: String,
    },
    /// Give a volume a policy of its own: the one that counts for it now, with these changes
    #[command(after_help = "Examples:
  ashlar qos limit tank/v0 --write-iops 500
  ashlar qos limit tank/v0 --write-iops none --weight 200
`ashlar volume set POOL/NAME --qos POLICY|none|default` takes it back.")]
    Limit {
        /// POOL/NAME
        volume: String,
        #[command(flatten)]
        limits: LimitArguments,
    },
}

/// What a policy says. A limit that is not named is none, or stays.
#[derive(Args, Clone, Default, Debug)]
pub struct LimitArguments {
    /// Commands per second, reads and writes together: at least 10, or none
    #[arg(long, value_name = "N|none", value_parser = parse_count)]
    pub iops: Option<u64>,
    /// Reads per second
    #[arg(long, value_name = "N|none", value_parser = parse_count)]
    pub read_iops: Option<u64>,
    /// Writes per second
    #[arg(long, value_name = "N|none", value_parser = parse_count)]
    pub write_iops: Option<u64>,
    /// Bytes per second, read and written together, as 200MiB: at least 1MiB, or none
    #[arg(long, value_name = "SIZE|none", value_parser = parse_bytes)]
    pub bandwidth: Option<u64>,
    /// Bytes read per second
    #[arg(long, value_name = "SIZE|none", value_parser = parse_bytes)]
    pub read_bandwidth: Option<u64>,
    /// Bytes written per second
    #[arg(long, value_name = "SIZE|none", value_parser = parse_bytes)]
    pub write_bandwidth: Option<u64>,
    /// Commands per second for each GiB of the volume's size; where there is --iops too, the lower
    /// one counts
    #[arg(long, value_name = "N|none", value_parser = parse_count)]
    pub iops_per_gib: Option<u64>,
    /// The same of reads
    #[arg(long, value_name = "N|none", value_parser = parse_count)]
    pub read_iops_per_gib: Option<u64>,
    /// The same of writes
    #[arg(long, value_name = "N|none", value_parser = parse_count)]
    pub write_iops_per_gib: Option<u64>,
    /// For how long a volume that was idle may save up what it did not take: 0.01 to 3600 [default:
    /// 0.1]
    #[arg(long, value_name = "SECONDS", value_parser = parse_burst, allow_hyphen_values = true)]
    pub burst_seconds: Option<f64>,
    /// Its part where volumes want more than the pool can do: 1 to 1000, twice the weight is twice
    /// the part [default: 100]
    #[arg(long, value_name = "N")]
    pub weight: Option<u16>,
}

/// A limit, which is written as none where it is to be none.
fn parse_count(text: &str) -> Result<u64, String> {
    limit(text, |text| text.parse().map_err(|_| format!("'{text}' is no number, and not none")))
}

/// Whatever is no number there is none in JSON either: the daemon would take it for nothing said.
fn parse_burst(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.01..=3600.0).contains(seconds));
    seconds.ok_or_else(|| "write seconds, 0.01 to 3600".to_owned())
}

fn parse_bytes(text: &str) -> Result<u64, String> {
    limit(text, |text| Ok(text.parse::<ByteSize>().map_err(|error| error.to_string())?.0))
}

fn limit(text: &str, parse: impl Fn(&str) -> Result<u64, String>) -> Result<u64, String> {
    match text {
        "none" => Ok(0),
        text => match parse(text)? {
            0 => Err("for no limit, write none".to_owned()),
            limit => Ok(limit),
        },
    }
}

#[cfg(test)]
mod tests;
