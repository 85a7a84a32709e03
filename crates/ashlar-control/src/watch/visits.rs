//! What is told of hosts that connect and go. Pure.
//!
//! Each is told of as it comes, up to a bound for one host and one for all, so that a host that
//! comes and goes without an end, or many at once, do not push all else out of the log. What is
//! beyond the bounds is counted by host, and told once its interval is over: how many, of which
//! hosts and why. Where that goes on, each interval is twice as long as the one before, has half as
//! many events, and names few hosts: a flood for hours takes a small part of the log.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use crate::events::EventKind::{
    self, HostConnected, HostDisconnected, HostPathConnected, HostPathDisconnected,
    HostReconnected, HostVisitsLost, Hosts,
};
use crate::node_api::{HostEnd, HostVisit, HostVisits};
use crate::progress_text::Span;
use crate::types::{Happening, Severity};

const INTERVAL: Duration = Duration::from_secs(10);
/// Events of one interval, and those of one host.
const EVENTS_MAX: u32 = 64;
const EVENTS_OF_HOST_MAX: u32 = 8;
/// How often bounds are halved at most, and after what time without more than they let through
/// they are as at first.
const LEVEL_MAX: u32 = 4;
const QUIET: Duration = Duration::from_secs(600);
/// Hosts that are counted by their names; others are counted together.
const HOSTS_MAX: usize = 1024;
/// So many hosts have an event each of what was not told one by one. Of more, events name so many.
const HOSTS_APART_MAX: usize = 8;
const HOSTS_NAMED_MAX: usize = 32;

/// An event, and when it was; nothing: now.
pub type Told = (Option<SystemTime>, Happening);

/// What was told in this interval, and what was not.
#[derive(Default)]
pub struct Visits {
    begun: Option<Instant>,
    /// How often the bounds were halved, and since when there was no more than they let through.
    level: u32,
    quiet_since: Option<Instant>,
    told: u32,
    hosts: BTreeMap<String, Tally>,
    others: Tally,
}

/// The visits of a host, or of several.
#[derive(Default)]
struct Tally {
    told: u32,
    connects: u64,
    /// Ends by what has brought them.
    ends: BTreeMap<&'static str, u64>,
    has_failed: bool,
    /// Controllers after the last one.
    controllers: usize,
}

impl Visits {
    /// What is to be told of these, and of those before whose interval is over.
    pub fn tell(&mut self, now: Instant, taken: HostVisits) -> Vec<Told> {
        let mut all = self.summary(now);
        if self.quiet_since.is_some_and(|since| now.duration_since(since) >= QUIET) {
            (self.level, self.quiet_since) = (0, None);
        }
        let lost = taken.lost;
        for visit in taken.visits {
            if self.admits(now, &visit.nqn) {
                all.push((Some(visit.at), event(visit)));
            } else {
                self.tally(visit);
            }
        }
        let message = format!(
            "{lost} connects and disconnects of hosts were not written down: they came faster than \
             the daemon takes them"
        );
        let lost = (lost > 0).then(|| Happening::new(Severity::Warning, HostVisitsLost, message));
        all.extend(lost.map(|lost| (None, lost)));
        all
    }

    /// What is to be told of those of which there will be no more.
    pub fn end(&mut self) -> Vec<Told> {
        self.sum_up(None)
    }

    fn interval(&self) -> Duration {
        INTERVAL * (1 << self.level)
    }

    /// In how long something is to be told though nobody comes or goes.
    pub fn due(&self, now: Instant) -> Option<Duration> {
        let begun = self.begun.filter(|_| self.has_untold())?;
        Some((begun + self.interval()).saturating_duration_since(now))
    }

    fn has_untold(&self) -> bool {
        self.hosts.values().chain([&self.others]).any(Tally::has_untold)
    }

    /// Whether one more of that host is told by itself.
    fn admits(&mut self, now: Instant, nqn: &str) -> bool {
        self.begun.get_or_insert(now);
        if self.told >= EVENTS_MAX >> self.level {
            return false;
        }
        let of_host_max = (EVENTS_OF_HOST_MAX >> self.level).max(1);
        let of_host = self.hosts.entry(nqn.to_owned()).or_default();
        let admits = of_host.told < of_host_max;
        if admits {
            of_host.told += 1;
            self.told += 1;
        }
        admits
    }

    fn tally(&mut self, visit: HostVisit) {
        let is_named = self.hosts.len() < HOSTS_MAX || self.hosts.contains_key(&visit.nqn);
        let tally = match is_named {
            true => self.hosts.entry(visit.nqn).or_default(),
            false => &mut self.others,
        };
        tally.controllers = visit.controllers;
        match visit.end {
            None => tally.connects += 1,
            Some(HostEnd { text, is_orderly, .. }) => {
                *tally.ends.entry(text).or_default() += 1;
                tally.has_failed |= !is_orderly;
            }
        }
    }

    /// What was not told one by one, once the interval is over. Another one begins.
    fn summary(&mut self, now: Instant) -> Vec<Told> {
        let is_over = |begun: Instant| now.duration_since(begun) >= self.interval();
        if !self.begun.is_some_and(is_over) {
            return Vec::new();
        }
        self.sum_up(Some(now))
    }

