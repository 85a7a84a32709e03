//! Whose the pool is, where several machines reach its drives: dual-ported ones, a SAN, files that are shared.
//!
//! On every drive there is a [`Beat`]. Who has the pool open looks at it and writes it anew every [`BEAT_INTERVAL`], and begins no
//! write later than [`LEASE`] after the begin of a look that found nobody else's. Who wants a pool that another machine had last
//! watches for [`WATCH`] whether that still beats, unless it has handed the pool back; then it writes a beat of its own, of the next
//! epoch, and waits for [`WATCH`] once more: by then the other one has seen it, or has begun no write for long enough to know that it
//! must look first. Of two that want it at once at least one finds the other's beat after that.
//!
//! A process that was stopped between a look and a write may write its beat over another's. So whoever has begun no write for longer
//! than [`LEASE`] goes on only after [`DOUBT`] in which it has looked and not written: the other one's next beat is there by then.
//!
//! What this cannot prevent: a write that was begun in time and reaches the drive after all that, because something in between has
//! kept it. The scheme is that of a lease on a disk; ZFS calls its own multihost.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{
    AlignedBuf, Cause, Device, DriveId, Durability, IoError, Nanos, PoolUuid, SECTOR_BYTES, World, wait_for,
    within,
};
use futures_util::future::{Either, join_all, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::Notify;

use crate::create::MADE_ROOT;
use crate::format::beat::{Beat, HOLDER_NAME_BYTES_MAX};
use crate::format::root::Root;
use crate::members::{Chosen, FoundDrive, OPEN_ANSWER_MAX, read_roots};
use crate::options::Holder;
use crate::pool::Pool;
use crate::recover::OpenError;

/// Between two beats.
const BEAT_INTERVAL: Duration = Duration::from_secs(2);
/// How long after the begin of a look writes may begin.
const LEASE: Duration = Duration::from_secs(6);
/// How long a beat is watched before it is taken for that of a machine that has stopped. Longer than [`LEASE`], by what clocks and
/// drives may differ.
const WATCH: Duration = Duration::from_secs(8);
/// How long is looked without writing: two beats of another one, and what they take.
const DOUBT: Duration = Duration::from_secs(5);
/// How long whoever closes a pool waits for drives to take the last beat.
const HAND_BACK_MAX: Duration = Duration::from_secs(2);

/// What a look at a drive says of the pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum View {
    Ours,
    Theirs,
    /// No beat, an older one or none that can be read: it says nothing of now.
    Nothing,
}

fn view(own: &Beat, seen: Option<&Beat>) -> View {
    match seen.filter(|seen| seen.pool == own.pool) {
        Some(seen) if (seen.epoch, seen.session) == (own.epoch, own.session) => View::Ours,
        Some(seen) if seen.epoch >= own.epoch => View::Theirs,
        _ => View::Nothing,
    }
}

/// On how many of its `working` drives a pool of so many `members` has to be seen to be ours: whoever else opens it has one of them
/// at least. It has all but as many as the level survives; and more than half, unless somebody has said that the others are lost.
fn looks_needed(parity: usize, members: usize, working: usize) -> usize {
    (parity + 1).min(members.div_ceil(2)).min(working)
}

fn takes_part(root: &Root) -> usize {
    root.members.iter().filter(|member| member.state.takes_part()).count()
}

/// When it was seen last on that many drives.
fn seen_on(mut looks: Vec<Nanos>, needed: usize) -> Option<Nanos> {
    looks.sort_unstable_by(|a, b| b.cmp(a));
    looks.get(needed.checked_sub(1)?).copied()
}

/// What has been done with a drive.
enum Turn {
    Looked {
        drive: DriveId,
        /// The beat may be written there.
        may_write: bool,
    },
    Written(DriveId),
}

/// How far the end of a lease is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    Beating,
    Ending,
    Ended,
}

/// What keeps other machines away from an open pool.
#[derive(Default)]
pub(crate) struct Lease {
    /// The beat of this opening. `None`: nobody else reaches the drives.
    own: RefCell<Option<Beat>>,
    /// When the look began that found each drive ours last.
    seen: RefCell<BTreeMap<DriveId, Nanos>>,
    /// Since when it is looked without writing.
    in_doubt_since: Cell<Option<Nanos>>,
    /// Who else has the pool.
    taken_by: RefCell<Option<String>>,
    stage: Cell<Stage>,
    /// Rung at the next stage.
    stage_rung: Notify,
}

/// The beats on the drives of a pool that is to be opened.
async fn look<W: World>(world: &W, members: &[FoundDrive<W::Device>]) -> Vec<Option<Beat>> {
    let one = async |drive: &FoundDrive<W::Device>| {
        let read = read_beat(&drive.device, drive.superblock.pool);
        within(world, OPEN_ANSWER_MAX, read).await.flatten()
    };
    join_all(members.iter().map(one)).await
}

