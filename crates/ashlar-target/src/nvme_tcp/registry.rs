//! Who is connected, over all reactors.
//!
//! Locked when a host comes or goes and when somebody asks, never for a command.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use ashlar_block::Nanos;
use ashlar_reactor::now;
use ashlar_volume::HostNqn;

use super::connected_host::{ConnectedHost, HostId};
use super::errors::ErrorLog;
use super::host_meter::{HostCounts, HostMeter, HostMeters};
use super::shared_nqn::{self, SharedNqn, Sign};
use super::signal::Once;
use super::visits::{
    TakenVisits, Visit, VisitEnd, VisitEndReason, VisitQueue, VisitTotals, Visitors,
};

/// Highest controller identifier (Base 2.1, section 3.1.3.3: FFF0h to FFFFh are reserved).
const CONTROLLER_ID_MAX: u16 = 0xffef;

/// Why a connection ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EndReason {
    /// The host closed it, or it broke.
    PeerClosed,
    /// The host sent a terminate request.
    PeerTerminated,
    /// The host broke the protocol.
    Fault,
    /// A header did not match its digest.
    DigestError,
    /// The host sent Disconnect.
    Disconnected,
    /// The host sent no Keep Alive in time.
    KeepAliveExpired,
    /// The admin queue of its controller has ended.
    AssociationEnded,
    /// The controller was reset or shut down.
    ControllerReset,
    /// No Connect in time.
    HandshakeTimeout,
    /// No Connect when others came.
    MadeRoom,
    /// Data that were asked for did not come in time.
    TransferTimeout,
    /// Nothing can be sent any more.
    SendFailed,
    /// The service ends.
    Shutdown,
}

impl EndReason {
    /// Something was wrong with what came or went.
    fn is_fault(self) -> bool {
        matches!(
            self,
            EndReason::Fault
                | EndReason::DigestError
                | EndReason::PeerTerminated
                | EndReason::TransferTimeout
                | EndReason::SendFailed
        )
    }
}

/// The life of one connection, as other reactors see it.
pub(super) struct Life {
    /// Set when it has to end.
    pub(super) stop: Once<EndReason>,
    /// No command of it will be applied any more.
    pub(super) drained: Once<()>,
}

impl Life {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Life { stop: Once::new(), drained: Once::new() })
    }

    /// Asks the connection to end.
    pub(super) fn end(&self, reason: EndReason) {
        self.stop.set(reason);
    }

    /// Whether it was asked to end: what has not begun does not begin any more.
    pub(super) fn has_ended(&self) -> bool {
        self.stop.get().is_some()
    }

    fn is_draining(&self) -> bool {
        self.has_ended() && self.drained.get().is_none()
    }
}

/// A host as the target tells hosts apart: name and identifier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct HostKey {
    pub(super) nqn: HostNqn,
    pub(super) id: [u8; 16],
}

/// One controller, as other reactors see it.
pub(super) struct Association {
    pub(super) controller_id: u16,
    pub(super) host: HostKey,
    pub(super) is_discovery: bool,
    address: SocketAddr,
    since_unix_seconds: u64,
    connected: Nanos,
    /// When its admin queue has brought a command last, in nanoseconds.
    heard: AtomicU64,
    /// CC.EN is set: I/O queues may connect.
    pub(super) enabled: AtomicBool,
    /// The host has asked for a shutdown: whatever ends it now is in order.
    pub(super) shut_down: AtomicBool,
    /// The host honours Command Retry Delays.
    pub(super) retry_delays: AtomicBool,
    /// I/O queues that the host may connect.
    pub(super) io_queues: AtomicU16,
    /// What its queues have answered.
    meter: Arc<HostMeter>,
    /// What all controllers of its host have.
    host_meter: Arc<HostMeter>,
    errors: Mutex<ErrorLog>,
}

impl Association {
    /// Its admin queue has brought a command.
    pub(super) fn hear(&self, now: Nanos) {
        self.heard.store(now.0, Ordering::Relaxed);
    }

