//! The options that a pool is opened with.

/// Settings of an open pool.
#[derive(Clone, Debug)]
pub struct Options {
    /// Memory for the map: half for updates that are not in runs yet, half for pages read from the
    /// drives.
    pub map_memory_bytes: usize,
    /// Part of the post-parity capacity that is kept for garbage collection, in percent.
    pub over_provisioning_percent: u64,
    /// Bytes that hosts may have written since the last checkpoint before the next one begins:
    /// bounds the time that recovery takes.
    pub replay_bytes_max: u64,
    /// Records that may have been written since then, likewise. Each takes some 96 bytes while it
    /// is replayed, and all together take no more than the map may, unless that is very little.
    pub replay_records_max: u64,
    /// Bytes of writes that may be admitted and not yet answered.
    pub pending_bytes_max: usize,
    /// Fewest striped segments of a pool in which what is written is sorted by how soon it will be
    /// overwritten: in smaller ones half-filled segments would cost more than that saves.
    pub sorted_segments_min: u64,
    /// Bytes of changed leaves of the segment table that go along in the first table, which every
    /// drive gets with every checkpoint. Where there are more they are written to pages.
    pub table_inline_bytes_max: usize,
    /// Columns of a drive that came back which are named on it between two checkpoints, at most:
    /// fewer where the segment table has no room for so many changes.
    pub adopted_columns_max: usize,
    /// How long a segment has been sealed when what still lives in it is cold.
    pub cold_after: std::time::Duration,
    /// When a dictionary is made for a volume.
    pub learning: Learning,
    /// How long a write waits for space to be reclaimed before it is refused.
    pub space_wait: std::time::Duration,
    /// Who opens it. `None`: nobody else can reach its drives, and nothing is done to keep others
    /// away.
    pub holder: Option<Holder>,
}

/// Who may have a pool open: a machine, as others that reach the same drives see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holder {
    /// No other machine has it. Within a machine, locks keep two from one drive.
    pub id: [u8; 16],
    /// What people call it.
    pub name: String,
}

/// When a dictionary is made for a volume, and kept.
#[derive(Clone, Copy, Debug)]
pub struct Learning {
    /// Blocks that have to be compressed anew before, at least: it is made from some of them.
    pub blocks_min: u64,
    /// Part of what the volume stores that its dictionaries take at most: one in so many bytes.
    pub stored_part: u64,
    /// How much smaller it has to make what it was not made from, in percent.
    pub gain_percent_min: u64,
    /// How many times as many blocks the volume has to have for another one: so there are few of
    /// each volume.
    pub growth: u64,
}

impl Default for Learning {
    fn default() -> Self {
        Learning { blocks_min: 512, stored_part: 100, gain_percent_min: 5, growth: 16 }
    }
}

/// Memory that a record takes while it is replayed.
pub const REPLAY_RECORD_BYTES: usize = 96;

/// Least over-provisioning: below it garbage collection costs more than it gains.
pub const OVER_PROVISIONING_PERCENT_MIN: u64 = 15;

impl Default for Options {
    fn default() -> Self {
        Options {
            map_memory_bytes: 256 << 20,
            over_provisioning_percent: 23,
            replay_bytes_max: 4 << 30,
            // A start is to take two seconds at most. It takes 1.5 with half a million records to
            // replay, and 0.5 with none (docs/performance.md, "Recovery and the map").
            replay_records_max: 1 << 20,
            pending_bytes_max: 64 << 20,
            sorted_segments_min: 350,
            table_inline_bytes_max: 16 << 10,
            adopted_columns_max: usize::MAX,
            cold_after: std::time::Duration::from_secs(3600),
            learning: Learning::default(),
            space_wait: std::time::Duration::from_secs(5),
            holder: None,
        }
    }
}
