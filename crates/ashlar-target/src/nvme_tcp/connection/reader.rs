//! The reader of a connection: bytes to commands and data.

use std::io;
use std::pin::pin;
use std::rc::Rc;

use ashlar_block::{AlignedBuf, copies};
use ashlar_nvme::pdu::{
    DataHeader, Decoder, DecoderLimits, FatalStatus, Framing, IcReq, IcResp, Pdu, PduFault,
    Receiver, Step, TermReq,
};
use ashlar_nvme::sqe::Sqe;
use ashlar_reactor::net::{RecvBuf, TcpStream};
use ashlar_reactor::{now, yield_now};
use ashlar_volume::Door;
use bytes::Bytes;
use futures_util::future::{Either, select};

use super::{Complaint, Connection, ReadEnd, Role};
use crate::nvme_tcp::limits::Limits;
use crate::nvme_tcp::registry::EndReason;
use crate::nvme_tcp::transfer::{Capsule, takes_capsule_data};

/// From how many missing bytes on payload is received straight into its buffer.
const DIRECT_BYTES_MIN: usize = 4096;

/// In-capsule data that come whole in one chunk stay in its shared buffer from this size on. A copy
/// of fewer costs less than what it takes to share them.
const SPLIT_BYTES_MIN: usize = 2048;

/// Steps of the decoder, at most three for a command, after which a reader that has more lets
/// others run. Commands begin where they are read, so that this bounds what one connection does at
/// a time.
const STEPS_PER_TURN_MAX: usize = 256;

/// Where the payload of the current PDU goes.
enum Incoming {
    /// There is none.
    Nothing,
    /// In-capsule data that the command does not take.
    Unwanted { sqe: Sqe },
    /// In-capsule data of which nothing has come.
    Announced { sqe: Sqe, bytes: usize },
    /// In-capsule data, whole, where they were received.
    Whole { sqe: Sqe, data: Bytes },
    /// In-capsule data.
    Capsule { sqe: Sqe, buf: AlignedBuf, filled: usize },
    /// Data that an R2T asked for.
    Transfer { header: DataHeader, buf: AlignedBuf, filled: usize },
}

struct Reader<'a, D: Door> {
    connection: &'a Rc<Connection<D>>,
    stream: &'a TcpStream,
    decoder: Decoder,
    incoming: Incoming,
    takes_io: bool,
}

/// Reads until the connection has to end.
pub(super) async fn read<D: Door>(connection: &Rc<Connection<D>>, stream: &TcpStream) -> ReadEnd {
    let limits = &connection.wire.limits;
    let decoder = Decoder::new(
        Receiver::Controller,
        decoder_limits(limits, Limits::ADMIN_IN_CAPSULE_BYTES_MAX),
    );
    let mut reader =
        Reader { connection, stream, decoder, incoming: Incoming::Nothing, takes_io: false };
    let life = connection.wire.life.clone();
    let reading = pin!(reader.read_all());
    match select(pin!(life.stop.wait()), reading).await {
        Either::Left((reason, _)) => reason.into(),
        Either::Right((end, _)) => end,
    }
}

fn decoder_limits(limits: &Limits, command_data_bytes_max: u32) -> DecoderLimits {
    DecoderLimits { command_data_bytes_max, data_pdu_bytes_max: limits.transfer_bytes_max }
}

/// The end that an error of the socket means.
fn broken(_: io::Error) -> ReadEnd {
    EndReason::PeerClosed.into()
}

