use std::time::Duration;

use super::*;

const NQN: &str = "nqn.2014-08.org.nvmexpress:uuid:4c4c4544-0051-3010-8056-b4c04f4d3532";
const ID: &str = "11111111-2222-3333-4444-555555555555";

fn at(unix_seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(unix_seconds)
}

fn host(id: &str, address: &str, controller_id: u16) -> Host {
    Host {
        nqn: NQN.to_owned(),
        host_id: id.to_owned(),
        address: address.to_owned(),
        io_queues: 8,
        connected_at: "1970-01-01T00:00:40Z".to_owned(),
        controller_id,
        kind: "io".to_owned(),
        reads: CommandCounts { operations: 1000, transferred_bytes: 4 << 20 },
        ..Host::default()
    }
}

#[test]
fn a_host_is_shown_once_with_all_addresses_that_it_comes_from() {
    let controllers = [
        host(ID, "10.0.0.5:50000", 1),
        host(ID, "10.0.1.5:50001", 2),
        host(ID, "10.0.0.5:50002", 3),
        host(ID, "[fd00::5]:50003", 4),
        host(ID, "10.0.2.5:50004", 5),
    ];
    let said = hosts_at(&controllers, at(100));
    assert!(said.contains("reads       5.00K (20.0MB)\n"), "{said}");
    assert_eq!(said.matches(NQN).count(), 1, "{said}");
    assert!(said.contains("addresses   10.0.0.5, 10.0.1.5, 10.0.2.5, fd00::5\n"), "{said}");
    for controller in &controllers {
        assert!(said.contains(&controller.address), "{said}");
    }
}

#[test]
fn two_hosts_of_one_name_are_shown_apart() {
    let other = "99999999-2222-3333-4444-555555555555";
    let said =
        hosts_at(&[host(ID, "10.0.0.5:50000", 1), host(other, "10.0.0.6:50000", 2)], at(100));
    assert_eq!(said.matches(NQN).count(), 2, "{said}");
    assert!(said.contains(ID) && said.contains(other), "{said}");
}

#[test]
fn no_line_is_longer_than_a_terminal_is_wide() {
    let address = "[fd00:1111:2222:3333:4444:5555:6666:7777]:65535";
    let controllers = [Host {
        connected_at: "1970-01-01T00:00:00Z".to_owned(),
        kind: "discovery".to_owned(),
        ..host(ID, address, 65519)
    }];
    let said = hosts_at(&controllers, at(10 * 365 * 86_400));
    let long: Vec<&str> = said.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(long.is_empty(), "{long:?}");
}
