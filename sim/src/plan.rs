//! The shape of one seed's scenario.

use std::num::NonZeroU32;
use std::ops::Range;
use std::time::Duration;

use ashlar_block::{BLOCK_BYTES, SECTOR_BYTES, XorShift};
use ashlar_raid::Level;
use ashlar_store::format::superblock::Superblock;
use ashlar_store::{
    ATOMIC_BOUNDARY_BYTES, Holder, Learning, Levels, NewPool, Options, Settings, unit_blocks_max,
};

const GIB_BLOCKS: u64 = (1 << 30) / BLOCK_BYTES as u64;
const MIB_BLOCKS: u64 = (1 << 20) / BLOCK_BYTES as u64;
/// Bytes of a drive before its chunks, at most.
const METADATA_BYTES: u64 = (1 << 20) + (704 << 10);
/// Chunks that a drive grows by, in all.
pub const GROWTH_CHUNKS_MAX: u64 = 24;
/// Islands of a scattered volume.
const ISLANDS_MAX: u64 = 48;
const ISLAND_BLOCKS: u64 = 16;
/// One of so many seeds fills its pool.
const FULL_ONCE_IN: u64 = 16;
/// Of so many seeds in which drives may fail one has drives that are this much larger: with small
/// chunks tens of thousands of segments find room. A drive takes memory only for what is written.
const LARGE_ONCE_IN: u64 = 24;
const LARGE_BYTES: u64 = 20_000 * (64 << 10);

/// How what hosts use of a volume is spread over it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    Compact,
    Scattered,
    FarApart,
}

/// Which parts of a volume hosts use.
#[derive(Clone, Debug)]
pub struct VolumePlan {
    pub shape: Shape,
    /// Its size.
    pub blocks: u64,
    /// Where hosts write.
    pub islands: Vec<Range<u64>>,
}

impl VolumePlan {
    fn compact(blocks: u64) -> Self {
        VolumePlan { shape: Shape::Compact, blocks, islands: vec![Range { start: 0, end: blocks }] }
    }

    /// More than 16 TiB, with little at its start, where the first GiB ends, where 2^32 blocks do,
    /// and at its end.
    fn far_apart(used: u64) -> Self {
        let (blocks, quarter) = (5 << 30, (used / 4).max(16));
        let around = |at: u64| at - quarter / 2..at + quarter / 2;
        let islands =
            vec![0..quarter, around(GIB_BLOCKS), around(1 << 32), blocks - quarter..blocks];
        VolumePlan { shape: Shape::FarApart, blocks, islands }
    }

    /// Little in each of many MiB: what is written there is in as many groups of the map.
    fn scattered(used: u64) -> Self {
        let islands: Vec<_> = (0..used.div_ceil(ISLAND_BLOCKS).min(ISLANDS_MAX))
            .map(|island| island * MIB_BLOCKS)
            .map(|first| first..first + ISLAND_BLOCKS)
            .collect();
        VolumePlan { shape: Shape::Scattered, blocks: islands.len() as u64 * MIB_BLOCKS, islands }
    }
}

/// What hosts do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Anything, while drives fail and the power is cut.
    Faults,
    /// They fill the pool, empty it, and keep it nearly full. The drives are good.
    Full,
}

/// All that a seed decides before anything happens.
#[derive(Clone, Debug)]
pub struct Plan {
    pub kind: Kind,
    pub level: Level,
    pub drives: usize,
    /// The size of each, those behind them included, which are added later if it comes to that.
    pub drive_bytes: Vec<u64>,
    pub chunk_bytes: u32,
    /// As few as there may be, or as many.
    pub segment_numbers: Option<u32>,
    pub volume: VolumePlan,
    pub hosts: u64,
    pub map_memory_bytes: usize,
    /// From how many segments on what is written is sorted by heat.
    pub sorted_segments_min: u64,
    /// How fast what was on lost drives is restored: one percent of the time is as good as never.
    pub recon_prio: u8,
    /// A latency that rebuilds are held to instead.
    pub recon_p99: Option<Duration>,
    /// Part of the time that scrubs have, in percent.
    pub scrub_prio: u8,
    /// Faults for which a drive is given up.
    pub fault_threshold: Option<NonZeroU32>,
    /// For how long a drive may be silent. No good drive is as long as that.
    pub io_timeout: Option<Duration>,
    /// Drives are told of what is freed, and of all that is free by hosts' request.
    pub autotrim: bool,
    pub trims: bool,
    /// Drives become larger, and the pool takes their room by hosts' request.
    pub grows: bool,
    /// How long writes wait for space.
    pub space_wait: Duration,
    /// The pool has a machine that others are to know of.
    pub heartbeats: bool,
    /// Hosts write on from where they were for a while, back from there, or the same again.
    pub in_order: bool,
    /// Drives may be bad, as many as the level survives.
    pub failing: bool,
    /// Those that are may answer nothing for minutes.
    pub hangs: bool,
    /// Drives that corrupt data and never say so; no more than the level survives.
    pub corrupting: Vec<usize>,
    /// One of so many operations of drives, good ones too, takes very long; none if 0. If it is
    /// many, two columns of one batch hang now and then, and what is behind it overtakes it.
    pub stall_once_in: u64,
    /// Likewise of moments, in which all drives do so at a time: all of a batch is late, and what
    /// comes next is not.
    pub stall_moment: u64,
    /// The drives are files, and what they lie on is full now and then.
    pub sparse: bool,
    /// Drives that were lost come back while hosts are at work.
    pub drives_return: bool,
    /// Drives are removed while hosts are at work.
    pub shrinks: bool,
    /// Starts.
    pub starts: u64,
    /// Hosts now and then write their volumes from start to end.
    pub fills: bool,
    /// One of so many operations goes to any island, the others to the first eighth of them;
    /// likewise within an island. What is cold enough outlives many segments.
    pub cold_once_in: u64,
}