impl<D: Door> Reader<'_, D> {
    async fn read_all(&mut self) -> ReadEnd {
        self.stream.receive_sparingly(true);
        loop {
            let end = match self.stream.recv().await {
                Ok(Some(chunk)) => self.take_chunk(chunk).await,
                Ok(None) => Err(EndReason::PeerClosed.into()),
                Err(error) => Err(broken(error)),
            };
            if let Err(end) = end {
                return end;
            }
        }
    }

    async fn take_chunk(&mut self, mut chunk: RecvBuf) -> Result<(), ReadEnd> {
        self.widen_limits();
        while self.take_steps(&mut chunk)? {
            self.connection.wire.output.room().await;
            yield_now().await;
        }
        // The shared buffer, unless parts of it are kept, goes back before the wait for the rest of
        // a payload.
        drop(chunk);
        self.receive_directly().await
    }

    /// Takes what comes next in `chunk`: until it is used up, which is false, or until it is time
    /// for others, which is true. What comes behind the end of the connection, whoever has ended
    /// it, is not taken.
    fn take_steps(&mut self, chunk: &mut RecvBuf) -> Result<bool, ReadEnd> {
        for _ in 0..STEPS_PER_TURN_MAX {
            if let Some(reason) = self.connection.wire.life.stop.get() {
                return Err(reason.into());
            }
            if self.connection.wire.output.is_full() {
                return Ok(true);
            }
            if !self.take_step(chunk)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes what comes next in `chunk`; false once it is used up.
    fn take_step(&mut self, chunk: &mut RecvBuf) -> Result<bool, ReadEnd> {
        let mut input = &chunk[..];
        let step = self.decoder.step(&mut input).map_err(|fault| self.complaint(fault))?;
        let used = chunk.len() - input.len();
        match step {
            Step::NeedMore => return Ok(false),
            Step::Header(pdu) => {
                chunk.advance(used);
                self.take_header(pdu).map_err(|fault| self.complaint(fault))?;
            }
            Step::Data(_) => self.take_data(chunk, used),
            Step::DataEnd { digest_ok } => {
                chunk.advance(used);
                self.take_data_end(digest_ok);
            }
        }
        Ok(true)
    }

    fn complaint(&self, fault: PduFault) -> ReadEnd {
        let header = Bytes::copy_from_slice(self.decoder.header());
        let reason = match fault.status {
            FatalStatus::HeaderDigestError => EndReason::DigestError,
            _ => EndReason::Fault,
        };
        ReadEnd { reason, complaint: Some(Complaint { fault, header }) }
    }

    fn take_header(&mut self, pdu: Pdu) -> Result<(), PduFault> {
        match pdu {
            Pdu::IcReq(request) => self.shake_hands(&request),
            Pdu::Command(sqe) => return self.take_command(sqe),
            Pdu::H2cData(header) => {
                let buf = self.connection.wire.transfers.accept(&header)?;
                let filled = header.offset as usize;
                self.incoming = Incoming::Transfer { header, buf, filled };
            }
            Pdu::HostTermReq(term) => {
                self.tell_termination(&term);
                self.connection.wire.life.end(EndReason::PeerTerminated);
            }
            // The decoder lets a controller receive nothing else.
            _ => return Err(PduFault::new(FatalStatus::SequenceError)),
        }
        Ok(())
    }

    fn tell_termination(&self, term: &TermReq) {
        let peer = self.connection.wire.peer;
        if let Some(times) = self.connection.service.told.termination.count(now()) {
            let TermReq { status, information } = *term;
            tracing::warn!(times, %peer, status, information, "host terminates");
        }
    }

    fn shake_hands(&mut self, request: &IcReq) {
        let wire = &self.connection.wire;
        let response = IcResp {
            format_version: 0,
            data_alignment_bytes: 4,
            digests: request.digests,
            h2c_data_bytes_max: wire.limits.transfer_bytes_max,
        };
        wire.output.send(&Pdu::IcResp(response), Framing::HANDSHAKE);
        let sent = Framing {
            digests: request.digests,
            data_alignment_bytes: request.data_alignment_bytes,
        };
        wire.framing.set(sent);
        self.decoder.establish(Framing { digests: request.digests, data_alignment_bytes: 4 });
    }

    fn take_command(&mut self, sqe: Sqe) -> Result<(), PduFault> {
        if self.connection.wire.is_overrun() {
            return Err(PduFault::new(FatalStatus::SequenceError));
        }
        match self.decoder.data_bytes_left() as usize {
            0 => self.connection.dispatch(Capsule { sqe, data: Bytes::new(), digest_ok: true }),
            bytes if takes_capsule_data(&sqe) => self.incoming = Incoming::Announced { sqe, bytes },
            _ => self.incoming = Incoming::Unwanted { sqe },
        }
        Ok(())
    }

    /// Once Connect has made this an I/O queue, its capsules may bring more, and more may come at a
    /// time.
    fn widen_limits(&mut self) {
        if !self.takes_io && matches!(self.connection.role(), Role::Io(_)) {
            let limits = &self.connection.wire.limits;
            self.decoder.set_limits(decoder_limits(limits, limits.in_capsule_bytes_max));
            self.stream.receive_sparingly(false);
            self.takes_io = true;
        }
    }

    /// Takes the first `count` bytes of `chunk`, which are payload.
    fn take_data(&mut self, chunk: &mut RecvBuf, count: usize) {
        if let Incoming::Announced { sqe, bytes } = self.incoming {
            self.incoming = if count == bytes && bytes >= SPLIT_BYTES_MIN {
                Incoming::Whole { sqe, data: chunk.split_to(count) }
            } else {
                Incoming::Capsule { sqe, buf: AlignedBuf::stale(bytes), filled: 0 }
            };
        }
        match &mut self.incoming {
            Incoming::Whole { .. } => {}
            Incoming::Capsule { buf, filled, .. } | Incoming::Transfer { buf, filled, .. } => {
                buf[*filled..*filled + count].copy_from_slice(&chunk[..count]);
                copies::note(count);
                *filled += count;
                chunk.advance(count);
            }
            _ => chunk.advance(count),
        }
    }

    fn take_data_end(&mut self, digest_ok: bool) {
        match std::mem::replace(&mut self.incoming, Incoming::Nothing) {
            Incoming::Unwanted { sqe } => {
                self.connection.dispatch(Capsule { sqe, data: Bytes::new(), digest_ok });
            }
            Incoming::Whole { sqe, data } => {
                self.connection.dispatch(Capsule { sqe, data, digest_ok })
            }
            Incoming::Capsule { sqe, buf, .. } => {
                self.connection.dispatch(Capsule { sqe, data: buf.freeze(), digest_ok });
            }
            Incoming::Transfer { header, buf, .. } => {
                self.connection.wire.transfers.received(&header, buf, digest_ok);
            }
            Incoming::Announced { .. } | Incoming::Nothing => {}
        }
    }

    /// Receives the rest of a payload straight into its buffer, where the PDU fills the buffer to
    /// its end (a host that cuts a transfer into several PDUs has the others copied).
    async fn receive_directly(&mut self) -> Result<(), ReadEnd> {
        let left = self.decoder.data_bytes_left() as usize;
        let (Incoming::Capsule { buf, filled, .. } | Incoming::Transfer { buf, filled, .. }) =
            &mut self.incoming
        else {
            return Ok(());
        };
        if left < DIRECT_BYTES_MIN || *filled + left != buf.len() {
            return Ok(());
        }
        let taken = std::mem::replace(buf, AlignedBuf::empty());
        let (result, returned) = self.stream.recv_exact(taken, *filled).await;
        result.map_err(broken)?;
        self.decoder.received_directly(&returned[*filled..]);
        *buf = returned;
        *filled += left;
        self.finish_directly()
    }

    /// Ends the PDU if it has no data digest: the decoder needs no more bytes for that.
    fn finish_directly(&mut self) -> Result<(), ReadEnd> {
        let step = self.decoder.step(&mut &[][..]).map_err(|fault| self.complaint(fault))?;
        if let Step::DataEnd { digest_ok } = step {
            self.take_data_end(digest_ok);
        }
        Ok(())
    }
}
