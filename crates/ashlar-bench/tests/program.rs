//! The program as it is called; what it measures is nothing for a test.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const BENCH: &str = env!("CARGO_BIN_EXE_ashlar-bench");
const PATIENCE: Duration = Duration::from_secs(60);

fn bench(line: &str) -> Command {
    let mut command = Command::new(BENCH);
    command
        .args(line.split_whitespace())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn ended(command: &mut Command) -> Output {
    command.spawn().and_then(Child::wait_with_output).expect("it runs")
}

/// What a command prints that ends with this code: to standard output if that is 0, else to
/// standard error.
fn said(command: &mut Command, code: i32) -> String {
    let Output { status, stdout, stderr } = ended(command);
    let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert_eq!(status.code(), Some(code), "{stderr}");
    if code == 0 { stdout } else { stderr }
}

fn assert_says(said: &str, words: &[&str]) {
    words.iter().for_each(|word| assert!(said.contains(word), "'{word}' is not in: {said}"));
}

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
fn it_explains_itself_with_examples() {
    assert_says(
        &said(&mut bench("--help"), 0),
        &["Examples", "ashlar-bench --only", "--ashlar", "amplification"],
    );
    assert_says(&said(&mut bench("--version"), 0), &["ashlar-bench "]);
}

#[test]
fn what_cannot_be_measured_is_refused_with_the_way_out() {
    assert_says(
        &said(&mut bench("--only nonsense"), 2),
        &["'nonsense'", "possible values", "parity"],
    );
    assert_says(
        &said(&mut bench("--only parity --seconds 0"), 1),
        &["--seconds is 0", "more than 0"],
    );
    assert_says(
        &said(&mut bench("--only parity --seconds inf"), 1),
        &["--seconds is inf", "at most"],
    );
    assert_says(&said(&mut bench("--only parity --rounds 0"), 1), &["--rounds is 0", "1 to 100"]);
    assert_says(&said(&mut bench("--only store --volume-size 1MiB"), 1), &["too small", "64MiB"]);
    assert_says(&said(&mut bench("--only parity --plot x.svg"), 1), &["--plot", "--only loss"]);
    assert_says(
        &said(&mut bench("--only allocations"), 1),
        &["ashlar-bench --example count_allocations"],
    );
    let unknown = said(&mut bench("--only wire --only copies --load NOSUCH"), 1);
    assert_says(&unknown, &["--load is 'NOSUCH'", "4KiB random read, 1 x 1", "sequential write"]);
    assert_says(
        &said(&mut bench("--only parity --load 4KiB"), 1),
        &["no", "table of loads", "leave --load out"],
    );
    let json = said(&mut bench("--only parity --rounds 0 --output json"), 1);
    assert_says(&json, &["{\"error\":\"--rounds is 0"]);
}

#[test]
fn a_missing_daemon_is_told_before_anything_is_measured() {
    let directory = tempfile::tempdir().expect("a directory");
    let alone = directory.path().join("ashlar-bench");
    fs::copy(BENCH, &alone).expect("room");
    let mut command = Command::new(alone);
    command
        .args(["--only", "parity", "--only", "idle"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let beside = directory.path().join("ashlar").display().to_string();
    assert_says(&said(&mut command, 1), &[&beside, "No such file", "cargo build", "--ashlar FILE"]);
    assert_says(
        &said(&mut bench("--only idle --ashlar /nowhere/x"), 1),
        &["cannot run /nowhere/x"],
    );
}

#[test]
fn a_benchmark_that_nobody_watches_ends() {
    let (reader, closed) = io::pipe().expect("a pipe");
    drop(reader);
    let Output { status, stderr, .. } = ended(bench("--only parity").stdout(closed));
    assert!(
        status.success() && stderr.is_empty(),
        "{status}: {}",
        String::from_utf8_lossy(&stderr)
    );
    let full = File::options().write(true).open("/dev/full").expect("every Linux has it");
    let why = said(bench("--only parity").stdout(full), 1);
    assert_says(&why, &["ashlar-bench: cannot write to standard output: No space left on device"]);
}

/// With the daemon beside the program: the tests of all crates build it.
#[test]
fn a_benchmark_that_is_interrupted_leaves_nothing() {
    let ashlar = Path::new(BENCH).with_file_name("ashlar");
    assert!(
        ashlar.exists(),
        "{} is missing: cargo build -p ashlar, in the tests' profile",
        ashlar.display()
    );
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = bench("--only store --seconds 600 --rounds 100 --volume-size 64MiB");
    let mut bench =
        command.env("TMPDIR", directory.path()).stdout(Stdio::null()).spawn().expect("it runs");
    await_daemon(directory.path());
    kill_process(Pid::from_child(&bench), Signal::TERM).expect("it runs");
    await_end(&mut bench);
    let ended = bench.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success() && said.contains("interrupted by a signal"), "{said}");
    assert_eq!(fs::read_dir(directory.path()).expect("it is there").count(), 0, "{said}");
}
