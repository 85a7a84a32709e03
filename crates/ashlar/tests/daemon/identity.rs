//! Who is taken for whom: two hosts under one name, and two nodes with one state directory.

use std::fs;
use std::net::SocketAddr;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ashlar_load::initiator::{ConnectOptions, Controller, HostIdentity};

use crate::support::Place;

const CLONED: &str = "nqn.2014-08.org.example:cloned";
const MULTIPATH: &str = "nqn.2014-08.org.example:multipath";

/// A host that is connected until it is told to go.
struct Host {
    go: Sender<()>,
    thread: JoinHandle<()>,
}

impl Host {
    /// One that sends a Keep Alive each second. Returns once it is connected.
    fn connect(place: &Place, nqn: &str, id: u8) -> Self {
        let status = place.json(&["status"]);
        let port = status["portals"][0]["port"].as_u64().expect("a port") as u16;
        let subsystem = status["subsystem_nqn"].as_str().expect("a name");
        let host = HostIdentity { nqn: nqn.to_owned(), id: [id; 16] };
        let options =
            ConnectOptions::new(SocketAddr::from(([127, 0, 0, 1], port)), subsystem, host);
        let options = ConnectOptions { keep_alive: Duration::from_secs(2), ..options };
        let (go, gone) = channel();
        let (connected, is_connected) = channel();
        let thread = std::thread::spawn(move || {
            let stay = async move {
                let controller = Controller::connect(options).await.expect("the daemon serves");
                connected.send(()).expect("somebody waits");
                while gone.try_recv().is_err() {
                    ashlar_reactor::sleep(Duration::from_millis(50)).await;
                }
                controller.disconnect().await;
            };
            ashlar_reactor::run(ashlar_reactor::Config::default(), stay).expect("a reactor starts");
        });
        is_connected.recv().expect("it connects");
        Host { go, thread }
    }

    fn leave(self) {
        self.go.send(()).expect("it is there");
        self.thread.join().expect("it goes well");
    }
}

#[test]
fn two_hosts_under_one_name_are_an_event_and_a_host_with_two_paths_is_none() {
    let place = Place::new();
    let daemon = place.start();
    let paths = [Host::connect(&place, MULTIPATH, 9), Host::connect(&place, MULTIPATH, 9)];
    let clones = [Host::connect(&place, CLONED, 1), Host::connect(&place, CLONED, 2)];
    place.wait_until("the name is told to be shared", |place| {
        place.ok(&["events"]).contains("host_nqn_shared")
    });
    let events = place.json(&["events"]);
    let shared = events
        .as_array()
        .expect("events")
        .iter()
        .filter(|event| event["kind"] == "host_nqn_shared");
    let shared: Vec<_> = shared.collect();
    assert_eq!(shared.len(), 1, "{shared:?}");
    assert_eq!((&shared[0]["host"], &shared[0]["severity"]), (&CLONED.into(), &"warning".into()));
    let message = shared[0]["message"].as_str().expect("a text");
    for part in ["01010101-0101", "02020202-0202", "127.0.0.1:"] {
        assert!(message.contains(part), "{message}");
    }
    let listed = place.ok(&["host", "list"]);
    assert_eq!(
        (listed.matches(CLONED).count(), listed.matches(MULTIPATH).count()),
        (2, 1),
        "{listed}"
    );
    paths.into_iter().chain(clones).for_each(Host::leave);
    daemon.terminate();
}

#[test]
fn a_state_directory_that_another_machine_has_used_is_an_event_with_both() {
    let place = Place::new();
    place.start().terminate();
    let file = place.path("node.toml");
    let text = fs::read_to_string(&file).expect("a state");
    let moved = |place: &Place| -> Vec<String> {
        let events = place.json(&["events", "--kind", "node_moved"]);
        let messages = events.as_array().expect("events").iter().map(|event| &event["message"]);
        messages.map(|message| message.as_str().expect("a text").to_owned()).collect()
    };
    // As if the directory had been copied from a machine of that identity.
    let mut state: toml::Table = text.parse().expect("a table");
    let other = "0f0f0f0f-0f0f-4f0f-8f0f-0f0f0f0f0f0f";
    let machine = state["machine"].as_table_mut().expect("a machine");
    if !["id", "hardware"].iter().any(|key| machine.contains_key(*key)) {
        return crate::support::skip("this machine has no identity");
    }
    for key in
        ["id", "hardware"].into_iter().filter(|key| machine.contains_key(*key)).collect::<Vec<_>>()
    {
        machine.insert(key.to_owned(), other.into());
    }
    machine.insert("name".to_owned(), "elsewhere".into());
    fs::write(&file, state.to_string()).expect("room");
    let daemon = place.start();
    let said = moved(&place).pop().expect("it is told");
    let status = place.json(&["status"]);
    let here = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let (nqn, serial) = (
        status["subsystem_nqn"].as_str().expect("a name"),
        status["serial"].as_str().expect("one"),
    );
    for part in ["'elsewhere'", &format!("'{here}'"), "0f0f0f0f", nqn, serial] {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
    daemon.terminate();
    let _daemon = place.start();
    assert_eq!(moved(&place), [said], "it is remembered where it is now");
}
