use zerocopy::IntoBytes;

use super::{DataLocation, SglDescriptor};
use crate::status::Status;

#[test]
fn golden_descriptors() {
    assert_eq!(
        SglDescriptor::in_capsule(0x1000).as_bytes(),
        [0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x10, 0, 0, 0, 0, 0, 0x01]
    );
    assert_eq!(
        SglDescriptor::transport(0x20000).as_bytes(),
        [0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x00, 2, 0, 0, 0, 0, 0x5a]
    );
}

#[test]
fn locations_read_back() {
    assert_eq!(
        SglDescriptor::in_capsule(512).location(),
        Ok(DataLocation::InCapsule { length: 512 })
    );
    assert_eq!(SglDescriptor::transport(0).location(), Ok(DataLocation::Transport { length: 0 }));
}

#[test]
fn foreign_types_and_offsets_are_refused() {
    let keyed = SglDescriptor { kind: 0x40, ..SglDescriptor::default() };
    assert_eq!(keyed.location().unwrap_err().status.code(), Status::SGL_TYPE_INVALID);
    let shifted = SglDescriptor { address: 8.into(), ..SglDescriptor::in_capsule(8) };
    assert_eq!(shifted.location().unwrap_err().status.code(), Status::SGL_OFFSET_INVALID);
}
