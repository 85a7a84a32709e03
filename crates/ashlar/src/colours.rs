//! Whether output is coloured.

use std::ffi::OsStr;
use std::io::IsTerminal;

/// The variable by which a user asks for no colours, whatever its value (<https://no-color.org>).
const VARIABLE: &str = "NO_COLOR";

/// Whether what goes to `stream` is coloured: somebody looks at it, and has not asked for plain
/// text.
pub fn wanted(stream: &impl IsTerminal) -> bool {
    are_wanted(stream.is_terminal(), std::env::var_os(VARIABLE).as_deref())
}

fn are_wanted(is_terminal: bool, no_color: Option<&OsStr>) -> bool {
    is_terminal && no_color.is_none_or(OsStr::is_empty)
}

#[cfg(test)]
mod tests;
