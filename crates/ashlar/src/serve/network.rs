//! The API for other machines: where it listens, and who the daemon is to those who come.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use ashlar_control::{Identity, Network, OwnCertificate, SharedIdentity};
use tokio::time::timeout;

use super::apart::apart;
use super::state::replace;

/// How long the file system may take.
const READ_WAIT: Duration = Duration::from_secs(10);

/// Where the API is served beside the socket.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NetworkConfig {
    /// The addresses; none: it is not served by the network.
    pub addresses: Vec<SocketAddr>,
    /// The file with a certificate and its key; without it the daemon makes its own.
    pub certificate: Option<PathBuf>,
}

/// Listens, where that is wanted. Who the daemon is there can be replaced.
///
/// # Errors
/// What cannot be read, used or listened at.
pub async fn open(
    config: &NetworkConfig,
    state_dir: &Path,
) -> anyhow::Result<Option<(Network, SharedIdentity)>> {
    if config.addresses.is_empty() {
        return Ok(None);
    }
    let identity = SharedIdentity::new(identity(config, state_dir).await?);
    let network = Network::bind(&config.addresses, identity.clone()).await;
    let network = network.map_err(|(address, error)| {
        anyhow::anyhow!("cannot listen on {address} (api_listen): {error}")
    })?;
    let facts = network.facts();
    let fingerprint = facts.fingerprint.unwrap_or_default();
    for address in facts.addresses {
        tracing::info!(
            "commands are answered at https://{address}; the certificate's fingerprint is \
             {fingerprint}"
        );
    }
    Ok(Some((network, identity)))
}

/// Who the daemon is to those who come by the network, as files say it now.
///
/// # Errors
/// What cannot be read, or used; or that the file system hangs.
pub async fn identity(config: &NetworkConfig, state_dir: &Path) -> anyhow::Result<Identity> {
    let (config, state_dir) = (config.clone(), state_dir.to_owned());
    let read = move || match &config.certificate {
        Some(path) => read(path, path),
        None => own(&state_dir, &config.addresses),
    };
    let reading = apart("certificate", read).context("no thread for the certificate")?;
    match timeout(READ_WAIT, reading).await {
        Ok(Ok(identity)) => identity,
        _ => bail!("the file system with the certificate hangs"),
    }
}

fn read(certificate: &Path, key: &Path) -> anyhow::Result<Identity> {
    let read =
        |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    Identity::new(&read(certificate)?, &read(key)?)
        .with_context(|| format!("{} and {}", certificate.display(), key.display()))
}

/// The daemon's own certificate, which is made once.
fn own(state_dir: &Path, addresses: &[SocketAddr]) -> anyhow::Result<Identity> {
    let directory = state_dir.join("tls");
    let (certificate, key) = (directory.join("certificate.pem"), directory.join("key.pem"));
    match (certificate.exists(), key.exists()) {
        (true, true) => return read(&certificate, &key),
        (true, false) => bail!(
            "{} is there without its key {}: put that back, or remove the certificate",
            certificate.display(),
            key.display()
        ),
        // No client has seen the certificate of a key that was written last.
        (false, _) => {}
    }
    let made = OwnCertificate::make(names(addresses))?;
    let keep = || {
        fs::create_dir_all(&directory)?;
        replace(&directory, &key, made.key_pem.as_bytes())?;
        replace(&directory, &certificate, made.certificate_pem.as_bytes())
    };
    // A daemon that cannot write serves all the same; its next start makes another one.
    if let Err(error) = keep() {
        tracing::warn!(%error, "cannot keep the certificate in {}", directory.display());
    }
    Ok(Identity::new(made.certificate_pem.as_bytes(), made.key_pem.as_bytes())?)
}

/// What clients may call this machine.
fn names(addresses: &[SocketAddr]) -> Vec<String> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let listened = addresses.iter().map(SocketAddr::ip).filter(|ip| !ip.is_unspecified());
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    names.extend(listened.map(|ip| ip.to_string()));
    // One that no certificate can have is left out.
    names.extend(host.is_ascii().then_some(host).filter(|host| !host.is_empty()));
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests;
