//! Waiting for what drives answer, and no longer than it makes sense.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use ashlar_block::{AlignedBuf, Device, DeviceError, DriveId, SECTOR_BYTES, wait_for};

use super::{Array, Member, Trouble};
use crate::faults::Failure;
use crate::silence::{Debt, Silence};

/// How long an answer is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Patience {
    /// Until it comes, or the drive is given up.
    Patient,
    /// Not while the drive is silent: others may know it, too.
    Prompt,
}

impl<D: Device> Array<D> {
    /// What an operation of the drive comes to. Who does not wait any longer leaves it to the
    /// drive, which may do it yet: it has to be the last that is asked of a drive that is given up.
    pub(super) async fn answer<T>(
        &self,
        member: &Member<D>,
        silence: &Silence,
        patience: Patience,
        operation: impl Future<Output = T>,
    ) -> Result<T, DeviceError> {
        // Before the drive is asked at all: it has enough that it does not answer, and to give up
        // an operation costs its buffer until it does.
        if patience == Patience::Prompt && silence.is_long() {
            return Err(DeviceError::TimedOut);
        }
        let mut operation = pin!(operation);
        let mut debt = Debt::none(silence);
        poll_fn(|cx| {
            if let Poll::Ready(done) = operation.as_mut().poll(cx) {
                silence.ends();
                return Poll::Ready(Ok(done));
            }
            if member.failure.borrow().is_some() {
                return Poll::Ready(Err(DeviceError::Gone));
            }
            if patience == Patience::Prompt && silence.is_long() {
                return Poll::Ready(Err(DeviceError::TimedOut));
            }
            debt.is_owed_to(cx.waker());
            if !self.is_owed.replace(true) {
                self.owing.notify_waiters();
            }
            Poll::Pending
        })
        .await
    }

    /// Returns when drives owe answers: then [`Array::look`] is due after
    /// [`LOOK_INTERVAL`](crate::LOOK_INTERVAL).
    pub async fn owes(&self) {
        wait_for(&self.owing, || self.is_owed.get().then_some(())).await;
    }

    /// Looks at what drives owe. Returns those that have become silent: reads that wait for them go
    /// to others, if those can answer them, and [`Array::probe`] tells when they are well again.
    pub fn look(&self) -> Vec<DriveId> {
        let members = self.members.borrow();
        self.is_owed.set(members.iter().flatten().any(|member| member.silence.owes()));
        let drives = members
            .iter()
            .enumerate()
            .filter_map(|(drive, member)| Some((drive, member.as_ref()?)));
        let is_new = |(_, member): &(usize, &Rc<Member<D>>)| {
            member.silence.look() && member.failure.borrow().is_none()
        };
        let silent: Vec<_> = drives.filter(is_new).collect();
        silent.iter().for_each(|(_, member)| member.silence.wake_all());
        if !silent.is_empty() {
            self.reconstruct_cache.silence();
        }
        let silent: Vec<_> = silent.into_iter().map(|(drive, _)| DriveId(drive as u16)).collect();
        silent.iter().for_each(|drive| self.tell(*drive, Trouble::Silent));
        silent
    }

    /// Asks a drive for something, so that it is seen when it answers reads again, and not before.
    pub async fn probe(&self, drive: DriveId) {
        let Some(member) = self.working(drive) else { return };
        let read = member.device.read(0, AlignedBuf::stale(SECTOR_BYTES));
        // Whatever it says, it says something.
        let _ = self.answer(&member, &member.silence.reads, Patience::Patient, read).await;
    }

    /// Working drives that are silent, with how long they have been, at least.
    pub fn silent_drives(&self) -> Vec<(DriveId, Duration)> {
        let silent = |drive: DriveId| {
            let member = self.working(drive)?;
            member.silence.is_long().then(|| (drive, member.silence.lasts()))
        };
        self.working_drives().into_iter().filter_map(silent).collect()
    }

    /// Working drives that owed answers at the last look, and had given none since the one before.
    pub fn unanswering_drives(&self) -> Vec<DriveId> {
        let gives_none =
            |drive: &DriveId| self.working(*drive).is_some_and(|member| member.silence.has_begun());
        self.working_drives().into_iter().filter(gives_none).collect()
    }

    /// Gives up a drive that has been silent for so long.
    pub fn give_up_silent(&self, drive: DriveId, lasts: Duration) {
        self.give_up(drive, Failure::Silent { seconds: lasts.as_secs() });
    }
}
