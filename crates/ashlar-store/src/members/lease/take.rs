//! Taking the lease of a pool, and finding out whether another node has it.

use ashlar_block::{AlignedBuf, Device, Durability, Nanos, PoolUuid, SECTOR_BYTES, World, within};
use ashlar_format::heartbeat::{HOLDER_NAME_BYTES_MAX, Heartbeat};
use futures_util::future::join_all;

use super::heartbeat_reads::{View, looks_wanted, view};
use super::{LEASE, SIGN_OF_LIFE, WATCH, takes_part};
use crate::base::options::Holder;
use crate::members::create::MADE_ROOT;
use crate::members::{Chosen, FoundDrive, OPEN_ANSWER_MAX, read_roots};
use crate::recovery::OpenError;

/// The heartbeats on the drives of a pool that is to be opened.
async fn look<W: World>(world: &W, members: &[FoundDrive<W::Device>]) -> Vec<Option<Heartbeat>> {
    let one = async |drive: &FoundDrive<W::Device>| {
        let read = read_heartbeat(&drive.device, drive.superblock.pool);
        within(world, OPEN_ANSWER_MAX, read).await.flatten()
    };
    join_all(members.iter().map(one)).await
}

pub(super) async fn read_heartbeat<D: Device>(device: &D, pool: PoolUuid) -> Option<Heartbeat> {
    let (read, sector) = device.read(Heartbeat::OFFSET, AlignedBuf::stale(SECTOR_BYTES)).await;
    let heartbeat = read.ok().and_then(|()| Heartbeat::decode(&sector).ok());
    heartbeat.filter(|heartbeat| heartbeat.pool == pool)
}

/// Returns whether the drive has taken it. One that refuses is dealt with by whoever writes data to
/// it.
pub(super) async fn write_heartbeat<D: Device>(
    device: &D,
    heartbeat: &Heartbeat,
    durability: Durability,
) -> bool {
    let sector = AlignedBuf::copy_of(&heartbeat.encode()).freeze();
    device.write(Heartbeat::OFFSET, sector, durability).await.is_ok()
}

/// The machine that has the pool of a drive open, if one sends heartbeats to it within twelve
/// seconds. Returns at once where none has it open by its heartbeat.
pub async fn live_holder<W: World>(
    world: &W,
    device: &W::Device,
    pool: PoolUuid,
) -> Option<String> {
    let before = read_heartbeat(device, pool).await.filter(|heartbeat| heartbeat.is_open)?;
    world.sleep(SIGN_OF_LIFE).await;
    match read_heartbeat(device, pool).await {
        Some(after) => (after != before && after.is_open).then_some(after.holder_name),
        None => Some(before.holder_name),
    }
}

/// A pool that is this machine's.
pub(crate) struct Taken {
    pub own: Heartbeat,
    /// When that was certain.
    pub at: Nanos,
}

/// Takes the pool for this machine, or finds that another one has it.
pub(crate) async fn take<W: World>(
    world: &W,
    holder: &Holder,
    chosen: &Chosen<W::Device>,
    parity: usize,
) -> Result<Taken, OpenError> {
    let members = &chosen.members;
    let began = world.now();
    let mut before = look(world, members).await;
    let is_ours = |last: Option<&Heartbeat>| match last {
        Some(last) => last.holder == holder.id,
        // Only who has made it knows of it.
        None => chosen.root.generation <= MADE_ROOT,
    };
    if let Some(last) =
        last_before(&before, holder).filter(|last| last.is_open && !is_ours(Some(last)))
    {
        tracing::info!("'{}' had the pool open last: waiting for its heartbeats", last.holder_name);
        let holder_name = last.holder_name.clone();
        if is_alive(world, members, &mut before).await {
            return Err(OpenError::InUse { holder: holder_name });
        }
    }
    let last = last_before(&before, holder).cloned();
    let own = heartbeat_after(last.as_ref(), world, holder, chosen.root.pool);
    let taken = write_claim(world, members, &own).await;
    // Nobody can have begun to write since then. A drive that hung may have taken longer.
    if is_ours(last.as_ref()) && world.now().since(began) < LEASE {
        return Ok(Taken { own, at: began });
    }
    let needed = looks_wanted(parity, takes_part(&chosen.root)).min(members.len());
    let taken = uphold(world, members, Claim { own, before, taken, needed }).await?;
    has_stayed(world, chosen).await?;
    Ok(taken)
}

