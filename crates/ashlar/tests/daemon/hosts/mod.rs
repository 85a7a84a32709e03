//! Hosts with verified load on the volumes of a daemon, over NVMe/TCP.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ashlar_load::initiator::{CommandError, ConnectOptions, Controller, HostIdentity};
use ashlar_load::verify::{self, Mix, Model, Options, Sources, VerifyError};
use ashlar_reactor::{Config, run, spawn_joined};

use crate::support::Place;

/// How long a round of load may take: only a hang takes that long.
const PATIENCE: Duration = Duration::from_secs(120);
/// Operations of one round of load on one volume.
const OPERATIONS_PER_ROUND: u64 = 200;
/// Operations outstanding on one volume.
const DEPTH: u32 = 16;
/// Blocks of the largest operation: 256 KiB.
const BLOCKS_MAX: u32 = 64;
/// Different blocks to write: 4 MiB.
const SOURCE_BLOCKS: usize = 1024;

/// A volume, and what every block of it must read as.
pub struct Volume {
    /// POOL/NAME.
    pub name: String,
    pub model: Model,
}

impl Volume {
    /// A volume of zeros, to be filled with blocks of the daemon's own binary.
    pub fn new(name: &str, blocks: u64, seed: u64) -> Self {
        let sources = Sources::sample(&[env!("CARGO_BIN_EXE_ashlar").into()], SOURCE_BLOCKS, seed);
        Volume {
            name: name.to_owned(),
            model: Model::new(seed, blocks, sources.expect("a binary")),
        }
    }
}

/// What has come of a host's work: its volumes, or the first thing that was wrong.
type Outcome = Result<Vec<Volume>, String>;

/// A host under way on a thread of its own, on several volumes: it checks all that each of them
/// holds, and then loads it round after round.
pub struct Load {
    thread: JoinHandle<Outcome>,
    rounds: Receiver<usize>,
    volumes: usize,
    stop: Arc<AtomicBool>,
    operations: Arc<AtomicU64>,
}

/// What the volumes' tasks have in common.
#[derive(Clone)]
struct Shared {
    seed: u64,
    survives_loss: bool,
    round: Sender<usize>,
    stop: Arc<AtomicBool>,
    operations: Arc<AtomicU64>,
}

impl Load {
    /// A host that takes no error for an answer, nor the end of its connection.
    pub fn start(place: &Place, volumes: Vec<Volume>, seed: u64) -> Self {
        Self::start_as(options(place), place, volumes, seed, false)
    }

    /// Likewise, with a keep alive of four seconds, whose answer it waits for until only a hang
    /// explains that it has none.
    pub fn start_patient(place: &Place, volumes: Vec<Volume>, seed: u64) -> Self {
        let keep_alive = Duration::from_secs(4);
        let options =
            ConnectOptions { keep_alive, keep_alive_patience: PATIENCE, ..options(place) };
        Self::start_as(options, place, volumes, seed, false)
    }

    /// One that is content when its connection ends; it is given what no answer came for.
    pub fn start_until_lost(place: &Place, volumes: Vec<Volume>, seed: u64) -> Self {
        Self::start_as(options(place), place, volumes, seed, true)
    }

    fn start_as(
        options: ConnectOptions,
        place: &Place,
        volumes: Vec<Volume>,
        seed: u64,
        survives_loss: bool,
    ) -> Self {
        let (round, rounds) = channel();
        let (stop, operations) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let shared = Shared {
            seed,
            survives_loss,
            round,
            stop: stop.clone(),
            operations: operations.clone(),
        };
        let (numbers, count) = (numbers(place, &volumes), volumes.len());
        let work = move || {
            let worked = run(
                Config::default(),
                work(options, volumes.into_iter().zip(numbers).collect(), shared),
            );
            worked.map_err(|error| error.to_string())?
        };
        Load { thread: std::thread::spawn(work), rounds, volumes: count, stop, operations }
    }

