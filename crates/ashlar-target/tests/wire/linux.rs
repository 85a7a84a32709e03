//! The recorded sessions of a Linux host, played back.

use ashlar_nvme::cqe::Cqe;
use ashlar_nvme::fabrics::{CNTLID_DYNAMIC, ConnectData, FABRICS_OPCODE};
use ashlar_nvme::pdu::Digests;
use ashlar_nvme::sqe::Sqe;
use ashlar_nvme::status::Status;
use ashlar_nvme::text::nqn_field;
use ashlar_nvme::zerocopy::{FromBytes, IntoBytes};
use ashlar_volume::Nsid;
use ashlar_volume::memory_door::MemoryVolumeOptions;

use crate::support::recording::{ADMIN, EVENT_REQUEST, IO, Recorded, commands};
use crate::support::{Queue, Rig, SUBSYSTEM, VOLUME_BYTES};

/// Sends the commands one after the other, up to the first event request, and returns the answers.
fn play(queue: &mut Queue, session: &[u8], controller_id: u16) -> Vec<(Sqe, Cqe, Vec<u8>)> {
    let mut answers = Vec::new();
    for command in commands(session) {
        let (sqe, mut data) = (command.sqe, session[command.data].to_vec());
        if (sqe.opcode, sqe.nsid.get()) == (FABRICS_OPCODE, 1) {
            let mut connect = ConnectData::read_from_bytes(&data).unwrap();
            connect.subsystem_nqn = nqn_field(SUBSYSTEM);
            connect.controller_id = controller_id.into();
            data = connect.as_bytes().to_vec();
        }
        queue.send_command(sqe, &data);
        if sqe.opcode == EVENT_REQUEST {
            break;
        }
        let (cqe, read) = queue.finish(&[]);
        assert_eq!(cqe.cid, sqe.cid);
        answers.push((sqe, cqe, read));
    }
    answers
}

fn rig() -> Rig {
    let rig = Rig::start();
    let small = MemoryVolumeOptions { lba_bytes: 512, ..MemoryVolumeOptions::new(VOLUME_BYTES) };
    rig.door.add(Nsid(2), small);
    rig
}

#[test]
fn everything_that_linux_asks_up_to_its_first_event_request_succeeds() {
    let rig = rig();
    let mut admin = Queue::shaken(rig.io, Digests::NONE);
    let answers = play(&mut admin, ADMIN, CNTLID_DYNAMIC);
    assert_eq!(answers.len(), 13);
    for (sqe, cqe, _) in &answers {
        assert_eq!(cqe.status(), Status::SUCCESS, "{sqe:?}");
    }
}

#[test]
fn a_whole_session_of_linux_is_answered() {
    let rig = rig();
    let mut admin = Queue::shaken(rig.io, Digests::NONE);
    let connected = play(&mut admin, ADMIN, CNTLID_DYNAMIC);
    let mut io = Queue::shaken(rig.io, Digests::NONE);
    for (sqe, cqe, read) in play(&mut io, IO, connected[0].1.result.get() as u16) {
        assert_eq!(cqe.status(), Status::SUCCESS, "{sqe:?}");
        assert!(sqe.opcode != 2 || read.len() == 4096);
    }
    // The scan of namespaces, up to the reset.
    let scan = commands(ADMIN).into_iter().skip(connected.len() + 1);
    for Recorded { sqe, data, .. } in
        scan.take_while(|command| command.sqe.opcode != FABRICS_OPCODE)
    {
        let (cqe, read) = admin.exchange(sqe, &ADMIN[data]);
        assert_eq!((cqe.cid, cqe.status()), (sqe.cid, Status::SUCCESS), "{sqe:?}");
        assert_eq!(read.len(), 4096);
    }
}
