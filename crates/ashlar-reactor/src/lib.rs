//! The thread-per-core executor over io_uring.
