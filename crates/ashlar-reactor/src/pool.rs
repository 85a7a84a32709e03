//! The receive buffers that all connections of a reactor share, and what is received in them.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use ashlar_block::{AlignedBuf, copies};
use bytes::Bytes;
use io_uring::types::BufRingEntry;

use crate::error::StartError;
use crate::inbox::Inbox;
use crate::lent::{Buffers, Lent};
use crate::ring::Ring;

/// The group's name in the ring: a reactor has one.
pub(crate) const GROUP: u16 = 0;

/// Buffers that the kernel has at a time, in bytes: few are used over and over, and stay in the
/// caches. (Measured against 8 MiB that are used in turn, 4 KiB writes to a volume that keeps
/// nothing: some 10 % less processor time.)
const OFFERED_BYTES: usize = 2 << 20;
/// The least of them.
const OFFERED_MIN: u16 = 8;

/// How many shared buffers a connection holds.
pub(crate) type Held = Rc<Cell<u32>>;

/// A provided-buffer ring of the plain kind: one buffer, one completion. (Incremental consumption
/// gave buffers back out of order on Linux 6.13 and 6.14.)
pub(crate) struct RecvPool {
    /// Entries shared with the kernel. Only touched through `entries`.
    _entries_memory: AlignedBuf,
    entries: *mut BufRingEntry,
    buffers: Arc<Buffers>,
    count: u16,
    tail: Cell<u16>,
    /// Buffers that the kernel may fill, and how many these should be.
    offered: Cell<u16>,
    offered_max: Cell<u16>,
    /// Buffers that nobody has.
    spare: RefCell<Vec<u16>>,
    /// Which connection holds each of the others.
    holders: RefCell<Box<[Option<Held>]>>,
}

impl RecvPool {
    /// Nobody holds a buffer at the start. Those that are given back on other threads come by
    /// `inbox`.
    pub(crate) fn new(count: u16, buffer_bytes: u32, inbox: Arc<Inbox>) -> Self {
        let mut entries_memory = AlignedBuf::zeroed(usize::from(count) * size_of::<BufRingEntry>());
        let pool = RecvPool {
            entries: entries_memory.as_mut_ptr().cast(),
            _entries_memory: entries_memory,
            buffers: Buffers::new(count, buffer_bytes, inbox),
            count,
            tail: Cell::new(0),
            offered: Cell::new(0),
            offered_max: Cell::new(offered_max(count, buffer_bytes)),
            spare: RefCell::new(Vec::with_capacity(count.into())),
            holders: RefCell::new((0..count).map(|_| None).collect()),
        };
        (0..count).for_each(|buffer| pool.give_back(buffer));
        pool
    }

    pub(crate) fn register(&self, ring: &Ring) -> Result<(), StartError> {
        let address = self.entries as u64;
        // SAFETY: the entries live as long as the pool, which outlives the ring; `Drop` order in
        // `Reactor`.
        let registered =
            unsafe { ring.submitter().register_buf_ring_with_flags(address, self.count, GROUP, 0) };
        registered.map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL) => StartError::KernelTooOld { feature: "provided buffer rings" },
            Some(libc::ENOMEM) => StartError::of_setup(error),
            _ => StartError::Os { what: "registering receive buffers", source: error },
        })
    }

    /// Buffers that no connection holds, and how many there are.
    pub(crate) fn available(&self) -> (u16, u16) {
        (self.offered.get() + self.spare.borrow().len() as u16, self.count)
    }

    /// Takes note that the kernel had none left: it gets more from now on.
    pub(crate) fn exhausted(&self) {
        self.offered_max.set(self.offered_max.get().saturating_mul(2).min(self.count));
        while self.offer_spare() {}
    }

    /// Gives the kernel the buffer that came back last, if it should have more.
    fn offer_spare(&self) -> bool {
        let wanted = self.offered.get() < self.offered_max.get();
        let spare = wanted.then(|| self.spare.borrow_mut().pop()).flatten();
        spare.is_some_and(|buffer| {
            self.offer(buffer);
            true
        })
    }

    /// Lets the system have the memory of the buffers that neither a connection nor the kernel's
    /// ring has. The kernel gets as few from now on as at the start.
    pub(crate) fn give_memory_back(&self) {
        self.offered_max.set(offered_max(self.count, self.buffers.buffer_bytes()));
        self.spare.borrow().iter().for_each(|buffer| self.buffers.give_memory_back(*buffer));
    }

    /// Whether these are the buffers of this pool.
    pub(crate) fn owns(&self, buffers: &Arc<Buffers>) -> bool {
        Arc::ptr_eq(&self.buffers, buffers)
    }

    /// Takes `buffer`, which the kernel has just filled with `len` bytes, for the connection that
    /// counts by `held`.
    fn take(&self, buffer: u16, len: usize, held: &Held) -> Lent {
        self.offered.set(self.offered.get() - 1);
        self.offer_spare();
        held.set(held.get() + 1);
        self.holders.borrow_mut()[usize::from(buffer)] = Some(held.clone());
        Lent::new(self.buffers.clone(), buffer, len)
    }

    /// Takes `buffer` back, which nobody reads any more.
    pub(crate) fn give_back(&self, buffer: u16) {
        if let Some(held) = self.holders.borrow_mut()[usize::from(buffer)].take() {
            held.set(held.get() - 1);
        }
        self.spare.borrow_mut().push(buffer);
        self.offer_spare();
    }

    /// Lets the kernel fill `buffer`.
    fn offer(&self, buffer: u16) {
        let tail = self.tail.get();
        let index = usize::from(tail & (self.count - 1));
        // SAFETY: the entry is within the ring of `count` entries, and not the kernel's: at most
        // `count` buffers exist, so the slot at `tail` has been consumed. Fields are written one by
        // one, because the first entry's last field is the tail that the kernel reads.
        unsafe {
            let entry = &mut *self.entries.add(index);
            entry.set_addr(self.buffers.start_of(buffer).as_ptr() as u64);
            entry.set_len(self.buffers.buffer_bytes());
            entry.set_bid(buffer);
        }
        self.tail.set(tail.wrapping_add(1));
        self.publish_tail();
        self.offered.set(self.offered.get() + 1);
    }

    fn publish_tail(&self) {
        // SAFETY: the tail lies in the ring's memory, is aligned, and the kernel only reads it.
        let tail = unsafe { &*BufRingEntry::tail(self.entries).cast::<AtomicU16>() };
        tail.store(self.tail.get(), Ordering::Release);
    }
}

