//! The volumes of a pool, as far as the store must know them.

use std::collections::BTreeMap;

use ashlar_block::{Lba, VolumeId};
use bytes::Bytes;

use crate::format::codec::{Malformed, Reader, Writer};
use crate::ledger::Usage;
use crate::types::{Family, Layer};

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
    /// Blocks are compressed when they are written.
    pub compression: bool,
    /// What those above the store keep with it: its name, its hosts. Bytes to the store.
    pub attributes: Bytes,
}

impl VolumeEntry {
    /// The block after the last.
    pub fn end(&self) -> Lba {
        Lba(self.blocks)
    }
}

/// What an operator has chosen for a pool; it goes where the pool goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Part of the time that the rebuild of lost drives may have, in percent: 1 to 100.
    pub recon_prio: u8,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { recon_prio: RECON_PRIO_MAX }
    }
}

/// The highest priority of a rebuild: it takes what hosts leave.
pub const RECON_PRIO_MAX: u8 = 100;

/// The volume table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Catalog {
    /// By number.
    pub volumes: BTreeMap<VolumeId, VolumeEntry>,
    /// The number of the next volume. Families have the number of the volume that began them.
    pub next_id: u32,
    /// What each family stores, as of the checkpoint.
    pub usages: BTreeMap<Family, Usage>,
    /// What an operator has chosen.
    pub settings: Settings,
}

impl Catalog {
    /// Whether hosts have a volume of the family.
    pub fn serves(&self, family: Family) -> bool {
        let serves = |volume: &VolumeEntry| volume.family == family && volume.state == VolumeState::Live;
        // It is the one that began the family, most of the time.
        self.volumes.get(&VolumeId(family.0)).is_some_and(serves) || self.volumes.values().any(serves)
    }

    /// `next id (4) | volumes (4)`, each `id (4) | family (4) | layer (4) | state (1) | compression (1) | blocks (8) |
    /// attribute bytes (4) | attributes`; `families (4)`, each `family (4) | blocks (8) | slots (8)`; `recon prio (1)`.
    /// Nothing at all for the catalog of a new pool: its first root is written before any segment can be.
    pub fn encode(&self) -> Vec<u8> {
        if *self == Catalog::default() {
            return Vec::new();
        }
        let mut w = Writer::default();
        w.u32(self.next_id).u32(self.volumes.len() as u32);
        for (id, volume) in &self.volumes {
            w.u32(id.0).u32(volume.family.0).u32(volume.layer.0);
            w.u8(u8::from(volume.state == VolumeState::Deleting))
                .u8(u8::from(volume.compression))
                .u64(volume.blocks);
            w.u32(volume.attributes.len() as u32).bytes(&volume.attributes);
        }
        w.u32(self.usages.len() as u32);
        for (family, usage) in &self.usages {
            w.u32(family.0).u64(usage.blocks).u64(usage.slots);
        }
        w.u8(self.settings.recon_prio);
        w.0
    }

    /// The catalog that `bytes` hold.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new("catalog", bytes);
        let next_id = r.u32()?;
        let volumes = (0..r.u32()?).map(|_| take_volume(&mut r)).collect::<Result<_, _>>()?;
        let usages = (0..r.u32()?)
            .map(|_| Ok((Family(r.u32()?), Usage { blocks: r.u64()?, slots: r.u64()? })))
            .collect::<Result<_, Malformed>>()?;
        let settings = Settings { recon_prio: r.u8()? };
        if !(1..=RECON_PRIO_MAX).contains(&settings.recon_prio) {
            return Err(r.malformed());
        }
        Ok(Catalog { volumes, next_id, usages, settings })
    }
}

fn take_volume(r: &mut Reader<'_>) -> Result<(VolumeId, VolumeEntry), Malformed> {
    let (id, family, layer) = (VolumeId(r.u32()?), Family(r.u32()?), Layer(r.u32()?));
    let state = match r.u8()? {
        0 => VolumeState::Live,
        1 => VolumeState::Deleting,
        _ => return Err(r.malformed()),
    };
    let (compression, blocks, attribute_bytes) = (r.u8()? != 0, r.u64()?, r.u32()? as usize);
    let attributes = Bytes::copy_from_slice(r.bytes(attribute_bytes)?);
    Ok((id, VolumeEntry { family, layer, state, blocks, compression, attributes }))
}

#[cfg(test)]
mod tests;
