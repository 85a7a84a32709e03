use proptest::prelude::*;
use zerocopy::FromBytes;

use super::{
    DataDigest, DataHeader, Decoder, DecoderLimits, Digests, FatalStatus, Framing, IcReq, IcResp,
    Pdu, PduFault, R2t, Receiver, Step, TermReq, Ttag, crc32c,
};
use crate::cqe::Cqe;
use crate::sqe::{Cid, Sqe};
use crate::status::Status;

const LIMITS: DecoderLimits =
    DecoderLimits { command_data_bytes_max: 16384, data_pdu_bytes_max: 131_072 };
const BOTH: Framing =
    Framing { digests: Digests { header: true, data: true }, data_alignment_bytes: 4 };

/// A PDU with its payload and digests.
fn encode(pdu: Pdu, data: &[u8], framing: Framing) -> Vec<u8> {
    let mut out = Vec::new();
    pdu.encode(data.len() as u32, framing, &mut out);
    out.extend_from_slice(data);
    let carries = !matches!(pdu, Pdu::HostTermReq(_) | Pdu::ControllerTermReq(_));
    if carries && framing.digests.data && !data.is_empty() {
        let mut digest = DataDigest::default();
        digest.update(data);
        out.extend_from_slice(&digest.to_bytes());
    }
    out
}

fn established(receiver: Receiver, framing: Framing) -> Decoder {
    let mut decoder = Decoder::new(receiver, LIMITS);
    decoder.establish(framing);
    decoder
}

/// Every PDU of `stream`, cut into `piece_bytes`, with its payload.
fn decode_all(
    decoder: &mut Decoder,
    stream: &[u8],
    piece_bytes: usize,
) -> Result<Vec<(Pdu, Vec<u8>)>, PduFault> {
    let mut found: Vec<(Pdu, Vec<u8>)> = Vec::new();
    for mut piece in stream.chunks(piece_bytes) {
        loop {
            match decoder.step(&mut piece)? {
                Step::NeedMore => break,
                Step::Header(pdu) => found.push((pdu, Vec::new())),
                Step::Data(data) => found.last_mut().unwrap().1.extend_from_slice(data),
                Step::DataEnd { digest_ok } => assert!(digest_ok),
            }
        }
        assert!(piece.is_empty());
    }
    Ok(found)
}

fn fault_of(receiver: Receiver, framing: Option<Framing>, stream: &[u8]) -> PduFault {
    let mut decoder = Decoder::new(receiver, LIMITS);
    if let Some(framing) = framing {
        decoder.establish(framing);
    }
    decode_all(&mut decoder, stream, stream.len()).unwrap_err()
}

const IC_REQ: IcReq = IcReq {
    format_version: 0,
    data_alignment_bytes: 8,
    digests: Digests { header: true, data: false },
    r2t_max: 16,
};

#[test]
fn golden_ic_req() {
    let bytes = encode(Pdu::IcReq(IC_REQ), &[], Framing::HANDSHAKE);
    assert_eq!(bytes[..16], [0, 0, 128, 0, 128, 0, 0, 0, 0, 0, 1, 1, 15, 0, 0, 0]);
    assert_eq!(bytes[16..], [0; 112]);
}

#[test]
fn golden_ic_resp() {
    let response = IcResp {
        format_version: 0,
        data_alignment_bytes: 4,
        digests: Digests { header: false, data: true },
        h2c_data_bytes_max: 0x0002_0000,
    };
    let bytes = encode(Pdu::IcResp(response), &[], Framing::HANDSHAKE);
    assert_eq!(bytes[..16], [1, 0, 128, 0, 128, 0, 0, 0, 0, 0, 0, 2, 0, 0, 2, 0]);
    let mut decoder = Decoder::new(Receiver::Host, LIMITS);
    assert_eq!(decode_all(&mut decoder, &bytes, 7).unwrap()[0].0, Pdu::IcResp(response));
}

#[test]
fn golden_command_capsule_with_data() {
    let sqe = Sqe::new(1, Cid(2), 1);
    let bytes = encode(Pdu::Command(sqe), &[0xaa; 8], Framing::HANDSHAKE);
    assert_eq!(bytes[..8], [4, 0, 72, 72, 80, 0, 0, 0]);
    assert_eq!(bytes[72..], [0xaa; 8]);
    let with_digests = encode(Pdu::Command(sqe), &[0xaa; 8], BOTH);
    assert_eq!(with_digests[..8], [4, 3, 72, 76, 88, 0, 0, 0]);
    assert_eq!(with_digests[72..76], crc32c(&with_digests[..72]).to_le_bytes());
    assert_eq!(with_digests[84..], crc32c(&[0xaa; 8]).to_le_bytes());
}

