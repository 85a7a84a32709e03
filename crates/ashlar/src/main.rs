//! The Ashlar daemon and its command line.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Most of what a command allocates is small and short-lived; the C library's allocator took a
/// tenth of the processor time of a 4 KiB write.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    ashlar::main()
}
