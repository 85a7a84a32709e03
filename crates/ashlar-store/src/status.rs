//! The status of a pool, for people and for monitoring.
//!
//! Owns nothing, and changes nothing. What it costs does not grow with the number of segments:
//! running totals answer.
//!
//! 1. It is taken in one turn: its figures are of the same moment.

use ashlar_block::{DriveId, DriveUuid, PoolUuid, World};
use ashlar_format::catalog::{Lifetime, Settings};
use ashlar_format::root::{MemberRecord, MemberState};
use ashlar_raid::{Failure, Level, Member, Reconstructions};

use crate::base::activity::Activity;
use crate::base::counters::{Counters, StepCounters};
use crate::jobs::moves::MoveReport;
use crate::jobs::progress::Progress;
use crate::jobs::scrub::ScrubReport;
use crate::jobs::trim::TrimReport;
use crate::jobs::verify::VerifyReport;
use crate::map::shard::Shard;
use crate::pool::Pool;
use crate::space::after_loss::WorstLoss;
use crate::space::capacity::Space;
use crate::space::promises::Capacity;

/// A member drive's condition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DriveCondition {
    /// It is used.
    Online,
    /// It was given up.
    Failed(Failure),
    /// It came back, under this number; what it missed is being restored.
    Returned(DriveId),
    /// It is not there, or was not believed when the pool was opened.
    Absent,
    /// It was lost, and all that lived on it has been restored on others.
    Released,
    /// It is used, and what lives on it is being moved to others: then it is no member any more.
    Leaving,
}

/// A member drive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DriveStatus {
    /// Its number.
    pub drive: DriveId,
    /// Its identity.
    pub uuid: DriveUuid,
    /// How it is.
    pub condition: DriveCondition,
    /// Why it was given up, also once all that lived on it has been restored; until the pool is
    /// opened anew.
    pub failure: Option<Failure>,
    /// It was lost, and another drive was added for it.
    pub is_made_good: bool,
    /// It was lost because somebody asked for that or because of its faults, and not because it was
    /// away: it comes back only when somebody asks for that, too.
    pub is_given_up: bool,
    /// Reads that it refused.
    pub read_errors: u64,
    /// Reads that it answered with wrong bytes.
    pub corrupt_reads: u64,
    /// Bytes that the pool would take if it was to grow: the drive has become larger.
    pub unused_bytes: u64,
    /// It answers much later than the others: most reads are reconstructed from those.
    pub is_slow: bool,
}

/// How a pool is.
#[derive(Clone, PartialEq, Debug)]
pub struct PoolStatus {
    /// Its identity.
    pub uuid: PoolUuid,
    /// Its name.
    pub name: String,
    /// Its protection.
    pub level: Level,
    /// Data columns of a full stripe.
    pub data_columns: usize,
    /// Its members.
    pub drives: Vec<DriveStatus>,
    /// Its space.
    pub space: Space,
    /// How much it holds, and how much of that is promised.
    pub capacity: Capacity,
    /// What would be if one more drive were lost; none if no drive takes data.
    pub worst_loss: Option<WorstLoss>,
    /// What has happened since it was opened.
    pub counters: Counters,
    /// What was written since it was made; a crash loses what came after the last checkpoint.
    pub lifetime: Lifetime,
    /// Why it takes no writes, if it does not.
    pub halted: Option<String>,
    /// Another machine that has opened it since: nothing of it is answered here any more.
    pub taken_by: Option<String>,
    /// Too few drives say now whose it is: reads and writes wait.
    pub is_uncertain: bool,
    /// The file system under a file-backed drive is full.
    pub out_of_room: bool,
    /// Starts that found that the pool had not been closed.
    pub unclean_starts: u64,
    /// How far the rebuild of what was on lost drives is, if any of it is to be restored.
    pub rebuild: Option<Progress>,
    /// How far it is that what lives is spread over all drives, if somebody has asked for that.
    pub rebalance: Option<Progress>,
    /// Of rebuild, evacuation and rebalance the one that goes on, or else the last one since the
    /// pool was opened.
    pub moves: Vec<MoveReport>,
    /// The scrub that is under way, or else the last one.
    pub scrub: Option<ScrubReport>,
    /// The trim that goes on, or else the last one since the pool was opened.
    pub trim: Option<TrimReport>,
    /// The proof of the ledger that goes on, or else the last one since the pool was opened.
    pub verify: Option<VerifyReport>,
    /// A drive was released for which none was added: nothing lacks redundancy, and there is less
    /// room than there was.
    pub is_reduced: bool,
    /// What an operator has chosen.
    pub settings: Settings,
    /// Memory that the map takes.
    pub map_bytes: u64,
    /// What is done in the background.
    pub activity: Activity,
}

impl PoolStatus {
    /// Something lacks redundancy that a lost drive held.
    pub fn is_degraded(&self) -> bool {
        let whole = |drive: &DriveStatus| {
            matches!(
                drive.condition,
                DriveCondition::Online | DriveCondition::Leaving | DriveCondition::Released
            )
        };
        !self.drives.iter().all(whole)
    }
}

