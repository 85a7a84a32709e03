//! The 64-byte submission queue entry (Base 2.1, section 4.1; TCP capsules carry it unchanged).

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

use crate::sgl::SglDescriptor;
use crate::status::Rejection;

/// Bytes of an SQE.
pub const SQE_BYTES: usize = 64;

/// A command's identifier, unique among a queue's outstanding commands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Cid(pub u16);

/// The namespace identifier that means all namespaces.
pub const NSID_ALL: u32 = 0xffff_ffff;

/// A command as it stands on the wire. Aligned, so that it is copied by words and not by bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(8))]
pub struct Sqe {
    /// Opcode.
    pub opcode: u8,
    /// Fused operation (1:0) and PRP or SGL for data transfer (7:6).
    pub flags: u8,
    /// Command identifier.
    pub cid: U16,
    /// Namespace identifier; in Fabrics commands its first byte is the command type.
    pub nsid: U32,
    /// Command dwords 2 and 3.
    pub cdw2: [U32; 2],
    /// Metadata pointer.
    pub metadata: U64,
    /// Data pointer: always an SGL in Fabrics.
    pub sgl: SglDescriptor,
    /// Command dwords 10 to 15.
    pub cdw10: [U32; 6],
}

const _: () = assert!(size_of::<Sqe>() == SQE_BYTES);

/// Part of a fused operation that a command is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fuse {
    /// A command of its own.
    Normal,
    /// First of two.
    First,
    /// Second of two.
    Second,
}

const PSDT_SHIFT: u8 = 6;
const PSDT_SGL: u8 = 1;

impl Sqe {
    /// A command with nothing but its opcode, identifier and namespace; without data.
    pub fn new(opcode: u8, cid: Cid, nsid: u32) -> Self {
        let mut sqe = Sqe::new_zeroed();
        sqe.opcode = opcode;
        sqe.flags = PSDT_SGL << PSDT_SHIFT;
        sqe.cid = cid.0.into();
        sqe.nsid = nsid.into();
        sqe.sgl = SglDescriptor::transport(0);
        sqe
    }

    /// The command's identifier.
    pub fn cid(&self) -> Cid {
        Cid(self.cid.get())
    }

    /// Command dword `number`, 10 to 15.
    pub fn cdw(&self, number: usize) -> u32 {
        self.cdw10[number - 10].get()
    }

    /// Sets command dword `number`, 10 to 15.
    pub fn set_cdw(&mut self, number: usize, value: u32) {
        self.cdw10[number - 10] = value.into();
    }

    /// Command dwords 10 and 11 as one number.
    pub fn cdw_10_11(&self) -> u64 {
        u64::from(self.cdw(10)) | u64::from(self.cdw(11)) << 32
    }

    /// Sets command dwords 10 and 11.
    pub fn set_cdw_10_11(&mut self, value: u64) {
        self.set_cdw(10, value as u32);
        self.set_cdw(11, (value >> 32) as u32);
    }

    /// Its part in a fused operation.
    ///
    /// # Errors
    /// Invalid Field for the reserved value.
    pub fn fuse(&self) -> Result<Fuse, Rejection> {
        match self.flags & 3 {
            0 => Ok(Fuse::Normal),
            1 => Ok(Fuse::First),
            2 => Ok(Fuse::Second),
            _ => Err(Rejection::field(1)),
        }
    }

    /// Makes the command part of a fused operation.
    pub fn set_fuse(&mut self, fuse: Fuse) {
        self.flags = (self.flags & !3) | fuse as u8;
    }

    /// Checks that the data pointer is an SGL, as Fabrics demands (Base 2.1, section 4.1.1, PSDT).
    ///
    /// # Errors
    /// Invalid Field.
    pub fn check_data_pointer(&self) -> Result<(), Rejection> {
        match self.flags >> PSDT_SHIFT {
            1 | 2 => Ok(()),
            _ => Err(Rejection::field(1)),
        }
    }
}

#[cfg(test)]
mod tests;
