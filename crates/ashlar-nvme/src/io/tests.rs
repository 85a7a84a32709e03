use zerocopy::IntoBytes;

use super::{BlockRange, DataDirection, DsmRange, IoCommand};
use crate::sqe::Cid;
use crate::status::Status;

const RANGE: BlockRange = BlockRange { start: 0x1_0000_0002, count: 256 };

#[test]
fn golden_write() {
    let sqe = IoCommand::Write { range: RANGE, force_unit_access: true }.to_sqe(Cid(5), 1);
    let bytes = sqe.as_bytes();
    assert_eq!(bytes[..8], [1, 0x40, 5, 0, 1, 0, 0, 0]);
    assert_eq!(bytes[40..52], [2, 0, 0, 0, 1, 0, 0, 0, 0xff, 0, 0, 0x40]);
}

#[test]
fn golden_write_zeroes_of_linux() {
    // REQ_OP_WRITE_ZEROES without REQ_NOUNMAP: DEAC is set.
    let command =
        IoCommand::WriteZeroes { range: RANGE, deallocate: true, force_unit_access: false };
    assert_eq!(command.to_sqe(Cid(5), 1).as_bytes()[48..52], [0xff, 0, 0, 0x02]);
}

#[test]
fn golden_dataset_management() {
    let sqe = IoCommand::DatasetManagement { range_count: 256, deallocate: true }.to_sqe(Cid(5), 1);
    assert_eq!(sqe.as_bytes()[40..48], [0xff, 0, 0, 0, 4, 0, 0, 0]);
    let range = DsmRange { attributes: 0.into(), count: 8.into(), start: 0x0203.into() };
    assert_eq!(range.as_bytes(), [0, 0, 0, 0, 8, 0, 0, 0, 3, 2, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn every_command_round_trips() {
    let commands = [
        IoCommand::Flush,
        IoCommand::Read(RANGE),
        IoCommand::Write { range: RANGE, force_unit_access: false },
        IoCommand::Compare(RANGE),
        IoCommand::WriteZeroes { range: RANGE, deallocate: true, force_unit_access: true },
        IoCommand::DatasetManagement { range_count: 1, deallocate: false },
        IoCommand::Verify(RANGE),
    ];
    for command in commands {
        assert_eq!(IoCommand::parse(&command.to_sqe(Cid(1), 1)), Ok(command));
    }
}

#[test]
fn the_largest_range_is_65536_blocks() {
    let command = IoCommand::Read(BlockRange { start: u64::MAX, count: 65536 });
    assert_eq!(IoCommand::parse(&command.to_sqe(Cid(1), 1)), Ok(command));
}

#[test]
fn reservations_and_copy_are_not_known_here() {
    for opcode in [0x04, 0x0d, 0x0e, 0x11, 0x15, 0x18, 0x19, 0xd3] {
        let mut sqe = IoCommand::Flush.to_sqe(Cid(1), 1);
        sqe.opcode = opcode;
        assert_eq!(IoCommand::parse(&sqe).unwrap_err().status, Status::INVALID_OPCODE.dnr());
    }
}

#[test]
fn opcodes_name_their_direction() {
    assert_eq!(DataDirection::of_opcode(0x01), DataDirection::ToController);
    assert_eq!(DataDirection::of_opcode(0x02), DataDirection::ToHost);
    assert_eq!(DataDirection::of_opcode(0x08), DataDirection::None);
    assert_eq!(DataDirection::of_opcode(0xd3), DataDirection::Both);
}
