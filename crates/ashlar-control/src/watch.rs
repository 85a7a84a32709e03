//! Who sees what happens: the watcher looks at the node now and then, and whatever differs is an
//! event.
//!
//! So hardly any part of the node has to tell anything. What begins and ends between two looks is
//! not seen, only what has become of it; each change by the API is followed by a look, and so is
//! each question for events. What clients ask for is told as well, done or refused (`changes`).
//! There are two exceptions, of which the node tells when they happen. Hosts connect and go
//! (`visits`): one that came and went between two looks is there, with the reason. And in pools
//! drives are lost, writes end and volumes are erased (`heard`): a drive that is back at once is
//! there with its loss.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::audit::AuditLog;
use crate::changes::Reloaded;
use crate::events::{EventKind, EventLog};
use crate::log::Keeping;
use crate::node_api::{Look, NodeApi, SharedHostNqn, Warning};
use crate::types::{Deed, DriveErase, Happening, Pool, Severity};
use flood::Flood;
use heard::Heard;
use refusals::Refusals;
use standing::Standing;
use visits::Visits;

mod compare;
mod flood;
mod heard;
mod refusals;
pub(crate) mod standing;
mod visits;

pub(crate) use compare::damage::by_drives;

/// How often it looks while somebody follows, and while nobody does.
const FOLLOWED_INTERVAL: Duration = Duration::from_secs(1);
const ALONE_INTERVAL: Duration = Duration::from_secs(2);

/// How long it is at least from one look for what has happened in a pool to the next: pools to
/// which much happens keep nobody busy.
const HEARD_INTERVAL: Duration = Duration::from_millis(100);

/// How long a look may take: a pool that stands still keeps nobody from what is known.
const LOOK_WAIT: Duration = Duration::from_secs(2);

/// How long a change waits for its entry in the audit log: a disk that hangs keeps nobody from an
/// answer, and `audit_not_kept` tells of it.
const AUDIT_WAIT: Duration = Duration::from_secs(1);

/// Changes that are told of one by one, and addresses that are kept out, each in its interval.
const CHANGES_TOLD: (u32, Duration) = (64, Duration::from_secs(10));
const KEPT_OUT_TOLD: (u32, Duration) = (32, Duration::from_secs(3600));

/// What is kept.
const EVENTS: &str = "events";
const AUDIT: &str = "entries of the audit log";

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
    kept_out: std::sync::Mutex<Flood>,
    refusals: std::sync::Mutex<Refusals>,
    visits: std::sync::Mutex<Visits>,
    heard: std::sync::Mutex<Heard>,
    /// The pools' names and UUIDs as of the last look.
    names: std::sync::Mutex<Vec<(String, String)>>,
    /// What stays to be seen to in pools as of the last look, by their UUIDs.
    standing: std::sync::Mutex<BTreeMap<String, Standing>>,
    /// What those around the node have to warn of, by whom.
    warnings: std::sync::Mutex<BTreeMap<String, String>>,
}

