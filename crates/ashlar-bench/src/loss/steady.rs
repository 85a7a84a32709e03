//! The load: on a thread of its own, so that whoever leads the pool from state to state does not
//! disturb it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, anyhow};
use ashlar_load::latency::Latencies;
use ashlar_load::ratio::median;
use ashlar_load::verify::{self, Mix, Model, Options, Progress, Sources, Stop};
use serde::Serialize;

use super::super::fill::connect;
use super::super::servers::Server;
use super::{InState, State};

/// The volume that is under load.
pub const VOLUME_BYTES: u64 = 256 << 20;
/// Operations that begin in a second: some that this machine does well, for the drives' sake and
/// not its own.
pub const PER_SECOND: u32 = 4000;
/// Of them read.
pub const READ_PERCENT: u32 = 70;
const DEPTH: u32 = 64;
/// Writes before that, of up to 32 blocks: after so many hardly a block has never been written.
const FILL_OPERATIONS: u64 = VOLUME_BYTES / verify::BLOCK_BYTES as u64;
/// How often it is noted what the load is like.
const MOMENT: Duration = Duration::from_millis(250);

/// So long is a window. Of the 99.9th percentiles of a state's windows the median counts: a machine
/// that stalls for 20 ms once in a state makes as many late answers as a thousandth of twenty
/// seconds has.
const WINDOW: Duration = Duration::from_secs(4);

/// The load in one moment.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Moment {
    /// The pool's state.
    pub state: State,
    /// Seconds since the load began.
    pub at_s: f64,
    /// Operations per second.
    pub iops: f64,
    /// Half are faster.
    pub p50_us: f64,
    /// 99 % are faster.
    pub p99_us: f64,
}

/// A part of a state.
#[derive(Default)]
struct Seen {
    latencies: Latencies,
    elapsed: Duration,
}

impl Seen {
    fn add(&mut self, recent: &Latencies, length: Duration) {
        self.latencies.add(recent);
        self.elapsed += length;
    }
}

/// What is noted of the load.
#[derive(Default)]
struct Notes {
    /// None before it is watched.
    state: Option<State>,
    /// The state has changed since the last moment, which so is none of it.
    changed: bool,
    /// The volume has been written, and the load keeps its rate.
    is_steady: bool,
    last: Duration,
    by_state: BTreeMap<State, Vec<Seen>>,
    moments: Vec<Moment>,
}

impl Notes {
    fn note(&mut self, progress: Progress) {
        let length = progress.elapsed.saturating_sub(self.last);
        self.last = progress.elapsed;
        let Some(state) = self.state.filter(|_| !std::mem::take(&mut self.changed)) else { return };
        let summary = progress.recent.summary();
        self.moments.push(Moment {
            state,
            at_s: progress.elapsed.as_secs_f64(),
            iops: summary.count as f64 / length.as_secs_f64(),
            p50_us: summary.p50_us,
            p99_us: summary.p99_us,
        });
        let windows = self.by_state.entry(state).or_default();
        if windows.last().is_none_or(|window| window.elapsed >= WINDOW) {
            windows.push(Seen::default());
        }
        windows.last_mut().expect("just seen").add(&progress.recent, length);
    }
}

/// The load under way.
pub struct SteadyLoad {
    notes: Arc<Mutex<Notes>>,
    stop: Stop,
    thread: JoinHandle<anyhow::Result<u64>>,
}

/// What it was like.
pub struct Watched {
    by_state: BTreeMap<State, Vec<Seen>>,
    /// Moment by moment.
    pub moments: Vec<Moment>,
    /// Blocks that were read and were right.
    pub blocks_checked: u64,
}

