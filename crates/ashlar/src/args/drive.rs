//! The commands about drives.

use clap::Subcommand;

/// About drives.
#[derive(Subcommand, Debug)]
pub enum DriveCommand {
    /// List the drives of all pools
    #[command(after_help = "Example:\n  ashlar drive list")]
    List,
    /// Show what a drive is and holds
    #[command(after_help = "Examples:
  ashlar drive show tank/drive-2
  ashlar drive show -e tank/drive-2
  ashlar drive show /dev/nvme1n1
  ashlar drive show file:/d/0.img")]
    Show {
        /// The drive: its path, or POOL/DRIVE of an open pool
        drive: String,
        /// Also what the drive says of its health; a member of an open pool, as of its last answer
        #[arg(short, long)]
        extended: bool,
    },
    /// Switch the light of a drive's slot on, so that you find the drive, or off again
    ///
    /// The kernel has to know the slot: its driver `ses` knows those of SAS and SATA enclosures,
    /// Linux 6.13 those of NVMe drives whose machine follows PCIe's NPEM. `drive show` tells the
    /// slot. Of a lost drive of an open pool the slot counts that it was in last.
    #[command(after_help = "Examples:
  ashlar drive locate tank/drive-2
  ashlar drive locate tank/drive-2 --off
  ashlar drive locate /dev/sdc")]
    Locate {
        /// POOL/DRIVE, as ashlar pool show names it, or its path
        drive: String,
        /// Switch it off
        #[arg(long)]
        off: bool,
    },
    /// Give a drive of a pool up, as if it had been pulled: Ashlar rebuilds its data on the others
    #[command(
        after_help = "Examples:\n  ashlar drive fail tank/drive-2\n  ashlar drive fail tank/2 --yes"
    )]
    Fail {
        /// POOL/DRIVE, as ashlar pool show names it, or its path
        drive: String,
        /// Also if the pool cannot read data without it
        #[arg(long)]
        force: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Return a lost drive to its pool: Ashlar restores what the drive has missed
    ///
    /// A pool that has lost more drives than its level survives takes no writes. Once enough of
    /// them are back, this opens the pool anew, with all drives that are there; until then the pool
    /// stays as it is.
    ///
    /// Otherwise the drive gets a new number, which the command prints. The old number still names
    /// the drive until Ashlar has restored what it missed. Its path (tank//dev/nvme5n1) names it
    /// under any number: use the path in scripts.
    #[command(after_help = "Examples:
  ashlar drive return tank/drive-2
  ashlar drive return tank//dev/nvme5n1
  ashlar drive return tank/drive-2 --at /dev/nvme5n1")]
    Return {
        /// POOL/DRIVE, as ashlar pool show names it, or its old path
        drive: String,
        /// Its path now, if that has changed
        #[arg(long, value_name = "DRIVE")]
        at: Option<String>,
    },
    /// Restore the labels of drives whose ends were overwritten, for example by a partition table
    ///
    /// Writes the label at both ends of each drive again, from the copy inside the drive. What was
    /// written there instead, a partition table for example, is lost; the pool's data are not
    /// touched. Opens no pool: ashlar pool import does that.
    #[command(after_help = "Examples:
  ashlar drive label-restore /dev/nvme1n1
  ashlar drive label-restore file:/d/0.img
  ashlar drive label-restore /dev/nvme{1,2,3}n1 --yes")]
    LabelRestore {
        /// The drives
        #[arg(required = true)]
        drives: Vec<String>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Take a pool's label off a drive that no open pool uses
    #[command(after_help = "Example:\n  ashlar drive label-clear /dev/nvme1n1 --yes")]
    LabelClear {
        /// The drive
        drive: String,
        /// Also if it holds something that is not Ashlar's
        #[arg(long)]
        force: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}
