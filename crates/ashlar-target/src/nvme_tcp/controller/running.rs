//! Commands of an admin queue that run in tasks of their own.

use std::cell::Cell;
use std::rc::Rc;

use ashlar_block::{Notify, wait_for};

/// How many there are, and a way to wait for their end.
#[derive(Default)]
pub(super) struct Running {
    count: Cell<usize>,
    none_left: Notify,
}

/// One of them, until dropped.
pub(in crate::nvme_tcp) struct Run(Rc<Running>);

impl Running {
    /// Counts another one.
    pub(super) fn begin(self: &Rc<Self>) -> Run {
        self.count.set(self.count.get() + 1);
        Run(self.clone())
    }

    /// Until there is none.
    pub(super) async fn none_left(&self) {
        wait_for(&self.none_left, || (self.count.get() == 0).then_some(())).await;
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let left = self.0.count.get() - 1;
        self.0.count.set(left);
        if left == 0 {
            self.0.none_left.notify_waiters();
        }
    }
}
