//! Fatal transport errors and the Terminate Connection Requests that tell of them (sections 3.5 and
//! 3.6.2.4).

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Fatal Error Status. (The same numbers in both directions.)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum FatalStatus {
    /// A field of a PDU's header is not valid; the information is its offset.
    InvalidHeaderField = 0x01,
    /// A PDU where its kind may not come.
    SequenceError = 0x02,
    /// The header digest does not match; the information is the digest received.
    HeaderDigestError = 0x03,
    /// Data beyond what was asked for.
    DataOutOfRange = 0x04,
    /// More data, or more R2Ts, than agreed.
    DataLimitExceeded = 0x05,
    /// A parameter asks for what is not supported; the information is its offset.
    UnsupportedParameter = 0x06,
}

/// A fault that ends the connection, before it is put into a [`TermReq`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{status:?} (information {information:#x})")]
pub struct PduFault {
    /// What is wrong.
    pub status: FatalStatus,
    /// Fatal Error Information.
    pub information: u32,
}

impl PduFault {
    /// The header's field at `offset` is not valid.
    pub const fn header_field(offset: u32) -> Self {
        PduFault { status: FatalStatus::InvalidHeaderField, information: offset }
    }

    /// The parameter at `offset` is not supported.
    pub const fn unsupported_parameter(offset: u32) -> Self {
        PduFault { status: FatalStatus::UnsupportedParameter, information: offset }
    }

    /// A fault without information.
    pub const fn new(status: FatalStatus) -> Self {
        PduFault { status, information: 0 }
    }
}

/// Terminate Connection Request of either end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TermReq {
    /// FES as it stands; see [`FatalStatus`].
    pub status: u16,
    /// FEI.
    pub information: u32,
}

impl From<PduFault> for TermReq {
    fn from(fault: PduFault) -> Self {
        TermReq { status: fault.status as u16, information: fault.information }
    }
}

/// Bytes 8 to 23 of a Terminate Connection Request.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct TermFields {
    status: U16,
    information: U32,
    reserved: [u8; 10],
}

impl From<TermReq> for TermFields {
    fn from(request: TermReq) -> Self {
        TermFields {
            status: request.status.into(),
            information: request.information.into(),
            reserved: [0; 10],
        }
    }
}

impl From<TermFields> for TermReq {
    fn from(fields: TermFields) -> Self {
        TermReq { status: fields.status.get(), information: fields.information.get() }
    }
}
