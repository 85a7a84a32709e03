//! Mail: the events of a short time in one message, to the server that takes it.

use std::sync::Arc;
use std::time::Duration;

use ashlar_control::types::{Event, Severity};
use futures_util::future::BoxFuture;
use lettre::Message;
use lettre::address::Envelope;
use lettre::message::header::ContentType;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, CertificateStore, TlsParameters};
use tokio::time::timeout;

use super::super::apart::OneByOne;
use super::{Carried, Carrier, Failure, MailConfig, MailTls, Sender, secrets};
use deferred::Deferred;
use session::{Given, Way, described};

mod deferred;
mod session;

/// Events in one mail.
const EVENTS_MAX: usize = 100;
/// How long sending may take.
const WAIT: Duration = Duration::from_secs(60);
/// Longest subject, in characters.
const SUBJECT_CHARS_MAX: usize = 120;

/// Mail.
pub struct Mail {
    config: MailConfig,
    sender: Sender,
    /// Whose turn it is to read its files.
    reading: OneByOne,
    /// What goes to some of its recipients later.
    deferred: Deferred,
}

impl Mail {
    pub fn new(config: MailConfig, sender: Sender) -> Self {
        Mail { config, sender, reading: OneByOne::new(), deferred: Deferred::default() }
    }

    async fn send(&self, events: &[Event]) -> Result<Carried, Failure> {
        let message = self.message(events)?;
        let (envelope, text) = (message.envelope(), Arc::from(message.formatted()));
        let (given, exposed) = self.give(envelope, &text).await?;
        let flaw = self.seen_to(envelope, &text, &given);
        Ok(Carried { answer: given.answer, flaw: flaw.or(exposed) })
    }

    /// Gives it to the server, and says what is wrong with the files of that though it could be.
    async fn give(
        &self,
        envelope: &Envelope,
        text: &[u8],
    ) -> Result<(Given, Option<String>), Failure> {
        let (config, host) = (self.config.clone(), self.sender.host.clone());
        let (way, exposed) = secrets::in_time(&self.reading, move || way(&config, host)).await?;
        let late = || Failure::Later(format!("no answer came within {} s", WAIT.as_secs()));
        let given = timeout(WAIT, way.give(envelope, text)).await.map_err(|_| late())?;
        given.map(|given| (given, exposed))
    }

    /// Puts off what was not taken for all, and says for whom it was not.
    fn seen_to(&self, envelope: &Envelope, text: &Arc<[u8]>, given: &Given) -> Option<String> {
        let deferred = given.deferred.iter();
        let named: Vec<String> = deferred.map(|(to, why)| format!("{to}: {why}")).collect();
        if !named.is_empty() {
            let to = given.deferred.iter().map(|(to, _)| to.clone()).collect();
            self.deferred.put_off(envelope.from().cloned(), to, text, &named.join("; "));
        }
        let later = (!named.is_empty())
            .then(|| format!("not yet for {}; it is sent again", named.join("; ")));
        let never =
            (!given.refused.is_empty()).then(|| format!("not for {}", given.refused.join("; ")));
        let all: Vec<String> = later.into_iter().chain(never).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// Gives mail again to those for whom it was put off, until one of them has come to an end.
    /// What is wrong then.
    async fn settle(&self) -> Option<String> {
        loop {
            let waiting = self.deferred.next().await;
            let why = match self.give(&waiting.envelope, &waiting.text).await {
                Ok((given, _)) => {
                    return self.seen_to(&waiting.envelope, &waiting.text, &given);
                }
                Err(failure) => failure.to_string(),
            };
            if !self.deferred.again(waiting, &why) {
                return Some(format!("{why}; it is not sent again"));
            }
        }
    }

    fn message(&self, events: &[Event]) -> Result<Message, Failure> {
        let (subject, text) = (self.subject(events), self.text(events));
        let mut builder = Message::builder().from(self.config.from.clone()).subject(subject);
        for to in &self.config.to {
            builder = builder.to(to.clone());
        }
        let Sender { host, serial, .. } = &self.sender;
        // Who gets a mail twice sees it once.
        let last = events.last().map_or(0, |last| last.seq);
        if last > 0 {
            builder = builder.message_id(Some(format!("<ashlar.{serial}.{last}@{host}>")));
        }
        builder = builder.header(ContentType::TEXT_PLAIN);
        builder.body(text).map_err(|error| Failure::Never(format!("it is no mail: {error}")))
    }

    /// The worst of them, and how many more there are.
    fn subject(&self, events: &[Event]) -> String {
        let worst = events.iter().rev().max_by_key(|event| event.what.severity);
        let (severity, message) =
            worst.map_or(("info", ""), |it| (word(it.what.severity), it.what.message.as_str()));
        let more = match events.len().saturating_sub(1) {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let message: String = message.chars().take(SUBJECT_CHARS_MAX).collect();
        format!("[ashlar {}] {severity}: {message}{more}", self.sender.host)
    }

    fn text(&self, events: &[Event]) -> String {
        let mut text = String::new();
        for event in events {
            let what = &event.what;
            text.push_str(&format!("{} {}: {}\n", event.time, word(what.severity), what.message));
            if let Some(hint) = &what.hint {
                text.push_str(&format!("  what to do: {hint}\n"));
            }
            text.push_str(&format!("  kind: {}, number: {}\n\n", what.kind, event.seq));
        }
        let Sender { host, subsystem_nqn, .. } = &self.sender;
        text.push_str(&format!(
            "-- \nSent by Ashlar on {host} ({subsystem_nqn}). `ashlar events` there shows all.\n"
        ));
        text
    }
}

impl Carrier for Mail {
    fn address(&self) -> String {
        let to: Vec<String> = self.config.to.iter().map(|to| to.email.to_string()).collect();
        format!("{} by {}:{}", to.join(", "), self.config.server, self.config.port)
    }

    fn events_max(&self) -> usize {
        EVENTS_MAX
    }

    fn gather_seconds(&self) -> u64 {
        self.config.digest_seconds
    }

    fn carry<'a>(&'a self, events: &'a [Event]) -> BoxFuture<'a, Result<Carried, Failure>> {
        Box::pin(self.send(events))
    }

    fn settled(&self) -> BoxFuture<'_, Option<String>> {
        Box::pin(self.settle())
    }
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// The way to the server, and what is wrong with its files though it can be gone.
fn way(config: &MailConfig, host: String) -> Result<(Way, Option<String>), Failure> {
    let MailConfig { server, port, tls, login, .. } = config;
    let parameters = match tls {
        MailTls::None => None,
        MailTls::Starttls | MailTls::Tls => Some(parameters(config)?),
    };
    let credentials = match login {
        Some((user, file)) => Some(Credentials::new(user.clone(), secrets::line(file)?)),
        None => None,
    };
    let exposed = login.as_ref().and_then(|(_, file)| secrets::exposed(file));
    let (server, port, tls) = (server.clone(), *port, *tls);
    Ok((Way { server, port, host, tls, parameters, credentials }, exposed))
}

fn parameters(config: &MailConfig) -> Result<TlsParameters, Failure> {
    let mut builder = TlsParameters::builder(config.server.clone());
    if let Some(path) = &config.ca_file {
        let text = secrets::read(path)?;
        let certificate = Certificate::from_pem(&text).map_err(|error| {
            Failure::Later(format!("{} has no certificate: {error}", path.display()))
        })?;
        builder = builder.certificate_store(CertificateStore::None);
        builder = builder.add_root_certificate(certificate);
    }
    builder.build().map_err(|error| Failure::Later(described(&error)))
}

#[cfg(test)]
mod tests;
