//! The benchmark as a command; what it measures is nothing for a test.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const ASHLAR: &str = env!("CARGO_BIN_EXE_ashlar");
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until a daemon of the benchmark has made its socket below `directory`.
fn await_daemon(directory: &Path) {
    let start = Instant::now();
    let has_socket = || {
        let entries = fs::read_dir(directory).expect("it is there");
        entries.flatten().any(|entry| entry.path().join("ashlar.sock").exists())
    };
    while !has_socket() {
        assert!(start.elapsed() < PATIENCE, "no daemon was started");
        std::thread::yield_now();
    }
}

/// Waits until the process has ended; kills it if it does not.
fn await_end(process: &mut Child) {
    let start = Instant::now();
    while process.try_wait().expect("it is a child").is_none() {
        if start.elapsed() > PATIENCE {
            process.kill().expect("it runs");
            panic!("the benchmark goes on");
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_benchmark_that_is_interrupted_leaves_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(ASHLAR);
    command.args([
        "bench",
        "--only",
        "store",
        "--seconds",
        "600",
        "--rounds",
        "100",
        "--volume-size",
        "64MiB",
    ]);
    command.env("TMPDIR", directory.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut bench = command.spawn().expect("it runs");
    await_daemon(directory.path());
    kill_process(Pid::from_child(&bench), Signal::TERM).expect("it runs");
    await_end(&mut bench);
    let ended = bench.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success() && said.contains("interrupted by a signal"), "{said}");
    assert_eq!(fs::read_dir(directory.path()).expect("it is there").count(), 0, "{said}");
}
