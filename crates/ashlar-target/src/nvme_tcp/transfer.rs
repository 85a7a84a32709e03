//! Data that hosts send: in the capsule, or in H2CData PDUs that an R2T asked for.

use std::cell::RefCell;
use std::rc::Rc;

use ashlar_block::AlignedBuf;
use ashlar_nvme::fabrics::FABRICS_OPCODE;
use ashlar_nvme::io::DataDirection;
use ashlar_nvme::pdu::{DataHeader, FatalStatus, Pdu, PduFault, R2t, Ttag};
use ashlar_nvme::sgl::DataLocation;
use ashlar_nvme::sqe::{Cid, Sqe};
use ashlar_nvme::status::{ErrorLocation, Rejection, Status};
use ashlar_reactor::timeout;
use bytes::Bytes;

use super::connection::Wire;
use super::footprint;
use super::memory::Payload;
use super::registry::EndReason;
use super::signal::Letter;
use super::ticket::{Stop, Ticket};

/// A command as it came, with the data of its capsule if it takes them.
pub(super) struct Capsule {
    pub(super) sqe: Sqe,
    pub(super) data: Bytes,
    /// The data digest of the capsule matched.
    pub(super) digest_ok: bool,
}

/// Whether the command takes the data of its capsule: its opcode, or the command type of a Fabrics
/// command, has it get data, and its SGL says that they are there. What others bring is not kept,
/// for some of them wait without end.
pub(super) fn takes_capsule_data(sqe: &Sqe) -> bool {
    let code = if sqe.opcode == FABRICS_OPCODE { sqe.nsid.get() as u8 } else { sqe.opcode };
    DataDirection::of_opcode(code) == DataDirection::ToController
        && matches!(sqe.sgl.location(), Ok(DataLocation::InCapsule { .. }))
}

/// Data of a command, complete.
pub(super) struct Received {
    pub(super) data: Bytes,
    /// The memory that they take, unless it was set aside for in-capsule data.
    _held: Option<Payload>,
}

/// How a transfer ended.
enum End {
    Complete(AlignedBuf),
    DigestError,
    Abandoned,
}

/// One R2T that is not answered in full.
struct Transfer {
    cid: Cid,
    /// Away while the reader fills it.
    buf: Option<AlignedBuf>,
    length: u32,
    received: u32,
    digest_ok: bool,
    end: Letter<End>,
}

/// The R2Ts of a connection. A transfer tag is an index.
#[derive(Default)]
pub(super) struct Transfers {
    slots: RefCell<Vec<Option<Transfer>>>,
}

/// Offsets of fields in the header of H2CData.
mod field {
    pub const FLAGS: u32 = 1;
    pub const CID: u32 = 8;
    pub const TTAG: u32 = 10;
    pub const OFFSET: u32 = 12;
}

impl Transfers {
    fn begin(&self, cid: Cid, buf: AlignedBuf, end: Letter<End>) -> Ttag {
        let length = buf.len() as u32;
        let transfer = Transfer { cid, buf: Some(buf), length, received: 0, digest_ok: true, end };
        let mut slots = self.slots.borrow_mut();
        let free = slots.iter().position(Option::is_none);
        let index = free.unwrap_or_else(|| {
            slots.push(None);
            slots.len() - 1
        });
        slots[index] = Some(transfer);
        Ttag(index as u16)
    }

    /// Checks that the data were asked for and are the next ones, and takes the buffer to receive
    /// them into.
    pub(super) fn accept(&self, header: &DataHeader) -> Result<AlignedBuf, PduFault> {
        let mut slots = self.slots.borrow_mut();
        let slot = slots.get_mut(usize::from(header.ttag.0)).and_then(Option::as_mut);
        let transfer = slot.ok_or(PduFault::header_field(field::TTAG))?;
        if transfer.cid != header.cid {
            return Err(PduFault::header_field(field::CID));
        }
        let end = header.offset.checked_add(header.length).filter(|end| *end <= transfer.length);
        let end = end.ok_or(PduFault::new(FatalStatus::DataOutOfRange))?;
        if header.offset != transfer.received {
            return Err(PduFault::header_field(field::OFFSET));
        }
        if header.last != (end == transfer.length) {
            return Err(PduFault::header_field(field::FLAGS));
        }
        transfer.buf.take().ok_or(PduFault::new(FatalStatus::SequenceError))
    }