    /// The same, whether or not it is over. `next` is when another interval begins.
    fn sum_up(&mut self, next: Option<Instant>) -> Vec<Told> {
        let Visits { hosts, others, level, quiet_since, .. } = std::mem::take(self);
        let interval = INTERVAL * (1 << level);
        let untold: Vec<_> = hosts.into_iter().filter(|(_, tally)| tally.has_untold()).collect();
        let was_flood = others.has_untold() || !untold.is_empty();
        (self.level, self.quiet_since) = match was_flood {
            true => ((level + 1).min(LEVEL_MAX), next),
            false => (level, quiet_since),
        };
        let all = if untold.len() <= HOSTS_APART_MAX && !others.has_untold() {
            untold.into_iter().map(|(nqn, tally)| reconnected(nqn, &tally, interval)).collect()
        } else {
            let named_max = if level == 0 { HOSTS_MAX } else { HOSTS_NAMED_MAX };
            summed_up(&untold, others, interval, named_max)
        };
        all.into_iter().map(|happening| (None, happening)).collect()
    }
}

impl Tally {
    fn has_untold(&self) -> bool {
        self.connects > 0 || !self.ends.is_empty()
    }

    fn add(&mut self, other: &Tally) {
        self.connects += other.connects;
        other.ends.iter().for_each(|(text, times)| *self.ends.entry(text).or_default() += times);
        self.has_failed |= other.has_failed;
    }

    fn severity(&self) -> Severity {
        if self.has_failed { Severity::Warning } else { Severity::Info }
    }

    /// How often, and why.
    fn describe(&self, interval: Duration) -> String {
        let gone: u64 = self.ends.values().sum();
        let why: Vec<_> =
            self.ends.iter().map(|(text, times)| format!("{text} ({times} times)")).collect();
        let why = if why.is_empty() { String::new() } else { format!(": {}", why.join(", ")) };
        format!(
            "{} controllers more were made and {gone} have ended within {} s{why}",
            self.connects,
            interval.as_secs()
        )
    }
}

/// Of one host, which comes and goes.
fn reconnected(nqn: String, tally: &Tally, interval: Duration) -> Happening {
    let left = tally.controllers;
    let message = format!("of host {nqn} {}; it has {left} now", tally.describe(interval));
    let happening = Happening::new(tally.severity(), HostReconnected, message);
    Happening { host: Some(nqn), ..happening }
}

/// Of many hosts: the first event has the sums, and each names some, of so many in all.
fn summed_up(
    hosts: &[(String, Tally)],
    mut all: Tally,
    interval: Duration,
    named_max: usize,
) -> Vec<Happening> {
    let unnamed = all.connects + all.ends.values().sum::<u64>();
    hosts.iter().for_each(|(_, tally)| all.add(tally));
    let connected = hosts.iter().filter(|(_, tally)| tally.controllers > 0).count();
    let mut sums = format!(
        "of {} hosts {}; {connected} of them are connected now",
        hosts.len(),
        all.describe(interval)
    );
    if unnamed > 0 {
        sums.push_str(&format!("; {unnamed} times that was another host"));
    }
    let named = &hosts[..hosts.len().min(named_max)];
    if named.len() < hosts.len() {
        sums.push_str(&format!("; {} hosts are not named", hosts.len() - named.len()));
    }
    let parts = named.chunks(HOSTS_NAMED_MAX).enumerate();
    let tell = |(part, hosts): (usize, &[(String, Tally)])| {
        let nqns: Vec<String> = hosts.iter().map(|(nqn, _)| nqn.clone()).collect();
        let names = nqns.join(", ");
        let message = match part {
            0 => format!("{sums}. Hosts: {names}"),
            _ => format!("more hosts that have come or gone meanwhile: {names}"),
        };
        Happening { hosts: nqns, ..Happening::new(all.severity(), Hosts, message) }
    };
    parts.map(tell).collect()
}

/// Of one host that has come or gone.
fn event(visit: HostVisit) -> Happening {
    let HostVisit { nqn, address, controllers, .. } = &visit;
    let (kind, how): (EventKind, String) = match (&visit.end, controllers) {
        (None, 0 | 1) => (HostConnected, format!("is connected from {address}")),
        (None, _) => (
            HostPathConnected,
            format!("has made another controller from {address}, and has {controllers}"),
        ),
        (Some(end), 0) => (
            HostDisconnected,
            format!("has no connection any more; the last was from {address}, {}", lasted(end)),
        ),
        (Some(end), _) => (
            HostPathDisconnected,
            format!(
                "has lost a controller from {address}, {}, and has {controllers} left",
                lasted(end)
            ),
        ),
    };
    let is_well = visit.end.as_ref().is_none_or(|end| end.is_orderly);
    let severity = if is_well { Severity::Info } else { Severity::Warning };
    let happening = Happening::new(severity, kind, format!("host {nqn} {how}"));
    Happening {
        address: Some(visit.address),
        controller_id: Some(visit.controller_id),
        reason: visit.end.as_ref().map(|end| end.reason.to_owned()),
        host: Some(visit.nqn),
        ..happening.because(visit.end.as_ref().map(|end| end.text))
    }
}

fn lasted(end: &HostEnd) -> String {
    match end.lasted.as_secs() {
        0 => format!("for {} ms", end.lasted.as_millis()),
        seconds => format!("for {}", Span(seconds)),
    }
}

#[cfg(test)]
mod tests;
