use std::fs;

use super::*;
use crate::args::ServeArguments;

fn config(text: &str) -> Config {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    let arguments = ServeArguments {
        state: "/state".into(),
        config: Some(file.path().to_owned()),
        ..ServeArguments::default()
    };
    Config::resolve(&arguments, None).unwrap()
}

#[test]
fn each_setting_that_a_start_takes_is_named_when_it_has_changed() {
    let before = config("");
    let top = [
        ("listen", "['127.0.0.2:4420']"),
        ("discovery", "'none'"),
        ("socket", "'/s'"),
        ("reactors", "3"),
        ("spin_us", "7"),
        ("map_memory_bytes", "'77MiB'"),
        ("over_provisioning_percent", "40"),
        ("member_wait_seconds", "77"),
        ("drive_directories", "['/shelf']"),
        ("auto_rejoin", "false"),
        ("drive_poll_seconds", "7"),
        ("drive_hot_celsius", "77"),
        ("drive_worn_percent", "77"),
    ];
    for (name, value) in top {
        let changed = differing(&before, &config(&format!("{name} = {value}")));
        assert!(changed.contains(&name.to_owned()), "{name}: {changed:?}");
    }
    let limits = [
        ("connections_max", 77),
        ("connecting_max", 7),
        ("io_queues_max", 7),
        ("queue_entries_max", 77),
        ("transfer_bytes_max", 65536),
        ("in_capsule_bytes_max", 8192),
        ("in_capsule_total_bytes_max", 77 << 20),
        ("connection_bytes_max", 7 << 20),
        ("host_bytes_max", 77 << 20),
        ("reactor_bytes_max", 777 << 20),
        ("handshake_timeout_seconds", 7),
        ("connect_wait_seconds", 3),
        ("transfer_timeout_seconds", 7),
        ("closing_timeout_seconds", 7),
        ("keep_alive_min_seconds", 7),
        ("keep_alive_max_seconds", 777),
        ("health_interval_seconds", 7),
    ];
    for (name, value) in limits {
        let changed = differing(&before, &config(&format!("[limits]\n{name} = {value}")));
        assert!(changed.contains(&format!("limits.{name}")), "{name}: {changed:?}");
    }
}

#[test]
fn what_is_logged_and_what_has_not_changed_needs_no_start() {
    assert!(differing(&config(""), &config("log = 'debug'\nreactors = 1")).is_empty());
}
