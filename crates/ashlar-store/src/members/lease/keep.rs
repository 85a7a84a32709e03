//! Keeping the lease of an open pool.

use std::collections::BTreeSet;
use std::pin::pin;
use std::rc::Rc;

use ashlar_block::{DeviceError, DriveId, Durability, Nanos, World, wait_for, within};
use ashlar_format::heartbeat::Heartbeat;
use ashlar_format::root::{MemberRecord, Root};
use futures_util::future::{Either, FutureExt, LocalBoxFuture, join_all, select};
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::heartbeat_reads::{Contested, Next, View, looks_wanted, view, view_of_roots};
use super::take::{live_holder, read_heartbeat, write_heartbeat};
use super::{HEARTBEAT_INTERVAL, LEASE, Loss, after, takes_part};
use crate::checkpoint::TooManyLost;
use crate::members::read_roots;
use crate::pool::Pool;

/// What has been done with a drive.
enum Turn {
    Looked {
        drive: DriveId,
        /// The heartbeat may be written there.
        may_write: bool,
    },
    Written,
}

type Turns<'a> = FuturesUnordered<LocalBoxFuture<'a, Turn>>;

/// When a heartbeat is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Permitted,
    /// Although the lease is not certain: it is so for long enough afterwards.
    Contested,
}

impl<W: World> Pool<W> {
    /// The task that keeps the pool this machine's while it is open.
    pub async fn heartbeat_loop(self: Rc<Self>) {
        let mut turns = Turns::new();
        let mut looked_at = BTreeSet::new();
        while !self.membership.lease.is_ending.get() && self.count_heartbeat() {
            // A drive that hangs still has its last look to answer.
            for drive in
                self.array.working_drives().into_iter().filter(|drive| looked_at.insert(*drive))
            {
                turns.push(self.look_at(drive).boxed_local());
            }
            self.take_turns(&mut turns, &mut looked_at).await;
            if let Some(Next::AskRoots(ours)) = self.renew() {
                let heartbeats = self.ask_roots(ours).await.into_iter();
                turns.extend(
                    heartbeats
                        .map(|drive| self.send_heartbeat(drive, When::Contested).boxed_local()),
                );
            }
        }
        while turns.next().await.is_some() {}
        self.write_last_heartbeat().await;
        self.membership.lease.has_ended.set(true);
        self.membership.lease.notify.notify_waiters();
    }

    /// Begins the next heartbeat, unless another machine has the pool.
    fn count_heartbeat(&self) -> bool {
        let written_at = self.world.unix_seconds();
        let counted = self.membership.lease.with_ours(|ours| {
            ours.heartbeat.count += 1;
            ours.heartbeat.written_at = written_at;
        });
        counted.is_some()
    }

