//! The least memory: with the defaults that follow from 256 MiB the daemon stays below them while
//! several hosts have the largest requests outstanding on all their queues, and when it has
//! replayed as much as there can be.
//!
//! What happens in a control group with that limit is shown where one can be made: in the Linux
//! client's scene `inside`.

use std::cell::{Cell, RefCell};
use std::fs;
use std::rc::Rc;

use ashlar_block::{AlignedBuf, XorShift};
use ashlar_load::initiator::{ConnectOptions, Controller, HostIdentity, Namespace};
use ashlar_reactor::{Config, run, spawn_joined};

use crate::support::{Daemon, Place};

/// The least memory that Ashlar is meant to run in, as the README says.
const MEMORY_BYTES_MIN: u64 = 256 << 20;
/// What the defaults are where there is so much.
const CONFIG: &str = "
    map_memory_bytes = \"32MiB\"
    [limits]
    in_capsule_total_bytes_max = 44739242
    reactor_bytes_max = 44739242
    host_bytes_max = 16777216
";
/// What hosts may have in memory at a time, and the map: less was not asked for.
const LOADED_BYTES_MIN: u64 = 80 << 20;
const DRIVES: usize = 5;
/// Hosts, queues of each, and commands outstanding on each queue: 160 MiB are asked for at a time,
/// and all that there is given.
const HOSTS: u8 = 5;
const QUEUES: u16 = 4;
const DEPTH: u16 = 8;
/// Blocks of a command, which is the largest there is: 1 MiB.
const BLOCKS: u64 = 256;
const BLOCK_BYTES: usize = 4096;
/// Pieces of that size.
const PIECES: u64 = 512;
/// Pieces that are written anew between two looks at how much there is to replay, and how much that
/// is to be, in percent of what was written between two checkpoints.
const STEP_PIECES: u64 = 4;
const WINDOW_PERCENT: u64 = 85;
/// More than it takes; a failing test ends with it.
const STEPS_MAX: u64 = 1000;

/// The most memory that the daemon has had resident.
fn peak_bytes(daemon: &Daemon) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.pid())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux says it");
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kibibytes << 10
}

/// All hosts, and how often each piece was written.
#[derive(Clone)]
struct Hosts {
    namespaces: Vec<Namespace>,
    written: Rc<RefCell<Vec<u64>>>,
}

/// What was written to a piece the `times`th time: noise, which nothing compresses.
fn content(piece: u64, times: u64) -> AlignedBuf {
    let mut random = XorShift::new(piece << 32 | times);
    let mut data = AlignedBuf::stale(BLOCKS as usize * BLOCK_BYTES);
    data.chunks_exact_mut(8)
        .for_each(|place| place.copy_from_slice(&random.next_u64().to_le_bytes()));
    data
}

impl Hosts {
    async fn connect(place: &Place, written: Rc<RefCell<Vec<u64>>>) -> Self {
        let any = crate::hosts::options(place);
        let mut namespaces = Vec::new();
        for number in 1..=HOSTS {
            let host = HostIdentity {
                nqn: format!("nqn.2014-08.org.example:host-{number}"),
                id: [number; 16],
            };
            let queue_entries = u32::from(DEPTH) + 1;
            let options = ConnectOptions { host, io_queues: QUEUES, queue_entries, ..any.clone() };
            let controller = Controller::connect(options).await.expect("it connects");
            namespaces.push(controller.namespace(1).await.expect("it is there"));
        }
        Hosts { namespaces, written }
    }

    async fn disconnect(self) {
        for namespace in self.namespaces {
            namespace.controller().clone().disconnect().await;
        }
    }

    /// Does `operation` so many times, as many at a time as all queues of all hosts take.
    async fn each(&self, times: u64, operation: impl AsyncFn(Namespace) + Clone + 'static) {
        let left = Rc::new(Cell::new(times));
        let queues = (0..QUEUES * DEPTH).flat_map(|_| self.namespaces.iter().cloned());
        let worker = |namespace: Namespace| {
            let (left, operation) = (left.clone(), operation.clone());
            spawn_joined(async move {
                while left.get() > 0 {
                    left.set(left.get() - 1);
                    operation(namespace.clone()).await;
                }
            })
        };
        let workers: Vec<_> = queues.map(worker).collect();
        for worker in workers {
            worker.await;
        }
    }

