//! Bytes to values, in whatever pieces the stream delivers them.

use zerocopy::FromBytes;

use super::digest::{DIGEST_BYTES, DataDigest, crc32c};
use super::fault::{FatalStatus, PduFault, TermFields};
use super::handshake::HandshakeFields;
use super::header::{CommonHeader, FLAG_DATA_DIGEST, FLAG_HEADER_DIGEST, PduType, TransferFields};
use super::layout::{Layout, check_sequence};
use super::{Framing, Pdu};

const COMMON_BYTES: usize = size_of::<CommonHeader>();
/// A header, its digest and its padding: PDO has one byte.
const HEADER_AREA_BYTES: usize = 256;
/// Most payload of a Terminate Connection Request: the header complained of.
const TERM_DATA_BYTES_MAX: u32 = 128;

/// Which end of the connection decodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Receiver {
    /// A controller: takes what hosts send.
    Controller,
    /// A host: takes what controllers send.
    Host,
}

/// Most payload that is accepted, checked before any of it is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecoderLimits {
    /// In-capsule data of one command, in bytes.
    pub command_data_bytes_max: u32,
    /// Payload of one H2CData or C2HData, in bytes.
    pub data_pdu_bytes_max: u32,
}

/// What the decoder made of its input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<'a> {
    /// The input is used up, and the PDU is not complete.
    NeedMore,
    /// A whole, valid header. [`Decoder::data_bytes_left`] bytes of payload follow; if none, the
    /// PDU has ended.
    Header(Pdu),
    /// The next bytes of payload. Never empty.
    Data(&'a [u8]),
    /// The end of a PDU with payload.
    DataEnd {
        /// False if the data digest does not match. Not fatal to the connection (section 3.4.1.2):
        /// the command fails with Transient Transport Error.
        digest_ok: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Collecting the common header.
    Common,
    /// Collecting the rest of the header area, `end` bytes in all.
    Header {
        end: usize,
    },
    Data {
        left: u32,
    },
    DataDigest {
        have: usize,
    },
}

/// Checks and decodes a stream of PDUs, byte by byte if need be.
///
/// After an error the stream cannot be followed any more: what comes next is a [`super::TermReq`]
/// with [`Decoder::header`] as its payload, and the end of the connection.
pub struct Decoder {
    receiver: Receiver,
    limits: DecoderLimits,
    framing: Framing,
    established: bool,
    stage: Stage,
    area: [u8; HEADER_AREA_BYTES],
    area_have: usize,
    data_bytes: u32,
    digest: DataDigest,
    received_digest: [u8; DIGEST_BYTES],
}

impl Decoder {
    /// A decoder that expects the other end's part of the handshake.
    pub fn new(receiver: Receiver, limits: DecoderLimits) -> Self {
        Decoder {
            receiver,
            limits,
            framing: Framing::HANDSHAKE,
            established: false,
            stage: Stage::Common,
            area: [0; HEADER_AREA_BYTES],
            area_have: 0,
            data_bytes: 0,
            digest: DataDigest::default(),
            received_digest: [0; DIGEST_BYTES],
        }
    }

    /// The handshake is done: commands or responses may come, with these digests and with payload
    /// at the alignment that this end asked for.
    pub fn establish(&mut self, framing: Framing) {
        self.framing = framing;
        self.established = true;
    }

    /// Changes what is accepted from the next header on.
    pub fn set_limits(&mut self, limits: DecoderLimits) {
        self.limits = limits;
    }

    /// Payload bytes of the current PDU that have not come yet.
    pub fn data_bytes_left(&self) -> u32 {
        if let Stage::Data { left } = self.stage { left } else { 0 }
    }

    /// The header bytes of the current or last PDU, as far as they came and without digest and
    /// padding: the payload of a [`super::TermReq`] about it.
    pub fn header(&self) -> &[u8] {
        let header_bytes = match self.area_have {
            0..3 => self.area_have,
            have => have.min(usize::from(self.area[2])),
        };
        &self.area[..header_bytes.min(TERM_DATA_BYTES_MAX as usize)]
    }

    /// Takes what it can use from the front of `input`.
    ///
    /// # Errors
    /// A [`PduFault`] for the Terminate Connection Request.
    pub fn step<'a>(&mut self, input: &mut &'a [u8]) -> Result<Step<'a>, PduFault> {
        loop {
            match self.stage {
                Stage::Common => {
                    if !self.collect(COMMON_BYTES, input) {
                        return Ok(Step::NeedMore);
                    }
                    self.stage = Stage::Header { end: self.check_common()? };
                }
                Stage::Header { end } => {
                    if !self.collect(end, input) {
                        return Ok(Step::NeedMore);
                    }
                    return self.finish_header().map(Step::Header);
                }
                Stage::Data { left } => return Ok(self.take_data(left, input)),
                Stage::DataDigest { have } => {
                    let Some(step) = self.take_digest(have, input) else {
                        return Ok(Step::NeedMore);
                    };
                    return Ok(step);
                }
            }
        }
    }

    /// The next `bytes` of payload came by another way than [`Decoder::step`], straight into their
    /// buffer.
    ///
    /// # Panics
    /// If there are more than [`Decoder::data_bytes_left`].
    pub fn received_directly(&mut self, bytes: &[u8]) {
        let left = self.data_bytes_left();
        assert!(bytes.len() <= left as usize, "payload beyond the end of its PDU");
        self.count_data(left, bytes);
    }

    /// Moves bytes into the header area until it holds `end`; false if there are too few.
    fn collect(&mut self, end: usize, input: &mut &[u8]) -> bool {
        if self.stage == Stage::Common && self.area_have >= COMMON_BYTES {
            self.area_have = 0;
        }
        let count = (end - self.area_have).min(input.len());
        let (taken, rest) = input.split_at(count);
        self.area[self.area_have..self.area_have + count].copy_from_slice(taken);
        self.area_have += count;
        *input = rest;
        self.area_have == end
    }

    fn common(&self) -> CommonHeader {
        CommonHeader::read_from_bytes(&self.area[..COMMON_BYTES]).expect("the area is longer")
    }

    fn check_common(&mut self) -> Result<usize, PduFault> {
        let common = self.common();
        let kind = PduType::of(common.kind).ok_or(PduFault::header_field(0))?;
        check_sequence(kind, self.receiver, self.established)?;
        let layout = Layout::of(&common, kind, self.framing)?;
        self.check_data_bytes(kind, layout.data_bytes)?;
        self.data_bytes = layout.data_bytes;
        Ok(layout.header_area_bytes)
    }

    fn check_data_bytes(&self, kind: PduType, data_bytes: u32) -> Result<(), PduFault> {
        let (max, fault) = match kind {
            PduType::CapsuleCmd => (self.limits.command_data_bytes_max, PduFault::header_field(4)),
            PduType::H2cData | PduType::C2hData => {
                (self.limits.data_pdu_bytes_max, PduFault::new(FatalStatus::DataLimitExceeded))
            }
            PduType::H2cTermReq | PduType::C2hTermReq => {
                (TERM_DATA_BYTES_MAX, PduFault::header_field(4))
            }
            _ => (0, PduFault::header_field(4)),
        };
        if data_bytes > max { Err(fault) } else { Ok(()) }
    }

    fn finish_header(&mut self) -> Result<Pdu, PduFault> {
        let common = self.common();
        let header_bytes = usize::from(common.header_bytes);
        if common.flags & FLAG_HEADER_DIGEST != 0 {
            self.check_header_digest(header_bytes)?;
        }
        let pdu = parse(&common, &self.area[..header_bytes])?;
        check_data_length(&pdu, self.data_bytes)?;
        if common.flags & FLAG_DATA_DIGEST != 0 {
            self.digest = DataDigest::default();
        }
        self.stage = match self.data_bytes {
            0 => Stage::Common,
            left => Stage::Data { left },
        };
        Ok(pdu)
    }

    fn check_header_digest(&self, header_bytes: usize) -> Result<(), PduFault> {
        let digest = &self.area[header_bytes..header_bytes + DIGEST_BYTES];
        let received = u32::from_le_bytes(digest.try_into().expect("four bytes"));
        if received == crc32c(&self.area[..header_bytes]) {
            return Ok(());
        }
        Err(PduFault { status: FatalStatus::HeaderDigestError, information: received })
    }

    fn take_data<'a>(&mut self, left: u32, input: &mut &'a [u8]) -> Step<'a> {
        if input.is_empty() {
            return Step::NeedMore;
        }
        let (data, rest) = input.split_at(input.len().min(left as usize));
        *input = rest;
        self.count_data(left, data);
        Step::Data(data)
    }

    fn count_data(&mut self, left: u32, data: &[u8]) {
        if self.common().flags & FLAG_DATA_DIGEST != 0 {
            self.digest.update(data);
        }
        self.stage = match left - data.len() as u32 {
            0 => Stage::DataDigest { have: 0 },
            left => Stage::Data { left },
        };
    }

    /// Ends the PDU, once its digest has come if it has one.
    fn take_digest<'a>(&mut self, have: usize, input: &mut &'a [u8]) -> Option<Step<'a>> {
        if self.common().flags & FLAG_DATA_DIGEST == 0 {
            self.stage = Stage::Common;
            return Some(Step::DataEnd { digest_ok: true });
        }
        let (taken, rest) = input.split_at(input.len().min(DIGEST_BYTES - have));
        self.received_digest[have..have + taken.len()].copy_from_slice(taken);
        *input = rest;
        if have + taken.len() < DIGEST_BYTES {
            self.stage = Stage::DataDigest { have: have + taken.len() };
            return None;
        }
        self.stage = Stage::Common;
        Some(Step::DataEnd { digest_ok: self.received_digest == self.digest.to_bytes() })
    }
}

