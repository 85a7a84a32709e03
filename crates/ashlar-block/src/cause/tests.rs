use super::*;

#[test]
fn a_reason_that_is_passed_on_does_not_say_the_cause_twice() {
    let first = IoError::new(Cause::WriteFault, "2 drives are lost");
    let again = IoError::new(Cause::WriteFault, first.reason());
    assert_eq!(again.to_string(), "the write could not be made durable: 2 drives are lost");
    assert_eq!(IoError::from(Cause::NotReady).reason(), "not ready");
}