async fn read_beat<D: Device>(device: &D, pool: PoolUuid) -> Option<Beat> {
    let (read, sector) = device.read(Beat::OFFSET, AlignedBuf::stale(SECTOR_BYTES)).await;
    let beat = read.ok().and_then(|()| Beat::decode(&sector).ok());
    beat.filter(|beat| beat.pool == pool)
}

async fn write_beat<D: Device>(device: &D, beat: &Beat, durability: Durability) {
    let sector = AlignedBuf::copy_of(&beat.encode()).freeze();
    // A drive that refuses is dealt with by whoever writes data to it.
    drop(device.write(Beat::OFFSET, sector, durability).await);
}

/// The machine that has the pool of a drive open, if one beats on it within five seconds. Returns at once where none has it open by its
/// beat.
pub async fn beating_on<W: World>(world: &W, device: &W::Device, pool: PoolUuid) -> Option<String> {
    let before = read_beat(device, pool).await.filter(|beat| beat.is_open)?;
    world.sleep(DOUBT).await;
    match read_beat(device, pool).await {
        Some(after) => (after != before && after.is_open).then_some(after.holder_name),
        None => Some(before.holder_name),
    }
}

/// A pool that is this machine's.
pub(crate) struct Taken {
    own: Beat,
    /// When that was certain.
    at: Nanos,
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
    let before = look(world, members).await;
    let last = last_before(&before, holder);
    let own = beat_after(last, world, holder, chosen.root.pool);
    let is_ours = match last {
        Some(last) => last.holder == holder.id,
        // Only who has made it knows of it.
        None => chosen.root.generation <= MADE_ROOT,
    };
    if let Some(last) = last.filter(|last| last.is_open && !is_ours) {
        tracing::info!("'{}' had the pool open last: watching whether it still has", last.holder_name);
        world.sleep(WATCH).await;
        if has_changed(&before, &look(world, members).await) {
            return Err(OpenError::InUse { holder: last.holder_name.clone() });
        }
    }
    claim(world, members, &own).await;
    // Nobody can have begun to write since then. A drive that hung may have taken longer.
    if is_ours && world.now().since(began) < LEASE {
        return Ok(Taken { own, at: began });
    }
    world.sleep(WATCH).await;
    let at = world.now();
    settle(&own, &look(world, members).await, chosen, parity)?;
    has_stayed(world, chosen).await?;
    Ok(Taken { own, at })
}

/// The beat of whoever had the pool last. Of several that wanted it at once and were refused it, each has left its own on some
/// drives: then that of another one, which may be open.
fn last_before<'a>(before: &'a [Option<Beat>], holder: &Holder) -> Option<&'a Beat> {
    before
        .iter()
        .flatten()
        .max_by_key(|beat| (beat.epoch, beat.holder != holder.id, beat.is_open, beat.count))
}

