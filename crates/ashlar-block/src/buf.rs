//! Sector-aligned buffers, recycled so that steady I/O allocates nothing.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::{RefCell, UnsafeCell};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use bytes::Bytes;

/// Alignment that direct I/O and every drive's sector size accept.
const ALIGN_BYTES: usize = 4096;
/// Recycled sizes: powers of two from 4 KiB (class 0) to 2 MiB.
const CLASS_COUNT: usize = 10;
/// What one thread keeps for reuse, in bytes.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// What buffers of zeros share until they are changed, in bytes.
const SHARED_ZEROS_BYTES: usize = 2 << 20;

/// Zeros that nobody writes. The cell keeps them out of the executable: they are pages that the
/// kernel has only once.
#[repr(align(4096))]
struct SharedZeros(UnsafeCell<[u8; SHARED_ZEROS_BYTES]>);

// SAFETY: only ever read.
unsafe impl Sync for SharedZeros {}

static SHARED_ZEROS: SharedZeros = SharedZeros(UnsafeCell::new([0; SHARED_ZEROS_BYTES]));

/// Bytes aligned for direct I/O, always initialised: in memory of their own, or zeros that all
/// share until they are changed.
///
/// Dropping it gives memory of its own to the dropping thread's free list.
pub struct AlignedBuf {
    /// Where there is none (`bytes` 0) and `len` is not 0, `start` is that of [`SHARED_ZEROS`].
    memory: Memory,
    len: usize,
}

/// An aligned allocation, or none (`bytes` 0). Its bytes are initialised from the start and stay
/// so.
struct Memory {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: `Memory` owns its allocation alone, or points to what nobody writes, and has no thread
// affinity.
unsafe impl Send for Memory {}
// SAFETY: a shared reference gives only shared access to plain bytes.
unsafe impl Sync for Memory {}

impl Memory {
    const NOTHING: Self = Memory { start: NonNull::dangling(), bytes: 0 };
    const ZEROS: Self = Memory {
        start: NonNull::new(SHARED_ZEROS.0.get().cast()).expect("a static has an address"),
        bytes: 0,
    };

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, ALIGN_BYTES).expect("a buffer's size is below isize::MAX")
    }

    fn allocate(bytes: usize) -> Self {
        let layout = Self::layout(bytes);
        // SAFETY: the size is not zero: `taken_bytes` rounds up to at least one sector.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        Memory { start, bytes }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        // SAFETY: allocated in `allocate` with the same layout.
        unsafe { dealloc(self.start.as_ptr(), Self::layout(self.bytes)) }
    }
}

#[derive(Default)]
struct FreeLists {
    classes: [Vec<Memory>; CLASS_COUNT],
    kept_bytes: usize,
}

thread_local! {
    /// Recycling only: which memory a buffer gets changes nothing that a simulation could see.
    static FREE: RefCell<FreeLists> = RefCell::default();
}

fn class_of(capacity: usize) -> Option<usize> {
    let class = (capacity / ALIGN_BYTES).trailing_zeros() as usize;
    (class < CLASS_COUNT).then_some(class)
}

impl AlignedBuf {
    /// A buffer of no bytes, which takes no memory.
    pub const fn empty() -> Self {
        AlignedBuf { memory: Memory::NOTHING, len: 0 }
    }

    /// A buffer of `len` zero bytes. Up to 2 MiB it takes no memory before it is changed.
    pub fn zeroed(len: usize) -> Self {
        if len <= SHARED_ZEROS_BYTES {
            AlignedBuf { memory: Memory::ZEROS, len }
        } else {
            Self::cleared(len)
        }
    }

    fn cleared(len: usize) -> Self {
        let mut buf = Self::stale(len);
        buf.fill(0);
        buf
    }

    /// Whether these are zeros that nobody has changed. False says nothing: a buffer may have been
    /// filled with zeros.
    pub fn is_untouched_zeros(&self) -> bool {
        self.memory.bytes == 0
    }

    /// Gives zeros memory of their own.
    #[cold]
    fn own(&mut self) {
        *self = Self::cleared(self.len);
    }

    /// Bytes of memory that a buffer of `len` bytes takes, once it has memory of its own: whole
    /// sectors, a power of two.
    pub fn taken_bytes(len: usize) -> usize {
        len.max(1).next_multiple_of(ALIGN_BYTES).next_power_of_two()
    }

    /// A buffer of `len` bytes with any content: for reading into.
    pub fn stale(len: usize) -> Self {
        let capacity = Self::taken_bytes(len);
        let recycled = class_of(capacity).and_then(|class| {
            FREE.try_with(|free| {
                let mut free = free.borrow_mut();
                let memory = free.classes[class].pop()?;
                free.kept_bytes -= memory.bytes;
                Some(memory)
            })
            .ok()
            .flatten()
        });
        AlignedBuf { memory: recycled.unwrap_or_else(|| Memory::allocate(capacity)), len }
    }

    /// A copy of `bytes`.
    pub fn copy_of(bytes: &[u8]) -> Self {
        let mut buf = Self::stale(bytes.len());
        buf.copy_from_slice(bytes);
        buf
    }

    /// Frees the memory that this thread keeps for the next buffers.
    pub fn free_kept() {
        let kept = FREE.try_with(RefCell::take);
        drop(kept);
    }

    /// Bytes that this thread keeps for the next buffers.
    pub fn kept_bytes() -> usize {
        FREE.try_with(|free| free.borrow().kept_bytes).unwrap_or(0)
    }

    /// Shortens the buffer; a longer `len` changes nothing.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// The same bytes, shared and immutable, without a copy.
    pub fn freeze(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        let Some(class) = class_of(self.memory.bytes) else { return };
        // A thread that is ending has no list any more; the memory is then simply freed.
        let _ = FREE.try_with(|free| {
            let mut free = free.borrow_mut();
            if free.kept_bytes + self.memory.bytes > KEPT_BYTES_MAX {
                return;
            }
            free.kept_bytes += self.memory.bytes;
            let memory = std::mem::replace(&mut self.memory, Memory::NOTHING);
            free.classes[class].push(memory);
        });
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `start` is valid for `len` initialised bytes: of `memory.bytes >= len` that
        // `self` owns, or of the shared zeros, which nobody writes, or of none.
        unsafe { std::slice::from_raw_parts(self.memory.start.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        if self.memory.bytes == 0 && self.len > 0 {
            self.own();
        }
        // SAFETY: as in `deref`, and the memory is `self`'s own, which is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.memory.start.as_ptr(), self.len) }
    }
}

impl AsRef<[u8]> for AlignedBuf {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AlignedBuf({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests;
