//! Why a volume's I/O failed: as much as any front end needs to answer its host exactly.

use std::fmt;
use std::sync::Arc;

/// The cause of a failed I/O, kept from the layer that found it to the host's answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cause {
    /// The range ends beyond the volume's size.
    OutOfRange,
    /// The pool has no room for new data; reads and trims go on.
    CapacityExceeded,
    /// Stored data cannot be had: too many drives are missing, or it fails its checksum everywhere.
    Unrecovered,
    /// A drive failed and the write could not be made safe without it.
    WriteFault,
    /// The volume or pool accepts no writes at present.
    WriteProtected,
    /// A compare found other data.
    Miscompare,
    /// The volume is gone, or was never the host's.
    NoSuchVolume,
    /// The pool is stopping or not open yet; the same command may succeed later.
    NotReady,
    /// The volume is being formatted or wiped; the same command may succeed once that is done.
    Formatting,
    /// A host has all that it sees erased; the same command may succeed once that is done.
    Sanitizing,
    /// That has failed, and what is left of the data is not to be read.
    SanitizeFailed,
    /// A fault in Ashlar itself; said instead of guessing.
    Internal,
}

/// A failed I/O: its [`Cause`] and, for logs, what exactly happened.
#[derive(Clone, Debug, thiserror::Error)]
pub struct IoError {
    /// What the host is told.
    pub cause: Cause,
    /// What an engineer wants to read.
    pub detail: Option<Arc<str>>,
}

impl IoError {
    /// A failure with a sentence for the log.
    pub fn new(cause: Cause, detail: impl fmt::Display) -> Self {
        IoError { cause, detail: Some(detail.to_string().into()) }
    }

    /// What happened, as exactly as it is known.
    pub fn reason(&self) -> &str {
        self.detail.as_deref().unwrap_or(self.cause.words())
    }
}

impl From<Cause> for IoError {
    fn from(cause: Cause) -> Self {
        IoError { cause, detail: None }
    }
}

impl Cause {
    fn words(self) -> &'static str {
        match self {
            Cause::OutOfRange => "beyond the end of the volume",
            Cause::CapacityExceeded => "the pool is out of space",
            Cause::Unrecovered => "stored data cannot be recovered",
            Cause::WriteFault => "the write could not be made durable",
            Cause::WriteProtected => "writes are not accepted",
            Cause::Miscompare => "the data differ",
            Cause::NoSuchVolume => "no such volume",
            Cause::NotReady => "not ready",
            Cause::Formatting => "the volume is being erased: try again once that is done",
            Cause::Sanitizing => "a host has the volume sanitized: try again once that is done",
            Cause::SanitizeFailed => "a sanitize of the volume has failed: wipe it",
            Cause::Internal => "internal fault",
        }
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cause = self.cause.words();
        match &self.detail {
            None => f.write_str(cause),
            Some(detail) => write!(f, "{cause}: {detail}"),
        }
    }
}

#[cfg(test)]
mod tests;
