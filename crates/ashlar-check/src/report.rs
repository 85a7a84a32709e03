//! What a check has found, for people and for programs.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ashlar_block::{DriveId, PoolUuid, SECTOR_BYTES};
use ashlar_format::ids::RootGeneration;
use ashlar_format::location::Location;
use ashlar_format::root::Root;
use ashlar_format::superblock::Superblock;

/// Findings of one kind that are kept one by one; of more it is said how many there are.
const KEPT_OF_A_KIND: u64 = 1000;

/// What is wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// A copy of a superblock.
    Superblock,
    /// A root, or what it says of itself.
    Root,
    /// A drive's copy of the first table.
    FirstTable,
    /// A member that was not given.
    DriveMissing,
    /// A drive that has missed roots, so that what it holds is not believed.
    DriveStale,
    /// A drive of another pool, or no member of this one.
    DriveForeign,
    /// A member that ends before what the pool has of it does.
    DriveCut,
    /// A leaf of the segment table's tree of entries.
    TableLeaf,
    /// A node of one of its trees.
    TableNode,
    /// A leaf of its tree of counts.
    CountLeaf,
    /// A leaf of a shard's index.
    IndexLeaf,
    /// A node of a shard's index.
    IndexNode,
    /// A page of a run.
    MapPage,
    /// A page of a shard's deltas.
    DeltaPage,
    /// A directory of deltas or of the catalog.
    Directory,
    /// A page of the catalog, or what the catalog says.
    Catalog,
    /// A batch header.
    Header,
    /// A fragment of a batch.
    Fragment,
    /// Bytes that no fragment and no header has, and that should be zeros.
    Padding,
    /// A parity column.
    Parity,
    /// Batches that do not follow each other as they should.
    Order,
    /// An entry of the segment table that cannot be.
    Entry,
    /// A chunk that two segments claim.
    ChunkTwice,
    /// A segment that is named and is not in the table.
    NoSegment,
    /// A place that is named where the segment holds no batch.
    NotHeld,
    /// A place that is named twice, or two that overlap.
    NamedTwice,
    /// What the maps name and no batch header says.
    NoRecord,
    /// A live count that is lower than what the maps name.
    Count,
}

impl Kind {
    /// Its name, for programs.
    pub fn name(self) -> String {
        let mut name = String::new();
        for letter in format!("{self:?}").chars() {
            if letter.is_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.push(letter.to_ascii_lowercase());
        }
        name
    }
}

/// Something that is not as it should be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What.
    pub kind: Kind,
    /// On which drive, if it is one's.
    pub drive: Option<DriveId>,
    /// What people call that drive. Empty if it is none's, or the drive was not given.
    pub name: String,
    /// Where on the drive, in bytes from its start.
    pub offset: Option<u64>,
    /// From there on.
    pub bytes: u64,
    /// Neither what is there nor what others hold gives it back.
    pub is_lost: bool,
    /// What it is, and what it means.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.drive {
            Some(drive) if self.name.is_empty() => write!(f, "{drive}")?,
            Some(drive) => write!(f, "{} ({drive})", self.name)?,
            None if self.name.is_empty() => f.write_str("pool")?,
            None => f.write_str(&self.name)?,
        }
        if let Some(offset) = self.offset {
            write!(f, " at {offset}")?;
            if self.bytes > 0 {
                write!(f, "+{}", self.bytes)?;
            }
        }
        write!(f, ": {}", self.text)
    }
}

/// What a drive that was given is to the pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemberVerdict {
    /// It holds what it should.
    Member,
    /// It does, but for the newest root: the power failed while that was written.
    Behind,
    /// What it holds is not believed: the pool went on without it.
    Stale,
    /// Its newest root is of another line: it was in use without the others.
    Diverged,
    /// The newest root does not know it, or not any more.
    NoMember,
    /// It is of another pool.
    Foreign,
}

impl MemberVerdict {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            MemberVerdict::Member => "member",
            MemberVerdict::Behind => "behind",
            MemberVerdict::Stale => "stale",
            MemberVerdict::Diverged => "diverged",
            MemberVerdict::NoMember => "no member",
            MemberVerdict::Foreign => "of another pool",
        }
    }
}

/// What was seen of a drive itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DriveReport {
    /// What people call it.
    pub name: String,
    /// Its number in its pool.
    pub drive: DriveId,
    /// What it is to the pool.
    pub verdict: MemberVerdict,
    /// Copies of its superblock that are right, of three.
    pub superblocks: usize,
    /// Its newest valid root.
    pub root: Option<RootGeneration>,
    /// Slots of roots that hold neither a valid root nor nothing.
    pub slots_damaged: usize,
}

