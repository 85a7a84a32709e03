//! A whole pool, of any geometry, under the commands of hosts, whatever they are: every one is
//! answered, nothing panics, and what was acknowledged is read, also after crashes, restarts and
//! losses of drives.
//!
//! An input says what the pool is like, and then step by step what is done to it.

#[path = "pool_world.rs"]
mod world;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;
use std::time::Duration;

use ashlar_block::{
    BLOCK_BYTES, Cause, Clock, DriveId, IoError, Nanos, VolumeId, VolumeUuid, XorShift,
};
use ashlar_raid::Level;
use ashlar_store::format::fields::Kept;
use ashlar_store::{
    Compression, FoundDrive, NewPool, OpenPolicy, Options, Store, ZstdLevel, create,
};
use ashlar_volume::{
    AccessList, AtomicWrites, Attributes, Nsid, StoreVolume, VolumeIo, read_superblock,
};
use bytes::Bytes;
use futures_util::future::join_all;

use super::replay::Seed;
use world::{PoolDrive, PoolWorld};

/// Steps of an input that are taken.
const STEPS_MAX: usize = 32;
/// Commands of a step that are outstanding together, at most.
const OUTSTANDING_MAX: usize = 4;
/// Bytes of the largest command.
const COMMAND_BYTES_MAX: u64 = 1 << 20;
/// Chunks of each drive: as few as a pool needs for its work, and some.
const CHUNKS: u64 = 72;
/// Bytes of a drive before its chunks, at most.
const METADATA_BYTES: u64 = 2 << 20;

/// The bytes that are left of an input. Where there are none, zeros.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn word(&mut self) -> u64 {
        u64::from(self.byte()) | u64::from(self.byte()) << 8
    }

    /// A number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        if bound <= 256 { u64::from(self.byte()) % bound.max(1) } else { self.word() % bound }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What a pool is like.
struct Plan {
    level: Level,
    drives: usize,
    chunk_bytes: u32,
    lba_bytes: u32,
    compression: Compression,
    volume_blocks: u64,
}

impl Plan {
    fn of(input: &mut Input<'_>) -> Self {
        let level = match input.below(10) {
            0 => Level::RAID0,
            1 => Level::RAID1,
            2 => Level::RAID6,
            3 => Level::RAID7_3,
            4 => Level::of(1, 1 + input.below(4) as usize).expect("copies"),
            5 => Level::of(2 + input.below(19) as usize, 1 + input.below(4) as usize)
                .expect("a level"),
            6 => Level::of(2, 1 + input.below(4) as usize).expect("a level"),
            _ => Level::RAID5,
        };
        let flags = input.byte();
        Plan {
            level,
            drives: level.drives_min() + input.below(4) as usize,
            chunk_bytes: (64 << 10) << input.below(5),
            lba_bytes: if flags & 1 == 0 { 4096 } else { 512 },
            compression: match flags >> 1 & 3 {
                0 => Compression::Auto,
                1 => Compression::Lz4,
                2 => Compression::Zstd(ZstdLevel::DEFAULT),
                _ => Compression::None,
            },
            volume_blocks: 64 + input.below(1024),
        }
    }

    fn drive(&self) -> PoolDrive {
        PoolDrive::new(METADATA_BYTES + CHUNKS * u64::from(self.chunk_bytes))
    }

    fn attributes(&self) -> Attributes {
        Attributes {
            name: "fuzz".parse().expect("a name"),
            uuid: VolumeUuid([1; 16]),
            nsid: Nsid(1),
            lba_bytes: self.lba_bytes,
            access: AccessList::AllowAny,
            write_protected: false,
            made_at: 0,
            atomic: AtomicWrites::default(),
            erase: None,
            is_sanitized: false,
            qos: Default::default(),
            qos_kept: Default::default(),
            kept: Kept::default(),
        }
    }
}

