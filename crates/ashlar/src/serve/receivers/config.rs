//! What the configuration says of those who are told of events.

use std::path::PathBuf;
use std::time::Duration;

use ashlar_control::types::{Event, Severity};
use lettre::message::Mailbox;
use serde::Deserialize;

/// All receivers.
#[derive(Clone, Debug, Default)]
pub struct ReceiversConfig {
    /// Webhooks.
    pub webhooks: Vec<WebhookConfig>,
    /// Mail.
    pub mail: Option<MailConfig>,
}

/// Which events a receiver is told of.
#[derive(Clone, Debug)]
pub struct Wants {
    /// At least as bad as that.
    pub severity: Severity,
    /// Only of these kinds; none: of all.
    pub kinds: Vec<String>,
}

impl Wants {
    /// Whether it is to be told of that.
    pub fn has(&self, event: &Event) -> bool {
        let what = &event.what;
        what.severity >= self.severity && (self.kinds.is_empty() || self.kinds.contains(&what.kind))
    }
}

/// A webhook.
#[derive(Clone, Debug)]
pub struct WebhookConfig {
    /// Its name.
    pub name: String,
    /// Where events are sent.
    pub url: hyper::Uri,
    /// The file with what they are signed with.
    pub secret_file: PathBuf,
    /// The certificates of the authorities that are believed, instead of the machine's.
    pub ca_file: Option<PathBuf>,
    /// How long an answer is waited for.
    pub timeout: Duration,
    /// Which events.
    pub wants: Wants,
}

/// Mail.
#[derive(Clone, Debug)]
pub struct MailConfig {
    /// The server that takes it.
    pub server: String,
    /// Its port.
    pub port: u16,
    /// How the connection is encrypted.
    pub tls: MailTls,
    /// Who the daemon is to the server, and the file with the password.
    pub login: Option<(String, PathBuf)>,
    /// The certificates of the authorities that are believed, instead of the machine's.
    pub ca_file: Option<PathBuf>,
    /// From whom.
    pub from: Mailbox,
    /// To whom.
    pub to: Vec<Mailbox>,
    /// Events within so many seconds go in one mail.
    pub digest_seconds: u64,
    /// Which events.
    pub wants: Wants,
}

/// How the connection to a mail server is encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MailTls {
    /// From STARTTLS on, or not at all.
    #[default]
    Starttls,
    /// From the first byte on.
    Tls,
    /// Not.
    None,
}

impl MailTls {
    /// The word in the configuration.
    pub fn word(self) -> &'static str {
        match self {
            MailTls::Starttls => "starttls",
            MailTls::Tls => "tls",
            MailTls::None => "none",
        }
    }

    /// The port where nobody names one.
    pub fn usual_port(self) -> u16 {
        match self {
            MailTls::Starttls => 587,
            MailTls::Tls => 465,
            MailTls::None => 25,
        }
    }
}