fn is_reduced(members: &[MemberRecord]) -> bool {
    members.iter().any(|member| member.state == MemberState::Released && !member.made_good)
}

/// The number that a drive has now of which `record` is an old one. Who came back more than once
/// has several old ones, all of them with its identity: the number that it has now is the one that
/// takes part, or else the one that was lost last.
fn came_back_as(members: &[MemberRecord], record: &MemberRecord) -> Option<DriveId> {
    let is_it = |member: &&MemberRecord| {
        member.uuid == record.uuid && member.state != MemberState::Released
    };
    let newest = members
        .iter()
        .filter(is_it)
        .max_by_key(|member| (member.state.takes_part(), member.since))?;
    (newest.drive != record.drive).then_some(newest.drive)
}

impl<W: World> Pool<W> {
    /// How the pool is.
    pub fn status(&self) -> PoolStatus {
        let root = self.checkpoint.roots.newest();
        let of_shard = |shard: &Shard| shard.buffer.bytes() + shard.index.bytes();
        let shards_bytes: usize = self.map.shards.borrow().iter().map(of_shard).sum();
        PoolStatus {
            uuid: self.identity.pool,
            name: self.name(),
            level: self.identity.level,
            data_columns: self.space.segments.borrow().stripe().data,
            drives: root.members.iter().map(|member| self.drive_status(member)).collect(),
            space: self.space(),
            capacity: self.capacity(),
            worst_loss: self.worst_loss(),
            counters: self.all_counters(),
            lifetime: self.lifetime(&self.catalog.borrow()),
            halted: self.halt.why(),
            taken_by: self.taken_by(),
            is_uncertain: self.is_uncertain(),
            out_of_room: self.array.out_of_room(),
            unclean_starts: root.unclean_starts,
            rebuild: self.rebuild_progress(),
            rebalance: self.rebalance_progress(),
            moves: self.move_reports(),
            scrub: self.scrub_report(),
            trim: self.trim_report(),
            verify: self.verify_report(),
            is_reduced: is_reduced(&root.members),
            settings: self.catalog.borrow().settings,
            map_bytes: (shards_bytes + self.map.pages.bytes()) as u64,
            activity: self.activity(),
        }
    }

    /// With what others have counted.
    fn all_counters(&self) -> Counters {
        let mut counters = self.counters.get();
        counters.steps.batch.busy = self.writer.commit.busy.count_until(self.world.now());
        let Reconstructions { count, took } = self.array.reconstructions();
        let reconstructed = StepCounters { operations: count, latency: took, busy: took };
        counters.steps.parity.add(reconstructed);
        counters
    }

    fn drive_status(&self, record: &MemberRecord) -> DriveStatus {
        let member = self.array.member(record.drive);
        let failure = member.as_ref().and_then(|member| member.failure());
        let condition = match (failure.clone(), record.state) {
            (_, MemberState::Released) => DriveCondition::Released,
            (Some(failure), _) => DriveCondition::Failed(failure),
            (None, state) if member.is_some() && state.takes_part() => {
                self.condition_of_working(record.drive)
            }
            _ => came_back_as(&self.checkpoint.roots.newest().members, record)
                .map_or(DriveCondition::Absent, DriveCondition::Returned),
        };
        let is_failed = failure.is_some();
        let figure = |figure: fn(&Member<W::Device>) -> u64| member.as_deref().map_or(0, figure);
        DriveStatus {
            drive: record.drive,
            uuid: record.uuid,
            condition,
            failure,
            is_made_good: record.made_good,
            is_given_up: if record.state.takes_part() {
                is_failed && self.gives_up(record.drive)
            } else {
                record.given_up
            },
            read_errors: figure(Member::read_errors),
            corrupt_reads: figure(Member::corrupt_reads),
            unused_bytes: self.unused_bytes(record.drive),
            is_slow: member.as_deref().is_some_and(Member::is_slow),
        }
    }

    fn condition_of_working(&self, drive: DriveId) -> DriveCondition {
        if self.membership.leaving.borrow().contains(&drive) {
            DriveCondition::Leaving
        } else {
            DriveCondition::Online
        }
    }

    pub(crate) fn rebuild_progress(&self) -> Option<Progress> {
        let unreleased = self.unreleased();
        let segments = self.space.segments.borrow();
        let all = segments.summary().bytes_to_restore(&unreleased);
        let bytes_left = all.saturating_sub(self.jobs.relocation.bytes_begun());
        // When all is moved, roots have to say so: until then the rebuild is not done.
        let is_done = bytes_left == 0 && unreleased.is_empty();
        let goes_on = !is_done && self.could_restore();
        goes_on.then(|| self.jobs.rebuild.done.progress(bytes_left, self.world.now()))
    }
}

#[cfg(test)]
mod tests;
