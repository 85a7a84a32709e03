//! A pool that is filled until it refuses, emptied, written again, and kept nearly full.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{BLOCK_BYTES, Cause, Clock, IoError, Lba, Spawn, VolumeId};
use ashlar_store::format::header::RECORD_BYTES;
use ashlar_store::{Compression, Counters, PoolStatus};
use bytes::Bytes;

use crate::content::{Sort, content_of};
use crate::coverage::Issued;
use crate::hosts::Run;
use crate::model::{Answer, Model};
use crate::order::Course;
use crate::start::Pool;

/// Blocks of a write while the pool is filled.
const FILL_BLOCKS: u64 = 8;
/// Blocks of a write in the steady state.
const STEADY_BLOCKS: u64 = 4;
/// Part of what may live that does so in the steady state, in percent.
const STEADY_PERCENT: u64 = 80;
/// How often the steady state overwrites all that lives.
const STEADY_TURNS: u64 = 3;
/// Part of the trimmed space that must be writable again at once, in percent.
const WRITABLE_AGAIN_PERCENT: u64 = 90;
/// Bytes written to drives for a byte that hosts write and its parity, at most: moves, headers, the
/// journal and the map included. In pools as small as these they weigh more than in real ones.
const WRITE_AMPLIFICATION_MAX: f64 = 5.0;

impl Run {
    /// Fills the pool, and looks whether everything goes on that should.
    pub async fn fill_and_empty(self: Rc<Self>, pool: &Pool) -> Result<(), String> {
        let id = self.filling_volume(pool).await?;
        let end = self.fill(pool, id, 0..self.plan.volume.blocks).await?;
        if end == self.plan.volume.blocks {
            return Err("the pool takes more than it can hold".to_owned());
        }
        let space = pool.status().space;
        if !space.full {
            return Err(format!(
                "a write was refused, and the pool is not said to be full: {space:?}"
            ));
        }
        let left = space.safe_to_write;
        if left >= FILL_BLOCKS * (BLOCK_BYTES + RECORD_BYTES) as u64 {
            return Err(format!(
                "a write was refused, and {left} bytes are said to be safe to write"
            ));
        }
        self.check_all(pool).await?;
        for quarter in 0..4 {
            self.trim_and_refill(pool, id, end / 4 * quarter..end / 4 * (quarter + 1)).await?;
        }
        let live = (pool.status().space.limit * STEADY_PERCENT / 100 / BLOCK_BYTES as u64).min(end);
        self.trim(pool, id, live..self.plan.volume.blocks).await?;
        self.overwrite(pool, id, live).await
    }

    /// The volume of the start before, or a new one.
    async fn filling_volume(&self, pool: &Pool) -> Result<VolumeId, String> {
        let known =
            self.known.filling.get().filter(|id| self.known.models.borrow().contains_key(id));
        if let Some(id) = known {
            // It may be as full as it can be, so that not even what is there can be overwritten.
            self.trim(pool, id, 0..self.plan.volume.blocks / 2).await?;
            return Ok(id);
        }
        let blocks = self.plan.volume.blocks;
        let made = pool.create_volume(blocks, Compression::None, Bytes::from_static(b"full")).await;
        let id = made.map_err(|error| format!("create volume: {error}"))?;
        self.known.models.borrow_mut().insert(id, Model::new(blocks, false));
        self.known.filling.set(Some(id));
        Ok(id)
    }

    /// Writes blocks in order until the pool refuses; returns how far that went.
    async fn fill(&self, pool: &Pool, id: VolumeId, blocks: Range<u64>) -> Result<u64, String> {
        let (mut next, mut course) = (blocks.start, Course::default());
        while next < blocks.end {
            let end = (next + FILL_BLOCKS).min(blocks.end);
            let issued = course.issue(id, &(next..end), 1);
            match self.put(pool, id, next..end, issued).await {
                Ok(()) => next = end,
                Err(error) if error.cause == Cause::CapacityExceeded => break,
                Err(error) => return Err(format!("filling the pool: {error}")),
            }
        }
        Ok(next)
    }

    /// Trims a part of what was written, and writes it again.
    async fn trim_and_refill(
        &self,
        pool: &Pool,
        id: VolumeId,
        part: Range<u64>,
    ) -> Result<(), String> {
        self.trim(pool, id, part.clone()).await?;
        let refilled = self.fill(pool, id, part.clone()).await? - part.start;
        let trimmed = part.end - part.start;
        if refilled < trimmed * WRITABLE_AGAIN_PERCENT / 100 {
            return Err(format!("of {trimmed} trimmed blocks {refilled} can be written again"));
        }
        self.known.count(|outcome| outcome.filled_again += 1);
        self.check_all(pool).await
    }

