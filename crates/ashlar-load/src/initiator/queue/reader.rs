//! The reader of a queue: answers, data and R2Ts to the commands that wait for them.

use std::rc::Rc;

use ashlar_block::AlignedBuf;
use ashlar_nvme::cqe::Cqe;
use ashlar_nvme::pdu::{
    DataHeader, Decoder, DecoderLimits, FatalStatus, Framing, IcResp, Pdu, PduFault, Receiver, Step,
};
use ashlar_nvme::status::Status;

use super::Queue;
use crate::initiator::error::CommandError;

/// Most payload of one C2HData: more than any command reads.
const DATA_PDU_BYTES_MAX: u32 = 64 << 20;
/// From how many missing bytes on payload is received straight into its buffer.
const DIRECT_BYTES_MIN: usize = 4096;

/// The data of a command on their way.
struct Incoming {
    header: DataHeader,
    buf: AlignedBuf,
    filled: usize,
}

pub(super) struct Reader {
    queue: Rc<Queue>,
    decoder: Decoder,
    incoming: Option<Incoming>,
}

/// A reader that expects the target's part of the handshake.
pub(super) fn start(queue: &Rc<Queue>) -> Reader {
    let limits =
        DecoderLimits { command_data_bytes_max: 0, data_pdu_bytes_max: DATA_PDU_BYTES_MAX };
    Reader { queue: queue.clone(), decoder: Decoder::new(Receiver::Host, limits), incoming: None }
}

impl Reader {
    /// Reads until the connection ends.
    pub(super) async fn read(mut self) {
        let error = loop {
            if let Err(error) = self.read_some().await {
                break error;
            }
        };
        self.queue.fail(error);
    }

    async fn read_some(&mut self) -> Result<(), CommandError> {
        let chunk = self.queue.stream.recv().await.map_err(CommandError::lost)?;
        let chunk = chunk.ok_or_else(|| CommandError::lost("the target closed it"))?;
        let mut input = &chunk[..];
        loop {
            match self.decoder.step(&mut input).map_err(CommandError::Protocol)? {
                Step::NeedMore => break,
                Step::Header(pdu) => self.take_header(pdu)?,
                Step::Data(data) => self.take_data(data),
                Step::DataEnd { digest_ok } => self.take_data_end(digest_ok)?,
            }
        }
        drop(chunk);
        self.receive_directly().await
    }

    fn take_header(&mut self, pdu: Pdu) -> Result<(), CommandError> {
        let unexpected = CommandError::Protocol(PduFault::new(FatalStatus::SequenceError));
        match pdu {
            Pdu::IcResp(response) => self.shake_hands(&response),
            Pdu::Response(cqe) => self.queue.complete(cqe).ok_or(unexpected)?,
            Pdu::R2t(r2t) => self.queue.send_data(r2t).ok_or(unexpected)?,
            Pdu::C2hData(header) => {
                let buf = self.queue.take_read_buf(&header).ok_or(unexpected)?;
                let filled = header.offset as usize;
                self.incoming = Some(Incoming { header, buf, filled });
            }
            Pdu::ControllerTermReq(term) => {
                let why = format!(
                    "the target terminated it: status {}, {:#x}",
                    term.status, term.information
                );
                return Err(CommandError::lost(why));
            }
            _ => return Err(unexpected),
        }
        Ok(())
    }

    fn shake_hands(&mut self, response: &IcResp) {
        let (digests, data_alignment_bytes) = (response.digests, response.data_alignment_bytes);
        self.queue.framing.set(Framing { digests, data_alignment_bytes });
        self.queue.h2c_data_bytes_max.set(response.h2c_data_bytes_max);
        self.decoder.establish(Framing { digests, data_alignment_bytes: 4 });
        self.queue.changed.notify_waiters();
    }

    fn take_data(&mut self, data: &[u8]) {
        if let Some(incoming) = &mut self.incoming {
            incoming.buf[incoming.filled..incoming.filled + data.len()].copy_from_slice(data);
            incoming.filled += data.len();
        }
    }

    fn take_data_end(&mut self, digest_ok: bool) -> Result<(), CommandError> {
        let Some(incoming) = self.incoming.take() else { return Ok(()) };
        let header = incoming.header;
        self.queue.put_read_buf(&header, incoming.buf, digest_ok);
        if header.success {
            let cqe = Cqe::new(header.cid, Status::SUCCESS, 0);
            let unexpected = CommandError::Protocol(PduFault::new(FatalStatus::SequenceError));
            return self.queue.complete(cqe).ok_or(unexpected);
        }
        Ok(())
    }

    /// Receives the rest of a payload straight into its buffer, where the PDU fills the buffer to
    /// its end.
    async fn receive_directly(&mut self) -> Result<(), CommandError> {
        let left = self.decoder.data_bytes_left() as usize;
        let Some(incoming) = &mut self.incoming else { return Ok(()) };
        if left < DIRECT_BYTES_MIN || incoming.filled + left != incoming.buf.len() {
            return Ok(());
        }
        let buf = std::mem::replace(&mut incoming.buf, AlignedBuf::empty());
        let (result, buf) = self.queue.stream.recv_exact(buf, incoming.filled).await;
        result.map_err(CommandError::lost)?;
        self.decoder.received_directly(&buf[incoming.filled..]);
        incoming.buf = buf;
        incoming.filled += left;
        match self.decoder.step(&mut &[][..]).map_err(CommandError::Protocol)? {
            Step::DataEnd { digest_ok } => self.take_data_end(digest_ok),
            _ => Ok(()),
        }
    }
}

impl Queue {
    /// The buffer for a command's data, if the data are the next ones of a command that reads.
    fn take_read_buf(&self, header: &DataHeader) -> Option<AlignedBuf> {
        let mut state = self.state.borrow_mut();
        let pending = state.slots.get_mut(usize::from(header.cid.0))?.as_mut()?;
        let room = pending.read.as_ref()?.len();
        let end = header.offset.checked_add(header.length)? as usize;
        let is_next = header.offset as usize == pending.received && end <= room;
        is_next.then(|| pending.read.take())?
    }

    fn put_read_buf(&self, header: &DataHeader, buf: AlignedBuf, digest_ok: bool) {
        let mut state = self.state.borrow_mut();
        let slot = state.slots.get_mut(usize::from(header.cid.0));
        if let Some(Some(pending)) = slot {
            pending.read = Some(buf);
            pending.received += header.length as usize;
            pending.digest_failed |= !digest_ok;
        }
    }
}
