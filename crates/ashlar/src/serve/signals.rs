//! Signals: which end the daemon, which one has it read its configuration again, and that no other
//! ends it.

use std::future::poll_fn;
use std::io;
use std::ops::RangeInclusive;
use std::task::{Context, Poll};

use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What ends the process in order.
const ENDS: [(Number, &str); 3] =
    [(Number::TERM, "SIGTERM"), (Number::INT, "SIGINT"), (Number::QUIT, "SIGQUIT")];
/// What would end it without order, and means nothing here. Not among them: SIGPIPE, which Rust
/// programs ignore from their start on; and what reports a fault of the program itself.
const IGNORED: [(Number, &str); 10] = [
    (Number::USR1, "SIGUSR1"),
    (Number::USR2, "SIGUSR2"),
    (Number::ALARM, "SIGALRM"),
    (Number::VTALARM, "SIGVTALRM"),
    (Number::PROF, "SIGPROF"),
    (Number::IO, "SIGIO"),
    (Number::POWER, "SIGPWR"),
    (Number::STKFLT, "SIGSTKFLT"),
    (Number::XCPU, "SIGXCPU"),
    (Number::XFSZ, "SIGXFSZ"),
];
/// The same, by number: SIGRTMIN to SIGRTMAX.
const REAL_TIME: RangeInclusive<i32> = 34..=64;

/// What a signal asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// To end: the signal's name.
    End(&'static str),
    /// To read the configuration again.
    Reload,
}

/// The signals that are listened for.
pub struct Signals {
    ends: Vec<(&'static str, Signal)>,
    /// Nothing where SIGHUP is one of those that end.
    hangup: Option<Signal>,
}

fn listen(number: Number) -> io::Result<Signal> {
    signal(SignalKind::from_raw(number.as_raw()))
}

impl Signals {
    /// Listens for those that end a process that has no configuration to read again: SIGHUP, too,
    /// which says there that its terminal has gone.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn that_end() -> io::Result<Self> {
        let mut signals = Self::of_daemon()?;
        signals.ends.extend(signals.hangup.take().map(|hangup| ("SIGHUP", hangup)));
        Ok(signals)
    }

    /// Listens for those of a daemon.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn of_daemon() -> io::Result<Self> {
        let ends = ENDS.into_iter().map(|(number, name)| Ok((name, listen(number)?)));
        Ok(Signals { ends: ends.collect::<io::Result<_>>()?, hangup: Some(listen(Number::HUP)?) })
    }

    /// The name of the next one that ends. One that asks for something else is kept.
    pub async fn end(&mut self) -> &'static str {
        poll_fn(|cx| self.poll_end(cx)).await
    }

    /// What the next one asks for.
    pub async fn next(&mut self) -> Order {
        poll_fn(|cx| match (self.poll_end(cx), self.poll_hangup(cx)) {
            (Poll::Ready(name), _) => Poll::Ready(Order::End(name)),
            (Poll::Pending, hangup) => hangup.map(|()| Order::Reload),
        })
        .await
    }

    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<&'static str> {
        for (name, signal) in &mut self.ends {
            if signal.poll_recv(cx).is_ready() {
                return Poll::Ready(name);
            }
        }
        Poll::Pending
    }

    fn poll_hangup(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.hangup.as_mut().map_or(Poll::Pending, |hangup| hangup.poll_recv(cx).map(drop))
    }
}

/// Has all others that would end the process do nothing but a line of the log.
///
/// # Errors
/// When the operating system refuses.
pub fn ignore_the_others() -> io::Result<()> {
    for (number, name) in IGNORED {
        tokio::spawn(tell(listen(number)?, name.to_owned()));
    }
    // Some of the lowest belong to the C library, by which these begin later.
    for number in REAL_TIME {
        if let Ok(signal) = signal(SignalKind::from_raw(number)) {
            tokio::spawn(tell(signal, format!("real-time signal {number}")));
        }
    }
    Ok(())
}

async fn tell(mut signal: Signal, name: String) {
    while signal.recv().await.is_some() {
        tracing::info!("{name} is ignored");
    }
}