/// The first beat of an opening after that one.
fn beat_after<W: World>(last: Option<&Beat>, world: &W, holder: &Holder, pool: PoolUuid) -> Beat {
    Beat {
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

fn cut(name: &str, bytes_max: usize) -> &str {
    let end = (0..=bytes_max.min(name.len())).rev().find(|at| name.is_char_boundary(*at));
    &name[..end.unwrap_or(0)]
}

/// A drive that cannot be read now and then says nothing.
fn has_changed(before: &[Option<Beat>], after: &[Option<Beat>]) -> bool {
    before.iter().zip(after).any(|(before, after)| after.is_some() && before != after)
}

async fn claim<W: World>(world: &W, members: &[FoundDrive<W::Device>], own: &Beat) {
    let write = async |drive: &FoundDrive<W::Device>| {
        // On stable media: no drive is to come back with an epoch that the others have lost.
        within(world, OPEN_ANSWER_MAX, write_beat(&drive.device, own, Durability::Stable)).await;
    };
    join_all(members.iter().map(write)).await;
}

/// Whether nobody else has claimed it meanwhile.
fn settle<D>(own: &Beat, after: &[Option<Beat>], chosen: &Chosen<D>, parity: usize) -> Result<(), OpenError> {
    let is = |wanted: View| move |seen: &&Option<Beat>| view(own, seen.as_ref()) == wanted;
    if let Some(theirs) = after.iter().find(is(View::Theirs)).and_then(Option::as_ref) {
        return Err(OpenError::InUse { holder: theirs.holder_name.clone() });
    }
    let (ours, members) = (after.iter().filter(is(View::Ours)).count(), takes_part(&chosen.root));
    let needed = looks_needed(parity, members, chosen.members.len());
    if ours >= needed {
        return Ok(());
    }
    // Its beat was on its way when it was stopped, and has come over the claim: it goes on.
    match after.iter().flatten().find(|seen| seen.session != own.session) {
        Some(theirs) => Err(OpenError::InUse { holder: theirs.holder_name.clone() }),
        None => Err(OpenError::Unclaimed { claimed: ours, needed }),
    }
}

/// Whoever had the pool until a moment ago may have written a root after the one that was chosen.
async fn has_stayed<W: World>(world: &W, chosen: &Chosen<W::Device>) -> Result<(), OpenError> {
    let roots = chosen.members.iter().map(|drive| {
        let read = read_roots(&drive.device, chosen.root.pool);
        async move { within(world, OPEN_ANSWER_MAX, read).await.unwrap_or_default() }
    });
    let roots = join_all(roots).await.concat();
    if roots.iter().any(|root| root.generation > chosen.root.generation) {
        return Err(OpenError::JustClosed);
    }
    Ok(())
}

impl<W: World> Pool<W> {
    /// The pool is this machine's from now on, as long as [`Self::beat_loop`] runs.
    pub fn begin_lease(&self, taken: Taken) {
        self.array.permit_until(after(taken.at, LEASE));
        *self.lease.own.borrow_mut() = Some(taken.own);
    }

    /// An answer to a host may be given: the pool is still this machine's. Waits while that is not certain.
    ///
    /// # Errors
    /// Another machine has opened the pool.
    pub async fn holds(&self) -> Result<(), IoError> {
        if self.array.is_permitted() {
            return Ok(());
        }
        if self.array.working_count() == 0 {
            return Err(IoError::new(Cause::NotReady, "no drive is left to say whose the pool is"));
        }
        let (lost, closed) = (pin!(self.lost_to()), pin!(self.closed()));
        match select(pin!(self.array.permitted()), select(lost, closed)).await {
            Either::Left(_) => Ok(()),
            Either::Right((Either::Left((by, _)), _)) => Err(IoError::new(Cause::NotReady, taken_text(&by))),
            Either::Right((Either::Right(_), _)) => Err(Cause::NotReady.into()),
        }
    }

    /// The task that keeps the pool this machine's while it is open.
    pub async fn beat_loop(self: Rc<Self>) {
        let mut turns = FuturesUnordered::new();
        let (mut looked_at, mut written): (BTreeSet<DriveId>, BTreeSet<DriveId>) = Default::default();
        while self.lease.stage.get() == Stage::Beating && self.lease.taken_by.borrow().is_none() {
            if let Some(own) = &mut *self.lease.own.borrow_mut() {
                own.count += 1;
                own.written_at = self.world.unix_seconds();
            }
            // A drive that hangs still has its last look to answer.
            for drive in self.array.working_drives().into_iter().filter(|drive| looked_at.insert(*drive)) {
                turns.push(Either::Left(self.look_at(drive)));
            }
            let (sleep, ends) = (pin!(self.world.sleep(BEAT_INTERVAL)), pin!(self.lease_ends()));
            let mut pause = select(sleep, ends);
            loop {
                let turn = match select(&mut pause, pin!(next_of(&mut turns))).await {
                    Either::Left(_) => break,
                    Either::Right((turn, _)) => turn,
                };
                match turn {
                    Turn::Looked { drive, may_write } => {
                        looked_at.remove(&drive);
                        // One whose writes hang is looked at all the same: on that hangs what may be read.
                        if may_write && written.insert(drive) {
                            turns.push(Either::Right(self.beat_on(drive)));
                        }
                    }
                    Turn::Written(drive) => _ = written.remove(&drive),
                }
            }
            self.renew();
        }
        while turns.next().await.is_some() {}
        if self.lease.taken_by.borrow().is_none() {
            self.write_last_beat().await;
        }
        self.lease.stage.set(Stage::Ended);
        self.lease.stage_rung.notify_waiters();
    }

    /// Returns when no more beats are due.
    async fn lease_ends(&self) {
        wait_for(&self.lease.stage_rung, || (self.lease.stage.get() != Stage::Beating).then_some(())).await;
    }

    /// Looks whose the pool is by a drive.
    async fn look_at(&self, drive: DriveId) -> Turn {
        let began = self.world.now();
        let Some(own) = self.lease.own.borrow().clone() else {
            return Turn::Looked { drive, may_write: false };
        };
        // By way of the array: one that hangs is noticed, also where nothing else is asked of it.
        let read = self.array.read_raw(drive, Beat::OFFSET).await;
        let seen = read.ok().and_then(|sector| Beat::decode(&sector).ok());
        match view(&own, seen.as_ref()) {
            View::Theirs => {
                self.lose_to(seen.map_or_else(String::new, |seen| seen.holder_name));
                return Turn::Looked { drive, may_write: false };
            }
            View::Ours => {
                self.lease.seen.borrow_mut().insert(drive, began);
                self.renew();
            }
            View::Nothing => {}
        }
        Turn::Looked { drive, may_write: true }
    }

    async fn beat_on(&self, drive: DriveId) -> Turn {
        let (Some(member), Some(own)) = (self.array.working(drive), self.lease.own.borrow().clone()) else {
            return Turn::Written(drive);
        };
        // Asked last: this process may have been stopped since it looked.
        if self.array.is_permitted() {
            write_beat(&member.device, &own, Durability::Cached).await;
            if !self.array.is_permitted() {
                // It may have come over that of another machine, which needs its time to write another one.
                self.lease.in_doubt_since.set(Some(self.world.now()));
            }
        }
        Turn::Written(drive)
    }

    /// Lets writes begin for as long as the newest looks allow.
    fn renew(&self) {
        if self.lease.taken_by.borrow().is_some() {
            return;
        }
        let working = self.array.working_drives();
        let (parity, members) = (self.identity.level.parity(), takes_part(&self.root.borrow()));
        let needed = looks_needed(parity, members, working.len());
        if needed == 0 {
            return;
        }
        let seen = self.lease.seen.borrow();
        let looks = working.iter().filter_map(|drive| seen.get(drive).copied()).collect();
        let Some(at) = seen_on(looks, needed) else { return };
        if !self.array.is_permitted() {
            let now = self.world.now();
            let since = self.lease.in_doubt_since.get().unwrap_or_else(|| {
                let pool = &self.identity.name;
                tracing::warn!(
                    pool,
                    "too few drives have said for {LEASE:?} whose the pool is: looking before it goes on"
                );
                now
            });
            self.lease.in_doubt_since.set(Some(since));
            if at.since(since) < DOUBT {
                return;
            }
        }
        self.lease.in_doubt_since.set(None);
        self.array.permit_until(after(at, LEASE));
    }

    /// Another machine has the pool: nothing is written or answered here any more.
    fn lose_to(&self, holder: String) {
        self.array.permit_until(Nanos(0));
        let why = taken_text(&holder);
        *self.lease.taken_by.borrow_mut() = Some(holder);
        self.halt_for_good(&why);
    }

    /// Another machine that has opened the pool.
    pub fn taken_by(&self) -> Option<String> {
        self.lease.taken_by.borrow().clone()
    }

    /// Returns once another machine has the pool, with its name.
    pub async fn lost_to(&self) -> String {
        wait_for(&self.halt_rung, || self.taken_by()).await
    }

    /// Returns once it has not been certain for `longest` whose the pool is, with that as the reason.
    pub async fn stays_uncertain(&self, longest: Duration) -> IoError {
        if self.lease.own.borrow().is_none() {
            std::future::pending::<()>().await;
        }
        let mut since = None;
        loop {
            let now = self.world.now();
            since = (!self.array.is_permitted()).then(|| since.unwrap_or(now));
            if since.is_some_and(|since| now.since(since) > longest) {
                let why = format!("too few drives have said for {} s whose the pool is", longest.as_secs());
                return IoError::new(Cause::WriteFault, why);
            }
            self.world.sleep(BEAT_INTERVAL).await;
        }
    }

    /// Lets others open the pool at once. After the last write.
    pub async fn hand_back(&self) {
        if self.lease.own.borrow().is_none() {
            return;
        }
        self.lease.stage.set(Stage::Ending);
        self.lease.stage_rung.notify_waiters();
        let ended =
            wait_for(&self.lease.stage_rung, || (self.lease.stage.get() == Stage::Ended).then_some(()));
        if within(&self.world, HAND_BACK_MAX, ended).await.is_none() {
            tracing::warn!(pool = self.identity.name, "another machine will watch before it opens the pool");
        }
    }

    async fn write_last_beat(&self) {
        let Some(own) = self.lease.own.borrow().clone().filter(|_| self.array.is_permitted()) else { return };
        let last = Beat { is_open: false, count: own.count + 1, ..own };
        let members = self.array.working_drives().into_iter().filter_map(|drive| self.array.working(drive));
        let write = async |device: Rc<ashlar_raid::Member<W::Device>>| {
            write_beat(&device.device, &last, Durability::Cached).await
        };
        join_all(members.map(write)).await;
    }
}

async fn next_of<T>(turns: &mut FuturesUnordered<impl Future<Output = T>>) -> T {
    match turns.next().await {
        Some(done) => done,
        None => std::future::pending().await,
    }
}

fn after(at: Nanos, duration: Duration) -> Nanos {
    Nanos(at.0 + duration.as_nanos() as u64)
}

fn taken_text(holder: &str) -> String {
    format!("'{holder}' has opened it: here nothing of it is written or answered any more; export it here")
}

#[cfg(test)]
mod tests;
