//! When a drive is not believed any more.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ashlar_block::{DeviceError, DeviceOp};

/// What a drive is trusted with. Shared by all openers of the drive in this process.
///
/// **After a failed flush the drive is gone**, until it is opened anew: the kernel reports a lost
/// write once and then forgets it, so that the next flush succeeds over data that is not there. The
/// same holds for a failed stable write when the cache is volatile and holds earlier cached writes:
/// the failure may be that of the flush within, and theirs is then the loss. Where no cached write
/// is at stake, a failed write speaks for itself alone and may be repeated. A full file system is
/// no fault of the drive.
#[derive(Debug, Default)]
pub(crate) struct Health {
    gone: AtomicBool,
    cached_begun: AtomicU64,
    cached_in_flight: AtomicU64,
    cached_flushed: AtomicU64,
}

/// What a flush that begins now will have covered when it succeeds: all cached writes so far, or
/// none that we could name if some are still under way.
#[derive(Clone, Copy)]
pub(crate) struct FlushMark(Option<u64>);

impl Health {
    /// Fails once the drive is gone.
    pub(crate) fn check(&self) -> Result<(), DeviceError> {
        if self.is_gone() { Err(DeviceError::Gone) } else { Ok(()) }
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// Believes the drive no more. Returns whether this is news.
    pub(crate) fn latch(&self) -> bool {
        !self.gone.swap(true, Ordering::AcqRel)
    }

    pub(crate) fn begin_cached_write(&self) {
        self.cached_in_flight.fetch_add(1, Ordering::AcqRel);
        self.cached_begun.fetch_add(1, Ordering::AcqRel);
    }

    /// A write whose future was dropped never ends here: no flush can name it any more, which only
    /// makes the rule stricter.
    pub(crate) fn end_cached_write(&self) {
        self.cached_in_flight.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn begin_flush(&self) -> FlushMark {
        let begun = self.cached_begun.load(Ordering::Acquire);
        FlushMark((self.cached_in_flight.load(Ordering::Acquire) == 0).then_some(begun))
    }

    pub(crate) fn flushed(&self, mark: FlushMark) {
        if let FlushMark(Some(begun)) = mark {
            self.cached_flushed.fetch_max(begun, Ordering::AcqRel);
        }
    }

    /// Whether a cached write may not be on stable media yet.
    pub(crate) fn has_unflushed(&self) -> bool {
        self.cached_begun.load(Ordering::Acquire) != self.cached_flushed.load(Ordering::Acquire)
    }
}

/// Whether `error` of an operation ends the trust in the drive.
pub(crate) fn ends_trust(op: DeviceOp, stable_over_unflushed: bool, error: &DeviceError) -> bool {
    match (op, error) {
        (_, DeviceError::Gone) => true,
        (DeviceOp::Flush, _) => true,
        (_, DeviceError::NoSpace { .. } | DeviceError::OutOfRange { .. }) => false,
        (DeviceOp::Write, _) => stable_over_unflushed,
        (DeviceOp::Read | DeviceOp::Discard, _) => false,
    }
}

#[cfg(test)]
mod tests;
