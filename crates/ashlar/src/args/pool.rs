//! What can be asked about pools.

use ashlar_block::ByteSize;
use clap::Subcommand;

/// About pools.
#[derive(Subcommand, Debug)]
pub enum PoolCommand {
    /// Make a pool of drives
    #[command(after_help = "Examples:
  ashlar pool create tank --level 5 \\
      --drive /dev/nvme1n1 --drive /dev/nvme2n1 --drive /dev/nvme3n1
  ashlar pool create tank --level 5 --drive file:/d/0.img,size=4GiB \\
      --drive file:/d/1.img,size=4GiB --drive file:/d/2.img,size=4GiB
A file that does not exist is made, all of its space reserved; sparse=on takes
it as it is written. Drives in memory (mem:1GiB) are for tests: they go with
the daemon. With model=nvme-gen4, sata-ssd, nlsas-hdd or the path of a profile
(FILE.toml) a file or memory takes as long as such a drive would. A comma in
the path of a file is written \\,")]
    Create {
        /// Its name
        name: String,
        /// Protection: 0 none; 1 and 1x3 two and three copies, on at least 2 and 3 drives; 5, 6,
        /// 7.3 one, two, three parities, on at least 3, 4, 5; or N+M, N data and M parity columns,
        /// on at least N + M. As many drives may be lost as there are parities or further copies.
        /// 10, 50, 60 and 70 become 1, 5, 6 and 7.3
        #[arg(long)]
        level: String,
        /// A drive: /dev/NAME, file:PATH (size=SIZE, sparse=on and model=MODEL may follow, after
        /// commas) or mem:SIZE; repeatable
        #[arg(long = "drive", value_name = "DRIVE", required = true)]
        drives: Vec<String>,
        /// Take drives that hold something: it is lost
        #[arg(long)]
        force: bool,
        /// Bytes of a chunk, a power of two [default: by the size of the drives]
        #[arg(long, value_name = "SIZE")]
        chunk_size: Option<ByteSize>,
    },
    /// List the pools
    #[command(after_help = "Example:\n  ashlar pool list")]
    List,
    /// Show a pool, its drives and its figures
    #[command(after_help = "Example:\n  ashlar pool show tank --output json")]
    Show {
        /// Its name or UUID
        pool: String,
    },
    /// Open a pool that is on drives
    #[command(after_help = "Examples:
  ashlar pool import --drive /dev/nvme1n1 --drive /dev/nvme2n1
  ashlar pool import tank --drive /mnt/drives
  ashlar pool import tank --drive /mnt/drives --degraded
  ashlar pool import tank --drive /mnt/drives --name dozer
Of a directory every file that is a drive of a pool is taken. In which order,
and at which paths, is of no account.")]
    Import {
        /// Its name or UUID, if the drives belong to several pools
        pool: Option<String>,
        /// A drive, or a directory to look for drives in; repeatable. Without it, a pool that this
        /// node has and that is not open is opened, wherever its drives are
        #[arg(long = "drive", value_name = "DRIVE", required_unless_present = "pool")]
        drives: Vec<String>,
        /// The name that it is to have from now on, if another pool has its own
        #[arg(long, value_name = "NEW")]
        name: Option<String>,
        /// Open it even if drives are missing, as many as its level survives
        #[arg(long)]
        degraded: bool,
    },
    /// Give a pool another name: hosts see its volumes all the while
    #[command(after_help = "Example:\n  ashlar pool rename tank dozer")]
    Rename {
        /// Its name or UUID
        pool: String,
        /// Its new name
        name: String,
    },
    /// Take a drive into a pool: new data and rebuilds go to it as well, and after a rebalance its
    /// share of what is there
    #[command(
        name = "add-drive",
        after_help = "Examples:
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
    },
    /// Remove a drive from a pool: what lives on it is moved to the others first, under load
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
        /// Let it stay instead, if it is being removed
        #[arg(long, conflicts_with = "wait")]
        cancel: bool,
        /// Wait until it is no member any more
        #[arg(long)]
        wait: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Take a drive into a pool instead of another one, which may be lost or still work
    #[command(after_help = "Examples:
  ashlar pool replace tank drive-2 /dev/nvme4n1
  ashlar pool replace tank drive-2 /dev/nvme4n1 --wait
  ashlar pool replace tank drive-2 file:/d/9.img,size=4GiB")]
    Replace {
        /// The pool's name or UUID
        pool: String,
        /// The drive that goes, as ashlar pool show names it
        drive: String,
        /// The drive that comes, as when a pool is created
        with: String,
        /// Take it although it holds something: that is lost
        #[arg(long)]
        force: bool,
        /// Wait until the drive that goes is no member any more
        #[arg(long)]
        wait: bool,
    },
    /// Give a pool spares: drives that are taken by themselves for those that it loses
    #[command(
        subcommand,
        after_help = "Examples:
  ashlar pool spare add tank /dev/nvme5n1
  ashlar pool spare remove tank /dev/nvme5n1"
    )]
    Spare(SpareCommand),
    /// Change how a pool works
    #[command(after_help = "Settings:
  recon-prio=1..100   part of the time that the rebuild of lost drives, or a
                      rebalance, may have, in percent [default: 100]; given
                      alone it turns recon-p99 off
  recon-p99=2ms       instead of that: 99 of 100 answers to hosts come within
                      this time, and it takes what is left; a whole number of
                      us, ms or s, up to 60s, or off [default: off]
  scrub-prio=1..100   part of the time that scrubs may have, in percent
                      [default: 5]
  scrub-interval=30d  how long after the end of a scrub the next one begins:
                      days (30d; 3650d at most), hours (12h) or off
                      [default: 30d]
  fault-threshold=10  a drive that refuses reads or gives wrong bytes so often
                      within 10 minutes is given up, where redundancy allows;
                      off [default: 10]
  io-timeout=20s      a drive that gives no answer at all for so long is given
                      up, where redundancy allows; 2s to 3600s or off
                      [default: 20s]
  autotrim=on         drives that can be told (TRIM, holes in files) are told
                      of space as it becomes free; off [default: on]
