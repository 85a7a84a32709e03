//! What a pool knows of itself and of its volumes.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use ashlar_block::{DriveId, Lba, VolumeId};
use bytes::Bytes;

use crate::codec::{Malformed, Reader, Writer};
use crate::ids::{Family, Layer, Lsn};
use crate::location::SegmentId;
use crate::scrub::{Findings, ScrubProgress, ScrubRecord};

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
    /// The last scrub.
    pub scrub: ScrubRecord,
    /// The scrub that goes on.
    pub scrub_progress: Option<ScrubProgress>,
    /// What is kept for when the pool is full has been released to hosts.
    pub reserve_released: bool,
    /// Somebody wants what was written before this to be spread over all drives.
    pub rebalance_below: Option<Lsn>,
    /// Bytes that the rebuild which goes on has written.
    pub rebuilt_bytes: u64,
    /// The same of the rebalance.
    pub rebalanced_bytes: u64,
}

impl Catalog {
    /// Adds a volume under the next number.
    pub fn insert_next(&mut self, volume: VolumeEntry) {
        self.volumes.insert(VolumeId(self.next_id), volume);
        self.next_id += 1;
    }

    /// Whether hosts have a volume of the family.
    pub fn serves(&self, family: Family) -> bool {
        let serves = |volume: &VolumeEntry| volume.family == family && volume.state == VolumeState::Live;
        // It is the one that began the family, most of the time.
        self.volumes.get(&VolumeId(family.0)).is_some_and(serves) || self.volumes.values().any(serves)
    }

    /// `next id (4) | volumes (4)`, each `id (4) | family (4) | layer (4) | state (1) | compression
    /// (1) | blocks (8) | attribute bytes (4) | attributes`; `families (4)`, each `family (4) |
    /// blocks (8) | slots (8)`; `recon prio (1)`; `scrub prio (1) | scrub interval in seconds, 0
    /// for none (8)`; of the last scrub `counted from (8) | start (8) | end (8) | bytes (8) | wrong
    /// (8) | unreadable (8) | repaired (8) | unrepaired (8)`; `recon p99 in microseconds, 0 for
    /// none (8)`; `fault threshold, 0 for none (4)`; `LSN below which what lives is being
    /// rebalanced, 0 for none (8)`; `I/O timeout in milliseconds, 0 for none (8)`; of the last
    /// scrub `drives with findings (2)`, each `drive (2) | wrong (8) | unreadable (8) | repaired
    /// (8) | unrepaired (8)`, and `bytes rebuilt (8) | bytes rebalanced (8)`; of the scrub that
    /// goes on `1 for one, 0 for none (1)`, and of one `start (8) | LSN that it ends before (8) |
    /// next segment (4) | next row (4) | rows done (8) | rows in all (8) | bytes (8) | wrong (8) |
    /// unreadable (8) | repaired (8) | unrepaired (8) | drives with findings (2)`, each as of the
    /// last scrub; `1 if the reserve is released, or 0 (1)`. What was written before there were
    /// scrubs, or one of the last seven, ends before those. Nothing at all for the catalog of a new
    /// pool: its first root is written before any segment can be.
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
        let Settings { recon_prio, recon_p99, scrub_prio, scrub_interval, fault_threshold, io_timeout } =
            self.settings;
        w.u8(recon_prio).u8(scrub_prio).u64(scrub_interval.map_or(0, |interval| interval.as_secs()));
        put_scrub(&mut w, &self.scrub);
        w.u64(recon_p99.map_or(0, |target| target.as_micros() as u64));
        w.u32(fault_threshold.map_or(0, NonZeroU32::get));
        w.u64(self.rebalance_below.map_or(0, |below| below.0));
        w.u64(io_timeout.map_or(0, |timeout| timeout.as_millis() as u64));
        put_scrubbed_drives(&mut w, &self.scrub.drives);
        w.u64(self.rebuilt_bytes).u64(self.rebalanced_bytes);
        w.u8(u8::from(self.scrub_progress.is_some()));
        if let Some(progress) = &self.scrub_progress {
            put_progress(&mut w, progress);
        }
        w.u8(u8::from(self.reserve_released));
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
        let mut catalog = Catalog { volumes, next_id, usages, ..Catalog::default() };
        catalog.settings.recon_prio = r.u8()?;
        catalog.take_later(&mut r)?;
        let is_prio = |prio: u8| (1..=PRIO_MAX).contains(&prio);
        if !is_prio(catalog.settings.recon_prio) || !is_prio(catalog.settings.scrub_prio) {
            return Err(r.malformed());
        }
        Ok(catalog)
    }

    /// Takes what catalogs have not always had, as far as this one has it.
    fn take_later(&mut self, r: &mut Reader<'_>) -> Result<(), Malformed> {
        let settings = &mut self.settings;
        if !r.rest().is_empty() {
            settings.scrub_prio = r.u8()?;
            settings.scrub_interval = Some(r.u64()?).filter(|seconds| *seconds > 0).map(Duration::from_secs);
            self.scrub = take_scrub(r)?;
        }
        if !r.rest().is_empty() {
            settings.recon_p99 = Some(r.u64()?).filter(|micros| *micros > 0).map(Duration::from_micros);
        }
        if !r.rest().is_empty() {
            settings.fault_threshold = NonZeroU32::new(r.u32()?);
        }
        if !r.rest().is_empty() {
            self.rebalance_below = Some(Lsn(r.u64()?)).filter(|below| below.0 > 0);
        }
        if !r.rest().is_empty() {
            settings.io_timeout = Some(r.u64()?).filter(|millis| *millis > 0).map(Duration::from_millis);
        }
        if !r.rest().is_empty() {
            self.scrub.drives = take_scrubbed_drives(r)?;
            (self.rebuilt_bytes, self.rebalanced_bytes) = (r.u64()?, r.u64()?);
        }
        if !r.rest().is_empty() {
            self.scrub_progress = match r.u8()? {
                0 => None,
                1 => Some(take_progress(r)?),
                _ => return Err(r.malformed()),
            };
        }
        if !r.rest().is_empty() {
            self.reserve_released = r.u8()? != 0;
        }
        Ok(())
    }
}

