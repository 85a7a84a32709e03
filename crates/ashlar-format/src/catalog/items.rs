//! The catalog's items: each has a tag and a key, and is of [fields](crate::fields).
//!
//! An item that is not known is kept and written again, as a field is; bit 15 of its tag says that
//! it must be known. Items are written one by one, those that have changed: a pool of a thousand
//! volumes with hundreds of hosts each has fifty megabytes of them.

use std::collections::{BTreeMap, BTreeSet};
use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use ashlar_block::{DriveId, VolumeId};
use bytes::Bytes;

use super::{
    Catalog, LayerEntry, Levels, Lifetime, PRIO_MAX, Settings, Usage, VolumeEntry, VolumeState,
};
use crate::codec::{Malformed, Reader, Writer};
use crate::compression::Compression;
use crate::dictionary::DictionaryEntry;
use crate::fields::{CRITICAL, FieldsError, Kept, put_field, put_kept, take_fields};
use crate::ids::{DictionaryNumber, Family, Layer, Lsn};
use crate::location::SegmentId;
use crate::scrub::{Findings, ScrubProgress, ScrubRecord};

const WHAT: &str = "catalog";

/// What an item is. 4 is kept for tiers, 8 for codecs.
const POOL: u16 = 1;
const SETTINGS: u16 = 2;
const SCRUB: u16 = 3;
const VOLUME: u16 = 5;
const LAYER: u16 = 6;
const USAGE: u16 = 7;
const DICTIONARY: u16 = 9;
const ATTRIBUTES: u16 = 10;

fn is_known((tag, _): ItemKey) -> bool {
    [POOL, SETTINGS, SCRUB, VOLUME, LAYER, USAGE, DICTIONARY, ATTRIBUTES].contains(&tag)
}

/// Families whose usage is in one item.
const FAMILIES_PER_ITEM: u32 = 128;

/// An item's tag and key.
pub type ItemKey = (u16, u32);

/// An item's key and its bytes.
pub type Item = (ItemKey, Vec<u8>);

/// What is not known of items, by item.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KeptItems(BTreeMap<ItemKey, Kept>);

impl KeptItems {
    fn keep(&mut self, item: ItemKey, kept: Kept) {
        if kept != Kept::default() || !is_known(item) {
            self.0.insert(item, kept);
        }
    }
}

impl Catalog {
    /// The keys of its items, in order. None at all for the catalog of a new pool: its first root
    /// is written before any segment can be.
    pub fn item_keys(&self) -> BTreeSet<ItemKey> {
        if *self == Catalog::default() {
            return BTreeSet::new();
        }
        let volumes = self.volumes.keys().map(|id| (VOLUME, id.0));
        let layers = self.layers.keys().map(|layer| (LAYER, layer.0));
        let used = self.usages.iter().filter(|(_, usage)| **usage != Usage::default());
        let usages = used.map(|(family, _)| (USAGE, family.0 / FAMILIES_PER_ITEM));
        let dictionaries = self.dictionaries.keys().map(|number| (DICTIONARY, number.0));
        // What is kept of a volume goes with it.
        let stays = |item: &&ItemKey| matches!(item.0, USAGE | ATTRIBUTES) || !is_known(**item);
        let kept = self.kept.0.keys().filter(stays).copied();
        let of_itself = [(POOL, 0), (SETTINGS, 0), (SCRUB, 0)].into_iter();
        let attributes = (!self.attributes.is_empty()).then_some((ATTRIBUTES, 0));
        of_itself
            .chain(attributes)
            .chain(volumes)
            .chain(layers)
            .chain(usages)
            .chain(dictionaries)
            .chain(kept)
            .collect()
    }

