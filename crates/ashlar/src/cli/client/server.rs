//! A daemon on another machine: TLS to it, and the token that says who asks.
//!
//! A daemon has a certificate of its own, which no authority has signed. A client knows it by its
//! fingerprint, as SSH knows a host; or by the authority that has signed another one.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow, bail, ensure};
use ashlar_control::fingerprint_of;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{Refused, refused};

const SCHEME: &str = "https://";
/// The port where a URL names none.
const PORT_USUAL: u16 = 8443;

/// How a server is named, on the command line or in a profile.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerOptions {
    /// Its URL.
    pub server: Option<String>,
    /// The file with the token.
    pub token_file: Option<PathBuf>,
    /// The fingerprint of its certificate.
    pub fingerprint: Option<String>,
    /// The file with the certificate of the authority that has signed it.
    pub ca: Option<PathBuf>,
}

/// A daemon on another machine.
pub struct Server {
    host: String,
    port: u16,
    name: ServerName<'static>,
    tls: Arc<ClientConfig>,
    token: String,
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.authority())
    }
}

impl Server {
    /// The server that `options` name.
    ///
    /// # Errors
    /// What of them is wrong or missing.
    pub fn new(options: &ServerOptions) -> anyhow::Result<Self> {
        let url = options.server.as_deref().context("no --server is named")?;
        let (host, port) = place_of(url)?;
        let name = ServerName::try_from(host.clone())
            .with_context(|| format!("--server '{url}': '{host}' is no name of a machine"))?;
        let token_file = options.token_file.as_deref().context(
            "a server is asked with a token: name its file with --token-file, or in the profile \
             (`ashlar token create` on the appliance makes one)",
        )?;
        let tls = Arc::new(tls(options)?);
        Ok(Server { host, port, name, tls, token: read_token(token_file)? })
    }

    /// Its host and port, as a URL has them.
    pub(super) fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }

    pub(super) fn authorization(&self) -> String {
        format!("Bearer {}", self.token)
    }

    /// Reaches it.
    ///
    /// # Errors
    /// Why it cannot be reached, or is not the one that is meant.
    pub(super) async fn connect(&self) -> anyhow::Result<TlsStream<TcpStream>> {
        let unreachable = |error: std::io::Error| {
            let why = format!("cannot reach {self}: {error}");
            let hint = "see that the daemon serves there (api_listen), and what is in between";
            refused("unreachable", why, Some(hint))
        };
        let stream =
            TcpStream::connect((self.host.as_str(), self.port)).await.map_err(unreachable)?;
        let _ = stream.set_nodelay(true);
        let connector = TlsConnector::from(self.tls.clone());
        let connected = connector.connect(self.name.clone(), stream).await;
        connected.map_err(|error| self.not_believed(&reason(&error)).into())
    }

    fn not_believed(&self, error: &str) -> Refused {
        let why = format!("{self} is not believed: {error}");
        let hint = "`ashlar session` on the appliance shows the fingerprint of its certificate: \
                    another one is another daemon, or somebody in between";
        refused("server_not_believed", why, Some(hint))
    }
}

/// Why the two do not come together. What is ours stands in it without words of the library.
fn reason(error: &std::io::Error) -> String {
    match error.get_ref().and_then(|error| error.downcast_ref()) {
        Some(rustls::Error::General(said)) => said.clone(),
        _ => error.to_string(),
    }
}

/// The host and port of a URL.
fn place_of(url: &str) -> anyhow::Result<(String, u16)> {
    let wrong = || anyhow!("--server '{url}' is not understood: write {SCHEME}HOST:{PORT_USUAL}");
    let place = url.strip_prefix(SCHEME).ok_or_else(wrong)?.trim_end_matches('/');
    let (host, port) = match place.rsplit_once(':') {
        // A colon of an IPv6 address.
        Some((_, rest)) if rest.ends_with(']') => (place, None),
        Some((host, port)) => (host, Some(port.parse::<u16>().map_err(|_| wrong())?)),
        None => (place, None),
    };
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    ensure!(!bare.is_empty() && !bare.contains('/'), wrong());
    Ok((bare.to_owned(), port.unwrap_or(PORT_USUAL)))
}

/// The token in the file, which is its only line.
fn read_token(path: &Path) -> anyhow::Result<String> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read the token in {}", path.display()))?;
    let token = text.trim();
    let is_one = !token.is_empty() && token.chars().all(|c| c.is_ascii_graphic());
    ensure!(is_one, "{} has no token: it has to be its only line", path.display());
    Ok(token.to_owned())
}

fn tls(options: &ServerOptions) -> anyhow::Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?;
    match (&options.fingerprint, &options.ca) {
        (Some(fingerprint), None) => {
            let known = Known { fingerprint: plain(fingerprint)?, provider };
            let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(known));
            Ok(builder.with_no_client_auth())
        }
        (None, Some(path)) => {
            Ok(builder.with_root_certificates(authorities(path)?).with_no_client_auth())
        }
        (Some(_), Some(_)) => bail!("give either a fingerprint or an authority (ca), not both"),
        (None, None) => bail!(
            "how is the server to be known? Name its certificate's --fingerprint (`ashlar \
             session` on the appliance shows it), or the --ca that has signed it"
        ),
    }
}

fn authorities(path: &Path) -> anyhow::Result<RootCertStore> {
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        roots.add(certificate?).with_context(|| format!("in {}", path.display()))?;
    }
    ensure!(!roots.is_empty(), "{} has no certificate", path.display());
    Ok(roots)
}

/// A fingerprint in the form in which it is compared.
fn plain(fingerprint: &str) -> anyhow::Result<String> {
    let bare = fingerprint.trim_start_matches("sha256:").replace(':', "").to_uppercase();
    let is_one = bare.len() == 64 && bare.chars().all(|c| c.is_ascii_hexdigit());
    ensure!(is_one, "--fingerprint '{fingerprint}' is not the SHA-256 of a certificate");
    Ok(bare)
}

/// Believes the one certificate that has that fingerprint.
#[derive(Debug)]
struct Known {
    fingerprint: String,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Known {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let found = fingerprint_of(certificate);
        if found.replace(':', "") == self.fingerprint {
            return Ok(ServerCertVerified::assertion());
        }
        Err(rustls::Error::General(format!("its certificate has the fingerprint {found}")))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests;
