//! Creating a pool on drives.

use std::collections::BTreeSet;
use std::pin::pin;
use std::rc::Rc;

use ashlar_block::{
    AlignedBuf, ByteSize, Clock, Device, DeviceError, DriveId, DriveUuid, Durability, InvalidName,
    PoolUuid, SECTOR_BYTES, World, check_name, within,
};
use ashlar_format::catalog::Catalog;
use ashlar_format::features::Features;
use ashlar_format::ids::{Incarnation, Lsn, RootGeneration, SHARD_COUNT, ShardId};
use ashlar_format::location::{CHUNK_BYTES_MAX, SegmentId};
use ashlar_format::root::{MemberRecord, MemberState, Root, ShardRoot, TableRoot};
use ashlar_format::superblock::{DriveClass, Secret, Superblock};
use ashlar_raid::{Array, DriveLayout, Failure, Level, LevelError, Member};
use futures_util::future::{Either, join_all, select};

use crate::base::options::Options;
use crate::checkpoint::table::TableTrees;
use crate::map::shard::Shard;
use crate::members::OPEN_ANSWER_MAX;
use crate::members::largest::Largest;
use crate::pool::{Identity, Parts, Pool, clock_of};
use crate::space::capacity::Space;
use crate::space::segments::{Numbers, Segments, Stripe};
use crate::writer::lsns::LsnTracker;

/// Smallest chunk of a pool on real drives.
const CHUNK_BYTES_MIN: u64 = 1 << 20;
/// Largest chunk that is chosen for the size of the drives.
const CHUNK_BYTES_USUAL_MAX: u64 = 16 << 20;
/// Chunks that the smallest drive is cut into, nearly.
const CHUNKS_PER_DRIVE: u64 = 4096;
/// The root of a pool of which not all superblocks are written.
pub(crate) const FIRST_ROOT: RootGeneration = RootGeneration(1);
/// The root of one that is made.
pub(crate) const MADE_ROOT: RootGeneration = RootGeneration(2);
/// Bytes at either end of a drive that are zeroed when it is taken or given back.
const WIPED_BYTES: u64 = 1 << 20;
/// Fewest striped segments with which garbage collection can work.
pub const SEGMENTS_MIN: u64 = 32;
/// Members of a pool, at most.
pub const DRIVES_MAX: usize = 256;

/// What a new pool is to be.
#[derive(Clone, Debug)]
pub struct NewPool {
    /// Its name: 1 to 64 letters, digits, `.`, `_` and `-`.
    pub name: String,
    /// How many drives it survives.
    pub level: Level,
    /// Bytes of a chunk, a power of two; chosen by the size of the drives if not given.
    pub chunk_bytes: Option<u32>,
    /// Numbers that segments are named from, a multiple of four; as many as there can be if not
    /// given.
    pub segment_numbers: Option<u32>,
}

/// Why a pool cannot be made.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CreateError {
    /// The name is not one.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// The level does not fit the drives.
    #[error(transparent)]
    Level(#[from] LevelError),
    /// More drives than a pool can have.
    #[error("{0} drives are more than a pool can have ({DRIVES_MAX})")]
    TooManyDrives(usize),
    /// The drives are larger than segments can be numbered in.
    #[error(
        "these drives make {segments} segments, and a pool can have {segments_allowed}: use fewer \
         drives, or larger chunks (`--chunk-size`)"
    )]
    TooManySegments {
        /// As many as there would be.
        segments: u64,
        /// As many as there can be.
        segments_allowed: u64,
    },
    /// A drive is too small.
    #[error("drive {index} has {}, and a pool of this shape needs drives of at least {}", ByteSize(*bytes), ByteSize(*needed))]
    TooSmall {
        /// Which of the given drives.
        index: usize,
        /// Its size.
        bytes: u64,
        /// The least.
        needed: u64,
    },
    /// A drive failed.
    #[error("drive {index}: {error}")]
    Drive {
        /// Which of the given drives.
        index: usize,
        /// What happened.
        error: Failure,
    },
    /// A file-backed drive cannot be written.
    #[error(
        "the file system under a file-backed drive is full: make room there, then create the pool again"
    )]
    FileSystemFull,
    /// Writing the first checkpoint failed.
    #[error("{0}")]
    Checkpoint(String),
}

