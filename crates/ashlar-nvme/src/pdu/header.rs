//! The common header and the headers of data PDUs.

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::sqe::Cid;

/// Longest PDU header (ICReq and ICResp).
pub const HEADER_BYTES_MAX: usize = 128;

/// Types of PDUs (TCP Transport 1.1, section 3.6.2, figure 21).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PduType {
    /// Initialize Connection Request.
    IcReq = 0x00,
    /// Initialize Connection Response.
    IcResp = 0x01,
    /// Terminate Connection Request of the host.
    H2cTermReq = 0x02,
    /// Terminate Connection Request of the controller.
    C2hTermReq = 0x03,
    /// Command capsule.
    CapsuleCmd = 0x04,
    /// Response capsule.
    CapsuleResp = 0x05,
    /// Host to Controller Data.
    H2cData = 0x06,
    /// Controller to Host Data.
    C2hData = 0x07,
    /// Ready to Transfer.
    R2t = 0x09,
}

impl PduType {
    /// The type of that number.
    pub const fn of(value: u8) -> Option<Self> {
        Some(match value {
            0x00 => PduType::IcReq,
            0x01 => PduType::IcResp,
            0x02 => PduType::H2cTermReq,
            0x03 => PduType::C2hTermReq,
            0x04 => PduType::CapsuleCmd,
            0x05 => PduType::CapsuleResp,
            0x06 => PduType::H2cData,
            0x07 => PduType::C2hData,
            0x09 => PduType::R2t,
            _ => return None,
        })
    }

    /// The one valid HLEN.
    pub const fn header_bytes(self) -> u8 {
        match self {
            PduType::IcReq | PduType::IcResp => 128,
            PduType::CapsuleCmd => 72,
            _ => 24,
        }
    }
}

/// FLAGS: a header digest follows the header.
pub(super) const FLAG_HEADER_DIGEST: u8 = 1 << 0;
/// FLAGS: a data digest follows the payload.
pub(super) const FLAG_DATA_DIGEST: u8 = 1 << 1;
/// FLAGS of data PDUs: the last one of its transfer.
pub(super) const FLAG_LAST: u8 = 1 << 2;
/// FLAGS of C2HData: the command succeeded, no response capsule follows.
pub(super) const FLAG_SUCCESS: u8 = 1 << 3;

/// The first 8 bytes of every PDU (section 3.6.1).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct CommonHeader {
    /// PDU-Type.
    pub kind: u8,
    /// FLAGS.
    pub flags: u8,
    /// HLEN: bytes of the header without its digest.
    pub header_bytes: u8,
    /// PDO: where payload begins.
    pub data_offset: u8,
    /// PLEN: bytes of the whole PDU.
    pub pdu_bytes: U32,
}

/// Transfer tag: the controller's name for one R2T, returned with its data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ttag(pub u16);

/// H2CData and C2HData (sections 3.6.2.8 and 3.6.2.9).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataHeader {
    /// The command whose data these are.
    pub cid: Cid,
    /// The R2T that asked for them; zero in C2HData.
    pub ttag: Ttag,
    /// Where they belong, in bytes from the start of the command's data.
    pub offset: u32,
    /// Bytes of payload.
    pub length: u32,
    /// The last PDU of its transfer.
    pub last: bool,
    /// C2HData only: stands for a successful response capsule as well.
    pub success: bool,
}

/// Ready to Transfer (section 3.6.2.10): the host may send a part of a command's data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct R2t {
    /// The command.
    pub cid: Cid,
    /// To be returned with the data.
    pub ttag: Ttag,
    /// First byte asked for.
    pub offset: u32,
    /// Bytes asked for.
    pub length: u32,
}

/// What follows the common header in H2CData, C2HData and R2T alike.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct TransferFields {
    pub cid: U16,
    pub ttag: U16,
    pub offset: U32,
    pub length: U32,
    pub reserved: [u8; 4],
}

impl From<DataHeader> for TransferFields {
    fn from(data: DataHeader) -> Self {
        TransferFields {
            cid: data.cid.0.into(),
            ttag: data.ttag.0.into(),
            offset: data.offset.into(),
            length: data.length.into(),
            reserved: [0; 4],
        }
    }
}

impl TransferFields {
    pub fn data_header(self, flags: u8) -> DataHeader {
        DataHeader {
            cid: Cid(self.cid.get()),
            ttag: Ttag(self.ttag.get()),
            offset: self.offset.get(),
            length: self.length.get(),
            last: flags & FLAG_LAST != 0,
            success: flags & FLAG_SUCCESS != 0,
        }
    }

    pub fn r2t(self) -> R2t {
        R2t {
            cid: Cid(self.cid.get()),
            ttag: Ttag(self.ttag.get()),
            offset: self.offset.get(),
            length: self.length.get(),
        }
    }
}

impl From<R2t> for TransferFields {
    fn from(r2t: R2t) -> Self {
        let R2t { cid, ttag, offset, length } = r2t;
        DataHeader { cid, ttag, offset, length, last: false, success: false }.into()
    }
}
