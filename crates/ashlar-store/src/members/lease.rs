//! The lease decides which node may write to a pool whose drives several nodes can reach
//! (dual-ported drives, a SAN, shared files).
//!
//! Every drive has a [`Heartbeat`]. The node that has the pool open reads it and writes it anew
//! every [`HEARTBEAT_INTERVAL`]. It begins no write later than [`LEASE`] after the begin of a read
//! that found no other node's heartbeat. A node that wants a pool which another one had last
//! watches for [`WATCH`] whether that one still sends heartbeats, unless it has handed the pool
//! back. Then it writes a heartbeat of its own, of the next epoch, and waits for [`WATCH`] once
//! more: by then the other node has seen it, or has begun no write for long enough to know that it
//! must read first. Of two nodes that want the pool at once, at least one finds the other's
//! heartbeat after that.
//!
//! A process that was stopped between a read and a write may write its heartbeat over another
//! node's, and then finds its own. So a node that may have done that reads for [`CONTESTED`]
//! without writing: it sees every node that sends heartbeats then. It does not see a node that is
//! stopped by that time; but that node has written a root, of an incarnation of its own, before
//! anything else that counts, so in the end the roots decide. They also tell the node whose
//! heartbeat was overwritten by such a late one that the pool is still its own, and that it may
//! write its heartbeat anew.
//!
//! The lease cannot prevent one thing: a write that was begun in time and reaches the drive after
//! all that, because something in between has kept it. The scheme is that of a lease on a disk; ZFS
//! calls its own multihost.

mod heartbeat_reads;
mod keep;
mod take;

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::time::Duration;

use ashlar_block::{Cause, DriveId, IoError, Nanos, World, wait_for, within};
use ashlar_format::heartbeat::Heartbeat;
use ashlar_format::root::Root;
use futures_util::future::{Either, select};
use heartbeat_reads::Looks;
pub use take::live_holder;
pub(crate) use take::{Taken, take};
use tokio::sync::Notify;

use crate::pool::Pool;

/// Between two heartbeats.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(2);
/// How long after the begin of a read of the heartbeats writes may begin.
const LEASE: Duration = Duration::from_secs(6);
/// How long a node watches a heartbeat that does not change before it concludes that the other
/// machine has stopped. Longer than [`LEASE`], by what clocks and drives may differ.
const WATCH: Duration = Duration::from_secs(8);
/// How long a node reads heartbeats without writing: a machine that it has not seen by then may
/// write nothing any more without a read of its own.
const CONTESTED: Duration = WATCH;
/// How long is watched whether a machine sends heartbeats to a drive: whoever has claimed it, or is
/// contested, writes nothing for [`WATCH`], and then with the next heartbeat but one, or claims it
/// again. Who opens a pool of which a drive hangs may be silent for longer: what watches with a
/// question to people behind it (`label-clear`, `--force`) does not see that machine then.
const SIGN_OF_LIFE: Duration = Duration::from_secs(12);
/// How long whoever closes a pool waits for drives to take the last heartbeat.
const HAND_BACK_MAX: Duration = Duration::from_secs(2);

/// Who has the lease, as far as this machine knows.
#[derive(Default)]
enum LeaseState {
    /// Nobody else reaches the drives: there are no heartbeats.
    #[default]
    Alone,
    Ours(Ours),
    Lost(Loss),
}

/// A pool that heartbeats are written for.
struct Ours {
    /// The heartbeat of this opening.
    heartbeat: Heartbeat,
    looks: Looks,
}

/// Why the pool is not this machine's any more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Loss {
    /// Another machine of that name has opened it.
    To(String),
    /// One may have, or have gone on with it, while it was being opened here.
    Unsure,
}

/// What keeps other machines away from an open pool.
#[derive(Default)]
pub(crate) struct Lease {
    state: RefCell<LeaseState>,
    /// No more heartbeats are due.
    is_ending: Cell<bool>,
    /// None is written any more.
    has_ended: Cell<bool>,
    /// Notified when one of these two becomes true.
    notify: Notify,
    /// Rung after each look: it may never be certain any more that the pool is this machine's.
    looked: Notify,
}

impl Lease {
    fn with_ours<T>(&self, f: impl FnOnce(&mut Ours) -> T) -> Option<T> {
        match &mut *self.state.borrow_mut() {
            LeaseState::Ours(ours) => Some(f(ours)),
            LeaseState::Alone | LeaseState::Lost(_) => None,
        }
    }

    fn own(&self) -> Option<Heartbeat> {
        self.with_ours(|ours| ours.heartbeat.clone())
    }

    fn loss(&self) -> Option<Loss> {
        match &*self.state.borrow() {
            LeaseState::Lost(loss) => Some(loss.clone()),
            LeaseState::Alone | LeaseState::Ours(_) => None,
        }
    }

