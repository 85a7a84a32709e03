//! Where drives come from, as far as volumes need to know: what implements it knows devices and
//! files.

use std::future::Future;
use std::path::PathBuf;

use ashlar_block::{AlignedBuf, ByteSize, Device, DeviceError, DriveUuid, SECTOR_BYTES, World};
use ashlar_store::format::superblock::{Superblock, SuperblockError};
use ashlar_store::label_to_restore;

use ashlar_block::place::path_of;

/// What opens drives for one reactor, by the text that people name them with.
pub trait DriveProvider: Clone + 'static {
    /// A drive. Clones are the same one.
    type Device: Device + Clone;
    /// Where stores of such drives live.
    type World: World<Device = Self::Device>;

    /// The world of this reactor.
    fn world(&self) -> Self::World;

    /// Opens a drive for this process alone, and holds nothing else of the reactor up; makes it
    /// first if it is not there, `make` says so and its text tells the size.
    ///
    /// # Errors
    /// A sentence that names the drive, the reason and the way out.
    fn open(
        &self,
        spec: &str,
        make: bool,
    ) -> impl Future<Output = Result<ProvidedDrive<Self::Device>, String>>;

    /// Whether there is something by this text that [`Self::open`] need not make.
    fn exists(&self, spec: &str) -> bool;

    /// What tells whether two texts name the same drive; `None` if each names one of its own.
    fn identity(&self, spec: &str) -> Option<String>;

    /// Undoes the making of a drive that [`ProvidedDrive::made`] was set for.
    fn unmake(&self, spec: &str);

    /// What a drive holds that is not Ashlar's; `None` if it is blank.
    ///
    /// # Errors
    /// When it cannot be read.
    fn foreign(
        &self,
        device: &Self::Device,
    ) -> impl Future<Output = Result<Option<String>, DeviceError>>;

    /// Looks whether the drive is still there, after which a missing one answers nothing any more.
    fn is_present(&self, device: &Self::Device) -> bool;

    /// The same of a drive that may have failed: whether something is there that could be it.
    fn is_there(&self, device: &Self::Device) -> bool {
        self.is_present(device)
    }

    /// Where drives with the label of this pool are, as far as it is known now. Does not wait.
    fn sought(&self, pool: &str) -> Sought {
        let _ = pool;
        Sought::default()
    }

    /// The name that is remembered and shown for the block device that the kernel calls so, if it
    /// has one that outlives restarts.
    fn stable_name(&self, kernel: &str) -> Option<String> {
        let _ = kernel;
        None
    }
}

/// Where drives with the label of a pool are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sought {
    /// One place for each of them, with the identity that its label gives.
    pub drives: Vec<(DriveUuid, String)>,
    /// Where members were, and no member of the pool is now.
    pub missed: Vec<NoMember>,
}

/// A drive that is no member of the pool in question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoMember {
    /// Where it is.
    pub spec: String,
    /// What it is instead, as a sentence that names it.
    pub why: String,
}

/// A drive that has been opened.
#[derive(Clone)]
pub struct ProvidedDrive<D> {
    /// The drive.
    pub device: D,
    /// What is known of it.
    pub facts: DriveFacts,
    /// It was not there and has been made.
    pub made: bool,
}

impl<D: Device> ProvidedDrive<D> {
    /// What there is to say, as a sentence to be continued, of a member that was longer when its
    /// label was written: what is not there any more is found missing only as it is read. `None`:
    /// all of it is there.
    pub(crate) fn cut_short(&self, label: &Superblock) -> Option<String> {
        let (has, had) = (self.device.size_bytes(), label.drive_bytes);
        let (at, number, pool) = (path_of(&self.facts.spec), label.drive.0, &label.pool_name);
        (has < had).then(|| {
            let (has, had) = (ByteSize(has), ByteSize(had));
            format!("{at} has {has}, but was {had} as drive-{number} of pool '{pool}'")
        })
    }
}

/// What is known of a drive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DriveFacts {
    /// How it was named when it was opened.
    pub spec: String,
    /// What the kernel calls the block device now: `nvme1n1`.
    pub kernel: Option<String>,
    /// A name of it that outlives restarts, below `/dev/disk/by-id`.
    pub stable_name: Option<String>,
    /// What it is made of: "file", "block device".
    pub kind: String,
    /// Its size.
    pub size_bytes: u64,
    /// It is lost with the process.
    pub is_volatile: bool,
    /// It takes space from its file system only as it is written.
    pub is_sparse: bool,
    /// I/O goes past the page cache.
    pub is_direct: bool,
    /// The device's model.
    pub model: Option<String>,
    /// The device's serial number.
    pub serial: Option<String>,
    /// The slot that it is in, if the kernel can switch its light.
    pub slot: Option<DriveSlot>,
}