impl SteadyLoad {
    /// Writes the volume, and then goes on at the rate. Nothing is noted before [`Self::enter`].
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(server: Server) -> anyhow::Result<Self> {
        let (notes, stop) = (Arc::<Mutex<Notes>>::default(), Stop::default());
        let (its_notes, its_stop) = (notes.clone(), stop.clone());
        let work = move || {
            let config = ashlar_reactor::Config::default();
            ashlar_reactor::run(config, load(server, its_notes, its_stop))?
        };
        let thread = std::thread::Builder::new().name("load".to_owned()).spawn(work)?;
        Ok(SteadyLoad { notes, stop, thread })
    }

    /// Whether the volume has been written, and the load keeps its rate; or it has ended.
    pub fn is_steady(&self) -> bool {
        self.thread.is_finished() || self.notes.lock().expect("nothing in it panics").is_steady
    }

    /// The pool is in this state from now on.
    pub fn enter(&self, state: State) {
        let mut notes = self.notes.lock().expect("nothing in it panics");
        notes.state = Some(state);
        notes.changed = true;
    }

    /// Ends it, and reads everything once more.
    ///
    /// # Errors
    /// An operation that failed, or wrong data.
    pub fn end(self) -> anyhow::Result<Watched> {
        // The moment in which it ends is not like others.
        self.notes.lock().expect("nothing in it panics").state = None;
        self.stop.stop();
        let ended = self.thread.join().map_err(|_| anyhow!("the load has panicked"))?;
        let blocks_checked = ended.context("the load")?;
        let notes = std::mem::take(&mut *self.notes.lock().expect("nothing in it panics"));
        Ok(Watched { by_state: notes.by_state, moments: notes.moments, blocks_checked })
    }
}

async fn load(server: Server, notes: Arc<Mutex<Notes>>, stop: Stop) -> anyhow::Result<u64> {
    let (controller, namespace) = connect(&server).await?;
    let sources = Sources::sample(&[std::env::current_exe()?], 4096, 1)?;
    let model =
        Rc::new(RefCell::new(Model::new(1, VOLUME_BYTES / verify::BLOCK_BYTES as u64, sources)));
    let failed = |error| anyhow!("{error}");
    let fill = Options { operations_max: Some(FILL_OPERATIONS), stop: stop.clone(), ..of_mix(0) };
    verify::run(&namespace, &model, fill, |_| ()).await.map_err(failed)?;
    let options = Options {
        depth: DEPTH,
        per_second: Some(PER_SECOND),
        blocks_max: 1,
        progress_interval: MOMENT,
        stop,
        ..of_mix(READ_PERCENT)
    };
    notes.lock().expect("nothing in it panics").is_steady = true;
    let note = |progress| notes.lock().expect("nothing in it panics").note(progress);
    let report = verify::run(&namespace, &model, options, note).await.map_err(failed)?;
    let read_back = verify::read_back(&namespace, &model, DEPTH, |_| ()).await;
    let read_back = read_back.map_err(failed).context("reading all of it back")?;
    controller.disconnect().await;
    Ok(report.blocks_checked + read_back)
}

fn of_mix(read: u32) -> Options {
    let mix = Mix { read, write: 100 - read, trim: 0, ..Mix::default() };
    Options { mix, duration: None, ..Options::default() }
}

impl Watched {
    /// What it was like in a state.
    pub fn in_state(&self, state: State) -> Option<InState> {
        let windows = self.by_state.get(&state)?;
        let mut all = Seen::default();
        windows.iter().for_each(|window| all.add(&window.latencies, window.elapsed));
        let (summary, seconds) = (all.latencies.summary(), all.elapsed.as_secs_f64());
        let whole = windows.iter().filter(|window| window.elapsed >= WINDOW);
        let p999: Vec<f64> = whole.map(|window| window.latencies.summary().p999_us).collect();
        Some(InState {
            state,
            seconds,
            iops: summary.count as f64 / seconds,
            p50_us: summary.p50_us,
            p99_us: summary.p99_us,
            p999_us: summary.p999_us,
            p999_median_us: if p999.is_empty() { summary.p999_us } else { median(&p999) },
        })
    }
}
