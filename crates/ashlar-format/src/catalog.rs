//! What a pool knows of itself and of its volumes.

mod items;

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use ashlar_block::{Lba, VolumeId};
use bytes::Bytes;

use crate::compression::Compression;
use crate::dictionary::DictionaryEntry;
use crate::ids::{DictionaryNumber, Family, Layer, Lsn};
use crate::scrub::{ScrubProgress, ScrubRecord};
pub use items::{Item, ItemKey, KeptItems};

/// How far a volume is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VolumeState {
    /// In use.
    Live,
    /// Gone for hosts; its blocks are being discarded.
    Deleting,
}

/// A volume.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VolumeEntry {
    /// Blocks that belong together.
    pub family: Family,
    /// The layer that is written.
    pub layer: Layer,
    /// How far it is.
    pub state: VolumeState,
    /// Blocks that it has.
    pub blocks: u64,
    /// How its blocks are stored from now on.
    pub compression: Compression,
    /// What those above the store keep with it: its name, its hosts. Bytes to the store.
    pub attributes: Bytes,
}

impl VolumeEntry {
    /// The block after the last.
    pub fn end(&self) -> Lba {
        Lba(self.blocks)
    }

    /// Whether it is the same. Attributes that nobody has replaced are not compared byte by byte.
    pub(crate) fn is_as(&self, other: &Self) -> bool {
        let attributes = |entry: &Self| (entry.attributes.as_ptr(), entry.attributes.len());
        let rest = |entry: &Self| {
            (entry.family, entry.layer, entry.state, entry.blocks, entry.compression)
        };
        let are_one = attributes(self) == attributes(other);
        rest(self) == rest(other) && (are_one || self.attributes == other.attributes)
    }
}

/// One point in the history of a family: what hosts have written since the one before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LayerEntry {
    /// Whose history it is.
    pub family: Family,
    /// The layer below it. None: there is nothing below.
    pub parent: Option<Layer>,
    /// Layers above it.
    pub children: u32,
    /// When it began (Unix seconds).
    pub made_at: u64,
}

/// What an operator has chosen for a pool; it goes where the pool goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Part of the time that the rebuild of lost drives may have, in percent: 1 to 100.
    pub recon_prio: u8,
    /// Instead of that: 99 of 100 answers to hosts are to come within this time, whatever it takes
    /// of the rebuild's. Whole microseconds.
    pub recon_p99: Option<Duration>,
    /// Part of the time that scrubs may have, in percent: 1 to 100.
    pub scrub_prio: u8,
    /// From the end of one scrub to the next. None: there is one only when it is asked for. Whole
    /// seconds.
    pub scrub_interval: Option<Duration>,
    /// Refused reads and wrong answers of a drive within ten minutes for which it is given up,
    /// where redundancy allows. None: never.
    pub fault_threshold: Option<NonZeroU32>,
    /// How long a drive may give no answer at all, though it owes some, before it is given up,
    /// where redundancy allows. None: for ever. Whole milliseconds.
    pub io_timeout: Option<Duration>,
    /// Drives are told of space as it becomes free.
    pub autotrim: bool,
    /// Volumes may be promised more than is formatted.
    pub overcommit: bool,
    /// What is done before the pool is full.
    pub levels: Levels,
}

/// How far what may live is used, in percent, when something is done about it: 1 to 100, and none
/// above `stop`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Levels {
    /// The pool says that little is left, and hosts that their drive's spare is low.
    pub warn: u8,
    /// Hosts write slower from here on.
    pub throttle: u8,
    /// New data is refused.
    pub stop: u8,
}

impl Default for Levels {
    fn default() -> Self {
        Levels { warn: 90, throttle: 95, stop: 100 }
    }
}

impl Levels {
    /// Whether these can be levels.
    pub fn are_in_order(self) -> bool {
        let Levels { warn, throttle, stop } = self;
        (1..=stop).contains(&warn) && (1..=stop).contains(&throttle) && stop <= 100
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            recon_prio: PRIO_MAX,
            recon_p99: None,
            scrub_prio: 5,
            scrub_interval: Some(SCRUB_INTERVAL),
            fault_threshold: FAULT_THRESHOLD,
            io_timeout: Some(IO_TIMEOUT),
            autotrim: true,
            overcommit: false,
            levels: Levels::default(),
        }
    }
}

/// The highest priority of a rebuild or a scrub: it takes what hosts leave.
pub const PRIO_MAX: u8 = 100;

/// How often a pool is scrubbed of which nobody has said anything else.
const SCRUB_INTERVAL: Duration = Duration::from_secs(30 * 86_400);

/// Faults for which a drive is given up of whose pool nobody has said anything else.
const FAULT_THRESHOLD: Option<NonZeroU32> = NonZeroU32::new(10);

/// How long a drive of a pool may be silent of which nobody has said anything else: longer than
/// drives try to read what they cannot, or take to be reset, and shorter than hosts wait for an
/// answer, which is 30 s with Linux.
const IO_TIMEOUT: Duration = Duration::from_secs(20);

/// What a family stores. Like live counts, it may be too high until the groups concerned have
/// merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Blocks that hold data.
    pub blocks: u64,
    /// Slots that their fragments take.
    pub slots: u64,
}

