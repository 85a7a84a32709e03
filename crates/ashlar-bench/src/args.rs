//! The command line as people write it.

use std::path::PathBuf;

use ashlar::Output;
use ashlar::program::CommandLine;
use ashlar_block::ByteSize;
use clap::{Parser, ValueEnum};

/// Measures what serving costs, beside a server that only moves the same bytes.
#[derive(Parser, Clone, Debug)]
#[command(
    name = "ashlar-bench",
    version,
    after_help = "Examples:
  ashlar-bench
  ashlar-bench --only wire --seconds 5 --output json > figures.json
  ashlar-bench --only store --load '4KiB random write'
  ashlar-bench --only loss --ashlar /usr/local/bin/ashlar --plot loss.svg"
)]
pub struct Arguments {
    /// What is measured; repeatable [default: everything]
    #[arg(long, value_enum, value_name = "SECTION")]
    pub only: Vec<Section>,
    /// Measure only loads whose names contain this, in the sections that are tables of loads
    #[arg(long, value_name = "TEXT")]
    pub load: Option<String>,
    /// How many seconds each load is measured on each server, all rounds together [default: 1; of
    /// silent connections 20, of media 25, of bandwidth 15, of steady 5]
    #[arg(long, value_name = "SECONDS")]
    pub seconds: Option<f64>,
    /// In how many rounds: all servers take turns in each, and medians count [default: 5; of silent
    /// connections 20]
    #[arg(long, value_name = "N")]
    pub rounds: Option<u32>,
    /// The size of the volumes of a pool together, and of each of its five drives, which are taken
    /// from memory: as 1GiB, or in bytes; 64MiB or more
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub volume_size: ByteSize,
    /// The program whose daemon is measured [default: ashlar, in the directory of this program]
    #[arg(long, value_name = "FILE")]
    pub ashlar: Option<PathBuf>,
    /// Write the figures to this file as JSON, too
    #[arg(long, value_name = "FILE")]
    pub json_file: Option<PathBuf>,
    /// Draw the load of the section loss, moment by moment, into this file as SVG
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// How to print the figures
    #[arg(long, value_enum, default_value_t = Output::Table)]
    pub output: Output,
}

impl CommandLine for Arguments {
    fn output(&self) -> Output {
        self.output
    }
}

/// A part of the benchmark.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Section {
    /// Parity and reconstruction by every kernel, beside Intel's ISA-L and a plain copy
    Parity,
    /// A volume that keeps nothing: operations, latency, spinning, digests
    Wire,
    /// A drive in memory as a volume, and under a pool of level 0
    Device,
    /// Volumes of pools of level 5 and 6
    Store,
    /// Volumes that were overwritten until garbage is collected as fast as it comes
    Steady,
    /// How often a block is copied between socket and drive
    Copies,
    /// What it costs to count latencies, beside 4 KiB operations of a pool
    Counting,
    /// A daemon with connected hosts and nothing to do, before and after a load
    Idle,
    /// A working connection among 2,000 that say nothing
    Silent,
    /// Two reactors beside one, and the way from one to the other
    Reactors,
    /// What each codec makes of the machine's own files in a pool, beside the codec alone
    Codec,
    /// Writes to a pool that collects garbage, beside one that need not
    Collection,
    /// What is written for each block of hosts, at 70, 80 and 85 % live
    Amplification,
    /// A map of 1 TiB: recovery, memory, reads
    Recovery,
    /// Pools of 500,000 and 1,000,000 segments: checkpoints, turns, memory, a start after a crash
    Scale,
    /// A pool beside the bandwidth of its drives, where these are the limit: modelled ones
    Bandwidth,
    /// Writes of 2:1 and 4:1 beside 1:1, where the drives' media are the limit: modelled drives
    Media,
    /// A steady load while a drive of a pool is lost and restored, on modelled drives
    Loss,
    /// A rebuild without hosts, beside what its drives and the processor could do: modelled drives
    Rebuild,
    /// How limits of volumes are held, and what a noisy neighbour takes from a quiet volume
    Qos,
    /// How often operations allocate, in a program that counts: cargo run --release -p
    /// ashlar-bench --example count_allocations
    Allocations,
}

#[cfg(test)]
mod tests;
