//! What happens in a daemon is told to who asks and to who follows, by the command line and by the
//! API.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use ashlar_control::FOLLOWERS_MAX;
use ashlar_control::types::{Event, Severity};

use ashlar_load::initiator::{ConnectOptions, Controller, HostIdentity};

use crate::hosts::{Load, Volume, options};
use crate::support::{Daemon, Place};

const ASHLAR: &str = env!("CARGO_BIN_EXE_ashlar");
/// Drives of the pool. What was on a lost one is restored on the others by itself: when, next to a
/// drive that is added, is not said.
const DRIVES: usize = 3;
const BLOCKS: u64 = 4096;
const GUEST: &str = "nqn.2014-08.org.example:guest";

fn listed(place: &Place) -> Vec<Event> {
    serde_json::from_value(place.json(&["events"])).expect("events")
}

/// The kind, with the state that it is about.
fn tell(event: &Event) -> String {
    format!("{} {}", event.what.kind, event.what.states.join(" ")).trim_end().to_owned()
}

fn place_of(events: &[Event], told: &str) -> Option<usize> {
    events.iter().position(|event| tell(event) == told)
}

fn is_told(events: &[Event], told: &str) -> bool {
    place_of(events, told).is_some()
}

fn follow(place: &Place) -> Command {
    let mut command = Command::new(ASHLAR);
    command.arg("--socket").arg(place.socket()).args(["events", "--follow", "--output", "json"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What it tells.
struct Follower {
    process: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    events: Vec<Event>,
}

impl Follower {
    fn start(place: &Place) -> Self {
        let mut process = follow(place).spawn().expect("it runs");
        let lines = BufReader::new(process.stdout.take().expect("it was piped")).lines();
        Follower { process, lines, events: Vec::new() }
    }

    /// Reads on until it has told all of that, or has ended.
    fn read_to(&mut self, told: &[&str]) {
        while !told.iter().all(|told| is_told(&self.events, told)) {
            let Some(line) = self.lines.next() else { return };
            self.events.push(serde_json::from_str(&line.expect("a line")).expect("an event"));
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A client of the API that follows, and the first line of the answer.
fn stream(place: &Place) -> (BufReader<UnixStream>, String) {
    let mut client = UnixStream::connect(place.socket()).expect("the daemon listens");
    client
        .write_all(b"GET /api/v1/events/stream HTTP/1.1\r\nhost: ashlar\r\n\r\n")
        .expect("it listens");
    let mut client = BufReader::new(client);
    let mut answer = String::new();
    client.read_line(&mut answer).expect("it answers");
    (client, answer)
}

/// What the stream tells until it has told all of that.
fn streamed_to(client: BufReader<UnixStream>, told: &[&str]) -> Vec<Event> {
    let mut events = Vec::new();
    for line in client.lines() {
        if let Some(data) = line.expect("a line").strip_prefix("data:") {
            events.push(serde_json::from_str(data).expect("an event"));
        }
        if told.iter().all(|told| is_told(&events, told)) {
            break;
        }
    }
    events
}

/// A pool that a host has written to, and one of its drives given up.
fn lose_a_drive(place: &Place) -> Daemon {
    let daemon = place.start();
    place.create_pool("tank", 0..DRIVES);
    place.ok(&[
        "volume",
        "create",
        "tank/v0",
        "--size",
        &(BLOCKS * 4096).to_string(),
        "--allow",
        "any",
    ]);
    let mut load = Load::start(place, vec![Volume::new("tank/v0", BLOCKS, 3)], 1);
    load.await_rounds();
    place.wait_until("the host is told of", |place| is_told(&listed(place), "host_connected"));
    load.join();
    place.wait_until("its end is told of", |place| is_told(&listed(place), "host_disconnected"));
    // It is lost for a while before all is restored.
    place.ok(&["pool", "set", "tank", "recon-prio=1"]);
    place.ok(&["drive", "fail", "tank/1", "--yes"]);
    daemon
}

fn assert_order(events: &[Event], expected: &[&str]) {
    let places: Vec<Option<usize>> = expected.iter().map(|told| place_of(events, told)).collect();
    let all: Vec<String> = events.iter().map(tell).collect();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{expected:?} in {all:?}: {places:?}"
    );
}

#[test]
fn a_lost_drive_is_told_of_from_its_loss_until_all_is_rebuilt() {
    let place = Place::new();
    let daemon = lose_a_drive(&place);
    // Told by the time that the verb has ended.
    let events = listed(&place);
    assert_order(
        &events,
        &["daemon_started", "pool_opened", "drive_state failed", "pool_state_entered degraded"],
    );
    let lost = &events[place_of(&events, "drive_state failed").expect("it is told")].what;
    assert_eq!((lost.pool.as_deref(), lost.drive.as_deref()), (Some("tank"), Some("drive-1")));
    assert_eq!(lost.severity, Severity::Error);
    let mut follower = Follower::start(&place);
    let (client, answer) = stream(&place);
    assert!(answer.contains("200"), "{answer}");
    place.ok(&["pool", "add-drive", "tank", &place.drive(DRIVES)]);
    place.ok(&["pool", "set", "tank", "recon-prio=100"]);
    let (added, end) = ("drive_added", "pool_state_left degraded");
    follower.read_to(&[added, end]);
    for expected in [&["drive_state released", end][..], &[added]] {
        assert_order(&follower.events, &[&["pool_state_entered degraded"], expected].concat());
    }
    // A rebuild that begins and ends between two looks is not told of.
    if is_told(&follower.events, "rebuild_began") {
        assert_order(
            &follower.events,
            &["pool_state_entered degraded", "rebuild_began", "rebuild_ended", end],
        );
    }
    let streamed = streamed_to(client, &[added, end]);
    assert_eq!(streamed, follower.events);
    assert!(listed(&place).starts_with(&streamed));
    assert!(
        streamed.windows(2).all(|two| two[1].seq == two[0].seq + 1 && two[1].time >= two[0].time)
    );
    let last = streamed[streamed.len() - 1].seq.to_string();
    let later: Vec<Event> =
        serde_json::from_value(place.json(&["events", "--after", &last])).expect("events");
    assert!(later.iter().all(|event| event.seq > streamed[streamed.len() - 1].seq));
    assert!(place.in_words(&["events"]).contains("drive-1 of pool 'tank' is released"));
    daemon.terminate();
}

#[test]
fn followers_that_go_leave_nothing_and_too_many_are_refused() {
    let place = Place::new();
    let daemon = place.start();
    let followers: Vec<_> = (0..FOLLOWERS_MAX).map(|_| stream(&place)).collect();
    assert!(followers.iter().all(|(_, answer)| answer.contains("200")));
    assert!(stream(&place).1.contains("503"));
    let refused = place.refused(&["events", "--follow"]);
    assert!(refused.contains("too many clients follow already"), "{refused}");
    drop(followers);
    place.wait_until("there is room again", |place| stream(place).1.contains("200"));
    daemon.terminate();
}

#[test]
fn followers_end_with_the_daemon_and_the_next_one_counts_on() {
    let place = Place::new();
    let daemon = place.start();
    let mut follower = Follower::start(&place);
    follower.read_to(&["daemon_started"]);
    daemon.terminate();
    follower.read_to(&["something that never happens"]);
    assert_eq!(follower.events.last().map(tell), Some("daemon_stopping".to_owned()));
    let mut said = String::new();
    let stderr = follower.process.stderr.take().expect("it was piped");
    BufReader::new(stderr).read_line(&mut said).expect("it says why");
    assert!(said.contains("the daemon has ended"), "{said}");
    assert!(!follower.process.wait().expect("a child").success());
    let _daemon = place.start();
    let last = follower.events[follower.events.len() - 1].seq;
    let all = listed(&place);
    assert!(all.iter().any(|event| event.seq == last), "it is kept: {all:?}");
    let mut starts = all.iter().filter(|event| event.what.kind == "daemon_started");
    assert!(starts.next_back().is_some_and(|start| start.seq > last), "{all:?}");
}

#[test]
fn the_api_says_what_it_has_of_events_and_refuses_what_it_does_not_understand() {
    let place = Place::new();
    let _daemon = place.start();
    let document = place.get("/api/v1/openapi.json");
    assert!(
        document.contains("/api/v1/events/stream") && document.contains("\"/api/v1/events\""),
        "{document}"
    );
    for path in [
        "/api/v1/events?after=x",
        "/api/v1/events?severity=terrible",
        "/api/v1/events?kind=explosion",
        "/api/v1/events?since=yesterday",
        "/api/v1/events/stream?before=1",
        "/api/v1/pools?confirm=true",
    ] {
        let answer = place.get(path);
        assert!(answer.contains("400") && answer.contains("invalid_query"), "{answer}");
    }
}

#[test]
fn following_ends_without_an_error_once_nobody_reads() {
    let place = Place::new();
    let _daemon = place.start();
    let mut process = follow(&place).stderr(Stdio::inherit()).spawn().expect("it runs");
    let mut first = String::new();
    let mut out = BufReader::new(process.stdout.take().expect("it was piped"));
    out.read_line(&mut first).expect("a line");
    assert!(first.contains("daemon_started"), "{first}");
    drop(out);
    place.create_pool("tank", 0..DRIVES);
    assert!(process.wait().expect("a child").success());
}

#[test]
fn every_change_is_told_with_who_asked_for_it_and_what_came_of_it() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..DRIVES);
    place.ok(&["volume", "create", "tank/v0", "--size", "16MiB", "--allow", "any"]);
    place.refused(&["volume", "create", "tank/v0", "--size", "16MiB"]);
    place.refused(&["volume", "delete", "tank/v0"]);
    place.ok(&["volume", "resize", "tank/v0", "--size", "32MiB"]);
    place.ok(&["pool", "set", "tank", "recon-prio=50"]);
    place.ok(&["pool", "scrub", "tank"]);
    place.ok(&["volume", "delete", "tank/v0", "--yes"]);
    place.ok(&["pool", "export", "tank", "--yes"]);
    let changes: Vec<Event> =
        listed(&place).into_iter().filter(|event| event.what.kind == "change").collect();
    let told = |event: &Event| {
        let what = &event.what;
        format!(
            "{} {}",
            what.operation.as_deref().unwrap_or("?"),
            what.result.as_deref().unwrap_or("?")
        )
    };
    let expected = [
        "pool create done",
        "volume create done",
        "volume create refused",
        "volume resize done",
        "pool set done",
        "pool scrub done",
        "volume delete done",
        "pool export done",
    ];
    assert_eq!(changes.iter().map(told).collect::<Vec<_>>(), expected);
    let me = rustix::process::getuid().as_raw();
    assert!(
        changes.iter().all(|event| event.what.uid == Some(me) && event.what.pid > Some(0)),
        "{changes:?}"
    );
    let refused = &changes[2].what.message;
    assert!(refused.contains("refused: there is a volume 'tank/v0' already"), "{refused}");
    let deleted = &changes[6].what;
    assert_eq!((deleted.pool.as_deref(), deleted.volume.as_deref()), (Some("tank"), Some("v0")));
}

/// Events about hosts, with why a controller has ended.
fn of_hosts(place: &Place) -> Vec<(String, Option<String>)> {
    let about = |event: &Event| event.what.host.as_deref() == Some(GUEST);
    let events = listed(place).into_iter().filter(about);
    events.map(|event| (event.what.kind, event.what.reason)).collect()
}

#[test]
fn hosts_are_told_of_when_they_come_and_go_however_short_with_address_and_reason() {
    let place = Place::new();
    let daemon = place.start();
    let host = HostIdentity { nqn: GUEST.to_owned(), id: [9; 16] };
    let options = ConnectOptions { host, io_queues: 1, ..options(&place) };
    let (here, gone) = (std::sync::mpsc::channel(), std::sync::mpsc::channel::<()>());
    let guest = std::thread::spawn(move || {
        let visit = async move {
            Controller::connect(options.clone()).await.expect("it serves").disconnect().await;
            drop(Controller::connect(options.clone()).await.expect("it serves"));
            let _stays = Controller::connect(options).await.expect("it serves");
            here.0.send(()).expect("the test waits");
            // Until the daemon has gone.
            while gone.1.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
                ashlar_reactor::sleep(std::time::Duration::from_millis(10)).await;
            }
        };
        ashlar_reactor::run(ashlar_reactor::Config::default(), visit).expect("a reactor starts");
    });
    here.1.recv().expect("it is connected");
    place.wait_until("all of them are told", |place| of_hosts(place).len() == 5);
    let events = listed(&place);
    let first = events.iter().find(|event| event.what.kind == "host_connected").expect("it");
    let address = first.what.address.as_deref().expect("it has one");
    assert!(address.starts_with("127.0.0.1:") && first.what.controller_id.is_some(), "{first:?}");
    daemon.terminate();
    let _daemon = place.start();
    drop(gone.0);
    guest.join().expect("it ends");
    let told = of_hosts(&place);
    // Which of the first two has ended first is not said.
    let mut ends: Vec<_> = told.iter().filter_map(|(_, reason)| reason.clone()).take(3).collect();
    ends.sort();
    assert_eq!(ends, ["connection_lost", "daemon_stopping", "host_disconnected"], "{told:?}");
}
