//! Who the daemon is to clients that come by the network: a certificate and its key, and TLS
//! (RFC 8446) by them.

use std::io;
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Who the daemon is.
#[derive(Clone)]
pub struct Identity {
    acceptor: TlsAcceptor,
    fingerprint: String,
}

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// It is no certificate.
    #[error("there is no certificate in it (-----BEGIN CERTIFICATE-----)")]
    NoCertificate,
    /// It is no key.
    #[error("there is no private key in it (-----BEGIN PRIVATE KEY-----)")]
    NoKey,
    /// They do not belong together, or are of a kind that TLS does not have.
    #[error("the certificate cannot be used with the key: {0}")]
    Unusable(#[from] rustls::Error),
    /// None can be made.
    #[error("no certificate can be made: {0}")]
    NotMade(#[from] rcgen::Error),
}

/// A certificate and its key, in PEM.
pub struct OwnCertificate {
    /// The certificate.
    pub certificate_pem: String,
    /// Its private key.
    pub key_pem: String,
}

impl OwnCertificate {
    /// A new one, which the daemon has signed itself, for these names and addresses.
    ///
    /// # Errors
    /// When none can be made.
    pub fn make(names: Vec<String>) -> Result<Self, IdentityError> {
        let mut parameters = rcgen::CertificateParams::new(names)?;
        parameters.distinguished_name.push(rcgen::DnType::CommonName, "Ashlar");
        // Clients know it by its fingerprint: it does not end before the drives do.
        parameters.not_before = rcgen::date_time_ymd(2026, 1, 1);
        parameters.not_after = rcgen::date_time_ymd(2056, 1, 1);
        let key = rcgen::KeyPair::generate()?;
        let certificate = parameters.self_signed(&key)?;
        Ok(OwnCertificate { certificate_pem: certificate.pem(), key_pem: key.serialize_pem() })
    }
}

impl Identity {
    /// The identity of that certificate, with those that lead from it to a root, and its key.
    ///
    /// # Errors
    /// Why they cannot be used.
    pub fn new(certificate_pem: &[u8], key_pem: &[u8]) -> Result<Self, IdentityError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate_pem).collect();
        let chain = chain.map_err(|_| IdentityError::NoCertificate)?;
        let first = chain.first().ok_or(IdentityError::NoCertificate)?;
        let fingerprint = fingerprint_of(first);
        let key = PrivateKeyDer::from_pem_slice(key_pem).map_err(|_| IdentityError::NoKey)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Identity { acceptor: TlsAcceptor::from(Arc::new(config)), fingerprint })
    }

    /// The fingerprint of the certificate, by which a client knows it.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.acceptor.accept(stream).await
    }
}

/// The SHA-256 of a certificate, as `openssl x509 -fingerprint` prints it.
pub fn fingerprint_of(certificate: &CertificateDer<'_>) -> String {
    let digest = digest(&SHA256, certificate);
    let bytes: Vec<String> = digest.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
    bytes.join(":")
}

#[cfg(test)]
mod tests;
