use std::net::IpAddr;

use ashlar_nvme::text::ascii_trimmed;

use super::{Portal, PortalKind, entries, log_page};

fn io(address: &str) -> Portal {
    Portal { address: address.parse().unwrap(), kind: PortalKind::Io }
}

fn discovery(address: &str) -> Portal {
    Portal { address: address.parse().unwrap(), kind: PortalKind::Discovery }
}

/// What the log says: subtype, address, port.
fn told(portals: &[Portal], reached: &str, sees_namespaces: bool) -> Vec<(u8, String, String)> {
    let reached: IpAddr = reached.parse().unwrap();
    let entries = entries(portals, reached, "nqn.a", sees_namespaces);
    let text = entries.iter().map(|entry| {
        (entry.subsystem_type, ascii_trimmed(&entry.address), ascii_trimmed(&entry.service))
    });
    text.collect()
}

fn row(kind: u8, address: &str, port: &str) -> (u8, String, String) {
    (kind, address.to_owned(), port.to_owned())
}

#[test]
fn a_wildcard_portal_is_named_by_the_address_that_the_host_reached() {
    let portals = [io("0.0.0.0:4420"), discovery("0.0.0.0:8009")];
    let want = [row(2, "10.1.2.3", "4420"), row(3, "10.1.2.3", "4420"), row(3, "10.1.2.3", "8009")];
    assert_eq!(told(&portals, "10.1.2.3", true), want);
}

#[test]
fn a_wildcard_is_named_to_hosts_of_its_own_family_alone() {
    let portals = [io("0.0.0.0:4420"), io("[::]:4421")];
    assert_eq!(
        told(&portals, "fe80::1", true),
        [row(2, "fe80::1", "4421"), row(3, "fe80::1", "4421")]
    );
    assert_eq!(
        told(&portals, "10.1.2.3", true),
        [row(2, "10.1.2.3", "4420"), row(3, "10.1.2.3", "4420")]
    );
}

#[test]
fn loopback_portals_are_named_to_this_machine_alone() {
    let portals = [io("127.0.0.1:4420"), io("10.0.0.1:4420")];
    assert_eq!(told(&portals, "10.0.0.1", true).len(), 2);
    assert_eq!(told(&portals, "127.0.0.1", true).len(), 4);
}

#[test]
fn a_host_that_may_see_nothing_is_told_of_no_subsystem() {
    let portals = [io("0.0.0.0:4420")];
    assert_eq!(told(&portals, "10.1.2.3", false), [row(3, "10.1.2.3", "4420")]);
}

#[test]
fn the_page_has_a_header_and_its_entries() {
    let entries = entries(&[io("10.0.0.1:4420")], "10.0.0.1".parse().unwrap(), "nqn.a", true);
    let page = log_page(7, &entries);
    assert_eq!(page.len(), 3 * 1024);
    assert_eq!((page[0], page[8]), (7, 2));
}
