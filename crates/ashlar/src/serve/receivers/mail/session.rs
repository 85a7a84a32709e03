//! A mail is given to its server: in one transaction for all who are to get it, of whom those that
//! the server refuses, for good or for now, keep it from nobody else.

use std::time::Duration;

use lettre::Address;
use lettre::address::Envelope;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{
    ClientId, Extension, MailBodyParameter, MailParameter, ServerInfo,
};
use tokio::time::timeout;

use super::super::{Failure, MailTls};

/// How long connecting may take. Whoever asks has a bound for all of it.
const CONNECT_WAIT: Duration = Duration::from_secs(30);
/// How long the server may take for its last word, which nothing depends on.
const QUIT_WAIT: Duration = Duration::from_secs(1);

/// The way to a server.
pub struct Way {
    pub server: String,
    pub port: u16,
    /// What this machine is called.
    pub host: String,
    pub tls: MailTls,
    /// None where nothing is encrypted.
    pub parameters: Option<TlsParameters>,
    pub credentials: Option<Credentials>,
}

/// A mail was taken, for some at least.
pub struct Given {
    /// What was answered.
    pub answer: String,
    /// Who does not get it, and why.
    pub refused: Vec<String>,
    /// Who does not get it now, and why.
    pub deferred: Vec<(Address, String)>,
}

impl Way {
    /// Gives it that.
    ///
    /// # Errors
    /// Nobody gets it now.
    pub async fn give(self, envelope: &Envelope, text: &[u8]) -> Result<Given, Failure> {
        let mut connection = self.connect().await.map_err(|error| later(&error))?;
        let given = transact(&mut connection, envelope, text).await;
        let _ = timeout(QUIT_WAIT, connection.abort()).await;
        given
    }

    async fn connect(self) -> Result<AsyncSmtpConnection, Error> {
        let Way { server, port, host, tls, parameters, credentials } = self;
        let hello = ClientId::Domain(host);
        let (at_once, by_command) = match tls {
            MailTls::Starttls => (None, parameters),
            MailTls::Tls | MailTls::None => (parameters, None),
        };
        let at = (server.as_str(), port);
        let connected =
            AsyncSmtpConnection::connect_tokio1(at, Some(CONNECT_WAIT), &hello, at_once, None);
        let mut connection = connected.await?;
        if let Some(parameters) = by_command {
            connection.starttls(parameters, &hello).await?;
        }
        if let Some(credentials) = credentials {
            connection.auth(DEFAULT_MECHANISMS, &credentials).await?;
        }
        Ok(connection)
    }
}

async fn transact(
    connection: &mut AsyncSmtpConnection,
    envelope: &Envelope,
    text: &[u8],
) -> Result<Given, Failure> {
    let options = options(connection.server_info(), envelope, text)?;
    let from = Mail::new(envelope.from().cloned(), options);
    connection.command(from).await.map_err(|error| later(&error))?;
    let (mut refused, mut deferred) = (Vec::new(), Vec::new());
    for to in envelope.to() {
        match connection.command(Rcpt::new(to.clone(), Vec::new())).await {
            Ok(_) => {}
            Err(error) if error.is_permanent() => {
                refused.push(format!("{to}: {}", described(&error)));
            }
            Err(error) if error.status().is_some() => {
                deferred.push((to.clone(), described(&error)));
            }
            Err(error) => return Err(later(&error)),
        }
    }
    if refused.len() + deferred.len() == envelope.to().len() {
        let deferred = deferred.iter().map(|(to, why)| format!("{to}: {why}"));
        let all: Vec<String> = deferred.chain(refused).collect();
        return Err(Failure::later(format!("not for {}", all.join("; "))));
    }
    connection.command(Data).await.map_err(|error| of_content(&error))?;
    let answer = connection.message(text).await.map_err(|error| of_content(&error))?;
    let said: Vec<&str> = answer.message().collect();
    let answer = format!("{} {}", answer.code(), said.join(" ")).trim_end().to_owned();
    Ok(Given { answer, refused, deferred })
}

/// What has to be said of a mail that is not of ASCII alone.
fn options(
    server: &ServerInfo,
    envelope: &Envelope,
    text: &[u8],
) -> Result<Vec<MailParameter>, Failure> {
    let mut options = Vec::new();
    let mut addresses = envelope.from().into_iter().chain(envelope.to());
    if addresses.any(|address| !address.to_string().is_ascii()) {
        if !server.supports_feature(Extension::SmtpUtfEight) {
            return Err(Failure::later("the server takes no addresses beyond ASCII (SMTPUTF8)"));
        }
        options.push(MailParameter::SmtpUtfEight);
    }
    if !text.is_ascii() && server.supports_feature(Extension::EightBitMime) {
        options.push(MailParameter::Body(MailBodyParameter::EightBitMime));
    }
    Ok(options)
}

fn later(error: &Error) -> Failure {
    Failure::Later(described(error))
}

/// A server that refuses for good once it knows the mail refuses this one, as one that is too long
/// or looks like spam.
fn of_content(error: &Error) -> Failure {
    match error.is_permanent() {
        true => Failure::Refused(described(error)),
        false => later(error),
    }
}

/// The error with all that it comes from.
pub fn described(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(why) = cause {
        let why_text = why.to_string();
        if !text.contains(&why_text) {
            text.push_str(&format!(": {why_text}"));
        }
        cause = why.source();
    }
    text
}
