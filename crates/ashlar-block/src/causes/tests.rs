use std::io;

use super::with_causes;

#[derive(Debug, thiserror::Error)]
enum ListenError {
    #[error("cannot listen: {0}")]
    SaysItsCause(#[source] io::Error),
    #[error("cannot listen")]
    LeavesItsCause(#[source] io::Error),
}

#[test]
fn what_a_message_has_said_is_not_said_again() {
    let refused = || io::Error::from(io::ErrorKind::PermissionDenied);
    assert_eq!(
        with_causes(&ListenError::SaysItsCause(refused())),
        "cannot listen: permission denied"
    );
    assert_eq!(
        with_causes(&ListenError::LeavesItsCause(refused())),
        "cannot listen: permission denied"
    );
}
