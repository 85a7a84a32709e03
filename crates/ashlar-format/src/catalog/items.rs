//! The catalog's bytes: items of a tag and a key, each of [fields](crate::fields).
//!
//! An item is `tag (2) | key (4) | bytes (4) | fields`. An item that is not known is kept and
//! written again, as a field is; bit 15 of its tag says that it must be known.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use ashlar_block::{DriveId, VolumeId};
use bytes::Bytes;

use super::{Catalog, PRIO_MAX, Settings, Usage, VolumeEntry, VolumeState};
use crate::codec::{Malformed, Reader, Writer};
use crate::fields::{CRITICAL, FieldsError, Kept, put_field, put_kept, take_fields};
use crate::ids::{Family, Layer, Lsn};
use crate::location::SegmentId;
use crate::scrub::{Findings, ScrubProgress, ScrubRecord};

const WHAT: &str = "catalog";

/// What an item is. 4 is kept for tiers, 6 for layers, 8 and 9 for codecs and dictionaries.
const POOL: u16 = 1;
const SETTINGS: u16 = 2;
const SCRUB: u16 = 3;
const VOLUME: u16 = 5;
const USAGE: u16 = 7;

/// Families whose usage is in one item.
const FAMILIES_PER_ITEM: u32 = 128;

/// An item's tag and key.
type ItemKey = (u16, u32);

/// What is not known of items, by item.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KeptItems(BTreeMap<ItemKey, Kept>);

impl KeptItems {
    fn keep(&mut self, item: ItemKey, kept: Kept) {
        if kept != Kept::default() {
            self.0.insert(item, kept);
        }
    }
}

/// Writes items, with what is kept of each.
struct Items<'a> {
    w: Writer,
    kept: &'a KeptItems,
}

impl Items<'_> {
    fn put(&mut self, item: ItemKey, fields: impl FnOnce(&mut Writer)) {
        self.w.u16(item.0).u32(item.1).u32(0);
        let start = self.w.0.len();
        fields(&mut self.w);
        if let Some(kept) = self.kept.0.get(&item) {
            put_kept(&mut self.w, kept);
        }
        let bytes = self.w.0.len() - start;
        self.w.patch_u32(start - 4, bytes as u32);
    }
}

impl Catalog {
    /// Its bytes: items in the order of their tags and keys. None at all for the catalog of a new
    /// pool: its first root is written before any segment can be.
    pub fn encode(&self) -> Vec<u8> {
        if *self == Catalog::default() {
            return Vec::new();
        }
        let mut items = Items { w: Writer::default(), kept: &self.kept };
        items.put((POOL, 0), |w| self.put_pool(w));
        items.put((SETTINGS, 0), |w| put_settings(w, &self.settings));
        items.put((SCRUB, 0), |w| self.put_scrub(w));
        for (id, volume) in &self.volumes {
            items.put((VOLUME, id.0), |w| put_volume(w, volume));
        }
        for (number, usages) in self.usages_by_item() {
            items.put((USAGE, number), |w| put_field(w, 1, |w| put_usages(w, &usages)));
        }
        let is_known = |(tag, _): &&ItemKey| [POOL, SETTINGS, SCRUB, VOLUME, USAGE].contains(tag);
        for item in self.kept.0.keys().filter(|item| !is_known(item)) {
            items.put(*item, |_| {});
        }
        items.w.0
    }

    /// The catalog that `bytes` hold.
    ///
    /// # Errors
    /// They are cut off, say what cannot be, or what only a newer version understands.
    pub fn decode(bytes: &[u8]) -> Result<Self, FieldsError> {
        let mut catalog = Catalog::default();
        let mut r = Reader::new(WHAT, bytes);
        while !r.rest().is_empty() {
            let (item, bytes) = ((r.u16()?, r.u32()?), r.u32()? as usize);
            let kept = catalog.take_item(item, r.bytes(bytes)?)?;
            catalog.kept.keep(item, kept);
        }
        Ok(catalog)
    }

