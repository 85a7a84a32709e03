//! The kernel's ring: setup, submission, completions. Knows entries, not what they are for.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, Submitter, squeue};

use crate::error::StartError;
use crate::stats::RingCounts;

/// User data of operations whose end interests nobody: cancellations and closes.
pub(crate) const IGNORED: u64 = u64::MAX;

/// Completion entries per submission entry: multishot receives complete many times per submission.
const COMPLETIONS_PER_SUBMISSION: u32 = 4;

/// One completion.
pub(crate) struct Completion {
    pub(crate) user_data: u64,
    pub(crate) result: i32,
    pub(crate) flags: u32,
}

/// How long an [`Ring::enter`] may stay in the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// Not at all.
    No,
    /// Until something completes.
    Forever,
    /// Until something completes, at most this long.
    AtMost(Duration),
}

pub(crate) struct Ring {
    uring: IoUring,
    /// Entries that found the submission queue full and the kernel unwilling to take more. Order is
    /// kept: while one waits here, all wait here.
    backlog: VecDeque<squeue::Entry>,
    counts: RingCounts,
}

impl Ring {
    /// A ring with the best flags that the kernel has.
    pub(crate) fn new(entries: u32) -> Result<Self, StartError> {
        let uring = setup(entries).map_err(StartError::of_setup)?;
        let params = uring.params();
        let features = [
            (params.is_feature_nodrop(), "IORING_FEAT_NODROP"),
            (params.is_feature_ext_arg(), "IORING_FEAT_EXT_ARG"),
            (params.is_feature_submit_stable(), "IORING_FEAT_SUBMIT_STABLE"),
            (params.is_feature_skip_cqe_on_success(), "IORING_FEAT_CQE_SKIP"),
        ];
        match features.into_iter().find(|(present, _)| !present) {
            Some((_, feature)) => Err(StartError::KernelTooOld { feature }),
            None => Ok(Ring { uring, backlog: VecDeque::new(), counts: RingCounts::default() }),
        }
    }

    pub(crate) fn submitter(&self) -> Submitter<'_> {
        self.uring.submitter()
    }

    pub(crate) fn counts(&self) -> RingCounts {
        self.counts
    }

    /// Queues an operation for the next [`Self::enter`].
    ///
    /// # Safety
    /// Memory and descriptors that `entry` names stay valid until its last completion.
    pub(crate) unsafe fn push(&mut self, entry: squeue::Entry) {
        self.counts.submissions += 1;
        self.backlog.push_back(entry);
        self.drain_backlog();
        if !self.backlog.is_empty() {
            // The queue is full: hand it over now and go on. Should the kernel be too busy to take
            // it, the rest waits for the next turn.
            self.counts.enters += 1;
            tolerate(self.uring.submit()).expect("io_uring_enter submits");
            self.drain_backlog();
        }
    }

    fn drain_backlog(&mut self) {
        let mut queue = self.uring.submission();
        while let Some(entry) = self.backlog.front() {
            // SAFETY: promised by the caller of `push` for every entry of the backlog.
            if unsafe { queue.push(entry) }.is_err() {
                return;
            }
            self.backlog.pop_front();
        }
    }

    /// Whether completions can be had, without asking the kernel.
    pub(crate) fn has_completions(&mut self) -> bool {
        !self.uring.completion().is_empty() || self.kernel_has_work()
    }

    /// Whether the kernel holds completions back until it is entered.
    fn kernel_has_work(&mut self) -> bool {
        let queue = self.uring.submission();
        queue.taskrun() || queue.cq_overflow()
    }

    /// Submits everything queued and waits as told. Skips the system call when it could do nothing.
    pub(crate) fn enter(&mut self, wait: Wait) {
        self.drain_backlog();
        let queued = self.uring.submission().len();
        let wait = if self.backlog.is_empty() { wait } else { Wait::No };
        if wait == Wait::No && queued == 0 && !self.kernel_has_work() {
            return;
        }
        self.counts.enters += 1;
        tolerate(self.enter_kernel(queued as u32, wait)).expect("io_uring_enter submits and waits");
    }

    fn enter_kernel(&self, queued: u32, wait: Wait) -> io::Result<usize> {
        let submitter = self.uring.submitter();
        match wait {
            Wait::AtMost(limit) => {
                let limit = Timespec::from(limit);
                submitter.submit_with_args(1, &SubmitArgs::new().timespec(&limit))
            }
            // Deferred completions are posted only by an enter that asks for events.
            Wait::No | Wait::Forever => {
                let want = u32::from(wait == Wait::Forever);
                let flags = EnterFlags::GETEVENTS.bits();
                // SAFETY: no argument is passed; the counts are those of the queue.
                unsafe { submitter.enter::<libc::sigset_t>(queued, want, flags, None) }
            }
        }
    }

    /// Moves every available completion to `into`.
    pub(crate) fn reap(&mut self, into: &mut Vec<Completion>) {
        let before = into.len();
        into.extend(self.uring.completion().map(|entry| Completion {
            user_data: entry.user_data(),
            result: entry.result(),
            flags: entry.flags(),
        }));
        self.counts.completions += (into.len() - before) as u64;
    }
}

/// Errors of an enter that mean "look at the completions and come again".
fn tolerate(result: io::Result<usize>) -> io::Result<()> {
    let harmless = |error: &io::Error| {
        matches!(
            error.raw_os_error(),
            Some(libc::EINTR | libc::ETIME | libc::EBUSY | libc::EAGAIN | libc::ENOMEM)
        )
    };
    match result {
        Err(error) if !harmless(&error) => Err(error),
        _ => Ok(()),
    }
}

fn setup(entries: u32) -> io::Result<IoUring> {
    let completions = entries * COMPLETIONS_PER_SUBMISSION;
    let modern = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_taskrun_flag()
        .setup_submit_all()
        .setup_cqsize(completions)
        .dontfork()
        .build(entries);
    let Err(error) = modern else { return modern };
    if error.raw_os_error() != Some(libc::EINVAL) {
        return Err(error);
    }
    tracing::warn!(
        "this kernel lacks IORING_SETUP_DEFER_TASKRUN (Linux 6.1): going on with interrupts for completions, \
         which costs about half as much CPU time again per request"
    );
    IoUring::builder()
        .setup_coop_taskrun()
        .setup_taskrun_flag()
        .setup_submit_all()
        .setup_cqsize(completions)
        .dontfork()
        .build(entries)
}
