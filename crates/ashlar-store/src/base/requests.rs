//! What the parts of a pool ask of its upkeep.
//!
//! A part sets what it wants and wakes upkeep. Upkeep reads all requests, and answers those that it
//! has dealt with.

use std::cell::{Cell, RefCell};

use ashlar_block::IoError;
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, oneshot};

/// How a checkpoint that somebody waits for has ended.
pub(crate) type Answer = Result<(), IoError>;

/// Entries beyond which upkeep is woken for them: its limits are far apart.
const FRESH_ENTRIES_STEP: usize = 1 << 10;

/// The requests.
#[derive(Default)]
pub(crate) struct Requests {
    wake: Notify,
    lost: Notify,
    drive_lost: Cell<bool>,
    hosts_want_segment: Cell<bool>,
    moves_want_segment: Cell<bool>,
    room_wanted: Cell<bool>,
    room_exact: Cell<bool>,
    fresh_entries: Cell<usize>,
    checkpoints: RefCell<Vec<oneshot::Sender<Answer>>>,
}

impl Requests {
    /// Something may be to be done.
    pub fn notify(&self) {
        self.wake.notify_one();
    }

    /// Ends when somebody has notified.
    pub fn notified(&self) -> Notified<'_> {
        self.wake.notified()
    }

    /// Data of hosts waits for a segment.
    pub fn want_segment_for_hosts(&self) {
        self.hosts_want_segment.set(true);
        self.notify();
    }

    /// What is moved, or the map's own upkeep, waits for a segment.
    pub fn want_segment_for_moves(&self) {
        self.moves_want_segment.set(true);
        self.notify();
    }

    /// Data of hosts waits for a segment.
    pub fn hosts_want_segment(&self) -> bool {
        self.hosts_want_segment.get()
    }

    /// What is moved waits for a segment.
    pub fn moves_want_segment(&self) -> bool {
        self.moves_want_segment.get()
    }

    /// Data of hosts that waited has been refused.
    pub fn refused_hosts(&self) {
        self.hosts_want_segment.set(false);
    }

    /// A write waits for a drive's absence to become durable.
    pub fn lose_drive(&self) {
        self.drive_lost.set(true);
        self.lost.notify_one();
        self.notify();
    }

    /// Whether one does.
    pub fn drive_lost(&self) -> bool {
        self.drive_lost.get()
    }

    /// Ends when one does.
    pub fn loses_drive(&self) -> Notified<'_> {
        self.lost.notified()
    }

    /// The maps have changed; this many entries are not in deltas yet.
    pub fn written(&self, fresh_entries: usize) {
        self.room_exact.set(false);
        let before = self.fresh_entries.replace(fresh_entries);
        if before / FRESH_ENTRIES_STEP != fresh_entries / FRESH_ENTRIES_STEP {
            self.notify();
        }
    }

    /// Entries that are not in deltas yet.
    pub fn fresh_entries(&self) -> usize {
        self.fresh_entries.get()
    }

    /// A write waits for space.
    pub fn make_room(&self) {
        self.room_wanted.set(true);
        self.notify();
    }

    /// Whether one does.
    pub fn room_wanted(&self) -> bool {
        self.room_wanted.get()
    }

    /// There is no more room to be made.
    pub fn declare_full(&self) {
        self.room_exact.set(true);
        self.room_wanted.set(false);
    }

    /// Whether that has been said, and nothing was written since.
    pub fn room_is_exact(&self) -> bool {
        self.room_exact.get()
    }

    /// Asks for a checkpoint that begins after this call.
    pub fn checkpoint(&self) -> oneshot::Receiver<Answer> {
        let (answer, answered) = oneshot::channel();
        self.checkpoints.borrow_mut().push(answer);
        self.notify();
        answered
    }

    /// Whether somebody has asked for one.
    pub fn checkpoint_wanted(&self) -> bool {
        !self.checkpoints.borrow().is_empty()
    }

    /// A checkpoint begins, which does what was asked for. Returns who waits for it.
    pub fn checkpoint_begins(&self) -> Vec<oneshot::Sender<Answer>> {
        self.drive_lost.set(false);
        self.hosts_want_segment.set(false);
        self.moves_want_segment.set(false);
        self.checkpoints.take()
    }

    /// Answers everybody who waits for a checkpoint that has not begun.
    pub fn answer_checkpoints(&self, with: &Answer) {
        for answer in self.checkpoints.take() {
            // Who asked may have gone.
            let _ = answer.send(with.clone());
        }
    }
}
