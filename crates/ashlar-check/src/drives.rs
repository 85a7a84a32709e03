//! The drives that were given: their superblocks and roots, and what each is to the pool.

use std::collections::BTreeMap;

use ashlar_block::{AlignedBuf, ByteSize, Device, DriveId, DriveUuid, PoolUuid, SECTOR_BYTES};
use ashlar_format::ids::RootGeneration;
use ashlar_format::root::{MemberState, Root, SLOT_BYTES, SLOT_COUNT};
use ashlar_format::superblock::{Superblock, SuperblockError};
use futures_util::future::join_all;

use crate::Refused;
use crate::report::{DriveReport, Finding, Findings, Kind, MemberVerdict};

/// A drive, and what people call it.
pub struct Given<D> {
    /// What people call it.
    pub name: String,
    /// The drive.
    pub device: D,
}

/// A copy of a superblock: the sector, if its drive gave it.
type Copy = Option<AlignedBuf>;

/// A drive with what its ends say.
pub(crate) struct Known<D> {
    pub name: String,
    pub device: D,
    pub superblock: Superblock,
    copies: [Copy; 3],
    second_at: u64,
    /// Its valid roots, newest last.
    pub roots: Vec<Root>,
    slots: Vec<Slot>,
}

/// What is in a slot for a root.
enum Slot {
    Root(Root),
    /// Zeros.
    Blank,
    Damaged,
}

impl<D: Device> Known<D> {
    /// Looks at the drive. An error: it is no drive of a pool.
    pub async fn look(given: Given<D>) -> Result<Self, Refused> {
        let Given { name, device } = given;
        let first = sector(&device, Superblock::FIRST_OFFSET).await;
        let inside = sector(&device, Superblock::INSIDE_OFFSET).await;
        let (second_at, second) = second_of(&device, &first, &inside).await;
        let copies: [Copy; 3] = [first, second, inside];
        let superblock = newest_of(&copies[..2]).map_err(|reason| {
            let has_third = newest_of(&copies[2..]).is_ok();
            Refused::NoDrive { name: name.clone(), reason, has_third }
        })?;
        let slots = join_all((0..SLOT_COUNT).map(|slot| read_slot(&device, slot))).await;
        let roots = slots.iter().filter_map(|slot| match slot {
            Slot::Root(root) if root.pool == superblock.pool => Some(root.clone()),
            _ => None,
        });
        let mut roots: Vec<Root> = roots.collect();
        roots.sort_by_key(|root| root.generation);
        Ok(Known { name, device, superblock, copies, second_at, roots, slots })
    }

    pub fn id(&self) -> DriveId {
        self.superblock.drive
    }

    pub fn own(&self) -> Option<&Root> {
        self.roots.last()
    }

    /// Whether it ends before what the pool has of it does: it is told then.
    pub fn is_cut_short(&self, findings: &Findings) -> bool {
        let (bytes, was) = (self.device.size_bytes(), self.superblock.drive_bytes);
        if bytes < was {
            let text = format!(
                "it has {}, and the pool uses {} of it: the file or device was cut short",
                ByteSize(bytes),
                ByteSize(was)
            );
            self.tell(findings, Kind::DriveCut, None, text);
        }
        bytes < was
    }

    /// Tells of copies of the superblock that are not what the newest of the outer ones says.
    pub fn check_superblocks(&self, findings: &Findings) {
        let right = self.superblock.encode();
        let names = ["first", "second", "third"];
        let offsets = [Superblock::FIRST_OFFSET, self.second_at, Superblock::INSIDE_OFFSET];
        for ((copy, name), offset) in self.copies.iter().zip(names).zip(offsets) {
            let what = match copy {
                Some(copy) if copy[..] == right[..] => continue,
                Some(copy) => Superblock::decode(copy).err().map_or_else(
                    || "says something else than the newer one".to_owned(),
                    |it| it.to_string(),
                ),
                None => "cannot be read".to_owned(),
            };
            let text = format!("{name} copy of the superblock: {what}; a scrub writes it anew");
            self.tell(findings, Kind::Superblock, Some((offset, SECTOR_BYTES as u64)), text);
        }
    }

