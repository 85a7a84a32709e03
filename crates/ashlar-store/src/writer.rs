//! From blocks to rows on the drives: compression, batches, streams, group commit, the journal and
//! its destaging, pages of the map.
//!
//! Owns LSNs, open segments and what waits to be written. It must not know who writes.
//!
//! 1. Batches of hosts are in the maps in the order of their LSNs.
//! 2. A host is answered once every column of its batch is on stable media, or the absence of its
//!    drive is in a durable root, and the maps tell of it.
//! 3. No row is written twice while its segment exists.
//! 4. A unit is never split over two batches: after a crash all of it is there or nothing.

pub(crate) mod append;
pub(crate) mod batch;
pub(crate) mod commit;
pub(crate) mod compress;
pub(crate) mod destage;
pub(crate) mod heat;
pub(crate) mod lsns;
pub(crate) mod moves;
pub(crate) mod pages;
pub(crate) mod rows;
pub(crate) mod zeroing;

use std::cell::{OnceCell, RefCell};

use ashlar_block::DriveId;
use ashlar_format::ids::Lsn;
use ashlar_format::location::Pointer;
use tokio::sync::Mutex;

use crate::base::recycle::Recycler;
use crate::lookup::read::Found;
use append::Streams;
use batch::Item;
use commit::{CommitQueue, Waiter};
use compress::Streaks;
use destage::Destage;
use heat::Heat;
use lsns::LsnTracker;
use zeroing::Updates;

/// What is on its way to the drives, and where it goes.
pub(crate) struct Writer {
    pub lsns: LsnTracker,
    pub streams: Streams,
    pub commit: CommitQueue,
    pub destage: Destage,
    pub heat: Heat,
    pub streaks: Streaks,
    /// Batches that lack what was to go to these drives, whose absence is in no durable root yet.
    pub awaiting_root: RefCell<Vec<(Lsn, Vec<DriveId>)>>,
    /// What zeros that are on their way may still take.
    pub zeroing: OnceCell<Updates>,
    /// Held while a volume is resized.
    pub resizing: Mutex<()>,
    pub lists: Lists,
    pub batch_scratch: RefCell<batch::Scratch>,
}

impl Writer {
    pub fn new(lsns: LsnTracker) -> Self {
        Writer {
            lsns,
            streams: Streams::default(),
            commit: CommitQueue::default(),
            destage: Destage::default(),
            heat: Heat::default(),
            streaks: Streaks::default(),
            awaiting_root: RefCell::default(),
            zeroing: OnceCell::new(),
            resizing: Mutex::default(),
            lists: Lists::default(),
            batch_scratch: RefCell::default(),
        }
    }
}

/// Lists that operations use one after the other.
#[derive(Default)]
pub(crate) struct Lists {
    pub items: Recycler<Item>,
    pub pointers: Recycler<Option<Pointer>>,
    pub waiters: Recycler<Waiter>,
    pub found: Recycler<Found>,
}
