//! The commands about pools.

use ashlar_block::ByteSize;
use clap::{Args, Subcommand};

use super::room::RoomCommand;

/// Least memory of a check. With less it would read the maps once more for every few gigabytes.
const CHECK_MEMORY_MIN: ByteSize = ByteSize(16 << 20);

/// The memory of a check.
fn parse_check_memory(text: &str) -> Result<ByteSize, String> {
    let size: ByteSize = text.parse().map_err(|error| format!("{error}"))?;
    if size.0 >= CHECK_MEMORY_MIN.0 {
        return Ok(size);
    }
    Err(format!(
        "it is too little: the check reads all maps anew each time its memory is full; give it \
         {CHECK_MEMORY_MIN} or more"
    ))
}

/// What a pool is made of.
#[derive(Args, Clone, Debug)]
pub struct CreateArguments {
    /// Its name
    pub name: String,
    /// Protection: 0 none; 1 and 1x3 two and three copies, on at least 2 and 3 drives; 5, 6,
    /// 7.3 one, two, three parities, on at least 3, 4, 5; or N+M, N data and M parity columns,
    /// on at least N + M. As many drives may be lost as there are parities or further copies.
    /// 10, 50, 60 and 70 become 1, 5, 6 and 7.3
    #[arg(long)]
    pub level: String,
    /// A drive: /dev/NAME, file:PATH (size=SIZE, sparse=on and model=MODEL may follow, after
    /// commas) or mem:SIZE; repeatable
    #[arg(long = "drive", value_name = "DRIVE", required = true)]
    pub drives: Vec<String>,
    /// Take drives that hold something, which is lost
    #[arg(long)]
    pub force: bool,
    /// The size of a chunk, a power of two from 64KiB to 64MiB, or in bytes [default: by the
    /// size of the drives]
    #[arg(long, value_name = "SIZE")]
    pub chunk_size: Option<ByteSize>,
    /// Volumes may be promised more than the pool is formatted with (pool set overcommit=on)
    #[arg(long)]
    pub overcommit: bool,
    /// Only say what would come of it: everything is checked, and nothing is written
    #[arg(long)]
    pub dry_run: bool,
}

