//! Why something that an administrator asked for was not done.

use ashlar_block::{ByteSize, InvalidName, IoError, counted_are};
use ashlar_store::{
    AddError, CapacityError, Compression, CreateError, FailError, GrowError, Levels,
    OPEN_ANSWER_MAX, OpenError, OverPromised, RejoinError, RemoveError, RenameError, TrimError,
};

use crate::attributes::HOSTS_MAX;
use crate::dispatcher::Gone;
use crate::qos::QosError;

/// Why something that an administrator asked for was not done. Nothing has changed then, unless the
/// variant says so.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NodeError {
    /// No pool of that name or UUID is open.
    #[error("there is no pool '{0}' here: `ashlar pool list` shows which there are")]
    NoSuchPool(String),
    /// The pool has no such volume.
    #[error("pool '{pool}' has no volume '{volume}': `ashlar volume list` shows which there are")]
    NoSuchVolume {
        /// The pool.
        pool: String,
        /// The name in question.
        volume: String,
    },
    /// A pool of that name is open.
    #[error(
        "there is a pool '{0}' already: choose another name, or rename that one (`ashlar pool rename {0} NEW`)"
    )]
    PoolExists(String),
    /// A fault in Ashlar itself has stopped the pool: what was asked for may have been done in
    /// part.
    #[error(
        "a fault in Ashlar itself has taken pool '{pool}' out of service: {why}. What it has \
         acknowledged is on its drives, and `ashlar pool import {pool}` opens it again. Please \
         report this"
    )]
    Stopped {
        /// The pool.
        pool: String,
        /// What the panic said, and where.
        why: String,
    },
    /// What is where a drive was is an old copy of it.
    #[error("{0}")]
    OlderCopy(String),
    /// Another machine has opened the pool.
    #[error(
        "machine '{holder}' has opened pool '{pool}', so this machine leaves its drives alone: \
         `ashlar pool export {pool}` lets go of it here"
    )]
    Taken {
        /// The pool.
        pool: String,
        /// What people call the machine.
        holder: String,
    },
    /// Another machine has a pool open that the drive belongs to.
    #[error(
        "{spec} belongs to pool '{pool}', which machine '{holder}' has open: remove it there first \
         (`ashlar pool remove-drive`)"
    )]
    InUseElsewhere {
        /// The drive.
        spec: String,
        /// The pool.
        pool: String,
        /// What people call the machine.
        holder: String,
    },
    /// The pool has such a volume.
    #[error("there is a volume '{pool}/{volume}' already: choose another name")]
    VolumeExists {
        /// The pool.
        pool: String,
        /// The name.
        volume: String,
    },
    /// The drives are those of a pool whose name nobody could write.
    #[error(
        "the pool on these drives is called '{0}', which cannot be a name: open it by its UUID. \
         `ashlar pool import {1} --drive ...` does that, and `--name NEW` gives it another name"
    )]
    PoolName(String, String),
    /// Not a name.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// A drive cannot be opened or read.
    #[error("{0}")]
    Drive(String),
    /// A drive hangs.
    #[error(
        "{0}: it has not answered for {seconds} s: take another drive, or try again once it does",
        seconds = OPEN_ANSWER_MAX.as_secs()
    )]
    NoAnswer(String),
    /// The same drive was named twice.
    #[error("{0} and {1} are the same drive: name it once")]
    SameDrive(String, String),
    /// A drive is in use by a pool of this daemon.
    #[error("{spec}: in use by pool '{pool}' of this daemon")]
    DriveOfPool {
        /// The drive.
        spec: String,
        /// The pool.
        pool: String,
    },
    /// A drive of a pool that was destroyed is being erased.
    #[error(
        "{spec}: it is being erased, because its pool was destroyed with --secure: try again once \
         that is done"
    )]
    BeingErased {
        /// The drive.
        spec: String,
    },
    /// A drive is one that a pool of this daemon has lost.
    #[error(
        "{spec}: it is {drive} of pool '{pool}', which has lost it: `ashlar drive return \
         {pool}/{drive}` takes it back. Once the rebuild is done, `ashlar pool remove-drive {pool} \
         {drive}` frees it"
    )]
    LostByPool {
        /// The drive.
        spec: String,
        /// Its name within the pool.
        drive: String,
        /// The pool.
        pool: String,
    },
    /// A drive holds something.
    #[error("{spec} holds {content}")]
    Holds {
        /// The drive.
        spec: String,
        /// What, as a phrase.
        content: String,
        /// Whether that is a pool, or what is left of one.
        is_of_pool: bool,
    },
    /// No drives were named.
    #[error(
        "no drive was given: name each with --drive. `ashlar pool import` lists the pools that block \
         devices have and that are not open, each with its command"
    )]
    NoDrives,
    /// None of the drives is a member of the pool.
    #[error("none of the drives is a member of {pool}: {why}")]
    NoMembers {
        /// The pool in question, as a phrase.
        pool: String,
        /// What they are instead, each.
        why: String,
    },
    /// Of a pool that the node has no drive is there.
    #[error("none of the pool's drives is there: {why}")]
    NoneThere {
        /// What is where they were, each.
        why: String,
    },
    /// Somebody has stopped the opening of a pool.
    #[error(
        "another command, or the end of the daemon, stopped the opening of {pool}: `ashlar pool \
         import` opens it"
    )]
    OpeningStopped {
        /// The pool in question, as a phrase.
        pool: String,
    },
    /// The drives are those of several pools.
    #[error(
        "the drives belong to several pools ({pools}): name one of them by its {}",
        if *have_one_name { "UUID" } else { "name or UUID" }
    )]
    SeveralPools {
        /// The name and UUID of each.
        pools: String,
        /// Of two the names are the same.
        have_one_name: bool,
    },
    /// The store refused to make a pool.
    #[error("{0}")]
    Create(#[from] CreateError),
    /// The store refused to make a pool, because of one drive.
    #[error("{spec}: {error}")]
    CreateDrive {
        /// The drive.
        spec: String,
        /// Why.
        error: CreateError,
    },
    /// The store refused to take a drive into a pool.
    #[error("{spec}: {error}")]
    AddDrive {
        /// The drive.
        spec: String,
        /// Why.
        error: AddError,
    },
    /// A pool keeps its name.
    #[error("pool '{pool}' keeps its name: {error}")]
    RenamePool {
        /// The pool.
        pool: String,
        /// Why.
        error: RenameError,
    },
    /// A pool has no such drive.
    #[error("pool '{pool}' has no drive '{drive}': `ashlar pool show {pool}` lists its drives")]
    NoSuchDrive {
        /// The pool.
        pool: String,
        /// The name in question.
        drive: String,
    },
    /// The store refused to give a drive up.
    #[error("{}", why_kept(pool, error))]
    FailDrive {
        /// The pool.
        pool: String,
        /// Why.
        error: FailError,
    },
    /// The store refused to remove a drive.
    #[error("pool '{pool}': {error}")]
    RemoveDrive {
        /// The pool.
        pool: String,
        /// Why.
        error: RemoveError,
    },
    /// The store refused to take a drive back.
    #[error("{0}")]
    ReturnDrive(#[from] RejoinError),
    /// Somebody wants to return a drive that the pool has not lost.
    #[error("{pool}/{drive} works: the pool has not lost it. {}", lost_instead(pool, lost))]
    NotLost {
        /// The pool.
        pool: String,
        /// The drive, as the pool names it.
        drive: String,
        /// Those that are lost, each by its name.
        lost: Vec<String>,
    },
    /// The path of a drive that somebody wants to return is not known.
    #[error("Ashlar does not know the path of {0}: name it with `--at PATH`")]
    Whereabouts(String),
    /// A drive was taken instead of another one, which cannot be removed.
    #[error(
        "{with} is a member of the pool now, but the drive that it replaces cannot be removed: {error}"
    )]
    ReplaceDrive {
        /// The drive that was added.
        with: String,
        /// Why the other stays.
        error: Box<NodeError>,
    },
    /// The store refused to open a pool.
    #[error("pool '{name}': {error}{why}")]
    Open {
        /// The pool.
        name: String,
        /// Why.
        error: OpenError,
        /// What is known of drives that are missing, as a continuation; or nothing.
        why: String,
    },
    /// All numbers that a namespace can have were given out.
    #[error(
        "no namespace number is left: an imported pool has a volume with the highest number there \
         is, and Ashlar never gives out a number twice. Start a daemon with a new state directory \
         (`--state`), and import the pools there"
    )]
    NoNumber,
    /// A size that no volume can have.
    #[error("{0}")]
    Size(String),
    /// Shrinking loses what lies beyond the new size.
    #[error(
        "the volume would shrink from {from} to {to} and lose what lies beyond: add `--yes` to consent"
    )]
    Shrinks {
        /// The present size.
        from: ByteSize,
        /// The size asked for.
        to: ByteSize,
    },
    /// What lies beyond the new size would be lost, and nothing of it may be written to.
    #[error(
        "volume '{volume}' is write protected, and to shrink it would lose data: `ashlar volume \
         set {volume} --write-protect off` allows that"
    )]
    ShrinksProtected {
        /// The volume, as POOL/NAME.
        volume: String,
    },
    /// A pool takes no writes.
    #[error("pool '{pool}' is read-only: {why}")]
    ReadOnly {
        /// The pool.
        pool: String,
        /// Why.
        why: String,
    },
    /// All data would be lost, and nothing of it may be written to.
    #[error(
        "volume '{volume}' is write protected, and to wipe it would lose its data: `ashlar volume \
         set {volume} --write-protect off` allows that"
    )]
    WipesProtected {
        /// The volume, as POOL/NAME.
        volume: String,
    },
    /// Hosts would be told that more is atomic than the pool writes as one.
    #[error(
        "pool '{pool}' writes at most {most} as one, because its chunks are small, and {bytes} was \
         asked for: choose a power of two up to that, or off"
    )]
    AtomicAbove {
        /// The pool.
        pool: String,
        /// What was asked for.
        bytes: ByteSize,
        /// What can be.
        most: ByteSize,
    },
    /// A change does not fit who may see a volume.
    #[error("volume '{volume}': {why}")]
    Access {
        /// The volume, as POOL/NAME.
        volume: String,
        /// Why, and the way out.
        why: String,
    },
    /// The access list is full.
    #[error(
        "a volume's access list has room for {HOSTS_MAX} hosts: allow `any`, or deny some hosts first"
    )]
    TooManyHosts,
    /// A policy cannot be so.
    #[error(transparent)]
    Qos(#[from] QosError),
    /// The store could not do it.
    #[error("{0}")]
    Io(#[from] IoError),
    /// The formatted capacity of a pool stays as it is.
    #[error("pool '{pool}': {error}")]
    Capacity {
        /// The pool.
        pool: String,
        /// Why.
        error: CapacityError,
    },
    /// Volumes would be promised more than is formatted.
    #[error("pool '{pool}': {error}")]
    OverPromised {
        /// The pool.
        pool: String,
        /// By how much.
        error: OverPromised,
    },
    /// An older Ashlar has made the pool, and could not read what zstd stores.
    #[error(
        "pool '{pool}' was made by an Ashlar without zstd, so that '{compression}' cannot be: choose \
         none, lz4 or auto, or move the volume to a new pool"
    )]
    NoZstd {
        /// The pool.
        pool: String,
        /// What was wanted.
        compression: Compression,
    },
    /// What an operator has chosen cannot be.
    #[error(
        "warn={}, throttle={} and stop={} cannot be: each is 1 to 100 percent of what may live, and \
         neither warn nor throttle is above stop",
        .0.warn, .0.throttle, .0.stop
    )]
    Levels(Levels),
    /// The room of drives was not taken.
    #[error("{0}")]
    Grow(GrowError),
    /// No trim was begun.
    #[error("{0}")]
    Trim(TrimError),
    /// The reactor has ended.
    #[error(transparent)]
    Gone(#[from] Gone),
}

