use std::io;

use anyhow::Context;

use super::with_causes;

#[test]
fn what_a_message_has_said_is_not_said_again() {
    let refused = || io::Error::from(io::ErrorKind::PermissionDenied);
    let says_it = Err::<(), _>(refused()).context(format!("cannot listen: {}", refused())).unwrap_err();
    assert_eq!(with_causes(says_it.as_ref()), "cannot listen: permission denied");
    let leaves_it = Err::<(), _>(refused()).context("cannot listen").unwrap_err();
    assert_eq!(with_causes(leaves_it.as_ref()), "cannot listen: permission denied");
}
