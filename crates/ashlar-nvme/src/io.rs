//! Commands of I/O queues (NVM Command Set 1.1, section 3; Flush: Base 2.1, section 7.2).

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::sqe::{Cid, Sqe};
use crate::status::Rejection;

/// Opcodes.
pub mod opcode {
    /// Flush.
    pub const FLUSH: u8 = 0x00;
    /// Write.
    pub const WRITE: u8 = 0x01;
    /// Read.
    pub const READ: u8 = 0x02;
    /// Compare.
    pub const COMPARE: u8 = 0x05;
    /// Write Zeroes.
    pub const WRITE_ZEROES: u8 = 0x08;
    /// Dataset Management.
    pub const DATASET_MANAGEMENT: u8 = 0x09;
    /// Verify.
    pub const VERIFY: u8 = 0x0c;
}

/// Which way a command's data go: bits 1:0 of every opcode (Base 2.1, section 4.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataDirection {
    /// No data.
    None,
    /// From the host to the controller.
    ToController,
    /// From the controller to the host.
    ToHost,
    /// Both, by the opcode's bits; no command defined so far does.
    Both,
}

impl DataDirection {
    /// The direction that `opcode` has in its low bits.
    pub const fn of_opcode(opcode: u8) -> Self {
        match opcode & 3 {
            0 => DataDirection::None,
            1 => DataDirection::ToController,
            2 => DataDirection::ToHost,
            _ => DataDirection::Both,
        }
    }
}

/// Logical blocks of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockRange {
    /// SLBA.
    pub start: u64,
    /// How many: at least 1, at most 65,536 (NLB is 0's based).
    pub count: u32,
}

/// A command of the NVM command set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IoCommand {
    /// Makes completed writes durable.
    Flush,
    /// Reads blocks.
    Read(BlockRange),
    /// Writes blocks.
    Write {
        /// Which.
        range: BlockRange,
        /// FUA: durable before the answer.
        force_unit_access: bool,
    },
    /// Compares blocks with data.
    Compare(BlockRange),
    /// Makes blocks read as zeros.
    WriteZeroes {
        /// Which.
        range: BlockRange,
        /// DEAC: their space may be given back.
        deallocate: bool,
        /// FUA.
        force_unit_access: bool,
    },
    /// Speaks of up to 256 ranges, which are its data.
    DatasetManagement {
        /// Ranges: 1 to 256 (NR is 0's based).
        range_count: u16,
        /// AD: the ranges may be deallocated.
        deallocate: bool,
    },
    /// Checks blocks without transferring them.
    Verify(BlockRange),
}

const FUA: u32 = 1 << 30;
const DEAC: u32 = 1 << 25;
const NAMESPACE_ZEROES: u32 = 1 << 23;
const ATTRIBUTE_DEALLOCATE: u32 = 1 << 2;

impl IoCommand {
    /// Reads the command out of `sqe`.
    ///
    /// # Errors
    /// Invalid Opcode for commands that are not of this set or not supported; Invalid Field for a
    /// Write Zeroes of the whole namespace (NSZ), which ONCS does not offer: its range says
    /// nothing.
    pub fn parse(sqe: &Sqe) -> Result<Self, Rejection> {
        let range = BlockRange { start: sqe.cdw_10_11(), count: (sqe.cdw(12) & 0xffff) + 1 };
        let force_unit_access = sqe.cdw(12) & FUA != 0;
        Ok(match sqe.opcode {
            opcode::FLUSH => IoCommand::Flush,
            opcode::READ => IoCommand::Read(range),
            opcode::WRITE => IoCommand::Write { range, force_unit_access },
            opcode::COMPARE => IoCommand::Compare(range),
            opcode::WRITE_ZEROES if sqe.cdw(12) & NAMESPACE_ZEROES != 0 => {
                return Err(Rejection::field(50));
            }
            opcode::WRITE_ZEROES => {
                let deallocate = sqe.cdw(12) & DEAC != 0;
                IoCommand::WriteZeroes { range, deallocate, force_unit_access }
            }
            opcode::DATASET_MANAGEMENT => IoCommand::DatasetManagement {
                range_count: (sqe.cdw(10) & 0xff) as u16 + 1,
                deallocate: sqe.cdw(11) & ATTRIBUTE_DEALLOCATE != 0,
            },
            opcode::VERIFY => IoCommand::Verify(range),
            _ => return Err(Rejection::opcode()),
        })
    }

    /// The command as it stands on the wire, without its data pointer.
    pub fn to_sqe(&self, cid: Cid, nsid: u32) -> Sqe {
        let mut sqe = Sqe::new(self.opcode(), cid, nsid);
        match *self {
            IoCommand::Flush => {}
            IoCommand::Read(range) | IoCommand::Compare(range) | IoCommand::Verify(range) => {
                put_range(&mut sqe, range, 0);
            }
            IoCommand::Write { range, force_unit_access } => {
                put_range(&mut sqe, range, if force_unit_access { FUA } else { 0 });
            }
            IoCommand::WriteZeroes { range, deallocate, force_unit_access } => {
                let flags =
                    (if force_unit_access { FUA } else { 0 }) | (if deallocate { DEAC } else { 0 });
                put_range(&mut sqe, range, flags);
            }
            IoCommand::DatasetManagement { range_count, deallocate } => {
                sqe.set_cdw(10, u32::from(range_count) - 1);
                sqe.set_cdw(11, if deallocate { ATTRIBUTE_DEALLOCATE } else { 0 });
            }
        }
        sqe
    }

    /// The command's opcode.
    pub const fn opcode(&self) -> u8 {
        match self {
            IoCommand::Flush => opcode::FLUSH,
            IoCommand::Read(_) => opcode::READ,
            IoCommand::Write { .. } => opcode::WRITE,
            IoCommand::Compare(_) => opcode::COMPARE,
            IoCommand::WriteZeroes { .. } => opcode::WRITE_ZEROES,
            IoCommand::DatasetManagement { .. } => opcode::DATASET_MANAGEMENT,
            IoCommand::Verify(_) => opcode::VERIFY,
        }
    }
}

fn put_range(sqe: &mut Sqe, range: BlockRange, flags: u32) {
    sqe.set_cdw_10_11(range.start);
    sqe.set_cdw(12, (range.count - 1) | flags);
}

/// One range of Dataset Management's data (NVM Command Set 1.1, section 3.2.3).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct DsmRange {
    /// Context attributes: hints.
    pub attributes: U32,
    /// Logical blocks.
    pub count: U32,
    /// First one.
    pub start: U64,
}

/// Bytes of a [`DsmRange`].
pub const DSM_RANGE_BYTES: usize = size_of::<DsmRange>();

#[cfg(test)]
mod tests;