/// What a look sees.
#[derive(Default)]
struct Seen {
    pools: Vec<Pool>,
    erases: Vec<DriveErase>,
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
    /// What was told of data that was damaged, by the pools' UUIDs.
    damage: BTreeMap<String, compare::damage::ToldDamage>,
    /// Rebuilds that do not go on, by the pools' UUIDs.
    stuck: BTreeMap<String, compare::stuck::Stuck>,
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
        let flood = |(most, interval)| std::sync::Mutex::new(Flood::new(most, interval));
        let (seen, refusals, visits, heard, names, standing, warnings) = Default::default();
        Watcher {
            node_api,
            log,
            audit,
            started: Instant::now(),
            seen,
            changes: flood(CHANGES_TOLD),
            kept_out: flood(KEPT_OUT_TOLD),
            refusals,
            visits,
            heard,
            names,
            standing,
            warnings,
        }
    }

    /// Looks, and hears of hosts and pools, for as long as it is polled.
    pub async fn run(&self) {
        let (hosts, pools) = (self.hear_of_hosts(), self.hear_of_pools());
        futures_util::future::join3(self.keep_looking(), hosts, pools).await;
    }

    async fn keep_looking(&self) {
        loop {
            self.look().await;
            let followed = self.log.followers() > 0;
            tokio::time::sleep(if followed { FOLLOWED_INTERVAL } else { ALONE_INTERVAL }).await;
        }
    }

    /// Tells of hosts when they come and go, and of what is not told one by one when that is due.
    async fn hear_of_hosts(&self) {
        loop {
            let due = self.visits().due(Instant::now());
            let longest = due.unwrap_or(Duration::MAX);
            let _ = tokio::time::timeout(longest, self.node_api.host_visits_have_come()).await;
            self.tell_visits();
        }
    }

    /// Looks when something has happened in a pool.
    async fn hear_of_pools(&self) {
        loop {
            self.node_api.occurrences_have_come().await;
            self.look().await;
            tokio::time::sleep(HEARD_INTERVAL).await;
        }
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().expect("no holder of the lock panics")
    }

    /// Tells of what has happened in pools until now, but for what waits for a look.
    fn tell_heard(&self) {
        // Held until they are in the log: another one that takes them comes after these.
        let mut heard = self.heard();
        let taken = self.node_api.take_occurrences();
        self.log.add_of(heard.hear(Instant::now(), taken));
    }

    fn visits(&self) -> MutexGuard<'_, Visits> {
        self.visits.lock().expect("no holder of the lock panics")
    }

    /// Tells of the hosts that have come and gone until now.
    fn tell_visits(&self) {
        // Held until they are in the log: another one that takes them comes after these.
        let mut visits = self.visits();
        let taken = self.node_api.take_host_visits();
        self.log.add_of(visits.tell(Instant::now(), taken));
    }

    /// Looks once: what has changed by now is in the log then. A node that does not answer has
    /// changed nothing, and one that answers late is seen by the next look.
    pub async fn look(&self) {
        self.tell_untold_changes();
        self.tell_visits();
        self.tell_heard();
        self.tell_what_is_not_kept();
        let _ = tokio::time::timeout(LOOK_WAIT, self.look_at_node()).await;
    }

    async fn look_at_node(&self) {
        let mut seen = self.seen.lock().await;
        let Ok(Look { pools, known, erases }) = self.node_api.look().await else { return };
        // Of what has happened until that look nothing is on its way any more.
        self.tell_heard();
        let losses = self.heard().take_losses(|pool| known.get(pool).copied());
        self.log.add_of(compare::losses::tell(&mut seen, losses));
        let shared_nqns = self.node_api.shared_host_nqns();
        let warnings = self.node_api.warnings();
        let at = self.started.elapsed();
        let mut now = Seen { pools, erases, shared_nqns, warnings, at, ..Seen::default() };
        self.log.add(compare::happenings(&seen, &mut now));
        let names = now.pools.iter().map(|pool| (pool.name.clone(), pool.uuid.clone())).collect();
        *self.names.lock().expect("no holder of the lock panics") = names;
        let is_stuck = |uuid: &str| now.stuck.get(uuid).is_some_and(|stuck| stuck.is_told);
        let stands = |it: &Pool| self.standing(it).with_rebuild(is_stuck(&it.uuid));
        let standing = now.pools.iter().map(|it| (it.uuid.clone(), stands(it))).collect();
        *self.standing.lock().expect("no holder of the lock panics") = standing;
        *seen = now;
    }

    /// What stays to be seen to in a pool that is so now.
    pub(crate) fn standing(&self, pool: &Pool) -> Standing {
        let standing = self.standing.lock().expect("no holder of the lock panics");
        standing.get(&pool.uuid).unwrap_or(&Standing::default()).after(pool)
    }

    /// The name and the UUID of the pool that has this one of both, as of the last look.
    pub(crate) fn pool_called(&self, name_or_uuid: &str) -> Option<(String, String)> {
        let names = self.names.lock().expect("no holder of the lock panics");
        let is_it = |(name, uuid): &&(String, String)| name == name_or_uuid || uuid == name_or_uuid;
        names.iter().find(is_it).cloned()
    }

    /// Tells of something that has happened around the node.
    pub fn tell(&self, happening: Happening) {
        self.log.add([happening]);
    }

    /// What `who` has to warn of from now on, beside what the node has; nothing: all is well.
    pub fn warn(&self, who: &str, of: Option<String>) {
        let mut warnings = self.warnings.lock().expect("no holder of the lock panics");
        match of {
            Some(of) => drop(warnings.insert(who.to_owned(), of)),
            None => drop(warnings.remove(who)),
        }
    }

    /// What there is to warn of beside what the node has.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let warn = |what: &str, failure: Option<(String, u64)>| {
            failure.map(|(why, lost)| {
                let lost = match lost {
                    0 => "they are written once it can be".to_owned(),
                    lost => format!("{lost} are in no log on disk"),
                };
                format!("{what} are not written down, and are lost with the daemon: {why}; {lost}")
            })
        };
        let of_logs = [warn(EVENTS, self.log.failure()), warn(AUDIT, self.audit.failure())];
        let warnings = self.warnings.lock().expect("no holder of the lock panics");
        of_logs.into_iter().flatten().chain(warnings.values().cloned()).collect()
    }

    /// Writes down what a client has asked for, and what came of it. What was done is on disk when
    /// this ends, unless its disk takes longer than that, which nobody waits for. What was not done
    /// is counted where there is too much of it: those who ask in vain push out nothing that was
    /// done.
    pub(crate) async fn tell_change(&self, caller: &str, deed: Deed) {
        if deed.may_be_done() {
            let _ = tokio::time::timeout(AUDIT_WAIT, self.write_down(deed)).await;
        } else {
            self.tell_refused(caller, deed);
        }
    }

    /// Writes down that a signal has had the configuration read again, and what came of it, which
    /// is nothing where it could not be read. It is on disk then as a change is.
    pub async fn tell_reload(&self, came: Option<&Reloaded>) {
        let deed = Deed::of_reload(came);
        let caller = deed.caller.clone();
        self.tell_change(&caller, deed).await;
    }

    /// Writes down what was not done, unless there is too much of that: it is counted.
    pub(crate) fn tell_refused(&self, caller: &str, deed: Deed) {
        let admitted = self.refusals().admit(Instant::now(), caller, deed);
        if let Some(deed) = admitted {
            drop(self.write_down(deed));
        }
    }

    /// Writes that down, and tells of it, unless there are too many: those are counted. Ends once
    /// it is on disk, or cannot be now.
    fn write_down(&self, deed: Deed) -> impl Future<Output = ()> + use<> {
        self.tell_untold_changes();
        let happening = deed.happening();
        let written = self.audit.add_durably(deed);
        let may_tell =
            || self.changes.lock().expect("no holder of the lock panics").admits(Instant::now());
        if let Some(happening) = happening.filter(|_| may_tell()) {
            self.log.add([happening]);
        }
        written
    }

    /// Tells that nobody from there may say any more who they are for a while, unless there are too
    /// many such: they are counted.
    pub(crate) fn tell_kept_out(&self, from: IpAddr, now: Instant) {
        let mut flood = self.kept_out.lock().expect("no holder of the lock panics");
        let untold = flood.take_untold(now);
        let admits = flood.admits(now);
        drop(flood);
        if !admits {
            return;
        }
        let more = match untold {
            0 => String::new(),
            untold => format!("; so have {untold} other addresses within the hour before"),
        };
        let message = format!(
            "{from} has shown tokens that nobody knows, and is not asked for a minute{more}"
        );
        tracing::warn!("{message}");
        let happening = Happening::new(Severity::Warning, EventKind::AddressKeptOut, message);
        self.log.add([Happening { address: Some(from.to_string()), ..happening }]);
    }

    fn refusals(&self) -> MutexGuard<'_, Refusals> {
        self.refusals.lock().expect("no holder of the lock panics")
    }

    fn tell_what_is_not_kept(&self) {
        let events = self
            .log
            .take_change()
            .map(|it| kept(it, EVENTS, (EventKind::EventsNotKept, EventKind::EventsKept)));
        let audit = self
            .audit
            .take_change()
            .map(|it| kept(it, AUDIT, (EventKind::AuditNotKept, EventKind::AuditKept)));
        self.log.add(events.into_iter().chain(audit));
    }

    fn tell_untold_changes(&self) {
        let refused = self.refusals().take_untold(Instant::now());
        self.audit.add(refused);
        let untold =
            self.changes.lock().expect("no holder of the lock panics").take_untold(Instant::now());
        if untold > 0 {
            let message =
                format!("{untold} more changes were asked for, and are not told of one by one");
            self.log.add([Happening::new(Severity::Info, EventKind::Changes, message)]);
        }
    }

    /// The daemon is about to end.
    pub fn tell_end(&self) {
        let refused = self.refusals().end();
        self.audit.add(refused);
        self.log.add([Happening::new(
            Severity::Info,
            EventKind::DaemonStopping,
            "the daemon is stopping",
        )]);
    }

    /// No host is served any more. There will be no more events: those that follow end.
    pub fn end(&self) {
        self.tell_visits();
        self.tell_heard();
        self.log.add_of(self.visits().end());
        self.log.end();
    }
}

/// That entries are kept or not, by one of the two kinds.
fn kept(keeping: Keeping, what: &str, (not, again): (EventKind, EventKind)) -> Happening {
    match keeping {
        Keeping::Not(why) => {
            let message = format!("{what} are not written down");
            Happening::new(Severity::Warning, not, message).because(Some(&why))
        }
        Keeping::Again { lost: 0 } => {
            let message = format!("{what} are written down again, and none is missing");
            Happening::new(Severity::Info, again, message)
        }
        Keeping::Again { lost } => {
            let message = format!("{what} are written down again; {lost} are missing");
            Happening::new(Severity::Warning, again, message)
        }
    }
}
