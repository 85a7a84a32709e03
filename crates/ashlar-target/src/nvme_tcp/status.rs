//! What a host is told when a volume's I/O fails.

use ashlar_block::Cause;
use ashlar_nvme::status::Status;

/// Index of the Command Retry Delay for what passes by itself (CRDT1).
const RETRY_SOON: u8 = 1;

/// The exact status for a cause. `retry_delays` says that the host honours Command Retry Delays.
pub(super) fn of_cause(cause: Cause, retry_delays: bool) -> Status {
    match cause {
        Cause::OutOfRange => Status::LBA_OUT_OF_RANGE.dnr(),
        // There may be room by the time that the host tries again.
        Cause::CapacityExceeded => Status::CAPACITY_EXCEEDED,
        Cause::Unrecovered => Status::UNRECOVERED_READ_ERROR.dnr(),
        Cause::WriteFault => Status::WRITE_FAULT,
        Cause::WriteProtected => Status::WRITE_PROTECTED.dnr(),
        Cause::Miscompare => Status::COMPARE_FAILURE.dnr(),
        Cause::NoSuchVolume => Status::INVALID_NAMESPACE.dnr(),
        Cause::NotReady if retry_delays => Status::NAMESPACE_NOT_READY.retry_after(RETRY_SOON),
        Cause::NotReady => Status::NAMESPACE_NOT_READY,
        Cause::Formatting if retry_delays => Status::FORMAT_IN_PROGRESS.retry_after(RETRY_SOON),
        Cause::Formatting => Status::FORMAT_IN_PROGRESS,
        Cause::Sanitizing if retry_delays => Status::SANITIZE_IN_PROGRESS.retry_after(RETRY_SOON),
        Cause::Sanitizing => Status::SANITIZE_IN_PROGRESS,
        Cause::SanitizeFailed => Status::SANITIZE_FAILED.dnr(),
        Cause::Internal => Status::INTERNAL_ERROR,
    }
}

#[cfg(test)]
mod tests;
