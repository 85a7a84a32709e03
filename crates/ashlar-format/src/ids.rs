//! Numbers that must not be mixed up.

use std::fmt;

use ashlar_block::Lba;

/// Log sequence number of a batch: a counter x 64 + the reactor that wrote it. Higher is later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Lsn(pub u64);

impl Lsn {
    /// Reactors that the format has room for.
    pub const REACTORS: u64 = 64;

    /// The next one of the same reactor.
    pub const fn next(self) -> Self {
        Lsn(self.0 + Self::REACTORS)
    }

    /// Batches between `earlier` and this one.
    pub const fn batches_since(self, earlier: Lsn) -> u64 {
        self.0.saturating_sub(earlier.0) / Self::REACTORS
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "batch {}", self.0)
    }
}

/// One start of a pool, drawn at random. Batches of another one are not replayed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Incarnation(pub u64);

/// Counts the roots of a pool.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RootGeneration(pub u64);

/// A volume and all its clones: they share stored blocks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Family(pub u32);

/// One point in the history of a family; a snapshot or clone opens a new one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Layer(pub u32);

/// A dictionary of a pool. No other has ever had its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct DictionaryNumber(pub u32);

/// What the map is keyed by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key {
    /// The family.
    pub family: Family,
    /// The block.
    pub lba: Lba,
    /// The layer.
    pub layer: Layer,
}

/// Blocks of a range: the unit in which blocks are spread over shards.
pub const RANGE_BLOCKS: u64 = 256;
/// Shards of a pool's map.
pub const SHARD_COUNT: usize = 64;
/// Blocks of a volume between whose ends a group lies.
pub const GIB_BLOCKS: u64 = 1 << 18;
/// Blocks that a volume may have: the number of a GiB has 32 bits.
pub const BLOCKS_MAX: u64 = GIB_BLOCKS << 32;
/// Blocks of a group: a shard's part of a GiB.
pub const GROUP_BLOCKS: usize = GIB_BLOCKS as usize / SHARD_COUNT;

/// One of the [`SHARD_COUNT`] parts of the map.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ShardId(pub u8);

impl ShardId {
    /// The shard that `lba` of `family` belongs to.
    pub const fn of(family: Family, lba: Lba) -> Self {
        let spread = (family.0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
        ShardId(((lba.0 / RANGE_BLOCKS + spread) % SHARD_COUNT as u64) as u8)
    }
}

/// A shard's part of one GiB of a family: 16 ranges.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct GroupKey {
    /// The family.
    pub family: Family,
    /// Which GiB.
    pub gib: u32,
}

impl GroupKey {
    /// The group of `lba` within its shard.
    pub const fn of(family: Family, lba: Lba) -> Self {
        GroupKey { family, gib: (lba.0 / GIB_BLOCKS) as u32 }
    }

    /// The one behind it.
    pub const fn next(self) -> Option<Self> {
        match (self.gib.checked_add(1), self.family.0.checked_add(1)) {
            (Some(gib), _) => Some(GroupKey { gib, ..self }),
            (None, Some(family)) => Some(GroupKey { family: Family(family), gib: 0 }),
            (None, None) => None,
        }
    }

    /// The first block of the GiB.
    pub const fn first_block(self) -> Lba {
        Lba(self.gib as u64 * GIB_BLOCKS)
    }
}
