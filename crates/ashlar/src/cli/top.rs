//! `ashlar top`: what goes on, live, until somebody ends it.
//!
//! This file owns the terminal and the clock. What stands on the screen is in `screen`, which knows
//! of neither.

use std::io::{IsTerminal, stdout};
use std::thread;

use anyhow::{Context, ensure};
use ashlar_control::types::{Host, IoStat, Job, Status};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{MissedTickBehavior, interval};

use super::client::Client;
use super::iostat::report::Report;
use crate::args::TopArguments;
use screen::{Screen, Seen, Wish};

mod screen;

/// Shows it until somebody ends it.
///
/// # Errors
/// There is no terminal; or the daemon cannot be reached when it begins. Later that is shown.
pub(super) async fn run(client: &Client, asked: TopArguments) -> anyhow::Result<()> {
    ensure!(
        stdout().is_terminal(),
        "top needs a terminal: `ashlar iostat -i 1s` prints what goes on line by line"
    );
    let (mut before, first) = look(client, None).await?;
    let mut screen = Screen::new(first);
    let mut terminal = ratatui::try_init().context("the terminal cannot be used")?;
    let ended = show(client, asked, &mut terminal, &mut screen, &mut before).await;
    ratatui::restore();
    ended
}

async fn show(
    client: &Client,
    asked: TopArguments,
    terminal: &mut DefaultTerminal,
    screen: &mut Screen,
    before: &mut IoStat,
) -> anyhow::Result<()> {
    let mut keys = keys();
    let mut ticks = interval(asked.interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    loop {
        terminal.draw(|frame| screen.draw(frame))?;
        tokio::select! {
            key = keys.recv() => match key.map(|key| screen.press(key)) {
                None | Some(Wish::End) => return Ok(()),
                Some(Wish::GoOn) => {}
            },
            _ = ticks.tick(), if !screen.is_stopped() => match look(client, Some(before)).await {
                Ok((counted, seen)) => {
                    *before = counted;
                    screen.show(seen);
                }
                // It may be restarted: what was seen last stays, with the reason.
                Err(error) => screen.fail(format!("{error:#}")),
            },
        }
    }
}

/// What there is now, and what has been counted since `before`.
async fn look(client: &Client, before: Option<&IoStat>) -> anyhow::Result<(IoStat, Seen)> {
    let status: Status = client.get("/status").await?;
    let counted: IoStat = client.get("/iostat?drives=true").await?;
    let hosts: Vec<Host> = client.get("/hosts").await?;
    let jobs: Vec<Job> = client.get("/jobs").await?;
    let report = Report::new(before, &counted);
    Ok((counted, Seen { status, report, hosts, jobs }))
}

/// The keys that are pressed, and an end where there are no more. The thread that reads them waits
/// for the terminal, and ends with the process.
fn keys() -> UnboundedReceiver<Option<KeyEvent>> {
    let (sender, keys) = unbounded_channel();
    thread::spawn(move || {
        while let Ok(event) = event::read() {
            let key = match event {
                Event::Key(key) if key.kind == KeyEventKind::Press => Some(key),
                Event::Resize(..) => None,
                _ => continue,
            };
            if sender.send(key).is_err() {
                return;
            }
        }
    });
    keys
}
