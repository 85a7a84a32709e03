//! Whatever becomes of the daemon's log, the daemon serves, and ends when it is told to.

use std::fs::File;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

use ashlar_load::initiator::{ConnectOptions, Controller, HostIdentity};
use bytes::Bytes;
use rustix::io::ioctl_fionread;
use rustix::net::sockopt::set_socket_linger;

use crate::disks::SmallDisk;
use crate::support::{Daemon, Place, skip};

const HOST: &str = "nqn.2014-08.org.example:host";
/// What a pipe takes, less what may not fit behind the last line.
const PIPE_BYTES: u64 = (64 << 10) - 4096;
/// Connects of a round.
const CONNECTS: u64 = 300;

/// A daemon with a pool and a volume, that logs `level` to `standard_error`.
fn start(place: &Place, level: &str, standard_error: impl Into<Stdio>) -> Daemon {
    let mut command = place.serve();
    command.env("RUST_LOG", level).stderr(standard_error);
    let mut daemon = place.spawn(command);
    daemon.wait_for("READY=1");
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "64MiB", "--allow", "any"]);
    daemon
}

fn options(place: &Place) -> ConnectOptions {
    let status = place.json(&["status"]);
    let port = status["portals"][0]["port"].as_u64().expect("a port") as u16;
    let nqn = status["subsystem_nqn"].as_str().expect("a name");
    let host = HostIdentity { nqn: HOST.to_owned(), id: [7; 16] };
    ConnectOptions {
        io_queues: 1,
        ..ConnectOptions::new(SocketAddr::from(([127, 0, 0, 1], port)), nqn, host)
    }
}

fn on_reactor<T: 'static>(work: impl Future<Output = T> + 'static) -> T {
    ashlar_reactor::run(ashlar_reactor::Config::default(), work).expect("a reactor starts")
}

/// A host connects `times` times, and goes.
fn connect(place: &Place, times: u64) {
    let options = options(place);
    on_reactor(async move {
        for _ in 0..times {
            Controller::connect(options.clone())
                .await
                .expect("the daemon serves")
                .disconnect()
                .await;
        }
    });
}

/// Somebody connects `times` times and says nothing.
fn knock(place: &Place, times: usize) {
    let address = options(place).address;
    for _ in 0..times {
        let stream = TcpStream::connect(address).expect("the daemon listens");
        // By a reset, after which the port is free again.
        set_socket_linger(&stream, Some(Duration::ZERO)).expect("a socket");
    }
}

fn a_host_reads_and_writes(place: &Place) {
    let options = options(place);
    on_reactor(async move {
        let controller = Controller::connect(options).await.expect("the daemon serves");
        let namespace = controller.namespace(1).await.expect("allowed");
        let data = Bytes::from(vec![0x5a; 4096]);
        namespace.write(7, data.clone()).await.expect("written");
        assert!(namespace.read(7, 1).await.expect("read")[..] == data[..]);
        controller.disconnect().await;
    });
}

#[test]
fn each_line_of_a_log_in_json_is_an_object_with_what_programs_look_for() {
    let place = Place::new();
    let log = place.path("log");
    let mut command = place.serve();
    command.args(["--log-format", "json"]).env("RUST_LOG", "debug");
    command.stderr(File::create(&log).unwrap());
    let mut daemon = place.spawn(command);
    daemon.wait_for("READY=1");
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "64MiB", "--allow", "any"]);
    a_host_reads_and_writes(&place);
    daemon.terminate();
    let said = std::fs::read_to_string(&log).unwrap();
    assert!(said.contains("\"message\":\"stopped\""), "{said}");
    for line in said.lines() {
        let object: serde_json::Value = serde_json::from_str(line).expect(line);
        for key in ["timestamp", "level", "message", "target"] {
            assert!(object[key].is_string(), "{key}: {line}");
        }
    }
}

#[test]
fn a_daemon_whose_standard_error_is_full_serves_and_ends() {
    let place = Place::new();
    let daemon = start(&place, "debug", File::options().write(true).open("/dev/full").unwrap());
    connect(&place, CONNECTS);
    a_host_reads_and_writes(&place);
    daemon.terminate();
}

// A device that is full takes nothing. A file system takes what fits in the last page of the log,
// and has room again.
#[test]
fn a_daemon_whose_log_lies_on_a_full_file_system_serves_and_says_later_how_much_it_has_dropped() {
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(place.path("logs"), 1024) else {
        return skip("mounting a file system is not permitted here");
    };
    let log = disk.0.join("log");
    let daemon =
        start(&place, "debug", File::options().create(true).append(true).open(&log).unwrap());
    disk.fill();
    connect(&place, CONNECTS);
    a_host_reads_and_writes(&place);
    let said = std::fs::read_to_string(&log).unwrap();
    assert!(!said.contains(" lines dropped: "), "it was not full: {said}");
    disk.clear();
    place.wait_until("the log says what it lacks", |place| {
        connect(place, 1);
        std::fs::read_to_string(&log)
            .unwrap()
            .contains(" lines dropped: standard error could not take them")
    });
    a_host_reads_and_writes(&place);
    daemon.terminate();
    let said = std::fs::read_to_string(&log).unwrap();
    assert!(said.ends_with('\n') && !said.contains('\0'), "{said}");
}

