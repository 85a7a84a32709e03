//! `ashlar` with an allocator that counts, so that `ashlar bench --only allocations` has something
//! to show.
//!
//! `cargo run --release -p ashlar --example count_allocations -- bench --only allocations`

use std::process::ExitCode;

use ashlar_reactor::allocations::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    ashlar::main()
}
