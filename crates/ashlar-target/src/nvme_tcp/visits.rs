//! Hosts that connect and go, each told when it does: for events and counters, which must not
//! depend on the log.
//!
//! The registry puts each into a queue that has a bound, and one reader outside takes them. Who
//! puts never waits: what the queue has no room for is counted, and the reader is told how many.
//! Controllers of the discovery service are not told of.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, SystemTime};

use ashlar_block::Notify;
use ashlar_volume::HostNqn;

use super::registry::EndReason;

/// Visits that wait for their reader: all controllers of 500 hosts with four paths each may end and
/// come back while it stands still.
pub const VISITS_QUEUED_MAX: usize = 4096;

/// A host has made a controller, or one of its controllers has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Visit {
    /// When.
    pub at: SystemTime,
    /// The host.
    pub nqn: HostNqn,
    /// Where the controller's admin queue comes from.
    pub address: SocketAddr,
    /// The controller.
    pub controller_id: u16,
    /// Controllers that the host has since then.
    pub controllers: usize,
    /// Why it has ended; nothing: it has been made.
    pub end: Option<VisitEnd>,
}

/// The end of a controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VisitEnd {
    /// Why.
    pub reason: VisitEndReason,
    /// How long it was there.
    pub lasted: Duration,
}

/// Why a controller has ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum VisitEndReason {
    /// Its host has shut it down, or disconnected.
    HostDisconnected,
    /// Its host has sent no Keep Alive in time.
    KeepAliveExpired,
    /// Its connection was closed or broke, and nothing was said before.
    ConnectionLost,
    /// Its host has ended it by a terminate request.
    HostTerminated,
    /// What came did not match its digest.
    DigestError,
    /// Its host broke the protocol.
    ProtocolError,
    /// Data that were asked for did not come in time.
    TransferTimeout,
    /// Its host takes no answers any more.
    SendFailed,
    /// Its Connect has not come to its end in time.
    ConnectUnfinished,
    /// The daemon ends.
    DaemonStopping,
}

impl VisitEndReason {
    /// The reason of an admin queue's end: of one whose host has `shut` the controller `down`
    /// before, or one of whose I/O queues has ended by a `fault` before.
    pub(super) fn of(end: EndReason, shut_down: bool, fault: Option<EndReason>) -> Self {
        match (end, fault) {
            (EndReason::PeerClosed | EndReason::SendFailed, _) if shut_down => {
                VisitEndReason::HostDisconnected
            }
            (EndReason::PeerClosed, Some(fault)) => Self::plain(fault),
            (end, _) => Self::plain(end),
        }
    }

    fn plain(end: EndReason) -> Self {
        match end {
            EndReason::PeerClosed => VisitEndReason::ConnectionLost,
            EndReason::PeerTerminated => VisitEndReason::HostTerminated,
            EndReason::Fault => VisitEndReason::ProtocolError,
            EndReason::DigestError => VisitEndReason::DigestError,
            EndReason::KeepAliveExpired => VisitEndReason::KeepAliveExpired,
            EndReason::Disconnected | EndReason::AssociationEnded | EndReason::ControllerReset => {
                VisitEndReason::HostDisconnected
            }
            EndReason::HandshakeTimeout | EndReason::MadeRoom => VisitEndReason::ConnectUnfinished,
            EndReason::TransferTimeout => VisitEndReason::TransferTimeout,
            EndReason::SendFailed => VisitEndReason::SendFailed,
            EndReason::Shutdown => VisitEndReason::DaemonStopping,
        }
    }

