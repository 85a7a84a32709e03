//! The offline checker: what is on the drives of a pool that is not open, proved by the format
//! alone.
//!
//! It knows the format (`docs/format.md`) and the arithmetic of parity, and nothing of the store
//! that writes both: what the store gets wrong it does not get wrong alike. It reads, and changes
//! nothing.
//!
//! In this order: superblocks and roots of each drive, and what each is to the newest root; the
//! first table and both trees of the segment table; a **walk** over all that the root names, the
//! newest value of each block, group by group; then the **pass** over the segments, each of which
//! is read once, front to back, several at a time.
//!
//! **How the maps' checksums and the drives' bytes meet.** The pass checks each batch by its
//! header: the MAC, the CRC of each fragment, zeros between them, and parity. What is left is that
//! each place that the maps name is one of a header's records, with the same length and CRC. The
//! walk meets places in the order of blocks, the pass in the order of segments, and a map of 100
//! TiB names 25 billion of them. So the walk keeps those of as many segments as
//! [`Options::places_bytes_max`] has room for, twelve bytes each, and the pass looks at these
//! segments; then comes the next walk, for the next segments. The price: the map is read once for
//! each window. With 256 MiB that is one walk for each 85 GiB of raw blocks; with 16 GiB one for
//! each 5.3 TiB, and a map is 0.4 % of what it maps, so that of 100 TiB 20 walks of at most 400 GiB
//! are read besides: 8 % more. Smaller pools are walked once.
//!
//! **Memory** besides that: some sixty bytes for each segment, six for each of its columns, four
//! for each segment number near one in use; the deltas of one shard; one page of each level of an
//! index and the pages of one leaf's groups; and 1 MiB for each column of the segments that are
//! looked at.
//!
//! After an unclean stop the newest root names less than there is: batches at or above its floor
//! are replayed at the next start, and may be torn. Of these only what the root names is looked at.
//! Segments in which nothing lives by the table are not looked at either: a start may have written
//! over them.

#![forbid(unsafe_code)]

mod batch;
mod drives;
mod lease;
mod map;
mod named;
mod pass;
mod pool;
mod report;
mod rows;
mod segments;
mod table;

use ashlar_block::{Device, DriveId};
use ashlar_format::location::SegmentId;
use ashlar_format::root::{MemberState, Root};
use ashlar_format::superblock::SuperblockError;
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::iter;

pub use drives::Given;
pub use lease::{Heartbeats, unused};
pub use report::{DriveReport, Finding, Kind, MemberVerdict, Report, Seen};

use drives::{Known, clone_among, newest_root, pool_of, tell_verdict, verdict};
use map::Walk;
use named::Named;
use pool::{Member, Pool};
use segments::Segments;

/// How much memory a check takes, and how much it reads at once.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Bytes for places that the maps name. See the head of this crate.
    pub places_bytes_max: usize,
    /// Segments that are looked at at a time.
    pub segments_at_a_time: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { places_bytes_max: 256 << 20, segments_at_a_time: 8 }
    }
}

/// How far a check is.
pub trait Watch {
    /// It does this from now on: so many bytes, if that is known.
    fn begins(&self, step: &str, bytes: Option<u64>);
    /// It has done so many more.
    fn did(&self, bytes: u64);
}

/// Nobody watches.
pub struct Unwatched;

impl Watch for Unwatched {
    fn begins(&self, _: &str, _: Option<u64>) {}
    fn did(&self, _: u64) {}
}

