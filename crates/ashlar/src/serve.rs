//! The daemon: one function assembles a node, one takes it apart.

mod accounts;
mod apart;
mod api;
mod config;
mod convert;
mod deaths;
mod distinct;
mod errors;
mod finder;
mod forecast;
mod front;
mod gate;
mod health;
mod journal;
mod logs;
mod memory;
mod namespaces;
mod network;
mod node_api;
mod notify;
mod occurrences;
mod process;
mod receivers;
mod reload;
mod requests;
mod returns;
mod signals;
mod spares;
mod state;
mod stops;
mod turns;
mod users;
mod visits;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use ashlar_control::EventKind;
use ashlar_drive::Machine;
use ashlar_node::{MachineDrives, MachineNode, Reactors, Threads};
use ashlar_store::Options;
use ashlar_target::nvme_tcp::{PortalKind, Target, TargetConfig};
use ashlar_volume::Table;

use crate::args::ServeArguments;
use crate::logging::{self, Log};
use api::Doors;
pub use config::{Config, keys};
pub use convert::state_words;
use finder::Finder;
use front::Front;
use node_api::{Remembered, ServedNode};
use receivers::Sender;
use signals::Order;
pub use signals::{Signals, ignore_the_others as ignore_the_other_signals};
use state::StateDir;
use stops::Stops;

/// How long connected hosts may take to end, and the API to answer, when the daemon stops.
const STOP_WAIT: Duration = Duration::from_secs(10);

/// A node that serves.
pub struct Running {
    /// What the API stands before.
    pub node_api: Arc<ServedNode>,
    node: MachineNode,
    reactors: Reactors,
    threads: Threads,
    front: Front,
}

/// Puts a node together, from its directory to its sockets: reactors, and what hosts and
/// administrators reach it by. Each pool is opened beside that, as soon as it can be.
///
/// # Errors
/// Why it cannot serve.
pub async fn assemble(config: &Config) -> anyhow::Result<Running> {
    let state = StateDir::open(&config.state)?;
    let warnings = warnings_of(&state);
    let doors = Doors::open(config, &state).await?;
    let table = Table::new(state.node.subsystem(), state.node.nsid_high, state.node.starts);
    let remembered = Remembered::shown(&config.state, &state, &table);
    let target = Target::new(TargetConfig {
        portals: config.portals.clone(),
        limits: config.limits.clone(),
        several_reactors: config.reactors > 1,
    })?;
    let reactor = reactor_config(config);
    let subsystem_nqn = state.node.subsystem().nqn;
    let sender = Sender::of(state.node.subsystem());
    let finder = Finder::start(Machine::default(), subsystem_nqn, config.wanted(&state))?;
    let provider = MachineDrives::new(finder.known_places(), config.inject_panics.as_deref());
    let stops = Stops::default();
    let (threads, reactors) =
        Threads::start(config.reactors, &reactor, &table, &provider, &stops.listener())?;
    let options = Options { holder: Some(state.node.holder()), ..config.store.clone() };
    let node = MachineNode::new(table, reactors.clone(), options);
    if let Err(error) = reactors.serve(&target).await {
        reactors.stop_serving().await;
        return Err(error.into());
    }
    let node_api = ServedNode::new(node.clone(), target, state, remembered, finder, stops, config);
    let node_api = Arc::new(node_api);
    node_api.keep_pools(config.auto_rejoin);
    let front = Front::start(config, &node_api, doors, (sender, warnings)).await?;
    Ok(Running { node_api, node, reactors, threads, front })
}

/// What its reactors run by.
fn reactor_config(config: &Config) -> ashlar_reactor::Config {
    let give_back = Some(ashlar_reactor::allocations::collect_freed as fn());
    ashlar_reactor::Config { spin: config.spin, give_back, ..ashlar_reactor::Config::default() }
}

/// What the node's directory has to be warned of, in the log and by an event of that kind.
fn warnings_of(state: &StateDir) -> Vec<(EventKind, String)> {
    let moved = state.moved().inspect(|why| tracing::warn!("{why}"));
    moved.map(|why| (EventKind::NodeMoved, why)).into_iter().collect()
}

async fn close_pools(node: &MachineNode) {
    for (pool, error) in node.close_all().await {
        tracing::error!(pool, %error, "a pool could not be closed; its next opening replays what is missing");
    }
}