    /// For programs: a word that does not change.
    pub const fn word(self) -> &'static str {
        match self {
            VisitEndReason::HostDisconnected => "host_disconnected",
            VisitEndReason::KeepAliveExpired => "keep_alive_expired",
            VisitEndReason::ConnectionLost => "connection_lost",
            VisitEndReason::HostTerminated => "host_terminated",
            VisitEndReason::DigestError => "digest_error",
            VisitEndReason::ProtocolError => "protocol_error",
            VisitEndReason::TransferTimeout => "transfer_timeout",
            VisitEndReason::SendFailed => "send_failed",
            VisitEndReason::ConnectUnfinished => "connect_unfinished",
            VisitEndReason::DaemonStopping => "daemon_stopping",
        }
    }

    /// For people: what has ended it.
    pub const fn text(self) -> &'static str {
        match self {
            VisitEndReason::HostDisconnected => "the host has disconnected",
            VisitEndReason::KeepAliveExpired => "no keep alive came in time",
            VisitEndReason::ConnectionLost => "the connection was lost",
            VisitEndReason::HostTerminated => "the host has ended it with an error",
            VisitEndReason::DigestError => "what came did not match its digest",
            VisitEndReason::ProtocolError => "the host broke the protocol",
            VisitEndReason::TransferTimeout => "data of a write did not come in time",
            VisitEndReason::SendFailed => "the host took no answers any more",
            VisitEndReason::ConnectUnfinished => "the host did not finish its Connect in time",
            VisitEndReason::DaemonStopping => "the daemon is stopping",
        }
    }

    /// It is what was to come, and no fault of network or host.
    pub const fn is_orderly(self) -> bool {
        matches!(self, VisitEndReason::HostDisconnected | VisitEndReason::DaemonStopping)
    }
}

/// How often hosts have connected and gone since the target was made.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct VisitTotals {
    /// Controllers that they have made.
    pub connects: u64,
    /// Controllers of them that have ended.
    pub disconnects: u64,
}

/// What the queue has given.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TakenVisits {
    /// In their order.
    pub visits: Vec<Visit>,
    /// Those that it had no room for, since it was asked last.
    pub lost: u64,
}

/// Counts of those who are here, which the registry's lock guards.
#[derive(Default)]
pub(super) struct Visitors {
    totals: VisitTotals,
    controllers: BTreeMap<HostNqn, usize>,
}

impl Visitors {
    /// A host has made a controller. Returns how many it has.
    pub(super) fn connected(&mut self, nqn: &HostNqn) -> usize {
        self.totals.connects += 1;
        let controllers = self.controllers.entry(nqn.clone()).or_default();
        *controllers += 1;
        *controllers
    }

    /// A controller of a host has ended. Returns how many it has left.
    pub(super) fn disconnected(&mut self, nqn: &HostNqn) -> usize {
        self.totals.disconnects += 1;
        let Some(controllers) = self.controllers.get_mut(nqn) else { return 0 };
        *controllers = controllers.saturating_sub(1);
        let left = *controllers;
        if left == 0 {
            self.controllers.remove(nqn);
        }
        left
    }

    pub(super) fn totals(&self) -> VisitTotals {
        self.totals
    }
}

/// The queue from the registry to the reader.
pub(super) struct VisitQueue {
    sender: SyncSender<Visit>,
    /// Locked by the reader alone.
    receiver: Mutex<Receiver<Visit>>,
    lost: AtomicU64,
    has_come: Notify,
}

impl Default for VisitQueue {
    fn default() -> Self {
        let (sender, receiver) = sync_channel(VISITS_QUEUED_MAX);
        let receiver = Mutex::new(receiver);
        VisitQueue { sender, receiver, lost: AtomicU64::new(0), has_come: Notify::const_new() }
    }
}

impl VisitQueue {
    /// Puts one in, without a wait.
    pub(super) fn put(&self, visit: Visit) {
        if self.sender.try_send(visit).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        // Kept for a reader that does not wait at the moment.
        self.has_come.notify_one();
    }

    /// Takes what is there.
    pub(super) fn take(&self) -> TakenVisits {
        let receiver = self.receiver.lock().unwrap_or_else(PoisonError::into_inner);
        // Who goes on putting does not keep the reader.
        let visits = receiver.try_iter().take(VISITS_QUEUED_MAX).collect();
        TakenVisits { visits, lost: self.lost.swap(0, Ordering::Relaxed) }
    }

    /// Waits until there is something to take. It may have been taken meanwhile.
    pub(super) async fn has_come(&self) {
        self.has_come.notified().await;
    }
}

#[cfg(test)]
mod tests;
