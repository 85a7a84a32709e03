//! The members of a pool: how drives join and leave it, and the lease.
//!
//! Owns who belongs to the pool, and whether the pool is this machine's. It must not know what lies
//! on a drive beyond what roots, labels and the segment table say. This file finds the newest root,
//! and which drives belong to the pool.
//!
//! 1. A drive is a member from the root on that names it, and until a root no longer does.
//! 2. A root that misses a drive is durable before anything that was written without the drive is
//!    acknowledged.
//! 3. A drive that comes back has a new number; what it missed stays on the old one.
//! 4. Nothing is written to a drive, and no host answered, once the lease may be another machine's.

pub(crate) mod add;
mod adopt;
pub(crate) mod create;
pub(crate) mod grow;
mod largest;
pub(crate) mod lease;
pub(crate) mod naming;
pub(crate) mod rejoin;
pub(crate) mod remove;
pub(crate) mod restore;
mod silence;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ashlar_block::{AlignedBuf, Clock, Device, DriveId, DriveUuid, PoolUuid, within};
use ashlar_format::codec::{Malformed, crc32c};
use ashlar_format::root::{MemberRecord, MemberState, Root, SLOT_BYTES as ROOT_BYTES, SLOT_COUNT};
use ashlar_format::superblock::Superblock;
use ashlar_format::table::{FirstTable, TABLE_AREA_BYTES, decode_first_table};
use ashlar_raid::Geometry;
use futures_util::future::join_all;
use tokio::sync::Mutex;

use crate::members::add::Joining;
use crate::members::create::FIRST_ROOT;
use crate::members::lease::Lease;
use crate::recovery::OpenError;

/// What a pool knows of its drives beside what the newest root says.
pub(crate) struct Membership {
    pub lease: Lease,
    /// Drives that work and that are to be members no more: nothing new goes to them. See
    /// `remove.rs`.
    pub leaving: RefCell<BTreeSet<DriveId>>,
    /// Drives that were lost because they were away. See `remove.rs`.
    pub gone: RefCell<BTreeSet<DriveId>>,
    /// Drives that the pool has let go of, until their owner asks for them.
    pub departed: RefCell<Vec<DriveUuid>>,
    /// A member that the next root is the first to name.
    pub joining: Cell<Option<Joining>>,
    /// Identities that drives were to come back under, with those that they had: they may have them
    /// although they did not come back.
    pub renamings: RefCell<BTreeMap<DriveUuid, DriveUuid>>,
    /// Held while a drive is added.
    pub adding: Mutex<()>,
    /// Held while superblocks of members are written that say another size, or are compared.
    pub labels: Mutex<()>,
}

impl Membership {
    /// As a root says.
    pub fn of(root: &Root) -> Self {
        let leaving = root.members.iter().filter(|member| member.state == MemberState::Leaving);
        Membership {
            lease: Lease::default(),
            leaving: RefCell::new(leaving.map(|member| member.drive).collect()),
            gone: RefCell::default(),
            departed: RefCell::default(),
            joining: Cell::default(),
            renamings: RefCell::default(),
            adding: Mutex::default(),
            labels: Mutex::default(),
        }
    }
}

/// A drive that has been found to be a member of the pool.
pub struct FoundDrive<D> {
    /// What its superblock says.
    pub superblock: Superblock,
    /// The drive.
    pub device: D,
}

/// Which members may be missing when a pool is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenPolicy {
    /// None: somebody brings the drives to another machine, and may have forgotten one.
    Whole,
    /// Those whose absence is known, and of the others fewer than half: no two machines have so
    /// many. For who had the pool before.
    Most,
    /// As many as the level survives.
    Degraded,
}

/// How long a drive that is to be opened may take for each thing that is asked of it. Disks that
/// have to spin up answer within half of it.
pub const OPEN_ANSWER_MAX: Duration = Duration::from_secs(30);

