//! Connections that come, say nothing and stay, as many as they like: whoever has something to say
//! is served all the same.

mod support;

use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ashlar_nvme::fabrics::{CNTLID_DYNAMIC, ConnectData};
use ashlar_nvme::pdu::Digests;
use ashlar_nvme::status::Status;
use ashlar_target::nvme_tcp::Limits;
use rustix::net::{AddressFamily, SocketType};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::{HOST_ID, Queue, Rig, SUBSYSTEM, connect_command, eventually, hurried};

/// Longer than any test takes: nobody goes because his time is up.
const FOR_EVER: Duration = Duration::from_secs(600);

/// The tests share the process's limit of open files.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn limits() -> Limits {
    hurried(FOR_EVER)
}

/// Connections that say nothing, and some that stop after their handshake.
fn flood(rig: &Rig, count: usize) -> Vec<Queue> {
    let connect = |number| match number % 4 {
        0 => Queue::shaken(rig.io, Digests::NONE),
        _ => Queue::open(rig.io),
    };
    (0..count).map(connect).collect()
}

/// Another host comes, and works.
fn comes_and_works(rig: &Rig) {
    let admin = Queue::admin(rig.io, SUBSYSTEM, "nqn.2014-08.org.example:other");
    let mut io = Queue::io(rig.io, &admin, 1);
    assert_eq!(io.write(0, &[2; 4096]), Status::SUCCESS);
}

#[test]
fn the_oldest_that_has_not_connected_makes_room_for_the_next() {
    let _turn = turn();
    let rig = Rig::with_limits(Limits { connecting_max: 2, ..limits() });
    let mut first = Queue::shaken(rig.io, Digests::NONE);
    let mut second = Queue::shaken(rig.io, Digests::NONE);
    let mut third = Queue::shaken(rig.io, Digests::NONE);
    assert!(first.receive().is_none());
    let data = ConnectData::new(HOST_ID, CNTLID_DYNAMIC, SUBSYSTEM, support::HOST);
    for queue in [&mut second, &mut third] {
        assert_eq!(queue.connect(&connect_command(0), &data).0.status(), Status::SUCCESS);
    }
}

#[test]
fn a_silent_flood_keeps_nobody_out_where_those_that_have_not_connected_are_bounded() {
    let _turn = turn();
    let rig = Rig::with_limits(Limits { connecting_max: 8, ..limits() });
    let (_admin, mut io) = rig.host();
    let _silent = flood(&rig, 100);
    comes_and_works(&rig);
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
}

#[test]
fn a_silent_flood_keeps_nobody_out_where_connections_are_bounded() {
    let _turn = turn();
    let rig = Rig::with_limits(Limits { connections_max: 10, ..limits() });
    let (_admin, mut io) = rig.host();
    let _silent = flood(&rig, 100);
    comes_and_works(&rig);
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
}

#[test]
fn nobody_who_has_connected_makes_room() {
    let _turn = turn();
    let rig = Rig::with_limits(Limits { connections_max: 2, ..limits() });
    let (mut admin, mut io) = rig.host();
    for _ in 0..10 {
        assert!(Queue::open(rig.io).receive().is_none(), "there is no room");
    }
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
    admin.enable();
}

/// A socket that is not connected yet.
fn socket() -> OwnedFd {
    rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap()
}

fn open_files() -> u64 {
    std::fs::read_dir("/proc/self/fd").unwrap().count() as u64
}

/// Lets this process have `most` open files. Returns the limit that was.
fn limit_open_files(most: u64) -> Rlimit {
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..before }).unwrap();
    before
}

// The hosts' own sockets are of this process, too: they are there before the limit is.
#[test]
fn a_silent_flood_keeps_nobody_out_where_files_are_short() {
    const SILENT: usize = 64;
    let _turn = turn();
    let rig = Rig::with_limits(limits());
    let (_admin, mut io) = rig.host();
    let mut sockets: Vec<OwnedFd> = (0..SILENT + 1).map(|_| socket()).collect();
    // Some for the target, and for what the test looks at.
    let before = limit_open_files(open_files() + 16);
    let host = sockets.pop().unwrap();
    for silent in &sockets {
        rustix::net::connect(silent, &rig.io).unwrap();
    }
    rustix::net::connect(&host, &rig.io).unwrap();
    let mut host = Queue::of(TcpStream::from(host));
    host.shake(Digests::NONE);
    let data =
        ConnectData::new([9; 16], CNTLID_DYNAMIC, SUBSYSTEM, "nqn.2014-08.org.example:other");
    assert_eq!(host.connect(&connect_command(0), &data).0.status(), Status::SUCCESS);
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
    eventually("both are connected", || rig.target.connected_hosts().len() == 2);
    setrlimit(Resource::Nofile, before).unwrap();
}
