use super::*;

const RESTRICTED: Sanitize = Sanitize(sanitize_action::BLOCK_ERASE as u32);
const UNRESTRICTED: Sanitize = Sanitize(sanitize_action::BLOCK_ERASE as u32 | 1 << 3);
const EXIT: Sanitize = Sanitize(sanitize_action::EXIT_FAILURE as u32);

#[test]
fn a_restricted_failure_ends_with_a_restricted_erase_alone() {
    for (failed, next, is_allowed) in [
        (RESTRICTED, RESTRICTED, true),
        (RESTRICTED, UNRESTRICTED, false),
        (RESTRICTED, EXIT, false),
        (UNRESTRICTED, RESTRICTED, true),
        (UNRESTRICTED, UNRESTRICTED, true),
        (UNRESTRICTED, EXIT, true),
        (FORGOTTEN.command, EXIT, false),
    ] {
        let refused = Err(Rejection::from(Status::SANITIZE_FAILED.dnr()));
        let expected = if is_allowed { Ok(()) } else { refused };
        assert_eq!(check_after_failure(failed, next), expected, "{failed:?} and then {next:?}");
    }
}

#[test]
fn what_is_not_offered_is_refused_where_it_stands() {
    for action in [0, 3, 4, 5, 6, 7] {
        assert_eq!(check_command(Sanitize(action)), Err(Rejection::field(40)), "SANACT {action}");
    }
    for more in [1 << 9, 1 << 10] {
        assert_eq!(check_command(Sanitize(RESTRICTED.0 | more)), Err(Rejection::field(41)));
    }
    for command in [RESTRICTED, UNRESTRICTED, EXIT] {
        assert_eq!(check_command(command), Ok(()));
    }
}
