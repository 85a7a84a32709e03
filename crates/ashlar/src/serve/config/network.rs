//! The API for other machines, as the configuration has it.

use anyhow::{bail, ensure};

use super::super::network::NetworkConfig;
use super::{File, OneOrMore, portals};

/// What the command line says, or else the file.
///
/// # Errors
/// What is no address, or lacks what belongs to it.
pub(super) fn resolve(arguments: &[String], file: &File) -> anyhow::Result<NetworkConfig> {
    let of_file = || file.api_listen.clone().map(OneOrMore::into_vec).unwrap_or_default();
    let texts = if arguments.is_empty() { of_file() } else { arguments.to_vec() };
    let addresses = texts.iter().map(|text| portals::address("api_listen", text));
    let addresses = addresses.collect::<anyhow::Result<Vec<_>>>()?;
    let certificate = match (&file.api_certificate, &file.api_key) {
        (Some(certificate), Some(key)) => Some((certificate.clone(), key.clone())),
        (None, None) => None,
        (Some(_), None) => bail!("api_certificate needs api_key, the file with its private key"),
        (None, Some(_)) => bail!("api_key needs api_certificate, the file with its certificate"),
    };
    ensure!(
        certificate.is_none() || !addresses.is_empty(),
        "api_certificate is for api_listen: name an address there, as in 0.0.0.0:8443"
    );
    Ok(NetworkConfig { addresses, certificate })
}

#[cfg(test)]
mod tests;
