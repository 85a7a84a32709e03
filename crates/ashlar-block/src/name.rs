//! What pools and volumes may be called: one rule, for whoever makes a name and whoever reads one.
//!
//! A name is written on command lines, as part of `POOL/VOLUME` and of the paths of the API, and
//! beside UUIDs. So it is nothing that a shell, a path or a reader takes for something else.

/// Longest name, in bytes.
pub const NAME_BYTES_MAX: usize = 64;

/// Why a text is not a name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "'{0}' cannot be a name: use 1 to {NAME_BYTES_MAX} letters, digits, '.', '_' and '-', beginning with a \
     letter or digit; and no UUID"
)]
pub struct InvalidName(String);

/// That `text` is a name: 1 to 64 letters, digits, `.`, `_` and `-`, the first one a letter or
/// digit, and not a UUID.
///
/// # Errors
/// What a name is.
pub fn check_name(text: &str) -> Result<(), InvalidName> {
    let letters = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    let is_name = letters && begins && text.len() <= NAME_BYTES_MAX && !is_uuid(text);
    if is_name { Ok(()) } else { Err(InvalidName(text.escape_default().to_string())) }
}

/// Whether `text` is written as a UUID is: 8-4-4-4-12 hexadecimal digits.
pub fn is_uuid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_hex = |part: &&str| part.chars().all(|c| c.is_ascii_hexdigit());
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12]) && parts.iter().all(is_hex)
}

#[cfg(test)]
mod tests;