/// What a host asks for. Ranges are in bytes.
enum Command {
    Read(Range<u64>),
    Write(Range<u64>, Bytes),
    WriteZeroes(Range<u64>),
    Deallocate(Range<u64>),
    /// Of what is there, or of something else.
    Compare(Range<u64>, bool),
    CompareAndWrite(Range<u64>, bool, Bytes),
    Verify(Range<u64>),
    Flush,
}

impl Command {
    fn of(input: &mut Input<'_>, plan: &Plan) -> Self {
        let kind = input.below(16);
        let range = range_of(input, plan);
        let bytes = range.end - range.start;
        match kind {
            0 => Command::Flush,
            1 => Command::Verify(range),
            2 => Command::WriteZeroes(range),
            3 => Command::Deallocate(range),
            4 => Command::Compare(range, input.below(2) == 0),
            5 => {
                let is_right = input.below(2) == 0;
                Command::CompareAndWrite(range, is_right, content_of(input, bytes))
            }
            6 | 7 => Command::Read(range),
            _ => Command::Write(range, content_of(input, bytes)),
        }
    }

    /// What it touches, whole blocks; nothing if it is a flush.
    fn blocks(&self) -> Range<u64> {
        let range = match self {
            Command::Flush => return 0..0,
            Command::Read(range)
            | Command::Write(range, _)
            | Command::WriteZeroes(range)
            | Command::Deallocate(range)
            | Command::Compare(range, _)
            | Command::CompareAndWrite(range, ..)
            | Command::Verify(range) => range,
        };
        range.start / BLOCK_BYTES as u64..range.end.div_ceil(BLOCK_BYTES as u64)
    }
}

/// Sectors of the volume: often as many as an atomic write has, or one more or less.
fn range_of(input: &mut Input<'_>, plan: &Plan) -> Range<u64> {
    let (lba, size) = (u64::from(plan.lba_bytes), plan.volume_blocks * BLOCK_BYTES as u64);
    let sectors_max = COMMAND_BYTES_MAX / lba;
    let atomic = (256 << 10) / lba;
    let sectors = match input.below(4) {
        0 => 1 + input.below(8),
        1 => atomic + input.below(3) - 1,
        2 => 1 + input.below(atomic),
        _ => 1 + input.below(sectors_max),
    };
    let start = input.word() % (size / lba) * lba;
    start..(start + sectors * lba).min(size)
}

static NOISE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut rng = XorShift::new(1);
    (0..(2 << 20) / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect()
});

/// Data of a write: of each block so much that does not compress, by a rule that the input chooses.
fn content_of(input: &mut Input<'_>, bytes: u64) -> Bytes {
    let (rule, from, argument) = (input.below(6), input.word() as usize, input.word());
    let mut data = NOISE[from..from + bytes as usize].to_vec();
    let mut rng = XorShift::new(argument | 1);
    let blocks = bytes.div_ceil(BLOCK_BYTES as u64);
    for (nth, block) in (0..blocks).zip(data.chunks_mut(BLOCK_BYTES)) {
        let noisy = match rule {
            0 => BLOCK_BYTES,
            // All raw but one.
            1 if nth == argument % blocks => (argument >> 4) as usize,
            1 => BLOCK_BYTES,
            2 => (argument as usize) % BLOCK_BYTES,
            3 if rng.below(2) == 0 => 0,
            3 => BLOCK_BYTES,
            _ => rng.below(BLOCK_BYTES as u64 + 1) as usize,
        };
        let noisy = noisy.min(block.len());
        block[noisy..].fill(0);
    }
    data.into()
}

/// What the volume holds.
struct Mirror {
    bytes: Vec<u8>,
    /// Blocks of which nobody can say that: a command failed that would have changed them.
    unknown: BTreeSet<u64>,
    /// Blocks that were ever changed.
    touched: BTreeSet<u64>,
}

impl Mirror {
    fn slice(&self, range: &Range<u64>) -> &[u8] {
        &self.bytes[range.start as usize..range.end as usize]
    }

