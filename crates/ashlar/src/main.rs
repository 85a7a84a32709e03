//! The Ashlar daemon and its command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    ashlar::main()
}
