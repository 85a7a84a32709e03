//! SGL descriptors, as far as NVMe/TCP has them (Base 2.1, section 4.3.2; TCP Transport 1.1,
//! section 3.3.2).

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::status::{ErrorLocation, Rejection, Status};

/// One 16-byte SGL descriptor as it stands in a command.
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
pub struct SglDescriptor {
    /// Address; an offset for in-capsule data.
    pub address: U64,
    /// Length in bytes.
    pub length: U32,
    /// Reserved.
    pub reserved: [u8; 3],
    /// Type in bits 7:4, subtype in bits 3:0.
    pub kind: u8,
}

/// SGL Data Block, subtype Offset: data within the capsule.
const IN_CAPSULE: u8 = 0x01;
/// Transport SGL Data Block, transport specific subtype Ah: data by PDUs of its own.
const TRANSPORT: u8 = 0x5a;
/// Where the SGL stands in a command; its type is the last byte.
const SGL_BYTE: u8 = 24;

/// Where a command's data are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataLocation {
    /// In the capsule of the command, behind the SQE.
    InCapsule {
        /// Bytes.
        length: u32,
    },
    /// In data PDUs: R2T and H2CData towards the controller, C2HData towards the host.
    Transport {
        /// Bytes.
        length: u32,
    },
}

impl DataLocation {
    /// Bytes of data.
    pub const fn length(self) -> u32 {
        match self {
            DataLocation::InCapsule { length } | DataLocation::Transport { length } => length,
        }
    }
}

impl SglDescriptor {
    /// Data of `length` bytes that follow the command in its capsule.
    pub fn in_capsule(length: u32) -> Self {
        SglDescriptor { length: length.into(), kind: IN_CAPSULE, ..Self::default() }
    }

    /// Data of `length` bytes that go by data PDUs; also the descriptor of a command without data.
    pub fn transport(length: u32) -> Self {
        SglDescriptor { length: length.into(), kind: TRANSPORT, ..Self::default() }
    }

    /// What the descriptor says.
    ///
    /// # Errors
    /// SGL Descriptor Type Invalid for other types than NVMe/TCP has, SGL Offset Invalid for
    /// in-capsule data that do not begin right behind the command (ICDOFF is 0).
    pub fn location(&self) -> Result<DataLocation, Rejection> {
        let length = self.length.get();
        match self.kind {
            IN_CAPSULE if self.address.get() == 0 => Ok(DataLocation::InCapsule { length }),
            IN_CAPSULE => Err(Rejection {
                status: Status::SGL_OFFSET_INVALID.dnr(),
                location: ErrorLocation::byte(SGL_BYTE),
            }),
            TRANSPORT => Ok(DataLocation::Transport { length }),
            _ => Err(Rejection {
                status: Status::SGL_TYPE_INVALID.dnr(),
                location: ErrorLocation::byte(SGL_BYTE + 15),
            }),
        }
    }
}

#[cfg(test)]
mod tests;