impl Plan {
    /// What a seed gives: one of `FULL_ONCE_IN` fills its pool.
    pub fn of(rng: &mut XorShift) -> Self {
        if rng.below(FULL_ONCE_IN) == 0 { Self::full(rng) } else { Self::faults(rng) }
    }

    /// A pool of good drives that is filled.
    pub fn full(rng: &mut XorShift) -> Self {
        let (level, drives) = (Level::RAID5, 5 + rng.below(2) as usize);
        let (chunks, chunk_bytes) = (40 + rng.below(24), 256 << 10);
        let drive_bytes = chunks * u64::from(chunk_bytes);
        Plan {
            kind: Kind::Full,
            level,
            drives,
            drive_bytes: vec![METADATA_BYTES + drive_bytes; drives],
            chunk_bytes,
            segment_numbers: None,
            volume: VolumePlan::compact(usable_blocks(level, drives, false, drive_bytes)),
            hosts: 8,
            map_memory_bytes: 1 << 20,
            sorted_segments_min: Options::default().sorted_segments_min,
            recon_prio: 100,
            recon_p99: None,
            scrub_prio: 100,
            fault_threshold: None,
            io_timeout: Settings::default().io_timeout,
            autotrim: true,
            trims: true,
            grows: false,
            space_wait: Options::default().space_wait,
            heartbeats: false,
            in_order: false,
            failing: false,
            hangs: false,
            corrupting: Vec::new(),
            stall_once_in: [0, 0, 0, 500][rng.below(4) as usize],
            stall_moment: 0,
            sparse: false,
            drives_return: false,
            shrinks: false,
            starts: 1 + rng.below(3),
            fills: false,
            cold_once_in: 2,
        }
    }

