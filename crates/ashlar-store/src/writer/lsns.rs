//! Log sequence numbers: given out in order, durable and published in any.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use ashlar_format::ids::Lsn;
use tokio::sync::Notify;

/// Records that a batch counts for itself: its header has to be found and kept as well.
pub const BATCH_RECORDS: u64 = 4;

/// The batches of one reactor, from the moment that they get their number.
pub struct LsnTracker {
    next: Cell<Lsn>,
    /// Records of all batches, and what their headers count for.
    records: Cell<u64>,
    /// In order, as are the others: numbers are given out in order.
    not_durable: RefCell<VecDeque<Lsn>>,
    not_published: RefCell<VecDeque<Lsn>>,
    /// Notified when every batch has been published.
    quiet: Notify,
}

impl LsnTracker {
    /// A log whose first batch will be `first`.
    pub fn new(first: Lsn) -> Self {
        LsnTracker {
            next: Cell::new(first),
            records: Cell::new(0),
            not_durable: RefCell::default(),
            not_published: RefCell::default(),
            quiet: Notify::new(),
        }
    }

    /// The number of the next batch, which has so many records.
    pub fn begin(&self, records: usize) -> Lsn {
        self.records.set(self.records.get() + records as u64 + BATCH_RECORDS);
        let lsn = self.next.get();
        self.next.set(lsn.next());
        self.not_durable.borrow_mut().push_back(lsn);
        self.not_published.borrow_mut().push_back(lsn);
        lsn
    }

    /// Later batches are above `lsn`.
    pub fn skip_past(&self, lsn: Lsn) {
        self.next.set(self.next.get().max(Lsn(lsn.0 / Lsn::REACTORS * Lsn::REACTORS).next()));
    }

    /// The batch is on stable media.
    pub fn durable(&self, lsn: Lsn) {
        assert!(remove(&mut self.not_durable.borrow_mut(), lsn), "{lsn} became durable twice");
    }

    /// The maps have taken what the batch says, or refused it.
    pub fn published(&self, lsn: Lsn) {
        let mut not_published = self.not_published.borrow_mut();
        assert!(remove(&mut not_published, lsn), "{lsn} was published twice");
        if not_published.is_empty() {
            self.quiet.notify_waiters();
        }
    }

    /// Records of all batches so far, and what their headers count for: what replaying them costs.
    pub fn records(&self) -> u64 {
        self.records.get()
    }

    /// Every batch at or below it is durable.
    pub fn complete_through(&self) -> Lsn {
        let first = self.not_durable.borrow().front().copied().unwrap_or(self.next.get());
        Lsn(first.0.saturating_sub(Lsn::REACTORS))
    }

    /// Every batch below it has been published.
    pub fn floor(&self) -> Lsn {
        self.not_published.borrow().front().copied().unwrap_or(self.next.get())
    }

    /// Returns when every batch that was begun has been published.
    pub async fn quiet(&self) {
        loop {
            let quiet = self.quiet.notified();
            if self.not_published.borrow().is_empty() {
                return;
            }
            quiet.await;
        }
    }

    /// For what must be kept by a root alone: the root's floor lies above everything that came
    /// before it.
    pub fn assert_quiet(&self) {
        assert_eq!(self.floor(), self.next.get(), "a batch is still on its way");
    }

    /// What the next batch's number will be.
    pub fn next(&self) -> Lsn {
        self.next.get()
    }
}

/// Takes `lsn` out of an ordered list; false if it is not there.
fn remove(list: &mut VecDeque<Lsn>, lsn: Lsn) -> bool {
    list.binary_search(&lsn).is_ok_and(|at| list.remove(at).is_some())
}