Examples:
  ashlar pool set tank recon-prio=10
  ashlar pool set tank recon-p99=2ms
  ashlar pool set tank scrub-prio=20 scrub-interval=14d")]
    Set {
        /// Its name or UUID
        pool: String,
        /// What is to change
        #[arg(value_name = "SETTING=VALUE", required = true)]
        settings: Vec<String>,
    },
    /// Show how far the rebuild of lost drives is, which goes on by itself
    #[command(after_help = "Examples:\n  ashlar pool rebuild tank\n  ashlar pool rebuild tank --wait")]
    Rebuild {
        /// Its name or UUID
        pool: String,
        /// Wait until all that lived on lost drives is on others
        #[arg(long)]
        wait: bool,
    },
    /// Let hosts have what was kept for when the pool is full
    #[command(
        name = "release-reserve",
        after_help = "Example:
  ashlar pool release-reserve tank
A file system on a full volume may need room to replay its journal, to be
checked and to delete files. The reserve is kept again by itself once twice its
size is safe to write: with the next checkpoint, which comes half a minute after
the last write where nothing else is to be done."
    )]
    ReleaseReserve {
        /// Its name or UUID
        pool: String,
    },
    /// Spread what is stored over all drives, in stripes as wide as they allow: after drives were
    /// added
    #[command(after_help = "Examples:
  ashlar pool rebalance tank
  ashlar pool rebalance tank --wait
  ashlar pool rebalance tank --stop
It goes on without whoever asked for it, over restarts, too, and keeps to
recon-prio or recon-p99.")]
    Rebalance {
        /// Its name or UUID
        pool: String,
        /// Wait until it is done
        #[arg(long)]
        wait: bool,
        /// Stop the one that is under way instead: everything stays where it is
        #[arg(long, conflicts_with = "wait")]
        stop: bool,
    },
    /// Read all that is stored and make right what is wrong, which is done by schedule as well
    #[command(after_help = "Examples:
  ashlar pool scrub tank
  ashlar pool scrub tank --wait
  ashlar pool scrub tank --stop
It names the drives that had something wrong, and goes on without whoever
asked for it. With --wait it is an error if something could not be made right.")]
    Scrub {
        /// Its name or UUID
        pool: String,
        /// Wait until everything has been looked at
        #[arg(long)]
        wait: bool,
        /// Stop the scrub that is under way instead
        #[arg(long, conflicts_with = "wait")]
        stop: bool,
    },
    /// Take the room of drives that have become larger
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
What becomes free while the pool is open is told by itself, unless
ashlar pool set POOL autotrim=off; this is for what was free before. It goes on
without whoever asked for it, until the daemon ends.")]
    Trim {
        /// Its name or UUID
        pool: String,
        /// Wait until all drives have been told
        #[arg(long)]
        wait: bool,
    },
    /// Prove what is on the drives of a pool that is not open, without a daemon: nothing is changed
    #[command(after_help = "Examples:
  ashlar pool check /dev/nvme1n1 /dev/nvme2n1 /dev/nvme3n1
  ashlar pool check /mnt/drives/*.img --output json
It reads superblocks, roots, the segment table, the maps and the catalog, and
then every batch with its checksums and its parity, and says what is wrong, on
which drive, and whether the others give it back. It is an error if anything is
wrong, or if a drive is missing. While it runs, nobody on this machine can open
the pool.")]
    Check {
        /// The drives of the pool: block devices or files
        #[arg(value_name = "DRIVE", required = true)]
        drives: Vec<String>,
        /// Memory for what is compared, at most [default: a quarter of what is free]
        #[arg(long, value_name = "SIZE")]
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
    #[command(after_help = "Example:\n  ashlar pool destroy tank --yes")]
    Destroy {
        /// Its name or UUID
        pool: String,
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
    /// When the pool loses a drive it is taken within seconds, and what lived on the lost one is
    /// rebuilt to all drives, the new one included. A pool that is lacking a drive already takes it
    /// at once.
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
    },
    /// Take a spare from a pool: the drive is nobody's then
    #[command(after_help = "Example:\n  ashlar pool spare remove tank /dev/nvme5n1")]
    Remove {
        /// The pool's name or UUID
        pool: String,
        /// The drive, as ashlar pool show names it
        drive: String,
    },
}
