//! Recompression: what has become cold is stored by zstd, in less room.
//!
//! Hosts pay for LZ4 alone when they write. What collection moves out of a segment that was sealed
//! long ago is compressed anew on its way, but for what it moves while hosts wait for it. Where
//! room becomes scarce, upkeep empties the oldest segments for that alone, each once.
//!
//! Of a volume whose blocks have much in common zstd makes less by a dictionary ([`learning`]).
//!
//! 1. A new form is read back before it takes the place of the old one.
//! 2. A block is stored anew only if that saves an eighth of its slots.
//! 3. It has a share of the time, and does nothing that collection for space would wait for.

pub(crate) mod learning;
pub(crate) mod policy;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{BLOCK_BYTES, World};
use ashlar_format::compression::{Compression, ZstdLevel};
use ashlar_format::header::{CrcWitness, RecordKind};
use ashlar_format::ids::{DictionaryNumber, Family, Lsn};
use ashlar_format::location::SegmentId;

use crate::base::zstd::Dictionary;
use crate::jobs::collect::Rest;
use crate::jobs::collect::emptying::InParts;
use crate::jobs::share::TimeShare;
use crate::pool::Pool;
use crate::reader::decompress::decompress_block;
use crate::space::segments::Segments;
use crate::writer::batch::Item;
use crate::writer::compress::{Fragment, blocks_in_a_turn};
use crate::writer::pages::AppendError;
use learning::{Compressors, Learning};
use policy::{is_promising, is_scarce, level_for, slots_max};

/// Part of the time that steps have, in thousandths.
const SHARE: u16 = 250;

/// A turn, in parts of it that blocks take.
const TURN_PARTS: usize = 16;

/// When it looks again where there was no room for what it moves.
const ROOM_RETRY: Duration = Duration::from_secs(1);

/// How far it is.
#[derive(Default)]
pub(crate) struct Recompression {
    share: TimeShare,
    /// The segment that is being emptied for this alone. Collection has one of its own: who waits
    /// for room must not wait for this one.
    begun: InParts,
    learning: Learning,
    compressors: Compressors,
}

/// How a block is stored anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    Zstd(ZstdLevel),
    ByDictionary(DictionaryNumber),
}

impl Form {
    /// Blocks that are stored anew in one turn, for whose end all hosts of the pool wait. Each is
    /// read back as well.
    fn blocks_in_a_turn(self) -> usize {
        let level = match self {
            Form::Zstd(level) => level,
            Form::ByDictionary(_) => ZstdLevel::DEFAULT,
        };
        blocks_in_a_turn(Compression::Zstd(level)).div_ceil(2).min(TURN_PARTS)
    }
}

impl<W: World> Pool<W> {
    /// Whether what was sealed then is cold by now.
    pub fn is_cold(&self, sealed_at: u64) -> bool {
        self.cold_in(sealed_at).is_zero()
    }

    fn cold_in(&self, sealed_at: u64) -> Duration {
        let age = Duration::from_secs(self.world.unix_seconds().saturating_sub(sealed_at));
        self.options.cold_after.saturating_sub(age)
    }

    /// The segment that is emptied next for this alone, if its step may begin.
    pub fn next_to_recompress(&self, segments: &Segments, floor: Lsn) -> Option<SegmentId> {
        let Some(id) = self.oldest_written(segments) else {
            // Another job may have emptied what has begun.
            self.jobs.recompression.begun.forget();
            return None;
        };
        let segment = segments.get(id).expect("the summary is of what there is");
        let is_ready = segment.last_lsn < floor && self.is_cold(segment.sealed_at);
        (is_ready && self.jobs.recompression.share.has_come(self.world.now())).then_some(id)
    }

    /// When upkeep looks again for one. None: there is nothing to do.
    pub fn recompress_waits(&self) -> Option<Duration> {
        let segments = self.space.segments.borrow();
        let id = self.oldest_written(&segments)?;
        let sealed_at = segments.get(id).expect("the summary is of what there is").sealed_at;
        let share = self.jobs.recompression.share.wait(self.world.now());
        let wait = self.cold_in(sealed_at).max(share);
        // Where it might have begun and has not, room is lacking.
        Some(if wait.is_zero() { ROOM_RETRY } else { wait })
    }

    /// The segment that was sealed first of those that hold what hosts have written, if any is to
    /// be emptied for this. Upkeep asks at each turn: the sums alone tell.
    fn oldest_written(&self, segments: &Segments) -> Option<SegmentId> {
        let is_wanted = self.identity.features.has_zstd()
            && is_scarce(segments.live().bytes(), self.space.limit_bytes.get())
            && self.halt.why().is_none()
            && self.catalog.borrow().recompresses();
        if is_wanted { segments.summary().oldest_written() } else { None }
    }

    /// Empties a part of the segment, or finds that it is not worth it.
    pub async fn recompress_step(&self, victim: SegmentId) -> Result<(), AppendError> {
        let begun = self.world.now();
        let done = self.recompress_some(victim).await;
        let share = &self.jobs.recompression.share;
        share.stepped(begun, self.world.now(), SHARE);
        match done {
            // Whoever makes room does not do it for this.
            Err(AppendError::WindowEmpty) => {
                share.pause(self.world.now(), ROOM_RETRY);
                Ok(())
            }
            done => done,
        }
    }

