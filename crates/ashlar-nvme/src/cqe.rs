//! The 16-byte completion queue entry (Base 2.1, section 4.2).

use zerocopy::little_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::sqe::Cid;
use crate::status::Status;

/// Bytes of a CQE.
pub const CQE_BYTES: usize = 16;

/// An answer as it stands on the wire.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    Debug,
    Default,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct Cqe {
    /// Command specific result (dwords 0 and 1).
    pub result: U64,
    /// How far the controller has taken entries from the submission queue; meaningless without SQ
    /// flow control.
    pub sq_head: U16,
    /// Submission queue identifier; reserved in Fabrics.
    pub sq_id: U16,
    /// The command that this answers.
    pub cid: U16,
    /// Status in bits 15:1; the phase tag is unused in Fabrics.
    pub status: U16,
}

const _: () = assert!(size_of::<Cqe>() == CQE_BYTES);

impl Cqe {
    /// The answer to command `cid`.
    pub fn new(cid: Cid, status: Status, result: u64) -> Self {
        Cqe {
            result: result.into(),
            cid: cid.0.into(),
            status: (status.bits() << 1).into(),
            ..Self::default()
        }
    }

    /// The command that this answers.
    pub fn cid(&self) -> Cid {
        Cid(self.cid.get())
    }

    /// How it ended.
    pub fn status(&self) -> Status {
        Status::from_bits(self.status.get() >> 1)
    }
}

#[cfg(test)]
mod tests;