    fn is_known(&self, blocks: &Range<u64>) -> bool {
        self.unknown.range(blocks.clone()).next().is_none()
    }

    fn put(&mut self, range: &Range<u64>, change: impl FnOnce(&mut [u8])) {
        change(&mut self.bytes[range.start as usize..range.end as usize]);
    }
}

/// A pool that is open, and what it should hold.
struct Harness {
    plan: Plan,
    /// Starts of it so far: each draws its own random numbers.
    starts: u64,
    world: PoolWorld,
    drives: Vec<PoolDrive>,
    id: VolumeId,
    store: Store<PoolWorld>,
    volume: StoreVolume<PoolWorld>,
    mirror: Mirror,
}

/// Makes a pool and does to it what the input says.
///
/// # Panics
/// If a command is answered wrongly, or not at all, or with an error that it may not have.
pub fn check(input: &[u8]) {
    let mut input = Input(input);
    let mut harness = Harness::make(Plan::of(&mut input));
    for _ in 0..STEPS_MAX {
        if input.is_empty() {
            break;
        }
        harness = harness.step(&mut input);
    }
    harness.check_all();
    harness.world.stop();
}

impl Harness {
    fn make(plan: Plan) -> Self {
        let world = PoolWorld::new(1, Nanos(0));
        let drives: Vec<PoolDrive> = (0..plan.drives).map(|_| plan.drive()).collect();
        let new = NewPool {
            name: "fuzz".to_owned(),
            level: plan.level,
            chunk_bytes: Some(plan.chunk_bytes),
            segment_numbers: None,
        };
        world.run(create(&world, &new, drives.clone())).expect("the drives are good");
        let store = open(&world, &drives);
        let attributes = plan.attributes();
        let made = world.run(store.create_volume(
            plan.volume_blocks,
            plan.compression,
            attributes.encode().into(),
        ));
        let id = made.expect("an empty pool has room for a volume");
        let volume = StoreVolume::new(store.clone(), id, plan.volume_blocks, attributes);
        let mirror = Mirror {
            bytes: vec![0; plan.volume_blocks as usize * BLOCK_BYTES],
            unknown: BTreeSet::new(),
            touched: BTreeSet::new(),
        };
        Harness { plan, starts: 1, world, drives, id, store, volume, mirror }
    }

    fn step(mut self, input: &mut Input<'_>) -> Self {
        match input.below(24) {
            0 => return self.reopen(true),
            1 => return self.reopen(false),
            2 => {
                let nth = input.below(self.drives.len() as u64) as u16;
                // Refused if too few would be left.
                let _ = self.world.run(self.store.fail_drive(DriveId(nth), false));
            }
            3 => self.add_drive(),
            4 => {
                let wait = Duration::from_millis(1 << input.below(16));
                self.world.run(self.world.sleep(wait));
            }
            5 => drop(self.world.run(self.store.checkpoint())),
            6 => drop(self.store.start_scrub()),
            _ => self.commands(input),
        }
        assert_eq!(self.store.halted(), None);
        self
    }

    fn add_drive(&mut self) {
        if self.drives.len() < self.plan.drives + 2 {
            let drive = self.plan.drive();
            if self.world.run(self.store.add_drive(drive.clone(), None)).is_ok() {
                self.drives.push(drive);
            }
        }
    }

    /// A crash, or a clean stop, and the next start.
    fn reopen(self, crash: bool) -> Self {
        let Harness { plan, starts, world, drives, id, store, volume, mirror } = self;
        if !crash {
            world.run(store.close()).expect("a pool of good drives is closed");
        }
        world.stop();
        drop((store, volume));
        let world = PoolWorld::new(starts + 1, world.now());
        let store = open(&world, &drives);
        let volume = StoreVolume::new(store.clone(), id, plan.volume_blocks, plan.attributes());
        Harness { plan, starts: starts + 1, world, drives, id, store, volume, mirror }
    }

