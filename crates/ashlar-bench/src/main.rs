//! The benchmark of Ashlar.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// The daemon's: servers that run in this process are measured as they serve.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    ashlar_bench::main()
}
