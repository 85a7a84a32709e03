//! One turn of a reactor: run what is ready, submit what it began, take what has completed.

use std::rc::Rc;

use ashlar_block::Nanos;

use crate::doorbell::Doorbell;
use crate::inbox::Letter;
use crate::ops::{self, Followup};
use crate::reactor::Reactor;
use crate::ring::{Completion, IGNORED, Ring, Wait};
use crate::timer::now;
use crate::waker;

impl Reactor {
    /// Runs what is ready. Tasks that yielded go last, once; if they yield again, the ring comes
    /// first.
    pub(crate) fn run_tasks(&self) {
        self.counters.turns.add(1);
        self.read_letters();
        let now = now();
        self.turn_began.set(now);
        self.timers.fire(now);
        let is_idle = self.tell_if_idle(now);
        self.polls_left.set(self.config.polls_per_turn_max);
        self.run_ready();
        if self.tasks.resume_yielded() {
            self.run_ready();
        }
        if is_idle {
            self.give_memory_back(now);
        }
    }

    fn run_ready(&self) {
        while self.polls_left.get() > 0 {
            let Some(key) = self.tasks.next_ready() else { return };
            self.poll_task(key, &waker::waker(self.id, key));
        }
    }

    fn read_letters(&self) {
        if !self.inbox.gate().take_pending() {
            return;
        }
        let mut letters = self.letters.take();
        self.inbox.take(&mut letters);
        for letter in letters.drain(..) {
            match letter {
                Letter::Wake(key) => self.tasks.wake(key),
                Letter::Run(function) => function(),
                Letter::GiveBack(buffer) => self.pool.give_back(buffer),
            }
        }
        self.letters.replace(letters);
    }

    /// Submits what the tasks began and takes what has completed; waits only if there is nothing to
    /// run.
    pub(crate) fn look_at_ring(self: &Rc<Self>) {
        if self.tasks.has_ready() || self.inbox.gate().is_pending() {
            return self.enter_and_reap(Wait::No);
        }
        if !self.spin_for_work() {
            self.sleep_in_ring();
        }
    }

    /// Whether work came, and sleeping is not called for.
    fn spin_for_work(self: &Rc<Self>) -> bool {
        let limit = self.spin.borrow().duration();
        if limit.is_zero() {
            return false;
        }
        self.enter_and_reap(Wait::No);
        let end = Nanos(now().0 + limit.as_nanos() as u64);
        let found = self.tasks.has_ready() || self.look_until(end);
        let mut spin = self.spin.borrow_mut();
        if found {
            self.counters.spin_hits.add(1);
            spin.hit();
        } else {
            spin.missed();
        }
        found
    }

    fn look_until(self: &Rc<Self>, end: Nanos) -> bool {
        loop {
            if self.with_ring(Ring::has_completions).unwrap_or(false) {
                self.enter_and_reap(Wait::No);
                return true;
            }
            let time = now();
            let due = self.timers.next_deadline().is_some_and(|deadline| deadline <= time);
            if due || self.inbox.gate().is_pending() {
                return true;
            }
            if time >= end {
                return false;
            }
            std::hint::spin_loop();
        }
    }

    fn sleep_in_ring(self: &Rc<Self>) {
        Doorbell::arm(&self.doorbell, self);
        let began = now();
        self.watch_idleness(began);
        let deadline = self.timers.next_deadline().into_iter().chain(self.idle.due()).min();
        let wait = match deadline {
            None => Wait::Forever,
            Some(deadline) if deadline <= began => Wait::No,
            Some(deadline) => Wait::AtMost(deadline.since(began)),
        };
        if wait == Wait::No || !self.inbox.gate().try_sleep() {
            return self.enter_and_reap(Wait::No);
        }
        self.counters.sleeps.add(1);
        self.enter_and_reap(wait);
        self.inbox.gate().wake_up();
        let mut spin = self.spin.borrow_mut();
        if spin.enabled() {
            spin.slept(now().since(began));
        }
    }

    pub(crate) fn enter_and_reap(self: &Rc<Self>, wait: Wait) {
        let mut completions = self.completions.take();
        self.with_ring(|ring| {
            ring.enter(wait);
            ring.reap(&mut completions);
        });
        for completion in completions.drain(..) {
            self.complete(completion);
        }
        self.completions.replace(completions);
    }

    fn complete(self: &Rc<Self>, completion: Completion) {
        if completion.user_data == IGNORED {
            return;
        }
        let followup = self.ops.borrow_mut().complete(&completion);
        match followup {
            Followup::Nothing => {}
            Followup::Wake(waker) => waker.wake(),
            Followup::Sink { sink, more } => {
                sink.complete(self, completion.result, completion.flags, more)
            }
            Followup::Discard { owned, result } => ops::discard(owned, result),
        }
    }
}