    /// Some commands at once, no two of which touch the same block.
    fn commands(&mut self, input: &mut Input<'_>) {
        let mut commands: Vec<Command> = Vec::new();
        for _ in 0..=input.below(OUTSTANDING_MAX as u64) {
            let command = Command::of(input, &self.plan);
            let (its, overlap) = (command.blocks(), |other: &Command| {
                let (one, other) = (command.blocks(), other.blocks());
                one.start < other.end && other.start < one.end
            });
            if !commands.iter().any(overlap) && self.has_known_base(&command, &its) {
                commands.push(command);
            }
        }
        let all = join_all(commands.iter().map(|command| self.command(command)));
        let answers = self.world.run(all);
        commands.iter().zip(answers).for_each(|(command, answer)| self.note(command, answer));
    }

    /// Whether it can be said what will be in the blocks that it touches.
    fn has_known_base(&self, command: &Command, blocks: &Range<u64>) -> bool {
        let is_whole =
            |range: &Range<u64>| (range.start | range.end).is_multiple_of(BLOCK_BYTES as u64);
        match command {
            Command::Write(range, _) | Command::WriteZeroes(range) if is_whole(range) => true,
            _ => self.mirror.is_known(blocks),
        }
    }

    async fn command(&self, command: &Command) -> Result<(), IoError> {
        let bytes = |range: &Range<u64>| range.end - range.start;
        let expected = |range: &Range<u64>, is_right: bool| {
            let mut expected = self.mirror.slice(range).to_vec();
            if !is_right {
                expected[0] ^= 1;
            }
            Bytes::from(expected)
        };
        match command {
            Command::Read(range) => {
                let read = self.volume.read(range.start, bytes(range) as usize).await?;
                assert!(
                    read[..] == *self.mirror.slice(range),
                    "{range:?} is not as it was written"
                );
                Ok(())
            }
            Command::Write(range, data) => self.volume.write(range.start, data.clone()).await,
            Command::WriteZeroes(range) => {
                self.volume.write_zeroes(range.start, bytes(range)).await
            }
            Command::Deallocate(range) => self.volume.deallocate(range.clone()).await,
            Command::Compare(range, is_right) => {
                let compared = self.volume.compare(range.start, expected(range, *is_right)).await;
                differs_unless(*is_right, compared)
            }
            Command::CompareAndWrite(range, is_right, data) => {
                let expected = expected(range, *is_right);
                let done = self.volume.compare_and_write(range.start, expected, data.clone()).await;
                differs_unless(*is_right, done)
            }
            Command::Verify(range) => self.volume.verify(range.start, bytes(range)).await,
            Command::Flush => self.volume.flush().await,
        }
    }

    /// A command has been answered: the volume holds what it says, or nobody knows.
    fn note(&mut self, command: &Command, answer: Result<(), IoError>) {
        let blocks = command.blocks();
        let mirror = &mut self.mirror;
        match command {
            Command::Read(_) | Command::Compare(..) | Command::Verify(_) | Command::Flush => {
                answer.expect("what only reads has no error while enough drives are left");
                return;
            }
            // Nothing was written, which is right.
            Command::CompareAndWrite(_, false, _) => {
                return answer.expect("it says that they differ");
            }
            _ => {}
        }
        mirror.touched.extend(blocks.clone());
        if let Err(error) = answer {
            let may_be = matches!(error.cause, Cause::CapacityExceeded | Cause::WriteProtected);
            assert!(may_be, "a command that changes {blocks:?} is answered {error:?}");
            mirror.unknown.extend(blocks);
            return;
        }
        blocks.clone().for_each(|block| _ = mirror.unknown.remove(&block));
        match command {
            Command::Write(range, data) | Command::CompareAndWrite(range, _, data) => {
                mirror.put(range, |bytes| bytes.copy_from_slice(data));
            }
            Command::WriteZeroes(range) => mirror.put(range, |bytes| bytes.fill(0)),
            Command::Deallocate(range) => {
                let block = BLOCK_BYTES as u64;
                let whole = range.start.next_multiple_of(block)..range.end / block * block;
                if whole.start < whole.end {
                    mirror.put(&whole, |bytes| bytes.fill(0));
                }
            }
            _ => {}
        }
    }

