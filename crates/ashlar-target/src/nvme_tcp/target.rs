//! What one process serves, and its part on one reactor.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ashlar_block::Nanos;
use ashlar_reactor::net::{BindOptions, TcpListener, TcpStream};
use ashlar_reactor::{JoinHandle, now, sleep, spawn, spawn_joined};
use ashlar_volume::{Door, HostNqn};

use super::connected_host::ConnectedHost;
use super::connection;
use super::host_meter::HostCounts;
use super::limits::{Limits, LimitsError};
use super::log_rate_limit::LogRateLimits;
use super::memory::{Budget, HostBudgets};
use super::newcomers::{Newcomers, Place};
use super::portal::{BindError, Portal};
use super::registry::{EndReason, Life, Registry};
use super::sanitize::Sanitizes;
use super::shared_nqn::SharedNqn;
use super::signal::Letter;
use super::traffic::{Traffic, TrafficTotals};
use super::visits::{TakenVisits, VisitTotals};

/// What a target serves.
#[derive(Clone, Debug)]
pub struct TargetConfig {
    /// Where it listens.
    pub portals: Vec<Portal>,
    /// What hosts may take.
    pub limits: Limits,
    /// Several reactors serve: each listens on every portal (SO_REUSEPORT), and the kernel spreads
    /// the connections.
    pub several_reactors: bool,
}

/// A target: shared by all reactors that serve it, and by whoever asks about it. Clones are the
/// same target.
#[derive(Clone)]
pub struct Target {
    shared: Arc<TargetShared>,
}

/// What the reactors of a target share.
pub(super) struct TargetShared {
    pub(super) limits: Arc<Limits>,
    pub(super) registry: Registry,
    pub(super) sanitizes: Sanitizes,
    several_reactors: bool,
    /// One reactor listens, or has tried to.
    is_listening: AtomicBool,
    portals: Mutex<Vec<Portal>>,
    traffic: Mutex<Vec<Arc<Traffic>>>,
    start: Nanos,
}

impl Target {
    /// A target that listens nowhere yet.
    ///
    /// # Errors
    /// A limit out of its bounds.
    pub fn new(config: TargetConfig) -> Result<Self, LimitsError> {
        config.limits.check()?;
        let shared = TargetShared {
            limits: Arc::new(config.limits),
            registry: Registry::default(),
            sanitizes: Sanitizes::default(),
            several_reactors: config.several_reactors,
            is_listening: AtomicBool::new(false),
            portals: Mutex::new(config.portals),
            traffic: Mutex::default(),
            start: now(),
        };
        Ok(Target { shared: Arc::new(shared) })
    }

    /// Listens on every portal, and serves the volumes behind `door` on this thread's reactor from
    /// now on.
    ///
    /// With several reactors each calls this once, the first one first where a portal has port 0:
    /// the others take the port that it was given.
    ///
    /// # Errors
    /// The portal that cannot be listened on, and why. Nothing is served then.
    ///
    /// # Panics
    /// If no reactor runs on this thread.
    pub fn serve<D: Door>(&self, door: D) -> Result<Service<D>, BindError> {
        let listeners = self.shared.listen()?;
        let traffic = Arc::new(Traffic::default());
        self.shared.traffic().push(traffic.clone());
        let state = Rc::new(ServiceState {
            target: self.shared.clone(),
            door,
            memory: Budget::new(self.shared.limits.reactor_bytes_max),
            hosts: HostBudgets::new(self.shared.limits.host_bytes_max),
            in_capsule: Budget::new(self.shared.limits.in_capsule_total_bytes_max),
            traffic,
            discarded: Rc::default(),
            newcomers: Rc::default(),
            told: LogRateLimits::default(),
            connections: RefCell::default(),
            next_connection: Cell::new(0),
            none_left: RefCell::default(),
        });
        let accepting = listeners.into_iter().enumerate();
        let accepting = accepting
            .map(|(portal, listener)| spawn_joined(accept(state.clone(), listener, portal)));
        Ok(Service { accepting: accepting.collect(), state })
    }

    /// Where the target listens: the configured portals, with the ports that were taken once a
    /// reactor serves.
    pub fn portals(&self) -> Vec<Portal> {
        self.shared.portals().clone()
    }