    /// Hosts overwrite all that lives at random, again and again: nobody may be refused.
    async fn overwrite(self: Rc<Self>, pool: &Pool, id: VolumeId, live: u64) -> Result<(), String> {
        let before = pool.status().counters;
        let rest = Rc::new(Cell::new(live * STEADY_TURNS / STEADY_BLOCKS));
        let working = Rc::new(Cell::new(self.plan.hosts));
        for _ in 0..self.plan.hosts {
            let (this, pool, rest, working) =
                (self.clone(), pool.clone(), rest.clone(), working.clone());
            self.world.spawn(async move {
                let done = this.overwrite_some(&pool, id, live, &rest).await;
                done.unwrap_or_else(|error| this.known.fail(error));
                working.set(working.get() - 1);
            });
        }
        while working.get() > 0 {
            self.world.sleep(Duration::from_millis(20)).await;
        }
        let space = pool.status().space;
        if space.full {
            return Err(format!("nothing is refused, and the pool is said to be full: {space:?}"));
        }
        let amplification = write_amplification(&before, &pool.status());
        tracing::debug!("write amplification {amplification:.2} at {STEADY_PERCENT} %");
        if amplification > WRITE_AMPLIFICATION_MAX {
            return Err(format!(
                "a write amplification of {amplification:.2} at {STEADY_PERCENT} %"
            ));
        }
        Ok(())
    }

    async fn overwrite_some(
        &self,
        pool: &Pool,
        id: VolumeId,
        live: u64,
        rest: &Cell<u64>,
    ) -> Result<(), String> {
        let mut course = Course::default();
        while rest.get() > 0 {
            rest.set(rest.get() - 1);
            let first = self.world.below(live / STEADY_BLOCKS) * STEADY_BLOCKS;
            let blocks = first..first + STEADY_BLOCKS;
            let issued = course.issue(id, &blocks, self.plan.hosts);
            let put = self.put(pool, id, blocks, issued).await;
            put.map_err(|error| format!("overwriting at {STEADY_PERCENT} %: {error}"))?;
        }
        Ok(())
    }

    /// Writes new versions of blocks, if nobody else does.
    async fn put(
        &self,
        pool: &Pool,
        id: VolumeId,
        blocks: Range<u64>,
        issued: Issued,
    ) -> Result<(), IoError> {
        let version = self.known.next_version(Sort::Raw);
        let begun = self.known.model(id, |model| model.begin(blocks.clone(), version, true));
        let Some(ticket) = begun else { return Ok(()) };
        let written = pool.write(id, Lba(blocks.start), content_of(&blocks, version)).await;
        let answer = match &written {
            Ok(()) => {
                self.note_write(pool, id, &blocks, version, issued);
                Answer::Done
            }
            Err(error) if error.cause == Cause::CapacityExceeded => Answer::Refused,
            Err(_) => Answer::Failed,
        };
        self.known.model(id, |model| model.end(ticket, answer));
        self.known.count(|outcome| match answer {
            Answer::Done => outcome.acknowledged += 1,
            _ => outcome.refused += 1,
        });
        written
    }

    /// Trims blocks, which must be possible whatever else is not.
    async fn trim(&self, pool: &Pool, id: VolumeId, blocks: Range<u64>) -> Result<(), String> {
        let begun = self.known.model(id, |model| model.begin(blocks.clone(), 0, false));
        let ticket = begun.expect("nobody else is at work");
        let zeroed = pool.zero(id, Lba(blocks.start), blocks.end - blocks.start).await;
        self.known.model(id, |model| model.end(ticket, Answer::Done));
        zeroed.map_err(|error| format!("a trim in a full pool: {error}"))
    }
}

/// Bytes of rows since `before`, for each byte of fragments that hosts stored and its parity.
fn write_amplification(before: &Counters, after: &PoolStatus) -> f64 {
    let columns = after.data_columns + after.level.parity();
    let to_drives = (after.counters.drives.bytes_to_drives - before.drives.bytes_to_drives) as f64;
    let stored = (after.counters.hosts.bytes_stored - before.hosts.bytes_stored) as f64;
    to_drives * after.data_columns as f64 / columns as f64 / stored
}
