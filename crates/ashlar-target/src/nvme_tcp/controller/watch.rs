//! What watches over a controller: its host's keep alive, and changes that the host wants to know
//! of.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::Nanos;
use ashlar_nvme::event::AsyncEvent;
use ashlar_nvme::log::critical_warning;
use ashlar_reactor::{now, sleep_until, timeout};
use ashlar_volume::{Door, HealthFigures};

use super::Controller;
use crate::nvme_tcp::idle_timeout::read_what_came;
use crate::nvme_tcp::logs::warnings_of;
use crate::nvme_tcp::registry::EndReason;

/// Added to every keep alive timeout: the timer's granularity (KAS).
const KEEP_ALIVE_GRANULARITY: Duration = Duration::from_secs(1);

/// Ends the association once its host has sent nothing for `timeout`.
pub(super) async fn watch_keep_alive<D: Door>(controller: Rc<Controller<D>>, timeout: Duration) {
    let patience = (timeout + KEEP_ALIVE_GRANULARITY).as_nanos() as u64;
    let deadline = || Nanos(controller.last_command.get().0.saturating_add(patience));
    loop {
        sleep_until(deadline()).await;
        read_what_came().await;
        if now() >= deadline() {
            if let Some(times) = controller.service.told.silence.count(now()) {
                let (host, peer) = (&controller.host().nqn, controller.wire.peer);
                tracing::warn!(times, %host, %peer, ?timeout, "keep alive timeout expired");
            }
            return controller.wire.life.end(EndReason::KeepAliveExpired);
        }
    }
}

/// What a host is told changes of: namespaces by number and generation, the discovery log,
/// warnings.
struct Seen {
    namespaces: BTreeMap<u32, u64>,
    discovery_log: Vec<u8>,
    warnings: u8,
}

/// Percent of spare above its threshold from which on it is no longer low, if it was.
const SPARE_BACK_PERCENT: u8 = 2;

/// Warnings that hold, and those that held before and are not over for sure: a host whose pool
/// lives at its threshold is warned once.
fn lasting(before: u8, health: &HealthFigures) -> u8 {
    let back = health.spare_threshold_percent.saturating_add(SPARE_BACK_PERCENT).min(100);
    let lasts = if health.spare_percent < back { before & critical_warning::SPARE } else { 0 };
    warnings_of(health) | lasts
}

impl Seen {
    /// What a host sees that was warned of so much `before`.
    fn now<D: Door>(controller: &Controller<D>, before: u8) -> Self {
        let namespaces = controller.service.door.namespaces(&controller.host().nqn);
        Seen {
            namespaces: namespaces.iter().map(|info| (info.nsid.0, info.generation)).collect(),
            // The generation counter is left out: it changes with more than the entries.
            discovery_log: controller.discovery_log(0),
            warnings: lasting(before, &controller.service.door.health(&controller.host().nqn)),
        }
    }
}

/// Numbers whose generation differs, or that are in one of the two alone; in order.
fn changed(before: &BTreeMap<u32, u64>, after: &BTreeMap<u32, u64>) -> Vec<u32> {
    let gone = before.keys().filter(|nsid| !after.contains_key(nsid));
    let new = after.iter().filter(|(nsid, generation)| before.get(nsid) != Some(generation));
    let mut nsids: Vec<u32> = gone.chain(new.map(|(nsid, _)| nsid)).copied().collect();
    nsids.sort_unstable();
    nsids
}

/// Tells the host of what changes, for as long as the controller lives.
pub(super) async fn watch_changes<D: Door>(controller: Rc<Controller<D>>) {
    let door = &controller.service.door;
    let mut generation = door.generation();
    let mut seen = Seen::now(&controller, 0);
    loop {
        let _ = timeout(controller.wire.limits.health_interval, door.changed(generation)).await;
        generation = door.generation();
        let now = Seen::now(&controller, seen.warnings);
        if controller.is_discovery() {
            controller.tell_discovery(&seen, &now);
        } else {
            controller.tell_namespaces(&seen, &now);
        }
        seen = now;
    }
}

impl<D: Door> Controller<D> {
    fn tell_discovery(&self, before: &Seen, after: &Seen) {
        if before.discovery_log != after.discovery_log {
            self.events
                .borrow_mut()
                .raise(AsyncEvent::DISCOVERY_CHANGED, self.event_configuration());
        }
    }

    fn tell_namespaces(&self, before: &Seen, after: &Seen) {
        let configuration = self.event_configuration();
        let mut events = self.events.borrow_mut();
        let nsids = changed(&before.namespaces, &after.namespaces);
        if !nsids.is_empty() {
            events.namespaces_changed(&nsids, configuration);
        }
        let new_warnings = after.warnings & !before.warnings;
        if new_warnings & critical_warning::SPARE != 0 {
            events.raise(AsyncEvent::SPARE_LOW, configuration);
        }
        if new_warnings & (critical_warning::RELIABILITY | critical_warning::READ_ONLY) != 0 {
            events.raise(AsyncEvent::RELIABILITY, configuration);
        }
    }
}

#[cfg(test)]
mod tests;
