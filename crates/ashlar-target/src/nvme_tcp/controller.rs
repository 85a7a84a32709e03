//! A controller: what its host has set, its properties, and what watches over it.

mod running;
mod watch;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ashlar_block::Nanos;
use ashlar_nvme::fabrics::PropertyWidth;
use ashlar_nvme::property::{
    Capabilities, Configuration, ControllerStatus, ShutdownRequest, ShutdownState, VERSION_2_1,
    offset,
};
use ashlar_nvme::status::{Rejection, Status};
use ashlar_reactor::{JoinHandle, now, spawn, spawn_joined};
use ashlar_volume::Door;

use super::connection::Wire;
use super::events::Events;
use super::features::Features;
use super::registry::{Association, HostKey, drained};
use super::target::ServiceState;
use super::ticket::Ticket;
use running::{Run, Running};

/// CAP.TO: the longest that enabling and disabling may take, in units of 500 ms. Disabling waits
/// for the commands that run.
const READY_TIMEOUT_500MS: u8 = 60;
/// CRTO: the same as a property of its own, with and without media; enabling waits for nothing.
const READY_TIMEOUTS: u32 = 1 << 16 | READY_TIMEOUT_500MS as u32;
/// A discovery connection without a keep alive timeout ends after this long without a command (Base
/// 2.1, section 3.1.3.3.1).
const DISCOVERY_IDLE_MAX: Duration = Duration::from_secs(120);

/// Changes of write protection that one controller may have under way: others wait behind them for
/// the pool.
const PROTECTING_MAX: usize = 4;

/// One controller. Lives on the reactor of its admin queue.
pub(super) struct Controller<D: Door> {
    pub(super) service: Rc<ServiceState<D>>,
    pub(super) wire: Rc<Wire>,
    pub(super) association: Arc<Association>,
    pub(super) features: RefCell<Features>,
    pub(super) events: RefCell<Events>,
    configuration: Cell<Configuration>,
    status: Cell<ControllerStatus>,
    keep_alive: Cell<Option<Duration>>,
    last_command: Cell<Nanos>,
    watches: RefCell<Vec<JoinHandle<()>>>,
    keep_alive_watch: RefCell<Option<JoinHandle<()>>>,
    /// Commands of the admin queue that change something, and take their time.
    running: Rc<Running>,
    /// Each change of write protection that is under way has one more reference to it.
    protecting: Rc<()>,
    /// Waits for the end of what runs, while the controller is reset or shut down.
    stopping: RefCell<Option<JoinHandle<()>>>,
}

impl<D: Door> Controller<D> {
    /// Makes the controller and what watches over it.
    pub(super) fn start(
        service: Rc<ServiceState<D>>,
        wire: Rc<Wire>,
        association: Arc<Association>,
        keep_alive: Option<Duration>,
    ) -> Rc<Self> {
        let features = Features::new(wire.limits.io_queues_max);
        association.io_queues.store(wire.limits.io_queues_max, Ordering::Release);
        let controller = Rc::new(Controller {
            service,
            wire,
            association,
            features: RefCell::new(features),
            events: RefCell::default(),
            configuration: Cell::default(),
            status: Cell::default(),
            keep_alive: Cell::new(None),
            last_command: Cell::new(now()),
            watches: RefCell::default(),
            keep_alive_watch: RefCell::default(),
            running: Rc::default(),
            protecting: Rc::default(),
            stopping: RefCell::default(),
        });
        controller.set_keep_alive(keep_alive);
        let watch = spawn_joined(watch::watch_changes(controller.clone()));
        controller.watches.borrow_mut().push(watch);
        controller
    }

    pub(super) fn host(&self) -> &HostKey {
        &self.association.host
    }

    pub(super) fn is_discovery(&self) -> bool {
        self.association.is_discovery
    }

    /// Admin commands are taken: no longer once CC.EN is cleared, though CSTS.RDY stays until what
    /// runs has ended.
    pub(super) fn is_ready(&self) -> bool {
        self.status.get().ready && self.configuration.get().enabled()
    }