#[test]
fn golden_response_capsule() {
    let bytes = encode(Pdu::Response(Cqe::new(Cid(3), Status::SUCCESS, 0)), &[], BOTH);
    assert_eq!(bytes[..8], [5, 1, 24, 0, 28, 0, 0, 0]);
    assert_eq!(bytes.len(), 28);
}

#[test]
fn golden_data_and_r2t() {
    let data = DataHeader {
        cid: Cid(0x0102),
        ttag: Ttag(0),
        offset: 4096,
        length: 4,
        last: true,
        success: true,
    };
    let bytes = encode(Pdu::C2hData(data), &[9; 4], Framing::HANDSHAKE);
    let golden = [
        7, 0x0c, 24, 24, 28, 0, 0, 0, 2, 1, 0, 0, 0, 0x10, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9,
    ];
    assert_eq!(bytes, golden);
    let r2t = R2t { cid: Cid(0x0102), ttag: Ttag(0x0304), offset: 0, length: 0x0002_0000 };
    let bytes = encode(Pdu::R2t(r2t), &[], Framing::HANDSHAKE);
    assert_eq!(bytes, [9, 0, 24, 0, 24, 0, 0, 0, 2, 1, 4, 3, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0]);
    let data = DataHeader { ttag: Ttag(7), success: false, ..data };
    let bytes = encode(Pdu::H2cData(data), &[9; 4], Framing::HANDSHAKE);
    assert_eq!(bytes[..12], [6, 0x04, 24, 24, 28, 0, 0, 0, 2, 1, 7, 0]);
}

#[test]
fn golden_terminate_request() {
    let term = TermReq::from(PduFault::header_field(0x0102_0304));
    let bytes = encode(Pdu::ControllerTermReq(term), &[0x55; 8], BOTH);
    assert_eq!(bytes[..14], [3, 0, 24, 0, 32, 0, 0, 0, 1, 0, 4, 3, 2, 1]);
    assert_eq!(bytes[14..24], [0; 10]);
    assert_eq!(bytes[24..], [0x55; 8]);
}

#[test]
fn crc32c_has_its_known_check_value() {
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
}

#[test]
fn payload_stands_at_the_alignment_asked_for() {
    let framing = Framing { data_alignment_bytes: 128, ..BOTH };
    let data = DataHeader {
        cid: Cid(1),
        ttag: Ttag(0),
        offset: 0,
        length: 16,
        last: true,
        success: false,
    };
    let bytes = encode(Pdu::C2hData(data), &[1; 16], framing);
    assert_eq!(bytes[3], 128);
    assert_eq!(bytes[28..128], [0; 100]);
    let found = decode_all(&mut established(Receiver::Host, framing), &bytes, 5).unwrap();
    assert_eq!(found, [(Pdu::C2hData(data), vec![1; 16])]);
}

#[test]
fn payload_received_directly_counts_for_the_digest() {
    let sqe = Sqe::new(1, Cid(2), 1);
    let bytes = encode(Pdu::Command(sqe), &[7; 4096], BOTH);
    let mut decoder = established(Receiver::Controller, BOTH);
    let mut input = &bytes[..80];
    assert_eq!(decoder.step(&mut input), Ok(Step::Header(Pdu::Command(sqe))));
    assert_eq!(decoder.data_bytes_left(), 4096);
    assert_eq!(decoder.step(&mut input), Ok(Step::Data(&[7; 4][..])));
    decoder.received_directly(&bytes[80..76 + 4096]);
    assert_eq!(decoder.data_bytes_left(), 0);
    let mut rest = &bytes[76 + 4096..];
    assert_eq!(decoder.step(&mut rest), Ok(Step::DataEnd { digest_ok: true }));
}