/// How many buffers the kernel should have until it runs out of them.
fn offered_max(count: u16, buffer_bytes: u32) -> u16 {
    let offered_max = u16::try_from(OFFERED_BYTES / buffer_bytes as usize).unwrap_or(u16::MAX);
    offered_max.max(OFFERED_MIN).min(count)
}

enum Storage {
    /// A shared buffer.
    Lent(Lent),
    /// A copy of what was in one.
    Copied(AlignedBuf),
    /// One of these, of which others have parts.
    Parted(Bytes),
}

/// Received bytes. A shared buffer goes back to its reactor when this and all that was split off it
/// are dropped.
pub struct RecvBuf {
    storage: Storage,
    start: usize,
}

impl RecvBuf {
    /// Takes over `buffer` of `pool`, which the kernel has just filled with `len` bytes, for the
    /// connection that counts by `held`.
    pub(crate) fn taken(pool: &RecvPool, buffer: u16, len: usize, held: &Held) -> Self {
        RecvBuf { storage: Storage::Lent(pool.take(buffer, len, held)), start: 0 }
    }

    /// The same bytes in memory of their own, the shared buffer given back.
    pub(crate) fn into_copied(self) -> Self {
        copies::note(self.len());
        RecvBuf { storage: Storage::Copied(AlignedBuf::copy_of(&self)), start: 0 }
    }

    /// Leaves out the first `count` bytes, which have been used.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn advance(&mut self, count: usize) {
        assert!(count <= self.len(), "cannot use {count} of {} bytes", self.len());
        self.start += count;
    }

    /// Splits off the first `count` bytes, which stay where they are: whoever keeps them keeps all
    /// that was received with them, up to [`recv_buffer_bytes`](crate::Config::recv_buffer_bytes).
    /// That is a shared buffer, kept from all connections of the reactor, within
    /// [`recv_held_per_connection_max`](crate::Config::recv_held_per_connection_max), and the copy
    /// of one beyond that. They may be dropped on any thread.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn split_to(&mut self, count: usize) -> Bytes {
        let start = self.start;
        self.advance(count);
        let empty = Storage::Copied(AlignedBuf::empty());
        let whole = match std::mem::replace(&mut self.storage, empty) {
            Storage::Lent(lent) => Bytes::from_owner(lent),
            Storage::Copied(copied) => copied.freeze(),
            Storage::Parted(bytes) => bytes,
        };
        let part = whole.slice(start..start + count);
        self.storage = Storage::Parted(whole);
        part
    }
}

impl Deref for RecvBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let bytes = match &self.storage {
            Storage::Lent(lent) => lent.as_ref(),
            Storage::Copied(copied) => copied,
            Storage::Parted(bytes) => bytes,
        };
        &bytes[self.start..]
    }
}

impl fmt::Debug for RecvBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecvBuf({} bytes)", self.len())
    }
}