    /// Executes an admin command that takes its time. A reset and a shutdown wait for it.
    pub(super) fn run(&self, command: impl Future<Output = ()> + 'static) {
        let run = self.running.begin();
        spawn(async move {
            command.await;
            drop(run);
        });
    }

    /// As [`Controller::run`], for a command of which a reset and a shutdown wait for a part only:
    /// as long as the result lives.
    pub(super) fn begin_running(&self) -> Run {
        self.running.begin()
    }

    /// A command has come by the admin queue: the host is alive.
    pub(super) fn touch(&self) {
        let now = now();
        self.last_command.set(now);
        self.association.hear(now);
    }

    /// Begins a change of write protection, which takes a checkpoint of the pool; none where as
    /// many are under way as one host may have. It lasts until the result is dropped.
    pub(super) fn begin_protecting(&self) -> Option<Rc<()>> {
        let under_way = Rc::strong_count(&self.protecting) - 1;
        (under_way < PROTECTING_MAX).then(|| self.protecting.clone())
    }

    pub(super) fn keep_alive(&self) -> Option<Duration> {
        self.keep_alive.get()
    }

    /// Sets the keep alive timeout and restarts the timer. A controller that has ended is watched
    /// no more: what its host sent last may be executed afterwards.
    pub(super) fn set_keep_alive(self: &Rc<Self>, timeout: Option<Duration>) {
        self.keep_alive.set(timeout);
        self.touch();
        if self.wire.life.has_ended() {
            return;
        }
        let watched = timeout.or(self.is_discovery().then_some(DISCOVERY_IDLE_MAX));
        let watch =
            watched.map(|timeout| spawn_joined(watch::watch_keep_alive(self.clone(), timeout)));
        if let Some(earlier) = self.keep_alive_watch.replace(watch) {
            earlier.abort();
        }
    }

    /// Asynchronous Event Configuration.
    pub(super) fn event_configuration(&self) -> u32 {
        self.features.borrow().event_configuration
    }