    /// A pool of drives that may fail.
    pub fn faults(rng: &mut XorShift) -> Self {
        let (level, drives) = match rng.below(24) {
            0..4 => (Level::RAID0, 1 + rng.below(4) as usize),
            4..8 => copies(rng),
            8..13 => (Level::RAID5, 3 + rng.below(4) as usize),
            13 => (Level::RAID5, 7 + rng.below(4) as usize),
            14..17 => (Level::RAID6, 4 + rng.below(4) as usize),
            17 => (Level::RAID6, 8 + rng.below(4) as usize),
            18..22 => parities(rng),
            _ => wide(rng),
        };
        let chunk_bytes = match rng.below(16) {
            0 | 1 => 1 << 20,
            2 | 3 => 512 << 10,
            4 | 5 => 256 << 10,
            6..9 => 128 << 10,
            _ => 64 << 10,
        };
        let chunks = if rng.below(6) == 0 { 130 + rng.below(70) } else { 40 + rng.below(24) };
        let spares = [0, 0, 1, 2][rng.below(4) as usize];
        let mut drive_bytes = drive_sizes(rng, drives + spares, chunks, chunk_bytes.into());
        if is_large(rng) {
            drive_bytes.iter_mut().for_each(|bytes| *bytes += LARGE_BYTES);
        }
        let grows = rng.below(3) == 0;
        let growth = if grows { GROWTH_CHUNKS_MAX * drive_bytes.len() as u64 } else { 0 };
        let chunks_max = drive_bytes.iter().sum::<u64>() / u64::from(chunk_bytes) + growth;
        let segments_max = chunks_max / (level.parity() as u64 + 1);
        let failing = rng.below(4) > 0;
        let usable_blocks = usable_blocks(level, drives, failing, chunks * u64::from(chunk_bytes));
        // From a nearly empty pool to one that is over-full when nothing compresses. Where all is
        // written alike, the pool becomes as full as its volumes can make it.
        let is_uniform = rng.below(6) == 0;
        let used_max = usable_blocks.min(24_000) * 9 / 20;
        let used = if is_uniform { used_max * 2 } else { 32 + rng.below(used_max) };
        let volume = match rng.below(5) {
            _ if is_uniform => VolumePlan::compact(used),
            0 => VolumePlan::far_apart(used),
            1 => VolumePlan::scattered(used),
            _ => VolumePlan::compact(used),
        };
        // What is scattered is mostly cold, and soon in runs: what they say stays hidden for long.
        let is_scattered = volume.shape == Shape::Scattered;
        let is_cold = is_scattered || rng.below(3) == 0;
        Plan {
            kind: Kind::Faults,
            level,
            drives,
            drive_bytes,
            chunk_bytes,
            segment_numbers: (rng.below(4) > 0).then_some(4 * segments_max as u32),
            volume,
            hosts: 1 + rng.below(12),
            recon_prio: if rng.below(2) == 0 { 100 } else { 1 },
            recon_p99: (rng.below(4) == 0).then_some(Duration::from_millis(2)),
            scrub_prio: if rng.below(2) == 0 { 100 } else { 10 },
            fault_threshold: NonZeroU32::new([0, 0, 2, 10][rng.below(4) as usize]),
            io_timeout: [None, Some(20), Some(30)][rng.below(3) as usize].map(Duration::from_secs),
            autotrim: rng.below(4) > 0,
            trims: rng.below(2) == 0,
            grows,
            // Not so long that all a start does is to wait.
            space_wait: Duration::from_millis(300),
            map_memory_bytes: match rng.below(2) {
                _ if is_scattered => 8 << 10,
                0 => 32 << 10,
                _ => 4 << 20,
            },
            sorted_segments_min: if rng.below(2) == 0 { 0 } else { u64::MAX },
            heartbeats: false,
            in_order: false,
            failing,
            hangs: failing && rng.below(2) == 0,
            corrupting: if failing { corrupting(rng, level.parity(), drives) } else { Vec::new() },
            stall_once_in: [50, 50, 2000, 0, 0, 0][rng.below(6) as usize],
            stall_moment: [64, 1024, 0, 0][rng.below(4) as usize],
            sparse: rng.below(8) == 0,
            drives_return: failing && rng.below(2) == 0,
            shrinks: drives > 1 && rng.below(3) == 0,
            starts: 4 + rng.below(14),
            fills: is_uniform,
            cold_once_in: match (is_scattered, is_cold) {
                _ if is_uniform => 1,
                (true, _) => 8,
                (_, true) => 40,
                _ => 2,
            },
        }
    }

    /// The pool to be made.
    pub fn new_pool(&self) -> NewPool {
        NewPool {
            name: "sim".into(),
            level: self.level,
            chunk_bytes: Some(self.chunk_bytes),
            segment_numbers: self.segment_numbers,
        }
    }

    /// What an operator chooses.
    pub fn settings(&self) -> Settings {
        Settings {
            recon_prio: self.recon_prio,
            recon_p99: self.recon_p99,
            scrub_prio: self.scrub_prio,
            scrub_interval: None,
            fault_threshold: self.fault_threshold,
            io_timeout: self.io_timeout,
            autotrim: self.autotrim,
            overcommit: false,
            levels: self.levels(),
        }
    }

    /// How the pool is opened.
    pub fn options(&self) -> Options {
        Options {
            map_memory_bytes: self.map_memory_bytes,
            space_wait: self.space_wait,
            sorted_segments_min: self.sorted_segments_min,
            table_inline_bytes_max: self.table_inline_bytes_max(),
            adopted_columns_max: self.adopted_columns_max(),
            cold_after: self.cold_after(),
            // Volumes are small: one of a few segments gets a dictionary, and another as it grows.
            learning: Learning { blocks_min: 24, stored_part: 8, gain_percent_min: 0, growth: 2 },
            holder: self.heartbeats.then(|| Holder { id: [1; 16], name: "sim".to_owned() }),
            ..Options::default()
        }
    }

    /// In some pools something is done about room long before it is gone.
    fn levels(&self) -> Levels {
        match self.hosts % 3 {
            0 => Levels { warn: 20, throttle: 30, stop: 100 },
            1 => Levels { warn: 60, throttle: 70, stop: 80 },
            _ => Levels::default(),
        }
    }

    /// What is sealed is cold at once, or never.
    fn cold_after(&self) -> Duration {
        if self.hosts.is_multiple_of(2) { Duration::ZERO } else { Options::default().cold_after }
    }

    /// Leaves of the segment table that go along in the first table: none, a few, or all of so
    /// small a pool.
    fn table_inline_bytes_max(&self) -> usize {
        match self.hosts % 3 {
            0 => 0,
            1 => 512,
            _ => Options::default().table_inline_bytes_max,
        }
    }

