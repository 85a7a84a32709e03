use zerocopy::IntoBytes;

use super::{AdminCommand, FeatureSelect, FormatNvm, GetLogPage, Identify};
use crate::sqe::Cid;
use crate::status::Status;

const DISCOVERY_LOG: GetLogPage = GetLogPage {
    page: 0x70,
    specific: 2,
    specific_id: 0x0504,
    retain_event: true,
    bytes: 4096 + (4 << 16),
    offset: 0x0000_0001_0000_0400,
    offset_is_index: false,
    command_set: 0,
};

#[test]
fn golden_get_log_page() {
    let sqe = AdminCommand::GetLogPage(DISCOVERY_LOG).to_sqe(Cid(1), 0);
    let bytes = sqe.as_bytes();
    assert_eq!(bytes[0], 2);
    assert_eq!(
        bytes[40..60],
        [0x70, 0x82, 0xff, 0x03, 1, 0, 4, 5, 0, 4, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    );
}

#[test]
fn golden_identify() {
    let identify =
        Identify { cns: 0x05, controller_id: 0x0102, specific_id: 0x0706, command_set: 3 };
    let sqe = AdminCommand::Identify(identify).to_sqe(Cid(1), 9);
    assert_eq!(sqe.as_bytes()[40..48], [5, 0, 2, 1, 6, 7, 0, 3]);
}

#[test]
fn golden_format() {
    let format = FormatNvm { lba_format: 0x11, metadata_settings: 0x15, secure_erase: 1 };
    let sqe = AdminCommand::Format(format).to_sqe(Cid(1), 9);
    assert_eq!(sqe.cdw(10), 0x1 | 0x15 << 4 | 1 << 9 | 1 << 12);
}

#[test]
fn every_command_round_trips() {
    let commands = [
        AdminCommand::Identify(Identify {
            cns: 2,
            controller_id: 0,
            specific_id: 0,
            command_set: 0,
        }),
        AdminCommand::GetLogPage(DISCOVERY_LOG),
        AdminCommand::GetFeatures { feature: 7, select: FeatureSelect::Supported, parameter: 3 },
        AdminCommand::SetFeatures { feature: 0x0b, save: true, parameter: 0x8000_0100 },
        AdminCommand::AsyncEventRequest,
        AdminCommand::Abort { queue_id: 4, cid: Cid(0x1234) },
        AdminCommand::KeepAlive,
        AdminCommand::Format(FormatNvm { lba_format: 1, metadata_settings: 0, secure_erase: 0 }),
        AdminCommand::GetScaleFluxFeature { feature: 1 },
        AdminCommand::SetScaleFluxFeature { feature: 1, value: 0xffff_ffff },
    ];
    for command in commands {
        assert_eq!(AdminCommand::parse(&command.to_sqe(Cid(7), 1)), Ok(command));
    }
}

// Block erase, with an unrestricted exit, that keeps blocks allocated.
#[test]
fn the_bits_of_a_sanitize_are_where_the_specification_has_them() {
    let mut sqe = AdminCommand::KeepAlive.to_sqe(Cid(1), 0);
    sqe.opcode = 0x84;
    sqe.set_cdw(10, 0x0000_020a);
    let Ok(AdminCommand::Sanitize(sanitize)) = AdminCommand::parse(&sqe) else {
        panic!("it is one")
    };
    assert_eq!(sanitize.action(), super::sanitize_action::BLOCK_ERASE);
    assert!(sanitize.is_unrestricted() && sanitize.keeps_allocated());
    assert!(!sanitize.enters_verification());
    assert_eq!(AdminCommand::Sanitize(sanitize).to_sqe(Cid(1), 0).cdw(10), 0x0000_020a);
}

#[test]
fn pci_only_and_unsupported_commands_are_refused() {
    // Create and delete queues, namespace management, firmware, self test, directives, security.
    for opcode in
        [0x00, 0x01, 0x04, 0x05, 0x0d, 0x10, 0x11, 0x14, 0x15, 0x19, 0x1a, 0x81, 0x82, 0xd3, 0xd4]
    {
        let mut sqe = AdminCommand::KeepAlive.to_sqe(Cid(1), 0);
        sqe.opcode = opcode;
        assert_eq!(AdminCommand::parse(&sqe).unwrap_err().status, Status::INVALID_OPCODE.dnr());
    }
}

#[test]
fn reserved_selects_are_refused() {
    let mut sqe =
        AdminCommand::GetFeatures { feature: 7, select: FeatureSelect::Current, parameter: 0 }
            .to_sqe(Cid(1), 0);
    sqe.set_cdw(10, 7 | 4 << 8);
    assert_eq!(AdminCommand::parse(&sqe).unwrap_err().status, Status::INVALID_FIELD.dnr());
}