/// Why nothing was checked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    /// No drive was given.
    #[error("no drive was given")]
    Nothing,
    /// What was given is no drive of a pool.
    #[error(
        "{name}: {reason}: it is no drive of a pool{}",
        if *has_third {
            "; but its third copy is whole: `ashlar drive label-restore` restores the label"
        } else {
            "; leave it out"
        }
    )]
    NoDrive {
        /// What people call it.
        name: String,
        /// What is wrong with its superblock.
        reason: SuperblockError,
        /// The third copy is right.
        has_third: bool,
    },
    /// Two drives claim to be the same member.
    #[error(
        "{one} and {other} both claim to be {drive} of the pool: one is a copy of the other; leave one of them out"
    )]
    Cloned {
        /// Which.
        drive: DriveId,
        /// One of them.
        one: String,
        /// The other one.
        other: String,
    },
    /// No drive has a root.
    #[error("no drive holds a valid root: was the pool's creation interrupted?")]
    NoRoot,
    /// More drives were not given, or are not believed, than the level survives.
    #[error(
        "pool '{pool}': {} of {members} drives {} missing, or not believed ({}), and level {level} \
         survives {parity}: nothing can be said of the data. Give these drives, too",
        missing.len(),
        if missing.len() == 1 { "is" } else { "are" },
        missing.join(", ")
    )]
    TooManyMissing {
        /// Its name.
        pool: String,
        /// Members that hold a part of the pool.
        members: usize,
        /// Those that are missing, each with why if it was given.
        missing: Vec<String>,
        /// The pool's level.
        level: String,
        /// Drives that may be missing.
        parity: usize,
    },
    /// Somebody has the pool open.
    #[error(
        "machine '{holder}' has the pool open, or has opened it meanwhile: export it there \
         (`ashlar pool export`), or stop that machine"
    )]
    Open {
        /// What people call it.
        holder: String,
    },
}

/// Checks the pool that the drives are of. It must not be open: see [`unused`].
///
/// # Errors
/// [`Refused`], if there is no pool to be checked.
pub async fn check<D: Device>(
    drives: Vec<Given<D>>,
    options: &Options,
    watch: &dyn Watch,
) -> Result<Report, Refused> {
    if drives.is_empty() {
        return Err(Refused::Nothing);
    }
    watch.begins("superblocks and roots", None);
    let looks = join_all(drives.into_iter().map(Known::look)).await;
    let known = looks.into_iter().collect::<Result<Vec<_>, _>>()?;
    if let Some(refused) = clone_among(&known) {
        return Err(refused);
    }
    let checker = Checker::new(known)?;
    checker.check_members();
    checker.check_content(options, watch).await?;
    Ok(checker.report())
}

struct Checker<D> {
    pool: Pool<D>,
    report: Report,
}

impl<D: Device> Checker<D> {
    fn new(known: Vec<Known<D>>) -> Result<Self, Refused> {
        let id = pool_of(&known);
        let (own, foreign): (Vec<_>, Vec<_>) =
            known.into_iter().partition(|drive| drive.superblock.pool == id);
        let root = newest_root(&own).ok_or(Refused::NoRoot)?.clone();
        let newest = own.iter().map(|drive| &drive.superblock).max_by_key(|it| it.generation);
        let superblock = newest.expect("the pool has a root").clone();
        let findings = report::Findings::default();
        let (mut drives, mut members) = (Vec::new(), Vec::new());
        for drive in &foreign {
            tell_verdict(drive, MemberVerdict::Foreign, root.generation, &findings);
            drives.push(drive.report(MemberVerdict::Foreign));
        }
        for drive in own {
            let verdict = verdict(&root, &drive);
            tell_verdict(&drive, verdict, root.generation, &findings);
            drives.push(drive.report(verdict));
            members.extend(member(drive, verdict, &root, &findings));
        }
        drives.sort_by_key(|drive| drive.drive);
        let report = Report::new(&superblock, &root, drives);
        Ok(Checker { pool: Pool::new(&superblock, root, members, findings), report })
    }

    /// Members that the root counts on and that were not given, or are not believed.
    fn missing(&self) -> impl Iterator<Item = DriveId> {
        let takes_part = self.pool.root.members.iter().filter(|member| member.state.takes_part());
        takes_part.map(|member| member.drive).filter(|drive| self.pool.member(*drive).is_none())
    }

    /// Tells of them.
    fn check_members(&self) {
        for drive in self.missing() {
            self.pool.findings.add(Finding {
                kind: Kind::DriveMissing,
                drive: Some(drive),
                name: String::new(),
                offset: None,
                bytes: 0,
                is_lost: false,
                text: "the drive is missing, or not believed: what is on it was not checked"
                    .to_owned(),
            });
        }
    }

    /// Without more drives than the level survives, all that is there would seem to be lost.
    fn too_many_missing(&self) -> Refused {
        Refused::TooManyMissing {
            pool: self.report.pool_name.clone(),
            members: self
                .pool
                .root
                .members
                .iter()
                .filter(|member| member.state.takes_part())
                .count(),
            missing: self.missing().map(|drive| self.called(drive)).collect(),
            level: self.report.level.clone(),
            parity: self.pool.parity,
        }
    }

