//! What a host costs that sends commands and reads no answers. Alone in its process: memory that
//! another test has given back would hide what it takes.

mod support;

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use ashlar_nvme::admin::{AdminCommand, Identify};
use ashlar_nvme::pdu::{Digests, Pdu};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::{Cid, Sqe};
use ashlar_nvme::status::Status;
use ashlar_target::nvme_tcp::Limits;
use rustix::net::sockopt;
use support::{Queue, Rig};

/// Commands that a host would send if it could, in bytes: their answers are far more than sockets
/// hold.
const SENT_BYTES_MAX: usize = 96 << 20;
/// What the answers may take in memory of the process, for one connection, with what reading the
/// commands takes.
const GROWN_KIB_MAX: u64 = 8 << 10;
/// How long nothing is taken from a host that is stopped.
const STOPPED_FOR: Duration = Duration::from_secs(2);
/// A response, and the header of data.
const HEADER_BYTES: usize = 24;

/// Memory of this process, in KiB.
fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Sends `command` over and over until nothing is taken any more. Returns how many bytes were.
fn flood(stream: &mut TcpStream, command: &[u8]) -> usize {
    let commands = command.repeat(512);
    let mut sent = 0;
    stream.set_write_timeout(Some(STOPPED_FOR)).unwrap();
    while sent < SENT_BYTES_MAX {
        match stream.write(&commands[sent % commands.len()..]) {
            Ok(count) => sent += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
    }
    stream.set_write_timeout(None).unwrap();
    sent
}

/// Sends the rest of the command that was cut off after `sent` bytes, while it reads the answers of
/// all.
fn take_answers(stream: &TcpStream, command: &[u8], sent: usize, answer_bytes: usize) {
    let rest = &command[sent % command.len()..];
    let answers = sent / command.len() + 1;
    let mut answer = vec![0; answer_bytes];
    thread::scope(|scope| {
        scope.spawn(|| (&mut &*stream).write_all(rest).unwrap());
        let mut reader = std::io::BufReader::new(stream);
        for number in 0..answers {
            reader
                .read_exact(&mut answer)
                .unwrap_or_else(|error| panic!("{number} of {answers}: {error}"));
        }
    });
}

/// Floods with `sqe`, whose answer is `answer_bytes` long, and reads in the end.
fn flood_and_read(mut queue: Queue, sqe: Sqe, answer_bytes: usize) {
    let command = queue.encode(&Pdu::Command(sqe), &[]);
    sockopt::set_socket_recv_buffer_size(&queue.stream, 64 << 10).unwrap();
    let before_kib = resident_kib();
    let sent = flood(&mut queue.stream, &command);
    let grown_kib = resident_kib().saturating_sub(before_kib);
    assert!(sent < SENT_BYTES_MAX, "a host that reads nothing is never stopped");
    assert!(grown_kib < GROWN_KIB_MAX, "{grown_kib} KiB more after {sent} bytes of commands");
    take_answers(&queue.stream, &command, sent, answer_bytes);
}

#[test]
fn a_host_that_reads_no_answers_is_stopped_and_then_gets_them_all() {
    let patient = Limits { handshake_timeout: Duration::from_secs(600), ..Limits::default() };
    let mut rig = Rig::with_limits(patient);
    let unknown = Sqe::new(0x7e, Cid(7), 0);
    flood_and_read(Queue::shaken(rig.io, Digests::NONE), unknown, HEADER_BYTES);
    flood_and_read(rig.admin(), unknown, HEADER_BYTES);
    let identify = Identify { cns: 1, controller_id: 0, specific_id: 0, command_set: 0 };
    let mut identify = AdminCommand::Identify(identify).to_sqe(Cid(7), 0);
    identify.sgl = SglDescriptor::transport(4096);
    flood_and_read(rig.admin(), identify, HEADER_BYTES + 4096 + HEADER_BYTES);
    let (admin, mut io) = rig.host();
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS, "others are served");
    drop((admin, io));
    rig.shutdown();
}
