//! What is on the drives when nobody has the pool open, by the judgement of the offline checker:
//! it knows the format alone, and nothing of the store.
//!
//! It gets the drives as they are, and cannot change them. Whatever it finds has to be on a drive
//! that may have done wrong, and nothing may be lost.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use ashlar_block::{AlignedBuf, Device, DeviceError, DeviceOp, Durability};
use ashlar_check::{Finding, Given, Kind, Options, Refused, Report, Unwatched, check};
use bytes::Bytes;

use crate::drives::Drives;
use crate::platter::SharedPlatter;

/// Input/output error.
const EIO: i32 = 5;
/// Read-only file system.
const EROFS: i32 = 30;

/// Room for places that the maps name: little, so that larger pools are walked more than once.
const PLACES_BYTES_MAX: usize = 256 << 10;

/// A drive that no time passes for, and that takes no writes.
struct StillDrive(SharedPlatter);

impl Device for StillDrive {
    fn size_bytes(&self) -> u64 {
        self.0.0.borrow().size_bytes
    }

    async fn read(
        &self,
        offset: u64,
        mut buf: AlignedBuf,
    ) -> (Result<(), DeviceError>, AlignedBuf) {
        let platter = self.0.0.borrow();
        if platter.is_bad(offset, buf.len()) {
            return (Err(DeviceError::Os { op: DeviceOp::Read, offset, errno: EIO }), buf);
        }
        platter.show(offset, &mut buf);
        (Ok(()), buf)
    }

    async fn write(&self, offset: u64, _: Bytes, _: Durability) -> Result<(), DeviceError> {
        Err(DeviceError::Os { op: DeviceOp::Write, offset, errno: EROFS })
    }

    async fn flush(&self) -> Result<(), DeviceError> {
        Err(DeviceError::Os { op: DeviceOp::Flush, offset: 0, errno: EROFS })
    }

    async fn discard(&self, offset: u64, _: u64) -> Result<(), DeviceError> {
        Err(DeviceError::Os { op: DeviceOp::Discard, offset, errno: EROFS })
    }
}

/// Looks at all that is on the drives, of a pool that was closed in order or not. An error:
/// something is wrong that no drive can be blamed for, or that cannot be had any more.
pub fn prove(drives: &Drives, is_closed: bool) -> Result<Report, String> {
    let given = drives.labelled().into_iter().map(|(drive, platter)| Given {
        name: format!("platter {drive}"),
        device: StillDrive(platter),
    });
    let options = Options { places_bytes_max: PLACES_BYTES_MAX, segments_at_a_time: 2 };
    let report = to_the_end(check(given.collect(), &options, &Unwatched));
    let report =
        report.map_err(|refused: Refused| format!("the checker refuses the drives: {refused}"))?;
    let doubted = drives.doubted();
    let wrong: Vec<String> = report
        .findings
        .iter()
        .filter(|finding| finding.is_lost || !is_excused(finding, drives, &doubted, is_closed))
        .map(|finding| format!("{:?}: {finding}", finding.kind))
        .collect();
    if wrong.is_empty() {
        Ok(report)
    } else {
        Err(format!("the checker finds: {}", wrong.join("; ")))
    }
}

/// Whether a drive may have done that, or the pool ended while it was written: the power failed, or
/// a file system under its drives was full.
fn is_excused(
    finding: &Finding,
    drives: &Drives,
    doubted: &BTreeSet<usize>,
    is_closed: bool,
) -> bool {
    let Some(drive) = finding.drive else { return false };
    let is_doubted = drives.platter_of(drive).is_none_or(|platter| doubted.contains(&platter));
    // Since a power cut while the pool was made, or the drive was added or came back, a copy may be
    // missing, or its label be one that no root names: whoever has it adds it again. And a drive
    // that has just been added has its first table with the next checkpoint.
    let may_be_left_so =
        matches!(finding.kind, Kind::Superblock | Kind::DriveForeign | Kind::FirstTable);
    is_doubted || may_be_left_so || (!is_closed && finding.kind == Kind::Root)
}

/// Nothing is waited for.
fn to_the_end<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    loop {
        if let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return done;
        }
    }
}
