//! Drives that have too many faults.

use super::*;

impl<D: Device> Array<D> {
    /// So many refused reads and wrong answers of a drive within [`crate::FAULT_WINDOW`] are too
    /// many; `None`: never. Those before a change do not count.
    pub fn set_fault_threshold(&self, threshold: Option<NonZeroU32>) {
        if self.fault_threshold.replace(threshold) != threshold {
            self.members.borrow().iter().flatten().for_each(|member| member.faults.forget());
        }
    }

    /// A drive that works and has had too many faults of late.
    pub fn faulty_drive(&self) -> Option<DriveId> {
        let (clock, threshold) = (self.clock.as_ref()?, self.fault_threshold.get()?);
        let now = clock();
        let is_faulty = |member: &Rc<Member<D>>| {
            member.faults.are_too_many(now, threshold) && member.failure.borrow().is_none()
        };
        let index = self
            .members
            .borrow()
            .iter()
            .position(|member| member.as_ref().is_some_and(is_faulty))?;
        Some(DriveId(index as u16))
    }

    /// Gives up a drive that has had too many faults.
    pub fn give_up_faulty(&self, drive: DriveId) {
        if let Some(times) = self.fault_threshold.get() {
            self.give_up(drive, Failure::TooManyFaults { times });
        }
    }

    /// A drive was seen to give wrong bytes, so many times in what was looked at at once.
    pub fn note_corrupt_reads(&self, drive: DriveId, times: u64) {
        if let Some(member) = self.member(drive) {
            member.corrupt_reads.set(member.corrupt_reads.get() + times);
            self.note_fault(&member);
        }
    }

    pub(super) fn note_fault(&self, member: &Member<D>) {
        let (Some(clock), Some(threshold)) = (&self.clock, self.fault_threshold.get()) else {
            return;
        };
        if member.faults.note(clock(), threshold) {
            self.changed.notify_one();
        }
    }
}