    /// Whether an item is not as it was.
    pub fn has_changed(&self, item: ItemKey, before: &Catalog) -> bool {
        let usages = |catalog: &Catalog, number: u32| catalog.usages_of(number).collect::<Vec<_>>();
        match item {
            (POOL, _) => self.of_pool() != before.of_pool(),
            (SETTINGS, _) => self.settings != before.settings,
            (ATTRIBUTES, _) => self.attributes != before.attributes,
            (SCRUB, _) => {
                (&self.scrub, &self.scrub_progress) != (&before.scrub, &before.scrub_progress)
            }
            (VOLUME, id) => {
                match (self.volumes.get(&VolumeId(id)), before.volumes.get(&VolumeId(id))) {
                    (Some(now), Some(before)) => !now.is_as(before),
                    (now, before) => now != before,
                }
            }
            (LAYER, number) => self.layers.get(&Layer(number)) != before.layers.get(&Layer(number)),
            (USAGE, number) => usages(self, number) != usages(before, number),
            // None changes.
            (DICTIONARY, number) => {
                let has = |catalog: &Catalog| {
                    catalog.dictionaries.contains_key(&DictionaryNumber(number))
                };
                has(self) != has(before)
            }
            _ => self.kept.0.get(&item) != before.kept.0.get(&item),
        }
    }

    /// The bytes of an item.
    pub fn encode_item(&self, item: ItemKey) -> Vec<u8> {
        let mut w = Writer::default();
        match item {
            (POOL, _) => self.put_pool(&mut w),
            (SETTINGS, _) => put_settings(&mut w, &self.settings),
            (ATTRIBUTES, _) if self.attributes.is_empty() => {}
            (ATTRIBUTES, _) => put_field(&mut w, 1, |w| w.bytes(&self.attributes)),
            (SCRUB, _) => self.put_scrub(&mut w),
            (VOLUME, id) => {
                self.volumes.get(&VolumeId(id)).into_iter().for_each(|it| put_volume(&mut w, it))
            }
            (LAYER, number) => {
                self.layers.get(&Layer(number)).into_iter().for_each(|it| put_layer(&mut w, it))
            }
            (USAGE, number) => put_field(&mut w, 1, |w| put_usages(w, self.usages_of(number))),
            (DICTIONARY, number) => {
                let dictionary = self.dictionaries.get(&DictionaryNumber(number));
                dictionary.into_iter().for_each(|it| it.put(&mut w));
            }
            _ => {}
        }
        if let Some(kept) = self.kept.0.get(&item) {
            put_kept(&mut w, kept);
        }
        w.0
    }

    /// All items, in order.
    pub fn items(&self) -> Vec<Item> {
        self.item_keys().into_iter().map(|item| (item, self.encode_item(item))).collect()
    }

    /// The catalog of these items.
    ///
    /// # Errors
    /// They are cut off, say what cannot be, or what only a newer version understands.
    pub fn of_items(items: &[Item]) -> Result<Self, FieldsError> {
        let mut catalog = Catalog::default();
        for (item, bytes) in items {
            let kept = catalog.take_item(*item, bytes)?;
            catalog.kept.keep(*item, kept);
        }
        // A number that came back would read what was stored by another dictionary.
        let newest = catalog.dictionaries.last_key_value().map(|(number, _)| *number);
        match newest {
            Some(newest) if newest > catalog.next_dictionary => {
                Err(Malformed { what: WHAT }.into())
            }
            _ => Ok(catalog),
        }
    }

    fn take_item(&mut self, item: ItemKey, bytes: &[u8]) -> Result<Kept, FieldsError> {
        match item {
            (POOL, 0) => take_fields(WHAT, bytes, |tag, r| self.take_pool(tag, r)),
            (SETTINGS, 0) => {
                take_fields(WHAT, bytes, |tag, r| take_settings(&mut self.settings, tag, r))
            }
            (SCRUB, 0) => take_fields(WHAT, bytes, |tag, r| self.take_scrub(tag, r)),
            (ATTRIBUTES, 0) => take_fields(WHAT, bytes, |tag, r| self.take_attributes(tag, r)),
            (POOL | SETTINGS | SCRUB | ATTRIBUTES, _) => Err(Malformed { what: WHAT }.into()),
            (VOLUME, id) => {
                let (volume, kept) = take_volume(bytes)?;
                self.volumes.insert(VolumeId(id), volume);
                Ok(kept)
            }
            (LAYER, number) => {
                let (layer, kept) = take_layer(bytes)?;
                self.layers.insert(Layer(number), layer);
                Ok(kept)
            }
            (DICTIONARY, number) => {
                let (dictionary, kept) = DictionaryEntry::take(bytes)?;
                self.dictionaries.insert(DictionaryNumber(number), dictionary);
                Ok(kept)
            }
            (USAGE, number) => {
                take_fields(WHAT, bytes, |tag, r| take_usages(&mut self.usages, number, tag, r))
            }
            (tag, _) if tag & CRITICAL != 0 => {
                Err(FieldsError::Unknown { what: WHAT, tag: tag & !CRITICAL })
            }
            _ => take_fields(WHAT, bytes, |_, _| Ok(false)),
        }
    }