/// About pools.
#[derive(Subcommand, Debug)]
pub enum PoolCommand {
    /// Make a pool of drives
    #[command(after_help = "Examples:
  ashlar pool create tank --level 5 \\
      --drive /dev/nvme1n1 --drive /dev/nvme2n1 --drive /dev/nvme3n1
  ashlar pool create tank --level 5 --drive file:/d/0.img,size=4GiB \\
      --drive file:/d/1.img,size=4GiB --drive file:/d/2.img,size=4GiB
Ashlar makes a file that does not exist, and reserves all of its space; with
sparse=on the file takes space as it is written. Drives in memory (mem:1GiB)
are for tests: they end with the daemon. With model=nvme-gen4, csd-like,
sata-ssd, nlsas-hdd or the path of a profile (FILE.toml) a file or memory is as
slow as such a drive. Write a comma in the path of a file as \\,")]
    Create(CreateArguments),
    /// List the pools
    #[command(after_help = "Example:\n  ashlar pool list")]
    List,
    /// Show a pool, its drives and its figures
    #[command(after_help = "Examples:
  ashlar pool show tank
  ashlar pool show -e tank
  ashlar pool show tank --output json")]
    Show {
        /// Its name or UUID
        pool: String,
        /// Also what its drives say of their health, as of their last answers
        #[arg(short, long)]
        extended: bool,
    },
    /// Open the pool that is on these drives
    #[command(after_help = "Examples:
  ashlar pool import
  ashlar pool import --drive /mnt/drives --dry-run
  ashlar pool import --drive /dev/nvme1n1 --drive /dev/nvme2n1
  ashlar pool import tank --drive /mnt/drives
  ashlar pool import tank --drive /mnt/drives --degraded
  ashlar pool import tank --drive /mnt/drives --name dozer
Of a directory Ashlar takes every file that is a drive of a pool. The order and
the paths of the drives do not matter. Without a pool and drives it only lists
the pools that the block devices of the machine hold and that could be opened.")]
    Import {
        /// Its name or UUID, if the drives belong to several pools
        pool: Option<String>,
        /// A drive, or a directory to look for drives in; repeatable. Without it, Ashlar opens a
        /// closed pool of this node, wherever its drives are
        #[arg(long = "drive", value_name = "DRIVE")]
        drives: Vec<String>,
        /// A new name for good, for a pool whose name another pool has
        #[arg(long, value_name = "NEW")]
        name: Option<String>,
        /// Open it even if drives are missing, as many as its level survives
        #[arg(long)]
        degraded: bool,
        /// List the pools on these drives that are not open, and open none
        #[arg(long)]
        dry_run: bool,
    },
    /// Show what an operator has chosen for a pool, as `pool set` takes it
    #[command(after_help = "Examples:
  ashlar pool get tank
  ashlar pool get tank recon-prio
With one setting named its value alone is printed, for scripts.")]
    Get {
        /// Its name or UUID
        pool: String,
        /// The settings to show [default: all]
        #[arg(value_name = "SETTING")]
        settings: Vec<String>,
    },
    /// Show who has asked for which change of a pool, and what came of it: also under a name that
    /// it had before
    #[command(after_help = "Example:\n  ashlar pool history tank")]
    History {
        /// Its name or UUID; of a pool that is gone, too
        pool: String,
    },
    /// Give a pool another name, while hosts use its volumes
    #[command(after_help = "Example:\n  ashlar pool rename tank dozer")]
    Rename {
        /// Its name or UUID
        pool: String,
        /// Its new name
        name: String,
    },
    /// Add a drive to a pool: new data and rebuilds use it at once, a rebalance moves its share of
    /// the old data there
    #[command(
        name = "add-drive",
        after_help = "Examples:
  ashlar pool add-drive tank /dev/nvme4n1 --dry-run
  ashlar pool add-drive tank /dev/nvme4n1
  ashlar pool add-drive tank file:/d/9.img,size=4GiB"
    )]
    AddDrive {
        /// The pool's name or UUID
        pool: String,
        /// The drive, as when a pool is created
        drive: String,
        /// Take it although it holds something: that is lost
        #[arg(long)]
        force: bool,
        /// Only say what would come of it: everything is checked, and nothing is written
        #[arg(long)]
        dry_run: bool,
    },
    /// Remove a drive from a pool: Ashlar first moves its data to the others, under load
    #[command(
        name = "remove-drive",
        after_help = "Examples:
  ashlar pool remove-drive tank drive-2
  ashlar pool remove-drive tank drive-2 --yes --wait
  ashlar pool remove-drive tank drive-2 --cancel"
    )]
    RemoveDrive {
        /// The pool's name or UUID
        pool: String,
        /// The drive, as ashlar pool show names it
        drive: String,
        /// Cancel the removal: the drive stays
        #[arg(long, conflicts_with = "wait")]
        cancel: bool,
        /// Wait until the drive has left the pool
        #[arg(long)]
        wait: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Replace a drive of a pool, lost or working, with another one
    #[command(after_help = "Examples:
  ashlar pool replace tank drive-2 /dev/nvme4n1
  ashlar pool replace tank drive-2 /dev/nvme4n1 --wait
  ashlar pool replace tank drive-2 file:/d/9.img,size=4GiB")]
    Replace {
        /// The pool's name or UUID
        pool: String,
        /// The drive to replace, as ashlar pool show names it
        drive: String,
        /// The new drive, as when a pool is created
        with: String,
        /// Take it although it holds something: that is lost
        #[arg(long)]
        force: bool,
        /// Only say what would come of it: everything is checked, and nothing is written
        #[arg(long, conflicts_with = "wait")]
        dry_run: bool,
        /// Wait until the old drive has left the pool
        #[arg(long)]
        wait: bool,
    },
    /// Give a pool spares: drives that it takes by itself when it loses others
    #[command(
        subcommand,
        after_help = "Examples:
  ashlar pool spare add tank /dev/nvme5n1
  ashlar pool spare remove tank /dev/nvme5n1"
    )]
    Spare(SpareCommand),
    /// Change the settings of a pool
    #[command(after_help = "Settings:
  recon-prio=1..100   share of the time that the rebuild of lost drives, or a
                      rebalance, may take, in percent [default: 100]; given
                      alone it turns recon-p99 off
  recon-p99=2ms       instead of recon-prio: the rebuild takes what hosts leave
                      while 99 of 100 answers come within this time; a whole
                      number of us, ms or s, up to 60s, or off [default: off]
  scrub-prio=1..100   share of the time that scrubs may take, in percent
                      [default: 5]
  scrub-interval=30d  how long after the end of a scrub the next one begins:
                      days (30d; 3650d at most), hours (12h) or off
                      [default: 30d]
  fault-threshold=10  Ashlar gives up a drive that refuses reads or returns
                      wrong bytes so often within 10 minutes, where redundancy
                      allows; or off [default: 10]
  io-timeout=20s      Ashlar gives up a drive that answers nothing for so long,
                      where redundancy allows; 2s to 3600s, or off
                      [default: 20s]
  autotrim=on         Ashlar tells drives that take discards (TRIM, holes in
                      files) of space as it becomes free; or off [default: on]
  overcommit=off      on: volumes may be promised more than is formatted
                      (set-capacity); the pool may be full before they are
                      [default: off]
  warn=90             how far what may live is used, in percent, when the pool
                      says nearly-full, and hosts' SMART logs that spare is low
                      [default: 90]
  throttle=95         the same when hosts begin to write slower, at most twice
                      as slow for each percent, up to 32 times; 100: never
                      [default: 95]
  stop=100            the same when new data is refused [default: 100]
