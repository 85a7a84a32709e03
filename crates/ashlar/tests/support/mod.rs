//! The real binary on a directory of its own.

use std::io::{Read, Write};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const ASHLAR: &str = env!("CARGO_BIN_EXE_ashlar");
/// How long the daemon may take to start or end: only a hang takes that long.
const PATIENCE: Duration = Duration::from_secs(120);

/// A directory for a daemon's state and its drives.
pub struct Place {
    directory: TempDir,
}

impl Place {
    pub fn new() -> Self {
        Place { directory: tempfile::Builder::new().prefix("ashlar").tempdir().expect("a directory") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn socket(&self) -> PathBuf {
        self.path("ashlar.sock")
    }

    /// A sparse file as a drive, for creating a pool.
    pub fn drive(&self, index: usize) -> String {
        format!("{},size=48MiB,sparse=on", self.file(index))
    }

    /// The same file as a drive that exists.
    pub fn file(&self, index: usize) -> String {
        format!("file:{}", self.image(index).display())
    }

    pub fn image(&self, index: usize) -> PathBuf {
        self.path(&format!("{index}.img"))
    }

    /// `--drive` for each of `indexes`.
    pub fn drives(&self, indexes: std::ops::Range<usize>) -> Vec<String> {
        indexes.flat_map(|index| ["--drive".to_owned(), self.drive(index)]).collect()
    }

    pub fn serve(&self) -> Command {
        let mut command = Command::new(ASHLAR);
        command.arg("serve").arg("--state").arg(self.directory.path());
        command.args(["--listen", "127.0.0.1:0", "--discovery", "none"]);
        command.env_remove("ASHLAR_SOCKET").env_remove("NOTIFY_SOCKET").env("RUST_LOG", "warn");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts a daemon and waits until it says that it serves.
    pub fn start(&self) -> Daemon {
        self.start_with(&[])
    }

    /// The same, with more arguments.
    pub fn start_with(&self, arguments: &[&str]) -> Daemon {
        let notices = self.path("notify");
        let _ = std::fs::remove_file(&notices);
        let notified = UnixDatagram::bind(&notices).expect("a socket");
        notified.set_read_timeout(Some(Duration::from_millis(100))).expect("a timeout");
        let mut command = self.serve();
        command.args(arguments);
        command.env("NOTIFY_SOCKET", &notices).stderr(Stdio::inherit());
        let mut daemon = Daemon { child: command.spawn().expect("the daemon starts"), notified };
        daemon.wait_for("READY=1");
        daemon
    }

    /// Runs a verb against this place's daemon.
    pub fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(ASHLAR);
        command.arg("--socket").arg(self.socket()).args(arguments).stdin(Stdio::null());
        command.output().expect("the binary runs")
    }

    /// The same, which succeeds. Returns what it prints.
    pub fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {out}{err}");
        out
    }

    /// The same, which is refused. Returns the message.
    pub fn refused(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(!output.status.success(), "{arguments:?} succeeded: {out}");
        assert!(out.is_empty(), "{arguments:?} printed: {out}");
        err
    }

    pub fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let arguments = [arguments, &["--output", "json"]].concat();
        serde_json::from_str(&self.ok(&arguments)).expect("JSON")
    }

    pub fn create_pool(&self, name: &str, drives: std::ops::Range<usize>) -> String {
        let drives = self.drives(drives);
        let arguments = ["pool", "create", name, "--level", "5"].into_iter();
        self.ok(&arguments.chain(drives.iter().map(String::as_str)).collect::<Vec<_>>())
    }

    /// Asks until `holds`, which the daemon brings about by itself.
    pub fn wait_until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !holds(self) {
            assert!(start.elapsed() < PATIENCE, "it does not happen that {what}");
        }
    }

    /// What the daemon answers to `GET path`.
    pub fn get(&self, path: &str) -> String {
        let mut stream = UnixStream::connect(self.socket()).expect("the daemon answers");
        let request = format!("GET {path} HTTP/1.1\r\nhost: ashlar\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it listens");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }
}

/// A daemon, killed when dropped.
pub struct Daemon {
    child: Child,
    notified: UnixDatagram,
}

impl Daemon {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    fn wait_for(&mut self, state: &str) {
        let start = Instant::now();
        let mut notice = [0; 64];
        loop {
            if let Ok(bytes) = self.notified.recv(&mut notice)
                && notice[..bytes] == *state.as_bytes()
            {
                return;
            }
            if let Some(status) = self.child.try_wait().expect("a child") {
                panic!("the daemon ended with {status}");
            }
            assert!(start.elapsed() < PATIENCE, "the daemon does not say {state}");
        }
    }

    /// Ends it as systemd does, and waits.
    pub fn terminate(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
        let status = self.child.wait().expect("a child");
        assert!(status.success(), "the daemon ended with {status}");
    }

    /// Ends it as the power does.
    pub fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("a child");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a command that is refused. Returns the message.
pub fn refused(mut command: Command) -> String {
    let output = command.output().expect("the binary runs");
    assert!(!output.status.success(), "it succeeded: {}", text(&output.stdout));
    text(&output.stderr)
}

/// Fills a part of a file with bytes that mean nothing.
pub fn spoil(path: &Path, offset: u64, bytes: usize) {
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::options().write(true).open(path).expect("a file");
    file.write_all_at(&vec![0xa5; bytes], offset).expect("room");
}
