use std::net::TcpListener;

use super::*;

/// As a little-endian machine has them; the tests run on no other.
const TCP: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1144 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0 100 0 0 10 0
   1: 00000000:1F49 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 222 1 0 100 0 0 10 0
   2: 0100007F:1144 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 333 1 0 100 0 0 10 0
";
const TCP6: &str = "\
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when
   0: 00000000000000000000000000000000:1144 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 444 1 0 100 0 0 10 0
   1: 00000000000000000000000001000000:1144 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 555 1 0 100 0 0 10 0
   2: 0000000000000000FFFF00000100007F:1144 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 666 1 0 100 0 0 10 0
";

fn found(table: &str, address: &str) -> Vec<u64> {
    listening(table, address.parse().unwrap())
}

#[test]
fn who_listens_is_found_by_address_or_wildcard() {
    assert_eq!(found(TCP, "127.0.0.1:4420"), [111], "and no connection by that port");
    assert_eq!(found(TCP, "0.0.0.0:4420"), [111]);
    assert_eq!(found(TCP, "10.0.0.1:8009"), [222]);
    assert!(found(TCP, "10.0.0.1:4420").is_empty());
    assert!(found(TCP, "127.0.0.1:4421").is_empty());
}

#[test]
fn who_listens_by_ipv6_may_have_the_port_of_ipv4_too() {
    assert_eq!(found(TCP6, "[::1]:4420"), [444, 555]);
    assert_eq!(found(TCP6, "127.0.0.1:4420"), [444, 666]);
    assert_eq!(found(TCP6, "10.0.0.1:4420"), [444]);
}

#[test]
fn a_table_that_is_not_understood_names_nobody() {
    for table in [
        "",
        "sl\n",
        "0: 0100007F:1144",
        "0: 0100007:1144 0 0A 0 0 0 0 0 x",
        "0: é00007F:1144 0 0A 0 0 0 0 0 1",
    ] {
        assert!(found(table, "127.0.0.1:4420").is_empty(), "{table}");
    }
}

#[test]
fn this_process_is_never_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    assert_eq!(PortUser::of(listener.local_addr().unwrap()), None);
}
