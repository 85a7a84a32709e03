//! What the command line prints.
//!
//! A reader that has gone (`ashlar status | head -1`) is no failure: it has seen enough, and the
//! process ends with success and without a word. Anything else that keeps standard output from
//! taking what it is to print is an error. `print!` and its kin panic in both cases; that is why
//! nothing here uses them.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

/// Standard output does not take what is printed.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output: {0}")]
pub struct StdoutError(#[from] io::Error);

impl StdoutError {
    /// Whether that is because its reader has gone.
    pub fn is_closed_pipe(&self) -> bool {
        self.0.kind() == ErrorKind::BrokenPipe
    }
}

/// Prints `text`, and the end of the line.
///
/// # Errors
/// When standard output does not take it.
pub fn print_line(text: impl Display) -> Result<(), StdoutError> {
    write_to(&mut io::stdout().lock(), format_args!("{text}\n"))
}

/// Prints `text` as it is.
///
/// # Errors
/// As of [`print_line`].
pub fn print(text: impl Display) -> Result<(), StdoutError> {
    write_to(&mut io::stdout().lock(), format_args!("{text}"))
}

/// Prints a line to standard error, where that takes it: behind the log, in a process that has one.
pub fn note(text: impl Display) {
    crate::logging::print(&text.to_string());
}

/// Until what is written is where it goes: what stays in a buffer fails when nobody is told any
/// more.
fn write_to(out: &mut impl Write, text: std::fmt::Arguments<'_>) -> Result<(), StdoutError> {
    out.write_fmt(text).and_then(|()| out.flush()).map_err(StdoutError)
}

#[cfg(test)]
mod tests;