    /// Every block that was ever changed reads as it should.
    fn check_all(&self) {
        let known = self.mirror.touched.difference(&self.mirror.unknown);
        for block in known {
            let range = block * BLOCK_BYTES as u64..(block + 1) * BLOCK_BYTES as u64;
            let read = self.world.run(self.volume.read(range.start, BLOCK_BYTES));
            let read = read.expect("enough drives are left");
            assert!(
                read[..] == *self.mirror.slice(&range),
                "block {block} is not as it was written"
            );
        }
    }
}

/// The answer of a compare, which has to be that they differ if they do.
fn differs_unless(is_right: bool, compared: Result<(), IoError>) -> Result<(), IoError> {
    match compared {
        Err(error) if error.cause == Cause::Miscompare => {
            assert!(!is_right, "what is there is said to be something else");
            Ok(())
        }
        Ok(()) => {
            assert!(is_right, "something else is said to be there");
            Ok(())
        }
        failed => failed,
    }
}

fn open(world: &PoolWorld, drives: &[PoolDrive]) -> Store<PoolWorld> {
    let opened = world.run(async {
        let mut found = Vec::new();
        for device in drives {
            // A drive that was failed has none any more.
            if let Ok(superblock) = read_superblock(device).await {
                found.push(FoundDrive { superblock, device: device.clone() });
            }
        }
        Store::open(world, found, Options::default(), OpenPolicy::Degraded).await
    });
    opened.expect("enough drives are left").0
}

/// The bytes of a pool's plan: its level, flags, drives beyond the fewest, size of chunks, blocks
/// of its volume.
fn plan_bytes(level: &[u8], flags: u8, drives: u8, chunk: u8) -> Vec<u8> {
    [level, &[flags, drives, chunk], &[0xff, 0x01]].concat()
}

/// A step of one command.
fn alone(command: &[u8]) -> Vec<u8> {
    [&[7, 0], command].concat()
}

/// A write of as many sectors as are atomic, from this sector on, by this rule of content.
fn atomic_write(start: u16, rule: u8, argument: u16) -> Vec<u8> {
    let [start, argument] = [start, argument].map(u16::to_le_bytes);
    alone(&[8, 1, 1, start[0], start[1], rule, 0, 0, argument[0], argument[1]])
}

/// Pools of several geometries, and what is done to them.
pub fn seeds() -> Vec<Seed> {
    let raid5 = &[7][..];
    // All raw but the first block, of which 1,200 bytes are left.
    let all_but_one = atomic_write(0, 1, 1200 << 4);
    let reopen = |crash: bool| vec![u8::from(!crash)];
    let mixed = |start: u16| atomic_write(start, 4, 77 + start);
    let wide = &[5, 18, 3][..];
    vec![
        ("raid5-of-3", [plan_bytes(raid5, 0, 0, 4), all_but_one.clone(), reopen(true)].concat()),
        (
            "raid5-of-3-in-512",
            [plan_bytes(raid5, 1, 0, 4), atomic_write(3, 0, 0), mixed(1)].concat(),
        ),
        ("narrowed", [plan_bytes(raid5, 0, 1, 3), vec![2, 0], all_but_one, mixed(64)].concat()),
        (
            "20+4",
            [plan_bytes(wide, 0, 0, 1), mixed(0), mixed(500), reopen(true), mixed(3)].concat(),
        ),
        (
            "copies",
            [plan_bytes(&[1], 2, 0, 0), mixed(9), alone(&[3, 3, 9, 0]), reopen(false)].concat(),
        ),
        ("compare", [plan_bytes(&[0], 0, 2, 0), mixed(0), alone(&[5, 0, 3, 0, 0, 0, 4])].concat()),
    ]
}