#[test]
fn a_wrong_data_digest_is_told_and_the_stream_goes_on() {
    let sqe = Sqe::new(1, Cid(2), 1);
    let mut bytes = encode(Pdu::Command(sqe), &[7; 16], BOTH);
    *bytes.last_mut().unwrap() ^= 1;
    bytes.extend(encode(Pdu::Command(sqe), &[], BOTH));
    let mut decoder = established(Receiver::Controller, BOTH);
    let mut input = &bytes[..];
    assert_eq!(decoder.step(&mut input), Ok(Step::Header(Pdu::Command(sqe))));
    assert!(matches!(decoder.step(&mut input), Ok(Step::Data(_))));
    assert_eq!(decoder.step(&mut input), Ok(Step::DataEnd { digest_ok: false }));
    assert_eq!(decoder.step(&mut input), Ok(Step::Header(Pdu::Command(sqe))));
}

#[test]
fn a_wrong_header_digest_ends_the_connection() {
    let mut bytes = encode(Pdu::Command(Sqe::new(1, Cid(2), 1)), &[], BOTH);
    bytes[20] ^= 0x80;
    let received = u32::from_le_bytes(bytes[72..76].try_into().unwrap());
    let fault = fault_of(Receiver::Controller, Some(BOTH), &bytes);
    assert_eq!(fault, PduFault { status: FatalStatus::HeaderDigestError, information: received });
}

#[test]
fn faults_name_the_field() {
    let command = || encode(Pdu::Command(Sqe::new(1, Cid(2), 1)), &[0; 8], Framing::HANDSHAKE);
    let with = |index: usize, value: u8| {
        let mut bytes = command();
        bytes[index] = value;
        fault_of(Receiver::Controller, Some(Framing::HANDSHAKE), &bytes)
    };
    assert_eq!(with(0, 0x08), PduFault::header_field(0));
    assert_eq!(with(0, 0x0b), PduFault::header_field(0));
    assert_eq!(with(0, 0x05), PduFault::header_field(0), "a response that comes from a host");
    assert_eq!(with(1, 0x01), PduFault::header_field(1), "a header digest that was not agreed");
    assert_eq!(with(1, 0x02), PduFault::header_field(1), "a data digest that was not agreed");
    assert_eq!(with(1, 0x04), PduFault::header_field(1), "a flag of data PDUs");
    assert_eq!(with(2, 71), PduFault::header_field(2));
    assert_eq!(with(2, 0), PduFault::header_field(2));
    assert_eq!(with(3, 71), PduFault::header_field(3), "payload within the header");
    assert_eq!(with(3, 74), PduFault::header_field(3), "payload off its alignment");
    assert_eq!(with(3, 96), PduFault::header_field(4), "payload behind the end");
    assert_eq!(with(4, 71), PduFault::header_field(4), "shorter than its header");
    assert_eq!(with(6, 1), PduFault::header_field(4), "more in-capsule data than allowed");
    assert_eq!(with(7, 0xff), PduFault::header_field(4));
}

#[test]
fn the_handshake_comes_first_and_once() {
    let sequence = PduFault::new(FatalStatus::SequenceError);
    let command = encode(Pdu::Command(Sqe::new(1, Cid(2), 1)), &[], Framing::HANDSHAKE);
    assert_eq!(fault_of(Receiver::Controller, None, &command), sequence);
    let ic_req = encode(Pdu::IcReq(IC_REQ), &[], Framing::HANDSHAKE);
    assert_eq!(fault_of(Receiver::Controller, Some(Framing::HANDSHAKE), &ic_req), sequence);
    let term =
        encode(Pdu::HostTermReq(TermReq { status: 2, information: 0 }), &[], Framing::HANDSHAKE);
    assert!(decode_all(&mut Decoder::new(Receiver::Controller, LIMITS), &term, 24).is_ok());
}

#[test]
fn handshake_parameters_out_of_range_are_refused() {
    let with = |index: usize, value: u8| {
        let mut bytes = encode(Pdu::IcReq(IC_REQ), &[], Framing::HANDSHAKE);
        bytes[index] = value;
        fault_of(Receiver::Controller, None, &bytes)
    };
    assert_eq!(with(8, 1), PduFault::unsupported_parameter(8));
    assert_eq!(with(10, 32), PduFault::header_field(10));
    assert_eq!(with(4, 0), PduFault::header_field(4));
}

#[test]
fn data_length_and_pdu_length_must_agree() {
    let data =
        DataHeader { cid: Cid(1), ttag: Ttag(1), offset: 0, length: 8, last: true, success: false };
    let mut bytes = encode(Pdu::H2cData(data), &[0; 8], Framing::HANDSHAKE);
    bytes[16] = 9;
    let fault = fault_of(Receiver::Controller, Some(Framing::HANDSHAKE), &bytes);
    assert_eq!(fault, PduFault::header_field(16));
    let empty = encode(Pdu::H2cData(DataHeader { length: 0, ..data }), &[], Framing::HANDSHAKE);
    let fault = fault_of(Receiver::Controller, Some(Framing::HANDSHAKE), &empty);
    assert_eq!(fault, PduFault::header_field(16));
}