/// The sizes that follow from the drives.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    segment_numbers: u32,
    layouts: Vec<DriveLayout>,
}

fn plan(new: &NewPool, sizes: &[u64]) -> Result<Plan, CreateError> {
    new.level.data_columns(sizes.len())?;
    let smallest = sizes.iter().copied().min().expect("a level needs drives");
    let chunks = |chunk_bytes: u64| sizes.iter().map(|size| size / chunk_bytes).collect::<Vec<_>>();
    let stripe = Stripe::of(new.level, sizes.len());
    let segment_numbers = new.segment_numbers.unwrap_or(SegmentId::COUNT as u32);
    let largest = |chunk_bytes: u64| Largest { stripe, chunk_bytes, segment_numbers };
    let holds = |chunk_bytes: u64| largest(chunk_bytes).holds(chunks(chunk_bytes));
    let chunk_bytes = new.chunk_bytes.map_or_else(|| chunk_bytes(smallest, holds), u64::from);
    if !holds(chunk_bytes) {
        let largest = largest(chunk_bytes);
        let (segments, segments_allowed) =
            (largest.segments_of(chunks(chunk_bytes)), largest.segments());
        return Err(CreateError::TooManySegments { segments, segments_allowed });
    }
    let layout = |size: &u64| layout(*size, chunk_bytes);
    let needed = drive_bytes_min(chunk_bytes);
    if let Some(index) = sizes.iter().position(|size| *size < needed) {
        return Err(CreateError::TooSmall { index, bytes: sizes[index], needed });
    }
    Ok(Plan { segment_numbers, layouts: sizes.iter().map(layout).collect() })
}

/// Where the chunks of a drive lie.
pub(crate) fn layout(size_bytes: u64, chunk_bytes: u64) -> DriveLayout {
    let chunks_start = Superblock::CHUNKS_START;
    let room = size_bytes.saturating_sub(chunks_start + Superblock::TAIL_BYTES);
    DriveLayout {
        chunks_start,
        chunk_bytes: chunk_bytes as u32,
        chunk_count: (room / chunk_bytes) as u32,
    }
}

/// Bytes of the smallest drive that is of use.
pub(crate) fn drive_bytes_min(chunk_bytes: u64) -> u64 {
    Superblock::CHUNKS_START + Superblock::TAIL_BYTES + SEGMENTS_MIN * chunk_bytes
}

/// The chunk for drives of which the smallest has `smallest_bytes`: larger than usual where there
/// would be more segments than a pool can have.
fn chunk_bytes(smallest_bytes: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let part = (smallest_bytes / CHUNKS_PER_DRIVE).max(1);
    let mut chunk_bytes = (1 << part.ilog2()).clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_USUAL_MAX);
    while chunk_bytes < CHUNK_BYTES_MAX && !holds(chunk_bytes) {
        chunk_bytes *= 2;
    }
    chunk_bytes
}

/// Makes a pool of `drives` and everything that they held is lost. A stop before the end leaves
/// drives that belong to no pool, or to one that cannot be opened without all of them.
pub async fn create<W: World>(
    world: &W,
    new: &NewPool,
    drives: Vec<W::Device>,
) -> Result<PoolUuid, CreateError> {
    let superblocks = superblocks_of_new(world, new, &drives)?;
    let wiped = drives
        .iter()
        .enumerate()
        .map(|(index, drive)| in_time(world, index, wipe(drive, drive.size_bytes())));
    join_all(wiped).await.into_iter().collect::<Result<(), _>>()?;
    let pool = new_pool(world, &superblocks, drives, Options::default());
    checkpoint(&pool).await?;
    // The superblocks make the drives a pool; the second root says that all of them are there.
    for (index, superblock) in superblocks.iter().enumerate() {
        let drive = pool.array.member(DriveId(index as u16)).expect("no drive failed");
        in_time(world, index, write_superblock(&drive.device, superblock)).await?;
    }
    checkpoint(&pool).await?;
    Ok(superblocks[0].pool)
}

