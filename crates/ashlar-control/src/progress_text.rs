//! What is left of work on a pool, in words.

use std::fmt::{self, Display, Formatter};

use ashlar_block::ByteSize;

use crate::types::{Job, Obstacle, Progress, Scrub, Trim, Verify};

/// What is left of a rebuild, an evacuation, a rebalance, a scrub, a trim or a proof of the ledger,
/// and for how long or what it waits for: `1.5GiB left, 2m 10s to go`. Empty while nothing of that
/// is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProgressText {
    /// Bytes that are left.
    pub left_bytes: Option<u64>,
    /// Seconds until it is done.
    pub eta_seconds: Option<u64>,
    /// What keeps it from going on: then it is not known when it is done.
    pub obstacle: Option<Obstacle>,
}

impl ProgressText {
    /// The same behind what is to be said before it, with a comma between the two.
    pub fn behind(self, said: impl Display) -> String {
        let progress_text = self.to_string();
        if progress_text.is_empty() { said.to_string() } else { format!("{said}, {progress_text}") }
    }
}

impl Display for ProgressText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let left = self.left_bytes.map(|bytes| format!("{} left", ByteSize(bytes)));
        let end = match self.obstacle {
            Some(Obstacle::NoRoom) => Some("waits for room".to_owned()),
            Some(Obstacle::Unreadable) => Some("what is left cannot be read".to_owned()),
            None => self.eta_seconds.map(|seconds| format!("{} to go", Span(seconds))),
        };
        f.write_str(&left.into_iter().chain(end).collect::<Vec<_>>().join(", "))
    }
}

impl From<&Progress> for ProgressText {
    fn from(progress: &Progress) -> Self {
        let Progress { left_bytes, eta_seconds, obstacle, .. } = *progress;
        ProgressText { left_bytes: Some(left_bytes), eta_seconds, obstacle }
    }
}

impl From<&Scrub> for ProgressText {
    fn from(scrub: &Scrub) -> Self {
        ProgressText {
            left_bytes: scrub.left_bytes,
            eta_seconds: scrub.eta_seconds,
            obstacle: None,
        }
    }
}

impl From<&Trim> for ProgressText {
    fn from(trim: &Trim) -> Self {
        let Trim { left_bytes, eta_seconds, .. } = *trim;
        ProgressText { left_bytes: Some(left_bytes), eta_seconds, obstacle: None }
    }
}

impl From<&Verify> for ProgressText {
    fn from(verify: &Verify) -> Self {
        ProgressText { left_bytes: None, eta_seconds: verify.eta_seconds, obstacle: None }
    }
}

impl From<&Job> for ProgressText {
    fn from(job: &Job) -> Self {
        ProgressText { left_bytes: job.left_bytes, eta_seconds: job.eta_seconds, obstacle: None }
    }
}

/// Seconds, in the two largest units that there are any of: `2h 5m`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span(pub u64);

impl Display for Span {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Span(seconds) = *self;
        match seconds {
            0..60 => write!(f, "{seconds}s"),
            60..3600 => write!(f, "{}m {}s", seconds / 60, seconds % 60),
            3600..86_400 => write!(f, "{}h {}m", seconds / 3600, seconds % 3600 / 60),
            _ => write!(f, "{}d {}h", seconds / 86_400, seconds % 86_400 / 3600),
        }
    }
}

#[cfg(test)]
mod tests;