    /// Gives the buffer back after a PDU's data are in it, and ends the transfer with the last one.
    /// If it was abandoned meanwhile, nobody wants the data any more.
    pub(super) fn received(&self, header: &DataHeader, buf: AlignedBuf, digest_ok: bool) {
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slots.get_mut(usize::from(header.ttag.0)) else { return };
        let Some(transfer) = slot else { return };
        transfer.received += header.length;
        transfer.digest_ok &= digest_ok;
        if transfer.received < transfer.length {
            transfer.buf = Some(buf);
            return;
        }
        let end = if transfer.digest_ok { End::Complete(buf) } else { End::DigestError };
        transfer.end.leave(end);
        *slot = None;
    }

    /// Ends all transfers: the connection is ending.
    pub(super) fn abandon_all(&self) {
        let slots = std::mem::take(&mut *self.slots.borrow_mut());
        slots.into_iter().flatten().for_each(|transfer| transfer.end.leave(End::Abandoned));
    }
}

const DIGEST_ERROR: Rejection = Rejection::new(Status::TRANSIENT_TRANSPORT_ERROR);
const LENGTH_INVALID: Rejection =
    Rejection { status: Status::SGL_LENGTH_INVALID.dnr(), location: ErrorLocation(32) };

/// The `bytes` of data that a command needs from its host, from wherever its SGL says. What is to
/// come by R2T waits for memory first: what is granted can be received.
pub(super) async fn fetch(ticket: &mut Ticket, bytes: u32) -> Result<Received, Stop> {
    let bytes_to_come = bytes_to_come(ticket.sqe(), bytes)?;
    let held = ticket.wire().reserve(footprint::buffer(bytes_to_come.into())).await?;
    let data = fetch_into_held(ticket, bytes).await?;
    Ok(Received { data, _held: held })
}

/// How many of a command's `bytes` of data its host sends by R2T: all or none.
pub(super) fn bytes_to_come(sqe: &Sqe, bytes: u32) -> Result<u32, Rejection> {
    Ok(match checked_location(sqe, bytes)? {
        DataLocation::InCapsule { .. } => 0,
        DataLocation::Transport { .. } => bytes,
    })
}

/// As [`fetch`], for a caller that holds memory for the data already.
pub(super) async fn fetch_into_held(ticket: &mut Ticket, bytes: u32) -> Result<Bytes, Stop> {
    match checked_location(ticket.sqe(), bytes)? {
        DataLocation::InCapsule { .. } => Ok(take_in_capsule(ticket, bytes)?),
        DataLocation::Transport { .. } => transfer(ticket.wire(), ticket.cid(), bytes).await,
    }
}

fn checked_location(sqe: &Sqe, bytes: u32) -> Result<DataLocation, Rejection> {
    let location = sqe.sgl.location()?;
    if location.length() == bytes { Ok(location) } else { Err(LENGTH_INVALID) }
}

fn take_in_capsule(ticket: &mut Ticket, bytes: u32) -> Result<Bytes, Rejection> {
    if !ticket.capsule().digest_ok {
        return Err(DIGEST_ERROR);
    }
    if ticket.capsule().data.len() != bytes as usize {
        return Err(LENGTH_INVALID);
    }
    Ok(ticket.take_data())
}

/// Asks for the data with one R2T.
async fn transfer(wire: &Rc<Wire>, cid: Cid, bytes: u32) -> Result<Bytes, Stop> {
    if wire.life.has_ended() {
        return Err(Stop::Abandon);
    }
    let end = Letter::new();
    let ttag = wire.transfers.begin(cid, AlignedBuf::stale(bytes as usize), end.clone());
    wire.output.send(&Pdu::R2t(R2t { cid, ttag, offset: 0, length: bytes }), wire.framing.get());
    match timeout(wire.limits.transfer_timeout, end.take()).await {
        Ok(End::Complete(buf)) => Ok(buf.freeze()),
        Ok(End::DigestError) => Err(DIGEST_ERROR.into()),
        Ok(End::Abandoned) => Err(Stop::Abandon),
        Err(_) => {
            wire.life.end(EndReason::TransferTimeout);
            Err(Stop::Abandon)
        }
    }
}

#[cfg(test)]
mod tests;
