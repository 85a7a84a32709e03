use zerocopy::IntoBytes;

use super::Cqe;
use crate::sqe::Cid;
use crate::status::Status;

#[test]
fn golden_completion() {
    let mut cqe = Cqe::new(Cid(0x1122), Status::INVALID_FIELD.dnr(), 0x0807_0605_0403_0201);
    cqe.sq_head = 0x0304.into();
    let golden = [1, 2, 3, 4, 5, 6, 7, 8, 0x04, 0x03, 0, 0, 0x22, 0x11, 0x04, 0x80];
    assert_eq!(cqe.as_bytes(), golden);
    assert_eq!(cqe.cid(), Cid(0x1122));
    assert_eq!(cqe.status(), Status::INVALID_FIELD.dnr());
}
