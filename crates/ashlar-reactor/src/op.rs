//! The future of one operation.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::ops::{OpKey, Owned, outcome};
use crate::reactor::Reactor;

/// What the loss of its future means to an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OnDrop {
    /// It is cancelled: it may wait for ever otherwise.
    Cancel,
    /// It goes on to its end: a drive ends what it began.
    Finish,
}

/// An operation's result and the memory that it had borrowed. Dropping it never frees that memory
/// before the kernel is done with it.
pub(crate) struct Op {
    reactor: Rc<Reactor>,
    key: Option<OpKey>,
    on_drop: OnDrop,
}

impl Op {
    pub(crate) fn new(reactor: Rc<Reactor>, key: OpKey, on_drop: OnDrop) -> Self {
        Op { reactor, key: Some(key), on_drop }
    }
}

impl Future for Op {
    type Output = (io::Result<u32>, Owned);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let key = self.key.expect("an operation is not polled after its end");
        let poll = self.reactor.poll_op(key, cx.waker());
        poll.map(|(result, owned)| {
            self.key = None;
            (outcome(result), owned)
        })
    }
}

impl Drop for Op {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.reactor.abandon(key, self.on_drop);
        }
    }
}
