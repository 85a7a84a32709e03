use super::{ErrorLocation, Status};

#[test]
fn bits_are_where_the_completion_has_them() {
    assert_eq!(Status::LBA_OUT_OF_RANGE.dnr().bits(), 0x4080);
    assert_eq!(Status::UNRECOVERED_READ_ERROR.bits(), 0x0281);
    assert_eq!(Status::CONNECT_INVALID_PARAMETERS.dnr().bits(), 0x4182);
    assert_eq!(Status::NAMESPACE_NOT_READY.retry_after(2).bits(), 0x1082);
    assert_eq!(Status::INVALID_FIELD.dnr().more().bits(), 0x6002);
}

#[test]
fn the_code_is_found_under_its_hints() {
    let status = Status::from_bits(Status::CAPACITY_EXCEEDED.dnr().retry_after(3).bits());
    assert_eq!(status.code(), Status::CAPACITY_EXCEEDED);
    assert_eq!(status.retry_delay_index(), 3);
    assert!(status.is_dnr() && !status.is_success());
    assert_eq!(format!("{status}"), "CAPACITY_EXCEEDED (do not retry)");
}

#[test]
fn locations_hold_byte_and_bit() {
    assert_eq!(ErrorLocation::bit(41, 7).0, 0x0729);
}