    /// Whether any segment has more columns on missing drives than may be lost.
    fn lacks_too_much(&self, segments: &Segments) -> bool {
        let lacks = |segment| {
            let columns = segments.columns(segment);
            columns.filter(|column| self.pool.member(column.drive).is_none()).count()
                > self.pool.parity
        };
        segments.iter().filter(|segment| pass::is_walked(segment)).any(lacks)
    }

    /// A missing drive, with what is wrong with it if it was given.
    fn called(&self, drive: DriveId) -> String {
        let given = self.report.drives.iter().find(|given| given.drive == drive);
        match given {
            Some(given) => format!("{drive}: {} is {}", given.name, given.verdict.name()),
            None => drive.to_string(),
        }
    }

    async fn check_content(&self, options: &Options, watch: &dyn Watch) -> Result<(), Refused> {
        let pool = &self.pool;
        watch.begins("segment table", None);
        let table = table::load(pool).await;
        let is_short = self.missing().count() > pool.parity
            && table.as_ref().is_none_or(|table| self.lacks_too_much(&table.segments));
        if is_short {
            return Err(self.too_many_missing());
        }
        let Some(table) = table else { return Ok(()) };
        table::check_parity_used(pool, &table.segments);
        pool.findings.count(|seen| seen.segments = table.segments.len() as u64);
        let named = Named::new(pool, table.segments, options.places_bytes_max);
        let walk = Walk { pool, named: &named, table_pages: &table.pages };
        watch.begins("maps", None);
        walk.run().await;
        named.check_counts();
        watch.begins("segments", Some(bytes_to_read(pool, &named.segments.borrow())));
        loop {
            let window = named.end_walk();
            self.check_segments(&named, window, options, watch).await;
            if named.next_window().is_none() {
                return Ok(());
            }
            walk.run().await;
        }
    }

    async fn check_segments(
        &self,
        named: &Named<'_, D>,
        window: std::ops::Range<u32>,
        options: &Options,
        watch: &dyn Watch,
    ) {
        let segments: Vec<_> = {
            let all = named.segments.borrow();
            let ids = all.iter_from(SegmentId(window.start)).map(|segment| segment.id);
            ids.take_while(|id| id.0 < window.end).collect()
        };
        let checks = iter(segments).map(|id| async move {
            let segment = *named.segments.borrow().get(id).expect("listed above");
            watch.did(pass::check_segment(&self.pool, named, segment).await);
        });
        let mut checks = checks.buffer_unordered(options.segments_at_a_time.max(1));
        while checks.next().await.is_some() {}
    }

    fn report(self) -> Report {
        let (mut findings, unlisted) = self.pool.findings.take();
        findings.sort_by_key(|finding| (!finding.is_lost, finding.drive, finding.offset));
        let members = self.pool.root.members.iter();
        let absent = members.filter(|member| member.state == MemberState::Absent);
        let absent = absent.map(|member| member.drive).collect();
        Report { seen: self.pool.findings.seen.get(), findings, unlisted, absent, ..self.report }
    }
}

/// The drive as a member, if it is believed; its superblock and its copy of the root are looked at.
fn member<D: Device>(
    drive: Known<D>,
    verdict: MemberVerdict,
    root: &Root,
    findings: &report::Findings,
) -> Option<(DriveId, Member<D>)> {
    if !matches!(verdict, MemberVerdict::Member | MemberVerdict::Behind) {
        return None;
    }
    if drive.is_cut_short(findings) {
        return None;
    }
    drive.check_superblocks(findings);
    drive.check_root(root, findings);
    let (id, layout, is_behind) =
        (drive.id(), drive.superblock.layout, verdict == MemberVerdict::Behind);
    Some((id, Member { name: drive.name, device: drive.device, layout, is_behind }))
}

/// What the pass will read, nearly.
fn bytes_to_read<D: Device>(pool: &Pool<D>, segments: &Segments) -> u64 {
    let walked = segments.iter().filter(|segment| pass::is_walked(segment));
    let bytes = walked.map(|segment| {
        let columns =
            segments.columns(segment).filter(|column| pool.member(column.drive).is_some());
        columns.count() as u64 * u64::from(segment.rows) * ashlar_block::SECTOR_BYTES as u64
    });
    bytes.sum()
}

#[cfg(test)]
mod tests;
