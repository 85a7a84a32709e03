//! The API's door to other machines: where it listens, who the daemon is there, and who is let in.
//!
//! What is wrong with it keeps no host from being served: an event and a warning in `ashlar status`
//! say it, and it is tried again until it is there. At a SIGHUP the certificate is read again.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use ashlar_control::types::{Happening, Severity};
use ashlar_control::{
    Accounts, EventKind, Network, NetworkFacts, SharedFacts, SharedIdentity, Watcher,
};
use futures_util::future::select;
use tokio::sync::{Notify, mpsc};
use tokio::time::{sleep, timeout};

use super::accounts;
use super::apart::OneByOne;
use super::network::{self, NetworkConfig};
use super::state::RETRY_INTERVAL;

/// How often it is tried to write down who was kept out.
const WRITE_INTERVAL: Duration = Duration::from_secs(5);
/// By whom a certificate that cannot be taken is warned of.
const CERTIFICATE: &str = "api_certificate";
const NOT_TAKEN: &str = "the API keeps its certificate, for another cannot be taken";

/// The door.
pub struct Gate {
    config: NetworkConfig,
    state_dir: PathBuf,
    /// Whose turn it is to read the accounts.
    reading: OneByOne,
    accounts: Arc<Accounts>,
    /// Set while it does not listen, though it is to; and the one while accounts are not known.
    closed: Trouble,
    unread: Trouble,
    /// It listens, and is not served yet.
    opened: Option<Network>,
    identity: Option<SharedIdentity>,
}

/// Has accounts written that could not be when somebody was kept out.
async fn keep_written(accounts: &Accounts, watcher: &Watcher) {
    let mut changes = accounts.changes();
    loop {
        let why = accounts.why_unwritten();
        let warn = |why: &String| {
            format!(
                "a token or key that was taken away is let in again after the next start: {why}"
            )
        };
        watcher.warn("revocations", why.as_ref().map(warn));
        match why {
            Some(_) => {
                sleep(WRITE_INTERVAL).await;
                accounts.write_again().await;
            }
            // The accounts outlive this.
            None => drop(changes.changed().await),
        }
    }
}