    /// The host has made it, or it has ended, and the host has so many since.
    fn visit(&self, controllers: usize, reason: Option<VisitEndReason>) -> Visit {
        let lasted = now().since(self.connected);
        Visit {
            at: SystemTime::now(),
            nqn: self.host.nqn.clone(),
            address: self.address,
            controller_id: self.controller_id,
            controllers,
            end: reason.map(|reason| VisitEnd { reason, lasted }),
        }
    }

    fn sign(&self) -> Sign {
        Sign {
            nqn: self.host.nqn.clone(),
            id: HostId(self.host.id),
            address: self.address,
            connected: self.connected,
            heard: Nanos(self.heard.load(Ordering::Relaxed)),
        }
    }

    /// Who counts what its queues answer.
    pub(super) fn meters(&self) -> [Arc<HostMeter>; 2] {
        [self.meter.clone(), self.host_meter.clone()]
    }

    pub(super) fn errors(&self) -> MutexGuard<'_, ErrorLog> {
        self.errors.lock().expect("no holder of the lock panics")
    }
}

struct Entry {
    association: Arc<Association>,
    queues: BTreeMap<u16, Arc<Life>>,
    /// How often its I/O queues were ended.
    resets: u64,
    /// By what the first of its I/O queues has ended that did not end in order: a host gives up the
    /// whole controller then, by closing it.
    fault: Option<EndReason>,
}

/// A connection that may outlive its place among its controller's queues.
struct KnownLife {
    host_nqn: HostNqn,
    controller_id: u16,
    life: Weak<Life>,
}

#[derive(Default)]
struct State {
    controllers: BTreeMap<u16, Entry>,
    last_id: u16,
    lives: Vec<KnownLife>,
    visitors: Visitors,
    meters: HostMeters,
}

/// Leave to add one I/O queue to a controller as it is now: it ends with the controller, and with a
/// reset.
pub(super) struct Invitation {
    association: Arc<Association>,
    queue_id: u16,
    resets: u64,
}

/// Why a queue may not join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum JoinError {
    /// There is no such controller.
    NoController,
    /// It is another host's.
    OtherHostNqn,
    /// It is of the same name, but another identifier.
    OtherHostId,
    /// It is not enabled, or was reset meanwhile.
    NotEnabled,
    /// The queue's number is above what was granted.
    QueueIdTooHigh,
    /// The queue is connected already.
    QueueInUse,
}

/// All controllers of a target.
#[derive(Default)]
pub(super) struct Registry {
    state: Mutex<State>,
    visits: VisitQueue,
}

