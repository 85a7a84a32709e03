//! The newest durable root, and who waits for the next one.
//!
//! Only checkpoints change it, and a start that counts itself in it.

use std::cell::{Ref, RefCell};
use std::collections::BTreeSet;

use ashlar_block::DriveId;
use ashlar_format::root::{MemberRecord, Root};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// The roots of an open pool.
pub(crate) struct RootWatch {
    newest: RefCell<Root>,
    begun: RefCell<Root>,
    absent: RefCell<BTreeSet<DriveId>>,
    changed: Notify,
}

impl RootWatch {
    /// `root` is the newest one, and has these drives absent.
    pub fn new(root: Root, absent: BTreeSet<DriveId>) -> Self {
        RootWatch {
            begun: RefCell::new(root.clone()),
            newest: RefCell::new(root),
            absent: RefCell::new(absent),
            changed: Notify::new(),
        }
    }

    /// The newest durable root.
    pub fn newest(&self) -> Ref<'_, Root> {
        self.newest.borrow()
    }

    /// The last root of which the writing has begun: it may have come to some drives, though it is
    /// not known to be durable.
    pub fn begun(&self) -> Ref<'_, Root> {
        self.begun.borrow()
    }

    /// Drives whose absence is in the newest root.
    pub fn absent(&self) -> Ref<'_, BTreeSet<DriveId>> {
        self.absent.borrow()
    }

    /// This start has found no clean root.
    pub fn count_unclean_start(&self) {
        self.newest.borrow_mut().unclean_starts += 1;
    }

    /// The writing of a root begins.
    pub fn begin(&self, root: Root) {
        self.begun.replace(root);
    }

    /// The root is durable. Returns the one before. Who waits hears of it by [`Self::announce`].
    pub fn install(&self, root: Root) -> Root {
        let absent = |member: &&MemberRecord| !member.state.takes_part();
        self.absent
            .replace(root.members.iter().filter(absent).map(|member| member.drive).collect());
        self.newest.replace(root)
    }

    /// Has everybody look again who waits for a root.
    pub fn announce(&self) {
        self.changed.notify_waiters();
    }

    /// Ends when somebody announces a root.
    pub fn changes(&self) -> Notified<'_> {
        self.changed.notified()
    }
}
