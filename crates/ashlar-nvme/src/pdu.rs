//! Protocol data units of NVMe/TCP (NVMe over TCP Transport Specification 1.1, section 3.6).
//!
//! [`Pdu`] is a PDU's header as a value: [`Pdu::encode`] writes it, [`Decoder`] reads it. Payload
//! is never part of the value, so that it can go from and to its own buffer without a copy.

mod decode;
mod digest;
mod encode;
mod fault;
mod handshake;
mod header;
mod layout;

pub use decode::{Decoder, DecoderLimits, Receiver, Step};
pub use digest::{DIGEST_BYTES, DataDigest, crc32c};
pub use encode::header_bytes;
pub use fault::{FatalStatus, PduFault, TermReq};
pub use handshake::{Digests, IcReq, IcResp, MAX_H2C_DATA_BYTES_MIN};
pub use header::{CommonHeader, DataHeader, HEADER_BYTES_MAX, PduType, R2t, Ttag};

use crate::cqe::Cqe;
use crate::sqe::Sqe;

/// The header of one PDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pdu {
    /// Initialize Connection Request: the host's first.
    IcReq(IcReq),
    /// Initialize Connection Response.
    IcResp(IcResp),
    /// Host to Controller Terminate Connection Request. Payload: the header complained of.
    HostTermReq(TermReq),
    /// Controller to Host Terminate Connection Request. Payload: the header complained of.
    ControllerTermReq(TermReq),
    /// Command capsule. Payload: in-capsule data.
    Command(Sqe),
    /// Response capsule.
    Response(Cqe),
    /// Host to Controller Data.
    H2cData(DataHeader),
    /// Controller to Host Data.
    C2hData(DataHeader),
    /// Ready to Transfer.
    R2t(R2t),
}

/// What both ends agreed on for the PDUs of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Framing {
    /// Which digests are carried.
    pub digests: Digests,
    /// Payload begins at a multiple of this many bytes (HPDA or CPDA, decoded): 4 to 128.
    pub data_alignment_bytes: u32,
}

impl Framing {
    /// Before and during the handshake: no digests, payload at a multiple of 4.
    pub const HANDSHAKE: Framing = Framing { digests: Digests::NONE, data_alignment_bytes: 4 };
}

#[cfg(test)]
mod tests;