    /// Writes so many pieces, each of which `choose` chooses, anew.
    async fn write(&self, pieces: u64, choose: impl Fn() -> u64 + Clone + 'static) {
        let written = self.written.clone();
        let write = async move |namespace: Namespace| {
            let piece = choose();
            let times = written.borrow()[piece as usize] + 1;
            namespace
                .write(piece * BLOCKS, content(piece, times).freeze())
                .await
                .expect("it is written");
            written.borrow_mut()[piece as usize] = times;
        };
        self.each(pieces, write).await;
    }

    /// Writes every piece once.
    async fn write_all(&self) {
        let next = Rc::new(Cell::new(0));
        self.write(PIECES, move || next.replace(next.get() + 1)).await;
    }

    /// Reads and checks so many times any piece.
    async fn read(&self, times: u64, seed: u64) {
        let (written, random) = (self.written.clone(), Rc::new(RefCell::new(XorShift::new(seed))));
        let read = async move |namespace: Namespace| {
            let piece = random.borrow_mut().below(PIECES);
            let data = namespace.read(piece * BLOCKS, BLOCKS as u32).await.expect("it is read");
            let times = written.borrow()[piece as usize];
            assert!(data[..] == content(piece, times)[..], "piece {piece}, written {times} times");
        };
        self.each(times, read).await;
    }
}

fn counter(place: &Place, name: &str) -> u64 {
    place.json(&["pool", "show", "tank"])["counters"][name].as_u64().expect("a number")
}

/// Writes pieces anew until there is nearly as much to replay as there ever is: the first
/// checkpoint that ends after a whole window shows how much that is. No piece is written twice at a
/// time.
async fn fill_window(place: &Place, hosts: &Hosts) {
    let next = Rc::new(Cell::new(0));
    let choose = move || next.replace((next.get() + 7) % PIECES);
    let (mut checkpoints, mut since) = (counter(place, "checkpoints"), 0);
    let mut windows = Vec::new();
    for _step in 0..STEPS_MAX {
        hosts.write(STEP_PIECES, choose.clone()).await;
        since += STEP_PIECES;
        let now = counter(place, "checkpoints");
        if now != checkpoints {
            windows.push(since);
            (checkpoints, since) = (now, 0);
        } else if windows.len() > 1 && since * 100 >= windows[windows.len() - 1] * WINDOW_PERCENT {
            println!("{} blocks to be replayed, in windows of {windows:?} pieces", since * BLOCKS);
            return;
        }
    }
    panic!("there is never so much to replay: {windows:?}");
}

async fn load(place: Rc<Place>, written: Rc<RefCell<Vec<u64>>>) {
    let hosts = Hosts::connect(&place, written).await;
    hosts.write_all().await;
    hosts.read(PIECES, 1).await;
    fill_window(&place, &hosts).await;
}

/// The same after the replay, which has brought everything back.
async fn load_again(place: Rc<Place>, written: Rc<RefCell<Vec<u64>>>) {
    let hosts = Hosts::connect(&place, written).await;
    hosts.read(PIECES, 2).await;
    hosts.write_all().await;
    hosts.disconnect().await;
}

fn make_volume(place: &Place) {
    let drive = |index| format!("file:{},size=512MiB,sparse=on", place.image(index).display());
    let drives: Vec<String> =
        (0..DRIVES).flat_map(|index| ["--drive".to_owned(), drive(index)]).collect();
    let mut create = vec!["pool", "create", "tank", "--level", "5"];
    create.extend(drives.iter().map(String::as_str));
    place.ok(&create);
    let size = (PIECES << 20).to_string();
    place.ok(&["volume", "create", "tank/v0", "--size", &size, "--allow", "any"]);
}

#[test]
fn the_least_memory_is_enough_for_the_largest_requests_of_several_hosts_at_once() {
    let place = Rc::new(Place::new());
    let daemon = place.start_configured(CONFIG);
    make_volume(&place);
    let written = Rc::new(RefCell::new(vec![0; PIECES as usize]));
    run(Config::default(), load(place.clone(), written.clone())).expect("a reactor");
    let loaded = peak_bytes(&daemon);
    daemon.kill();
    let daemon = place.start_configured(CONFIG);
    let replayed = peak_bytes(&daemon);
    run(Config::default(), load_again(place.clone(), written)).expect("a reactor");
    let again = peak_bytes(&daemon);
    println!("resident at most: {:?} MiB", [loaded, replayed, again].map(|bytes| bytes >> 20));
    for peak in [loaded, again] {
        assert!(
            peak > LOADED_BYTES_MIN,
            "it was hardly asked for anything: {peak} bytes were resident"
        );
        assert!(peak < MEMORY_BYTES_MIN, "{peak} bytes were resident");
    }
    daemon.terminate();
}