    /// The hosts that are connected, over all reactors. May be called on any thread.
    pub fn connected_hosts(&self) -> Vec<ConnectedHost> {
        self.shared.registry.connected_hosts()
    }

    /// What hosts have done since the target was made, by name: those that are connected, and up to
    /// [`GONE_HOSTS_MAX`](super::GONE_HOSTS_MAX) that were. May be called on any thread.
    pub fn host_counts(&self) -> Vec<(HostNqn, HostCounts)> {
        self.shared.registry.host_counts()
    }

    /// The host names that two hosts use at once. May be called on any thread.
    pub fn shared_nqns(&self) -> Vec<SharedNqn> {
        self.shared.registry.shared_nqns()
    }

    /// The hosts that have connected or gone since the last take: one caller sees each. May be
    /// called on any thread.
    pub fn take_visits(&self) -> TakenVisits {
        self.shared.registry.take_visits()
    }

    /// Waits until a host has connected or gone, for the one who takes. May be called on any
    /// thread.
    pub async fn visits_have_come(&self) {
        self.shared.registry.visits_have_come().await;
    }

    /// How often hosts have connected and gone so far. May be called on any thread.
    pub fn visit_totals(&self) -> VisitTotals {
        self.shared.registry.visit_totals()
    }
}

impl TargetShared {
    pub(super) fn portals(&self) -> MutexGuard<'_, Vec<Portal>> {
        self.portals.lock().expect("no holder of the lock panics")
    }

    fn traffic(&self) -> MutexGuard<'_, Vec<Arc<Traffic>>> {
        self.traffic.lock().expect("no holder of the lock panics")
    }

    pub(super) fn traffic_totals(&self) -> TrafficTotals {
        let mut totals = TrafficTotals::default();
        self.traffic().iter().for_each(|traffic| traffic.add_to(&mut totals));
        totals
    }

    pub(super) fn running_for(&self) -> Duration {
        now().since(self.start)
    }

    fn listen(&self) -> Result<Vec<TcpListener>, BindError> {
        let mut portals = self.portals();
        let options = BindOptions { reuse_port: self.several_reactors, ..BindOptions::default() };
        let is_first = !self.is_listening.swap(true, Ordering::Relaxed);
        let bind = |portal: &Portal| {
            // What several reactors of ours may share, another process of the same user may share
            // with them.
            let free = if is_first { TcpListener::check_free(portal.address) } else { Ok(()) };
            let listener = free.and_then(|()| TcpListener::bind(portal.address, &options));
            listener.map_err(|source| BindError::new(portal.address, source))
        };
        let listeners: Vec<_> = portals.iter().map(bind).collect::<Result<_, _>>()?;
        for (portal, listener) in portals.iter_mut().zip(&listeners) {
            portal.address = listener.local_addr();
        }
        Ok(listeners)
    }
}

/// What the connections of one reactor share.
pub(super) struct ServiceState<D: Door> {
    pub(super) target: Arc<TargetShared>,
    pub(super) door: D,
    /// For data that R2Ts ask for, and for what is read.
    pub(super) memory: Budget,
    /// What of it each host may have.
    pub(super) hosts: HostBudgets,
    /// For in-capsule data.
    pub(super) in_capsule: Budget,
    pub(super) traffic: Arc<Traffic>,
    /// The service was dropped without a shutdown, commands and all.
    pub(super) discarded: Rc<Cell<bool>>,
    pub(super) told: LogRateLimits,
    /// Connections that have not finished Connect.
    newcomers: Rc<Newcomers>,
    connections: RefCell<BTreeMap<u64, Arc<Life>>>,
    next_connection: Cell<u64>,
    none_left: RefCell<Option<Letter<()>>>,
}

impl<D: Door> ServiceState<D> {
    fn enter(&self, life: &Arc<Life>) -> u64 {
        let number = self.next_connection.get();
        self.next_connection.set(number + 1);
        self.connections.borrow_mut().insert(number, life.clone());
        number
    }

    fn leave(&self, number: u64) {
        let mut connections = self.connections.borrow_mut();
        connections.remove(&number);
        if connections.is_empty()
            && let Some(none_left) = self.none_left.take()
        {
            none_left.leave(());
        }
    }

