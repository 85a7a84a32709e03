//! Status of a completed command (Base 2.1, section 4.2.3).

use std::fmt;

/// Status code type and status code, and whether and when a retry makes sense. Zero is success.
///
/// The bits are those of the completion's Status field without the phase tag: code 7:0, type 10:8,
/// retry delay 12:11, more 13, do not retry 14.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Status(u16);

const DNR: u16 = 1 << 14;
const MORE: u16 = 1 << 13;
const CRD_SHIFT: u16 = 11;
const CODE_MASK: u16 = 0x7ff;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $kind:literal, $code:literal;)*) => {
        impl Status {
            $($(#[$doc])* pub const $name: Status = Status($kind << 8 | $code);)*

            /// The specification's name of the code, if this crate knows it.
            pub fn name(self) -> Option<&'static str> {
                match self.code() {
                    $(Status::$name => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    /// Successful Completion.
    SUCCESS = 0, 0x00;
    /// Invalid Command Opcode.
    INVALID_OPCODE = 0, 0x01;
    /// Invalid Field in Command.
    INVALID_FIELD = 0, 0x02;
    /// Command ID Conflict.
    COMMAND_ID_CONFLICT = 0, 0x03;
    /// Data Transfer Error.
    DATA_TRANSFER_ERROR = 0, 0x04;
    /// Internal Error.
    INTERNAL_ERROR = 0, 0x06;
    /// Command Abort Requested.
    ABORT_REQUESTED = 0, 0x07;
    /// Command Aborted due to SQ Deletion.
    ABORTED_SQ_DELETION = 0, 0x08;
    /// Command Aborted due to Failed Fused Command.
    ABORTED_FAILED_FUSED = 0, 0x09;
    /// Command Aborted due to Missing Fused Command.
    ABORTED_MISSING_FUSED = 0, 0x0a;
    /// Invalid Namespace or Format.
    INVALID_NAMESPACE = 0, 0x0b;
    /// Command Sequence Error.
    COMMAND_SEQUENCE_ERROR = 0, 0x0c;
    /// Invalid SGL Segment Descriptor.
    INVALID_SGL_SEGMENT = 0, 0x0d;
    /// Data SGL Length Invalid.
    SGL_LENGTH_INVALID = 0, 0x0f;
    /// SGL Descriptor Type Invalid.
    SGL_TYPE_INVALID = 0, 0x11;
    /// Operation Denied.
    OPERATION_DENIED = 0, 0x15;
    /// SGL Offset Invalid.
    SGL_OFFSET_INVALID = 0, 0x16;
    /// Host Identifier Inconsistent Format.
    HOST_ID_INCONSISTENT = 0, 0x18;
    /// Keep Alive Timer Expired.
    KEEP_ALIVE_EXPIRED = 0, 0x19;
    /// Keep Alive Timeout Invalid.
    KEEP_ALIVE_INVALID = 0, 0x1a;
    /// Sanitize Failed.
    SANITIZE_FAILED = 0, 0x1c;
    /// Sanitize In Progress.
    SANITIZE_IN_PROGRESS = 0, 0x1d;
    /// Namespace is Write Protected.
    WRITE_PROTECTED = 0, 0x20;
    /// Atomic Write Unit Exceeded.
    ATOMIC_WRITE_UNIT_EXCEEDED = 0, 0x14;
    /// Command Interrupted.
    COMMAND_INTERRUPTED = 0, 0x21;
    /// Transient Transport Error.
    TRANSIENT_TRANSPORT_ERROR = 0, 0x22;
    /// LBA Out of Range.
    LBA_OUT_OF_RANGE = 0, 0x80;
    /// Capacity Exceeded.
    CAPACITY_EXCEEDED = 0, 0x81;
    /// Namespace Not Ready.
    NAMESPACE_NOT_READY = 0, 0x82;
    /// Reservation Conflict.
    RESERVATION_CONFLICT = 0, 0x83;
    /// Format In Progress.
    FORMAT_IN_PROGRESS = 0, 0x84;
    /// Invalid Queue Identifier.
    INVALID_QUEUE_ID = 1, 0x01;
    /// Invalid Queue Size.
    INVALID_QUEUE_SIZE = 1, 0x02;
    /// Abort Command Limit Exceeded.
    ABORT_LIMIT_EXCEEDED = 1, 0x03;
    /// Asynchronous Event Request Limit Exceeded.
    EVENT_REQUEST_LIMIT_EXCEEDED = 1, 0x05;
    /// Invalid Log Page.
    INVALID_LOG_PAGE = 1, 0x09;
    /// Invalid Format.
    INVALID_FORMAT = 1, 0x0a;
    /// Feature Identifier Not Saveable.
    FEATURE_NOT_SAVEABLE = 1, 0x0d;
    /// Feature Not Changeable.
    FEATURE_NOT_CHANGEABLE = 1, 0x0e;
    /// Feature Not Namespace Specific.
    FEATURE_NOT_NAMESPACE_SPECIFIC = 1, 0x0f;
    /// Fabrics: Connect Incompatible Format.
    CONNECT_INCOMPATIBLE_FORMAT = 1, 0x80;
    /// Fabrics: Connect Controller Busy.
    CONNECT_CONTROLLER_BUSY = 1, 0x81;
    /// Fabrics: Connect Invalid Parameters.
    CONNECT_INVALID_PARAMETERS = 1, 0x82;
    /// Fabrics: Connect Restart Discovery.
    CONNECT_RESTART_DISCOVERY = 1, 0x83;
    /// Fabrics: Connect Invalid Host.
    CONNECT_INVALID_HOST = 1, 0x84;
    /// Fabrics: Invalid Queue Type.
    INVALID_QUEUE_TYPE = 1, 0x85;
    /// Fabrics: Discover Restart.
    DISCOVER_RESTART = 1, 0x90;
    /// Fabrics: Authentication Required.
    AUTHENTICATION_REQUIRED = 1, 0x91;
    /// Write Fault.
    WRITE_FAULT = 2, 0x80;
    /// Unrecovered Read Error.
    UNRECOVERED_READ_ERROR = 2, 0x81;
    /// Compare Failure.
    COMPARE_FAILURE = 2, 0x85;
    /// Access Denied.
    ACCESS_DENIED = 2, 0x86;
}

impl Status {
    /// NVM command set: Command Size Limit Exceeded. (The code means Invalid Queue Type's neighbour
    /// in Fabrics, so it has a name of its own and no entry in [`Status::name`].)
    pub const COMMAND_SIZE_LIMIT_EXCEEDED: Status = Status(1 << 8 | 0x83);

    /// From the completion's Status field, phase tag shifted out.
    pub const fn from_bits(bits: u16) -> Self {
        Status(bits & 0x7fff)
    }

    /// See [`Status::from_bits`].
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The same with Do Not Retry: the same command would fail again.
    pub const fn dnr(self) -> Self {
        Status(self.0 | DNR)
    }

    /// The same with Command Retry Delay `index`: 1 to 3 name one of the controller's three delays,
    /// 0 none.
    pub const fn retry_after(self, index: u8) -> Self {
        Status((self.0 & !(3 << CRD_SHIFT)) | ((index as u16 & 3) << CRD_SHIFT))
    }

    /// The same with More: the Error Information log has an entry about it.
    pub const fn more(self) -> Self {
        Status(self.0 | MORE)
    }

    /// Whether Do Not Retry is set.
    pub const fn is_dnr(self) -> bool {
        self.0 & DNR != 0
    }

    /// Command Retry Delay.
    pub const fn retry_delay_index(self) -> u8 {
        (self.0 >> CRD_SHIFT & 3) as u8
    }

    /// Type and code alone: comparable with the constants.
    pub const fn code(self) -> Self {
        Status(self.0 & CODE_MASK)
    }

    /// Whether the command succeeded.
    pub const fn is_success(self) -> bool {
        self.0 & CODE_MASK == 0
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name)?,
            None => write!(f, "status {:#05x}", self.code().0)?,
        }
        if self.is_dnr() { f.write_str(" (do not retry)") } else { Ok(()) }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Where in a command the controller found a fault (Base 2.1, Error Information log, Parameter
/// Error Location).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErrorLocation(pub u16);

impl ErrorLocation {
    /// The fault belongs to no parameter.
    pub const NONE: ErrorLocation = ErrorLocation(0xffff);

    /// The byte of the command, from 0.
    pub const fn byte(byte: u8) -> Self {
        ErrorLocation(byte as u16)
    }

    /// Bit `bit` of byte `byte`.
    pub const fn bit(byte: u8, bit: u8) -> Self {
        ErrorLocation(byte as u16 | (bit as u16) << 8)
    }
}

/// A command refused: the status to answer, and where the fault lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{status}")]
pub struct Rejection {
    /// The answer.
    pub status: Status,
    /// For the error log.
    pub location: ErrorLocation,
}

impl Rejection {
    /// Refused for no single parameter's sake.
    pub const fn new(status: Status) -> Self {
        Rejection { status, location: ErrorLocation::NONE }
    }

    /// Invalid Field in Command at `byte`; a retry would not help.
    pub const fn field(byte: u8) -> Self {
        Rejection { status: Status::INVALID_FIELD.dnr(), location: ErrorLocation::byte(byte) }
    }

    /// The opcode is not supported.
    pub const fn opcode() -> Self {
        Rejection { status: Status::INVALID_OPCODE.dnr(), location: ErrorLocation::byte(0) }
    }
}

impl From<Status> for Rejection {
    fn from(status: Status) -> Self {
        Rejection::new(status)
    }
}

#[cfg(test)]
mod tests;
