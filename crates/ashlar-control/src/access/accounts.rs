//! The accounts of a node: tokens, and keys whose owners sign tokens of their own.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use ashlar_block::check_name;
use blake3::Hash;
use futures_util::future::BoxFuture;
use humantime::format_rfc3339_seconds;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::Role;
use super::jwt::{Checked, KeptKey};
use super::tokens::KeptToken;
use crate::error::{ApiError, ErrorCode};
use crate::types::{AddKey, CreateToken, Key, NewToken, Token};

/// Tokens, and keys, that a node can have.
const TOKENS_MAX: usize = 1024;
const KEYS_MAX: usize = 64;
/// Signed tokens that are remembered.
const SIGNED_MAX: usize = 1024;
/// Longest time after which a token expires: who wants a longer one wants one that never does.
const EXPIRES_SECONDS_MAX: u64 = 3650 * 86_400;

/// Where accounts are kept over the daemon's next start.
pub trait Vault: Send + Sync + 'static {
    /// Keeps that, instead of what it kept before: by somebody else than the caller's thread, which
    /// a file system that hangs must not hold up.
    ///
    /// # Errors
    /// Why it cannot, or has not in time.
    fn keep(&self, text: String) -> BoxFuture<'static, Result<(), VaultError>>;
}

/// Why accounts cannot be kept, with the way out.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct VaultError {
    /// Why.
    pub why: String,
    /// The way out.
    pub hint: String,
}

/// The accounts of a node.
pub struct Accounts {
    kept: Mutex<Kept>,
    /// Why those that were kept are not known: nobody is let in meanwhile, and nothing is changed.
    unread: Mutex<Option<String>>,
    /// Why the vault still has somebody who was kept out since.
    unwritten: Mutex<Option<String>>,
    /// What signed tokens have said of their owners, by the tokens' hashes: they are looked up as
    /// others are, without their signature being checked again.
    signed: Mutex<HashMap<Hash, Signed>>,
    /// Changes with each change of who is let in.
    changes: watch::Sender<()>,
    /// Held over every change, so that one follows another. Whoever is to be let in does not wait.
    changing: tokio::sync::Mutex<()>,
    vault: Box<dyn Vault>,
}

/// The owner of a signed token, until it ends.
struct Signed {
    account: String,
    role: Role,
    until: SystemTime,
}

/// What is known of whoever shows something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shown {
    /// Who it is, and what they may do.
    Known(String, Role),
    /// It was somebody's, and is over.
    Over,
    /// Nobody.
    Unknown,
}

impl Shown {
    /// Who it is, and what they may do, if that is known.
    pub fn known(self) -> Option<(String, Role)> {
        match self {
            Shown::Known(account, role) => Some((account, role)),
            Shown::Over | Shown::Unknown => None,
        }
    }
}

/// What is kept of them.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    tokens: Vec<KeptToken>,
    keys: Vec<KeptKey>,
}

impl Signed {
    fn shown(&self) -> Shown {
        Shown::Known(self.account.clone(), self.role)
    }
}

impl Accounts {
    /// Those that the vault has kept: `text` is what it was given last, or nothing.
    ///
    /// # Errors
    /// When that is not understood: nobody is let in by what may be missing there.
    pub fn new(vault: Box<dyn Vault>, text: Option<&str>) -> Result<Self, serde_json::Error> {
        let kept = text.map(serde_json::from_str).transpose()?.unwrap_or_default();
        Ok(Accounts { kept: Mutex::new(kept), ..Self::unread(vault, None) })
    }

    /// Those of which it is not known yet who they are, and why: [`Self::read_again`] says it.
    pub fn unreadable(vault: Box<dyn Vault>, why: String) -> Self {
        Self::unread(vault, Some(why))
    }

    fn unread(vault: Box<dyn Vault>, why: Option<String>) -> Self {
        let (kept, unwritten, signed, changing) = Default::default();
        let (unread, changes) = (Mutex::new(why), watch::Sender::new(()));
        Accounts { kept, unread, unwritten, signed, changes, changing, vault }
    }

    /// They are those that `text` has, where they were not known.
    ///
    /// # Errors
    /// When that is not understood.
    pub fn read_again(&self, text: Option<&str>) -> Result<(), serde_json::Error> {
        let kept = text.map(serde_json::from_str).transpose()?.unwrap_or_default();
        self.replace(kept);
        *self.why_unread() = None;
        Ok(())
    }

