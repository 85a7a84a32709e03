//! Compare and Write, fused (NVM Command Set 1.1, section 2.1.5: Fused Operation).

use std::rc::Rc;

use ashlar_block::Cause;
use ashlar_block::latency::OpKind;
use ashlar_nvme::io::{BlockRange, IoCommand};
use ashlar_nvme::sqe::Sqe;
use ashlar_nvme::status::{ErrorLocation, Rejection, Status};
use ashlar_volume::{Door, VolumeIo};

use super::footprint;
use super::io::{IoQueue, Opened};
use super::ticket::{Stop, Ticket};
use super::transfer::{bytes_to_come, fetch_into_held};

/// Which of the pair failed, and why. If it is the first, the second was not begun.
enum Failed {
    First(Stop),
    Second(Stop),
}

/// As an error of the first.
fn first(stop: impl Into<Stop>) -> Failed {
    Failed::First(stop.into())
}

/// Runs the pair, and answers the first before the second.
pub(super) async fn compare_and_write<D: Door>(
    queue: Rc<IoQueue<D>>,
    mut compare: Ticket,
    mut write: Ticket,
) {
    match run(&queue, &mut compare, &mut write).await {
        Ok(()) => {
            compare.succeed();
            write.succeed();
        }
        Err(Failed::First(Stop::Abandon) | Failed::Second(Stop::Abandon)) => {
            compare.abandon();
            write.abandon();
        }
        Err(Failed::First(stop)) => {
            compare.stop(stop);
            write.complete(Status::ABORTED_FAILED_FUSED, 0);
        }
        Err(Failed::Second(stop)) => {
            compare.complete(Status::ABORTED_FAILED_FUSED, 0);
            write.stop(stop);
        }
    }
}

async fn run<D: Door>(
    queue: &Rc<IoQueue<D>>,
    compare: &mut Ticket,
    write: &mut Ticket,
) -> Result<(), Failed> {
    let nsid = compare.nsid();
    let range = check_pair(compare.sqe(), write.sqe()).map_err(first)?;
    let open = || open_atomic(queue, nsid, range);
    let opened = queue.open_ready(nsid, open).await.map_err(Failed::First)?;
    let length = (opened.bytes.end - opened.bytes.start) as u32;
    write.measure(OpKind::Write, &opened.volume, length.into());
    // For both at once: pairs that each held one half and waited for the other would wait for ever.
    let needed = footprint::compare_and_write(&opened.bytes, to_come(compare, write, length)?);
    for kind in [OpKind::Read, OpKind::Write] {
        queue.admit(compare, &opened.volume, kind, length.into()).await.map_err(Failed::First)?;
    }
    queue.take_turn(&opened.volume, OpKind::Write, length.into()).await.map_err(Failed::First)?;
    let _held = queue.wire.reserve(needed).await.map_err(Failed::First)?;
    let expected = fetch_into_held(compare, length).await.map_err(Failed::First)?;
    let data = fetch_into_held(write, length).await.map_err(Failed::Second)?;
    if queue.wire.life.has_ended() {
        return Err(Failed::First(Stop::Abandon));
    }
    let Opened { volume, bytes, .. } = opened.again(open).map_err(first)?;
    volume.compare_and_write(bytes.start, expected, data).await.map_err(|error| {
        match error.cause {
            Cause::Miscompare => Failed::First(queue.failure(&error)),
            _ => Failed::Second(queue.failure(&error)),
        }
    })?;
    queue.wire.traffic.count_read();
    queue.wire.traffic.count_write();
    Ok(())
}

/// Bytes of either command's data that do not come in its capsule.
fn to_come(compare: &Ticket, write: &Ticket, length: u32) -> Result<[u32; 2], Failed> {
    let expected = bytes_to_come(compare.sqe(), length).map_err(first)?;
    let data =
        bytes_to_come(write.sqe(), length).map_err(|rejection| Failed::Second(rejection.into()))?;
    Ok([expected, data])
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

/// The blocks of the pair, if they can be written, at once.
fn open_atomic<D: Door>(
    queue: &IoQueue<D>,
    nsid: u32,
    range: BlockRange,
) -> Result<Opened<D>, Rejection> {
    let (geometry, _) = queue.open(nsid)?;
    let opened = queue.open_for_write(nsid, range)?;
    if opened.bytes.end - opened.bytes.start > geometry.atomic_write_bytes_max.into() {
        let location = ErrorLocation::byte(48);
        return Err(Rejection { status: Status::ATOMIC_WRITE_UNIT_EXCEEDED.dnr(), location });
    }
    Ok(opened)
}
