//! Bytes of hosts' data that are copied between socket and drive, counted once a program asks for
//! it.
//!
//! Whoever copies data that a host has sent or will get tells [`note`]. What is not a copy: moving
//! data between the kernel or a drive and a buffer, compressing, decompressing, and computing
//! parity.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static ARE_COUNTED: AtomicBool = AtomicBool::new(false);
static OF_ALL_THREADS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static OF_THIS_THREAD: Cell<u64> = const { Cell::new(0) };
}

/// Begins to count, for as long as the program runs. Before that a copy costs a look whether it is
/// counted.
pub fn begin() {
    ARE_COUNTED.store(true, Ordering::Relaxed);
}

/// So many bytes of a host's data were copied.
#[inline]
pub fn note(bytes: usize) {
    if ARE_COUNTED.load(Ordering::Relaxed) {
        count(bytes as u64);
    }
}

#[cold]
fn count(bytes: u64) {
    OF_ALL_THREADS.fetch_add(bytes, Ordering::Relaxed);
    OF_THIS_THREAD.with(|copied| copied.set(copied.get() + bytes));
}

/// Bytes that all threads have copied.
pub fn of_all_threads() -> u64 {
    OF_ALL_THREADS.load(Ordering::Relaxed)
}

/// Bytes that the calling thread has copied.
pub fn of_this_thread() -> u64 {
    OF_THIS_THREAD.with(Cell::get)
}

#[cfg(test)]
mod tests;
