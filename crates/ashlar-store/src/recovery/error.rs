//! Why a pool is not opened, with the way out.

use ashlar_block::{DriveId, IoError};
use ashlar_format::ids::RootGeneration;

/// Why a pool cannot be opened.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OpenError {
    /// No drives were given, or of several pools.
    #[error("the drives belong to {0} pools, and must belong to one")]
    NotOnePool(usize),
    /// Two drives claim to be the same member.
    #[error(
        "two drives both claim to be {0} of the pool: one is a copy of the other. Take the copy away"
    )]
    Cloned(DriveId),
    /// No drive has a root.
    #[error(
        "no drive holds a valid root: was the pool's creation interrupted? Then clear the labels \
         of its drives (`ashlar drive label-clear`), and create it again"
    )]
    NoRoot,
    /// The segment table of the newest root cannot be read from any drive.
    #[error(
        "the segment table of the newest root ({0:?}) cannot be read from any drive: attach the \
         missing drives, then open the pool again"
    )]
    NoTable(RootGeneration),
    /// Members are missing, more than the level survives.
    #[error("{} of {members} drives are missing ({}), and the pool's level survives {parity}", missing.len(), names(missing))]
    TooManyMissing {
        /// Which.
        missing: Vec<DriveId>,
        /// Of how many.
        members: usize,
        /// How many may be.
        parity: usize,
    },
    /// The creation of the pool was interrupted, and drives that it was given are missing.
    #[error(
        "the pool's creation was interrupted, and drives are missing ({}): clear the labels of the \
         others (`ashlar drive label-clear`), and create the pool again",
        names(missing)
    )]
    Unfinished {
        /// Which.
        missing: Vec<DriveId>,
    },
    /// Drives are missing: opening without them needs `--degraded`.
    #[error(
        "some of {members} drives are missing ({}): attach them, or open the pool without them \
         (`ashlar pool import` with `--degraded`)",
        names(missing)
    )]
    NotWhole {
        /// Which.
        missing: Vec<DriveId>,
        /// Of how many.
        members: usize,
    },
    /// Half of the drives or more are missing: opening without them needs `--degraded`.
    #[error(
        "{} of {members} drives are missing ({}), half of them or more: attach them, or open the \
         pool without them (`ashlar pool import` with `--degraded`)",
        missing.len(), names(missing)
    )]
    HalfMissing {
        /// Which.
        missing: Vec<DriveId>,
        /// Of how many.
        members: usize,
    },
    /// A machine opened the pool with a drive and without the others.
    #[error(
        "a machine opened the pool with {drive} and without the other drives, and both parts were \
         written to: they cannot be merged. Clear the label of {drive} (`ashlar drive \
         label-clear`), which gives up what only it holds; or open the pool without the others"
    )]
    Diverged {
        /// Which.
        drive: DriveId,
    },
    /// Another machine has the pool open.
    #[error(
        "machine '{holder}' has the pool open: export it there (`ashlar pool export`), or stop \
         that machine and open the pool here 16 s later"
    )]
    InUse {
        /// What people call it.
        holder: String,
    },
    /// Another machine has closed the pool, or may have gone on with it, while it was to be opened
    /// here.
    #[error(
        "another machine may have opened the pool at the same time: give the same command again"
    )]
    Unsure,
    /// Too few drives confirm the lease of this machine.
    #[error(
        "only {claimed} drives hold this machine's heartbeat, and {needed} must: look for errors \
         of the others in the kernel's log (`dmesg`), then open the pool again"
    )]
    Unclaimed {
        /// That have.
        claimed: usize,
        /// That must.
        needed: usize,
    },
    /// A drive's root could not be read, or a page of the maps.
    #[error("{0}")]
    Io(#[from] IoError),
    /// What was read is not what it should be.
    #[error("{0}")]
    Malformed(#[from] ashlar_format::codec::Malformed),
    /// The catalog is not what it should be, or a newer version has written it.
    #[error("{0}")]
    Catalog(#[from] ashlar_format::fields::FieldsError),
    /// A file-backed drive cannot be written.
    #[error(
        "the file system under a file-backed drive is full: make room there, then open the pool again"
    )]
    FileSystemFull,
    /// No segment is free to append recovered batches to.
    #[error(
        "recovery found no free segment to append recovered batches to: attach the missing drives, \
         then open the pool again"
    )]
    NoRoom,
}

fn names(drives: &[DriveId]) -> String {
    drives.iter().map(DriveId::to_string).collect::<Vec<_>>().join(", ")
}