impl Registry {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of the lock panics")
    }

    /// Makes a controller for an admin queue; none if all identifiers are taken.
    pub(super) fn admit(
        &self,
        host: HostKey,
        address: SocketAddr,
        is_discovery: bool,
        life: &Arc<Life>,
    ) -> Option<Arc<Association>> {
        let mut state = self.state();
        let controller_id = state.free_id()?;
        let host_meter =
            if is_discovery { Arc::default() } else { state.meters.connected(&host.nqn) };
        let association = Arc::new(Association {
            controller_id,
            host: host.clone(),
            is_discovery,
            address,
            since_unix_seconds: unix_seconds(),
            connected: now(),
            heard: AtomicU64::new(now().0),
            enabled: AtomicBool::new(false),
            shut_down: AtomicBool::new(false),
            retry_delays: AtomicBool::new(false),
            io_queues: AtomicU16::new(0),
            meter: Arc::default(),
            host_meter,
            errors: Mutex::default(),
        });
        let queues = [(0, life.clone())].into();
        let entry = Entry { association: association.clone(), queues, resets: 0, fault: None };
        state.controllers.insert(controller_id, entry);
        if !is_discovery {
            let controllers = state.visitors.connected(&host.nqn);
            // Under the lock: the end of one that has been made is told after that.
            self.visits.put(association.visit(controllers, None));
        }
        state.remember(host.nqn, controller_id, life);
        Some(association)
    }

    /// Whether an I/O queue may be added to a controller. [`Registry::join`] adds it, now or after
    /// a wait.
    pub(super) fn invite(
        &self,
        controller_id: u16,
        host: &HostKey,
        queue_id: u16,
    ) -> Result<Invitation, JoinError> {
        let state = self.state();
        let entry = state.controllers.get(&controller_id).ok_or(JoinError::NoController)?;
        entry.check_join(host, queue_id)?;
        Ok(Invitation { association: entry.association.clone(), queue_id, resets: entry.resets })
    }

    /// Adds an I/O queue to its controller, if that is what it was when the queue was invited: not
    /// another one, and not reset since.
    pub(super) fn join(
        &self,
        invitation: Invitation,
        life: &Arc<Life>,
    ) -> Result<Arc<Association>, JoinError> {
        let Invitation { association, queue_id, resets } = invitation;
        let mut state = self.state();
        let entry = state.controllers.get_mut(&association.controller_id);
        let entry = entry.filter(|entry| Arc::ptr_eq(&entry.association, &association));
        let entry = entry.ok_or(JoinError::NoController)?;
        entry.check_join(&association.host, queue_id)?;
        if entry.resets != resets {
            return Err(JoinError::NotEnabled);
        }
        entry.queues.insert(queue_id, life.clone());
        state.remember(association.host.nqn.clone(), association.controller_id, life);
        Ok(association)
    }

    /// Takes a queue out. With the admin queue the controller goes, and all its other queues are
    /// asked to end.
    pub(super) fn leave(&self, controller_id: u16, queue_id: u16, life: &Arc<Life>) {
        let mut state = self.state();
        let Some(entry) = state.controllers.get_mut(&controller_id) else { return };
        let is_own = entry.queues.get(&queue_id).is_some_and(|own| Arc::ptr_eq(own, life));
        if !is_own {
            return;
        }
        entry.queues.remove(&queue_id);
        let reason = life.stop.get().unwrap_or(EndReason::PeerClosed);
        if queue_id == 0 {
            entry.queues.values().for_each(|other| other.end(EndReason::AssociationEnded));
            let (association, fault) = (entry.association.clone(), entry.fault);
            state.controllers.remove(&controller_id);
            if !association.is_discovery {
                let left = state.visitors.disconnected(&association.host.nqn);
                if left == 0 {
                    state.meters.gone(&association.host.nqn);
                }
                let shut_down = association.shut_down.load(Ordering::Acquire);
                let reason = VisitEndReason::of(reason, shut_down, fault);
                self.visits.put(association.visit(left, Some(reason)));
            }
        } else if reason.is_fault() {
            entry.fault.get_or_insert(reason);
        }
    }

    /// Asks all I/O queues of a controller to end. Queues that are invited may not join any more.
    pub(super) fn end_io_queues(&self, controller_id: u16) {
        let mut state = self.state();
        let Some(entry) = state.controllers.get_mut(&controller_id) else { return };
        entry.resets += 1;
        let io_queues = entry.queues.iter().filter(|(queue_id, _)| **queue_id != 0);
        io_queues.for_each(|(_, life)| life.end(EndReason::ControllerReset));
    }

    /// A connection of the host of that name that has ended while commands of it may still be
    /// applied, whatever its identifier: the same host may come back with another one.
    pub(super) fn draining_of_host(&self, nqn: &HostNqn) -> Option<Arc<Life>> {
        self.state().draining(|known| known.host_nqn == *nqn)
    }

    /// As [`Registry::draining_of_host`], of one controller.
    pub(super) fn draining_of_controller(&self, controller_id: u16) -> Option<Arc<Life>> {
        self.state().draining(|known| known.controller_id == controller_id)
    }

    /// Identifiers of the controllers that `host` has to the subsystem, in order.
    pub(super) fn controller_ids(&self, host: &HostKey) -> Vec<u16> {
        let state = self.state();
        let entries = state.controllers.values().map(|entry| &entry.association);
        let own =
            entries.filter(|association| association.host == *host && !association.is_discovery);
        own.map(|association| association.controller_id).collect()
    }

    pub(super) fn has_io_queues(&self, controller_id: u16) -> bool {
        let state = self.state();
        state.controllers.get(&controller_id).is_some_and(|entry| entry.queues.len() > 1)
    }

    pub(super) fn connected_hosts(&self) -> Vec<ConnectedHost> {
        let state = self.state();
        state.controllers.values().map(Entry::connected_host).collect()
    }

    /// What hosts have done, those that have gone lately included.
    pub(super) fn host_counts(&self) -> Vec<(HostNqn, HostCounts)> {
        self.state().meters.counts()
    }

    pub(super) fn shared_nqns(&self) -> Vec<SharedNqn> {
        let state = self.state();
        let associations = state.controllers.values().map(|entry| &entry.association);
        let signs = associations
            .filter(|association| !association.is_discovery)
            .map(|it| it.sign())
            .collect();
        drop(state);
        shared_nqn::shared(signs)
    }

    /// What has come and gone since the last take.
    pub(super) fn take_visits(&self) -> TakenVisits {
        self.visits.take()
    }

    /// Waits until there is some.
    pub(super) async fn visits_have_come(&self) {
        self.visits.has_come().await;
    }

    pub(super) fn visit_totals(&self) -> VisitTotals {
        self.state().visitors.totals()
    }
}

