use zerocopy::IntoBytes;

use super::{AuthTransfer, Connect, ConnectData, ConnectParameter, FabricsCommand, PropertyWidth};
use crate::sgl::SglDescriptor;
use crate::sqe::Cid;
use crate::status::Status;

fn round_trip(command: FabricsCommand) {
    let sqe = command.to_sqe(Cid(1), SglDescriptor::transport(0));
    assert_eq!(FabricsCommand::parse(&sqe), Ok(command));
}

#[test]
fn golden_connect() {
    let connect = Connect {
        record_format: 0,
        queue_id: 3,
        sq_size: 127,
        disable_sq_flow_control: true,
        keep_alive_ms: 0x0001_d4c0,
    };
    let sqe = FabricsCommand::Connect(connect).to_sqe(Cid(9), SglDescriptor::in_capsule(1024));
    let bytes = sqe.as_bytes();
    assert_eq!(bytes[..5], [0x7f, 0x40, 9, 0, 1]);
    assert_eq!(bytes[32..40], [0, 4, 0, 0, 0, 0, 0, 1]);
    assert_eq!(bytes[40..52], [0, 0, 3, 0, 127, 0, 4, 0, 0xc0, 0xd4, 1, 0]);
    round_trip(FabricsCommand::Connect(connect));
}

#[test]
fn golden_connect_data() {
    let data = ConnectData::new([7; 16], 0x0102, "nqn.a", "nqn.b");
    let bytes = data.as_bytes();
    assert_eq!(bytes.len(), 1024);
    assert_eq!(bytes[..18], [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 2, 1]);
    assert_eq!(&bytes[256..262], b"nqn.a\0");
    assert_eq!(&bytes[512..518], b"nqn.b\0");
    assert!(bytes[768..].iter().all(|byte| *byte == 0));
}

#[test]
fn golden_property_set() {
    let set = FabricsCommand::PropertySet {
        offset: 0x14,
        width: PropertyWidth::Four,
        value: 0x0046_0001,
    };
    let sqe = set.to_sqe(Cid(0), SglDescriptor::transport(0));
    assert_eq!(sqe.as_bytes()[40..56], [0, 0, 0, 0, 0x14, 0, 0, 0, 0x01, 0, 0x46, 0, 0, 0, 0, 0]);
    round_trip(set);
}

#[test]
fn the_others_round_trip() {
    round_trip(FabricsCommand::PropertyGet { offset: 0, width: PropertyWidth::Eight });
    round_trip(FabricsCommand::Disconnect { record_format: 0 });
    let auth = AuthTransfer {
        protocol_specific_0: 1,
        protocol_specific_1: 1,
        security_protocol: 0xe9,
        length: 4096,
    };
    round_trip(FabricsCommand::AuthSend(auth));
    round_trip(FabricsCommand::AuthReceive(auth));
}

#[test]
fn unknown_types_and_widths_are_refused() {
    let mut sqe = FabricsCommand::PropertyGet { offset: 0, width: PropertyWidth::Four }
        .to_sqe(Cid(0), SglDescriptor::transport(0));
    sqe.set_cdw(10, 2);
    assert_eq!(FabricsCommand::parse(&sqe).unwrap_err().status.code(), Status::INVALID_FIELD);
    sqe.nsid = 0x42.into();
    assert_eq!(FabricsCommand::parse(&sqe).unwrap_err().status.code(), Status::INVALID_OPCODE);
}

#[test]
fn invalid_parameters_are_named_by_offset_and_place() {
    assert_eq!(ConnectParameter::SqSize.result(), 44);
    assert_eq!(ConnectParameter::HostNqn.result(), 0x1_0200);
}