    /// Waits until each volume has begun a round and ended it. The first one comes after everything
    /// that the volumes hold has been checked.
    pub fn await_rounds(&mut self) {
        while self.rounds.try_recv().is_ok() {}
        let mut ended = vec![0; self.volumes];
        while ended.iter().any(|ended| *ended < 2) {
            match self.rounds.recv_timeout(PATIENCE) {
                Ok(volume) => ended[volume] += 1,
                Err(RecvTimeoutError::Timeout) => panic!("the load makes no progress"),
                // What is wrong is what `join` says.
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Lets the load end, if it has not by itself.
    ///
    /// # Panics
    /// If the host has met an error or a wrong byte.
    pub fn join(self) -> (Vec<Volume>, u64) {
        self.stop.store(true, Ordering::Relaxed);
        let outcome = self.thread.join().expect("the host's thread");
        let volumes = outcome.unwrap_or_else(|wrong| panic!("{wrong}"));
        (volumes, self.operations.load(Ordering::Relaxed))
    }

    /// The first error that the host meets.
    pub fn error(self) -> String {
        self.thread
            .join()
            .expect("the host's thread")
            .err()
            .expect("the load only ends with an error")
    }
}

/// How a host connects.
pub fn options(place: &Place) -> ConnectOptions {
    let status = place.json(&["status"]);
    let port = status["portals"][0]["port"].as_u64().and_then(|port| u16::try_from(port).ok());
    let address = SocketAddr::from(([127, 0, 0, 1], port.expect("a port")));
    let host = HostIdentity { nqn: "nqn.2014-08.org.example:host".to_owned(), id: [7; 16] };
    let nqn = status["subsystem_nqn"].as_str().expect("a name");
    ConnectOptions { io_queues: 2, ..ConnectOptions::new(address, nqn, host) }
}

fn numbers(place: &Place, volumes: &[Volume]) -> Vec<u32> {
    let number = |volume: &Volume| place.json(&["volume", "show", &volume.name])["nsid"].as_u64();
    volumes.iter().map(|volume| number(volume).expect("a number") as u32).collect()
}

async fn work(options: ConnectOptions, volumes: Vec<(Volume, u32)>, shared: Shared) -> Outcome {
    let controller = Controller::connect(options).await.map_err(|error| error.to_string())?;
    let tasks: Vec<_> = volumes
        .into_iter()
        .enumerate()
        .map(|(index, (volume, nsid))| {
            spawn_joined(work_on(controller.clone(), volume, nsid, index, shared.clone()))
        })
        .collect();
    // Without it the last task's end is the end of all senders.
    drop(shared);
    let mut done = Vec::new();
    for task in tasks {
        done.push(task.await?);
    }
    controller.disconnect().await;
    Ok(done)
}

async fn work_on(
    controller: Controller,
    volume: Volume,
    nsid: u32,
    index: usize,
    shared: Shared,
) -> Result<Volume, String> {
    let Volume { name, model } = volume;
    let model = Rc::new(RefCell::new(model));
    let result = check_and_load(&controller, nsid, &model, index, &shared).await;
    result.map_err(|wrong| format!("{name}: {wrong}"))?;
    let model = Rc::try_unwrap(model).map_err(|_| "the load has not ended".to_owned())?;
    Ok(Volume { name, model: model.into_inner() })
}

async fn check_and_load(
    controller: &Controller,
    nsid: u32,
    model: &Rc<RefCell<Model>>,
    index: usize,
    shared: &Shared,
) -> Result<(), String> {
    let namespace = controller.namespace(nsid).await.map_err(|error| error.to_string())?;
    let checked = verify::read_back(&namespace, model, DEPTH, |_| {}).await;
    checked.map_err(|error| format!("after the start: {error}"))?;
    for round in 0.. {
        if shared.stop.load(Ordering::Relaxed) {
            break;
        }
        let seed = shared.seed ^ (index as u64) << 32 ^ round << 40;
        match verify::run(&namespace, model, round_of_load(seed), |_| {}).await {
            Ok(_) => shared.operations.fetch_add(OPERATIONS_PER_ROUND, Ordering::Relaxed),
            Err(error) if shared.survives_loss && is_loss(&error) => break,
            Err(error) => return Err(error.to_string()),
        };
        let _ = shared.round.send(index);
    }
    Ok(())
}

fn round_of_load(seed: u64) -> Options {
    Options {
        depth: DEPTH,
        duration: None,
        operations_max: Some(OPERATIONS_PER_ROUND),
        mix: Mix { read: 25, write: 55, trim: 10, compare_and_write: 8, flush: 2 },
        blocks_max: BLOCKS_MAX,
        seed,
        progress_interval: Duration::from_millis(5),
        ..Options::default()
    }
}

fn is_loss(error: &VerifyError) -> bool {
    matches!(error, VerifyError::Command { source: CommandError::Lost(_), .. })
}