fn put_scrub(w: &mut Writer, scrub: &ScrubRecord) {
    let ScrubRecord { counted_from, started_at, finished_at, bytes_checked, findings, .. } = scrub;
    w.u64(*counted_from).u64(*started_at).u64(*finished_at).u64(*bytes_checked);
    put_findings(w, *findings);
}

fn take_scrub(r: &mut Reader<'_>) -> Result<ScrubRecord, Malformed> {
    let (counted_from, started_at, finished_at, bytes_checked) = (r.u64()?, r.u64()?, r.u64()?, r.u64()?);
    let (findings, drives) = (take_findings(r)?, BTreeMap::new());
    Ok(ScrubRecord { counted_from, started_at, finished_at, bytes_checked, findings, drives })
}

fn put_progress(w: &mut Writer, progress: &ScrubProgress) {
    let ScrubProgress { started_at, end, next: (segment, row), .. } = progress;
    w.u64(*started_at).u64(end.0).u32(segment.0).u32(*row);
    w.u64(progress.rows_done).u64(progress.rows_total).u64(progress.bytes_checked);
    put_findings(w, progress.findings);
    put_scrubbed_drives(w, &progress.drives);
}

fn take_progress(r: &mut Reader<'_>) -> Result<ScrubProgress, Malformed> {
    Ok(ScrubProgress {
        started_at: r.u64()?,
        end: Lsn(r.u64()?),
        next: (SegmentId(r.u32()?), r.u32()?),
        rows_done: r.u64()?,
        rows_total: r.u64()?,
        bytes_checked: r.u64()?,
        findings: take_findings(r)?,
        drives: take_scrubbed_drives(r)?,
    })
}

fn put_scrubbed_drives(w: &mut Writer, drives: &BTreeMap<DriveId, Findings>) {
    w.u16(drives.len() as u16);
    for (drive, findings) in drives {
        w.u16(drive.0);
        put_findings(w, *findings);
    }
}

fn take_scrubbed_drives(r: &mut Reader<'_>) -> Result<BTreeMap<DriveId, Findings>, Malformed> {
    (0..r.u16()?).map(|_| Ok((DriveId(r.u16()?), take_findings(r)?))).collect()
}

fn put_findings(w: &mut Writer, Findings { wrong, unreadable, repaired, unrepaired }: Findings) {
    w.u64(wrong).u64(unreadable).u64(repaired).u64(unrepaired);
}

fn take_findings(r: &mut Reader<'_>) -> Result<Findings, Malformed> {
    Ok(Findings { wrong: r.u64()?, unreadable: r.u64()?, repaired: r.u64()?, unrepaired: r.u64()? })
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
