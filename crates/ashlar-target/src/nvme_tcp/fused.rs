//! Compare and Write, fused (NVM Command Set 1.1, section 2.1.5: Fused Operation).

use std::rc::Rc;

use ashlar_block::Cause;
use ashlar_nvme::io::{BlockRange, IoCommand};
use ashlar_nvme::sqe::Sqe;
use ashlar_nvme::status::{ErrorLocation, Rejection, Status};
use ashlar_volume::{Door, VolumeIo};

use super::io::IoQueue;
use super::ticket::{Stop, Ticket};
use super::transfer::fetch_into_held;

/// How the pair ends.
enum Outcome {
    /// Both did what they say.
    Done,
    /// The first failed, and the second was not begun.
    FirstFailed(Stop),
    /// The second failed.
    SecondFailed(Stop),
}

/// Runs the pair, and answers the first before the second.
pub(super) async fn compare_and_write<D: Door>(
    queue: Rc<IoQueue<D>>,
    mut compare: Ticket,
    mut write: Ticket,
) {
    match run(&queue, &mut compare, &mut write).await {
        Outcome::Done => {
            compare.succeed();
            write.succeed();
        }
        Outcome::FirstFailed(Stop::Abandon) | Outcome::SecondFailed(Stop::Abandon) => {
            compare.abandon();
            write.abandon();
        }
        Outcome::FirstFailed(stop) => {
            compare.stop(stop);
            write.complete(Status::ABORTED_FAILED_FUSED, 0);
        }
        Outcome::SecondFailed(stop) => {
            compare.complete(Status::ABORTED_FAILED_FUSED, 0);
            write.stop(stop);
        }
    }
}

async fn run<D: Door>(queue: &Rc<IoQueue<D>>, compare: &mut Ticket, write: &mut Ticket) -> Outcome {
    let nsid = compare.nsid();
    let range = match check_pair(compare.sqe(), write.sqe()) {
        Ok(range) => range,
        Err(rejection) => return Outcome::FirstFailed(rejection.into()),
    };
    let bytes = match check_range(queue, nsid, range) {
        Ok(bytes) => bytes,
        Err(rejection) => return Outcome::FirstFailed(rejection.into()),
    };
    // For both at once: pairs that each held one half and waited for the other would wait for ever.
    let _held = queue.wire.memory.take(2 * u64::from(bytes)).await;
    let expected = match fetch_into_held(compare, bytes).await {
        Ok(expected) => expected,
        Err(stop) => return Outcome::FirstFailed(stop),
    };
    let data = match fetch_into_held(write, bytes).await {
        Ok(data) => data,
        Err(stop) => return Outcome::SecondFailed(stop),
    };
    if queue.wire.is_ending() {
        return Outcome::FirstFailed(Stop::Abandon);
    }
    let (geometry, volume) = match queue.open(nsid) {
        Ok(opened) => opened,
        Err(rejection) => return Outcome::FirstFailed(rejection.into()),
    };
    let offset = range.start * u64::from(geometry.lba_bytes);
    match volume.compare_and_write(offset, expected, data).await {
        Ok(()) => {
            queue.wire.traffic.count_read(0);
            queue.wire.traffic.count_write(bytes.into());
            Outcome::Done
        }
        Err(error) if error.cause == Cause::Miscompare => Outcome::FirstFailed(queue.failure(&error)),
        Err(error) => Outcome::SecondFailed(queue.failure(&error)),
    }
}

/// The blocks of both: a Compare and a Write of the same range of one namespace.
fn check_pair(compare: &Sqe, write: &Sqe) -> Result<BlockRange, Rejection> {
    let commands = (IoCommand::parse(compare)?, IoCommand::parse(write)?);
    let (IoCommand::Compare(compared), IoCommand::Write { range: written, .. }) = commands else {
        return Err(Rejection::field(0));
    };
    if compare.nsid != write.nsid {
        return Err(Rejection::field(4));
    }
    if compared != written {
        return Err(Rejection::field(40));
    }
    Ok(compared)
}

/// The bytes of the range, if it can be written, at once.
fn check_range<D: Door>(queue: &IoQueue<D>, nsid: u32, range: BlockRange) -> Result<u32, Rejection> {
    let (geometry, _) = queue.open(nsid)?;
    geometry.check_writable()?;
    let bytes = queue.transfer_range(&geometry, range)?;
    let length = bytes.end - bytes.start;
    if length > geometry.atomic_write_bytes_max.into() {
        let location = ErrorLocation::byte(48);
        return Err(Rejection { status: Status::ATOMIC_WRITE_UNIT_EXCEEDED.dnr(), location });
    }
    Ok(length as u32)
}
