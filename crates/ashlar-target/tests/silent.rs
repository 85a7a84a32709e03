//! What a connection costs that says nothing. Alone in its process: memory that another test has given back would
//! hide what it takes.

mod support;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use ashlar_nvme::status::Status;
use ashlar_target::nvme_tcp::Limits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::Rig;

/// Memory of this process, in KiB.
fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

const SILENT: u64 = 2000;
/// Of one connection that is not authenticated, in memory of the process.
const SILENT_KIB_MAX: u64 = 64;

/// A connection that shakes hands and then says nothing.
fn silent(rig: &Rig, request: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(rig.io).unwrap();
    stream.write_all(request).unwrap();
    let mut response = [0; 128];
    stream.read_exact(&mut response).unwrap();
    stream
}

#[test]
fn two_thousand_silent_connections_cost_little_and_are_closed() {
    let files = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files });
    let limits = Limits {
        connecting_max: 4000,
        connections_max: 4000,
        handshake_timeout: Duration::from_secs(2),
        ..Limits::default()
    };
    let mut rig = Rig::with_limits(limits);
    let (admin, mut io) = rig.host();
    let mut request = vec![0, 0, 128, 0, 128, 0, 0, 0];
    request.resize(128, 0);
    let before_kib = resident_kib();
    let connections: Vec<TcpStream> = (0..SILENT).map(|_| silent(&rig, &request)).collect();
    let cost_kib = resident_kib().saturating_sub(before_kib);
    assert!(cost_kib <= SILENT * SILENT_KIB_MAX, "{cost_kib} KiB for {SILENT} connections");
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS, "others are served");
    for mut stream in connections {
        assert_eq!(stream.read(&mut [0]).unwrap(), 0, "closed in order, with nothing more said");
    }
    assert_eq!(io.read(0, 1).1, [1; 4096]);
    drop((admin, io));
    rig.shutdown();
}
