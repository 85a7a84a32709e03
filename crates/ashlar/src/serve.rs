//! The daemon: one function assembles a node, one takes it apart.

mod appliance;
mod bay;
mod config;
mod convert;
mod distinct;
mod errors;
mod finder;
mod memory;
mod notify;
mod reactors;
mod requests;
mod returns;
mod spares;
mod state;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use ashlar_control::{Socket, Watcher, router};
use ashlar_drive::Machine;
use ashlar_store::Options;
use ashlar_target::nvme_tcp::{PortalKind, Target, TargetConfig};
use ashlar_volume::{Node, Table};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::args::ServeArguments;
use appliance::NodeAppliance;
use bay::MachineBay;
pub use config::Config;
use finder::Finder;
use reactors::{Reactors, Threads};
use state::StateDir;

/// A node of this machine.
pub type MachineNode = Node<MachineBay, Reactors>;

/// How long connected hosts may take to end, and the API to answer, when the daemon stops.
const STOP_WAIT: Duration = Duration::from_secs(10);

/// A node that serves.
pub struct Running {
    /// What the API stands before.
    pub appliance: Arc<NodeAppliance>,
    node: MachineNode,
    reactors: Reactors,
    threads: Threads,
    watcher: Arc<Watcher>,
    watching: JoinHandle<()>,
    stop_api: oneshot::Sender<()>,
    api: JoinHandle<std::io::Result<()>>,
}

/// Puts a node together, from its directory to its sockets: reactors, and what hosts and administrators reach it by.
/// Each pool is opened beside that, as soon as it can be.
///
/// # Errors
/// Why it cannot serve.
pub async fn assemble(config: &Config) -> anyhow::Result<Running> {
    let state = StateDir::open(&config.state)?;
    let socket = Socket::bind(&config.socket)?;
    let table = Table::new(state.node.subsystem(), state.node.nsid_high, state.node.starts);
    let target = Target::new(TargetConfig {
        portals: config.portals.clone(),
        limits: config.limits.clone(),
        several_reactors: config.reactors > 1,
    })?;
    let give_back = Some(ashlar_reactor::allocations::collect_freed as fn());
    let reactor =
        ashlar_reactor::Config { spin: config.spin, give_back, ..ashlar_reactor::Config::default() };
    let subsystem_nqn = state.node.subsystem().nqn;
    let finder = Finder::start(Machine::default(), subsystem_nqn, config.wanted(&state))?;
    let bay = MachineBay::new(&finder);
    let (threads, reactors) = Threads::start(config.reactors, &reactor, &table, &bay)?;
    let options = Options { holder: Some(state.node.holder()), ..config.store.clone() };
    let node = Node::new(table, reactors.clone(), options);
    if let Err(error) = reactors.serve(&target).await {
        reactors.stop_serving().await;
        return Err(error);
    }
    let appliance = Arc::new(NodeAppliance::new(node.clone(), target, state, finder, config));
    appliance.keep_pools(config.auto_rejoin);
    let (stop_api, stopped) = oneshot::channel::<()>();
    let stop = async move { drop(stopped.await) };
    let watcher = Arc::new(Watcher::new(appliance.clone()));
    let api = tokio::spawn(socket.serve(router(appliance.clone(), watcher.clone()), stop));
    let watching = tokio::spawn({
        let watcher = watcher.clone();
        async move { watcher.run().await }
    });
    Ok(Running { appliance, node, reactors, threads, watcher, watching, stop_api, api })
}

async fn close_pools(node: &MachineNode) {
    for (pool, error) in node.close_all().await {
        tracing::error!(pool, %error, "a pool could not be closed; its next opening replays what is missing");
    }
}

impl Running {
    /// Takes the node apart, in the reverse order: hosts are answered and let go, pools closed, and the next
    /// start has nothing to replay.
    pub async fn stop(self) {
        self.watching.abort();
        self.watcher.end();
        let _ = self.stop_api.send(());
        if tokio::time::timeout(STOP_WAIT, self.reactors.stop_serving()).await.is_err() {
            tracing::warn!("connections did not end in time and are cut off");
        }
        if tokio::time::timeout(STOP_WAIT, self.appliance.stop_opening()).await.is_err() {
            tracing::warn!("a pool that is being opened does not come to its end, and is left as in a crash");
        }
        let changes_ended = tokio::time::timeout(STOP_WAIT, self.appliance.end_changes()).await;
        if changes_ended.is_err() {
            tracing::warn!("a change to the pools does not end in time and is cut off");
        }
        close_pools(&self.node).await;
        drop(changes_ended);
        let api_abort = self.api.abort_handle();
        if tokio::time::timeout(STOP_WAIT, self.api).await.is_err() {
            api_abort.abort();
        }
        self.threads.end();
    }
}

/// The signals that end the daemon.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Listens for SIGTERM and SIGINT from now on.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn listen() -> std::io::Result<Self> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// The next one of them.
    pub async fn next(&mut self) {
        let (terminate, interrupt) = (self.terminate.recv(), self.interrupt.recv());
        futures_util::pin_mut!(terminate, interrupt);
        futures_util::future::select(terminate, interrupt).await;
    }
}

/// `ashlar serve`.
pub fn run(arguments: &ServeArguments, socket: Option<PathBuf>) -> anyhow::Result<()> {
    init_logging("info");
    let config = Config::resolve(arguments, socket)?;
    raise_open_files();
    on_runtime(async {
        let mut signals = Signals::listen()?;
        let Some(running) = unless(&mut signals, assemble(&config)).await.transpose()? else { return Ok(()) };
        announce(&running.appliance);
        notify::ready();
        signals.next().await;
        tracing::info!("stopping; a second signal ends the daemon at once");
        notify::stopping();
        if unless(&mut signals, running.stop()).await.is_none() {
            std::process::exit(130);
        }
        tracing::info!("stopped");
        Ok(())
    })
}

/// Runs the control plane on this thread.
pub fn on_runtime<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    end_with_any_panic();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("cannot start the control plane")?.block_on(work)
}

/// The output of `work`, or nothing if a signal comes first.
pub async fn unless<T>(signals: &mut Signals, work: impl Future<Output = T>) -> Option<T> {
    let signal = signals.next();
    futures_util::pin_mut!(work, signal);
    match futures_util::future::select(work, signal).await {
        futures_util::future::Either::Left((output, _)) => Some(output),
        futures_util::future::Either::Right(_) => None,
    }
}

/// Lets the process have as many open files as the administrator allows: each connection is one, and the soft limit is mostly
/// that of old programs.
fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(%error, files = limit.current, "the limit of open files cannot be raised");
    }
}

/// A store whose invariant failed must not go on, whatever thread it runs on.
fn end_with_any_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        print(info);
        std::process::abort();
    }));
}

/// Logs go to standard error; RUST_LOG chooses which, instead of `default`.
pub fn init_logging(default: &str) {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| default.into());
    let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let _ = subscriber.with_ansi(is_terminal).try_init();
}

fn announce(appliance: &NodeAppliance) {
    for portal in appliance.portals() {
        let what = match portal.kind {
            PortalKind::Io => "volumes and discovery",
            PortalKind::Discovery => "discovery",
        };
        tracing::info!(address = %portal.address, "listening: {what}");
    }
    tracing::info!(nqn = appliance.subsystem_nqn(), "serving");
}
