//! A compressed archive of parts, with a list of them.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use flate2::Compression;
use flate2::write::GzEncoder;
use humantime::format_rfc3339_seconds;
use serde::Serialize;

/// A part that could not be had.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Missing {
    /// What it would be called.
    pub part: String,
    /// Where it would have come from.
    pub from: String,
    /// Why it is not there.
    pub why: String,
}

#[derive(Serialize)]
struct Part {
    part: String,
    from: String,
    bytes: usize,
}

/// An archive that is being made. All that is in it lies in a directory of its name.
pub struct Bundle {
    archive: tar::Builder<GzEncoder<Vec<u8>>>,
    directory: String,
    made_at: SystemTime,
    parts: Vec<Part>,
    missing: Vec<Missing>,
}

impl Bundle {
    /// An empty one.
    pub fn new(directory: &str, made_at: SystemTime) -> Self {
        Bundle {
            archive: tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default())),
            directory: directory.to_owned(),
            made_at,
            parts: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// Adds a part, or why there is none.
    ///
    /// # Errors
    /// When its name is too long for an archive.
    pub fn add(
        &mut self,
        part: &str,
        from: &str,
        content: Result<&[u8], &str>,
    ) -> anyhow::Result<()> {
        match content {
            Ok(content) => {
                self.append(part, content)?;
                let (part, from, bytes) = (part.to_owned(), from.to_owned(), content.len());
                self.parts.push(Part { part, from, bytes });
            }
            Err(why) => {
                let (part, from, why) = (part.to_owned(), from.to_owned(), why.to_owned());
                self.missing.push(Missing { part, from, why });
            }
        }
        Ok(())
    }

    /// The archive, how many parts it has, and those that it lacks.
    ///
    /// # Errors
    /// As of [`Self::add`].
    pub fn finish(mut self) -> anyhow::Result<(Vec<u8>, usize, Vec<Missing>)> {
        let list = serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"),
            "made_at": format_rfc3339_seconds(self.made_at).to_string(),
            "parts": self.parts,
            "missing": self.missing,
        });
        self.append("contents.json", &serde_json::to_vec_pretty(&list)?)?;
        let bytes = self.archive.into_inner()?.finish()?;
        Ok((bytes, self.parts.len(), self.missing))
    }

    fn append(&mut self, part: &str, content: &[u8]) -> io::Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o600);
        let since = self.made_at.duration_since(UNIX_EPOCH).unwrap_or_default();
        header.set_mtime(since.as_secs());
        let path = format!("{}/{part}", self.directory);
        self.archive.append_data(&mut header, path, content)
    }
}

#[cfg(test)]
mod tests;