    fn why_unread(&self) -> MutexGuard<'_, Option<String>> {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes whenever somebody may have been let in or kept out.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // What a panic has left is whole: it is replaced as one.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who shows that, and what they may do.
    pub fn who_shows(&self, shown: &str) -> Shown {
        let looked_up = self.look_up(shown);
        if looked_up != Shown::Unknown || KeptToken::id_of(shown).is_some() {
            return looked_up;
        }
        let keys = self.kept().keys.clone();
        let mut is_over = false;
        for key in &keys {
            match key.check(shown) {
                Checked::Holds { account, role, until } => {
                    return self.remember(shown, key, Signed { account, role, until });
                }
                Checked::Over => is_over = true,
                Checked::Unknown => {}
            }
        }
        if is_over { Shown::Over } else { Shown::Unknown }
    }

    /// The same, where no signature is to be checked: of a signed token only if it was seen before.
    pub fn look_up(&self, shown: &str) -> Shown {
        let now = SystemTime::now();
        let Some(id) = KeptToken::id_of(shown) else {
            return match self.signed().get(&blake3::hash(shown.as_bytes())) {
                Some(signed) if signed.until > now => signed.shown(),
                Some(_) => Shown::Over,
                None => Shown::Unknown,
            };
        };
        let kept = self.kept();
        match kept.tokens.iter().find(|token| token.id == id && token.is(shown)) {
            Some(token) if token.has_expired(now) => Shown::Over,
            Some(token) => Shown::Known(format!("token {}", token.name), token.role),
            None => Shown::Unknown,
        }
    }

    fn remember(&self, shown: &str, key: &KeptKey, of: Signed) -> Shown {
        let said = of.shown();
        let mut signed = self.signed();
        // It may have been taken away while it was asked.
        if !self.kept().keys.contains(key) {
            return Shown::Unknown;
        }
        if signed.len() >= SIGNED_MAX {
            let now = SystemTime::now();
            signed.retain(|_, it| it.until > now);
        }
        if signed.len() >= SIGNED_MAX {
            // Whoever is forgotten has the signature checked again.
            signed.clear();
        }
        signed.insert(blake3::hash(shown.as_bytes()), of);
        said
    }

    fn signed(&self) -> MutexGuard<'_, HashMap<Hash, Signed>> {
        self.signed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All tokens.
    pub fn tokens(&self) -> Vec<Token> {
        let now = SystemTime::now();
        self.kept().tokens.iter().map(|token| token.shown(now)).collect()
    }

    /// All keys.
    pub fn keys(&self) -> Vec<Key> {
        self.kept().keys.iter().map(KeptKey::shown).collect()
    }

    /// Makes a token.
    ///
    /// # Errors
    /// Why it is not made.
    pub async fn create_token(&self, request: &CreateToken) -> Result<NewToken, ApiError> {
        check(&request.name)?;
        let now = SystemTime::now();
        let expires = request.expires_seconds.map(|seconds| expiry(now, seconds)).transpose()?;
        let (token, secret) = KeptToken::new(&request.name, request.role, now, expires);
        let shown = token.shown(now);
        self.change(|kept| {
            if kept.tokens.iter().any(|other| other.name == request.name) {
                let why = format!("there is a token '{}' already", request.name);
                return Err(ApiError::new(ErrorCode::TokenExists, why)
                    .with_hint("choose another name, or `ashlar token revoke` the old one"));
            }
            if kept.tokens.len() >= TOKENS_MAX {
                return Err(full(&format!("there are {TOKENS_MAX} tokens")));
            }
            kept.tokens.push(token);
            Ok(())
        })
        .await?;
        Ok(NewToken { token: shown, secret })
    }

    /// Forgets a token, by its name or identifier: who shows it is not let in any more.
    ///
    /// # Errors
    /// Why it is not forgotten, or only until the next start.
    pub async fn revoke_token(&self, name: &str) -> Result<(), ApiError> {
        self.take_away(|kept| {
            let before = kept.tokens.len();
            kept.tokens.retain(|token| token.name != name && token.id != name);
            if kept.tokens.len() < before {
                return Ok(());
            }
            let why =
                format!("there is no token '{name}': `ashlar token list` shows which there are");
            Err(ApiError::new(ErrorCode::NoSuchToken, why))
        })
        .await
    }

    /// Registers a key.
    ///
    /// # Errors
    /// Why it is not registered.
    pub async fn add_key(&self, request: &AddKey) -> Result<Key, ApiError> {
        check(&request.name)?;
        let now = format_rfc3339_seconds(SystemTime::now()).to_string();
        let key = KeptKey::new(&request.name, request.role, now, &request.public_key_pem)
            .map_err(|why| ApiError::new(ErrorCode::InvalidKey, why.to_string()))?;
        let shown = key.shown();
        self.change(|kept| {
            if kept.keys.iter().any(|other| other.name == key.name) {
                let why = format!("there is a key '{}' already", key.name);
                return Err(ApiError::new(ErrorCode::KeyExists, why)
                    .with_hint("choose another name, or `ashlar key remove` the old one"));
            }
            if kept.keys.len() >= KEYS_MAX {
                return Err(full(&format!("there are {KEYS_MAX} keys")));
            }
            kept.keys.push(key);
            Ok(())
        })
        .await?;
        Ok(shown)
    }