impl Running {
    /// Takes the node apart, in the reverse order: hosts are answered and let go, pools closed, and
    /// the next start has nothing to replay.
    pub async fn stop(mut self) {
        self.front.begin_end();
        if tokio::time::timeout(STOP_WAIT, self.reactors.stop_serving()).await.is_err() {
            tracing::warn!("connections did not end in time and are cut off");
        }
        // Hosts that were cut off are told of, too.
        self.front.end_events();
        if tokio::time::timeout(STOP_WAIT, self.node_api.stop_opening()).await.is_err() {
            tracing::warn!(
                "the opening of a pool did not end in time: the daemon leaves the pool as in a \
                 crash"
            );
        }
        let changes_ended = tokio::time::timeout(STOP_WAIT, self.node_api.end_changes()).await;
        if changes_ended.is_err() {
            tracing::warn!("a change to the pools did not end in time and is cut off");
        }
        let prepared = tokio::time::timeout(STOP_WAIT, self.node_api.prepare_end()).await;
        close_pools(&self.node).await;
        let remembered = tokio::time::timeout(STOP_WAIT, self.node_api.remember_at_end()).await;
        if prepared.and(remembered).is_err() {
            tracing::warn!(
                "the file system of the state directory hangs: what is not in it yet is not remembered"
            );
        }
        self.front.end(STOP_WAIT).await;
        self.threads.end();
    }
}

/// `ashlar serve`.
pub fn run(arguments: &ServeArguments, socket: Option<PathBuf>) -> anyhow::Result<()> {
    let config = Config::resolve(arguments, socket.clone())?;
    let log = Log::start(&config.log, config.log_format)?;
    raise_open_files();
    on_runtime(async {
        let mut signals = Signals::of_daemon()?;
        signals::ignore_the_others()?;
        let Some(running) = unless(&mut signals, assemble(&config)).await.transpose()? else {
            return Ok(());
        };
        announce(&running.node_api);
        notify::ready();
        let reload = || Config::resolve(arguments, socket.clone());
        let name = serve_until_end(&mut signals, config, reload, &running, &log).await;
        tracing::info!("{name}: stopping; a second signal ends the daemon at once");
        notify::stopping();
        if unless(&mut signals, running.stop()).await.is_none() {
            std::process::exit(130);
        }
        tracing::info!("stopped");
        Ok(())
    })
}

/// Obeys signals until one says to end. Returns its name.
async fn serve_until_end(
    signals: &mut Signals,
    mut config: Config,
    read_again: impl Fn() -> anyhow::Result<Config>,
    running: &Running,
    log: &Log,
) -> &'static str {
    loop {
        match signals.next().await {
            Order::End(name) => return name,
            Order::Reload => {
                notify::reloading();
                let taken = read_again().and_then(|now| reload::take(&mut config, &now, log));
                let taken = taken.inspect_err(|error| {
                    tracing::error!(
                        "the configuration cannot be read again, and stays as it was: {error:#}"
                    );
                });
                running.front.reload(taken.as_ref().ok()).await;
                notify::ready();
            }
        }
    }
}

/// Runs the control plane on this thread.
pub fn on_runtime<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    logging::end_with_any_panic();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the control plane")?;
    let done = runtime.block_on(work);
    // Nobody waits for a name that is being looked up.
    runtime.shutdown_background();
    done
}

/// The output of `work`, or nothing if a signal comes first.
pub async fn unless<T>(signals: &mut Signals, work: impl Future<Output = T>) -> Option<T> {
    let signal = signals.end();
    futures_util::pin_mut!(work, signal);
    match futures_util::future::select(work, signal).await {
        futures_util::future::Either::Left((output, _)) => Some(output),
        futures_util::future::Either::Right(_) => None,
    }
}

/// Lets the process have as many open files as the administrator allows: each connection is one,
/// and the soft limit is mostly that of old programs.
fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(%error, files = limit.current, "the limit of open files cannot be raised");
    }
}

fn announce(node_api: &ServedNode) {
    for portal in node_api.portals() {
        let what = match portal.kind {
            PortalKind::Io => "volumes and discovery",
            PortalKind::Discovery => "discovery",
        };
        tracing::info!(address = %portal.address, "listening: {what}");
    }
    tracing::info!(nqn = node_api.subsystem_nqn(), "serving");
}