    /// Tells of the newest root of the pool, where its slot here is neither that nor an older one.
    pub fn check_root(&self, newest: &Root, findings: &Findings) {
        let slot = newest.generation.0 % SLOT_COUNT;
        if matches!(self.slots[slot as usize], Slot::Damaged) {
            let at = (Superblock::root_offset(slot), SLOT_BYTES as u64);
            let text = "the newest root is damaged or cannot be read here; a power failure while it was \
                        written leaves that, too, and the next start writes it anew";
            self.tell(findings, Kind::Root, Some(at), text.to_owned());
        }
    }

    pub fn tell(&self, findings: &Findings, kind: Kind, at: Option<(u64, u64)>, text: String) {
        let (offset, bytes) = (at.map(|(offset, _)| offset), at.map_or(0, |(_, bytes)| bytes));
        let (drive, name) = (Some(self.id()), self.name.clone());
        findings.add(Finding { kind, drive, name, offset, bytes, is_lost: false, text });
    }

    pub fn report(&self, verdict: MemberVerdict) -> DriveReport {
        let right = self.superblock.encode();
        let is_right = |copy: &&Copy| copy.as_ref().is_some_and(|copy| copy[..] == right[..]);
        DriveReport {
            name: self.name.clone(),
            drive: self.id(),
            verdict,
            superblocks: self.copies.iter().filter(is_right).count(),
            root: self.own().map(|root| root.generation),
            slots_damaged: self.slots.iter().filter(|slot| matches!(slot, Slot::Damaged)).count(),
        }
    }
}

pub(crate) async fn sector<D: Device>(device: &D, offset: u64) -> Option<AlignedBuf> {
    let (read, buf) = device.read(offset, AlignedBuf::stale(SECTOR_BYTES)).await;
    read.ok().map(|()| buf)
}

/// The second copy, where the others say that it is, and that place.
async fn second_of<D: Device>(device: &D, first: &Copy, inside: &Copy) -> (u64, Copy) {
    let decoded = |copy: &Copy| copy.as_ref().and_then(|copy| Superblock::decode(copy).ok());
    let (first, inside) = (decoded(first), decoded(inside));
    let places = Superblock::second_offsets(first.as_ref(), inside.as_ref(), device.size_bytes());
    let mut found = (places[0], None);
    for place in places {
        if decoded(&found.1).is_none() {
            found = (place, sector(device, place).await);
        }
    }
    found
}

fn newest_of(copies: &[Copy]) -> Result<Superblock, SuperblockError> {
    let decoded = copies.iter().map(|copy| match copy {
        Some(copy) => Superblock::decode(copy),
        None => Err(SuperblockError::Damaged),
    });
    let mut error = SuperblockError::Absent;
    let mut newest: Option<Superblock> = None;
    for copy in decoded {
        match copy {
            Ok(copy) if newest.as_ref().is_none_or(|it| it.generation < copy.generation) => {
                newest = Some(copy);
            }
            Ok(_) | Err(SuperblockError::Absent) => {}
            Err(why) => error = why,
        }
    }
    newest.ok_or(error)
}

async fn read_slot<D: Device>(device: &D, slot: u64) -> Slot {
    let (read, buf) =
        device.read(Superblock::root_offset(slot), AlignedBuf::stale(SLOT_BYTES)).await;
    match (read, Root::decode(&buf)) {
        (Ok(()), Ok(root)) => Slot::Root(root),
        (Ok(()), Err(_)) if buf.iter().all(|byte| *byte == 0) => Slot::Blank,
        _ => Slot::Damaged,
    }
}

/// The pool that most of the drives are of.
pub(crate) fn pool_of<D: Device>(drives: &[Known<D>]) -> PoolUuid {
    let mut counts: BTreeMap<PoolUuid, usize> = BTreeMap::new();
    drives.iter().for_each(|drive| *counts.entry(drive.superblock.pool).or_default() += 1);
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map(|(pool, _)| pool).expect("at least one drive was given")
}

