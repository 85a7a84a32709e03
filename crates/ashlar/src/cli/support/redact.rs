//! What a bundle does not give away: secrets in the configuration, in addresses and in the unit.
//!
//! Secrets themselves are in files that the configuration names, and those are not taken. Addresses
//! of webhooks are: many services have a secret in their path. So is the unit with its drop-ins,
//! where a variable of the environment may have one.

use ashlar_control::types::Receiver;
use toml::{Table, Value};

/// Parts of the names of keys whose values are left out wherever they stand.
const SECRET_NAMES: &[&str] = &["secret", "password", "token", "key"];
/// Names with such a part whose values are places of files, or harmless.
const PLACE_ENDS: &[&str] = &["_file", "_directory"];
/// What stands in the place of what was left out.
const LEFT_OUT: &str = "(left out)";

/// The configuration without secrets and comments.
pub fn config(text: &str) -> Result<Vec<u8>, String> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        // The parser quotes the line, which may have a secret.
        format!("it is not understood: {}", error.message())
    })?;
    let plain = toml::to_string(&without_secrets(table)).map_err(|error| error.to_string())?;
    Ok(plain.into_bytes())
}

fn without_secrets(table: Table) -> Table {
    table.into_iter().map(|(name, value)| (name.clone(), plain(&name, value))).collect()
}

fn plain(name: &str, value: Value) -> Value {
    match value {
        Value::Table(table) => Value::Table(without_secrets(table)),
        Value::Array(values) => {
            Value::Array(values.into_iter().map(|value| plain(name, value)).collect())
        }
        _ if is_secret(name) => Value::String(LEFT_OUT.to_owned()),
        Value::String(text) => Value::String(server_of(&text)),
        value => value,
    }
}

fn is_secret(name: &str) -> bool {
    SECRET_NAMES.iter().any(|part| name.contains(part))
        && !PLACE_ENDS.iter().any(|end| name.ends_with(end))
}

/// Of an address its scheme and its server; any other text as it is.
fn server_of(text: &str) -> String {
    let Some((scheme @ ("http" | "https"), rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let server = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let server = server.rsplit('@').next().unwrap_or_default();
    let has_more = rest != server;
    format!("{scheme}://{server}{}", if has_more { format!("/{LEFT_OUT}") } else { String::new() })
}

/// What `/receivers` has answered, with no more of an address than its server.
pub fn receivers(body: &[u8]) -> Result<Vec<u8>, String> {
    let mut all: Vec<Receiver> =
        serde_json::from_slice(body).map_err(|error| format!("it is not understood: {error}"))?;
    for receiver in &mut all {
        let secret = std::mem::take(&mut receiver.address);
        receiver.address = server_of(&secret);
        // What has gone wrong may name the address.
        receiver.problem =
            receiver.problem.take().map(|problem| problem.replace(&secret, &receiver.address));
    }
    serde_json::to_vec(&all).map_err(|error| error.to_string())
}

/// Settings of a unit whose values may be secrets. `EnvironmentFile=` names a file.
const SECRET_SETTINGS: &[&str] = &["Environment", "SetCredential", "SetCredentialEncrypted"];

/// The files of a unit without the values of such settings, and of those commented out.
pub fn unit(text: &str) -> String {
    let mut plain = String::new();
    // Whether the setting whose value goes on in this line, after a backslash, is commented out.
    let mut left_out = None;
    for line in text.lines() {
        let goes_on = line.ends_with('\\');
        let is_comment = line.trim_start().starts_with(['#', ';']);
        if let Some(name) = secret_setting(line) {
            plain += &format!("{name}={LEFT_OUT}\n");
            left_out = goes_on.then_some(is_comment);
        } else if let Some(is_comments) = left_out {
            // A comment in the midst of a value does not end it.
            if !goes_on && (!is_comment || is_comments) {
                left_out = None;
            }
        } else {
            plain += line;
            plain.push('\n');
        }
    }
    plain
}

/// The name of the setting with its indentation, if a line is of one that may have secrets.
fn secret_setting(line: &str) -> Option<&str> {
    let (name, _) = line.split_once('=')?;
    let setting = name.trim_start_matches(|sign: char| sign.is_whitespace() || "#;".contains(sign));
    SECRET_SETTINGS.contains(&setting.trim_end()).then_some(name)
}

#[cfg(test)]
mod tests;
