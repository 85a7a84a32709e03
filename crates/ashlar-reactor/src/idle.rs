//! Giving back what was kept for use again, once a reactor has nothing to do any more.
//!
//! While there is work, buffers and tasks are used over and over. A reactor that has been idle for
//! [`Config::idle_after`](crate::Config::idle_after) gives all of that back, once, and sleeps on.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::time::Duration;

use ashlar_block::{AlignedBuf, Nanos};

use crate::reactor::Reactor;

/// Polls within that time up to which a reactor is idle: keep alives, looks at health figures and
/// the heartbeats of a hundred drives come all the time. As much as some twenty commands of a host
/// in a second, which need nothing that is kept.
const IDLE_POLLS_MAX: u64 = 512;
/// What so few polls may leave behind in bytes, at most, for it not to be worth giving back.
const IDLE_KEPT_BYTES_MAX: usize = 4 << 20;

type Hook = dyn Fn();

#[derive(Default)]
pub(crate) struct Idle {
    /// When it is to be looked whether there was work since, if there was some before.
    watch: Cell<Option<Mark>>,
    /// Up to when there was no work, or nothing that is not given back.
    rest: Cell<Mark>,
    hooks: RefCell<BTreeMap<u64, Weak<Hook>>>,
    next_hook: Cell<u64>,
}

/// A time, and the polls that the reactor has done when it is noted.
#[derive(Clone, Copy, Default)]
struct Mark {
    at: Nanos,
    polls: u64,
}

impl Idle {
    /// The reactor is about to sleep, and keeps so much for use again. If it has worked since it
    /// last had nothing to do, it is watched from now on.
    fn begin_watch(&self, now: Mark, kept_bytes: usize, idle_after: u64) {
        if self.watch.get().is_some() {
            return;
        }
        let rest = self.rest.get();
        let end = Nanos(now.at.0.saturating_add(idle_after));
        if now.polls - rest.polls > IDLE_POLLS_MAX || kept_bytes > IDLE_KEPT_BYTES_MAX {
            self.watch.set(Some(Mark { at: end, ..now }));
        } else if now.at.since(rest.at) >= Duration::from_nanos(idle_after) {
            // So little in so long is no work, however often it comes.
            self.rest.set(now);
        }
    }

    /// When it is to be looked whether the reactor is idle.
    pub(crate) fn due(&self) -> Option<Nanos> {
        self.watch.get().map(|watch| watch.at)
    }

    /// Whether it was idle for as long as it was watched, once that has ended. While something is
    /// ready, which may be a heartbeat or the first of much that has come during a standstill, that
    /// is not decided yet.
    fn ends_watch_idle(&self, now: Mark, has_ready: bool) -> bool {
        let Some(watch) = self.watch.get().filter(|watch| watch.at <= now.at) else { return false };
        let is_idle = now.polls - watch.polls <= IDLE_POLLS_MAX;
        if is_idle && has_ready {
            return false;
        }
        self.watch.set(None);
        is_idle
    }

    fn run_hooks(&self) {
        let hooks: Vec<_> = self.hooks.borrow().values().filter_map(Weak::upgrade).collect();
        hooks.iter().for_each(|hook| hook());
    }
}

/// What is done when the reactor is idle, as long as this lives. Made by
/// [`when_idle`](crate::when_idle).
pub struct WhenIdle {
    reactor: Rc<Reactor>,
    number: u64,
    _hook: Rc<Hook>,
}

impl WhenIdle {
    pub(crate) fn new(reactor: Rc<Reactor>, hook: Rc<Hook>) -> Self {
        let idle = &reactor.idle;
        let number = idle.next_hook.get();
        idle.next_hook.set(number + 1);
        idle.hooks.borrow_mut().insert(number, Rc::downgrade(&hook));
        WhenIdle { reactor, number, _hook: hook }
    }
}

impl Drop for WhenIdle {
    fn drop(&mut self) {
        self.reactor.idle.hooks.borrow_mut().remove(&self.number);
    }
}

impl Reactor {
    fn mark(&self, at: Nanos) -> Mark {
        Mark { at, polls: self.counters.polls.get() }
    }

    pub(crate) fn watch_idleness(&self, now: Nanos) {
        let idle_after = u64::try_from(self.config.idle_after.as_nanos()).unwrap_or(u64::MAX);
        self.idle.begin_watch(self.mark(now), AlignedBuf::kept_bytes(), idle_after);
    }

    /// Lets others give back what they keep, if the reactor has been idle and still is. What they
    /// end then runs before [`Self::give_memory_back`].
    pub(crate) fn tell_if_idle(&self, now: Nanos) -> bool {
        let is_idle = self.idle.ends_watch_idle(self.mark(now), self.tasks.has_ready());
        if is_idle {
            self.idle.run_hooks();
        }
        is_idle
    }

    /// Gives memory back that this thread keeps.
    pub(crate) fn give_memory_back(&self, now: Nanos) {
        self.pool.give_memory_back();
        AlignedBuf::free_kept();
        if let Some(give_back) = self.config.give_back {
            give_back();
        }
        self.idle.rest.set(self.mark(now));
    }
}

#[cfg(test)]
mod tests;