    /// Columns that a drive which came back has in one root more than in the one before: few, so
    /// that there are several, or all.
    fn adopted_columns_max(&self) -> usize {
        match self.hosts % 4 {
            0 => 1,
            1 => 3,
            _ => Options::default().adopted_columns_max,
        }
    }

    /// Blocks of the largest write that is never split.
    pub fn atomic_blocks(&self) -> u64 {
        unit_blocks_max(self.chunk_bytes / SECTOR_BYTES as u32) as u64
    }

    /// Whether drives may go, so that the pool takes less than it did, or nothing.
    pub fn may_lose_drives(&self) -> bool {
        self.failing || self.shrinks || !self.corrupting.is_empty()
    }

    /// Whether drives have different sizes.
    pub fn has_mixed_sizes(&self) -> bool {
        self.drive_bytes[..self.drives].iter().any(|bytes| *bytes != self.drive_bytes[0])
    }

    /// Segments that the drives have room for, more or less.
    pub fn segments(&self) -> u64 {
        let columns =
            self.level.data_columns(self.drives).expect("chosen to fit") + self.level.parity();
        let chunks = |bytes: &u64| (bytes - Superblock::CHUNKS_START) / u64::from(self.chunk_bytes);
        self.drive_bytes[..self.drives].iter().map(chunks).sum::<u64>() / columns as u64
    }

    /// Whether drives take seconds for an answer now and then.
    pub fn has_stalls(&self) -> bool {
        self.stall_once_in > 0 || self.stall_moment > 0 || self.hangs
    }

    /// Whether a write of these blocks must be there whole after a crash, or not at all.
    pub fn is_atomic(&self, blocks: &Range<u64>) -> bool {
        let boundary = u64::from(ATOMIC_BOUNDARY_BYTES) / BLOCK_BYTES as u64;
        let within = blocks.start / boundary == (blocks.end - 1) / boundary;
        within && blocks.end - blocks.start <= self.atomic_blocks()
    }
}

/// Drives of at least so many chunks: one seed in three has larger ones, too.
fn drive_sizes(rng: &mut XorShift, drives: usize, chunks: u64, chunk_bytes: u64) -> Vec<u64> {
    let more_max = if rng.below(3) == 0 { chunks } else { 0 };
    (0..drives).map(|_| METADATA_BYTES + (chunks + rng.below(more_max + 1)) * chunk_bytes).collect()
}

/// Whether drives are large. Decided by a generator of its own: all else that a seed gives stays as
/// it is.
fn is_large(rng: &XorShift) -> bool {
    XorShift::new(rng.clone().next_u64()).below(LARGE_ONCE_IN) == 0
}

/// What the pool can hold, if need be with as many drives lost as it survives.
fn usable_blocks(level: Level, drives: usize, failing: bool, drive_bytes: u64) -> u64 {
    let parity = level.parity();
    let left = if failing { drives - parity } else { drives };
    let width =
        (level.data_columns(drives).expect("chosen to fit") + parity).min(left).max(parity + 1);
    left as u64 * drive_bytes / BLOCK_BYTES as u64 * (width - parity) as u64 / width as u64
}

/// Copies, on two drives more at most.
fn copies(rng: &mut XorShift) -> (Level, usize) {
    let parity = [1, 1, 1, 2, 2, 3, 4][rng.below(7) as usize];
    (Level::of(1, parity).expect("copies"), parity + 1 + rng.below(3) as usize)
}

/// Stripes of more than two parities, or of exactly so many columns, on two drives more at most.
fn parities(rng: &mut XorShift) -> (Level, usize) {
    let exact = Level::of(2 + rng.below(3) as usize, 1 + rng.below(4) as usize).expect("a level");
    let level = if rng.below(2) == 0 { Level::RAID7_3 } else { exact };
    (level, level.drives_min() + rng.below(3) as usize)
}

/// Stripes of up to as many columns as there may be, on two drives more at most; or many drives
/// without redundancy.
fn wide(rng: &mut XorShift) -> (Level, usize) {
    let level = match rng.below(5) as usize {
        0 => Level::RAID0,
        parity => Level::of(5 + rng.below(16) as usize, parity).expect("a level"),
    };
    let drives_min =
        if level.parity() == 0 { 5 + rng.below(4) as usize } else { level.drives_min() };
    (level, drives_min + rng.below(3) as usize)
}

fn corrupting(rng: &mut XorShift, parity: usize, drives: usize) -> Vec<usize> {
    let mut corrupting = Vec::new();
    while corrupting.len() < parity && rng.below(3) == 0 {
        let drive = rng.below(drives as u64) as usize;
        if !corrupting.contains(&drive) {
            corrupting.push(drive);
        }
    }
    corrupting
}