#[test]
fn more_data_than_agreed_is_refused_before_it_is_read() {
    let length = LIMITS.data_pdu_bytes_max + 4;
    let data =
        DataHeader { cid: Cid(1), ttag: Ttag(1), offset: 0, length, last: true, success: false };
    let mut bytes = Vec::new();
    Pdu::H2cData(data).encode(length, Framing::HANDSHAKE, &mut bytes);
    let fault = fault_of(Receiver::Controller, Some(Framing::HANDSHAKE), &bytes[..8]);
    assert_eq!(fault, PduFault::new(FatalStatus::DataLimitExceeded));
}

#[test]
fn the_header_complained_of_is_kept() {
    let mut bytes = encode(Pdu::Command(Sqe::new(1, Cid(2), 1)), &[], Framing::HANDSHAKE);
    bytes[0] = 0x42;
    let mut decoder = established(Receiver::Controller, Framing::HANDSHAKE);
    assert!(decode_all(&mut decoder, &bytes, 72).is_err());
    assert_eq!(decoder.header(), &bytes[..8]);
}

fn any_sqe() -> impl Strategy<Value = Pdu> {
    proptest::collection::vec(any::<u8>(), 64)
        .prop_map(|bytes| Pdu::Command(Sqe::read_from_bytes(&bytes).unwrap()))
}

fn any_framing() -> impl Strategy<Value = Framing> {
    (any::<bool>(), any::<bool>(), 0..32u32).prop_map(|(header, data, exponent)| Framing {
        digests: Digests { header, data },
        data_alignment_bytes: (exponent + 1) * 4,
    })
}

fn any_data(length: u32) -> impl Strategy<Value = Pdu> {
    (any::<u16>(), any::<u16>(), any::<u32>(), any::<bool>()).prop_map(
        move |(cid, ttag, offset, last)| {
            Pdu::H2cData(DataHeader {
                cid: Cid(cid),
                ttag: Ttag(ttag),
                offset,
                length,
                last,
                success: false,
            })
        },
    )
}

proptest! {
    #[test]
    fn what_a_host_sends_reads_back_in_any_pieces(
        commands in proptest::collection::vec((any_sqe(), 0..300usize), 1..4),
        data in (1..2000u32).prop_flat_map(|length| (any_data(length), Just(length))),
        framing in any_framing(),
        piece_bytes in 1..400usize,
    ) {
        let mut want: Vec<_> =
            commands.into_iter().map(|(pdu, length)| (pdu, vec![length as u8; length])).collect();
        want.push((data.0, vec![3; data.1 as usize]));
        let stream: Vec<u8> = want.iter().flat_map(|(pdu, data)| encode(*pdu, data, framing)).collect();
        let found = decode_all(&mut established(Receiver::Controller, framing), &stream, piece_bytes).unwrap();
        prop_assert_eq!(found, want);
    }

    #[test]
    fn random_bytes_never_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..600),
        framing in any_framing(),
        piece_bytes in 1..100usize,
        kind in 0..12u8,
        controller in any::<bool>(),
        shaken in any::<bool>(),
    ) {
        let receiver = if controller { Receiver::Controller } else { Receiver::Host };
        let mut decoder = Decoder::new(receiver, LIMITS);
        if shaken {
            decoder.establish(framing);
        }
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = kind;
        }
        for mut piece in bytes.chunks(piece_bytes) {
            while let Ok(step) = decoder.step(&mut piece) {
                if step == Step::NeedMore {
                    break;
                }
            }
            prop_assert!(decoder.header().len() <= 128);
        }
    }

    #[test]
    fn random_commands_never_panic(bytes in proptest::collection::vec(any::<u8>(), 64)) {
        let sqe = Sqe::read_from_bytes(&bytes).unwrap();
        let _ = crate::admin::AdminCommand::parse(&sqe);
        let _ = crate::io::IoCommand::parse(&sqe);
        let _ = crate::fabrics::FabricsCommand::parse(&sqe);
        let _ = (sqe.fuse(), sqe.sgl.location(), sqe.check_data_pointer());
    }
}
