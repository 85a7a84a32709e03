//! Drives that do not answer: reads use the other drives, and in the end the pool goes on without
//! them.
//!
//! A drive that owes answers and gives none is silent within two seconds. The other drives then
//! answer reads; writes wait for it, because to acknowledge them without it costs redundancy. Once
//! it has been silent for as long as the operator allows, the pool gives it up as if it had been
//! pulled, if nothing is lost by that. The drive may still do what it was asked for last, at any
//! time: it can be opened again only when all of that has ended, which the lock on it sees to.

use std::convert::Infallible;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{Cause, DriveId, IoError, World};
use ashlar_raid::LOOK_INTERVAL;
use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt};

use crate::members::OPEN_ANSWER_MAX;
use crate::pool::Pool;

impl<W: World> Pool<W> {
    /// The task that looks after drives while the pool is open.
    pub async fn watch_loop(self: Rc<Self>) {
        match self.watch_drives().await {}
    }

    /// Does `work`, and looks after drives meanwhile.
    pub async fn watching_drives<T>(&self, work: impl Future<Output = T>) -> T {
        match select(pin!(work), pin!(self.watch_drives())).await {
            Either::Left((done, _)) => done,
            Either::Right((never, _)) => match never {},
        }
    }

    /// Looks after drives that owe answers. Costs nothing while none does.
    async fn watch_drives(&self) -> Infallible {
        let mut probes = FuturesUnordered::new();
        loop {
            self.array.owes().await;
            let answered = async {
                while probes.next().await.is_some() {}
                std::future::pending::<()>().await;
            };
            select(pin!(self.world.sleep(LOOK_INTERVAL)), pin!(answered)).await;
            for drive in self.array.look() {
                let pool = &self.name();
                tracing::warn!(
                    pool,
                    "{drive} does not answer: reads use the other drives, writes wait for it"
                );
                // The others, too: whatever connects them all may have stopped, and no more than
                // this drive is asked now.
                probes.extend(
                    self.array.working_drives().into_iter().map(|drive| self.array.probe(drive)),
                );
            }
            if let Some((drive, lasts)) = self.too_silent_drive() {
                self.array.give_up_silent(drive, lasts);
            }
        }
    }

    /// Returns once a drive has been silent for longer than whoever closes the pool waits for it,
    /// with the reason. By then it would have been given up, if that is allowed and the pool could
    /// do without it.
    pub async fn hangs(&self) -> IoError {
        let (hangs, uncertain) =
            (pin!(self.drive_hangs()), pin!(self.stays_uncertain(OPEN_ANSWER_MAX)));
        select(hangs, uncertain).await.factor_first().0
    }

    /// Whether the pool is this machine's, before anything is written to a drive that is none of
    /// its members yet: another machine that has the pool by now may have that drive, too.
    pub async fn is_still_held(&self) -> Result<(), IoError> {
        match select(pin!(self.holds()), pin!(self.hangs())).await {
            Either::Left((holds, _)) => holds,
            Either::Right((why, _)) => Err(why),
        }
    }

    async fn drive_hangs(&self) -> IoError {
        let timeout = self.catalog.borrow().settings.io_timeout;
        let longest = timeout.unwrap_or_default().max(OPEN_ANSWER_MAX);
        let reason = match timeout {
            Some(_) => "the pool cannot do without it",
            None => "with io-timeout=off no drive is given up for that",
        };
        loop {
            self.array.owes().await;
            self.world.sleep(LOOK_INTERVAL).await;
            let mut silent = self.array.silent_drives().into_iter();
            if let Some((drive, lasts)) = silent.find(|(_, lasts)| *lasts > longest) {
                let seconds = lasts.as_secs();
                let why = format!("{drive} has not answered for {seconds} s, and {reason}");
                return IoError::new(Cause::WriteFault, why);
            }
        }
    }

    /// A drive that has been silent for too long, if nothing is lost by giving it up: as many are
    /// left as its redundancy and new data need; or new data are not to be had anyway, because
    /// those that answer are too few to confirm the lease, and reads wait as well. If more drives
    /// answer nothing than may be lost, the cause is not the drives: the pool waits for whatever
    /// connects them.
    fn too_silent_drive(&self) -> Option<(DriveId, Duration)> {
        let timeout = self.catalog.borrow().settings.io_timeout?;
        let silent = self.array.silent_drives();
        let (drive, lasts) = silent.into_iter().find(|(_, lasts)| *lasts >= timeout)?;
        let unanswering = self.array.unanswering_drives();
        let remaining = self.allocation_targets().into_iter().filter(|home| *home != drive).count();
        let parity = self.identity.level.parity();
        let is_dispensable = remaining > parity || self.are_too_few_without(&unanswering);
        (self.lost_with(&unanswering) <= parity && is_dispensable).then_some((drive, lasts))
    }
}
