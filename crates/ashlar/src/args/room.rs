//! The commands about the room of pools.

use clap::{Subcommand, ValueEnum};

/// About the room of a pool.
#[derive(Subcommand, Debug)]
pub enum RoomCommand {
    /// Format more or less of a pool: what its volumes together may be promised
    #[command(
        name = "set-capacity",
        after_help = "Examples:
  ashlar pool set-capacity tank 2.4x
  ashlar pool set-capacity tank 96TiB --force
Data compress, so volumes may be promised more than the pool is provisioned
with: one to four times that, while they are in use. ashlar pool show says what
is safe, by what the data that are stored compress to; more takes --force. What
is set stays when a drive is lost."
    )]
    SetCapacity {
        /// Its name or UUID
        pool: String,
        /// As many times what is provisioned (2.4x, up to 4x), or a size (96TiB)
        capacity: String,
        /// Also more than fits if data go on to compress as what is stored
        #[arg(long)]
        force: bool,
    },
    /// Show what the room of a pool is used for, figure by figure, and what is safe to write
    #[command(after_help = "Examples:
  ashlar pool capacity tank
  ashlar pool capacity tank --format sfx
With --format sfx it prints the six fields that ScaleFlux's driver has in
sfx_capacity_stat, in sectors of 512 bytes: scripts that watch such drives can
watch a pool.")]
    Capacity {
        /// The pool's name or UUID
        pool: String,
        /// How
        #[arg(long, value_enum, default_value = "table")]
        format: CapacityFormat,
    },
    /// Prove the ledger: count anew all that the pool stores, and compare, while hosts go on
    #[command(after_help = "Examples:
  ashlar pool verify tank
  ashlar pool verify tank --wait
  ashlar pool verify tank --stop
It reads all maps and no data, with a quarter of the time. With --wait it fails
if a figure differs. The proof goes on in the daemon, until the daemon ends;
ashlar pool show tells how far it is.")]
    Verify {
        /// Its name or UUID
        pool: String,
        /// Wait until it is done
        #[arg(long)]
        wait: bool,
        /// Stop the proof that is under way: nothing is compared
        #[arg(long, conflicts_with = "wait")]
        stop: bool,
    },
    /// Release a full pool's reserve, so that file systems can be repaired
    #[command(
        name = "release-reserve",
        after_help = "Example:
  ashlar pool release-reserve tank
A file system on a full volume may need room to replay its journal, to be
checked and to delete files. The pool keeps the reserve again once twice its
size is safe to write: with the next checkpoint, which comes half a minute after
the last write if nothing else is to be done."
    )]
    ReleaseReserve {
        /// Its name or UUID
        pool: String,
    },
    /// Use the new room of drives that have grown
    #[command(after_help = "Example:
  ashlar pool grow tank
ashlar pool show says which drives have room that the pool does not use. The
capacity rises at once, and no host is interrupted. A pool never gets smaller.")]
    Grow {
        /// Its name or UUID
        pool: String,
    },
    /// Tell the drives of all space that is free: files become smaller, and flash drives faster
    #[command(after_help = "Examples:
  ashlar pool trim tank
  ashlar pool trim tank --wait
  ashlar pool trim tank --stop
Ashlar tells drives of space that becomes free while the pool is open, unless
autotrim is off (ashlar pool set); this is for space that was free before. The
trim goes on in the daemon, until the daemon ends.")]
    Trim {
        /// Its name or UUID
        pool: String,
        /// Wait until all drives have been told
        #[arg(long)]
        wait: bool,
        /// Stop the trim that is under way
        #[arg(long, conflicts_with = "wait")]
        stop: bool,
    },
}

/// How the capacity of a pool is shown.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum CapacityFormat {
    /// The whole ledger
    Table,
    /// The fields of sfx_capacity_stat
    Sfx,
}
