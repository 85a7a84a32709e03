//! Received bytes that others keep: a shared receive buffer finds its way home from any thread.

use std::ptr::NonNull;
use std::sync::Arc;

use ashlar_block::AlignedBuf;
use rustix::mm::{Advice, madvise};
use rustix::param::page_size;

use crate::inbox::{Inbox, Letter};
use crate::reactor;

/// The memory of a reactor's receive buffers, end to end. It stays as long as anybody reads in it,
/// also after the reactor's end.
pub(crate) struct Buffers {
    /// Only touched through `start`, one buffer's bytes at a time.
    _memory: AlignedBuf,
    start: NonNull<u8>,
    buffer_bytes: u32,
    /// The reactor that they belong to.
    inbox: Arc<Inbox>,
}

// SAFETY: the kernel writes into a buffer that it has been given and nobody else reads there; a
// buffer that was taken is only read, until it is given back on its reactor's thread.
unsafe impl Send for Buffers {}
// SAFETY: as above.
unsafe impl Sync for Buffers {}

impl Buffers {
    pub(crate) fn new(count: u16, buffer_bytes: u32, inbox: Arc<Inbox>) -> Arc<Self> {
        let mut memory = AlignedBuf::zeroed(usize::from(count) * buffer_bytes as usize);
        let start = NonNull::new(memory.as_mut_ptr()).expect("a buffer has an address");
        Arc::new(Buffers { _memory: memory, start, buffer_bytes, inbox })
    }

    pub(crate) fn buffer_bytes(&self) -> u32 {
        self.buffer_bytes
    }

    /// Lets the system have the memory of `buffer`, which nobody has: its bytes are zeros from now
    /// on. A buffer that does not consist of whole pages stays as it is.
    pub(crate) fn give_memory_back(&self, buffer: u16) {
        let start = self.start_of(buffer).as_ptr();
        let (page_bytes, bytes) = (page_size(), self.buffer_bytes as usize);
        // The system would round up, and take what others have in the rest of the page.
        if !start.addr().is_multiple_of(page_bytes) || !bytes.is_multiple_of(page_bytes) {
            return;
        }
        // It may be refused, of memory that is locked for example, which changes nothing. SAFETY:
        // private memory of the buffer's own, in which nobody reads or writes before it is taken
        // again.
        let _ = unsafe { madvise(start.cast(), bytes, Advice::LinuxDontNeed) };
    }

    /// Where `buffer` begins.
    pub(crate) fn start_of(&self, buffer: u16) -> NonNull<u8> {
        // SAFETY: within the memory: buffers are numbered from 0 to the count that it was made for.
        unsafe { self.start.add(usize::from(buffer) * self.buffer_bytes as usize) }
    }
}

/// The first bytes of a buffer that the kernel has filled. The buffer goes back when this is
/// dropped.
pub(crate) struct Lent {
    buffers: Arc<Buffers>,
    buffer: u16,
    len: usize,
}

impl Lent {
    /// Takes over `buffer`, which the kernel has just filled with `len` bytes, and which the pool
    /// has noted as taken.
    pub(crate) fn new(buffers: Arc<Buffers>, buffer: u16, len: usize) -> Self {
        assert!(len <= buffers.buffer_bytes as usize, "the kernel filled more than a buffer");
        Lent { buffers, buffer, len }
    }
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        let start = self.buffers.start_of(self.buffer);
        // SAFETY: within the buffer, initialised from the start, and not written by anybody until
        // this is dropped.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), self.len) }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if !reactor::give_back_here(&self.buffers, self.buffer) {
            // A reactor that has ended needs no buffers any more.
            let _ = self.buffers.inbox.post(Letter::GiveBack(self.buffer));
        }
    }
}

#[cfg(test)]
mod tests;
