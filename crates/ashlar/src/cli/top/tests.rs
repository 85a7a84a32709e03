use std::os::unix::net::UnixListener;
use std::time::Duration;

use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyModifiers};
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

/// The daemon takes the connection, and hangs: no key was read for half a minute.
#[tokio::test]
async fn a_key_ends_it_while_the_daemon_does_not_answer() {
    let directory = tempfile::tempdir().expect("room");
    let socket = directory.path().join("ashlar.sock");
    let listener = UnixListener::bind(&socket).expect("a socket");
    listener.set_nonblocking(true).expect("a socket");
    let listener = tokio::net::UnixListener::from_std(listener).expect("a socket");
    let client = Client::new(Some(socket), Patience::of(None)).expect("there is one");
    let mut terminal = Terminal::new(TestBackend::new(80, 20)).expect("memory");
    let mut screen = Screen::new(nothing());
    let (sender, keys) = unbounded_channel();
    let asked = TopArguments { interval: Duration::from_millis(1) };
    let press_once_it_is_asked = async {
        let _held = listener.accept().await.expect("it asks");
        let key = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
        sender.send(Some(key)).expect("it is shown");
        std::future::pending::<()>().await;
    };
    let before = IoStat::default();
    let shown = show(&client, asked, &mut terminal, keys, (&mut screen, before));
    let ended = async {
        tokio::select! {
            ended = shown => ended,
            () = press_once_it_is_asked => unreachable!("it waits without an end"),
        }
    };
    timeout(Duration::from_secs(20), ended).await.expect("it ends").expect("by the key");
}
