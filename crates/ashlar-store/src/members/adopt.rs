//! What a drive that came back holds becomes its own again, under its new number.
//!
//! 1. The chunks of all columns that the drive holds are kept for them from the turn on in which it
//!    becomes a member.
//! 2. A column changes its drive only while no checkpoint is on its way: a root that says so names
//!    the drive.
//! 3. So many do so between two roots that the leaves which say it have room, however full the
//!    pool is. After a crash the others are on the old number still, and are restored; so are those
//!    for which a full pool has no room to say it.

use std::pin::pin;

use ashlar_block::{DriveId, IoError, World};
use ashlar_format::ids::{Lsn, RootGeneration};
use ashlar_format::location::SegmentId;
use ashlar_format::root::{MemberRecord, Root};
use ashlar_format::table::SegmentState;
use ashlar_raid::ChunkAddr;
use futures_util::future::{Either, select};

use crate::pool::Pool;
use crate::space::capacity::Request;
use crate::space::segments::{HeldColumn, Segment};

/// Segments that are looked at in one turn: hosts' operations wait for its end.
const SEGMENTS_IN_A_TURN: usize = 4096;
/// Columns that are adopted in one.
const ADOPTED_IN_A_TURN: usize = 256;

/// What a drive that was away holds as it should be.
#[derive(Default)]
pub(super) struct Held {
    /// By which root that is.
    generation: RootGeneration,
    /// All batches below it are on the drive, in the places of segments that were placed before it.
    complete_below: Lsn,
}

impl Held {
    /// By a root on the drive.
    pub fn by(own: &Root) -> Held {
        Held { generation: own.generation, complete_below: own.replay_floor }
    }

    /// Whether the drive that was lost as `member` may have lost what it had said it had written,
    /// rather than be an old copy: it lacks more than the root that was on its way then.
    fn is_doubtful(&self, member: &MemberRecord) -> bool {
        self.generation.0 + 2 < member.since.0
    }

    /// Whether it holds the column of the segment that lies on it. What was written before that
    /// root, and placed before it, was there when the root was written; and since then nobody has
    /// had the chunk but the segment.
    fn has(&self, segment: &Segment) -> bool {
        matches!(segment.state, SegmentState::Sealed | SegmentState::Condemned)
            && segment.last_lsn < self.complete_below
            && segment.placed_lsn < self.complete_below
    }
}

/// Columns that are not adopted yet, whose chunks are kept until this is dropped.
struct Kept<'a, W: World> {
    pool: &'a Pool<W>,
    drive: DriveId,
    columns: Vec<HeldColumn>,
}

impl<W: World> Drop for Kept<'_, W> {
    fn drop(&mut self) {
        let chunks =
            self.columns.iter().map(|column| ChunkAddr { drive: self.drive, chunk: column.chunk });
        self.pool.space.segments.borrow_mut().give_back(chunks);
    }
}

impl<W: World> Pool<W> {
    /// The columns that a drive which was lost has as they should be.
    pub(super) async fn columns_held(&self, drive: DriveId, held: &Held) -> Vec<HeldColumn> {
        let (mut columns, mut next) = (Vec::new(), Some(SegmentId(0)));
        while let Some(from) = next {
            let has = |segment: &Segment| held.has(segment);
            let (some, behind) =
                self.space.segments.borrow().columns_held(drive, from, SEGMENTS_IN_A_TURN, has);
            columns.extend(some);
            next = behind;
            self.world.yield_now().await;
        }
        columns
    }

    /// These columns, which the drive that was lost as `member` holds, are its own under its `new`
    /// number, unless that has changed meanwhile. It has just become a member. Returns how many
    /// columns that are, once they are named so; not all may be in a root yet.
    pub(super) async fn adopt(
        &self,
        member: &MemberRecord,
        new: DriveId,
        columns: Vec<HeldColumn>,
        held: &Held,
    ) -> Result<u64, IoError> {
        self.space.segments.borrow_mut().keep_chunks(new, &columns);
        let mut left = Kept { pool: self, drive: new, columns };
        let at_a_time =
            self.space.segments.borrow().adopted_at_a_time().min(self.options.adopted_columns_max);
        if !left.columns.is_empty() {
            self.scrub_if_doubtful(member, new, held);
        }
        let mut adopted = 0;
        while !left.columns.is_empty() {
            let count = left.columns.len().min(at_a_time).min(ADOPTED_IN_A_TURN);
            if !self.leaves_have_room(count, at_a_time).await? {
                break;
            }
            let some = left.columns.split_off(left.columns.len() - count);
            adopted += self.adopt_now(member.drive, new, &some, held);
            self.world.yield_now().await;
        }
        Ok(adopted)
    }

    /// Those of the columns that are still held are those of the `new` drive: how many they are.
    fn adopt_now(&self, from: DriveId, new: DriveId, columns: &[HeldColumn], held: &Held) -> u64 {
        let mut segments = self.space.segments.borrow_mut();
        let adopts =
            |column: &&HeldColumn| segments.adopt(from, new, **column, |segment| held.has(segment));
        let adopted = columns.iter().filter(adopts).count();
        self.jobs.relocation.moved(adopted);
        adopted as u64
    }

    fn scrub_if_doubtful(&self, member: &MemberRecord, new: DriveId, held: &Held) {
        if held.is_doubtful(member) {
            let (pool, was) = (&self.name(), member.drive);
            tracing::warn!(
                pool,
                "{new} (before: {was}) lacks roots that it had acknowledged: a scrub checks its \
                 data"
            );
            self.scrub_anew();
        }
    }

    /// Returns while no checkpoint is on its way: whether the next one has room for what so many
    /// more columns change. The first one names the drive, and may take what is left.
    async fn leaves_have_room(&self, columns: usize, at_a_time: usize) -> Result<bool, IoError> {
        let has_room = || {
            self.membership.joining.get().is_some() || self.admit_request(Request::Change).is_ok()
        };
        self.between_checkpoints().await?;
        while self.jobs.relocation.unsettled_columns() > at_a_time - columns && has_room() {
            self.checkpoint_unless_hung().await?;
            self.between_checkpoints().await?;
        }
        Ok(has_room())
    }

    /// Returns while no checkpoint is on its way. What one says of segments and of members is of
    /// different moments: a column that changes its drive in between would be on one that the root
    /// does not name.
    pub(super) async fn between_checkpoints(&self) -> Result<(), IoError> {
        let ended = async {
            loop {
                let changed = self.checkpoint.roots.changes();
                self.halt.check()?;
                if !self.space.segments.borrow().is_noted() {
                    return Ok(());
                }
                changed.await;
            }
        };
        match select(pin!(ended), pin!(self.hangs())).await {
            Either::Left((done, _)) => done,
            Either::Right((why, _)) => Err(why),
        }
    }
}

#[cfg(test)]
mod tests;
