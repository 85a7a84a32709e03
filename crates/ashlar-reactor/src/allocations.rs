//! What a program allocates: how often, where steady I/O should not at all, what of it is left, and
//! how what was freed goes back to the system.
//!
//! A program that makes [`Counting`] its global allocator can ask how often it, or one of its
//! threads, has allocated, how much, and what is not freed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

static OF_ALL_THREADS: AtomicU64 = AtomicU64::new(0);
static BYTES_ALLOCATED: AtomicU64 = AtomicU64::new(0);
static BYTES_FREED: AtomicU64 = AtomicU64::new(0);
static BLOCKS_FREED: AtomicU64 = AtomicU64::new(0);
static BLOCKS_GROWN: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static OF_THIS_THREAD: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counted.
#[derive(Clone, Copy, Debug)]
pub struct Counting;

fn count(bytes: usize) {
    OF_ALL_THREADS.fetch_add(1, Ordering::Relaxed);
    BYTES_ALLOCATED.fetch_add(bytes as u64, Ordering::Relaxed);
    // A thread that is ending counts no more.
    let _ = OF_THIS_THREAD.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call goes to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise, handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise, handed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(bytes);
        BLOCKS_GROWN.fetch_add(1, Ordering::Relaxed);
        BYTES_FREED.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's promise, handed on.
        unsafe { System.realloc(start, layout, bytes) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        BLOCKS_FREED.fetch_add(1, Ordering::Relaxed);
        BYTES_FREED.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's promise, handed on.
        unsafe { System.dealloc(start, layout) }
    }
}

/// Has mimalloc give back to the system what the program has freed. It does so by itself only while
/// memory is allocated and freed, and a program that has nothing to do would keep what it needed
/// most. Does nothing in a program with another allocator.
pub fn collect_freed() {
    // SAFETY: it may be called at any time, on any thread.
    unsafe { libmimalloc_sys::mi_collect(true) }
}

/// Whether this program counts: no program gets as far as asking without having allocated.
pub fn are_counted() -> bool {
    of_all_threads() > 0
}

/// How often all threads have allocated, or grown what they had.
pub fn of_all_threads() -> u64 {
    OF_ALL_THREADS.load(Ordering::Relaxed)
}

/// How often the calling thread has.
pub fn of_this_thread() -> u64 {
    OF_THIS_THREAD.with(Cell::get)
}

/// Bytes that all threads have ever allocated, whatever of them was freed since.
pub fn bytes_of_all_threads() -> u64 {
    BYTES_ALLOCATED.load(Ordering::Relaxed)
}

/// What is allocated and not freed. Exact while no thread allocates; no allocation fails in a
/// program that asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Live {
    /// Allocations.
    pub blocks: u64,
    /// Their bytes, as they were asked for.
    pub bytes: u64,
}

/// What all threads have allocated and not freed.
pub fn live() -> Live {
    let ended = BLOCKS_GROWN.load(Ordering::Relaxed) + BLOCKS_FREED.load(Ordering::Relaxed);
    let freed = BYTES_FREED.load(Ordering::Relaxed);
    Live {
        blocks: of_all_threads().saturating_sub(ended),
        bytes: bytes_of_all_threads().saturating_sub(freed),
    }
}
