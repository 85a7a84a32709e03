//! The API for other machines, as the configuration has it.

use super::super::network::NetworkConfig;
use super::{File, OneOrMore, portals};

/// What the command line says, or else the file.
///
/// # Errors
/// What is no address.
pub(super) fn resolve(arguments: &[String], file: &File) -> anyhow::Result<NetworkConfig> {
    let of_file = || file.api_listen.clone().map(OneOrMore::into_vec).unwrap_or_default();
    let texts = if arguments.is_empty() { of_file() } else { arguments.to_vec() };
    let addresses = texts.iter().map(|text| portals::address("api_listen", text));
    let addresses = addresses.collect::<anyhow::Result<Vec<_>>>()?;
    Ok(NetworkConfig { addresses, certificate: file.api_certificate.clone() })
}

#[cfg(test)]
mod tests;