    fn take_item(&mut self, item: ItemKey, bytes: &[u8]) -> Result<Kept, FieldsError> {
        match item {
            (POOL, 0) => take_fields(WHAT, bytes, |tag, r| self.take_pool(tag, r)),
            (SETTINGS, 0) => take_fields(WHAT, bytes, |tag, r| take_settings(&mut self.settings, tag, r)),
            (SCRUB, 0) => take_fields(WHAT, bytes, |tag, r| self.take_scrub(tag, r)),
            (POOL | SETTINGS | SCRUB, _) => Err(Malformed { what: WHAT }.into()),
            (VOLUME, id) => {
                let (volume, kept) = take_volume(bytes)?;
                self.volumes.insert(VolumeId(id), volume);
                Ok(kept)
            }
            (USAGE, _) => take_fields(WHAT, bytes, |tag, r| take_usages(&mut self.usages, tag, r)),
            (tag, _) if tag & CRITICAL != 0 => Err(FieldsError::Unknown { what: WHAT, tag: tag & !CRITICAL }),
            _ => take_fields(WHAT, bytes, |_, _| Ok(false)),
        }
    }

    /// Usages in the order of their families, by the number of their item. What stores nothing has
    /// none.
    fn usages_by_item(&self) -> BTreeMap<u32, Vec<(Family, Usage)>> {
        let kept = self.kept.0.keys().filter(|(tag, _)| *tag == USAGE);
        let mut items: BTreeMap<u32, Vec<_>> = kept.map(|(_, number)| (*number, Vec::new())).collect();
        let used = self.usages.iter().filter(|(_, usage)| **usage != Usage::default());
        for (family, usage) in used {
            items.entry(family.0 / FAMILIES_PER_ITEM).or_default().push((*family, *usage));
        }
        items
    }

    fn put_pool(&self, w: &mut Writer) {
        put_field(w, 1, |w| w.u32(self.next_id));
        put_field(w, 2, |w| w.u8(u8::from(self.reserve_released)));
        put_field(w, 3, |w| w.u64(self.rebalance_below.map_or(0, |below| below.0)));
        put_field(w, 4, |w| w.u64(self.rebuilt_bytes));
        put_field(w, 5, |w| w.u64(self.rebalanced_bytes));
    }

