//! What answers cost that nobody reads, from many connections at once. The tests take turns, for
//! what they weigh is all that the process has allocated.

mod support;

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ashlar_nvme::admin::{AdminCommand, GetLogPage};
use ashlar_nvme::log::page;
use ashlar_nvme::pdu::{Digests, Pdu};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::{Cid, Sqe};
use ashlar_nvme::status::Status;
use ashlar_reactor::allocations::{self, Counting};
use ashlar_target::nvme_tcp::Limits;
use rustix::net::sockopt;
use support::{Queue, Rig};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const CONNECTIONS: usize = 50;
/// Of one connection that has not finished Connect.
const NEWCOMER_BYTES_MAX: usize = 64 << 10;
/// Of one admin queue, beside what is in the budget.
const ADMIN_BYTES_MAX: usize = 128 << 10;
const LOG_PAGE_BYTES: u32 = 1 << 20;
const BUDGET: u64 = 16 << 20;
/// When nothing was taken for so long, the hosts are stopped.
const STOPPED_FOR: Duration = Duration::from_secs(1);
/// What the target holds in its socket for a host that does not read, at most, and a host in its
/// own.
const SOCKET_BYTES: usize = 32 << 10;

static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn rig() -> Rig {
    Rig::with_limits(Limits {
        handshake_timeout: Duration::from_secs(600),
        connection_bytes_max: BUDGET,
        host_bytes_max: BUDGET,
        reactor_bytes_max: BUDGET,
        ..Limits::default()
    })
}

/// A host that sends without end what is refused or answered, and reads nothing.
struct Deaf {
    stream: TcpStream,
    commands: Vec<u8>,
    sent: usize,
}

impl Deaf {
    fn new(queue: Queue, sqe: Sqe) -> Self {
        let command = queue.encode(&Pdu::Command(sqe), &[]);
        sockopt::set_socket_recv_buffer_size(&queue.stream, SOCKET_BYTES).unwrap();
        sockopt::set_socket_send_buffer_size(&queue.stream, SOCKET_BYTES).unwrap();
        queue.stream.set_nonblocking(true).unwrap();
        Deaf { stream: queue.stream, commands: command.repeat(16), sent: 0 }
    }

    /// Whether anything was taken.
    fn send(&mut self) -> bool {
        match self.stream.write(&self.commands[self.sent % self.commands.len()..]) {
            Ok(count) => self.sent += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            Err(error) => panic!("{error}"),
        }
        true
    }
}

/// Makes that many hosts, which send until all of them are stopped. Returns the bytes that were
/// allocated meanwhile.
fn flood(host: impl Fn() -> Deaf) -> (usize, Vec<Deaf>) {
    let before = allocations::live().bytes;
    let mut hosts: Vec<_> = (0..CONNECTIONS).map(|_| host()).collect();
    let mut last = Instant::now();
    while last.elapsed() < STOPPED_FOR {
        if hosts.iter_mut().filter_map(|host| host.send().then_some(())).count() > 0 {
            last = Instant::now();
        } else {
            std::thread::yield_now();
        }
    }
    (allocations::live().bytes.saturating_sub(before) as usize, hosts)
}

fn is_within(grown: usize, bytes_max: usize, hosts: &[Deaf]) {
    let sent: usize = hosts.iter().map(|host| host.sent).sum();
    println!("{grown} bytes for {} hosts that have sent {sent}", hosts.len());
    assert!(grown <= bytes_max, "{grown} bytes for {} hosts that have sent {sent}", hosts.len());
}

#[test]
fn answers_to_newcomers_that_read_none_cost_little() {
    let _turn = turn();
    let rig = rig();
    let refused = Sqe::new(0x7e, Cid(7), 0);
    let (grown, hosts) = flood(|| Deaf::new(Queue::shaken(rig.io, Digests::NONE), refused));
    is_within(grown, CONNECTIONS * NEWCOMER_BYTES_MAX, &hosts);
    let (_admin, mut io) = rig.host();
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS, "others are served");
}

#[test]
fn log_pages_that_nobody_reads_stay_within_the_budget() {
    let _turn = turn();
    let rig = rig();
    let get = GetLogPage {
        page: page::SMART,
        specific: 0,
        specific_id: 0,
        retain_event: false,
        bytes: LOG_PAGE_BYTES.into(),
        offset: 0,
        offset_is_index: false,
        command_set: 0,
    };
    // The same identifier again and again: each command comes when the one before is answered.
    let mut sqe = AdminCommand::GetLogPage(get).to_sqe(Cid(7), 0);
    sqe.sgl = SglDescriptor::transport(LOG_PAGE_BYTES);
    let (grown, hosts) = flood(|| Deaf::new(rig.admin(), sqe));
    is_within(grown, BUDGET as usize + CONNECTIONS * ADMIN_BYTES_MAX, &hosts);
    let mut other = rig.admin();
    assert_eq!(
        other.identify(1, 0).0,
        Status::SUCCESS,
        "what is small needs no memory of the budget"
    );
}