/// Waits until it is certain that nobody else has the pool or wants it.
async fn uphold<W: World>(
    world: &W,
    members: &[FoundDrive<W::Device>],
    mut claim: Claim,
) -> Result<Taken, OpenError> {
    loop {
        world.sleep(WATCH).await;
        let at = world.now();
        let after = look(world, members).await;
        let late = claim.adopt_late(&after);
        check_uncontested(&claim, &after)?;
        let Some(latest) = late else {
            return check_seen(&claim, &after).map(|()| Taken { own: claim.own, at });
        };
        claim.own = claim_after(claim.own, latest);
        claim.taken = write_claim(world, members, &claim.own).await;
    }
}

/// Whether a machine sends heartbeats to the drives within [`WATCH`].
async fn is_alive<W: World>(
    world: &W,
    members: &[FoundDrive<W::Device>],
    before: &mut [Option<Heartbeat>],
) -> bool {
    loop {
        world.sleep(WATCH).await;
        let after = look(world, members).await;
        let late = adopt_late(before, &after, |_, _| true);
        if changed_heartbeats(before, &after).next().is_some() {
            return true;
        }
        if late.is_none() {
            return false;
        }
    }
}

/// Adds to `before` what drives show that could not be read before, where it is `strange` and newer
/// than what the others have. Returns the highest epoch of that, if there is any.
///
/// It is no sign of life: a crash may have left it on that drive alone. Whoever is alive changes it
/// within another [`WATCH`].
fn adopt_late(
    before: &mut [Option<Heartbeat>],
    after: &[Option<Heartbeat>],
    strange: impl Fn(usize, &Heartbeat) -> bool,
) -> Option<u64> {
    let is_late = |nth: &usize| {
        let seen =
            after[*nth].as_ref().filter(|seen| before[*nth].is_none() && strange(*nth, seen));
        seen.is_some_and(|seen| is_newer(seen, before))
    };
    let late: Vec<usize> = (0..before.len()).filter(is_late).collect();
    late.iter().for_each(|nth| before[*nth].clone_from(&after[*nth]));
    late.iter().filter_map(|nth| Some(after[*nth].as_ref()?.epoch)).max()
}

/// The heartbeat of whoever had the pool last. Of several that wanted it at once and were refused
/// it, each has left its own on some drives: then that of another one, which may be open.
fn last_before<'a>(before: &'a [Option<Heartbeat>], holder: &Holder) -> Option<&'a Heartbeat> {
    before.iter().flatten().max_by_key(|heartbeat| {
        (heartbeat.epoch, heartbeat.holder != holder.id, heartbeat.is_open, heartbeat.count)
    })
}

/// The first heartbeat of an opening after that one.
fn heartbeat_after<W: World>(
    last: Option<&Heartbeat>,
    world: &W,
    holder: &Holder,
    pool: PoolUuid,
) -> Heartbeat {
    Heartbeat {
        pool,
        is_open: true,
        holder: holder.id,
        epoch: last.map_or(0, |last| last.epoch).saturating_add(1),
        session: world.random_u64(),
        count: 0,
        written_at: world.unix_seconds(),
        holder_name: cut(&holder.name, HOLDER_NAME_BYTES_MAX).to_owned(),
    }
}

/// The next claim of an opening, where an epoch was seen late: it has to be above that, or the
/// heartbeat would be taken for that of a later opening.
fn claim_after(own: Heartbeat, latest: u64) -> Heartbeat {
    Heartbeat { epoch: own.epoch.max(latest.saturating_add(1)), count: own.count + 1, ..own }
}

fn cut(name: &str, bytes_max: usize) -> &str {
    let end = (0..=bytes_max.min(name.len())).rev().find(|at| name.is_char_boundary(*at));
    &name[..end.unwrap_or(0)]
}

