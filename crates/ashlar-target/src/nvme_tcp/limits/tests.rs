use std::time::Duration;

use super::Limits;

#[test]
fn the_defaults_are_within_their_bounds() {
    let limits = Limits::default();
    assert_eq!(limits.check(), Ok(()));
    assert_eq!(limits.max_transfer_exponent(), 8);
    assert_eq!(limits.max_queue_size(), 1023);
}

// At 64 KiB for each that has not connected, 16 MiB for a reactor.
#[test]
fn by_default_256_connections_have_ten_seconds_each_to_connect() {
    let limits = Limits::default();
    assert_eq!((limits.connecting_max, limits.connections_max), (256, 1024));
    assert_eq!(limits.handshake_timeout, Duration::from_secs(10));
}

#[test]
fn a_limit_out_of_bounds_is_named_with_its_bounds() {
    let limits = Limits { transfer_bytes_max: 5000, ..Limits::default() };
    let text = limits.check().unwrap_err().to_string();
    assert_eq!(text, "transfer_bytes_max is 5000: it must be a power of two, 4096 to 16777216");
    let limits = Limits { connection_bytes_max: 1 << 20, ..Limits::default() };
    assert!(limits.check().unwrap_err().to_string().contains("four times transfer_bytes_max"));
    let limits = Limits { connect_wait: Duration::from_secs(10), ..Limits::default() };
    let text = limits.check().unwrap_err().to_string();
    assert!(
        text.starts_with("connect_wait is 10s: it must be less than handshake_timeout"),
        "{text}"
    );
}

// Each command is a task; a reactor that has no number left for another one would end the daemon.
#[test]
fn queues_have_no_more_commands_than_a_reactor_has_tasks() {
    let most = Limits { in_capsule_total_bytes_max: (4 << 20) * (16 << 10), ..Limits::default() };
    assert_eq!(most.check(), Ok(()));
    let text = Limits { in_capsule_bytes_max: 8 << 10, ..most }.check().unwrap_err().to_string();
    assert!(
        text.contains(
            "in_capsule_total_bytes_max is 68719476736: it must be at most 4194304 times"
        ),
        "{text}"
    );
}
