//! The decoder of PDUs: a stream means the same in whatever pieces it comes.

use ashlar_nvme::cqe::Cqe;
use ashlar_nvme::pdu::{
    DataDigest, DataHeader, Decoder, DecoderLimits, Digests, FatalStatus, Framing, IcReq, IcResp,
    Pdu, PduFault, R2t, Receiver, Step, TermReq, Ttag,
};
use ashlar_nvme::sqe::{Cid, Sqe};
use ashlar_nvme::status::Status;

use super::replay::Seed;

/// Bytes of an input before its stream: flags, alignment, and the seed of the pieces' lengths.
const PRELUDE_BYTES: usize = 3;
const LIMITS: DecoderLimits =
    DecoderLimits { command_data_bytes_max: 8192, data_pdu_bytes_max: 1 << 16 };

/// How a stream is decoded.
#[derive(Clone, Copy)]
struct Setting {
    receiver: Receiver,
    framing: Framing,
    established: bool,
}

impl Setting {
    fn of(flags: u8, alignment: u8) -> Self {
        let digests = Digests { header: flags & 2 != 0, data: flags & 4 != 0 };
        let data_alignment_bytes = (u32::from(alignment % 32) + 1) * 4;
        Setting {
            receiver: if flags & 1 == 0 { Receiver::Controller } else { Receiver::Host },
            framing: Framing { digests, data_alignment_bytes },
            established: flags & 8 != 0,
        }
    }

    fn decoder(&self) -> Decoder {
        let mut decoder = Decoder::new(self.receiver, LIMITS);
        if self.established {
            decoder.establish(self.framing);
        }
        decoder
    }
}

/// What a stream means.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Event {
    Header(Pdu),
    Data(Vec<u8>),
    DataEnd(bool),
    Fault(PduFault, Vec<u8>),
}

/// Decodes a stream that comes in `pieces`; payload goes past [`Decoder::step`] where `directly`
/// says so.
struct Run {
    decoder: Decoder,
    setting: Setting,
    events: Vec<Event>,
    directly: bool,
}

impl Run {
    fn new(setting: Setting, directly: bool) -> Self {
        Run { decoder: setting.decoder(), setting, events: Vec::new(), directly }
    }

    /// Takes a piece; false after a fault.
    fn take(&mut self, mut piece: &[u8]) -> bool {
        loop {
            self.take_directly(&mut piece);
            match self.decoder.step(&mut piece) {
                Ok(Step::NeedMore) => return true,
                Ok(Step::Header(pdu)) => self.header(pdu),
                Ok(Step::Data(data)) => self.data(data),
                Ok(Step::DataEnd { digest_ok }) => self.events.push(Event::DataEnd(digest_ok)),
                Err(fault) => {
                    self.events.push(Event::Fault(fault, self.decoder.header().to_vec()));
                    return false;
                }
            }
        }
    }

    fn take_directly(&mut self, piece: &mut &[u8]) {
        let count = piece.len().min(self.decoder.data_bytes_left() as usize);
        if self.directly && count > 0 {
            let (data, rest) = piece.split_at(count);
            self.decoder.received_directly(data);
            self.data(data);
            *piece = rest;
        }
    }

    fn header(&mut self, pdu: Pdu) {
        assert!(self.decoder.data_bytes_left() <= LIMITS.data_pdu_bytes_max);
        assert!(self.decoder.header().len() <= 128);
        if matches!(pdu, Pdu::IcReq(_) | Pdu::IcResp(_)) {
            self.decoder.establish(self.setting.framing);
        }
        self.events.push(Event::Header(pdu));
    }

    fn data(&mut self, data: &[u8]) {
        match self.events.last_mut() {
            Some(Event::Data(before)) => before.extend_from_slice(data),
            _ => self.events.push(Event::Data(data.to_vec())),
        }
    }
}

/// The stream's events if it comes in pieces of lengths drawn from `seed`; whole for 0.
fn decode(setting: Setting, stream: &[u8], seed: u8, directly: bool) -> Vec<Event> {
    let mut run = Run::new(setting, directly);
    let mut lengths = u32::from(seed);
    let mut rest = stream;
    while !rest.is_empty() {
        lengths = lengths.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
        let length = if seed == 0 { rest.len() } else { 1 + (lengths >> 24) as usize % 97 };
        let (piece, next) = rest.split_at(length.min(rest.len()));
        if !run.take(piece) {
            break;
        }
        rest = next;
    }
    run.events
}

/// The PDU as an input of its own, with the digests and the alignment of `setting`.
fn encode(setting: Setting, pdu: &Pdu, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    pdu.encode(data.len() as u32, setting.framing, &mut bytes);
    bytes.extend_from_slice(data);
    let term = matches!(pdu, Pdu::HostTermReq(_) | Pdu::ControllerTermReq(_));
    if setting.framing.digests.data && !data.is_empty() && !term {
        let mut digest = DataDigest::default();
        digest.update(data);
        bytes.extend_from_slice(&digest.to_bytes());
    }
    bytes
}