/// What [`create`] would make of drives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Bytes of a chunk.
    pub chunk_bytes: u32,
    /// The room of the pool while it is empty.
    pub space: Space,
}

/// What [`create`] would make of `drives`, opened with `options`. Nothing is written.
///
/// # Errors
/// As of [`create`], but for what only a write shows.
pub fn rehearse<W: World>(
    world: &W,
    new: &NewPool,
    drives: Vec<W::Device>,
    options: Options,
) -> Result<Shape, CreateError> {
    let superblocks = superblocks_of_new(world, new, &drives)?;
    let pool = new_pool(world, &superblocks, drives, options);
    Ok(Shape { chunk_bytes: superblocks[0].layout.chunk_bytes, space: pool.space() })
}

/// The superblocks of a pool of these drives, if there can be one.
fn superblocks_of_new<W: World>(
    world: &W,
    new: &NewPool,
    drives: &[W::Device],
) -> Result<Vec<Superblock>, CreateError> {
    check_name(&new.name)?;
    if drives.len() > DRIVES_MAX {
        return Err(CreateError::TooManyDrives(drives.len()));
    }
    let sizes: Vec<u64> = drives.iter().map(Device::size_bytes).collect();
    Ok(superblocks(world, new, &plan(new, &sizes)?, drives))
}

/// What is asked of one of the drives, unless it hangs.
async fn in_time(
    clock: &impl Clock,
    index: usize,
    work: impl Future<Output = Result<(), DeviceError>>,
) -> Result<(), CreateError> {
    let silent = Failure::Silent { seconds: OPEN_ANSWER_MAX.as_secs() };
    let done = within(clock, OPEN_ANSWER_MAX, work).await;
    let done = done.map_or(Err(silent), |done| done.map_err(Failure::from));
    done.map_err(|error| CreateError::Drive { index, error })
}

fn superblocks<W: World>(
    world: &W,
    new: &NewPool,
    plan: &Plan,
    drives: &[W::Device],
) -> Vec<Superblock> {
    let mut secret = Secret([0; 32]);
    world.fill_random(&mut secret.0);
    let pool = PoolUuid(random_uuid(world));
    let superblock = |(index, layout): (usize, &DriveLayout)| Superblock {
        generation: 1,
        pool,
        drive_uuid: DriveUuid(random_uuid(world)),
        drive: DriveId(index as u16),
        class: DriveClass::of_rotational(drives[index].is_rotational()),
        parity: new.level.parity() as u8,
        data: new.level.exact_data() as u8,
        member_count: drives.len() as u16,
        drive_bytes: drives[index].size_bytes(),
        layout: *layout,
        secret: secret.clone(),
        made_at: world.unix_seconds(),
        segment_numbers: plan.segment_numbers,
        features: Features::of_new_pool(),
        pool_name: new.name.clone(),
    };
    plan.layouts.iter().enumerate().map(superblock).collect()
}