fn parse(common: &CommonHeader, header: &[u8]) -> Result<Pdu, PduFault> {
    fn fields<T: FromBytes>(header: &[u8]) -> T {
        let (fields, _) =
            T::read_from_prefix(&header[COMMON_BYTES..]).map_err(drop).expect("HLEN was checked");
        fields
    }
    let kind = PduType::of(common.kind).ok_or(PduFault::header_field(0))?;
    Ok(match kind {
        PduType::IcReq => Pdu::IcReq(fields::<HandshakeFields>(header).ic_req()?),
        PduType::IcResp => Pdu::IcResp(fields::<HandshakeFields>(header).ic_resp()?),
        PduType::H2cTermReq => Pdu::HostTermReq(fields::<TermFields>(header).into()),
        PduType::C2hTermReq => Pdu::ControllerTermReq(fields::<TermFields>(header).into()),
        PduType::CapsuleCmd => Pdu::Command(fields(header)),
        PduType::CapsuleResp => Pdu::Response(fields(header)),
        PduType::H2cData => {
            Pdu::H2cData(fields::<TransferFields>(header).data_header(common.flags))
        }
        PduType::C2hData => {
            Pdu::C2hData(fields::<TransferFields>(header).data_header(common.flags))
        }
        PduType::R2t => Pdu::R2t(fields::<TransferFields>(header).r2t()),
    })
}

/// DATAL and PLEN say the same, and data PDUs carry data.
fn check_data_length(pdu: &Pdu, data_bytes: u32) -> Result<(), PduFault> {
    const DATAL_OFFSET: u32 = 16;
    match pdu {
        Pdu::H2cData(data) | Pdu::C2hData(data) if data.length != data_bytes || data_bytes == 0 => {
            Err(PduFault::header_field(DATAL_OFFSET))
        }
        Pdu::R2t(r2t) if r2t.length == 0 => Err(PduFault::header_field(DATAL_OFFSET)),
        _ => Ok(()),
    }
}
