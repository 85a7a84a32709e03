use zerocopy::{FromBytes, IntoBytes};

use super::{Cid, Fuse, Sqe};
use crate::sgl::SglDescriptor;

#[test]
fn golden_command() {
    let mut sqe = Sqe::new(0x02, Cid(0x1234), 7);
    sqe.sgl = SglDescriptor::transport(4096);
    sqe.set_cdw_10_11(0x0102_0304_0506_0708);
    sqe.set_cdw(12, 0xa0b0_c0d0);
    sqe.set_fuse(Fuse::Second);
    let bytes = sqe.as_bytes();
    assert_eq!(bytes[..8], [0x02, 0x42, 0x34, 0x12, 7, 0, 0, 0]);
    assert_eq!(bytes[8..24], [0; 16]);
    assert_eq!(bytes[32..36], [0, 0x10, 0, 0]);
    assert_eq!(bytes[39], 0x5a);
    assert_eq!(bytes[40..48], [8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(bytes[48..52], [0xd0, 0xc0, 0xb0, 0xa0]);
    assert_eq!(bytes[52..], [0; 12]);
    assert_eq!(Sqe::read_from_bytes(bytes).unwrap(), sqe);
}

#[test]
fn reserved_fuse_and_prp_are_refused() {
    let mut sqe = Sqe::new(0, Cid(0), 0);
    assert_eq!(sqe.fuse(), Ok(Fuse::Normal));
    assert!(sqe.check_data_pointer().is_ok());
    sqe.flags = 3;
    assert!(sqe.fuse().is_err());
    assert!(sqe.check_data_pointer().is_err());
}
