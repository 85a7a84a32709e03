//! What is on a drive that is about to be taken: nobody's data is overwritten for want of a look.

use std::fmt;

use ashlar_block::{AlignedBuf, Device, DeviceError, SECTOR_BYTES};

use signatures::{Place, SIGNATURES, Signature};

mod partitions;
mod signatures;

/// Bytes looked at, at each end of the drive.
pub const PROBED_BYTES: usize = 1 << 20;

/// What was found on a drive that is not blank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ForeignContent {
    /// One or more things known by name, each with its label if it has one.
    Known(Vec<Found>),
    /// Something that is not zeros.
    Unknown,
}

/// One thing found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// What it is: "an ext4 file system".
    pub what: &'static str,
    /// The name that its owner gave it.
    pub label: Option<String>,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.label {
            None => f.write_str(self.what),
            Some(label) => write!(f, "{} named '{label}'", self.what),
        }
    }
}

impl fmt::Display for ForeignContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ForeignContent::Known(found) = self else {
            return f.write_str("data of an unknown kind");
        };
        for (index, found) in found.iter().enumerate() {
            write!(f, "{}{found}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// The two ends of a drive. On a small drive they overlap.
pub(crate) struct Ends<'a> {
    first: &'a [u8],
    last: &'a [u8],
    size_bytes: u64,
}

impl Ends<'_> {
    /// The `len` bytes at `offset`, if they were read.
    fn at(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let within = |start: u64, bytes: &'_ [u8]| {
            let from = usize::try_from(offset.checked_sub(start)?).ok()?;
            (from.checked_add(len)? <= bytes.len()).then_some(from)
        };
        let last_start = self.size_bytes - self.last.len() as u64;
        match within(0, self.first) {
            Some(from) => Some(&self.first[from..from + len]),
            None => within(last_start, self.last).map(|from| &self.last[from..from + len]),
        }
    }

    fn has(&self, offset: u64, bytes: &[u8]) -> bool {
        self.at(offset, bytes.len()) == Some(bytes)
    }

    fn is_blank(&self) -> bool {
        [self.first, self.last].iter().all(|bytes| bytes.iter().all(|byte| *byte == 0))
    }

    fn offset_of(&self, place: Place) -> Option<u64> {
        match place {
            Place::FromStart(offset) => Some(offset),
            Place::FromEnd(distance) => self.size_bytes.checked_sub(distance),
            // mdraid 1.0 lies at least 8 KiB before the end, on a boundary of 4 KiB.
            Place::MdAtEnd => Some((self.size_bytes / 512).checked_sub(16)? / 8 * 8 * 512),
            // mdraid 0.90: the last boundary of 64 KiB that leaves 64 KiB.
            Place::OldMdAtEnd => (self.size_bytes / 65_536 * 65_536).checked_sub(65_536),
        }
    }

    fn matches(&self, signature: &Signature) -> bool {
        let all = |(place, bytes): &(Place, &[u8])| {
            self.offset_of(*place).is_some_and(|offset| self.has(offset, bytes))
        };
        signature.all_of.iter().all(all)
    }

    fn label(&self, signature: &Signature) -> Option<String> {
        let (offset, len) = signature.label?;
        let bytes = self.at(offset, len)?;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(len);
        let text = String::from_utf8_lossy(&bytes[..end]).trim().to_owned();
        (!text.is_empty() && !text.chars().any(char::is_control)).then_some(text)
    }
}

/// What the first and the last bytes of a drive of `size_bytes` say; `None` if they are all zeros.
/// Each slice holds [`PROBED_BYTES`], or the whole of a smaller drive.
pub fn identify(first: &[u8], last: &[u8], size_bytes: u64) -> Option<ForeignContent> {
    let ends = Ends { first, last, size_bytes };
    if ends.is_blank() {
        return None;
    }
    let mut found: Vec<Found> = Vec::new();
    let mut add = |what: &'static str, label: Option<String>| {
        if found.iter().all(|known| known.what != what) {
            found.push(Found { what, label });
        }
    };
    partitions::find(&ends).into_iter().for_each(|what| add(what, None));
    for signature in SIGNATURES.iter().filter(|signature| ends.matches(signature)) {
        add(signature.what, ends.label(signature));
    }
    if let Some(what) = signatures::ext_kind(&ends) {
        add(what, ends.label(&signatures::EXT));
    }
    if signatures::is_zfs(&ends) {
        add("a ZFS pool member", None);
    }
    Some(if found.is_empty() { ForeignContent::Unknown } else { ForeignContent::Known(found) })
}

/// Looks at both ends of `drive`; `None` if they are blank. A pool's own labels are for the store
/// to recognise, which asks before this.
///
/// # Errors
/// When an end cannot be read.
pub async fn probe_foreign(drive: &impl Device) -> Result<Option<ForeignContent>, DeviceError> {
    let size_bytes = drive.size_bytes() / SECTOR_BYTES as u64 * SECTOR_BYTES as u64;
    let probed = size_bytes.min(PROBED_BYTES as u64);
    let (first, last) =
        (read(drive, 0, probed).await?, read(drive, size_bytes - probed, probed).await?);
    Ok(identify(&first, &last, size_bytes))
}

async fn read(drive: &impl Device, offset: u64, bytes: u64) -> Result<AlignedBuf, DeviceError> {
    let (result, buf) = drive.read(offset, AlignedBuf::stale(bytes as usize)).await;
    result.map(|()| buf)
}

#[cfg(test)]
mod tests;