    async fn recompress_some(&self, victim: SegmentId) -> Result<(), AppendError> {
        let begun = &self.jobs.recompression.begun;
        let goes_on = begun.segment(&self.space.segments.borrow()) == Some(victim);
        if goes_on || self.promises_room(victim).await {
            return self.collect_in_parts(begun, victim, Rest::Stays).await.map(drop);
        }
        self.space.segments.borrow_mut().settle(victim);
        Ok(())
    }

    /// Whether its first batch says that the segment is worth emptying.
    async fn promises_room(&self, victim: SegmentId) -> bool {
        let rows = self.space.segments.borrow().get(victim).map(|it| it.accepted_rows());
        let Some(first) = rows.as_ref().and_then(|rows| rows.first()) else { return false };
        // What cannot be read a scrub finds.
        let headers = self.read_headers(victim, first.row..first.row + first.rows);
        let headers = headers.await.unwrap_or_default();
        let catalog = self.catalog.borrow();
        let compression_of = |family| catalog.compression_of(family);
        headers.first().is_some_and(|header| is_promising(&header.records, compression_of))
    }

    /// The moves, each with what it moves in the form that a cold block has.
    pub async fn recompressed(&self, items: Vec<Item>) -> Vec<Item> {
        let mut done = Vec::with_capacity(items.len());
        let mut dictionaries = BTreeMap::new();
        let (mut tried, unlearnt) = (0, self.jobs.recompression.learning.unlearnt());
        for item in items {
            done.push(match self.form_of(&item, &mut dictionaries) {
                Some(form) => {
                    tried += TURN_PARTS / form.blocks_in_a_turn();
                    // What it moves may have been erased meanwhile.
                    if unlearnt == self.jobs.recompression.learning.unlearnt() {
                        self.sample(&item, form);
                    }
                    self.recompress_item(item, form)
                }
                None => item,
            });
            if tried >= TURN_PARTS {
                tried = 0;
                self.world.yield_now().await;
                self.learn();
            }
        }
        done
    }

    /// How what an item moves is stored anew, if that is tried.
    fn form_of(
        &self,
        item: &Item,
        dictionaries: &mut BTreeMap<Family, Option<DictionaryNumber>>,
    ) -> Option<Form> {
        let family = item.key.family;
        let compression = self.catalog.borrow().compression_of(family)?;
        let level = level_for(compression, item.fragment.as_ref()?.codec)?;
        // Who has chosen a level gets that.
        if compression != Compression::Auto {
            return Some(Form::Zstd(level));
        }
        let dictionary = dictionaries.entry(family).or_insert_with(|| self.dictionary_for(family));
        Some(dictionary.map_or(Form::Zstd(level), Form::ByDictionary))
    }

    fn recompress_item(&self, item: Item, form: Form) -> Item {
        let anew = item.fragment.as_ref().and_then(|fragment| self.recoded(fragment, form));
        let Some(anew) = anew else { return item };
        self.count(|counters| counters.jobs.fragments_recompressed += 1);
        as_recode(item, anew)
    }

    fn recoded(&self, fragment: &Fragment, form: Form) -> Option<Fragment> {
        let compress = |block: &[u8], slots_max| self.compress_as(form, block, slots_max);
        recoded(fragment, |number| self.dictionary(number), compress)
    }
}

/// The move of an item that is stored as `fragment` from now on.
fn as_recode(item: Item, fragment: Fragment) -> Item {
    let (RecordKind::Move { from }, Some(before)) = (item.kind, &item.fragment) else {
        unreachable!("{item:?} moves nothing")
    };
    let from_crc = CrcWitness::of(before.crc);
    let kind = RecordKind::Recode { from, from_crc };
    Item { kind, key: item.key, fragment: Some(fragment) }
}

/// What `compress` makes of what a fragment holds in at most so many slots, if it saves enough.
pub(crate) fn recoded(
    fragment: &Fragment,
    dictionary: impl Fn(DictionaryNumber) -> Option<Rc<Dictionary>>,
    compress: impl FnOnce(&[u8], usize) -> Option<Fragment>,
) -> Option<Fragment> {
    let slots_max = slots_max(fragment.slots())?;
    let mut block = [0; BLOCK_BYTES];
    if !decompress_block(&fragment.bytes, fragment.codec, &dictionary, &mut block) {
        // Whoever reads it is told.
        return None;
    }
    let anew = compress(&block, slots_max)?;
    let mut read_back = [0; BLOCK_BYTES];
    let is_right = decompress_block(&anew.bytes, anew.codec, &dictionary, &mut read_back)
        && read_back == block;
    if !is_right {
        tracing::error!("zstd has made of a block what is another one: it stays as it is");
    }
    is_right.then_some(anew)
}

#[cfg(test)]
mod tests;