/// The valid roots of one drive, newest last.
pub async fn read_roots<D: Device>(device: &D, pool: PoolUuid) -> Vec<Root> {
    let slots = (0..SLOT_COUNT).map(|slot| async move {
        let (read, buf) =
            device.read(Superblock::root_offset(slot), AlignedBuf::stale(ROOT_BYTES)).await;
        read.ok().and_then(|()| Root::decode(&buf).ok())
    });
    let roots = join_all(slots).await.into_iter().flatten();
    let mut roots: Vec<Root> = roots.filter(|root| root.pool == pool).collect();
    roots.sort_by_key(|root| root.generation);
    roots
}

/// Whether a drive has never had a root since it was wiped. What cannot be read, or is damaged, may
/// be one.
pub(crate) async fn has_never_had_a_root<D: Device>(device: &D) -> bool {
    let slots = (0..SLOT_COUNT).map(|slot| async move {
        let (read, buf) =
            device.read(Superblock::root_offset(slot), AlignedBuf::stale(ROOT_BYTES)).await;
        read.is_ok() && buf.iter().all(|byte| *byte == 0)
    });
    join_all(slots).await.into_iter().all(|is_blank| is_blank)
}

/// What a drive may be to the newest root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MemberVerdict {
    /// A member that has missed nothing that matters.
    Member,
    /// Its content is older than its absence.
    Stale,
    /// It belongs to another line that could have opened the pool by itself.
    Diverged,
}

fn member_verdict(root: &Root, superblock: &Superblock, own: Option<&Root>) -> MemberVerdict {
    let record = root.members.iter().find(|member| member.drive == superblock.drive);
    let Some(record) = record.filter(|record| record.uuid == superblock.drive_uuid) else {
        return MemberVerdict::Stale;
    };
    // A drive without any valid root has lost them; what else it holds is checked wherever it is
    // read.
    let on_line = own.is_none_or(|own| root.descends_from(own.incarnation(), own.generation));
    let is_current = own.is_none_or(|own| has_kept_up(own, root, record));
    match (on_line, record.state) {
        (true, state) if state.takes_part() && is_current => MemberVerdict::Member,
        (true, _) => MemberVerdict::Stale,
        (false, _) if own.is_some_and(|own| went_on_without(own, root)) => MemberVerdict::Diverged,
        (false, _) => MemberVerdict::Stale,
    }
}

/// Whether a member on whose drive `own` is the newest may have missed no more than the power
/// failure in which `root` was written. It gets each root before the next one is begun, or is named
/// as lost by that: who lacks two has an old content, such as a copy that was put in its place.
fn has_kept_up(own: &Root, root: &Root, member: &MemberRecord) -> bool {
    own.generation.0 + 1 >= root.generation.0 || member.since >= root.generation
}

/// Whether `own` may have acknowledged writes that `root` does not know. For that it had to name a
/// drive absent that is present in `root`, or may have been until it was removed; one that does not
/// is the root of a checkpoint that did not come to its end.
fn went_on_without(own: &Root, root: &Root) -> bool {
    let is_known = |drive: DriveId| root.members.iter().any(|member| member.drive == drive);
    own.members.iter().any(|member| match member.state {
        MemberState::Absent => takes_part_in(root, member.drive) || !is_known(member.drive),
        state => !state.takes_part() && takes_part_in(root, member.drive),
    })
}

fn takes_part_in(root: &Root, drive: DriveId) -> bool {
    root.members.iter().any(|member| member.drive == drive && member.state.takes_part())
}

/// Whether the line of `own` could have opened the pool with `others`, none of which is on the
/// newest root's line. If it could not, nothing was ever acknowledged on it: its root came to few
/// drives, and the power failed before it came to the others. A drive that `own` names absent was
/// never on its line again.
fn could_have_opened(own: &Root, others: &[DriveId], parity: usize) -> bool {
    let is_lost = |drive: DriveId| !(others.contains(&drive) && takes_part_in(own, drive));
    losses_by_root(own, is_lost, parity) <= parity
}

/// Whether the drives that are not in `root`, the newest of an open pool, may have acknowledged
/// something under `own`.
pub(crate) fn has_gone_another_way(own: &Root, root: &Root, parity: usize) -> bool {
    let elsewhere: Vec<DriveId> =
        own.counted().filter(|drive| !takes_part_in(root, *drive)).collect();
    went_on_without(own, root) && could_have_opened(own, &elsewhere, parity)
}

