//! The recorded sessions of a Linux host (see `golden/README.md`), command by command.

use std::ops::Range;

use ashlar_nvme::pdu::{Decoder, DecoderLimits, Digests, Framing, Pdu, Receiver, Step};
use ashlar_nvme::sqe::Sqe;

pub const ADMIN: &[u8] = include_bytes!("../golden/linux-6.12-admin.bin");
pub const IO: &[u8] = include_bytes!("../golden/linux-6.12-io.bin");

/// Asynchronous Event Request: has no answer until something happens.
pub const EVENT_REQUEST: u8 = 0x0c;

/// A command of a recording, and where it stands.
pub struct Recorded {
    pub sqe: Sqe,
    /// Its PDU.
    pub place: Range<usize>,
    /// Its in-capsule data, none of them as an empty range.
    pub data: Range<usize>,
}

/// The commands of a recorded session: what precedes the first is the handshake.
pub fn commands(session: &[u8]) -> Vec<Recorded> {
    let limits = DecoderLimits { command_data_bytes_max: 16 << 10, data_pdu_bytes_max: 0 };
    let mut decoder = Decoder::new(Receiver::Controller, limits);
    let mut input = session;
    let mut found: Vec<Recorded> = Vec::new();
    let mut start = 0;
    loop {
        let step = decoder.step(&mut input).expect("Linux keeps to the protocol");
        let at = session.len() - input.len();
        match step {
            Step::NeedMore => return found,
            Step::Header(Pdu::IcReq(request)) => {
                assert_eq!(request.digests, Digests::NONE);
                decoder.establish(Framing::HANDSHAKE);
                start = at;
            }
            Step::Header(Pdu::Command(sqe)) => {
                found.push(Recorded { sqe, place: start..at, data: at..at });
                start = at;
            }
            Step::Header(other) => panic!("unexpected {other:?}"),
            Step::Data(_) | Step::DataEnd { .. } => {
                let command = found.last_mut().expect("a command comes before its data");
                (command.place.end, command.data.end, start) = (at, at, at);
            }
        }
    }
}