    /// The usages of an item, in the order of their families, with the layer that they are of. What
    /// stores nothing has none.
    fn usages_of(&self, number: u32) -> impl Iterator<Item = (Family, Layer, Usage)> {
        // A newer version may have items behind those of the last family.
        let first = number.checked_mul(FAMILIES_PER_ITEM);
        let families = first.map(|first| Family(first)..=Family(first + (FAMILIES_PER_ITEM - 1)));
        let usages = families.into_iter().flat_map(|families| self.usages.range(families));
        let used = usages.filter(|(_, usage)| **usage != Usage::default());
        used.map(|(family, usage)| (*family, self.layer_of(*family), *usage))
    }

    /// The only layer of a family.
    fn layer_of(&self, family: Family) -> Layer {
        self.volumes.get(&VolumeId(family.0)).map_or(Layer(0), |volume| volume.layer)
    }

    /// The bytes of what is of the pool itself.
    fn of_pool(&self) -> Vec<u8> {
        let mut w = Writer::default();
        self.put_pool(&mut w);
        w.0
    }

    fn put_pool(&self, w: &mut Writer) {
        put_field(w, 1, |w| w.u32(self.next_id));
        put_field(w, 2, |w| w.u8(u8::from(self.reserve_released)));
        put_field(w, 3, |w| w.u64(self.rebalance_below.map_or(0, |below| below.0)));
        put_field(w, 4, |w| w.u64(self.rebuilt_bytes));
        put_field(w, 5, |w| w.u64(self.rebalanced_bytes));
        put_field(w, 6, |w| w.u32(self.next_layer));
        if let Some(bytes) = self.formatted_bytes {
            put_field(w, 7, |w| w.u64(bytes.get()));
        }
        let Lifetime { blocks_written, bytes_to_drives } = self.lifetime;
        for (tag, total) in [(8, blocks_written), (9, bytes_to_drives)] {
            if total > 0 {
                put_field(w, tag, |w| w.u64(total));
            }
        }
        if self.next_dictionary.0 > 0 {
            put_field(w, 10, |w| w.u32(self.next_dictionary.0));
        }
    }