/// Something that may be wrong for a while.
struct Trouble {
    who: &'static str,
    begins: (EventKind, &'static str),
    ends: (EventKind, &'static str),
    why: Option<String>,
    told: Option<String>,
}

impl Trouble {
    const fn new(
        who: &'static str,
        begins: (EventKind, &'static str),
        ends: (EventKind, &'static str),
    ) -> Self {
        Trouble { who, begins, ends, why: None, told: None }
    }

    /// Tells of it where that is new.
    fn tell(&mut self, watcher: &Watcher) {
        if self.why == self.told {
            return;
        }
        match &self.why {
            Some(why) => {
                let (kind, text) = self.begins;
                tracing::error!("{text}: {why}");
                watcher.warn(self.who, Some(format!("{text}: {why}")));
                watcher.tell(Happening::new(Severity::Error, kind, text).because(Some(why)));
            }
            None => {
                let (kind, text) = self.ends;
                watcher.warn(self.who, None);
                watcher.tell(Happening::new(Severity::Info, kind, text));
            }
        }
        self.told.clone_from(&self.why);
    }
}

impl Gate {
    /// As far as it can be opened now.
    pub async fn open(config: &NetworkConfig, state_dir: &Path) -> Self {
        let (accounts, unread_why) = accounts::open(state_dir);
        let mut closed = Trouble::new(
            "api_listen",
            (EventKind::ApiNotServed, "the API is not served to other machines"),
            (EventKind::ApiServed, "the API is served to other machines"),
        );
        let mut unread = Trouble::new(
            "accounts",
            (EventKind::AccountsUnreadable, "nobody is let in from other machines"),
            (EventKind::AccountsRead, "tokens and keys are known again"),
        );
        unread.why = unread_why;
        let (opened, identity) = match network::open(config, state_dir).await {
            Ok(opened) => opened.unzip(),
            Err(error) => {
                closed.why = Some(format!("{error:#}"));
                (None, None)
            }
        };
        let (config, state_dir) = (config.clone(), state_dir.to_owned());
        let reading = OneByOne::new();
        Gate { config, state_dir, reading, accounts, closed, unread, opened, identity }
    }

    /// Who is let in.
    pub fn accounts(&self) -> Arc<Accounts> {
        self.accounts.clone()
    }

    /// Where it listens by now.
    pub fn facts(&self) -> NetworkFacts {
        self.opened.as_ref().map(Network::facts).unwrap_or_default()
    }

    /// Opens what is closed still, reads the certificate again whenever `reload` says so, and
    /// writes down who was kept out, for as long as it is polled. `served` is given what listens,
    /// and `facts` where.
    pub async fn keep(
        self,
        served: mpsc::Sender<Network>,
        facts: SharedFacts,
        watcher: Arc<Watcher>,
        reload: Arc<Notify>,
    ) {
        let accounts = self.accounts.clone();
        let written = pin!(keep_written(&accounts, &watcher));
        let opened = pin!(self.keep_open(served, facts, watcher.clone(), reload));
        select(opened, written).await;
    }

    async fn keep_open(
        mut self,
        served: mpsc::Sender<Network>,
        facts: SharedFacts,
        watcher: Arc<Watcher>,
        reload: Arc<Notify>,
    ) {
        loop {
            if let Some(network) = self.opened.take() {
                facts.set(network.facts());
                if served.send(network).await.is_err() {
                    return;
                }
            }
            self.closed.tell(&watcher);
            self.unread.tell(&watcher);
            let is_whole = self.closed.why.is_none() && self.unread.why.is_none();
            let is_reload = match is_whole {
                true => {
                    reload.notified().await;
                    true
                }
                false => timeout(RETRY_INTERVAL, reload.notified()).await.is_ok(),
            };
            if is_reload {
                self.renew(&facts, &watcher).await;
            }
            self.try_again().await;
        }
    }

    async fn try_again(&mut self) {
        if self.unread.why.is_some() {
            let read = accounts::read_again(&self.accounts, &self.state_dir, &self.reading).await;
            self.unread.why = read.err().map(|error| format!("{error:#}"));
        }
        if self.closed.why.is_some() {
            match network::open(&self.config, &self.state_dir).await {
                Ok(opened) => {
                    (self.opened, self.identity) = opened.unzip();
                    self.closed.why = None;
                }
                Err(error) => self.closed.why = Some(format!("{error:#}")),
            }
        }
    }

    /// Takes the certificate that is there now.
    async fn renew(&mut self, facts: &SharedFacts, watcher: &Watcher) {
        let Some(shared) = &self.identity else { return };
        let taken = network::identity(&self.config, &self.state_dir).await;
        let why = taken.as_ref().err().map(|error| {
            format!("{NOT_TAKEN}: {error:#}; without it the next start serves no API")
        });
        watcher.warn(CERTIFICATE, why);
        match taken {
            Ok(identity) if identity.fingerprint() == shared.get().fingerprint() => {}
            Ok(identity) => {
                let fingerprint = identity.fingerprint().to_owned();
                shared.replace(identity);
                let addresses = facts.get().addresses;
                let known = Some(fingerprint.clone());
                facts.set(NetworkFacts { addresses, fingerprint: known });
                let message = format!("the API has another certificate, {fingerprint}");
                tracing::info!("{message}");
                let kind = EventKind::CertificateTaken;
                watcher.tell(Happening::new(Severity::Info, kind, message));
            }
            Err(error) => {
                tracing::error!("{NOT_TAKEN}: {error:#}");
                let refused =
                    Happening::new(Severity::Warning, EventKind::CertificateRefused, NOT_TAKEN);
                watcher.tell(refused.because(Some(&format!("{error:#}"))));
            }
        }
    }
}
