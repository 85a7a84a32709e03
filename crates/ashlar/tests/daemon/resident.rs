//! What a daemon keeps of the memory that hosts made it take, once they are silent: next to
//! nothing.

use std::cell::Cell;
use std::fs;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ashlar_load::initiator::{ConnectOptions, Controller, Namespace};
use ashlar_reactor::{Config, run, sleep, spawn_joined};
use bytes::Bytes;

use crate::support::{Daemon, Place};

/// An idle daemon has less, beside the caches that are configured.
const IDLE_BYTES_MAX: u64 = 100 << 20;
/// The map's memory is the cache, and small here; what hosts may take is the same on every machine.
const CONFIG: &str = "
    map_memory_bytes = \"16MiB\"
    [limits]
    host_bytes_max = 268435456
    reactor_bytes_max = 268435456
";
const MAP_BYTES: u64 = 16 << 20;
const DRIVES: usize = 5;
/// Blocks of an operation, which is 1 MiB; operations, and how many outstanding.
const BLOCKS: u32 = 256;
const OPERATIONS: u64 = 2048;
const DEPTH: u64 = 256;
/// Longer than it takes on any machine; only a failing test waits for it.
const PATIENCE: Duration = Duration::from_secs(120);

/// A figure of the daemon's `/proc/PID/status`, in bytes.
fn memory_bytes(daemon: &Daemon, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.pid())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("Linux says it");
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kibibytes << 10
}

/// Writes and reads all of the namespace, with as much outstanding as the daemon takes.
async fn load(namespace: Namespace) {
    let data = Bytes::from(vec![7; (BLOCKS * namespace.lba_bytes()) as usize]);
    let places = namespace.blocks() / u64::from(BLOCKS);
    let next = Rc::new(Cell::new(0));
    let worker = |_| {
        let (namespace, data, next) = (namespace.clone(), data.clone(), next.clone());
        spawn_joined(async move {
            while next.get() < OPERATIONS {
                let number = next.replace(next.get() + 1);
                let start = number % places * u64::from(BLOCKS);
                if number < places {
                    namespace.write(start, data.clone()).await.expect("it is written");
                } else {
                    namespace.read(start, BLOCKS).await.expect("it is read");
                }
            }
        })
    };
    let workers: Vec<_> = (0..DEPTH).map(worker).collect();
    for worker in workers {
        worker.await;
    }
}

async fn await_idle_memory(daemon: &Daemon) {
    let start = Instant::now();
    while memory_bytes(daemon, "VmRSS:") >= IDLE_BYTES_MAX + MAP_BYTES {
        let has = memory_bytes(daemon, "VmRSS:") >> 20;
        assert!(start.elapsed() < PATIENCE, "{has} MiB are kept");
        sleep(Duration::from_millis(100)).await;
    }
}

fn is_given_back_by(reactors: usize) {
    let place = Place::new();
    let daemon = place.start_configured(&format!("reactors = {reactors}\n{CONFIG}"));
    let drive = |index| format!("file:{},size=512MiB,sparse=on", place.image(index).display());
    let drives: Vec<String> =
        (0..DRIVES).flat_map(|index| ["--drive".to_owned(), drive(index)]).collect();
    let mut create = vec!["pool", "create", "tank", "--level", "5"];
    create.extend(drives.iter().map(String::as_str));
    place.ok(&create);
    place.ok(&["volume", "create", "tank/v0", "--size", "512MiB", "--allow", "any"]);
    let options =
        ConnectOptions { io_queues: 4, queue_entries: 128, ..crate::hosts::options(&place) };
    run(Config::default(), async {
        let host = Controller::connect(options).await.expect("it connects");
        let namespace = host.namespace(1).await.expect("it is there");
        load(namespace.clone()).await;
        let most = memory_bytes(&daemon, "VmHWM:");
        assert!(
            most > IDLE_BYTES_MAX + MAP_BYTES,
            "the test would not notice: {} MiB at most",
            most >> 20
        );
        await_idle_memory(&daemon).await;
        println!("{} MiB at most, {} MiB then", most >> 20, memory_bytes(&daemon, "VmRSS:") >> 20);
        // What was given back is taken anew.
        namespace.write(0, vec![9; 4096].into()).await.expect("it is written");
        assert_eq!(namespace.read(0, 1).await.expect("it is read")[..], [9; 4096]);
        host.disconnect().await;
        daemon.terminate();
    })
    .expect("a reactor");
}

#[test]
fn a_daemon_gives_back_what_a_load_made_it_take_while_its_hosts_stay() {
    is_given_back_by(1);
}

/// What one reactor frees may be another's to give back.
#[test]
fn several_reactors_give_back_what_a_load_made_them_take() {
    is_given_back_by(2);
}
