//! Each change that a client asks for is written down: what, by whom, and with what result. An
//! event tells of it as well.

use axum::body::Bytes;
use axum::response::Response;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::access::{Caller, Role};
use crate::error::{ErrorCode, Problem};
use crate::events::EventKind;
use crate::operation::Operation;
use crate::types::{Deed, Happening, Severity};

/// Longest part of what a request brings that the audit log keeps, in bytes.
const REQUEST_BYTES_MAX: usize = 4096;
/// The same for its event.
const DETAILS_BYTES_MAX: usize = 256;
/// Longest name of a pool or volume that is repeated, in bytes: one that is asked for in vain may
/// be longer.
const TARGET_BYTES_MAX: usize = 160;
/// The same of why it was refused, which may repeat what the request has brought.
const PROBLEM_BYTES_MAX: usize = 1024;
/// The same of a request that was not done: others may not push out what was.
const REQUEST_IN_VAIN_BYTES_MAX: usize = 256;
/// Operations of which the audit log keeps these parts of the body alone: somebody may send a
/// private key by mistake.
const IN_PARTS: [(&str, &[&str]); 1] = [("add_key", &["name", "role"])];
/// Operations that make something which the body names.
const NAMED_BY_BODY: [&str; 3] = ["create_token", "add_key", "create_policy"];
const DONE: &str = "done";
/// It was begun, and may be done in part.
const FAILED: &str = "failed";
const REFUSED: &str = "refused";
const ASKED: &str = "asked";
/// What may come of a change.
pub const RESULTS: [&str; 4] = [DONE, FAILED, REFUSED, ASKED];

/// What the audit log calls it when a signal has the daemon read its configuration again: no client
/// asks for that by the API.
pub const RELOAD: &str = "reload_configuration";
const RELOAD_CALLER: &str = "signal SIGHUP";

/// What a daemon has taken of its configuration when it has read that again: keys, by their names.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Reloaded {
    /// They hold now.
    pub taken: Vec<&'static str>,
    /// They have changed, and hold from the next start on.
    pub next_start: Vec<&'static str>,
}

/// What a request of that operation asks for, of which nothing has come yet.
pub fn deed(operation: &Operation, params: &[(&str, &str)], body: &Bytes, caller: &Caller) -> Deed {
    let asked: Value = serde_json::from_slice(body).unwrap_or_default();
    let named = |name: &str| cut(name, TARGET_BYTES_MAX);
    let at = |name: &str| params.iter().find(|(key, _)| *key == name).map(|(_, at)| named(at));
    let said = |key: &str| asked[key].as_str().map(named);
    let (pool, volume) = match operation.path {
        "/volumes" => (said("pool"), said("name")),
        "/pools" => (said("name"), None),
        "/import-pool" => (said("pool").or_else(|| said("name")), None),
        _ => (at("pool"), at("volume")),
    };
    let of_path = params.iter().filter(|(key, _)| !["pool", "volume"].contains(key));
    let of_path: Vec<String> = of_path.map(|(_, at)| named(at)).collect();
    let of_body = said("name").filter(|_| NAMED_BY_BODY.contains(&operation.id));
    Deed {
        caller: cut(&caller.to_string(), TARGET_BYTES_MAX),
        role: caller.role,
        uid: caller.uid,
        pid: caller.pid,
        address: caller.address.map(|address| address.to_string()),
        operation: operation.id.to_owned(),
        command: operation.command(&asked).unwrap_or(operation.id).to_owned(),
        pool,
        volume,
        target: of_body.or_else(|| (!of_path.is_empty()).then(|| of_path.join("/"))),
        request: cut(&brought(operation, &asked, body), REQUEST_BYTES_MAX),
        ..Deed::default()
    }
}