/// How much was looked at.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Seen {
    /// Volumes of the catalog.
    pub volumes: u64,
    /// Segments of the table.
    pub segments: u64,
    /// Groups of the maps.
    pub groups: u64,
    /// Pages of the table, of the maps and of the catalog.
    pub pages: u64,
    /// Fragments that the maps name, pages included.
    pub fragments: u64,
    /// Batches that were looked at byte by byte.
    pub batches: u64,
    /// Batches that the next start replays, or drops where they are torn: of them only what the
    /// root names was looked at.
    pub batches_to_replay: u64,
    /// Bytes of rows that were read, parity included.
    pub bytes: u64,
    /// Sectors that were made of the others of their rows, because their drives are not there.
    pub sectors_restored: u64,
    /// Columns of segments on drives that are not there.
    pub columns_missing: u64,
    /// How often the maps were walked.
    pub walks: u64,
}

/// What a check has come to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// The pool.
    pub pool: PoolUuid,
    /// Its name.
    pub pool_name: String,
    /// Its level.
    pub level: String,
    /// The newest root.
    pub root: RootGeneration,
    /// Nothing is to be replayed.
    pub is_clean: bool,
    /// When it was written, in Unix seconds.
    pub written_at: u64,
    /// The drives that were given.
    pub drives: Vec<DriveReport>,
    /// Drives that the root says are lost, and that segments still count on.
    pub absent: Vec<DriveId>,
    /// How much was looked at.
    pub seen: Seen,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// Findings beyond those that are kept, by their kind.
    pub unlisted: BTreeMap<Kind, u64>,
}

impl Report {
    /// Of a pool of which nothing has been looked at but its drives' ends.
    pub(crate) fn new(superblock: &Superblock, root: &Root, drives: Vec<DriveReport>) -> Self {
        Report {
            pool: root.pool,
            pool_name: superblock.pool_name.clone(),
            level: superblock.level().to_string(),
            root: root.generation,
            is_clean: root.clean,
            written_at: root.written_at,
            drives,
            absent: Vec::new(),
            seen: Seen::default(),
            findings: Vec::new(),
            unlisted: BTreeMap::new(),
        }
    }

    /// Nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.findings.is_empty()
    }

    /// All findings, those that were not kept included.
    pub fn count(&self) -> u64 {
        self.findings.len() as u64 + self.unlisted.values().sum::<u64>()
    }
}

/// A place of a segment, as people are told of it.
pub(crate) fn shown(location: Location) -> String {
    let (segment, column) = (location.segment(), location.column());
    format!(
        "{segment}, column {column}, {} bytes from slot {} on",
        location.bytes(),
        location.slot()
    )
}

/// Findings as they come.
#[derive(Default)]
pub(crate) struct Findings {
    all: RefCell<Vec<Finding>>,
    counts: RefCell<BTreeMap<Kind, u64>>,
    /// Sectors that have been told of, by drive.
    told: RefCell<BTreeSet<(DriveId, u64)>>,
    pub seen: Cell<Seen>,
}

impl Findings {
    pub fn add(&self, finding: Finding) {
        let mut counts = self.counts.borrow_mut();
        let count = counts.entry(finding.kind).or_default();
        *count += 1;
        if *count <= KEPT_OF_A_KIND {
            self.all.borrow_mut().push(finding);
        }
    }

    /// Something of the pool, and no drive's.
    pub fn add_of_pool(&self, kind: Kind, text: String) {
        let (drive, name, offset) = (None, String::new(), None);
        self.add(Finding { kind, drive, name, offset, bytes: 0, is_lost: false, text });
    }

    /// Whether it is news that something is wrong with the sector.
    pub fn is_news(&self, drive: DriveId, offset: u64) -> bool {
        let full = self.counts.borrow().values().sum::<u64>() > 64 * KEPT_OF_A_KIND;
        let sector = (drive, offset / SECTOR_BYTES as u64);
        let mut told = self.told.borrow_mut();
        if full { !told.contains(&sector) } else { told.insert(sector) }
    }

    pub fn count(&self, change: impl FnOnce(&mut Seen)) {
        let mut seen = self.seen.get();
        change(&mut seen);
        self.seen.set(seen);
    }

    pub fn take(&self) -> (Vec<Finding>, BTreeMap<Kind, u64>) {
        let beyond =
            |(kind, count): (&Kind, &u64)| Some((*kind, count.checked_sub(KEPT_OF_A_KIND)?));
        let counts = self.counts.borrow();
        let unlisted = counts.iter().filter_map(beyond).filter(|(_, count)| *count > 0).collect();
        (self.all.take(), unlisted)
    }
}