/// What was read is read again after it was written, with every kind of framing.
fn check_stable(setting: Setting, pdu: &Pdu, data: &[u8]) {
    let handshake = matches!(pdu, Pdu::IcReq(_) | Pdu::IcResp(_));
    for flags in 0..4 {
        let digests = Digests { header: flags & 1 != 0, data: flags & 2 != 0 };
        let framing = Framing { digests, ..setting.framing };
        let setting = Setting { framing, established: !handshake, ..setting };
        let mut expected = vec![Event::Header(*pdu)];
        if !data.is_empty() {
            expected.extend([Event::Data(data.to_vec()), Event::DataEnd(true)]);
        }
        assert_eq!(decode(setting, &encode(setting, pdu, data), 7, false), expected);
    }
}

fn check_all_stable(setting: Setting, events: &[Event]) {
    for (at, event) in events.iter().enumerate() {
        match (event, events.get(at + 1), events.get(at + 2)) {
            (Event::Header(pdu), Some(Event::Data(data)), Some(Event::DataEnd(_))) => {
                check_stable(setting, pdu, data);
            }
            // Payload that did not come whole cannot be written again.
            (Event::Header(Pdu::H2cData(_) | Pdu::C2hData(_)), _, _) => {}
            (Event::Header(pdu), _, _) => check_stable(setting, pdu, &[]),
            _ => {}
        }
    }
}

/// Decodes a stream whole and in pieces.
pub fn check(input: &[u8]) {
    let Some((&[flags, alignment, seed], stream)) = input.split_first_chunk::<PRELUDE_BYTES>()
    else {
        return;
    };
    let setting = Setting::of(flags, alignment);
    let whole = decode(setting, stream, 0, false);
    let payload =
        whole.iter().map(|event| if let Event::Data(data) = event { data.len() } else { 0 });
    assert!(payload.sum::<usize>() <= stream.len(), "payload from nowhere");
    assert_eq!(decode(setting, stream, seed | 1, false), whole, "cut in pieces");
    assert_eq!(decode(setting, stream, seed | 1, true), whole, "received directly");
    check_all_stable(setting, &whole);
}

/// A stream of each PDU, for each framing that matters.
pub fn seeds() -> Vec<Seed> {
    vec![
        ("controller-plain", seed(0b1000, 0)),
        ("controller-digests", seed(0b1110, 15)),
        ("controller-handshake", seed(0b0000, 0)),
        ("host-plain", seed(0b1001, 0)),
        ("host-digests", seed(0b1111, 31)),
        ("host-handshake", seed(0b0001, 0)),
        (
            "fault-sequence",
            [&[0b1000, 0, 3][..], &encode(Setting::of(0, 0), &ic_req(), &[])].concat(),
        ),
    ]
}

fn ic_req() -> Pdu {
    Pdu::IcReq(IcReq {
        format_version: 0,
        data_alignment_bytes: 64,
        digests: Digests::NONE,
        r2t_max: 1,
    })
}

fn seed(flags: u8, alignment: u8) -> Vec<u8> {
    let setting = Setting::of(flags, alignment);
    let mut bytes = vec![flags, alignment, 5];
    for (pdu, data) in pdus(&setting) {
        bytes.extend(encode(setting, &pdu, &data));
    }
    bytes
}

fn pdus(setting: &Setting) -> Vec<(Pdu, Vec<u8>)> {
    let data = DataHeader {
        cid: Cid(2),
        ttag: Ttag(1),
        offset: 0,
        length: 24,
        last: true,
        success: false,
    };
    let term = TermReq { status: FatalStatus::SequenceError as u16, information: 4 };
    let handshake = match setting.receiver {
        Receiver::Controller => ic_req(),
        Receiver::Host => Pdu::IcResp(IcResp {
            format_version: 0,
            data_alignment_bytes: 4,
            digests: Digests::NONE,
            h2c_data_bytes_max: 1 << 16,
        }),
    };
    let session = match setting.receiver {
        Receiver::Controller => vec![
            (Pdu::Command(Sqe::new(2, Cid(1), 1)), Vec::new()),
            (Pdu::Command(Sqe::new(1, Cid(2), 1)), vec![7; 40]),
            (Pdu::H2cData(data), vec![9; 24]),
            (Pdu::HostTermReq(term), vec![4; 24]),
        ],
        Receiver::Host => vec![
            (Pdu::R2t(R2t { cid: Cid(2), ttag: Ttag(1), offset: 0, length: 4096 }), Vec::new()),
            (Pdu::C2hData(DataHeader { success: true, ..data }), vec![9; 24]),
            (Pdu::Response(Cqe::new(Cid(2), Status::SUCCESS, 5)), Vec::new()),
            (Pdu::ControllerTermReq(term), vec![4; 24]),
        ],
    };
    let first = (!setting.established).then_some((handshake, Vec::new()));
    first.into_iter().chain(session).collect()
}