/// A slot of a machine or an enclosure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DriveSlot {
    /// How people are told of it.
    pub name: String,
    /// The file that switches its light.
    pub light: PathBuf,
}

impl DriveFacts {
    /// How it is remembered and shown.
    pub fn place(&self) -> &str {
        self.stable_name.as_deref().unwrap_or(&self.spec)
    }
}

/// What a drive holds.
#[derive(Clone, Debug)]
pub enum DriveContent {
    /// Nothing.
    Blank,
    /// It is a member of this pool.
    Member(Box<Superblock>),
    /// It is a member of this pool, and its label was overwritten at both ends of the drive: the
    /// copy inside it is whole.
    Overwritten {
        /// The copy.
        label: Box<Superblock>,
        /// What is there now, by name, if it is anything.
        by: Option<String>,
    },
    /// It was a member of a pool; no copy of its superblock is right.
    Damaged(SuperblockError),
    /// Something else, by name.
    Foreign(String),
}

impl DriveContent {
    /// Whether it is a pool's, or what is left of one.
    pub fn is_of_pool(&self) -> bool {
        !matches!(self, DriveContent::Blank | DriveContent::Foreign(_))
    }

    /// The label of the pool that it is a member of, written where labels are or not.
    pub fn label(&self) -> Option<&Superblock> {
        match self {
            DriveContent::Member(label) | DriveContent::Overwritten { label, .. } => Some(label),
            DriveContent::Blank | DriveContent::Damaged(_) | DriveContent::Foreign(_) => None,
        }
    }

    /// As a phrase, for "it holds …".
    pub fn describe(&self) -> String {
        match self {
            DriveContent::Blank => "nothing".to_owned(),
            DriveContent::Member(label) => member(label),
            DriveContent::Overwritten { label, by } => {
                let by = by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
                format!(
                    "{}, whose label was overwritten{by}: `ashlar drive label-restore` restores it",
                    member(label)
                )
            }
            DriveContent::Damaged(SuperblockError::OtherFormat { .. }) => {
                "an Ashlar pool of another format".to_owned()
            }
            DriveContent::Damaged(_) => {
                "what is left of an Ashlar pool, whose superblock is damaged".to_owned()
            }
            DriveContent::Foreign(what) => what.clone(),
        }
    }
}

fn member(label: &Superblock) -> String {
    format!("{} of the Ashlar pool '{}' ({})", label.drive, label.pool_name, label.pool)
}

/// The superblock of a drive: the newer of its two copies, of which one is enough.
///
/// # Errors
/// [`SuperblockError::Absent`] if there never was one; the first copy's fault otherwise.
pub async fn read_superblock<D: Device>(device: &D) -> Result<Superblock, SuperblockError> {
    let first = read_copy(device, Superblock::FIRST_OFFSET).await;
    let inside = read_copy(device, Superblock::INSIDE_OFFSET).await.ok();
    let places =
        Superblock::second_offsets(first.as_ref().ok(), inside.as_ref(), device.size_bytes());
    let mut second = Err(SuperblockError::Absent);
    for place in places {
        if second.is_err() {
            second = read_copy(device, place).await;
        }
    }
    match (first, second) {
        (Ok(first), Ok(second)) if second.generation > first.generation => Ok(second),
        (Ok(superblock), _) | (Err(_), Ok(superblock)) => Ok(superblock),
        (Err(SuperblockError::Absent), Err(error)) | (Err(error), Err(_)) => Err(error),
    }
}

async fn read_copy<D: Device>(device: &D, offset: u64) -> Result<Superblock, SuperblockError> {
    let (read, sector) = device.read(offset, AlignedBuf::stale(SECTOR_BYTES)).await;
    read.map_err(|_| SuperblockError::Damaged)?;
    Superblock::decode(&sector)
}

/// Looks what is on a drive.
///
/// # Errors
/// When it cannot be read.
pub async fn inspect<B: DriveProvider>(
    provider: &B,
    device: &B::Device,
) -> Result<DriveContent, DeviceError> {
    let error = match read_superblock(device).await {
        Ok(superblock) => return Ok(DriveContent::Member(Box::new(superblock))),
        Err(error) => error,
    };
    if let Ok(label) = label_to_restore(device).await {
        let by = provider.foreign(device).await?;
        return Ok(DriveContent::Overwritten { label: Box::new(label), by });
    }
    match error {
        SuperblockError::Absent => {
            Ok(provider.foreign(device).await?.map_or(DriveContent::Blank, DriveContent::Foreign))
        }
        error => Ok(DriveContent::Damaged(error)),
    }
}
