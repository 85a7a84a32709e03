//! Asynchronous events (Base 2.1, section 5.1.2).

/// What an Asynchronous Event Request is answered with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AsyncEvent {
    /// Type.
    pub kind: EventKind,
    /// Information: which event of that type.
    pub information: u8,
    /// The log page that says more; reading it allows the next event of the type.
    pub log_page: u8,
}

/// Event types.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum EventKind {
    /// Error status.
    Error,
    /// SMART / health status.
    Smart,
    /// Notice.
    Notice,
    /// I/O command specific status.
    CommandSpecific,
}

impl AsyncEvent {
    /// Spare space fell below its threshold.
    pub const SPARE_LOW: AsyncEvent =
        AsyncEvent { kind: EventKind::Smart, information: 0x02, log_page: crate::log::page::SMART };
    /// The subsystem is less reliable than it should be, or read-only.
    pub const RELIABILITY: AsyncEvent =
        AsyncEvent { kind: EventKind::Smart, information: 0x00, log_page: crate::log::page::SMART };
    /// A namespace was attached, detached, resized or otherwise changed.
    pub const NAMESPACE_CHANGED: AsyncEvent = AsyncEvent {
        kind: EventKind::Notice,
        information: 0x00,
        log_page: crate::log::page::CHANGED_NAMESPACES,
    };
    /// The discovery log page has changed.
    pub const DISCOVERY_CHANGED: AsyncEvent = AsyncEvent {
        kind: EventKind::Notice,
        information: 0xf0,
        log_page: crate::log::page::DISCOVERY,
    };

    /// A sanitize has ended.
    pub const SANITIZE_COMPLETED: AsyncEvent = AsyncEvent {
        kind: EventKind::CommandSpecific,
        information: 0x01,
        log_page: crate::log::page::SANITIZE_STATUS,
    };

    /// Dword 0 of the answer.
    pub const fn result(self) -> u32 {
        let kind = match self.kind {
            EventKind::Error => 0,
            EventKind::Smart => 1,
            EventKind::Notice => 2,
            EventKind::CommandSpecific => 6,
        };
        kind | (self.information as u32) << 8 | (self.log_page as u32) << 16
    }

    /// From dword 0 of the answer; none for types that this crate does not know.
    pub const fn from_result(result: u32) -> Option<Self> {
        let kind = match result & 7 {
            0 => EventKind::Error,
            1 => EventKind::Smart,
            2 => EventKind::Notice,
            6 => EventKind::CommandSpecific,
            _ => return None,
        };
        Some(AsyncEvent { kind, information: (result >> 8) as u8, log_page: (result >> 16) as u8 })
    }
}

#[cfg(test)]
mod tests;
