//! Values to bytes.

use zerocopy::IntoBytes;

use super::digest::{DIGEST_BYTES, crc32c};
use super::fault::TermFields;
use super::handshake::HandshakeFields;
use super::header::{
    CommonHeader, FLAG_DATA_DIGEST, FLAG_HEADER_DIGEST, FLAG_LAST, FLAG_SUCCESS, PduType,
    TransferFields,
};
use super::{DataHeader, Framing, Pdu};

/// Bytes of everything before the payload: header, header digest, padding. The padding is there
/// only if there is payload.
pub fn header_bytes(kind: PduType, data_bytes: u32, framing: Framing) -> usize {
    let header = usize::from(kind.header_bytes());
    let with_digest = if has_digests(kind, framing).0 { header + DIGEST_BYTES } else { header };
    let alignment = if is_term(kind) { 4 } else { framing.data_alignment_bytes as usize };
    if data_bytes == 0 { with_digest } else { with_digest.next_multiple_of(alignment) }
}

fn is_term(kind: PduType) -> bool {
    matches!(kind, PduType::H2cTermReq | PduType::C2hTermReq)
}

/// Which digests (header, data) PDUs of `kind` carry: those of the handshake and of the end carry
/// none.
fn has_digests(kind: PduType, framing: Framing) -> (bool, bool) {
    let carries = !is_term(kind) && !matches!(kind, PduType::IcReq | PduType::IcResp);
    (carries && framing.digests.header, carries && framing.digests.data)
}

fn data_flags(data: &DataHeader) -> u8 {
    (if data.last { FLAG_LAST } else { 0 }) | (if data.success { FLAG_SUCCESS } else { 0 })
}

impl Pdu {
    /// The PDU's type.
    pub const fn kind(&self) -> PduType {
        match self {
            Pdu::IcReq(_) => PduType::IcReq,
            Pdu::IcResp(_) => PduType::IcResp,
            Pdu::HostTermReq(_) => PduType::H2cTermReq,
            Pdu::ControllerTermReq(_) => PduType::C2hTermReq,
            Pdu::Command(_) => PduType::CapsuleCmd,
            Pdu::Response(_) => PduType::CapsuleResp,
            Pdu::H2cData(_) => PduType::H2cData,
            Pdu::C2hData(_) => PduType::C2hData,
            Pdu::R2t(_) => PduType::R2t,
        }
    }

    /// Appends header, header digest and padding to `out`. `data_bytes` of payload are to follow,
    /// and then, if `framing` has data digests and there is payload, their [`super::DataDigest`].
    pub fn encode(&self, data_bytes: u32, framing: Framing, out: &mut Vec<u8>) {
        let kind = self.kind();
        let (header_digest, data_digest) = has_digests(kind, framing);
        let data_digest = data_digest && data_bytes > 0;
        let data_start = header_bytes(kind, data_bytes, framing);
        let digest_bytes = if data_digest { DIGEST_BYTES } else { 0 };
        let common = CommonHeader {
            kind: kind as u8,
            flags: self.own_flags()
                | (if header_digest { FLAG_HEADER_DIGEST } else { 0 })
                | (if data_digest { FLAG_DATA_DIGEST } else { 0 }),
            header_bytes: kind.header_bytes(),
            data_offset: if data_bytes == 0 || is_term(kind) { 0 } else { data_start as u8 },
            pdu_bytes: (data_start as u32 + data_bytes + digest_bytes as u32).into(),
        };
        let start = out.len();
        out.extend_from_slice(common.as_bytes());
        self.encode_fields(out);
        out.resize(start + usize::from(kind.header_bytes()), 0);
        if header_digest {
            let digest = crc32c(&out[start..]);
            out.extend_from_slice(&digest.to_le_bytes());
        }
        out.resize(start + data_start, 0);
    }

    fn own_flags(&self) -> u8 {
        match self {
            Pdu::H2cData(data) | Pdu::C2hData(data) => data_flags(data),
            _ => 0,
        }
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        match *self {
            Pdu::IcReq(request) => out.extend_from_slice(HandshakeFields::from(request).as_bytes()),
            Pdu::IcResp(response) => {
                out.extend_from_slice(HandshakeFields::from(response).as_bytes())
            }
            Pdu::HostTermReq(term) | Pdu::ControllerTermReq(term) => {
                out.extend_from_slice(TermFields::from(term).as_bytes());
            }
            Pdu::Command(sqe) => out.extend_from_slice(sqe.as_bytes()),
            Pdu::Response(cqe) => out.extend_from_slice(cqe.as_bytes()),
            Pdu::H2cData(data) | Pdu::C2hData(data) => {
                out.extend_from_slice(TransferFields::from(data).as_bytes());
            }
            Pdu::R2t(r2t) => out.extend_from_slice(TransferFields::from(r2t).as_bytes()),
        }
    }
}
