//! A clock that tests move on, and tasks that run by it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use ashlar_block::{Clock, Nanos};
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::FuturesUnordered;

#[derive(Clone, Default)]
pub(crate) struct TestClock {
    now: Rc<Cell<u64>>,
    /// Who sleeps, by the end of that.
    sleeping: Rc<RefCell<BTreeMap<(u64, u64), Waker>>>,
    next: Rc<Cell<u64>>,
}

impl TestClock {
    /// How many sleep.
    pub(crate) fn sleeping_count(&self) -> usize {
        self.sleeping.borrow().len()
    }
}

impl Clock for TestClock {
    fn now(&self) -> Nanos {
        Nanos(self.now.get())
    }

    fn unix_seconds(&self) -> u64 {
        0
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + 'static {
        let (clock, deadline) = (self.clone(), self.now.get() + duration.as_nanos() as u64);
        let number = clock.next.replace(clock.next.get() + 1);
        let sleeper = Sleeper { clock, key: (deadline, number) };
        poll_fn(move |cx| {
            if sleeper.clock.now.get() >= deadline {
                return Poll::Ready(());
            }
            let mut sleeping = sleeper.clock.sleeping.borrow_mut();
            sleeping.insert(sleeper.key, cx.waker().clone());
            Poll::Pending
        })
    }
}

/// Who sleeps, until dropped.
struct Sleeper {
    clock: TestClock,
    key: (u64, u64),
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.clock.sleeping.borrow_mut().remove(&self.key);
    }
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

#[derive(Default)]
pub(crate) struct Tasks {
    pub(crate) clock: TestClock,
    tasks: FuturesUnordered<Abortable<Task>>,
    handles: Vec<AbortHandle>,
}

impl Tasks {
    pub(crate) fn spawn(&mut self, task: impl Future<Output = ()> + 'static) {
        let (handle, registration) = AbortHandle::new_pair();
        self.handles.push(handle);
        self.tasks.push(Abortable::new(Box::pin(task), registration));
    }

    /// Drops the `index`th of the tasks that were spawned.
    pub(crate) fn drop_task(&mut self, index: usize) {
        self.handles.remove(index).abort();
        self.run();
    }

    /// Runs all until each waits or has ended.
    pub(crate) fn run(&mut self) {
        let woken = Arc::<Woken>::default();
        let waker = Waker::from(woken.clone());
        let mut cx = Context::from_waker(&waker);
        loop {
            match self.tasks.poll_next_unpin(&mut cx) {
                Poll::Ready(None) => return,
                Poll::Ready(Some(_)) => {}
                Poll::Pending if woken.0.swap(false, Ordering::Relaxed) => {}
                Poll::Pending => return,
            }
        }
    }

    /// Runs them until that time has come.
    pub(crate) fn run_until(&mut self, end: Nanos) {
        loop {
            self.run();
            let mut sleeping = self.clock.sleeping.borrow_mut();
            let next = sleeping.first_entry().filter(|next| next.key().0 <= end.0);
            let Some(next) = next else { break };
            let ((deadline, _), waker) = next.remove_entry();
            self.clock.now.set(deadline.max(self.clock.now.get()));
            waker.wake();
        }
        self.clock.now.set(end.0);
    }
}
