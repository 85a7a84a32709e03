//! Whether a common header makes sense, by itself and where it comes.

use super::Framing;
use super::decode::Receiver;
use super::digest::DIGEST_BYTES;
use super::fault::{FatalStatus, PduFault};
use super::handshake::Digests;
use super::header::{
    CommonHeader, FLAG_DATA_DIGEST, FLAG_HEADER_DIGEST, FLAG_LAST, FLAG_SUCCESS, PduType,
};

/// Where a PDU's parts are.
pub(super) struct Layout {
    /// Header, header digest, padding.
    pub header_area_bytes: usize,
    pub data_bytes: u32,
}

impl Layout {
    /// Checks HLEN, FLAGS, PDO and PLEN against the type and against each other.
    pub fn of(common: &CommonHeader, kind: PduType, framing: Framing) -> Result<Self, PduFault> {
        if common.header_bytes != kind.header_bytes() {
            return Err(PduFault::header_field(2));
        }
        let (header_digest, data_digest) = expected_digests(kind, framing.digests);
        if common.flags & !allowed_flags(kind) != 0
            || (common.flags & FLAG_HEADER_DIGEST != 0) != header_digest
        {
            return Err(PduFault::header_field(1));
        }
        let header_end =
            u32::from(common.header_bytes) + if header_digest { DIGEST_BYTES as u32 } else { 0 };
        let pdu_bytes = common.pdu_bytes.get();
        if pdu_bytes < header_end {
            return Err(PduFault::header_field(4));
        }
        if pdu_bytes == header_end {
            // PDO has no meaning without payload.
            return Ok(Layout { header_area_bytes: header_end as usize, data_bytes: 0 });
        }
        if !carries_data(kind) {
            return Err(PduFault::header_field(4));
        }
        if (common.flags & FLAG_DATA_DIGEST != 0) != data_digest {
            return Err(PduFault::header_field(1));
        }
        let data_start = data_start(common, kind, header_end, framing)?;
        let digest_bytes = if data_digest { DIGEST_BYTES as u32 } else { 0 };
        match pdu_bytes.checked_sub(data_start + digest_bytes) {
            None | Some(0) => Err(PduFault::header_field(4)),
            Some(data_bytes) => Ok(Layout { header_area_bytes: data_start as usize, data_bytes }),
        }
    }
}

/// PDO: behind header and digest, at the alignment that this end asked for. Terminate requests have
/// none: their payload follows the header.
fn data_start(
    common: &CommonHeader,
    kind: PduType,
    header_end: u32,
    framing: Framing,
) -> Result<u32, PduFault> {
    if matches!(kind, PduType::H2cTermReq | PduType::C2hTermReq) {
        return Ok(header_end);
    }
    let data_start = u32::from(common.data_offset);
    if data_start < header_end || !data_start.is_multiple_of(framing.data_alignment_bytes) {
        return Err(PduFault::header_field(3));
    }
    Ok(data_start)
}

fn expected_digests(kind: PduType, digests: Digests) -> (bool, bool) {
    match kind {
        PduType::IcReq | PduType::IcResp | PduType::H2cTermReq | PduType::C2hTermReq => {
            (false, false)
        }
        PduType::CapsuleResp | PduType::R2t => (digests.header, false),
        PduType::CapsuleCmd | PduType::H2cData | PduType::C2hData => (digests.header, digests.data),
    }
}

fn carries_data(kind: PduType) -> bool {
    !matches!(kind, PduType::IcReq | PduType::IcResp | PduType::CapsuleResp | PduType::R2t)
}

fn allowed_flags(kind: PduType) -> u8 {
    match kind {
        PduType::IcReq | PduType::IcResp | PduType::H2cTermReq | PduType::C2hTermReq => 0,
        PduType::CapsuleResp | PduType::R2t => FLAG_HEADER_DIGEST,
        PduType::CapsuleCmd => FLAG_HEADER_DIGEST | FLAG_DATA_DIGEST,
        PduType::H2cData => FLAG_HEADER_DIGEST | FLAG_DATA_DIGEST | FLAG_LAST,
        PduType::C2hData => FLAG_HEADER_DIGEST | FLAG_DATA_DIGEST | FLAG_LAST | FLAG_SUCCESS,
    }
}

/// Who may send what, and when: the handshake first and only once, a terminate request at any time.
pub(super) fn check_sequence(
    kind: PduType,
    receiver: Receiver,
    established: bool,
) -> Result<(), PduFault> {
    let (from_host, in_handshake, at_any_time) = match kind {
        PduType::IcReq => (true, true, false),
        PduType::IcResp => (false, true, false),
        PduType::H2cTermReq => (true, false, true),
        PduType::C2hTermReq => (false, false, true),
        PduType::CapsuleCmd | PduType::H2cData => (true, false, false),
        PduType::CapsuleResp | PduType::C2hData | PduType::R2t => (false, false, false),
    };
    if from_host != (receiver == Receiver::Controller) {
        return Err(PduFault::header_field(0));
    }
    if !at_any_time && in_handshake == established {
        return Err(PduFault::new(FatalStatus::SequenceError));
    }
    Ok(())
}