/// How many drives a pool with this root and such segments has lost as far as its level counts, to
/// be compared with the `parity` of that.
pub(crate) fn losses<'a>(
    root: &Root,
    is_lost: impl Fn(DriveId) -> bool,
    mut geometries: impl Iterator<Item = &'a Geometry>,
    parity: usize,
) -> usize {
    let loss = Loss::by(root, is_lost);
    let could_be_fewer = loss.could_be_fewer(parity);
    let is_left = could_be_fewer && geometries.all(|geometry| is_left(geometry, &loss.numbers));
    loss.as_level_counts(is_left, parity)
}

/// The same, by what the root says of its segments: those that lie on drives that are lost now may
/// all be one that lies on all of these. No pool is opened, and no root counts, where that is more
/// than the level survives: so it is certain which roots a pool can have gone on from.
pub(crate) fn losses_by_root(
    root: &Root,
    is_lost: impl Fn(DriveId) -> bool,
    parity: usize,
) -> usize {
    let is_missed = |member: &&MemberRecord| member.state.takes_part() && is_lost(member.drive);
    let missed: Vec<u8> =
        root.members.iter().filter(is_missed).map(|member| member.parity_used).collect();
    let on_missed = missed.iter().max().map_or(0, |used| usize::from(*used) + missed.len());
    let is_left = on_missed.max(root.parity_used.into()) <= parity;
    Loss::by(root, is_lost).as_level_counts(is_left, parity)
}

/// Drives that are lost.
pub(crate) struct Loss {
    /// One that came back has several.
    numbers: BTreeSet<DriveId>,
    drives: BTreeSet<DriveUuid>,
    /// Those of them that the root before counts on. With others that are lost now they could have
    /// gone on from that root.
    missed: BTreeSet<DriveUuid>,
}

impl Loss {
    /// The lost ones, each with whether the root before says that it is there.
    pub fn of<'a>(lost: impl Iterator<Item = (&'a MemberRecord, bool)> + Clone) -> Self {
        let missed = lost.clone().filter(|(_, is_missed)| *is_missed);
        Self {
            numbers: lost.clone().map(|(member, _)| member.drive).collect(),
            missed: missed.map(|(member, _)| member.uuid).collect(),
            drives: lost.map(|(member, _)| member.uuid).collect(),
        }
    }

    /// The lost members of a root that it counts on. Who sees the root on one drive does not know
    /// whether it came to more: the members that it is the first to miss count as missed.
    fn by(root: &Root, is_lost: impl Fn(DriveId) -> bool) -> Self {
        let counted = root.members.iter().filter(|member| member.state != MemberState::Released);
        let lost = counted.filter(|member| is_lost(member.drive));
        let is_missed =
            |member: &MemberRecord| member.state.takes_part() || member.since == root.generation;
        Self::of(lost.map(|member| (member, is_missed(member))))
    }

    /// More than the level survives are no more than that if `is_left`, every segment has as many
    /// columns left as it needs: they were lost one after the other, each once what the one before
    /// had was on others. Not if so many are missed: they might have gone on as the pool by
    /// themselves.
    pub fn as_level_counts(&self, is_left: bool, parity: usize) -> usize {
        if self.could_be_fewer(parity) && is_left { parity } else { self.drives.len() }
    }

    fn could_be_fewer(&self, parity: usize) -> bool {
        self.drives.len() > parity && self.missed.len() <= parity
    }
}

/// Whether no more columns of a segment are lost than it has parity.
fn is_left(geometry: &Geometry, lost: &BTreeSet<DriveId>) -> bool {
    let lost = geometry.columns.iter().filter(|column| lost.contains(&column.drive));
    lost.count() <= geometry.parity()
}

/// Which drives the pool is opened with.
pub(crate) struct Chosen<D> {
    /// The newest root.
    pub root: Root,
    pub members: Vec<FoundDrive<D>>,
    /// Members that have an older root only, or none.
    pub behind: Vec<DriveId>,
    /// Drives that were given and are not believed.
    pub stale: Vec<DriveId>,
    pub missing: Vec<DriveId>,
}

