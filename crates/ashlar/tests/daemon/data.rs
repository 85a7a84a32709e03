//! Data through the whole of the real daemon: NVMe/TCP in front, drives behind.

use std::cell::RefCell;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::rc::Rc;

use ashlar_load::initiator::{ConnectOptions, Controller, HostIdentity, Namespace};
use ashlar_load::verify::{self, Model, Options, Sources};

use crate::support::{Place, text};

const HOST: &str = "nqn.2014-08.org.example:host";

/// Runs `work` with a connection to the daemon at `place`, over several queues.
fn connected<T: 'static, F: Future<Output = T>>(
    place: &Place,
    work: impl FnOnce(Controller) -> F + 'static,
) -> T {
    let status = place.json(&["status"]);
    let port = status["portals"][0]["port"].as_u64().unwrap() as u16;
    let nqn = status["subsystem_nqn"].as_str().unwrap().to_owned();
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let connect = async move {
        let host = HostIdentity { nqn: HOST.to_owned(), id: [7; 16] };
        let options = ConnectOptions { io_queues: 4, ..ConnectOptions::new(address, &nqn, host) };
        let controller = Controller::connect(options).await.expect("the daemon serves");
        let output = work(controller.clone()).await;
        controller.disconnect().await;
        output
    };
    ashlar_reactor::run(ashlar_reactor::Config::default(), connect).expect("a reactor starts")
}

fn model(blocks: u64) -> Model {
    let files = [PathBuf::from(env!("CARGO_BIN_EXE_ashlar"))];
    Model::new(1, blocks, Sources::sample(&files, 512, 1).expect("the binary has blocks"))
}

async fn verified(namespace: &Namespace, model: &Rc<RefCell<Model>>) {
    let options = Options { duration: None, operations_max: Some(600), ..Options::default() };
    verify::run(namespace, model, options, |_| ()).await.expect("every read is right");
}

#[test]
fn every_byte_is_right_on_one_reactor_and_on_several_and_after_restarts() {
    for reactors in ["1", "3"] {
        let place = Place::new();
        let mut daemon = place.start_with(&["--reactors", reactors]);
        place.create_pool("tank", 0..3);
        place.ok(&["volume", "create", "tank/v0", "--size", "256MiB", "--allow", HOST]);
        let state_file = place.path("model");
        model(4096).save(&state_file).unwrap();
        for end_well in [true, false] {
            let file = state_file.clone();
            connected(&place, |controller| async move {
                let model = Rc::new(RefCell::new(Model::load(&file).expect("saved")));
                let namespace = controller.namespace(1).await.expect("the host may see it");
                verify::read_back(&namespace, &model, 16, |_| ())
                    .await
                    .expect("what was written is there");
                verified(&namespace, &model).await;
                model.borrow().save(&file).expect("room");
            });
            if end_well {
                daemon.terminate()
            } else {
                daemon.kill()
            }
            daemon = place.start_with(&["--reactors", reactors]);
        }
        connected(&place, |controller| async move {
            let model = Rc::new(RefCell::new(Model::load(&state_file).expect("saved")));
            let namespace = controller.namespace(1).await.expect("the host may see it");
            verify::read_back(&namespace, &model, 16, |_| ())
                .await
                .expect("what was written is there");
        });
        let volume = place.json(&["volume", "show", "tank/v0"]);
        assert!(volume["logical_used_bytes"].as_u64() > Some(0), "{volume}");
    }
}

#[test]
fn a_host_sees_what_it_is_allowed_and_is_listed_while_it_is_connected() {
    let place = Rc::new(Place::new());
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/hidden", "--size", "64MiB"]);
    place.ok(&["volume", "create", "tank/shown", "--size", "64MiB", "--allow", HOST]);
    let asked = place.clone();
    connected(&place, |controller| async move {
        assert_eq!(controller.namespaces().await.expect("a list"), [2]);
        let hosts = asked.json(&["host", "list"]);
        assert_eq!((&hosts[0]["nqn"], &hosts[0]["io_queues"]), (&HOST.into(), &4.into()));
        asked.ok(&["volume", "allow", "tank/hidden", "any"]);
        assert_eq!(controller.namespaces().await.expect("a list"), [1, 2]);
        asked.ok(&["volume", "delete", "tank/shown", "--yes"]);
        assert_eq!(controller.namespaces().await.expect("a list"), [1]);
    });
}

#[test]
fn a_demonstration_for_programs_prints_nothing_but_its_figures() {
    let place = Place::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ashlar"));
    command.arg("demo").arg("--state").arg(place.path("state")).env_remove("ASHLAR_SOCKET");
    command.args(["--listen", "127.0.0.1:0", "--discovery", "none", "--once", "--seconds", "1"]);
    let output = command.args(["--output", "json"]).output().expect("the binary runs");
    let told = text(&output.stderr);
    assert!(output.status.success(), "{told}");
    let figures: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON alone");
    assert!(figures["iops"].as_f64().is_some_and(|iops| iops > 0.0), "{figures}");
    assert_eq!(
        (&figures["pool"]["name"], &figures["volume"]["name"]),
        (&"demo".into(), &"checked".into())
    );
    assert!(
        figures["read"]["p99_us"].is_number() && figures["portals"][0]["port"].is_number(),
        "{figures}"
    );
    assert!(told.contains("Making pool 'demo'") && told.contains("Workload:"), "{told}");
}

#[test]
fn the_demonstration_finds_its_data_again() {
    let place = Place::new();
    let command = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ashlar"));
        command.arg("demo").arg("--state").arg(place.path("state")).env_remove("ASHLAR_SOCKET");
        command.args(["--listen", "127.0.0.1:0", "--discovery", "127.0.0.1:0", "--once"]);
        command
    };
    let demo = || {
        let output = command().args(["--seconds", "1"]).output().expect("the binary runs");
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    };
    let first = demo();
    for part in [
        "Making pool 'demo'",
        "sparse",
        "IOPS",
        "p99",
        "compression",
        "nvme discover",
        "nvme connect",
    ] {
        assert!(first.contains(part), "'{part}' is not in: {first}");
    }
    assert!(demo().contains("The data of the last run are as they were"));
    let mut killed = command()
        .args(["--seconds", "3600"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let said = BufReader::new(killed.stdout.take().expect("it was piped")).lines();
    assert!(
        said.map_while(Result::ok).any(|line| line.starts_with("Workload:")),
        "the workload runs"
    );
    killed.kill().expect("it runs");
    killed.wait().expect("a child");
    let after = demo();
    assert!(after.contains("The last run was interrupted"), "{after}");
}