    /// What drives say till the next heartbeat is due, or none is any more.
    async fn take_turns<'a>(&'a self, turns: &mut Turns<'a>, looked_at: &mut BTreeSet<DriveId>) {
        let ends = wait_for(&self.membership.lease.notify, || {
            self.membership.lease.is_ending.get().then_some(())
        });
        let (sleep, ends) = (pin!(self.world.sleep(HEARTBEAT_INTERVAL)), pin!(ends));
        let mut pause = select(sleep, ends);
        loop {
            let turn = match select(&mut pause, pin!(next_of(turns))).await {
                Either::Left(_) => return,
                Either::Right((turn, _)) => turn,
            };
            if let Turn::Looked { drive, may_write } = turn {
                looked_at.remove(&drive);
                // One whose writes hang is looked at all the same: on that hangs what may be read.
                if may_write && self.membership.lease.begins_heartbeat_on(drive) {
                    turns.push(self.send_heartbeat(drive, When::Permitted).boxed_local());
                }
            }
        }
    }

    /// Reads the heartbeat on a drive: who has the pool?
    async fn look_at(&self, drive: DriveId) -> Turn {
        let began = self.world.now();
        // By way of the array: one that hangs is noticed, also where nothing else is asked of it.
        let read = self.array.read_raw(drive, Heartbeat::OFFSET).await;
        let seen = read.as_ref().ok().and_then(|sector| Heartbeat::decode(sector).ok());
        let Some(view) =
            self.membership.lease.with_ours(|ours| view(&ours.heartbeat, seen.as_ref()))
        else {
            return Turn::Looked { drive, may_write: false };
        };
        if view == View::Theirs {
            self.lose(Loss::To(seen.map_or_else(String::new, |seen| seen.holder_name)));
            return Turn::Looked { drive, may_write: false };
        }
        match read {
            Ok(_) => {
                self.membership.lease.with_ours(|ours| ours.looks.note(drive, began, view));
                self.renew();
            }
            Err(error) => self.look_was_refused(drive, error),
        }
        Turn::Looked { drive, may_write: true }
    }

    /// Whoever writes to a drive finds out that it has vanished, or refuses all that is asked of
    /// it. While the lease is not certain nobody writes.
    fn look_was_refused(&self, drive: DriveId, error: DeviceError) {
        let working = self.array.working_drives();
        let (needed, now) = (self.looks_needed(working.len()), self.world.now());
        let is_given_up = self.membership.lease.with_ours(|ours| {
            ours.looks.note_refused(drive) && !ours.looks.are_enough(&working, needed, now)
        });
        if !self.array.is_permitted() && (error == DeviceError::Gone || is_given_up == Some(true)) {
            self.array.give_up(drive, error);
        }
    }

    async fn send_heartbeat(&self, drive: DriveId, when: When) -> Turn {
        if let (Some(member), Some(own)) = (self.array.working(drive), self.membership.lease.own())
        {
            // Asked last: this process may have been stopped since it looked.
            if when == When::Contested || self.array.is_permitted() {
                write_heartbeat(&member.device, &own, Durability::Fleeting).await;
                if !self.array.is_permitted() {
                    // It may have come over that of another machine, which needs its time to write
                    // another one.
                    self.contest(Contested::late(self.world.now()));
                }
            }
        }
        self.membership.lease.with_ours(|ours| ours.looks.heartbeats_under_way.remove(&drive));
        Turn::Written
    }

    /// On how many drives the pool has to be seen to be this machine's. On those that are left, as
    /// long as the pool goes on with them; once it has lost too many for that, which it may not
    /// have noticed yet, another machine may have the others.
    pub(super) fn looks_needed(&self, working: usize) -> usize {
        let (parity, root) = (self.identity.level.parity(), self.checkpoint.roots.newest());
        let wanted = looks_wanted(parity, takes_part(&root));
        let goes_on = self.halt.why().is_none() && self.missing_of(&root) <= parity;
        if goes_on { wanted.min(working) } else { wanted }
    }

    /// Drives that take part by that root, and do not work.
    fn missing_of(&self, root: &Root) -> usize {
        let works = |member: &MemberRecord| self.array.working(member.drive).is_some();
        root.members.iter().filter(|member| member.state.takes_part() && !works(member)).count()
    }

    /// More drives have been lost than the pool can go on without. A checkpoint would find that
    /// out, but may not be written while the lease is not certain. The root that is on its way may
    /// know of some of them.
    fn halt_if_too_many_are_lost(&self) {
        let parity = self.identity.level.parity();
        let lost = self
            .missing_of(&self.checkpoint.roots.newest())
            .min(self.missing_of(&self.checkpoint.roots.begun()));
        if lost > parity && !self.array.is_permitted() {
            self.halt(TooManyLost { lost, parity });
        }
    }

    /// Whether too few drives are left to confirm the lease without these, which work.
    pub fn are_too_few_without(&self, drives: &[DriveId]) -> bool {
        let working = self.array.working_count();
        self.membership.lease.own().is_some() && working - drives.len() < self.looks_needed(working)
    }

    /// Lets writes begin for as long as the newest looks allow. Returns what else is to be done.
    fn renew(&self) -> Option<Next> {
        let working = self.array.working_drives();
        let (needed, now) = (self.looks_needed(working.len()), self.world.now());
        let is_permitted = self.array.is_permitted();
        let next = self
            .membership
            .lease
            .with_ours(|ours| ours.looks.next(&working, needed, now, is_permitted))?;
        match next {
            Next::Permit(began) => self.permit(began),
            Next::Contested(contested) => self.contest(contested),
            Next::Stay | Next::AskRoots(_) => {}
        }
        self.halt_if_too_many_are_lost();
        self.membership.lease.looked.notify_waiters();
        Some(next)
    }

    fn contest(&self, contested: Contested) {
        let pool = &self.name();
        tracing::warn!(
            pool,
            "too few drives have confirmed the lease for {LEASE:?}: reads and writes wait while \
             Ashlar reads the heartbeats"
        );
        self.membership.lease.with_ours(|ours| ours.looks.contest(contested));
    }

    fn permit(&self, began: Nanos) {
        self.membership.lease.with_ours(|ours| ours.looks.end_contest());
        self.array.permit_until(after(began, LEASE));
    }

    /// The roots decide what heartbeats cannot. `ours`: when the pool was this machine's by them.
    /// Where it is by its roots only, they are written anew; returns where.
    async fn ask_roots(&self, ours: Option<Nanos>) -> Vec<DriveId> {
        if self.checkpoint.roots.newest().incarnation() != self.checkpoint.incarnation {
            self.lose(Loss::Unsure);
            return Vec::new();
        }
        let working = self.array.working_drives();
        match (self.view_of_roots(&working).await, ours) {
            (View::Theirs, _) => self.lose(Loss::To("another machine".to_owned())),
            (View::Ours, Some(began)) => self.permit(began),
            (View::Ours, None) => {
                self.contest(Contested::late(self.world.now()));
                return working
                    .into_iter()
                    .filter(|drive| self.membership.lease.begins_heartbeat_on(*drive))
                    .collect();
            }
            // Asked again with the next heartbeat.
            (View::Nothing, _) => {}
        }
        Vec::new()
    }

    async fn view_of_roots(&self, working: &[DriveId]) -> View {
        let members = working.iter().filter_map(|drive| self.array.working(*drive));
        let reads = members.map(async |member| {
            let read = read_roots(&member.device, self.identity.pool);
            within(&self.world, HEARTBEAT_INTERVAL, read).await.unwrap_or_default()
        });
        let on_drives = join_all(reads).await;
        view_of_roots(&on_drives, &self.checkpoint.roots.newest(), self.looks_needed(working.len()))
    }

    /// Writes the heartbeat on a drive that is to come back. It may carry that of a machine that
    /// wanted the pool with this drive and without the others, which would be taken for the pool's
    /// loss.
    ///
    /// # Errors
    /// That machine, if it still sends heartbeats there.
    pub async fn claim_returning(&self, device: &W::Device) -> Result<(), String> {
        let Some(own) = self.membership.lease.own() else { return Ok(()) };
        let seen = read_heartbeat(device, own.pool).await;
        if view(&own, seen.as_ref()) == View::Theirs {
            live_holder(&self.world, device, own.pool).await.map_or(Ok(()), Err)?;
        }
        write_heartbeat(device, &own, Durability::Stable).await;
        Ok(())
    }

    async fn write_last_heartbeat(&self) {
        let Some(own) = self.membership.lease.own().filter(|_| self.array.is_permitted()) else {
            return;
        };
        let last = Heartbeat { is_open: false, count: own.count + 1, ..own };
        let members =
            self.array.working_drives().into_iter().filter_map(|drive| self.array.working(drive));
        let write = async |device: Rc<ashlar_raid::Member<W::Device>>| {
            write_heartbeat(&device.device, &last, Durability::Fleeting).await
        };
        join_all(members.map(write)).await;
    }
}

async fn next_of(turns: &mut Turns<'_>) -> Turn {
    match turns.next().await {
        Some(done) => done,
        None => std::future::pending().await,
    }
}