/// A version 4 UUID (RFC 9562, section 5.4).
pub fn random_uuid<W: World>(world: &W) -> [u8; 16] {
    let mut bytes = [0; 16];
    world.fill_random(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}

/// Takes away whatever makes a drive a member of a pool, or of anything else that keeps its labels
/// where others do (GPT, MD, ZFS, LUKS, LVM): superblocks, roots, and what lies near the start and
/// the end.
pub async fn wipe<D: Device>(drive: &D, size_bytes: u64) -> Result<(), DeviceError> {
    let whole = size_bytes / SECTOR_BYTES as u64 * SECTOR_BYTES as u64;
    let head = WIPED_BYTES.min(whole);
    let tail = WIPED_BYTES.min(whole - head);
    for (offset, bytes) in [(0, head), (whole - tail, tail)] {
        let zeros = AlignedBuf::zeroed(bytes as usize).freeze();
        if bytes > 0 {
            drive.write(offset, zeros, Durability::Stable).await?;
        }
    }
    Ok(())
}

/// Writes all copies of a superblock, the first one last. The one inside comes first: it says where
/// the second one is, should the drive grow before the first one is there.
pub async fn write_superblock<D: Device>(
    drive: &D,
    superblock: &Superblock,
) -> Result<(), DeviceError> {
    let sector = AlignedBuf::copy_of(&superblock.encode()).freeze();
    let [first, second, inside] = Superblock::offsets(superblock.drive_bytes);
    for offset in [inside, second, first] {
        drive.write(offset, sector.clone(), Durability::Stable).await?;
    }
    Ok(())
}

/// The empty pool, before its first root is written.
fn new_pool<W: World>(
    world: &W,
    superblocks: &[Superblock],
    drives: Vec<W::Device>,
    options: Options,
) -> Rc<Pool<W>> {
    let incarnation = Incarnation(world.random_u64());
    let root = root_before_the_first(superblocks, incarnation);
    let first = &superblocks[0];
    let chunks =
        superblocks.iter().map(|superblock| (superblock.drive, superblock.layout.chunk_count));
    let stripe = Stripe::of(first.level(), superblocks.len());
    let members = drives.into_iter().zip(superblocks);
    let members = members
        .map(|(drive, sb)| Some(Rc::new(Member::new(drive, sb.layout).using(sb.drive_bytes))))
        .collect();
    Pool::new(Parts {
        world: world.clone(),
        options,
        identity: Identity::of(first),
        incarnation,
        array: Rc::new(Array::new(members).with_clock(clock_of(world))),
        segments: Segments::new(
            stripe,
            first.layout.rows(),
            chunks,
            Numbers::fresh(first.segment_numbers),
        ),
        table: TableTrees::default(),
        shards: (0..SHARD_COUNT as u8).map(|id| Shard::new(ShardId(id))).collect(),
        lsns: LsnTracker::new(root.next_lsn),
        catalog: Catalog::default(),
        root,
        absent: BTreeSet::new(),
    })
}

fn root_before_the_first(superblocks: &[Superblock], incarnation: Incarnation) -> Root {
    let member = |superblock: &Superblock| MemberRecord {
        drive: superblock.drive,
        uuid: superblock.drive_uuid,
        state: MemberState::Present,
        made_good: false,
        given_up: false,
        since: FIRST_ROOT,
        parity_used: 0,
    };
    Root {
        pool: superblocks[0].pool,
        generation: RootGeneration(0),
        next_lsn: Lsn(Lsn::REACTORS),
        replay_floor: Lsn(Lsn::REACTORS),
        segment_ordinal: 0,
        segment_swept: Numbers::SWEPT_AT_FIRST,
        clean: true,
        written_at: 0,
        unclean_starts: 0,
        table: TableRoot { area: 1, ..TableRoot::default() },
        parity_used: 0,
        members: superblocks.iter().map(member).collect(),
        line: vec![(incarnation, FIRST_ROOT)],
        catalog: None,
        shards: vec![ShardRoot::default(); SHARD_COUNT],
    }
}

/// Writes a root to all drives.
async fn checkpoint<W: World>(pool: &Pool<W>) -> Result<(), CreateError> {
    match select(pin!(pool.checkpoint(true)), pin!(pool.array.lacks_room())).await {
        Either::Left((done, _)) => {
            done.map_err(|error| CreateError::Checkpoint(error.to_string()))?
        }
        Either::Right(_) => return Err(CreateError::FileSystemFull),
    }
    let failure =
        |index: usize| Some((index, pool.array.member(DriveId(index as u16))?.failure()?));
    let drives = pool.checkpoint.roots.newest().members.len();
    match (0..drives).find_map(failure) {
        Some((index, error)) => Err(CreateError::Drive { index, error }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