/// Finds the newest root with its first table, and who belongs to it. A drive that does not answer
/// is as good as not given.
pub(crate) async fn choose<D: Device>(
    clock: &impl Clock,
    drives: Vec<FoundDrive<D>>,
    policy: OpenPolicy,
) -> Result<(Chosen<D>, FirstTable), OpenError> {
    let pools: BTreeSet<PoolUuid> = drives.iter().map(|drive| drive.superblock.pool).collect();
    let Some(pool) = pools.first().copied().filter(|_| pools.len() == 1) else {
        return Err(OpenError::NotOnePool(pools.len()));
    };
    let mut seen: BTreeSet<DriveUuid> = BTreeSet::new();
    if let Some(clone) = drives.iter().find(|drive| !seen.insert(drive.superblock.drive_uuid)) {
        return Err(OpenError::Cloned(clone.superblock.drive));
    }
    let parity = drives[0].superblock.level().parity();
    let read = |drive: FoundDrive<D>| async move {
        let Some(roots) = within(clock, OPEN_ANSWER_MAX, read_roots(&drive.device, pool)).await
        else {
            tracing::warn!("{} does not answer: it is left out", drive.superblock.drive);
            return None;
        };
        Some((drive, roots))
    };
    let (drives, roots): (Vec<_>, Vec<_>) =
        join_all(drives.into_iter().map(read)).await.into_iter().flatten().unzip();
    let root = newest_root(&own_roots(&drives, &roots)).ok_or(OpenError::NoRoot)?.clone();
    let (mut chosen, diverged) = sort_out(drives, &roots, root);
    agree(&chosen, &diverged, parity, policy)?;
    chosen.stale.extend(diverged.iter().map(|(drive, _)| *drive));
    let table = read_first_table(clock, &chosen).await?;
    Ok((chosen, table))
}

/// A drive and its own newest root.
type OwnRoot<'a> = (DriveId, &'a Root);

fn own_roots<'a, D>(drives: &[FoundDrive<D>], roots: &'a [Vec<Root>]) -> Vec<OwnRoot<'a>> {
    let last = drives
        .iter()
        .zip(roots)
        .map(|(drive, roots)| Some((drive.superblock.drive, roots.last()?)));
    last.flatten().collect()
}

/// The newest root. Of two of the same generation, one is of a checkpoint that did not come to its
/// end: the one that counts on a drive which has gone another way, else the one that came to fewer
/// drives.
fn newest_root<'a>(own_roots: &[OwnRoot<'a>]) -> Option<&'a Root> {
    let has_never_got = |root: &Root, (drive, own): &OwnRoot<'_>| {
        takes_part_in(root, *drive) && !root.descends_from(own.incarnation(), own.generation)
    };
    let is_whole = |root: &Root| !own_roots.iter().any(|own| has_never_got(root, own));
    let holders = |root: &Root| {
        own_roots.iter().filter(|(_, other)| other.incarnation() == root.incarnation()).count()
    };
    let newest = own_roots.iter().map(|(_, root)| *root);
    newest.max_by_key(|root| (root.generation, is_whole(root), holders(root)))
}

/// Whom the newest root believes; and the drives of other lines, each with its own newest root.
fn sort_out<D>(
    drives: Vec<FoundDrive<D>>,
    roots: &[Vec<Root>],
    root: Root,
) -> (Chosen<D>, Vec<OwnRoot<'_>>) {
    let mut chosen = Chosen {
        root,
        members: Vec::new(),
        behind: Vec::new(),
        stale: Vec::new(),
        missing: Vec::new(),
    };
    let mut diverged = Vec::new();
    let chosen_root = (chosen.root.generation, chosen.root.incarnation());
    for (drive, roots) in drives.into_iter().zip(roots) {
        match (member_verdict(&chosen.root, &drive.superblock, roots.last()), roots.last()) {
            (MemberVerdict::Member, own) => {
                if own.is_none_or(|own| (own.generation, own.incarnation()) != chosen_root) {
                    chosen.behind.push(drive.superblock.drive);
                }
                chosen.members.push(drive);
            }
            (MemberVerdict::Diverged, Some(own)) => diverged.push((drive.superblock.drive, own)),
            _ => chosen.stale.push(drive.superblock.drive),
        }
    }
    let there: BTreeSet<DriveId> =
        chosen.members.iter().map(|drive| drive.superblock.drive).collect();
    chosen.missing = chosen.root.counted().filter(|drive| !there.contains(drive)).collect();
    (chosen, diverged)
}