/// Heartbeats that somebody has written since it was looked `before`. A drive that cannot be read
/// now and then says nothing: where it could not be read before, it has to be newer than what the
/// others had then.
fn changed_heartbeats<'a>(
    before: &'a [Option<Heartbeat>],
    after: &'a [Option<Heartbeat>],
) -> impl Iterator<Item = &'a Heartbeat> {
    let is_new = |(then, seen): &(&Option<Heartbeat>, &Heartbeat)| match then {
        Some(then) => then != *seen,
        None => is_newer(seen, before),
    };
    let seen = before.iter().zip(after).filter_map(|(then, seen)| Some((then, seen.as_ref()?)));
    seen.filter(is_new).map(|(_, seen)| seen)
}

/// Of one opening the count tells; of several, which began later, and of one epoch none is older.
fn is_newer(heartbeat: &Heartbeat, than: &[Option<Heartbeat>]) -> bool {
    let known = || than.iter().flatten();
    let of_its_own =
        known().filter(|known| known.session == heartbeat.session).map(|known| known.count).max();
    match of_its_own {
        Some(count) => heartbeat.count > count,
        None => known().all(|known| heartbeat.epoch >= known.epoch),
    }
}

/// Writes the claim everywhere. Returns where it was taken.
async fn write_claim<W: World>(
    world: &W,
    members: &[FoundDrive<W::Device>],
    own: &Heartbeat,
) -> Vec<bool> {
    let write = async |drive: &FoundDrive<W::Device>| {
        // On stable media: no drive is to come back with an epoch that the others have lost.
        let written = write_heartbeat(&drive.device, own, Durability::Stable);
        within(world, OPEN_ANSWER_MAX, written).await.unwrap_or(false)
    };
    join_all(members.iter().map(write)).await
}

/// A claim on a pool.
struct Claim {
    own: Heartbeat,
    /// The heartbeats before it.
    before: Vec<Option<Heartbeat>>,
    /// Which drives have said that they have it.
    taken: Vec<bool>,
    /// On how many it has to be seen.
    needed: usize,
}

impl Claim {
    /// [`adopt_late`], for drives that have not taken the claim.
    fn adopt_late(&mut self, after: &[Option<Heartbeat>]) -> Option<u64> {
        let (own, taken) = (&self.own, &self.taken);
        adopt_late(&mut self.before, after, |nth, seen| !taken[nth] && seen.session != own.session)
    }
}

/// Whether nobody else has claimed it since it was looked before, or has written a heartbeat over
/// the claim: one that was on its way when its machine was stopped, which goes on.
fn check_uncontested(claim: &Claim, after: &[Option<Heartbeat>]) -> Result<(), OpenError> {
    // An earlier claim of this opening may stand where a later one has not come.
    let is_ours = |seen: &Heartbeat| seen.session == claim.own.session;
    // Where it could not be read before, nothing tells how old a heartbeat is that stands where the
    // claim was.
    let came_over = claim.before.iter().zip(&claim.taken).zip(after);
    let came_over = came_over.filter(|((then, taken), _)| then.is_none() && **taken);
    let came_over = came_over.filter_map(|(_, seen)| seen.as_ref());
    match came_over.chain(changed_heartbeats(&claim.before, after)).find(|seen| !is_ours(seen)) {
        Some(theirs) => Err(OpenError::InUse { holder: theirs.holder_name.clone() }),
        None => Ok(()),
    }
}

/// Whether the claim stands on as many drives as it has to.
fn check_seen(claim: &Claim, after: &[Option<Heartbeat>]) -> Result<(), OpenError> {
    let is_ours = |seen: &&Heartbeat| view(&claim.own, Some(seen)) == View::Ours;
    let claimed = after.iter().flatten().filter(is_ours).count();
    let needed = claim.needed;
    if claimed < needed { Err(OpenError::Unclaimed { claimed, needed }) } else { Ok(()) }
}

/// Whoever had the pool until a moment ago may have written a root after the one that was chosen.
async fn has_stayed<W: World>(world: &W, chosen: &Chosen<W::Device>) -> Result<(), OpenError> {
    let roots = chosen.members.iter().map(|drive| {
        let read = read_roots(&drive.device, chosen.root.pool);
        async move { within(world, OPEN_ANSWER_MAX, read).await.unwrap_or_default() }
    });
    let roots = join_all(roots).await.concat();
    if roots.iter().any(|root| root.generation > chosen.root.generation) {
        return Err(OpenError::Unsure);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
