//! A controller's error log (Base 2.1, section 5.1.12.1.2).

use std::collections::VecDeque;

use ashlar_nvme::log::{ERROR_LOG_VERSION, ErrorLogEntry, transport_type};
use ashlar_nvme::sqe::Sqe;
use ashlar_nvme::status::{ErrorLocation, Status};

/// Entries kept (ELPE, decoded).
pub(super) const ERROR_LOG_ENTRIES: usize = 64;

/// The newest errors of one controller.
#[derive(Default)]
pub(super) struct ErrorLog {
    newest_first: VecDeque<ErrorLogEntry>,
    count: u64,
}

impl ErrorLog {
    pub(super) fn add(
        &mut self,
        queue_id: u16,
        sqe: &Sqe,
        status: Status,
        location: ErrorLocation,
    ) {
        self.count += 1;
        self.newest_first.truncate(ERROR_LOG_ENTRIES - 1);
        self.newest_first.push_front(ErrorLogEntry {
            error_count: self.count.into(),
            queue_id: queue_id.into(),
            cid: sqe.cid,
            status: (status.bits() << 1).into(),
            location: location.0.into(),
            lba: if queue_id == 0 { 0.into() } else { sqe.cdw_10_11().into() },
            nsid: sqe.nsid,
            transport_type: transport_type::TCP,
            opcode: sqe.opcode,
            version: ERROR_LOG_VERSION,
            ..ErrorLogEntry::default()
        });
    }

    /// Newest first; as many as are there.
    pub(super) fn entries(&self) -> impl Iterator<Item = &ErrorLogEntry> {
        self.newest_first.iter()
    }
}

#[cfg(test)]
mod tests;
