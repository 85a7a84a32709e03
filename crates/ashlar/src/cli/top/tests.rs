use std::io::ErrorKind;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use futures_util::future::join;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyModifiers};
use tempfile::TempDir;
use tokio::net::UnixStream;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;

use super::*;
use crate::cli::client::Patience;

fn nothing() -> Seen {
    let status = Status {
        version: "1.0.0".to_owned(),
        pid: 1,
        uptime_seconds: 60,
        reactors: 1,
        subsystem_nqn: String::new(),
        serial: String::new(),
        portals: Vec::new(),
        hosts_connected: 0,
        host_connects: 0,
        host_disconnects: 0,
        warnings: Vec::new(),
        alerts: Vec::new(),
        pools: Vec::new(),
        volumes: Vec::new(),
    };
    let report = Report::new(None, &IoStat::default());
    Seen { status, report, hosts: Vec::new(), jobs: Vec::new() }
}

/// A daemon that takes connections, and hangs.
struct Hanging {
    listener: tokio::net::UnixListener,
    client: Client,
    _directory: TempDir,
}

impl Hanging {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("room");
        let socket = directory.path().join("ashlar.sock");
        let listener = UnixListener::bind(&socket).expect("a socket");
        listener.set_nonblocking(true).expect("a socket");
        let listener = tokio::net::UnixListener::from_std(listener).expect("a socket");
        let client = Client::new(Some(socket), Patience::of(None)).expect("there is one");
        Hanging { listener, client, _directory: directory }
    }

    /// Shows it while `presses` has keys to press. Returns the screen at its end.
    async fn shown(&self, presses: impl AsyncFnOnce(&UnboundedSender<Option<KeyEvent>>)) -> Screen {
        let mut terminal = Terminal::new(TestBackend::new(80, 20)).expect("memory");
        let mut screen = Screen::new(nothing());
        let (sender, keys) = unbounded_channel();
        let asked = TopArguments { interval: Duration::from_millis(1) };
        let shown =
            show(&self.client, asked, &mut terminal, keys, (&mut screen, IoStat::default()));
        let (ended, ()) =
            timeout(Duration::from_secs(20), join(shown, presses(&sender))).await.expect("it ends");
        ended.expect("by the key");
        screen
    }
}

fn press(sender: &UnboundedSender<Option<KeyEvent>>, key: char) {
    let key = KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE);
    sender.send(Some(key)).expect("it is shown");
}

async fn until_it_hangs_up(connection: &UnixStream) {
    let mut asked = [0; 4096];
    loop {
        connection.readable().await.expect("it is open here");
        match connection.try_read(&mut asked) {
            Ok(0) => return,
            Err(error) if error.kind() != ErrorKind::WouldBlock => panic!("{error}"),
            _ => {}
        }
    }
}

/// No key was read for half a minute.
#[tokio::test]
async fn a_key_ends_it_while_the_daemon_does_not_answer() {
    let daemon = Hanging::new();
    daemon
        .shown(async |keys| {
            let _held = daemon.listener.accept().await.expect("it asks");
            press(keys, 'q');
        })
        .await;
}

/// What came after the key would be shown.
#[tokio::test]
async fn a_look_that_is_under_way_is_given_up_once_it_is_stopped() {
    let daemon = Hanging::new();
    let screen = daemon
        .shown(async |keys| {
            let (held, _) = daemon.listener.accept().await.expect("it asks");
            press(keys, ' ');
            until_it_hangs_up(&held).await;
            press(keys, 'q');
        })
        .await;
    assert!(screen.is_stopped());
}
