//! The receive buffers that all connections of a reactor share, and what is received in them.

use std::cell::Cell;
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::atomic::{AtomicU16, Ordering};

use ashlar_block::AlignedBuf;
use io_uring::types::BufRingEntry;

use crate::error::StartError;
use crate::ring::Ring;

/// The group's name in the ring: a reactor has one.
pub(crate) const GROUP: u16 = 0;

/// A provided-buffer ring of the plain kind: one buffer, one completion. (Incremental consumption gave
/// buffers back out of order on Linux 6.13 and 6.14.)
pub(crate) struct RecvPool {
    /// Entries shared with the kernel. Only touched through `entries`.
    _entries_memory: AlignedBuf,
    entries: *mut BufRingEntry,
    /// The buffers, end to end. Only touched through `buffers`, one buffer's bytes at a time.
    _buffers_memory: AlignedBuf,
    buffers: *mut u8,
    buffer_bytes: u32,
    count: u16,
    tail: Cell<u16>,
    /// Buffers that the kernel may fill.
    available: Cell<u16>,
}

impl RecvPool {
    /// All buffers are the kernel's from the start.
    pub(crate) fn new(count: u16, buffer_bytes: u32) -> Self {
        let mut entries_memory = AlignedBuf::zeroed(usize::from(count) * size_of::<BufRingEntry>());
        let mut buffers_memory = AlignedBuf::zeroed(usize::from(count) * buffer_bytes as usize);
        let pool = RecvPool {
            entries: entries_memory.as_mut_ptr().cast(),
            buffers: buffers_memory.as_mut_ptr(),
            _entries_memory: entries_memory,
            _buffers_memory: buffers_memory,
            buffer_bytes,
            count,
            tail: Cell::new(0),
            available: Cell::new(0),
        };
        (0..count).for_each(|buffer| pool.give_back(buffer));
        pool
    }

    pub(crate) fn register(&self, ring: &Ring) -> Result<(), StartError> {
        let address = self.entries as u64;
        // SAFETY: the entries live as long as the pool, which outlives the ring; `Drop` order in `Reactor`.
        let registered =
            unsafe { ring.submitter().register_buf_ring_with_flags(address, self.count, GROUP, 0) };
        registered.map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL) => StartError::KernelTooOld { feature: "provided buffer rings" },
            Some(libc::ENOMEM) => StartError::of_setup(error),
            _ => StartError::Os { what: "registering receive buffers", source: error },
        })
    }

    /// Buffers that the kernel may fill, and how many there are.
    pub(crate) fn available(&self) -> (u16, u16) {
        (self.available.get(), self.count)
    }

    /// Takes note that the kernel has filled `buffer`: it is the caller's until it is given back.
    pub(crate) fn taken(&self) {
        self.available.set(self.available.get() - 1);
    }

    /// Lets the kernel fill `buffer` again.
    fn give_back(&self, buffer: u16) {
        let tail = self.tail.get();
        let index = usize::from(tail & (self.count - 1));
        // SAFETY: the entry is within the ring of `count` entries, and not the kernel's: at most `count`
        // buffers exist, so the slot at `tail` has been consumed. Fields are written one by one, because
        // the first entry's last field is the tail that the kernel reads.
        unsafe {
            let entry = &mut *self.entries.add(index);
            entry.set_addr(self.buffers.add(self.start_of(buffer)) as u64);
            entry.set_len(self.buffer_bytes);
            entry.set_bid(buffer);
        }
        self.tail.set(tail.wrapping_add(1));
        self.publish_tail();
        self.available.set(self.available.get() + 1);
    }

    fn publish_tail(&self) {
        // SAFETY: the tail lies in the ring's memory, is aligned, and the kernel only reads it.
        let tail = unsafe { &*BufRingEntry::tail(self.entries).cast::<AtomicU16>() };
        tail.store(self.tail.get(), Ordering::Release);
    }

    fn start_of(&self, buffer: u16) -> usize {
        usize::from(buffer) * self.buffer_bytes as usize
    }

    /// The first `len` bytes of `buffer`.
    ///
    /// # Safety
    /// The buffer is the caller's: taken, and not given back while the slice lives.
    unsafe fn bytes(&self, buffer: u16, len: usize) -> &[u8] {
        assert!(len <= self.buffer_bytes as usize, "the kernel filled more than a buffer");
        // SAFETY: within the buffer, initialised from the start, and not the kernel's (see above).
        unsafe { std::slice::from_raw_parts(self.buffers.add(self.start_of(buffer)), len) }
    }
}

enum Storage {
    /// A shared buffer, and the connection's count of those it holds.
    Shared { pool: Rc<RecvPool>, buffer: u16, len: usize, held: Rc<Cell<u32>> },
    /// A copy of what was in one.
    Copied(AlignedBuf),
}

/// Received bytes. A shared buffer goes back to the reactor when this is dropped.
pub struct RecvBuf {
    storage: Storage,
    start: usize,
}

impl RecvBuf {
    /// Takes over `buffer`, which the kernel has just filled with `len` bytes.
    pub(crate) fn shared(pool: Rc<RecvPool>, buffer: u16, len: usize, held: Rc<Cell<u32>>) -> Self {
        held.set(held.get() + 1);
        RecvBuf { storage: Storage::Shared { pool, buffer, len, held }, start: 0 }
    }

    /// The same bytes in memory of their own, the shared buffer given back.
    pub(crate) fn into_copied(self) -> Self {
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
}

impl Deref for RecvBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.storage {
            // SAFETY: the buffer is this object's until it is dropped.
            Storage::Shared { pool, buffer, len, .. } => unsafe { &pool.bytes(*buffer, *len)[self.start..] },
            Storage::Copied(bytes) => &bytes[self.start..],
        }
    }
}

impl Drop for RecvBuf {
    fn drop(&mut self) {
        if let Storage::Shared { pool, buffer, held, .. } = &self.storage {
            held.set(held.get() - 1);
            pool.give_back(*buffer);
        }
    }
}

impl fmt::Debug for RecvBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecvBuf({} bytes)", self.len())
    }
}