    /// Forgets a key: what it has signed is not believed any more.
    ///
    /// # Errors
    /// Why it is not forgotten, or only until the next start.
    pub async fn remove_key(&self, name: &str) -> Result<(), ApiError> {
        self.take_away(|kept| {
            let before = kept.keys.len();
            kept.keys.retain(|key| key.name != name);
            if kept.keys.len() < before {
                return Ok(());
            }
            let why = format!("there is no key '{name}': `ashlar key list` shows which there are");
            Err(ApiError::new(ErrorCode::NoSuchKey, why))
        })
        .await
    }

    /// Changes what is kept, once the vault has it.
    async fn change(
        &self,
        change: impl FnOnce(&mut Kept) -> Result<(), ApiError>,
    ) -> Result<(), ApiError> {
        let _changing = self.changing.lock().await;
        let changed = self.changed(change)?;
        self.write(&changed).await.map_err(|error| {
            ApiError::new(ErrorCode::StateNotWritten, error.why).with_hint(error.hint)
        })?;
        self.replace(changed);
        Ok(())
    }

    /// The same, where somebody is to be kept out: that is so at once, whatever the vault does.
    async fn take_away(
        &self,
        change: impl FnOnce(&mut Kept) -> Result<(), ApiError>,
    ) -> Result<(), ApiError> {
        let _changing = self.changing.lock().await;
        let changed = self.changed(change)?;
        self.replace(changed.clone());
        let written = self.write(&changed).await;
        if let Err(VaultError { why, .. }) = &written {
            *self.unwritten() = Some(why.clone());
            // Whoever writes it again is to hear of it.
            self.changes.send_replace(());
        }
        written.map_err(|VaultError { why, hint }| {
            let why = format!("nobody is let in by it from now on, but again after the next start of the daemon: {why}");
            let hint = format!("{hint}; the daemon tries to write it again by itself");
            ApiError::new(ErrorCode::StateNotWritten, why).with_hint(hint)
        })
    }

    fn changed(
        &self,
        change: impl FnOnce(&mut Kept) -> Result<(), ApiError>,
    ) -> Result<Kept, ApiError> {
        if let Some(why) = self.why_unread().clone() {
            return Err(ApiError::new(ErrorCode::StateNotWritten, why)
                .with_hint("what is kept would be lost: nothing is changed until it is known"));
        }
        let mut changed = self.kept().clone();
        change(&mut changed).map(|()| changed)
    }

    async fn write(&self, kept: &Kept) -> Result<(), VaultError> {
        let text = serde_json::to_string_pretty(kept).expect("accounts are plain data");
        self.vault.keep(text).await?;
        *self.unwritten() = None;
        Ok(())
    }

    fn unwritten(&self) -> MutexGuard<'_, Option<String>> {
        self.unwritten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the vault would let somebody in at the next start who was kept out since; nothing: it
    /// would not.
    pub fn why_unwritten(&self) -> Option<String> {
        self.unwritten().clone()
    }

    /// Gives the vault what it could not keep.
    pub async fn write_again(&self) {
        let _changing = self.changing.lock().await;
        if self.why_unwritten().is_none() {
            return;
        }
        let kept = self.kept().clone();
        if let Err(VaultError { why, .. }) = self.write(&kept).await {
            *self.unwritten() = Some(why);
        }
    }

    /// From now on these are let in.
    fn replace(&self, by: Kept) {
        // Held over both: nobody is remembered behind that by a key that goes.
        let mut signed = self.signed();
        *self.kept() = by;
        signed.clear();
        drop(signed);
        self.changes.send_replace(());
    }
}

fn check(name: &str) -> Result<(), ApiError> {
    check_name(name).map_err(|why| ApiError::new(ErrorCode::InvalidName, why.to_string()))
}

fn expiry(now: SystemTime, seconds: u64) -> Result<SystemTime, ApiError> {
    if (1..=EXPIRES_SECONDS_MAX).contains(&seconds) {
        return Ok(now + Duration::from_secs(seconds));
    }
    let why = format!("a token cannot expire in {seconds} s: choose 1 to {EXPIRES_SECONDS_MAX} s");
    Err(ApiError::new(ErrorCode::InvalidSetting, why))
}

fn full(what: &str) -> ApiError {
    ApiError::new(ErrorCode::TooManyAccounts, format!("{what}: take some away that nobody uses"))
}

#[cfg(test)]
mod tests;
