//! The root: what it names is the pool.

use std::collections::BTreeSet;

use ashlar_block::{DriveId, DriveUuid, PoolUuid};

use super::codec::{Malformed, Reader, Writer, crc32c};
use super::location::{Pointer, put_pointer, take_pointer};
use crate::ids::{Incarnation, Lsn, RootGeneration};

const MAGIC: &[u8; 8] = b"ASHLROOT";
const CRC_AT: usize = 8;
const COVERED_FROM: usize = 12;
const FLAG_CLEAN: u64 = 1;
/// The reactor whose batches a pool has: see [`Lsn::REACTORS`].
const REACTOR: u8 = 0;
/// In the generation that a member's state is as of: whoever does not know the flag takes it for a
/// very late one, which does no harm.
const FLAG_MADE_GOOD: u64 = 1 << 63;
/// The same of one that was given up while it was there.
const FLAG_GIVEN_UP: u64 = 1 << 62;

/// Slots on each drive; root `generation` goes to slot `generation` mod this.
pub const SLOT_COUNT: u64 = 8;
/// Bytes of a slot.
pub const SLOT_BYTES: usize = 16 << 10;
/// Incarnations that a root remembers.
pub const LINE_MAX: usize = 128;

/// Whether a member takes part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemberState {
    /// It does.
    Present,
    /// It was lost at some point; what it holds is not believed again. Segments still count on it.
    Absent,
    /// It was lost, and what was on it is on others: no segment counts on it any more.
    Released,
    /// It takes part, and what lives on it is being moved to others: then it is no member any more.
    Leaving,
}

impl MemberState {
    /// It holds what it should.
    pub fn takes_part(self) -> bool {
        matches!(self, MemberState::Present | MemberState::Leaving)
    }

    fn code(self) -> u8 {
        match self {
            MemberState::Present => 0,
            MemberState::Absent => 1,
            MemberState::Released => 2,
            MemberState::Leaving => 3,
        }
    }
}

/// One member drive, as the root knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemberRecord {
    /// Its number.
    pub drive: DriveId,
    /// Its identity.
    pub uuid: DriveUuid,
    /// Whether it takes part.
    pub state: MemberState,
    /// It does not, and a drive was added that makes up for it.
    pub made_good: bool,
    /// It does not, because somebody asked for that or because of its faults, and not because it
    /// was away: it comes back only when somebody asks for that, too.
    pub given_up: bool,
    /// The root that said first that it takes part, or that it does not any more.
    pub since: RootGeneration,
    /// Columns of parity that are used up, in the segment that lies on it of which most are. See
    /// [`Root::parity_used`].
    pub parity_used: u8,
}

/// Where the maps of one shard begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ShardRoot {
    /// Levels of index nodes above the leaves.
    pub index_height: u8,
    /// The topmost node, or the only leaf.
    pub index: Option<Pointer>,
    /// The newest delta page.
    pub deltas: Option<Pointer>,
}

/// Where the first table is and what it must look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TableRoot {
    /// Which of the two areas.
    pub area: u8,
    /// Bytes of it.
    pub bytes: u64,
    /// Their CRC.
    pub crc: u32,
}

/// A root record; `docs/format.md` has its bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Root {
    /// The pool.
    pub pool: PoolUuid,
    /// One more than the root before.
    pub generation: RootGeneration,
    /// LSNs given out so far are below this.
    pub next_lsn: Lsn,
    /// Batches at or above it are to be replayed.
    pub replay_floor: Lsn,
    /// Segments opened since the pool was made: the source of their numbers.
    pub segment_ordinal: u64,
    /// The last quarter of the circle of segment numbers that may be given out.
    pub segment_swept: u64,
    /// Nothing is to be replayed.
    pub clean: bool,
    /// Unix seconds.
    pub written_at: u64,
    /// Starts that found no clean root.
    pub unclean_starts: u64,
    /// The segment table.
    pub table: TableRoot,
    /// Columns of parity that are used up, in the segment of which most are: by columns that it
    /// lacks, and by those that lie on absent members.
    pub parity_used: u8,
    /// All drives that belong to the pool.
    pub members: Vec<MemberRecord>,
    /// This incarnation and those before it, newest first, with the generation of each one's first
    /// root. Never empty.
    pub line: Vec<(Incarnation, RootGeneration)>,
    /// The last page of the catalog.
    pub catalog: Option<Pointer>,
    /// One for each shard.
    pub shards: Vec<ShardRoot>,
}

