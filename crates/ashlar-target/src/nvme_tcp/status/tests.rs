use ashlar_block::Cause;

use super::of_cause;

#[test]
fn every_cause_has_its_status() {
    let golden = [
        (Cause::OutOfRange, 0x4080),
        (Cause::CapacityExceeded, 0x0081),
        (Cause::Unrecovered, 0x4281),
        (Cause::WriteFault, 0x0280),
        (Cause::WriteProtected, 0x4020),
        (Cause::Miscompare, 0x4285),
        (Cause::NoSuchVolume, 0x400b),
        (Cause::NotReady, 0x0082),
        (Cause::Formatting, 0x0084),
        (Cause::Sanitizing, 0x001d),
        (Cause::SanitizeFailed, 0x401c),
        (Cause::Internal, 0x0006),
    ];
    for (cause, bits) in golden {
        assert_eq!(of_cause(cause, false).bits(), bits, "{cause:?}");
    }
}

#[test]
fn what_passes_comes_with_a_delay_for_hosts_that_honour_it() {
    assert_eq!(of_cause(Cause::NotReady, true).bits(), 0x0882);
    assert!(!of_cause(Cause::NotReady, true).is_dnr());
    assert_eq!(of_cause(Cause::Formatting, true).bits(), 0x0884);
}
