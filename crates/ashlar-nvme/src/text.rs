//! Text in fixed fields: space-padded ASCII, and NVMe Qualified Names ended by a zero byte.

/// The NQN of the discovery service that every discovery controller answers to (Base 2.1, section
/// 3.1.3.3).
pub const DISCOVERY_NQN: &str = "nqn.2014-08.org.nvmexpress.discovery";

/// Longest NQN in bytes, its final zero not counted (Base 2.1, section 4.7).
pub const NQN_BYTES_MAX: usize = 223;

/// `text` in a field of `N` bytes, padded with spaces. Longer text is cut; what is not printable
/// ASCII becomes a `?` (Base 2.1, section 1.4.2: ASCII strings).
pub fn ascii_padded<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [b' '; N];
    for (slot, byte) in field.iter_mut().zip(text.bytes()) {
        *slot = if (0x20..=0x7e).contains(&byte) { byte } else { b'?' };
    }
    field
}

/// The text of a space-padded ASCII field.
pub fn ascii_trimmed(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).trim_end().to_owned()
}

/// `name` in a zero-filled field. A name that leaves no room for the final zero is cut.
pub fn nqn_field<const N: usize>(name: &str) -> [u8; N] {
    let mut field = [0; N];
    let bytes = name.len().min(N - 1);
    field[..bytes].copy_from_slice(&name.as_bytes()[..bytes]);
    field
}

/// The NQN in a fixed field: none unless it ends with a zero byte, is UTF-8, not empty and not too
/// long.
pub fn nqn_of_field(field: &[u8]) -> Option<&str> {
    let end = field.iter().position(|byte| *byte == 0)?;
    let name = std::str::from_utf8(&field[..end]).ok()?;
    (1..=NQN_BYTES_MAX).contains(&name.len()).then_some(name)
}

#[cfg(test)]
mod tests;
