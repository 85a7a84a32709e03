//! The benchmark with an allocator that counts, so that its section `allocations` has something to
//! show.
//!
//! `cargo run --release -p ashlar-bench --example count_allocations -- --only allocations`

use std::process::ExitCode;

use ashlar_reactor::allocations::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    ashlar_bench::main()
}
