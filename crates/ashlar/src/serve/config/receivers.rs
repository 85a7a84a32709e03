//! Those who are told of events, as the configuration has them.

use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use ashlar_block::check_name;
use ashlar_control::EventKind;
use ashlar_control::types::Severity;
use lettre::message::Mailbox;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::OneOrMore;
use crate::serve::receivers::{MAIL, MailConfig, MailTls, ReceiversConfig, Wants, WebhookConfig};

/// Webhooks, at most: each has its task, and reads the log.
const WEBHOOKS_MAX: usize = 16;
/// Addresses that one mail goes to, at most.
const TO_MAX: usize = 16;
/// What holds where nothing is said.
const NAME_USUAL: &str = "webhook";
const TIMEOUT_SECONDS_USUAL: u64 = 10;
const TIMEOUT_SECONDS_MAX: u64 = 120;
const DIGEST_SECONDS_USUAL: u64 = 60;
const DIGEST_SECONDS_MAX: u64 = 3600;

/// `[webhook]`, or each `[[webhook]]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookTable {
    name: Option<String>,
    url: Option<String>,
    secret_file: Option<PathBuf>,
    severity: Option<Severity>,
    #[serde(default)]
    kinds: Vec<String>,
    ca_file: Option<PathBuf>,
    timeout_seconds: Option<u64>,
}

/// `[mail]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MailTable {
    server: Option<String>,
    port: Option<u16>,
    tls: Option<MailTls>,
    user: Option<String>,
    password_file: Option<PathBuf>,
    from: Option<String>,
    to: Option<OneOrMore>,
    severity: Option<Severity>,
    #[serde(default)]
    kinds: Vec<String>,
    digest_seconds: Option<u64>,
    ca_file: Option<PathBuf>,
}

/// What the tables say.
///
/// # Errors
/// What of it cannot be, by its key.
pub fn resolve(webhooks: Vec<WebhookTable>, mail: MailTable) -> anyhow::Result<ReceiversConfig> {
    // The file to begin with has the tables, with nothing in them.
    let webhooks = webhooks.into_iter().filter(|table| *table != WebhookTable::default());
    let webhooks: Vec<_> = webhooks.map(webhook).collect::<anyhow::Result<_>>()?;
    ensure!(webhooks.len() <= WEBHOOKS_MAX, "there are more than {WEBHOOKS_MAX} webhooks");
    let mut names = BTreeSet::new();
    for WebhookConfig { name, .. } in &webhooks {
        ensure!(names.insert(name), "two webhooks have the name '{name}': give each its own");
    }
    let mail = (mail != MailTable::default()).then(|| resolve_mail(mail)).transpose()?;
    Ok(ReceiversConfig { webhooks, mail })
}

fn webhook(table: WebhookTable) -> anyhow::Result<WebhookConfig> {
    let name = table.name.unwrap_or_else(|| NAME_USUAL.to_owned());
    check_name(&name).with_context(|| format!("webhook.name '{name}'"))?;
    ensure!(name != MAIL, "a webhook cannot have the name '{MAIL}', which mail has");
    let url =
        table.url.with_context(|| format!("webhook '{name}' has no url to send events to"))?;
    let secret_file = table.secret_file.with_context(|| {
        format!("webhook '{name}' has no secret_file: events are signed with what is in it")
    })?;
    let seconds = table.timeout_seconds.unwrap_or(TIMEOUT_SECONDS_USUAL);
    ensure!(
        (1..=TIMEOUT_SECONDS_MAX).contains(&seconds),
        "webhook.timeout_seconds is {seconds}: it must be 1 to {TIMEOUT_SECONDS_MAX}"
    );
    Ok(WebhookConfig {
        url: url_of(&url)?,
        secret_file: whole("webhook.secret_file", secret_file)?,
        ca_file: table.ca_file.map(|path| whole("webhook.ca_file", path)).transpose()?,
        timeout: Duration::from_secs(seconds),
        wants: wants("webhook", table.severity, table.kinds)?,
        name,
    })
}

fn resolve_mail(table: MailTable) -> anyhow::Result<MailConfig> {
    let server = table.server.context("mail has no server to send it by")?;
    ensure!(
        !server.contains(':') || server.parse::<IpAddr>().is_ok(),
        "mail.server is '{server}': it is a name or an address alone, and the port goes into mail.port"
    );
    let from = table.from.context("mail has no from: name the address that it comes from")?;
    let to = table.to.map(OneOrMore::into_vec).unwrap_or_default();
    ensure!((1..=TO_MAX).contains(&to.len()), "mail.to must have 1 to {TO_MAX} addresses");
    let tls = table.tls.unwrap_or_default();
    let login = match (table.user, table.password_file) {
        (Some(user), Some(file)) => Some((user, whole("mail.password_file", file)?)),
        (None, None) => None,
        _ => bail!("mail has only one of user and password_file: give both, or none"),
    };
    ensure!(
        login.is_none() || tls != MailTls::None,
        "mail.tls is 'none': a password would be sent for all to read. Choose starttls or tls, or \
         leave user out"
    );
    let digest_seconds = table.digest_seconds.unwrap_or(DIGEST_SECONDS_USUAL);
    ensure!(
        digest_seconds <= DIGEST_SECONDS_MAX,
        "mail.digest_seconds is {digest_seconds}: it must be at most {DIGEST_SECONDS_MAX}"
    );
    Ok(MailConfig {
        server,
        port: table.port.unwrap_or(tls.usual_port()),
        tls,
        login,
        ca_file: table.ca_file.map(|path| whole("mail.ca_file", path)).transpose()?,
        from: mailbox("mail.from", &from)?,
        to: to.iter().map(|to| mailbox("mail.to", to)).collect::<anyhow::Result<_>>()?,
        digest_seconds,
        wants: wants("mail", table.severity, table.kinds)?,
    })
}

fn wants(table: &str, severity: Option<Severity>, kinds: Vec<String>) -> anyhow::Result<Wants> {
    if let Some(unknown) = kinds.iter().find(|kind| EventKind::of_word(kind).is_none()) {
        bail!("{table}.kinds: there is no kind '{unknown}' of events (docs/events.md)");
    }
    // Whoever names kinds wants those, however bad they are.
    let usual = if kinds.is_empty() { Severity::Warning } else { Severity::Info };
    Ok(Wants { severity: severity.unwrap_or(usual), kinds })
}

fn url_of(text: &str) -> anyhow::Result<hyper::Uri> {
    let wrong = || format!("webhook.url '{text}' is no URL: write https://HOST/PATH");
    let url: hyper::Uri = text.parse().with_context(wrong)?;
    let is_one = matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some();
    ensure!(is_one, "{}", wrong());
    let has_user = url.authority().is_some_and(|authority| authority.as_str().contains('@'));
    ensure!(!has_user, "webhook.url has a user: events are signed, and need none");
    Ok(url)
}

fn whole(key: &str, path: PathBuf) -> anyhow::Result<PathBuf> {
    ensure!(path.is_absolute(), "{key}: '{}' does not begin with /", path.display());
    Ok(path)
}

fn mailbox(key: &str, text: &str) -> anyhow::Result<Mailbox> {
    text.parse().with_context(|| format!("{key}: '{text}' is no address of mail"))
}

/// One table, or a list of them. As an untagged enum it would not say what is wrong in one.
pub fn one_or_more<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Tables<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Tables<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a table, or a list of tables")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<T>, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map)).map(|one| vec![one])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Vec<T>, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(seq))
        }
    }
    deserializer.deserialize_any(Tables(PhantomData))
}

#[cfg(test)]
mod tests;