impl NodeError {
    /// Why the capacity of `pool` stays as it is.
    pub(crate) fn of_capacity(pool: &str, error: CapacityError) -> Self {
        match error {
            CapacityError::Pool(error) => NodeError::Io(error),
            error => NodeError::Capacity { pool: pool.to_owned(), error },
        }
    }

    /// The drive holds something that is not Ashlar's, and that may be lost only where somebody
    /// says so.
    pub fn holds_foreign(spec: &str, what: &str) -> Self {
        let content = format!("{what}, which is not Ashlar's");
        NodeError::Holds { spec: spec.to_owned(), content, is_of_pool: false }
    }

    /// What there is to say where the pool that it is about is named already.
    pub fn of_its_pool(&self) -> String {
        match self {
            NodeError::Open { error, why, .. } => format!("{error}{why}"),
            NodeError::OpeningStopped { .. } => {
                NodeError::OpeningStopped { pool: "the pool".to_owned() }.to_string()
            }
            error => error.to_string(),
        }
    }
}

/// Why a drive is not given up, and the way out.
fn why_kept(pool: &str, error: &FailError) -> String {
    match error {
        FailError::NotUsed(drive) => {
            format!("the pool has lost {pool}/drive-{} already", drive.0)
        }
        FailError::TooMany { drive, lost: 0 } => format!(
            "the level of pool '{pool}' survives no loss: without {pool}/drive-{number} data \
             cannot be read, and nothing can be written, until it is back. `ashlar drive fail \
             {pool}/drive-{number} --force` gives it up all the same",
            number = drive.0
        ),
        FailError::TooMany { drive, lost } => format!(
            "{lost} lost of pool '{pool}', and its level survives no more: without \
             {pool}/drive-{number} data cannot be read, and nothing can be written, until it is \
             back. `ashlar drive fail {pool}/drive-{number} --force` gives it up all the same",
            lost = counted_are(*lost, "drive"),
            number = drive.0
        ),
        FailError::Pool(error) => format!("pool '{pool}': {error}"),
    }
}

fn lost_instead(pool: &str, lost: &[String]) -> String {
    let named: Vec<String> = lost.iter().map(|drive| format!("{pool}/{drive}")).collect();
    match named.as_slice() {
        [] => format!("Pool '{pool}' has lost no drive"),
        _ => format!("It has lost {}", named.join(", ")),
    }
}

impl From<GrowError> for NodeError {
    fn from(error: GrowError) -> Self {
        match error {
            GrowError::Pool(error) => NodeError::Io(error),
            error => NodeError::Grow(error),
        }
    }
}

impl From<TrimError> for NodeError {
    fn from(error: TrimError) -> Self {
        match error {
            TrimError::Pool(error) => NodeError::Io(error),
            error @ TrimError::NoDrive(_) => NodeError::Trim(error),
        }
    }
}

#[cfg(test)]
mod tests;
