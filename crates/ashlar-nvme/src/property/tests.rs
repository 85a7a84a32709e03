use super::{Capabilities, Configuration, ControllerStatus, ShutdownRequest, ShutdownState};

#[test]
fn golden_capabilities() {
    let io = Capabilities { max_queue_entries: 1023, timeout_500ms: 30, io_command_sets: true };
    assert_eq!(io.bits(), 0x0800_0820_1e01_03ff);
    assert_eq!(Capabilities::from_bits(io.bits()), io);
    let discovery = Capabilities { io_command_sets: false, ..io };
    assert_eq!(discovery.bits(), 0x0800_1000_1e01_03ff);
    assert_eq!(Capabilities::from_bits(discovery.bits()), discovery);
}

#[test]
fn what_linux_sets_is_understood() {
    // CC as the Linux host writes it: enable, all command sets, 4 KiB pages, 64- and 16-byte
    // entries.
    let configuration = Configuration(0x0046_0061);
    assert!(configuration.enabled());
    assert_eq!(configuration.command_sets(), 6);
    assert_eq!(configuration.page_size_exponent(), 0);
    assert_eq!(configuration.arbitration(), 0);
    assert_eq!((configuration.sqe_size_exponent(), configuration.cqe_size_exponent()), (6, 4));
    assert_eq!(configuration.shutdown(), ShutdownRequest::None);
    assert_eq!(configuration.with_shutdown().shutdown(), ShutdownRequest::Normal);
    assert_eq!(Configuration::enable().0, 0x0046_0001);
}

#[test]
fn golden_status() {
    let status = ControllerStatus { ready: true, fatal: false, shutdown: ShutdownState::Complete };
    assert_eq!(status.bits(), 0b1001);
    assert_eq!(ControllerStatus::from_bits(0b1001), status);
}
