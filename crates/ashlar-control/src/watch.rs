//! Who sees what happens: the watcher looks at the node now and then, and whatever differs is an
//! event.
//!
//! So no part of the node has to tell anything. What begins and ends between two looks is not seen,
//! only what has become of it; each change by the API is followed by a look, and so is each
//! question for events. What clients ask for is told as well, done or refused (`changes`). Hosts
//! are the exception: the node counts how often each has connected and gone, so that one that came
//! and went in between is told of, too.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::audit::AuditLog;
use crate::events::{EventKind, EventLog};
use crate::node_api::{HostVisits, NodeApi, SharedHostNqn, Warning};
use crate::types::{Deed, Happening, Host, Pool, Severity};
use flood::Flood;

mod compare;
mod flood;

/// How often it looks while somebody follows, and while nobody does.
const FOLLOWED_INTERVAL: Duration = Duration::from_secs(1);
const ALONE_INTERVAL: Duration = Duration::from_secs(2);

/// Looks at a node.
pub struct Watcher {
    node_api: Arc<dyn NodeApi>,
    /// What it has seen.
    pub log: Arc<EventLog>,
    /// What it was told that clients have asked for.
    pub audit: Arc<AuditLog>,
    started: Instant,
    seen: Mutex<Seen>,
    changes: std::sync::Mutex<Flood>,
}

/// What a look sees.
#[derive(Default)]
struct Seen {
    pools: Vec<Pool>,
    hosts: Vec<Host>,
    /// What hosts have done since the look before.
    visits: Vec<HostVisits>,
    shared_nqns: Vec<SharedHostNqn>,
    warnings: Vec<Warning>,
    /// Rebuilds and evacuations, by the pools' UUIDs.
    moving: BTreeMap<String, Moving>,
    /// Rebalances, by the pools' UUIDs.
    rebalancing: BTreeMap<String, Moving>,
    /// How long after the start of the watcher.
    at: Duration,
    /// Pools of which was told that they are full soon, by their UUIDs, and when that was last so.
    full_soon: BTreeMap<String, Duration>,
}

/// What of a pool is being moved, and has been told of.
#[derive(Clone, Copy)]
struct Moving {
    what: What,
    /// Of it that are done.
    tenths: u8,
}

/// Why something is moved.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    /// It lived on a lost drive.
    Rebuild,
    /// It lives on a drive that is to go.
    Evacuation,
    /// It is to be spread over all drives.
    Rebalance,
}

impl Watcher {
    /// A watcher of a node that has just been started, which writes down what it sees, and has to
    /// tell this of its start: warnings, by their kinds.
    pub fn new(
        node_api: Arc<dyn NodeApi>,
        (log, audit): (Arc<EventLog>, Arc<AuditLog>),
        warnings: Vec<(EventKind, String)>,
    ) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        let started = Happening::new(
            Severity::Info,
            EventKind::DaemonStarted,
            format!("Ashlar {version} serves"),
        );
        let warnings =
            warnings.into_iter().map(|(kind, text)| Happening::new(Severity::Warning, kind, text));
        log.add(std::iter::once(started).chain(warnings));
        let (seen, changes) = (Mutex::default(), Default::default());
        Watcher { node_api, log, audit, started: Instant::now(), seen, changes }
    }

    /// Looks for as long as it is polled.
    pub async fn run(&self) {
        loop {
            self.look().await;
            let followed = self.log.followers() > 0;
            tokio::time::sleep(if followed { FOLLOWED_INTERVAL } else { ALONE_INTERVAL }).await;
        }
    }

    /// Looks once: what has changed by now is in the log then. A node that does not answer has
    /// changed nothing.
    pub async fn look(&self) {
        self.tell_untold_changes();
        let mut seen = self.seen.lock().await;
        let Ok(pools) = self.node_api.pools().await else { return };
        let Ok(hosts) = self.node_api.hosts().await else { return };
        let visits = self.node_api.take_host_visits();
        let shared_nqns = self.node_api.shared_host_nqns();
        let warnings = self.node_api.warnings();
        let at = self.started.elapsed();
        let mut now = Seen { pools, hosts, visits, shared_nqns, warnings, at, ..Seen::default() };
        self.log.add(compare::happenings(&seen, &mut now));
        self.tell_what_is_not_kept();
        *seen = now;
    }

    /// Writes down what a client has asked for, and tells of it, unless there are too many: those
    /// are counted.
    pub(crate) fn tell_change(&self, deed: Deed) {
        self.tell_untold_changes();
        let happening = deed.happening();
        self.audit.add([deed]);
        let Some(happening) = happening else { return };
        if self.changes.lock().expect("no holder of the lock panics").admits(Instant::now()) {
            self.log.add([happening]);
        }
    }

    fn tell_what_is_not_kept(&self) {
        let tell = |kind, what, why: Option<String>| {
            let message = format!("{what} are not written down");
            why.map(|why| Happening::new(Severity::Warning, kind, message).because(Some(&why)))
        };
        let events = tell(EventKind::EventsNotKept, "events", self.log.take_failure());
        let audit = self.audit.take_failure();
        let audit = tell(EventKind::AuditNotKept, "entries of the audit log", audit);
        self.log.add(events.into_iter().chain(audit));
    }

    fn tell_untold_changes(&self) {
        let untold =
            self.changes.lock().expect("no holder of the lock panics").take_untold(Instant::now());
        if untold > 0 {
            let message =
                format!("{untold} more changes were asked for, and are not told of one by one");
            self.log.add([Happening::new(Severity::Info, EventKind::Changes, message)]);
        }
    }

    /// The daemon ends: so do those that follow.
    pub fn end(&self) {
        self.log.add([Happening::new(
            Severity::Info,
            EventKind::DaemonStopping,
            "the daemon is stopping",
        )]);
        self.log.end();
    }
}