    /// Property Get.
    pub(super) fn get_property(&self, ticket: Ticket, offset: u32, width: PropertyWidth) {
        self.touch();
        let value = match (offset, width) {
            (offset::CAP, PropertyWidth::Eight) => self.capabilities().bits(),
            (offset::VS, PropertyWidth::Four) => VERSION_2_1.into(),
            (offset::CC, PropertyWidth::Four) => self.configuration.get().0.into(),
            (offset::CSTS, PropertyWidth::Four) => self.status.get().bits().into(),
            (offset::CRTO, PropertyWidth::Four) => READY_TIMEOUTS.into(),
            _ => return ticket.reject(Rejection::field(44)),
        };
        ticket.complete(Status::SUCCESS, value);
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            max_queue_entries: self.wire.limits.max_queue_size(),
            timeout_500ms: READY_TIMEOUT_500MS,
            io_command_sets: !self.is_discovery(),
        }
    }

    /// Property Set: CC is the only one that can be set.
    pub(super) fn set_property(
        self: &Rc<Self>,
        ticket: Ticket,
        offset: u32,
        width: PropertyWidth,
        value: u64,
    ) {
        self.touch();
        if (offset, width) != (offset::CC, PropertyWidth::Four) {
            return ticket.reject(Rejection::field(44));
        }
        match self.configure(Configuration(value as u32)) {
            Ok(()) => ticket.succeed(),
            Err(rejection) => ticket.reject(rejection),
        }
    }

    fn configure(self: &Rc<Self>, new: Configuration) -> Result<(), Rejection> {
        let old = self.configuration.get();
        if new.enabled() && !old.enabled() {
            check_enable(new, self.is_discovery())?;
        }
        self.configuration.set(new);
        if new.shutdown() != ShutdownRequest::None && old.shutdown() == ShutdownRequest::None {
            self.begin_shutdown();
        }
        match (old.enabled(), new.enabled()) {
            (false, true) => self.enable(),
            (true, false) => self.begin_disable(),
            _ => {}
        }
        Ok(())
    }

    /// CC.EN from 0 to 1: the controller is as new. (Not earlier: a command that sets a feature may
    /// still run in a reset.)
    fn enable(&self) {
        self.events.borrow_mut().abandon_with_answers();
        self.features.replace(Features::new(self.wire.limits.io_queues_max));
        self.association.retry_delays.store(false, Ordering::Release);
        self.association.io_queues.store(self.wire.limits.io_queues_max, Ordering::Release);
        self.status.set(ControllerStatus { ready: true, ..ControllerStatus::default() });
        self.association.shut_down.store(false, Ordering::Release);
        self.association.enabled.store(true, Ordering::Release);
    }

    /// CC.EN from 1 to 0.
    fn begin_disable(self: &Rc<Self>) {
        self.events.borrow_mut().abandon_with_answers();
        self.stop();
    }

    fn begin_shutdown(self: &Rc<Self>) {
        let occurring =
            ControllerStatus { shutdown: ShutdownState::Occurring, ..self.status.get() };
        self.status.set(occurring);
        self.association.shut_down.store(true, Ordering::Release);
        self.stop();
    }

    /// Ends the I/O queues that there are now, and says so in CSTS when nothing of the controller
    /// is applied any more.
    fn stop(self: &Rc<Self>) {
        self.association.enabled.store(false, Ordering::Release);
        self.service.target.registry.end_io_queues(self.association.controller_id);
        let controller = self.clone();
        let stopping = spawn_joined(async move {
            controller.nothing_runs().await;
            controller.has_stopped();
        });
        if let Some(earlier) = self.stopping.replace(Some(stopping)) {
            earlier.abort();
        }
    }

    /// Until no write of its I/O queues runs, of those either that have gone before, and no command
    /// of its admin queue that changes something: a Format that came late would destroy what the
    /// host has written since.
    async fn nothing_runs(&self) {
        let registry = &self.service.target.registry;
        drained(|| registry.draining_of_controller(self.association.controller_id)).await;
        self.running.none_left().await;
    }

    fn has_stopped(&self) {
        let status = self.status.get();
        // A host that enables the controller again before that is not told otherwise afterwards.
        if status.ready && !self.configuration.get().enabled() {
            self.status.set(ControllerStatus::default());
        } else if status.shutdown == ShutdownState::Occurring {
            self.status.set(ControllerStatus { shutdown: ShutdownState::Complete, ..status });
        }
    }

    /// The admin queue's connection ends, and the controller with it.
    pub(super) fn end(&self) {
        if let Some(times) = self.service.told.departure.count(now()) {
            tracing::info!(
                times, host = %self.host().nqn, peer = %self.wire.peer,
                controller = self.association.controller_id, "host disconnected"
            );
        }
        let tasks = self.watches.take().into_iter().chain(self.keep_alive_watch.take());
        tasks.chain(self.stopping.take()).for_each(JoinHandle::abort);
        self.association.enabled.store(false, Ordering::Release);
        self.events.borrow_mut().abandon();
    }
}

/// The values of CC that this controller can be enabled with (Base 2.1, section 3.1.4.5).
fn check_enable(configuration: Configuration, is_discovery: bool) -> Result<(), Rejection> {
    const ADMIN_ONLY: u8 = 7;
    const ALL_SETS: u8 = 6;
    let sets_ok = match configuration.command_sets() {
        0 => true,
        ALL_SETS => !is_discovery,
        ADMIN_ONLY => true,
        _ => false,
    };
    let sizes = (configuration.sqe_size_exponent(), configuration.cqe_size_exponent());
    let sizes_ok = sizes == (6, 4) || is_discovery && sizes == (0, 0);
    let memory_ok = configuration.page_size_exponent() == 0 && configuration.arbitration() == 0;
    if sets_ok && sizes_ok && memory_ok { Ok(()) } else { Err(Rejection::field(48)) }
}
