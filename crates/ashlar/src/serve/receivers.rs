//! Who is told of events: webhooks and mail.
//!
//! Each receiver reads the log of events behind those who write it, from where it has come to: the
//! log is its queue, bounded as that is, and its place in it outlives the daemon. So a receiver
//! that hangs holds up nobody, nor takes memory; and what it has missed it is sent later, in order.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ashlar_control::types::{Event, Happening, Receiver, ReceiverTest, Severity};
use ashlar_control::{Answer, ApiError, ErrorCode, EventKind, EventLog, Notifier, Watcher};
use ashlar_volume::SubsystemInfo;
use futures_util::future::BoxFuture;
use humantime::format_rfc3339_millis;
use tokio::task::JoinHandle;

use super::apart::apart;
use delivery::Delivery;
use mail::Mail;
use place::Place;
use webhook::Webhook;

mod backoff;
mod config;
mod delivery;
mod mail;
mod place;
mod secrets;
mod webhook;

pub use config::{MailConfig, MailTls, ReceiversConfig, Wants, WebhookConfig};

/// What mail is called among receivers.
pub const MAIL: &str = "mail";

/// Who the node is to those who are told.
#[derive(Clone, Debug)]
pub struct Sender {
    /// The machine's name.
    pub host: String,
    /// The subsystem's NQN.
    pub subsystem_nqn: String,
    /// The subsystem's serial number.
    pub serial: String,
}

impl Sender {
    /// The node of that subsystem, on this machine.
    pub fn of(subsystem: SubsystemInfo) -> Self {
        let SubsystemInfo { nqn: subsystem_nqn, serial, .. } = subsystem;
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Sender { host, subsystem_nqn, serial }
    }
}

/// How events get to a receiver.
trait Carrier: Send + Sync {
    /// Where they go, for people.
    fn address(&self) -> String;
    /// Events at a time.
    fn events_max(&self) -> usize;
    /// How long more of them are waited for, in seconds.
    fn gather_seconds(&self) -> u64;
    /// Sends them.
    fn carry<'a>(&'a self, events: &'a [Event]) -> BoxFuture<'a, Result<Carried, Failure>>;
    /// Sends again what was not taken by all, until that comes to an end. What is wrong then.
    fn settled(&self) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::pending())
    }
}

/// Events were taken.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Carried {
    /// What was answered.
    answer: String,
    /// What an operator has to see to all the same.
    flaw: Option<String>,
}

/// Why events were not taken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
enum Failure {
    /// They may be later.
    #[error("{0}")]
    Later(String),
    /// The same, and not before so long.
    #[error("{0}")]
    Busy(String, Duration),
    /// As it is said, for what they are: that may be a mistake of whoever answers.
    #[error("{0}")]
    Refused(String),
    /// They never will be.
    #[error("{0}")]
    Never(String),
}

impl Failure {
    fn later(why: impl ToString) -> Self {
        Failure::Later(why.to_string())
    }
}

/// All receivers.
pub struct Receivers {
    deliveries: Vec<Arc<Delivery>>,
}

impl Receivers {
    /// Those of the configuration. One that is new begins with what `log` gets from now on.
    pub fn new(
        config: &ReceiversConfig,
        state_dir: &Path,
        log: &Arc<EventLog>,
        sender: &Sender,
    ) -> Self {
        let directory = state_dir.join("receivers");
        let place = |name: &str| Place::new(directory.clone(), name);
        let mut deliveries = Vec::new();
        for webhook in &config.webhooks {
            let carrier = Box::new(Webhook::new(webhook.clone(), sender.clone()));
            let (name, wants) = (webhook.name.clone(), webhook.wants.clone());
            deliveries.push(Delivery::new(&name, wants, carrier, log.clone(), place(&name)));
        }
        if let Some(mail) = &config.mail {
            let carrier = Box::new(Mail::new(mail.clone(), sender.clone()));
            let wants = mail.wants.clone();
            deliveries.push(Delivery::new(MAIL, wants, carrier, log.clone(), place(MAIL)));
        }
        let names: Vec<String> = deliveries.iter().map(|it| it.name().to_owned()).collect();
        // Whether that is done, and when, is of no account to those who are there.
        let _ = apart("receivers", move || place::forget_all_but(&directory, &names));
        Receivers { deliveries: deliveries.into_iter().map(Arc::new).collect() }
    }

    /// Has each be told, until the tasks are aborted. The watcher is told which are not.
    pub fn start(&self, watcher: &Arc<Watcher>) -> Vec<JoinHandle<()>> {
        let start = |delivery: &Arc<Delivery>| {
            let (delivery, watcher) = (delivery.clone(), watcher.clone());
            tokio::spawn(async move { delivery.run(&watcher).await })
        };
        self.deliveries.iter().map(start).collect()
    }

    /// Waits so long until it is written where each has come to.
    pub async fn settled(&self, longest: Duration) {
        let all = self.deliveries.iter().map(|delivery| delivery.settled(longest));
        futures_util::future::join_all(all).await;
    }
}

impl Notifier for Receivers {
    fn receivers(&self) -> Vec<Receiver> {
        self.deliveries.iter().map(|delivery| delivery.shown()).collect()
    }

    fn test(&self, name: String) -> Answer<'_, ReceiverTest> {
        Box::pin(async move {
            let delivery = self.deliveries.iter().find(|it| it.name() == name);
            let delivery = delivery.ok_or_else(|| unknown(&name))?;
            let answer = delivery.send_now(&[test_event(&name)]).await;
            let Carried { answer, flaw } = answer.map_err(|why| {
                let why = format!("'{name}' does not take the test: {why}");
                ApiError::new(ErrorCode::ReceiverFailed, why)
            })?;
            let flaw = flaw.map_or_else(String::new, |flaw| format!("; {flaw}"));
            Ok(ReceiverTest { name, answer: format!("{answer}{flaw}") })
        })
    }
}

fn unknown(name: &str) -> ApiError {
    let why = format!("there is no webhook '{name}' in the configuration, nor is it '{MAIL}'");
    ApiError::new(ErrorCode::NoSuchReceiver, why).with_hint("`ashlar notify list` shows all")
}

fn test_event(name: &str) -> Event {
    let message = format!("this is a test of '{name}': nothing has happened");
    let what = Happening::new(Severity::Info, EventKind::Test, message);
    let what = Happening { receiver: Some(name.to_owned()), ..what };
    Event { seq: 0, time: format_rfc3339_millis(SystemTime::now()).to_string(), what }
}
