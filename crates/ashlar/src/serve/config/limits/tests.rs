use super::*;

const GIB: u64 = 1 << 30;

fn table(text: &str) -> LimitsTable {
    toml::from_str(text).unwrap()
}

#[test]
fn what_hosts_may_take_fits_the_memory_of_a_small_machine() {
    let limits = table("").resolve(3 * GIB).unwrap();
    assert_eq!(limits.in_capsule_total_bytes_max, GIB / 2);
    assert_eq!((limits.reactor_bytes_max, limits.host_bytes_max), (GIB / 2, GIB / 16));
    let limits = table("").resolve(256 * GIB).unwrap();
    assert_eq!((limits.in_capsule_total_bytes_max, limits.reactor_bytes_max), (4 * GIB, GIB));
    let connections_max = |bytes| table("").resolve(bytes).unwrap().connections_max;
    assert_eq!([16 << 20, GIB, 3 * GIB, 256 * GIB].map(connections_max), [256, 455, 1024, 1024]);
}

#[test]
fn every_limit_can_be_set() {
    let text = "
        connections_max = 5\nconnecting_max = 4\nio_queues_max = 3\nqueue_entries_max = 16
        transfer_bytes_max = 65536\nin_capsule_bytes_max = 4096\nin_capsule_total_bytes_max = 131072
        connection_bytes_max = 1048576\nhost_bytes_max = 2097152\nreactor_bytes_max = 4194304
        handshake_timeout_seconds = 8\ntransfer_timeout_seconds = 2\nclosing_timeout_seconds = 3
        keep_alive_min_seconds = 4\nkeep_alive_max_seconds = 5\nhealth_interval_seconds = 6
        connect_wait_seconds = 7\nready_wait_seconds = 9";
    // Exhaustive, so that a limit that is added is asked for here.
    let Limits {
        connections_max,
        connecting_max,
        handshake_timeout,
        connect_wait,
        transfer_timeout,
        ready_wait,
        // No key: a host's patience is its own, and this is what all known hosts have.
        throttle_wait: _,
        closing_timeout,
        io_queues_max,
        queue_entries_max,
        in_capsule_bytes_max,
        in_capsule_total_bytes_max,
        transfer_bytes_max,
        connection_bytes_max,
        host_bytes_max,
        reactor_bytes_max,
        keep_alive_min,
        keep_alive_max,
        health_interval,
    } = table(text).resolve(GIB).unwrap();
    assert_eq!((connections_max, connecting_max, io_queues_max, queue_entries_max), (5, 4, 3, 16));
    assert_eq!((transfer_bytes_max, in_capsule_bytes_max), (65536, 4096));
    let bytes =
        [in_capsule_total_bytes_max, connection_bytes_max, host_bytes_max, reactor_bytes_max];
    assert_eq!(bytes, [131_072, 1 << 20, 2 << 20, 4 << 20]);
    let times = [
        handshake_timeout,
        transfer_timeout,
        closing_timeout,
        keep_alive_min,
        keep_alive_max,
        health_interval,
        connect_wait,
        ready_wait,
    ];
    assert_eq!(times.map(|time| time.as_secs()), [8, 2, 3, 4, 5, 6, 7, 9]);
}

#[test]
fn a_limit_out_of_its_bounds_is_named() {
    let error = table("host_bytes_max = 1").resolve(GIB).unwrap_err();
    assert_eq!(
        format!("{error:#}"),
        "in the table [limits]: host_bytes_max is 1: it must be at least connection_bytes_max"
    );
    let error =
        table("handshake_timeout_seconds = 6\nconnect_wait_seconds = 6").resolve(GIB).unwrap_err();
    let text = format!("{error:#}");
    assert!(text.contains("connect_wait is 6s: it must be less than handshake_timeout"), "{text}");
    assert_eq!(
        table("handshake_timeout_seconds = 1").resolve(GIB).unwrap().connect_wait.as_millis(),
        500
    );
}