    fn take_pool(&mut self, tag: u16, r: &mut Reader<'_>) -> Result<bool, FieldsError> {
        match tag {
            1 => self.next_id = r.u32()?,
            2 => self.reserve_released = r.u8()? != 0,
            3 => self.rebalance_below = Some(Lsn(r.u64()?)).filter(|below| below.0 > 0),
            4 => self.rebuilt_bytes = r.u64()?,
            5 => self.rebalanced_bytes = r.u64()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn put_scrub(&self, w: &mut Writer) {
        let ScrubRecord { counted_from, started_at, finished_at, bytes_checked, findings, drives } =
            &self.scrub;
        put_field(w, 1, |w| {
            w.u64(*counted_from).u64(*started_at).u64(*finished_at).u64(*bytes_checked);
            put_findings(w, *findings)
        });
        put_field(w, 2, |w| put_drives(w, drives));
        if let Some(progress) = &self.scrub_progress {
            put_field(w, 3, |w| put_progress(w, progress));
        }
    }

    fn take_scrub(&mut self, tag: u16, r: &mut Reader<'_>) -> Result<bool, FieldsError> {
        match tag {
            1 => {
                let scrub = &mut self.scrub;
                (scrub.counted_from, scrub.started_at) = (r.u64()?, r.u64()?);
                (scrub.finished_at, scrub.bytes_checked) = (r.u64()?, r.u64()?);
                scrub.findings = take_findings(r)?;
            }
            2 => self.scrub.drives = take_drives(r)?,
            3 => self.scrub_progress = Some(take_progress(r)?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn put_settings(w: &mut Writer, settings: &Settings) {
    let Settings { recon_prio, recon_p99, scrub_prio, scrub_interval, fault_threshold, io_timeout } =
        *settings;
    put_field(w, 1, |w| w.u8(recon_prio));
    put_field(w, 2, |w| w.u64(recon_p99.map_or(0, |target| target.as_micros() as u64)));
    put_field(w, 3, |w| w.u8(scrub_prio));
    put_field(w, 4, |w| w.u64(scrub_interval.map_or(0, |interval| interval.as_secs())));
    put_field(w, 5, |w| w.u32(fault_threshold.map_or(0, NonZeroU32::get)));
    put_field(w, 6, |w| w.u64(io_timeout.map_or(0, |timeout| timeout.as_millis() as u64)));
}

fn take_settings(settings: &mut Settings, tag: u16, r: &mut Reader<'_>) -> Result<bool, FieldsError> {
    let positive = |number: u64| Some(number).filter(|number| *number > 0);
    let prio = |r: &mut Reader<'_>| {
        let prio = r.u8()?;
        if (1..=PRIO_MAX).contains(&prio) { Ok(prio) } else { Err(r.malformed()) }
    };
    match tag {
        1 => settings.recon_prio = prio(r)?,
        2 => settings.recon_p99 = positive(r.u64()?).map(Duration::from_micros),
        3 => settings.scrub_prio = prio(r)?,
        4 => settings.scrub_interval = positive(r.u64()?).map(Duration::from_secs),
        5 => settings.fault_threshold = NonZeroU32::new(r.u32()?),
        6 => settings.io_timeout = positive(r.u64()?).map(Duration::from_millis),
        _ => return Ok(false),
    }
    Ok(true)
}

fn put_volume(w: &mut Writer, volume: &VolumeEntry) {
    put_field(w, 1, |w| w.u32(volume.family.0));
    put_field(w, 2, |w| w.u32(volume.layer.0));
    put_field(w, 3, |w| w.u8(u8::from(volume.state == VolumeState::Deleting)));
    put_field(w, 4, |w| w.u64(volume.blocks));
    put_field(w, 5, |w| w.u8(u8::from(volume.compression)));
    put_field(w, 6, |w| w.bytes(&volume.attributes));
}

fn take_volume(bytes: &[u8]) -> Result<(VolumeEntry, Kept), FieldsError> {
    let (mut family, mut blocks) = (None, None);
    let mut volume = VolumeEntry {
        family: Family(0),
        layer: Layer(0),
        state: VolumeState::Live,
        blocks: 0,
        compression: true,
        attributes: Bytes::new(),
    };
    let kept = take_fields(WHAT, bytes, |tag, r| {
        match tag {
            1 => family = Some(Family(r.u32()?)),
            2 => volume.layer = Layer(r.u32()?),
            3 => {
                volume.state = match r.u8()? {
                    0 => VolumeState::Live,
                    1 => VolumeState::Deleting,
                    _ => return Err(r.malformed().into()),
                }
            }
            4 => blocks = Some(r.u64()?),
            5 => volume.compression = r.u8()? != 0,
            6 => volume.attributes = Bytes::copy_from_slice(r.bytes(r.rest().len())?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let missing = Malformed { what: WHAT };
    (volume.family, volume.blocks) = (family.ok_or(missing)?, blocks.ok_or(missing)?);
    Ok((volume, kept))
}

fn put_usages<'w>(w: &'w mut Writer, usages: &[(Family, Usage)]) -> &'w mut Writer {
    for (family, usage) in usages {
        w.u32(family.0).u64(usage.blocks).u64(usage.slots);
    }
    w
}

fn take_usages(
    usages: &mut BTreeMap<Family, Usage>,
    tag: u16,
    r: &mut Reader<'_>,
) -> Result<bool, FieldsError> {
    if tag != 1 {
        return Ok(false);
    }
    while !r.rest().is_empty() {
        let (family, usage) = (Family(r.u32()?), Usage { blocks: r.u64()?, slots: r.u64()? });
        if usage != Usage::default() {
            usages.insert(family, usage);
        }
    }
    Ok(true)
}

fn put_progress<'w>(w: &'w mut Writer, progress: &ScrubProgress) -> &'w mut Writer {
    let ScrubProgress { started_at, end, next: (segment, row), .. } = progress;
    w.u64(*started_at).u64(end.0).u32(segment.0).u32(*row);
    w.u64(progress.rows_done).u64(progress.rows_total).u64(progress.bytes_checked);
    put_findings(w, progress.findings);
    put_drives(w, &progress.drives)
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
        drives: take_drives(r)?,
    })
}

fn put_drives<'w>(w: &'w mut Writer, drives: &BTreeMap<DriveId, Findings>) -> &'w mut Writer {
    w.u16(drives.len() as u16);
    for (drive, findings) in drives {
        put_findings(w.u16(drive.0), *findings);
    }
    w
}

fn take_drives(r: &mut Reader<'_>) -> Result<BTreeMap<DriveId, Findings>, Malformed> {
    (0..r.u16()?).map(|_| Ok((DriveId(r.u16()?), take_findings(r)?))).collect()
}

fn put_findings(w: &mut Writer, findings: Findings) -> &mut Writer {
    let Findings { wrong, unreadable, repaired, unrepaired } = findings;
    w.u64(wrong).u64(unreadable).u64(repaired).u64(unrepaired)
}

fn take_findings(r: &mut Reader<'_>) -> Result<Findings, Malformed> {
    Ok(Findings { wrong: r.u64()?, unreadable: r.u64()?, repaired: r.u64()?, unrepaired: r.u64()? })
}
