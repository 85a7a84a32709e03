//! What a connection costs that has not finished Connect, and how long it lasts. The tests take
//! turns, for what they weigh is the memory of the whole process: what is allocated, to the byte,
//! and what is resident.

mod support;

use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ashlar_nvme::fabrics::{CNTLID_DYNAMIC, ConnectData, FabricsCommand};
use ashlar_nvme::pdu::{Digests, Pdu};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::Cid;
use ashlar_nvme::status::Status;
use ashlar_nvme::zerocopy::IntoBytes;
use ashlar_reactor::allocations::{self, Counting};
use ashlar_target::nvme_tcp::Limits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::left::open_files;
use support::{HOST, HOST_ID, Queue, Rig, SUBSYSTEM, connect_command, eventually};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SILENT: u64 = 2000;
/// Of one connection that is not authenticated, in memory of the process.
const SILENT_BYTES_MAX: u64 = 64 << 10;
/// From when a connection is accepted, as the limits have it by default.
const TIMEOUT: Duration = Duration::from_secs(10);
/// They are late by as much as the machine is loaded: only a hang takes that long.
const PATIENCE: Duration = Duration::from_secs(300);

static TURN: Mutex<()> = Mutex::new(());

/// Until the guard is dropped the other test does not run.
fn turn() -> MutexGuard<'static, ()> {
    let files = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files });
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The defaults, but for how many may be there: by default the oldest of 256 that have not
/// connected makes room.
fn limits() -> Limits {
    Limits { connecting_max: 4000, connections_max: 4000, ..Limits::default() }
}

/// The same, where none is closed before all of them are weighed.
fn rig_that_waits() -> Rig {
    Rig::with_limits(Limits { handshake_timeout: PATIENCE, ..limits() })
}

/// Memory that is resident.
fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// As far as a connection comes before its host says no more.
type Stop = fn(&Rig) -> TcpStream;

/// The handshake is done.
fn shaken(rig: &Rig) -> TcpStream {
    Queue::shaken(rig.io, Digests::NONE).stream
}

/// A Connect whose capsule lacks its last byte.
fn all_but_a_byte(rig: &Rig) -> TcpStream {
    let mut queue = Queue::shaken(rig.io, Digests { header: true, data: true });
    let data = ConnectData::new(HOST_ID, CNTLID_DYNAMIC, SUBSYSTEM, HOST);
    let sqe =
        FabricsCommand::Connect(connect_command(0)).to_sqe(Cid(1), SglDescriptor::in_capsule(1024));
    let bytes = queue.encode(&Pdu::Command(sqe), data.as_bytes());
    queue.send_raw(&bytes[..bytes.len() - 1]);
    queue.stream
}

/// A Connect that has been asked for its data.
fn asked(rig: &Rig) -> TcpStream {
    let mut queue = Queue::shaken(rig.io, Digests::NONE);
    let sqe =
        FabricsCommand::Connect(connect_command(0)).to_sqe(Cid(1), SglDescriptor::transport(1024));
    queue.send_command(sqe, &[]);
    assert!(matches!(queue.receive(), Some((Pdu::R2t(_), _))));
    queue.stream
}

/// Connections that stop there; weighed.
fn silent(rig: &Rig, stop: Stop, name: &str) -> Vec<TcpStream> {
    let before = (allocations::live().bytes, resident_bytes());
    let connections: Vec<_> = (0..SILENT).map(|_| stop(rig)).collect();
    let cost = [
        allocations::live().bytes.saturating_sub(before.0),
        resident_bytes().saturating_sub(before.1),
    ];
    println!(
        "{name}: {:?} bytes allocated and resident for each",
        cost.map(|bytes| bytes / SILENT)
    );
    assert!(cost[0] > SILENT * 1024, "the test would not notice: {cost:?}");
    assert!(
        cost.iter().all(|bytes| *bytes <= SILENT * SILENT_BYTES_MAX),
        "{name}: {cost:?} for {SILENT}"
    );
    connections
}

#[test]
fn connections_that_stop_within_connect_cost_little() {
    let _turn = turn();
    let mut rig = rig_that_waits();
    let files = open_files();
    let stops: [(&str, Stop); 3] = [
        ("silent", shaken),
        ("all but a byte of Connect", all_but_a_byte),
        ("asked for its data", asked),
    ];
    for (name, stop) in stops {
        drop(silent(&rig, stop, name));
        eventually("all of them are closed", || open_files() <= files);
    }
    let (_admin, mut io) = rig.host();
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
    drop((_admin, io));
    rig.shutdown();
}

#[test]
fn two_thousand_silent_connections_are_closed_once_their_time_is_over() {
    let _turn = turn();
    assert_eq!(Limits::default().handshake_timeout, TIMEOUT);
    let mut rig = Rig::with_limits(limits());
    let (admin, mut io) = rig.host();
    let connections: Vec<_> = (0..SILENT).map(|_| (Instant::now(), shaken(&rig))).collect();
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS, "others are served");
    let mut late = Vec::new();
    for (begun, mut stream) in connections {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap(), 0, "closed in order, with nothing more said");
        late.push(begun.elapsed().checked_sub(TIMEOUT).expect("it has its time"));
    }
    late.sort_unstable();
    let (half, last) = (late[late.len() / 2], late[late.len() - 1]);
    println!("closed {half:?} after their time (half of them), {last:?} (all)");
    assert_eq!(io.read(0, 1).1, [1; 4096]);
    drop((admin, io));
    rig.shutdown();
}