/// What is kept of a body.
fn brought(operation: &Operation, asked: &Value, body: &Bytes) -> String {
    if let Some((_, parts)) = IN_PARTS.iter().find(|(id, _)| *id == operation.id) {
        let said = parts.iter().filter(|part| asked[**part].is_string());
        let kept: Map<_, _> = said.map(|part| ((*part).to_owned(), asked[*part].clone())).collect();
        return if kept.is_empty() { String::new() } else { Value::Object(kept).to_string() };
    }
    let body = match asked {
        // What is null is not asked for.
        Value::Object(all) if all.values().any(Value::is_null) => {
            let said = all.iter().filter(|(_, value)| !value.is_null());
            let said: Map<_, _> = said.map(|(name, value)| (name.clone(), value.clone())).collect();
            Value::from(said).to_string()
        }
        _ => String::from_utf8_lossy(body).into_owned(),
    };
    body.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Deed {
    /// That a signal has had the configuration read again. The kernel does not say who has sent it:
    /// root or the daemon's own user, who may do everything.
    pub(crate) fn of_reload(came: Option<&Reloaded>) -> Self {
        let (result, problem) = match came {
            Some(_) => (DONE, None),
            // Why is for the log alone: it repeats lines of the file, in which secrets may be.
            None => (REFUSED, Some("it cannot be read, and stays as it was: see the daemon's log")),
        };
        let request = came.map(|it| serde_json::to_string(it).expect("it is plain data"));
        Deed {
            caller: RELOAD_CALLER.to_owned(),
            role: Role::Admin,
            operation: RELOAD.to_owned(),
            command: "configuration reload".to_owned(),
            request: request.unwrap_or_default(),
            result: result.to_owned(),
            problem: problem.map(str::to_owned),
            ..Deed::default()
        }
    }

    /// Whether a pool is open by it that may not have been known before.
    pub(crate) fn opens_pool(&self) -> bool {
        matches!(self.operation.as_str(), "create_pool" | "import_pool")
    }

    /// The same, of the pool with that name and UUID: whoever has asked by the UUID is told of by
    /// the name.
    pub(crate) fn of_pool(self, pool: Option<(String, String)>) -> Self {
        let Some((name, uuid)) = pool else { return self };
        let named = self.pool.filter(|asked| *asked != uuid).or(Some(name));
        Deed { pool: named, pool_uuid: Some(uuid), ..self }
    }

    /// Whether something is another way now, or may be.
    pub(crate) fn may_be_done(&self) -> bool {
        [DONE, FAILED].contains(&self.result.as_str())
    }

    /// The same, once it was answered.
    pub(crate) fn answered(self, response: &Response) -> Self {
        let refusal: Option<&Problem> = response.extensions().get();
        let code = refusal.map(|refusal| refusal.code.clone());
        let result = match code.as_deref() {
            _ if response.status().is_success() => DONE,
            Some(code) if code == ErrorCode::ConfirmationNeeded.word() => ASKED,
            _ if refusal.and_then(Problem::known_code).is_none_or(ErrorCode::may_come_midway) => {
                FAILED
            }
            _ => REFUSED,
        };
        let problem = match refusal {
            Some(refusal) => Some(cut(&refusal.detail, PROBLEM_BYTES_MAX)),
            None => (result != DONE).then(|| response.status().to_string()),
        };
        let request = match result {
            DONE | FAILED => self.request,
            _ => cut(&self.request, REQUEST_IN_VAIN_BYTES_MAX),
        };
        Deed { result: result.to_owned(), code, problem, request, ..self }
    }

    /// What is told of it. `None`: nothing was done, and the client was asked whether it may be, or
    /// may not ask for that at all. The audit log has those.
    pub(crate) fn happening(&self) -> Option<Happening> {
        let is_forbidden = self.code.as_deref() == Some(ErrorCode::Forbidden.word());
        if self.result == ASKED || is_forbidden {
            return None;
        }
        let severity = if self.result == DONE { Severity::Info } else { Severity::Warning };
        let message = format!("{} by {}: {}", self.what(), self.caller, self.result);
        let happening = Happening::new(severity, EventKind::Change, message);
        Some(Happening {
            operation: Some(self.command.clone()),
            result: Some(self.result.clone()),
            uid: self.uid,
            pid: self.pid,
            pool: self.pool.clone(),
            volume: self.volume.clone(),
            ..happening.because(self.problem.as_deref())
        })
    }

    /// What it was about: the pool with its volume, and what else.
    pub fn about(&self) -> String {
        let at: Vec<&str> = self.pool.iter().chain(&self.volume).map(String::as_str).collect();
        let at = Some(at.join("/")).filter(|at| !at.is_empty());
        at.iter().chain(&self.target).map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    fn what(&self) -> String {
        let details = cut(&self.request, DETAILS_BYTES_MAX);
        let words = [&self.command, &self.about(), &details];
        let words = words.into_iter().map(String::as_str).filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join(" ")
    }
}

/// The text without control characters, and no longer than that.
fn cut(text: &str, bytes_max: usize) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    if plain.len() <= bytes_max {
        return plain;
    }
    let end = (0..=bytes_max).rev().find(|end| plain.is_char_boundary(*end)).unwrap_or(0);
    format!("{}...", &plain[..end])
}

#[cfg(test)]
mod tests;