impl Root {
    /// The record to write into a slot.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.bytes(MAGIC).u32(0).u32(0).bytes(&self.pool.0).u64(self.generation.0);
        w.u64(self.segment_ordinal).u64(self.segment_swept);
        w.u64(if self.clean { FLAG_CLEAN } else { 0 })
            .u64(self.written_at)
            .u64(self.unclean_starts);
        w.u8(self.table.area).u8(self.parity_used).zeros(2);
        w.u32(self.table.crc).u64(self.table.bytes);
        // One reactor writes the batches of a pool.
        w.u8(1).u8(REACTOR).u64(self.next_lsn.0).u64(self.replay_floor.0);
        w.u16(self.members.len() as u16);
        for member in &self.members {
            w.u16(member.drive.0).bytes(&member.uuid.0);
            w.u8(member.state.code()).u64(member.since.0 | flags(member)).u8(member.parity_used);
        }
        w.u16(self.line.len() as u16);
        for (incarnation, first) in &self.line {
            w.u64(incarnation.0).u64(first.0);
        }
        put_pointer(&mut w, self.catalog);
        w.u16(self.shards.len() as u16);
        for shard in &self.shards {
            w.u8(shard.index_height);
            put_pointer(&mut w, shard.index);
            put_pointer(&mut w, shard.deltas);
        }
        let bytes = w.0.len();
        assert!(bytes <= SLOT_BYTES, "a root of {bytes} bytes does not fit its slot");
        w.patch_u32(COVERED_FROM, bytes as u32);
        let crc = crc32c(&w.0[COVERED_FROM..]);
        w.patch_u32(CRC_AT, crc);
        w.0
    }

    /// The root that a slot holds.
    pub fn decode(slot: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new("root", slot);
        let (magic, crc, bytes) = (r.array()?, r.u32()?, r.u32()? as usize);
        if magic != *MAGIC
            || !(COVERED_FROM..=slot.len()).contains(&bytes)
            || crc32c(&slot[COVERED_FROM..bytes]) != crc
        {
            return Err(r.malformed());
        }
        let (pool, generation) = (PoolUuid(r.array()?), RootGeneration(r.u64()?));
        let (segment_ordinal, segment_swept) = (r.u64()?, r.u64()?);
        let (flags, written_at, unclean_starts) = (r.u64()?, r.u64()?, r.u64()?);
        let (table, parity_used) = take_table(&mut r)?;
        let (next_lsn, replay_floor) = take_lsns(&mut r)?;
        let members = (0..r.u16()?).map(|_| take_member(&mut r)).collect::<Result<_, _>>()?;
        let line = take_line(&mut r)?;
        let catalog = take_pointer(&mut r)?;
        let shards = (0..r.u16()?).map(|_| take_shard(&mut r)).collect::<Result<_, _>>()?;
        Ok(Root {
            pool,
            generation,
            next_lsn,
            replay_floor,
            segment_ordinal,
            segment_swept,
            clean: flags & FLAG_CLEAN != 0,
            written_at,
            unclean_starts,
            table,
            parity_used,
            members,
            line,
            catalog,
            shards,
        })
    }

    /// Members that segments count on, or could.
    pub fn counted(&self) -> impl Iterator<Item = DriveId> {
        let counted = self.members.iter().filter(|member| member.state != MemberState::Released);
        counted.map(|member| member.drive)
    }

    /// How many drives these numbers are: one that came back has two while what it missed is on its
    /// old one.
    pub fn identities(&self, numbers: impl IntoIterator<Item = DriveId>) -> usize {
        let uuid_of = |number: DriveId| {
            self.members.iter().find(|member| member.drive == number)?.uuid.into()
        };
        numbers.into_iter().filter_map(uuid_of).collect::<BTreeSet<DriveUuid>>().len()
    }

    /// The incarnation that wrote it.
    pub fn incarnation(&self) -> Incarnation {
        self.line[0].0
    }

    /// Whether a root of `incarnation` and `generation` came before this one on the same line, so
    /// that whoever holds it merely missed what came after.
    pub fn descends_from(&self, incarnation: Incarnation, generation: RootGeneration) -> bool {
        let Some(at) = self.line.iter().position(|(past, _)| *past == incarnation) else {
            return false;
        };
        let first = self.line[at].1;
        let ended = at.checked_sub(1).map_or(RootGeneration(u64::MAX), |newer| self.line[newer].1);
        (first..ended).contains(&generation) && generation <= self.generation
    }
}

/// The next LSN and the replay floor of the one reactor that writes batches.
fn take_lsns(r: &mut Reader<'_>) -> Result<(Lsn, Lsn), Malformed> {
    let (reactors, reactor) = (r.u8()?, r.u8()?);
    if (reactors, reactor) != (1, REACTOR) {
        return Err(r.malformed());
    }
    Ok((Lsn(r.u64()?), Lsn(r.u64()?)))
}

/// The table's root, and how much parity is used up.
fn take_table(r: &mut Reader<'_>) -> Result<(TableRoot, u8), Malformed> {
    let (area, parity_used) = (r.u8()? & 1, r.u8()?);
    r.bytes(2)?;
    Ok((TableRoot { area, crc: r.u32()?, bytes: r.u64()? }, parity_used))
}

fn take_member(r: &mut Reader<'_>) -> Result<MemberRecord, Malformed> {
    let (drive, uuid) = (DriveId(r.u16()?), DriveUuid(r.array()?));
    let state = match r.u8()? {
        0 => MemberState::Present,
        1 => MemberState::Absent,
        2 => MemberState::Released,
        3 => MemberState::Leaving,
        _ => return Err(r.malformed()),
    };
    let since = r.u64()?;
    let (made_good, given_up) = (since & FLAG_MADE_GOOD != 0, since & FLAG_GIVEN_UP != 0);
    if (made_good || given_up) && state.takes_part() {
        return Err(r.malformed());
    }
    let since = RootGeneration(since & !(FLAG_MADE_GOOD | FLAG_GIVEN_UP));
    Ok(MemberRecord { drive, uuid, state, made_good, given_up, since, parity_used: r.u8()? })
}

/// The incarnations of the line: at least the one that wrote the root.
fn take_line(r: &mut Reader<'_>) -> Result<Vec<(Incarnation, RootGeneration)>, Malformed> {
    let count = r.u16()?;
    let take_start = |_| Ok((Incarnation(r.u64()?), RootGeneration(r.u64()?)));
    let line: Vec<_> = (0..count).map(take_start).collect::<Result<_, Malformed>>()?;
    if line.is_empty() {
        return Err(r.malformed());
    }
    Ok(line)
}

fn flags(member: &MemberRecord) -> u64 {
    let flags = [(member.made_good, FLAG_MADE_GOOD), (member.given_up, FLAG_GIVEN_UP)];
    flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum()
}

fn take_shard(r: &mut Reader<'_>) -> Result<ShardRoot, Malformed> {
    Ok(ShardRoot { index_height: r.u8()?, index: take_pointer(r)?, deltas: take_pointer(r)? })
}