#[test]
fn a_daemon_whose_log_has_lost_its_reader_serves_and_ends() {
    let place = Place::new();
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let daemon = start(&place, "debug", writer);
    connect(&place, CONNECTS);
    a_host_reads_and_writes(&place);
    daemon.terminate();
}

#[test]
fn a_daemon_whose_log_nobody_reads_serves_and_ends() {
    let place = Place::new();
    let (reader, writer) = io::pipe().unwrap();
    let daemon = start(&place, "debug", writer);
    while ioctl_fionread(&reader).unwrap() < PIPE_BYTES {
        connect(&place, CONNECTS);
    }
    connect(&place, CONNECTS);
    a_host_reads_and_writes(&place);
    daemon.terminate();
}

#[test]
fn a_daemon_whose_log_is_flooded_drops_lines_and_says_how_many_once_it_is_read_again() {
    let place = Place::new();
    let (mut reader, writer) = io::pipe().unwrap();
    let daemon = start(&place, "debug", writer);
    // More than the queue has room for: each of them is a line of about a hundred bytes.
    knock(&place, 8000);
    a_host_reads_and_writes(&place);
    assert!(ioctl_fionread(&reader).unwrap() >= PIPE_BYTES);
    let mut said = Vec::new();
    let mut part = [0; 4096];
    while !String::from_utf8_lossy(&said).contains(" lines dropped: ") {
        let bytes = reader.read(&mut part).unwrap();
        assert!(bytes > 0, "the daemon has ended");
        said.drain(..said.len().saturating_sub(4096));
        said.extend_from_slice(&part[..bytes]);
    }
    a_host_reads_and_writes(&place);
    // What it says at its end has to go somewhere.
    let rest = std::thread::spawn(move || io::copy(&mut reader, &mut io::sink()));
    daemon.terminate();
    rest.join().unwrap().unwrap();
}

#[test]
fn a_connect_that_is_refused_is_logged_with_its_host_and_the_reason() {
    let place = Place::new();
    let log = place.path("log");
    let daemon = start(&place, "warn", File::create(&log).unwrap());
    let named = |subsystem: Option<&str>, host: Option<&str>| {
        let mut options = options(&place);
        subsystem.into_iter().for_each(|nqn| nqn.clone_into(&mut options.subsystem_nqn));
        host.into_iter().for_each(|nqn| nqn.clone_into(&mut options.host.nqn));
        assert!(on_reactor(async move { Controller::connect(options).await.is_err() }));
    };
    let elsewhere = "nqn.2014-08.org.example:elsewhere";
    named(Some(elsewhere), None);
    named(None, Some("no name\u{1b}[31m"));
    let id = "host_id=07070707-0707-0707-0707-070707070707";
    let parts = [
        vec![
            "the subsystem that it asks for is not this one",
            HOST,
            id,
            "peer=127.0.0.1:",
            elsewhere,
        ],
        vec![
            "the name of the host is no NVMe qualified name",
            "host=no name\\x1b[31m",
            id,
            "peer=127.0.0.1:",
        ],
    ];
    for parts in parts {
        let is_said = |line: &str| {
            line.contains(" WARN ")
                && line.contains("Connect refused: ")
                && parts.iter().all(|part| line.contains(part))
        };
        place.wait_until(&format!("the log says {parts:?}"), |_| {
            std::fs::read_to_string(&log).unwrap().lines().any(is_said)
        });
    }
    daemon.terminate();
}

#[test]
fn hosts_that_connect_all_the_time_have_few_lines_and_are_counted() {
    let place = Place::new();
    let log = place.path("log");
    let since = Instant::now();
    let daemon = start(&place, "info", File::create(&log).unwrap());
    connect(&place, 2000);
    let status = place.json(&["status"]);
    assert_eq!(status["host_connects"], 2000);
    place.wait_until("all of them are gone", |place| {
        place.json(&["status"])["host_disconnects"] == 2000
    });
    // What each look of the watcher finds differs, but whoever has come is told of, and has gone.
    let events = place.ok(&["events"]);
    let (come, gone) = (events.find("host_connected"), events.rfind("host_disconnected"));
    assert!(come.is_some() && come < gone, "{events}");
    daemon.terminate();
    let intervals =
        since.elapsed().as_nanos().div_ceil(Duration::from_secs(10).as_nanos()) as usize;
    let said = std::fs::read_to_string(&log).unwrap();
    for line in ["host connected", "host disconnected"] {
        let lines = said.lines().filter(|said| said.contains(line)).count();
        assert!((1..=16 * intervals).contains(&lines), "{lines} lines in {intervals} intervals");
    }
    assert!(said.contains(&format!("host={HOST}")) && said.contains("peer=127.0.0.1:"), "{said}");
}