/// Two drives that claim to be the same member.
pub(crate) fn clone_among<D: Device>(drives: &[Known<D>]) -> Option<Refused> {
    let mut seen: BTreeMap<DriveUuid, &str> = BTreeMap::new();
    drives.iter().find_map(|drive| {
        let before = seen.insert(drive.superblock.drive_uuid, &drive.name)?;
        let (one, other) = (before.to_owned(), drive.name.clone());
        Some(Refused::Cloned { drive: drive.id(), one, other })
    })
}

/// The newest root. Of two of one generation: the one that counts on no drive whose own root is of
/// another line, else the one that more drives have.
pub(crate) fn newest_root<D: Device>(drives: &[Known<D>]) -> Option<&Root> {
    let own = || drives.iter().filter_map(|drive| Some((drive.id(), drive.own()?)));
    let counts_on_strangers = |root: &Root| {
        own().any(|(drive, own)| {
            takes_part_in(root, drive) && !root.descends_from(own.incarnation(), own.generation)
        })
    };
    let holders =
        |root: &Root| own().filter(|(_, own)| own.incarnation() == root.incarnation()).count();
    own()
        .map(|(_, root)| root)
        .max_by_key(|root| (root.generation, !counts_on_strangers(root), holders(root)))
}

fn takes_part_in(root: &Root, drive: DriveId) -> bool {
    root.members.iter().any(|member| member.drive == drive && member.state.takes_part())
}

/// What a drive of the pool is to its newest root.
pub(crate) fn verdict<D: Device>(root: &Root, drive: &Known<D>) -> MemberVerdict {
    let superblock = &drive.superblock;
    let is_it = |member: &&ashlar_format::root::MemberRecord| {
        (member.drive, member.uuid) == (superblock.drive, superblock.drive_uuid)
    };
    let Some(record) = root.members.iter().find(is_it) else { return MemberVerdict::NoMember };
    if record.state == MemberState::Released {
        return MemberVerdict::NoMember;
    }
    let Some(own) = drive.own() else {
        return if record.state.takes_part() {
            MemberVerdict::Behind
        } else {
            MemberVerdict::Stale
        };
    };
    if !root.descends_from(own.incarnation(), own.generation) {
        return MemberVerdict::Diverged;
    }
    let has_kept_up = own.generation.0 + 1 >= root.generation.0 || record.since >= root.generation;
    match (record.state.takes_part(), has_kept_up) {
        (true, true) if own.generation == root.generation => MemberVerdict::Member,
        (true, true) => MemberVerdict::Behind,
        _ => MemberVerdict::Stale,
    }
}

/// Tells of a drive that is not believed, with the reason.
pub(crate) fn tell_verdict<D: Device>(
    drive: &Known<D>,
    verdict: MemberVerdict,
    RootGeneration(newest): RootGeneration,
    findings: &Findings,
) {
    let own = drive.own().map_or("no root".to_owned(), |own| format!("root {}", own.generation.0));
    let (kind, text) = match verdict {
        MemberVerdict::Member | MemberVerdict::Behind => return,
        MemberVerdict::Stale => (
            Kind::DriveStale,
            format!(
                "it has {own}, and the pool has gone on to root {newest}: what it holds is old"
            ),
        ),
        MemberVerdict::Diverged => (
            Kind::DriveStale,
            format!(
                "it has {own} of another line than root {newest}: a machine used it without the \
                 other drives"
            ),
        ),
        MemberVerdict::NoMember => (
            Kind::DriveForeign,
            format!("root {newest} of the pool does not know it, or not any more; leave it out"),
        ),
        MemberVerdict::Foreign => (
            Kind::DriveForeign,
            format!(
                "it is of another pool, '{}' ({})",
                drive.superblock.pool_name, drive.superblock.pool
            ),
        ),
    };
    drive.tell(findings, kind, None, text);
}
