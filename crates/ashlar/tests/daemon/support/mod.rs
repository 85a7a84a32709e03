//! The real binary on a directory of its own.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const ASHLAR: &str = env!("CARGO_BIN_EXE_ashlar");
/// How long the daemon may take to start or end: only a hang takes that long.
const PATIENCE: Duration = Duration::from_secs(120);

/// A user and group without privileges, for tests that root runs.
pub const NOBODY: u32 = 65534;

/// Says, past the capture of tests' output, that one cannot run here. Fails where nothing may be
/// skipped: there ASHLAR_SKIP_NOTHING is set.
pub fn skip(why: &str) {
    assert!(std::env::var_os("ASHLAR_SKIP_NOTHING").is_none(), "this test cannot run here: {why}");
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let _ = writeln!(std::io::stderr(), "SKIPPED {name}: {why}");
}

/// A directory for a daemon's state and its drives.
pub struct Place {
    directory: TempDir,
    /// Its daemons take no drive back by themselves.
    is_by_hand: bool,
}

impl Place {
    pub fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("ashlar").tempdir().expect("a directory");
        Place { directory, is_by_hand: false }
    }

    /// The same, where drives that were away come back only when somebody says so.
    pub fn by_hand() -> Self {
        let place = Place { is_by_hand: true, ..Place::new() };
        std::fs::write(place.path("by-hand.toml"), "auto_rejoin = false\n").expect("room");
        place
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

    /// Where a drive lies that is not to be found.
    pub fn aside(&self, index: usize) -> PathBuf {
        std::fs::create_dir_all(self.path("aside")).expect("room");
        self.path(&format!("aside/{index}.img"))
    }

    /// `--drive` for each of `indexes`.
    pub fn drives(&self, indexes: std::ops::Range<usize>) -> Vec<String> {
        indexes.flat_map(|index| ["--drive".to_owned(), self.drive(index)]).collect()
    }

    /// The daemon's command. Drives that a test takes away do not come back while it starts.
    pub fn serve(&self) -> Command {
        self.serve_waiting(0)
    }

    /// The same, with a daemon that waits for late drives.
    pub fn serve_waiting(&self, seconds: u32) -> Command {
        self.serve_on(self.directory.path(), seconds)
    }

    /// The same, with a state directory elsewhere. The socket is found beside that, unless it is
    /// said where it is.
    pub fn serve_on(&self, state: &Path, member_wait_seconds: u32) -> Command {
        let mut command = Command::new(ASHLAR);
        command.arg("serve").arg("--state").arg(state);
        command.args(["--member-wait-seconds", &member_wait_seconds.to_string()]);
        command.args(["--listen", "127.0.0.1:0", "--discovery", "none"]);
        if self.is_by_hand {
            command.arg("--config").arg(self.path("by-hand.toml"));
        }
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
        let mut command = self.serve();
        command.args(arguments);
        self.start_as(command)
    }

    /// The same, with this configuration.
    pub fn start_configured(&self, configuration: &str) -> Daemon {
        let file = self.path("ashlar.toml");
        std::fs::write(&file, configuration).expect("room");
        self.start_with(&["--config", file.to_str().expect("a name")])
    }

    /// The same, by this command. Its pools are open then, or could not be opened.
    pub fn start_as(&self, mut command: Command) -> Daemon {
        command.stderr(Stdio::inherit());
        let mut daemon = self.spawn(command);
        daemon.wait_for("READY=1");
        self.wait_until_opened();
        daemon
    }

    /// Waits until each pool is open or could not be opened.
    pub fn wait_until_opened(&self) {
        self.wait_until("no pool is being opened", |place| {
            let pools = place.json(&["pool", "list"]);
            let pools = pools.as_array().expect("a list");
            !pools.iter().any(|pool| words(&pool["states"]) == ["opening"])
        });
    }

    /// Starts a daemon by this command, and leaves to the caller what it waits for.
    pub fn spawn(&self, mut command: Command) -> Daemon {
        let notices = self.path("notify");
        let _ = std::fs::remove_file(&notices);
        let notified = UnixDatagram::bind(&notices).expect("a socket");
        // Daemons of other users write to it too.
        std::fs::set_permissions(&notices, std::fs::Permissions::from_mode(0o777))
            .expect("its owner may");
        notified.set_read_timeout(Some(Duration::from_millis(100))).expect("a timeout");
        command.env("NOTIFY_SOCKET", &notices);
        Daemon { child: command.spawn().expect("the daemon starts"), notified }
    }

    /// The daemon's command as a user without privileges, to whom the directory belongs: who runs
    /// this, or nobody if that is root.
    pub fn serve_unprivileged(&self, state: &Path) -> Command {
        let serve = self.serve_on(state, 0);
        if !rustix::process::geteuid().is_root() {
            return serve;
        }
        // By another process: a file that this one has open for writing cannot be run, not even
        // once it is closed here, while a child of another test's still has it.
        let binary = self.path("binary");
        let copied = Command::new("cp").arg(ASHLAR).arg(&binary).status().expect("cp runs");
        assert!(copied.success());
        self.give_to_unprivileged(&self.path(""));
        let mut command = Command::new(binary);
        command.args(serve.get_args()).env_remove("ASHLAR_SOCKET").env("RUST_LOG", "warn");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.uid(NOBODY).gid(NOBODY).current_dir("/");
        command
    }

    /// Makes that user the owner.
    pub fn give_to_unprivileged(&self, path: &Path) {
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).expect("root may");
        }
    }

    /// The words for the state of the pool's drive.
    pub fn drive_states(&self, pool: &str, index: usize) -> Vec<String> {
        words(&self.json(&["pool", "show", pool])["drives"][index]["states"])
    }

    /// The words for the state of the pool, but for what only says how much it holds: these pools
    /// are small.
    pub fn pool_states(&self, pool: &str) -> Vec<String> {
        let mut states = words(&self.json(&["pool", "show", pool])["states"]);
        states.retain(|state| !["short-for-loss", "nearly-full", "throttled"].contains(&&**state));
        states
    }

    /// Whether the pool knows that it has lost the drive, whatever of it is rebuilt by now.
    pub fn has_lost(&self, pool: &str, index: usize) -> bool {
        let any = |states: Vec<String>, wanted: &[&str]| {
            states.iter().any(|state| wanted.contains(&&**state))
        };
        any(self.drive_states(pool, index), &["absent", "failed", "released"])
            && any(self.pool_states(pool), &["degraded", "reduced"])
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

    /// The same where a table is wrapped: with one blank between words.
    pub fn in_words(&self, arguments: &[&str]) -> String {
        self.ok(arguments).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    pub fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let arguments = [arguments, &["--output", "json"]].concat();
        serde_json::from_str(&self.ok(&arguments)).expect("JSON")
    }

    pub fn create_pool(&self, name: &str, drives: std::ops::Range<usize>) -> String {
        let drives = self.drives(drives);
        let arguments = ["pool", "create", name, "--level", "5", "--overcommit"].into_iter();
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
        self.request("GET", path, "")
    }

    /// What the daemon answers to a request with this JSON, or with none.
    pub fn request(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = UnixStream::connect(self.socket()).expect("the daemon answers");
        let length = body.len();
        let head = "host: ashlar\r\nconnection: close\r\ncontent-type: application/json";
        let request =
            format!("{method} {path} HTTP/1.1\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}");
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

    /// What it writes to standard error.
    pub fn stderr(&mut self) -> std::process::ChildStderr {
        self.child.stderr.take().expect("it was piped")
    }

    /// Waits until it tells systemd `state`.
    pub fn wait_for(&mut self, state: &str) {
        if let Err(status) = self.says(state) {
            panic!("the daemon ended with {status}");
        }
    }

    /// Waits until it serves. False if it has ended instead.
    pub fn is_ready(&mut self) -> bool {
        self.says("READY=1").is_ok()
    }

    fn says(&mut self, state: &str) -> Result<(), std::process::ExitStatus> {
        let start = Instant::now();
        let mut notice = [0; 64];
        loop {
            if let Ok(bytes) = self.notified.recv(&mut notice)
                && notice[..bytes] == *state.as_bytes()
            {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait().expect("a child") {
                return Err(status);
            }
            assert!(start.elapsed() < PATIENCE, "the daemon does not say {state}");
        }
    }

    /// Stops it in the middle of whatever it does, and lets it go on after `pause`.
    pub fn stop_for(&self, pause: Duration) {
        self.stop_while(|| std::thread::sleep(pause));
    }

    /// Does something of which it sees nothing before all of it is done: meanwhile it stands still.
    pub fn stop_while(&self, act: impl FnOnce()) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).expect("it runs");
        act();
        rustix::process::kill_process(pid, rustix::process::Signal::CONT).expect("it is stopped");
    }

    /// Ends it as systemd does, and waits. It tells systemd that it ends.
    pub fn terminate(self) {
        self.end_by(rustix::process::Signal::TERM);
    }

    /// The same, by this signal.
    pub fn end_by(mut self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("it runs");
        let status = self.child.wait().expect("a child");
        assert!(status.success(), "the daemon ended with {status}");
        let mut last = Vec::new();
        let mut notice = [0; 64];
        while let Ok(bytes) = self.notified.recv(&mut notice) {
            last = notice[..bytes].to_vec();
        }
        assert_eq!(last, *b"STOPPING=1", "it has told that it ends");
    }

    /// Waits until it has ended by itself.
    pub fn wait(&mut self) -> std::process::ExitStatus {
        self.child.wait().expect("a child")
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

fn words(states: &serde_json::Value) -> Vec<String> {
    let states = states.as_array().expect("a list").iter();
    states.map(|state| state.as_str().expect("a word").to_owned()).collect()
}