Examples:
  ashlar pool set tank recon-prio=10
  ashlar pool set tank recon-p99=2ms
  ashlar pool set tank scrub-prio=20 scrub-interval=14d")]
    Set {
        /// Its name or UUID
        pool: String,
        /// The settings to change
        #[arg(value_name = "SETTING=VALUE", required = true)]
        settings: Vec<String>,
    },
    /// Show how far the rebuild of lost drives is; it runs by itself
    #[command(
        after_help = "Examples:\n  ashlar pool rebuild tank\n  ashlar pool rebuild tank --wait"
    )]
    Rebuild {
        /// Its name or UUID
        pool: String,
        /// Wait until the rebuild is done
        #[arg(long)]
        wait: bool,
    },
    /// Spread the stored data over all drives, in stripes as wide as they allow: after you have
    /// added drives
    #[command(after_help = "Examples:
  ashlar pool rebalance tank
  ashlar pool rebalance tank --wait
  ashlar pool rebalance tank --stop
The rebalance goes on in the daemon, over restarts, too, and keeps to recon-prio
or recon-p99.")]
    Rebalance {
        /// Its name or UUID
        pool: String,
        /// Wait until it is done
        #[arg(long)]
        wait: bool,
        /// Stop the rebalance that is under way: data stays where it is
        #[arg(long, conflicts_with = "wait")]
        stop: bool,
    },
    /// Read all that is stored, and repair it from parity. Ashlar also does this every 30 days
    /// (scrub-interval)
    #[command(after_help = "Examples:
  ashlar pool scrub tank
  ashlar pool scrub tank --wait
  ashlar pool scrub tank --stop
The scrub goes on in the daemon, and names the drives that held something wrong.
With --wait the command fails if the scrub could not repair something.")]
    Scrub {
        /// Its name or UUID
        pool: String,
        /// Wait until the scrub has read everything
        #[arg(long)]
        wait: bool,
        /// Stop the scrub that is under way
        #[arg(long, conflicts_with = "wait")]
        stop: bool,
    },
    #[command(flatten)]
    Room(RoomCommand),
    /// Check all that is on the drives of a closed pool, without a daemon; it changes nothing
    #[command(after_help = "Examples:
  ashlar pool check /dev/nvme1n1 /dev/nvme2n1 /dev/nvme3n1
  ashlar pool check /mnt/drives/*.img --output json
It reads superblocks, roots, the segment table, the maps and the catalog, and
then every batch with its checksums and its parity. It says what is wrong, on
which drive, and whether parity restores it. The command fails if anything is
wrong, or if a drive is missing. While it runs, nobody on this machine can open
the pool.")]
    Check {
        /// The drives of the pool: block devices or files
        #[arg(value_name = "DRIVE", required = true)]
        drives: Vec<String>,
        /// Memory for what is compared, at most, as 1GiB, or in bytes; 16MiB or more [default: a
        /// quarter of what is free]
        #[arg(long, value_name = "SIZE", value_parser = parse_check_memory)]
        memory: Option<ByteSize>,
    },
    /// Close a pool and forget it: its drives can go elsewhere
    #[command(after_help = "Example:\n  ashlar pool export tank --yes")]
    Export {
        /// Its name or UUID
        pool: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Close a pool and clear its drives' labels: all that it holds is lost
    #[command(after_help = "Examples:
  ashlar pool destroy tank --yes
  ashlar pool destroy tank --secure --yes
With --secure the daemon erases the drives once the pool is gone: it discards
all of a drive that takes discards, and writes zeros over all of any other. The
command shows how far that is, waits for it, and says which of the two was done.
It goes on without the command, and ends with the daemon.")]
    Destroy {
        /// Its name or UUID
        pool: String,
        /// Also erase its drives, from end to end, and wait for that
        #[arg(long)]
        secure: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

/// About the spares of a pool.
#[derive(Subcommand, Debug)]
pub enum SpareCommand {
    /// Give a pool a spare
    ///
    /// When the pool loses a drive, it takes the spare within seconds, and the rebuild restores the
    /// lost data on all drives, the new one included. A pool that already lacks a drive takes the
    /// spare at once.
    #[command(after_help = "Examples:
  ashlar pool spare add tank /dev/nvme5n1
  ashlar pool spare add tank file:/d/9.img,size=4GiB")]
    Add {
        /// The pool's name or UUID
        pool: String,
        /// The drive, as when a pool is created
        drive: String,
        /// Take it although it holds something: that is lost, now
        #[arg(long)]
        force: bool,
        /// Only say what would come of it: everything is checked, and nothing is written
        #[arg(long)]
        dry_run: bool,
    },
    /// Take a spare from a pool: the drive is free then
    #[command(after_help = "Example:\n  ashlar pool spare remove tank /dev/nvme5n1")]
    Remove {
        /// The pool's name or UUID
        pool: String,
        /// The drive, as ashlar pool show names it
        drive: String,
    },
}