/// What has been written since the pool was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lifetime {
    /// Blocks that hosts have written, zeros included.
    pub blocks_written: u64,
    /// Bytes that the drives were given, whatever for.
    pub bytes_to_drives: u64,
}

/// The volume table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Catalog {
    /// By number.
    pub volumes: BTreeMap<VolumeId, VolumeEntry>,
    /// The number of the next volume. Families have the number of the volume that began them.
    pub next_id: u32,
    /// By number. Each volume writes to one.
    pub layers: BTreeMap<Layer, LayerEntry>,
    /// The number before that of the next layer.
    pub next_layer: u32,
    /// What each family stores, as of the checkpoint.
    pub usages: BTreeMap<Family, Usage>,
    /// What blocks of families have in common, by number.
    pub dictionaries: BTreeMap<DictionaryNumber, DictionaryEntry>,
    /// The number before that of the next dictionary.
    pub next_dictionary: DictionaryNumber,
    /// What an operator has chosen.
    pub settings: Settings,
    /// What those above the store keep with the pool: its policies. Bytes to the store.
    pub attributes: Bytes,
    /// The last scrub.
    pub scrub: ScrubRecord,
    /// The scrub that goes on.
    pub scrub_progress: Option<ScrubProgress>,
    /// What is kept for when the pool is full has been released to hosts.
    pub reserve_released: bool,
    /// Bytes that volumes may be promised, if somebody has set that.
    pub formatted_bytes: Option<NonZeroU64>,
    /// Somebody wants what was written before this to be spread over all drives.
    pub rebalance_below: Option<Lsn>,
    /// Bytes that the rebuild which goes on has written.
    pub rebuilt_bytes: u64,
    /// The same of the rebalance.
    pub rebalanced_bytes: u64,
    /// What has been written, as of the last checkpoint that wrote the catalog.
    pub lifetime: Lifetime,
    /// What a newer version has written and this one does not know.
    pub kept: KeptItems,
}

impl Catalog {
    /// Adds a volume of a family of its own under the next number, with a layer.
    pub fn insert_next(
        &mut self,
        blocks: u64,
        compression: Compression,
        attributes: Bytes,
        made_at: u64,
    ) -> VolumeId {
        let (id, family) = (VolumeId(self.next_id), Family(self.next_id));
        self.next_id += 1;
        self.next_layer += 1;
        let layer = Layer(self.next_layer);
        self.layers.insert(layer, LayerEntry { family, parent: None, children: 0, made_at });
        let state = VolumeState::Live;
        self.volumes
            .insert(id, VolumeEntry { family, layer, state, blocks, compression, attributes });
        id
    }

    /// Removes a volume, with its layer. Returns its family, whose dictionaries stay.
    pub fn remove(&mut self, id: VolumeId) -> Option<Family> {
        let removed = self.volumes.remove(&id)?;
        self.layers.remove(&removed.layer);
        Some(removed.family)
    }

    /// Adds a dictionary under the next number.
    pub fn insert_dictionary(&mut self, dictionary: DictionaryEntry) -> DictionaryNumber {
        self.next_dictionary.0 += 1;
        self.dictionaries.insert(self.next_dictionary, dictionary);
        self.next_dictionary
    }

    /// Removes the dictionaries of a family of which nothing is stored any more.
    pub fn remove_dictionaries(&mut self, family: Family) {
        self.dictionaries.retain(|_, dictionary| dictionary.family != family);
    }

    /// The dictionaries of a family, in the order in which they were made.
    pub fn dictionaries_of(
        &self,
        family: Family,
    ) -> impl DoubleEndedIterator<Item = (DictionaryNumber, &DictionaryEntry)> {
        let of_family = move |(_, it): &(&DictionaryNumber, &DictionaryEntry)| it.family == family;
        self.dictionaries.iter().filter(of_family).map(|(number, it)| (*number, it))
    }

    /// Whether hosts have a volume of the family.
    pub fn serves(&self, family: Family) -> bool {
        self.has_any(family, |volume| volume.state == VolumeState::Live)
    }

    /// Whether there is a volume of the family, deleted ones included.
    pub fn knows(&self, family: Family) -> bool {
        self.has_any(family, |_| true)
    }

    /// How the blocks of a family are stored, if hosts have a volume of it.
    pub fn compression_of(&self, family: Family) -> Option<Compression> {
        // Families have the number of the volume that began them.
        let volume = self.volumes.get(&VolumeId(family.0))?;
        (volume.family == family && volume.state == VolumeState::Live).then_some(volume.compression)
    }

    /// Whether what is cold of any volume is compressed anew.
    pub fn recompresses(&self) -> bool {
        self.volumes
            .values()
            .any(|volume| matches!(volume.compression, Compression::Auto | Compression::Zstd(_)))
    }

    fn has_any(&self, family: Family, is_it: impl Fn(&VolumeEntry) -> bool) -> bool {
        let is_it = |volume: &VolumeEntry| volume.family == family && is_it(volume);
        // It is the one that began the family, most of the time.
        self.volumes.get(&VolumeId(family.0)).is_some_and(is_it) || self.volumes.values().any(is_it)
    }
}

#[cfg(test)]
mod tests;