    /// Takes one of the places for connections that have not finished Connect.
    pub(super) fn begin_connecting(&self, life: &Arc<Life>) -> Place {
        self.newcomers.enter(life)
    }

    fn tell_shortage(&self, what: &str) {
        if let Some(times) = self.told.shortage.count(now()) {
            tracing::warn!(times, "{what}");
        }
    }

    /// Whether there is room for another connection, or somebody makes it.
    fn has_room(&self) -> bool {
        let limits = &self.target.limits;
        let is_full = self.connections.borrow().len() >= limits.connections_max as usize
            || self.newcomers.count() >= limits.connecting_max as usize;
        !is_full || self.newcomers.make_room()
    }
}

/// A connection's place in its service, until its end.
pub(super) struct Presence<D: Door> {
    state: Rc<ServiceState<D>>,
    number: u64,
}

impl<D: Door> Presence<D> {
    pub(super) fn new(state: &Rc<ServiceState<D>>, life: &Arc<Life>) -> Self {
        Presence { state: state.clone(), number: state.enter(life) }
    }
}

impl<D: Door> Drop for Presence<D> {
    fn drop(&mut self) {
        self.state.leave(self.number);
    }
}

/// How long accepting rests after a shortage (of descriptors, of memory), which accepting again at
/// once would only meet again.
const ACCEPT_REST: Duration = Duration::from_millis(100);
/// The same where somebody makes room: as long as it takes to close a connection.
const ROOM_REST: Duration = Duration::from_millis(1);

async fn accept<D: Door>(state: Rc<ServiceState<D>>, listener: TcpListener, portal: usize) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => admit(&state, stream, portal),
            Err(error) if is_of_one_connection(&error) => {
                tracing::debug!(address = %listener.local_addr(), %error, "a connection ended before it began");
            }
            Err(error) => {
                state.tell_shortage(&format!("cannot accept a connection: {error}"));
                sleep(if state.newcomers.make_room() { ROOM_REST } else { ACCEPT_REST }).await;
            }
        }
    }
}

/// Whether accepting failed because the other side has gone already. Resting then would let one
/// host that connects and resets keep all others out.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::ConnectionAborted
            | Kind::ConnectionReset
            | Kind::HostUnreachable
            | Kind::NetworkUnreachable
            | Kind::NotConnected
            | Kind::TimedOut
    )
}

/// Serves the connection if there is room, or made for it; otherwise it is closed at once.
fn admit<D: Door>(state: &Rc<ServiceState<D>>, stream: TcpStream, portal: usize) {
    if state.has_room() {
        spawn(connection::serve(state.clone(), stream, portal));
    } else {
        state.tell_shortage("too many connections, new ones are closed");
    }
}

/// A target's part on one reactor. Ends with [`Service::shutdown`]; dropping it instead closes its
/// connections without order.
pub struct Service<D: Door> {
    accepting: Vec<JoinHandle<()>>,
    state: Rc<ServiceState<D>>,
}

impl<D: Door> Service<D> {
    /// Where this part listens, in the order of the configuration.
    pub fn local_addrs(&self) -> Vec<SocketAddr> {
        self.state.target.portals().iter().map(|portal| portal.address).collect()
    }

    /// Stops accepting, lets every connection answer the commands that it has taken, closes them,
    /// and ends when the last one is gone.
    pub async fn shutdown(mut self) {
        self.accepting.drain(..).for_each(JoinHandle::abort);
        let lives: Vec<_> = self.state.connections.borrow().values().cloned().collect();
        if lives.is_empty() {
            return;
        }
        let none_left = Letter::new();
        self.state.none_left.replace(Some(none_left.clone()));
        lives.iter().for_each(|life| life.end(EndReason::Shutdown));
        none_left.take().await;
    }
}

impl<D: Door> Drop for Service<D> {
    fn drop(&mut self) {
        self.state.discarded.set(true);
        self.accepting.drain(..).for_each(JoinHandle::abort);
        self.state.connections.borrow().values().for_each(|life| life.end(EndReason::Shutdown));
    }
}
