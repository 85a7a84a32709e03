//! Who a server of the tests is to those who come with TLS.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The one with that certificate and key, in PEM.
pub fn server(certificate: &[u8], key: &[u8]) -> Arc<ServerConfig> {
    let chain = CertificateDer::pem_slice_iter(certificate).flatten().collect();
    let key = PrivateKeyDer::from_pem_slice(key).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("a pair");
    Arc::new(config)
}
