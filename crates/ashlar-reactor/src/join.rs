//! Tasks whose output somebody wants.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use crate::reactor::Reactor;
use crate::task::TaskKey;

struct Shared<T> {
    output: Option<T>,
    waiting: Option<Waker>,
}

/// A task. Awaiting it gives its output; dropping it lets the task go on by itself.
pub struct JoinHandle<T> {
    reactor: Rc<Reactor>,
    key: TaskKey,
    shared: Rc<RefCell<Shared<T>>>,
}

impl<T: 'static> JoinHandle<T> {
    pub(crate) fn spawn(reactor: &Rc<Reactor>, future: impl Future<Output = T> + 'static) -> Self {
        let shared = Rc::new(RefCell::new(Shared { output: None, waiting: None }));
        let place = shared.clone();
        let key = reactor.spawn(Box::pin(async move {
            let output = future.await;
            let waiting = {
                let mut place = place.borrow_mut();
                place.output = Some(output);
                place.waiting.take()
            };
            if let Some(waker) = waiting {
                waker.wake();
            }
        }));
        JoinHandle { reactor: reactor.clone(), key, shared }
    }
}

impl<T> JoinHandle<T> {
    /// Ends the task where it is: its future is dropped at once (or, called from within the task
    /// itself, as soon as it next waits). What it has in flight follows the rules of each
    /// operation.
    pub fn abort(self) {
        self.reactor.tasks.abort(self.key);
    }

    /// Whether the output is there.
    pub fn is_finished(&self) -> bool {
        self.shared.borrow().output.is_some()
    }

    pub(crate) fn try_take(&mut self) -> Option<T> {
        self.shared.borrow_mut().output.take()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        if let Some(output) = self.try_take() {
            return Poll::Ready(output);
        }
        self.shared.borrow_mut().waiting = Some(cx.waker().clone());
        Poll::Pending
    }
}