impl Entry {
    fn check_join(&self, host: &HostKey, queue_id: u16) -> Result<(), JoinError> {
        if self.queues.get(&0).is_none_or(|admin| admin.has_ended()) {
            return Err(JoinError::NoController);
        }
        check_join(&self.association, host, queue_id)?;
        if self.queues.contains_key(&queue_id) { Err(JoinError::QueueInUse) } else { Ok(()) }
    }

    fn connected_host(&self) -> ConnectedHost {
        let association = &self.association;
        ConnectedHost {
            nqn: association.host.nqn.clone(),
            host_id: association.host.id,
            address: association.address,
            io_queues: self.queues.keys().filter(|queue_id| **queue_id != 0).count() as u16,
            io_queues_max: association.io_queues.load(Ordering::Acquire),
            answered: association.meter.counts(),
            since_unix_seconds: association.since_unix_seconds,
            controller_id: association.controller_id,
            is_discovery: association.is_discovery,
        }
    }
}

impl State {
    /// The next identifier after the last one given: a number is not reused soon, so that a host
    /// that comes back with an old one finds nobody else's controller.
    fn free_id(&mut self) -> Option<u16> {
        let after = self.last_id % CONTROLLER_ID_MAX;
        let candidates = (after + 1..=CONTROLLER_ID_MAX).chain(1..=after);
        let id = candidates.into_iter().find(|id| !self.controllers.contains_key(id))?;
        self.last_id = id;
        Some(id)
    }

    fn remember(&mut self, host_nqn: HostNqn, controller_id: u16, life: &Arc<Life>) {
        self.lives.retain(|known| known.life.strong_count() > 0);
        self.lives.push(KnownLife { host_nqn, controller_id, life: Arc::downgrade(life) });
    }

    fn draining(&self, is_meant: impl Fn(&KnownLife) -> bool) -> Option<Arc<Life>> {
        let meant = self.lives.iter().filter(|known| is_meant(known));
        meant.filter_map(|known| known.life.upgrade()).find(|life| life.is_draining())
    }
}

/// Waits until `draining` finds none.
pub(super) async fn drained(draining: impl Fn() -> Option<Arc<Life>>) {
    while let Some(life) = draining() {
        life.drained.wait().await;
    }
}

fn check_join(association: &Association, host: &HostKey, queue_id: u16) -> Result<(), JoinError> {
    if association.host.nqn != host.nqn {
        return Err(JoinError::OtherHostNqn);
    }
    if association.host.id != host.id {
        return Err(JoinError::OtherHostId);
    }
    if association.is_discovery || queue_id > association.io_queues.load(Ordering::Acquire) {
        return Err(JoinError::QueueIdTooHigh);
    }
    if !association.enabled.load(Ordering::Acquire) {
        return Err(JoinError::NotEnabled);
    }
    Ok(())
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests;