    fn take_pool(&mut self, tag: u16, r: &mut Reader<'_>) -> Result<bool, FieldsError> {
        match tag {
            1 => self.next_id = r.u32()?,
            2 => self.reserve_released = r.u8()? != 0,
            3 => self.rebalance_below = Some(Lsn(r.u64()?)).filter(|below| below.0 > 0),
            4 => self.rebuilt_bytes = r.u64()?,
            5 => self.rebalanced_bytes = r.u64()?,
            6 => self.next_layer = r.u32()?,
            7 => self.formatted_bytes = NonZeroU64::new(r.u64()?),
            8 => self.lifetime.blocks_written = r.u64()?,
            9 => self.lifetime.bytes_to_drives = r.u64()?,
            10 => self.next_dictionary = DictionaryNumber(r.u32()?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn take_attributes(&mut self, tag: u16, r: &mut Reader<'_>) -> Result<bool, FieldsError> {
        if tag != 1 {
            return Ok(false);
        }
        self.attributes = Bytes::copy_from_slice(r.bytes(r.rest().len())?);
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
    let Settings {
        recon_prio,
        recon_p99,
        scrub_prio,
        scrub_interval,
        fault_threshold,
        io_timeout,
        autotrim,
        overcommit,
        levels,
    } = *settings;
    put_field(w, 1, |w| w.u8(recon_prio));
    put_field(w, 2, |w| w.u64(recon_p99.map_or(0, |target| target.as_micros() as u64)));
    put_field(w, 3, |w| w.u8(scrub_prio));
    put_field(w, 4, |w| w.u64(scrub_interval.map_or(0, |interval| interval.as_secs())));
    put_field(w, 5, |w| w.u32(fault_threshold.map_or(0, NonZeroU32::get)));
    put_field(w, 6, |w| w.u64(io_timeout.map_or(0, |timeout| timeout.as_millis() as u64)));
    if !autotrim {
        put_field(w, 7, |w| w.u8(0));
    }
    if overcommit {
        put_field(w, 8, |w| w.u8(1));
    }
    if levels != Levels::default() {
        put_field(w, 9, |w| w.u8(levels.warn).u8(levels.throttle).u8(levels.stop));
    }
}

fn take_settings(
    settings: &mut Settings,
    tag: u16,
    r: &mut Reader<'_>,
) -> Result<bool, FieldsError> {
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
        7 => settings.autotrim = r.u8()? != 0,
        8 => settings.overcommit = r.u8()? != 0,
        9 => settings.levels = Levels { warn: r.u8()?, throttle: r.u8()?, stop: r.u8()? },
        _ => return Ok(false),
    }
    Ok(true)
}

fn put_volume(w: &mut Writer, volume: &VolumeEntry) {
    put_field(w, 1, |w| w.u32(volume.family.0));
    put_field(w, 2, |w| w.u32(volume.layer.0));
    put_field(w, 3, |w| w.u8(u8::from(volume.state == VolumeState::Deleting)));
    put_field(w, 4, |w| w.u64(volume.blocks));
    put_field(w, 5, |w| volume.compression.put(w));
    put_field(w, 6, |w| w.bytes(&volume.attributes));
}

fn take_volume(bytes: &[u8]) -> Result<(VolumeEntry, Kept), FieldsError> {
    let (mut family, mut blocks) = (None, None);
    let mut volume = VolumeEntry {
        family: Family(0),
        layer: Layer(0),
        state: VolumeState::Live,
        blocks: 0,
        compression: Compression::default(),
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
            5 => volume.compression = Compression::take(r)?,
            6 => volume.attributes = Bytes::copy_from_slice(r.bytes(r.rest().len())?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let missing = Malformed { what: WHAT };
    (volume.family, volume.blocks) = (family.ok_or(missing)?, blocks.ok_or(missing)?);
    Ok((volume, kept))
}

fn put_layer(w: &mut Writer, layer: &LayerEntry) {
    put_field(w, 1, |w| w.u32(layer.family.0));
    put_field(w, 2, |w| w.u32(layer.parent.map_or(0, |parent| parent.0)));
    put_field(w, 3, |w| w.u32(layer.children));
    put_field(w, 4, |w| w.u64(layer.made_at));
}

fn take_layer(bytes: &[u8]) -> Result<(LayerEntry, Kept), FieldsError> {
    let mut layer = LayerEntry { family: Family(0), parent: None, children: 0, made_at: 0 };
    let kept = take_fields(WHAT, bytes, |tag, r| {
        match tag {
            1 => layer.family = Family(r.u32()?),
            2 => layer.parent = Some(Layer(r.u32()?)).filter(|parent| parent.0 > 0),
            3 => layer.children = r.u32()?,
            4 => layer.made_at = r.u64()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok((layer, kept))
}

fn put_usages(w: &mut Writer, usages: impl Iterator<Item = (Family, Layer, Usage)>) -> &mut Writer {
    for (family, layer, usage) in usages {
        w.u32(family.0).u32(layer.0).u64(usage.blocks).u64(usage.slots);
    }
    w
}

fn take_usages(
    usages: &mut BTreeMap<Family, Usage>,
    number: u32,
    tag: u16,
    r: &mut Reader<'_>,
) -> Result<bool, FieldsError> {
    if tag != 1 {
        return Ok(false);
    }
    while !r.rest().is_empty() {
        let (family, _layer) = (Family(r.u32()?), Layer(r.u32()?));
        let (blocks, slots) = (r.u64()?, r.u64()?);
        // It would be written in its own item, too, and count twice.
        if family.0 / FAMILIES_PER_ITEM != number {
            return Err(r.malformed().into());
        }
        if (blocks, slots) != (0, 0) {
            // What a family stores is what its layers do.
            let all: &mut Usage = usages.entry(family).or_default();
            all.blocks = all.blocks.saturating_add(blocks);
            all.slots = all.slots.saturating_add(slots);
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