    /// The pool is not this machine's any more.
    pub fn is_lost(&self) -> bool {
        matches!(&*self.state.borrow(), LeaseState::Lost(_))
    }

    /// Whether a heartbeat may be written there now: none is on its way.
    fn begins_heartbeat_on(&self, drive: DriveId) -> bool {
        self.with_ours(|ours| ours.looks.heartbeats_under_way.insert(drive)).unwrap_or(false)
    }
}

fn takes_part(root: &Root) -> usize {
    root.members.iter().filter(|member| member.state.takes_part()).count()
}

impl<W: World> Pool<W> {
    /// The pool is this machine's from now on, as long as [`Self::heartbeat_loop`] runs.
    pub fn begin_lease(&self, taken: Taken) {
        self.array.permit_until(after(taken.at, LEASE));
        *self.membership.lease.state.borrow_mut() =
            LeaseState::Ours(Ours { heartbeat: taken.own, looks: Looks::default() });
    }

    /// An answer to a host may be given: the pool is still this machine's. Waits while that is not
    /// certain.
    ///
    /// # Errors
    /// Another machine has opened the pool.
    pub async fn holds(&self) -> Result<(), IoError> {
        if self.array.is_permitted() {
            return Ok(());
        }
        let never = pin!(wait_for(&self.membership.lease.looked, || self.never_holds()));
        match select(pin!(self.array.permitted()), select(never, pin!(self.halt.closed()))).await {
            Either::Left(_) => Ok(()),
            Either::Right((Either::Left((why, _)), _)) => Err(IoError::new(Cause::NotReady, why)),
            Either::Right((Either::Right(_), _)) => Err(Cause::NotReady.into()),
        }
    }

    /// Why it will not be certain any more that the pool is this machine's, if that is so.
    fn never_holds(&self) -> Option<String> {
        let working = self.array.working_count();
        let too_few = working == 0 || working < self.looks_needed(working);
        let too_few =
            too_few.then(|| "too few drives are left to confirm this machine's lease".to_owned());
        self.membership.lease.loss().map(|loss| loss.text()).or(too_few)
    }

    /// Nothing is written or answered here any more.
    fn lose(&self, loss: Loss) {
        self.array.permit_until(Nanos(0));
        let why = loss.text();
        *self.membership.lease.state.borrow_mut() = LeaseState::Lost(loss);
        self.halt_for_good(&why);
        self.membership.lease.looked.notify_waiters();
    }

    /// The lease is not certain now, and may be again: reads and writes wait.
    pub fn is_uncertain(&self) -> bool {
        !self.array.is_permitted() && self.never_holds().is_none()
    }

    /// Another machine that has opened the pool.
    pub fn taken_by(&self) -> Option<String> {
        match self.membership.lease.loss()? {
            Loss::To(holder) => Some(holder),
            Loss::Unsure => None,
        }
    }

    /// Returns once the pool is not this machine's any more.
    pub async fn lost(&self) -> Loss {
        self.halt.wait_for(|| self.membership.lease.loss()).await
    }

    /// Returns once the lease has not been certain for `longest`, with that as the reason.
    pub async fn stays_uncertain(&self, longest: Duration) -> IoError {
        if self.membership.lease.own().is_none() {
            std::future::pending::<()>().await;
        }
        let mut since = None;
        loop {
            let now = self.world.now();
            since = (!self.array.is_permitted()).then(|| since.unwrap_or(now));
            if since.is_some_and(|since| now.since(since) > longest) {
                let seconds = longest.as_secs();
                let why =
                    format!("too few drives have confirmed this machine's lease for {seconds} s");
                return IoError::new(Cause::WriteFault, why);
            }
            self.world.sleep(HEARTBEAT_INTERVAL).await;
        }
    }

    /// Lets others open the pool at once. After the last write.
    pub async fn hand_back(&self) {
        if self.membership.lease.own().is_none() {
            return;
        }
        self.membership.lease.is_ending.set(true);
        self.membership.lease.notify.notify_waiters();
        let ended = wait_for(&self.membership.lease.notify, || {
            self.membership.lease.has_ended.get().then_some(())
        });
        if within(&self.world, HAND_BACK_MAX, ended).await.is_none() {
            tracing::warn!(
                pool = self.name(),
                "the lease could not be handed back: another machine waits for missing heartbeats \
                 before it opens the pool"
            );
        }
    }
}

impl Loss {
    fn text(&self) -> String {
        match self {
            Loss::To(holder) => {
                format!(
                    "'{holder}' has opened the pool: this machine neither writes to it nor answers \
                     for it any more. Let go of it here: `ashlar pool export`"
                )
            }
            Loss::Unsure => "another machine may have opened the pool at the same time".to_owned(),
        }
    }
}

fn after(at: Nanos, duration: Duration) -> Nanos {
    Nanos(at.0 + duration.as_nanos() as u64)
}

#[cfg(test)]
mod tests;