/// Whether the pool may be opened with those that were chosen.
fn agree<D>(
    chosen: &Chosen<D>,
    lines: &[OwnRoot<'_>],
    parity: usize,
    policy: OpenPolicy,
) -> Result<(), OpenError> {
    let members = chosen.root.identities(chosen.root.counted());
    let missing = || chosen.missing.clone();
    // Who made the pool was stopped while the superblocks were written.
    if chosen.root.generation <= FIRST_ROOT && !chosen.missing.is_empty() {
        return Err(OpenError::Unfinished { missing: missing() });
    }
    // Neither on the newest root's line nor stale: of another line, or not given.
    let elsewhere: Vec<DriveId> =
        chosen.missing.iter().copied().filter(|drive| !chosen.stale.contains(drive)).collect();
    let is_missing = |drive: DriveId| chosen.missing.contains(&drive);
    let too_many = losses_by_root(&chosen.root, is_missing, parity) > parity;
    // What lines there are is certain once all drives are given; nobody is to give up one of them
    // before.
    if too_many && elsewhere.len() > lines.len() {
        return Err(OpenError::TooManyMissing { missing: missing(), members, parity });
    }
    if let Some((drive, _)) =
        lines.iter().find(|(_, own)| could_have_opened(own, &elsewhere, parity))
    {
        return Err(OpenError::Diverged { drive: *drive });
    }
    if too_many {
        return Err(OpenError::TooManyMissing { missing: missing(), members, parity });
    }
    match policy {
        OpenPolicy::Whole if chosen.lacks_a_drive() => {
            Err(OpenError::NotWhole { missing: missing(), members })
        }
        OpenPolicy::Most if chosen.lacks_half_by_surprise(members) => {
            Err(OpenError::HalfMissing { missing: missing(), members })
        }
        _ => Ok(()),
    }
}

impl<D> Chosen<D> {
    /// Whether a drive is missing; not only a number of one that is there under another.
    fn lacks_a_drive(&self) -> bool {
        let there = || self.members.iter().map(|member| member.superblock.drive);
        self.root.identities(self.missing.iter().copied().chain(there()))
            > self.root.identities(there())
    }

    /// Whether half of `members` are missing or more, and of one of them it was not known.
    fn lacks_half_by_surprise(&self, members: usize) -> bool {
        let is_known = |drive: &DriveId| {
            self.root.members.iter().any(|m| m.drive == *drive && m.state == MemberState::Absent)
        };
        self.members.len() * 2 <= members && !self.missing.iter().all(is_known)
    }
}

/// The first table of the root.
async fn read_first_table<D: Device>(
    clock: &impl Clock,
    chosen: &Chosen<D>,
) -> Result<FirstTable, OpenError> {
    for drive in &chosen.members {
        if let Some(table) = first_table_on(clock, drive, &chosen.root).await {
            return Ok(table?);
        }
    }
    Err(OpenError::NoTable(chosen.root.generation))
}

/// The first table of a root, if this drive has it.
async fn first_table_on<D: Device>(
    clock: &impl Clock,
    drive: &FoundDrive<D>,
    root: &Root,
) -> Option<Result<FirstTable, Malformed>> {
    let table = root.table;
    if table.bytes > TABLE_AREA_BYTES {
        return None;
    }
    let bytes = (table.bytes as usize).next_multiple_of(ashlar_block::SECTOR_BYTES);
    let offset = Superblock::table_offset(table.area);
    let (read, buf) =
        within(clock, OPEN_ANSWER_MAX, drive.device.read(offset, AlignedBuf::stale(bytes))).await?;
    let content = &buf[..table.bytes as usize];
    let is_it = read.is_ok() && crc32c(content) == table.crc;
    is_it.then(|| decode_first_table(content))
}

#[cfg(test)]
pub(crate) mod tests;
