//! `ashlar top`: what goes on, live, until somebody ends it.
//!
//! This file owns the terminal and the clock. What stands on the screen is in `screen`, which knows
//! of neither.

use std::io::{IsTerminal, stdout};
use std::pin::pin;
use std::thread;

use anyhow::{Context, ensure};
use ashlar_control::types::{Host, IoStat, Job, Status};
use futures_util::future::{Fuse, FusedFuture, FutureExt};
use ratatui::Terminal;
use ratatui::backend::Backend;
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{MissedTickBehavior, interval};

use super::client::Client;
use super::iostat::report::Report;
use crate::args::TopArguments;
use screen::{Screen, Seen, Wish};

mod screen;
#[cfg(test)]
mod tests;

/// Shows it until somebody ends it.
///
/// # Errors
/// There is no terminal; or the daemon cannot be reached when it begins. Later that is shown.
pub(super) async fn run(client: &Client, asked: TopArguments) -> anyhow::Result<()> {
    ensure!(
        stdout().is_terminal(),
        "top needs a terminal: `ashlar iostat -i 1s` prints what goes on line by line"
    );
    let first = look(client).await?;
    let before = first.counted.clone();
    let mut screen = Screen::new(first.since(None));
    let mut terminal = ratatui::try_init().context("the terminal cannot be used")?;
    let ended = show(client, asked, &mut terminal, keys(), (&mut screen, before)).await;
    ratatui::restore();
    ended
}

/// Shows what is seen, after what has been counted `before`, until a key ends it: a daemon that
/// does not answer keeps no key waiting.
async fn show<B: Backend>(
    client: &Client,
    asked: TopArguments,
    terminal: &mut Terminal<B>,
    mut keys: UnboundedReceiver<Option<KeyEvent>>,
    (screen, mut before): (&mut Screen, IoStat),
) -> anyhow::Result<()>
where
    B::Error: Send + Sync + 'static,
{
    let mut looking = pin!(Fuse::terminated());
    let mut ticks = interval(asked.interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    loop {
        terminal.draw(|frame| screen.draw(frame))?;
        tokio::select! {
            key = keys.recv() => match key.map(|key| screen.press(key)) {
                None | Some(Wish::End) => return Ok(()),
                // What is under way would be shown although nothing newer is wanted.
                Some(Wish::GoOn) if screen.is_stopped() => looking.set(Fuse::terminated()),
                Some(Wish::GoOn) => {}
            },
            _ = ticks.tick(), if looking.is_terminated() && !screen.is_stopped() => {
                looking.set(look(client).fuse());
            }
            found = &mut looking => match found {
                Ok(answers) => {
                    let counted = answers.counted.clone();
                    screen.show(answers.since(Some(&before)));
                    before = counted;
                }
                // It may be restarted: what was seen last stays, with the reason.
                Err(error) => screen.fail(format!("{error:#}")),
            }
        }
    }
}

/// What the daemon says at one moment.
struct Answers {
    status: Status,
    counted: IoStat,
    hosts: Vec<Host>,
    jobs: Vec<Job>,
}

impl Answers {
    /// The same, with what has been counted since `before`.
    fn since(self, before: Option<&IoStat>) -> Seen {
        let Answers { status, counted, hosts, jobs } = self;
        Seen { status, report: Report::new(before, &counted), hosts, jobs }
    }
}

/// What there is now.
async fn look(client: &Client) -> anyhow::Result<Answers> {
    let status: Status = client.get("/status").await?;
    let counted: IoStat = client.get("/iostat?drives=true").await?;
    let hosts: Vec<Host> = client.get("/hosts").await?;
    let jobs: Vec<Job> = client.get("/jobs").await?;
    Ok(Answers { status, counted, hosts, jobs })
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
