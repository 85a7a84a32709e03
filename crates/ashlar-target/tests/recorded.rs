//! The recorded sessions of a Linux host, each reset after every one of its bytes: nothing is left
//! of them, counted to the byte and to the descriptor, and nothing of what was not whole is
//! applied, then or later.
//!
//! One test alone in its process: what others allocate would be counted, too. The host waits for
//! each answer, as the recorded one did. Changed in what it sends are the subsystem, the
//! controller, the keep alive (there is none, so that the test may take its time) and the content
//! of the written blocks, which was zeros.

mod support;

use std::cell::Cell;
use std::net::SocketAddr;
use std::time::Duration;

use ashlar_block::AlignedBuf;
use ashlar_nvme::fabrics::{CNTLID_DYNAMIC, ConnectData};
use ashlar_nvme::io::{BlockRange, IoCommand};
use ashlar_nvme::pdu::{DataHeader, Digests, Pdu};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::Sqe;
use ashlar_nvme::text::nqn_field;
use ashlar_nvme::zerocopy::{FromBytes, IntoBytes};
use ashlar_reactor::Config;
use ashlar_reactor::allocations::{self, Counting, Live};
use ashlar_target::nvme_tcp::Limits;
use ashlar_volume::memory_door::{MemoryVolume, MemoryVolumeOptions};
use ashlar_volume::{Nsid, VolumeIo};
use bytes::Bytes;
use futures_util::FutureExt;
use support::left::{open_files, reset};
use support::recording::{ADMIN, EVENT_REQUEST, IO, Recorded, commands};
use support::{Queue, Rig, SUBSYSTEM, VOLUME_BYTES, eventually};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const BLOCK_BYTES: usize = 4096;
/// What both blocks hold that the recorded host changes, before it comes.
const BEFORE: u8 = 0xab;
/// Every so many bytes a session is reset before anything is counted.
const STRIDE: usize = 13;
/// Connections at a time before anything is counted: more than there ever are afterwards.
const CROWD: usize = 32;

/// A recorded session, as it is sent.
struct Session {
    bytes: Vec<u8>,
    commands: Vec<Recorded>,
}

impl Session {
    fn new(recording: &[u8], controller_id: u16) -> Self {
        let mut session = Session { bytes: recording.to_vec(), commands: commands(recording) };
        let connect = &session.commands[0];
        let keep_alive = connect.place.start + 8 + 48;
        session.bytes[keep_alive..keep_alive + 4].fill(0);
        let place = &mut session.bytes[connect.data.clone()];
        let mut data = ConnectData::read_from_bytes(place).unwrap();
        data.subsystem_nqn = nqn_field(SUBSYSTEM);
        data.controller_id = controller_id.into();
        place.copy_from_slice(data.as_bytes());
        for (number, command) in
            session.commands.iter().enumerate().filter(|(_, command)| command.sqe.opcode == 1)
        {
            session.bytes[command.data.clone()].fill(number as u8);
        }
        session
    }

    /// Sends the first `length` bytes; whatever is whole in them and has something behind it has
    /// been answered then.
    fn send(&self, address: SocketAddr, length: usize) -> Queue {
        let mut queue = Queue::open(address);
        let handshake = self.commands[0].place.start;
        queue.send_raw(&self.bytes[..handshake.min(length)]);
        if length > handshake {
            assert!(matches!(queue.receive(), Some((Pdu::IcResp(_), _))));
            queue.expect(4, Digests::NONE);
        }
        for Recorded { sqe, place, .. } in
            self.commands.iter().take_while(|command| command.place.start < length)
        {
            queue.send_raw(&self.bytes[place.start..place.end.min(length)]);
            if place.end < length {
                await_answer(&mut queue, sqe);
            }
        }
        queue
    }

    /// The recorded host's admin queue, which stays.
    fn connect(&self, address: SocketAddr) -> Queue {
        let request =
            self.commands.iter().find(|command| command.sqe.opcode == EVENT_REQUEST).unwrap();
        self.send(address, request.place.end)
    }

    /// What both blocks hold after the first `length` bytes. The last command may be unanswered:
    /// without it and with it.
    fn contents(&self, length: usize) -> [[u8; 2]; 2] {
        let mut contents = [[BEFORE; 2]; 2];
        for command in self.commands.iter().filter(|command| command.place.end <= length) {
            let changed = self.change(contents[1], command);
            contents = [if command.place.end < length { changed } else { contents[1] }, changed];
        }
        contents
    }

    /// The blocks, each as the byte that fills it, after `command`.
    fn change(&self, mut blocks: [u8; 2], command: &Recorded) -> [u8; 2] {
        let data = &self.bytes[command.data.clone()];
        match command.sqe.opcode {
            1 => blocks[(command.sqe.cdw(10) / 8) as usize] = data[0],
            // Of the first 2048 blocks of 512 bytes, which is what the recorded host does.
            9 if command.sqe.nsid.get() == 2 => {
                assert_eq!(data[4..16], [0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
                blocks = [0; 2];
            }
            _ => {}
        }
        blocks
    }
}

fn await_answer(queue: &mut Queue, sqe: &Sqe) {
    // A reset of the controller may answer the event request first.
    while sqe.opcode != EVENT_REQUEST && queue.finish(&[]).0.cid != sqe.cid {}
}

/// What there is of what could leak.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Held {
    files: usize,
    memory: Live,
}

/// The volume with the blocks that the recorded host changes, which are all that it ever holds.
struct Witness {
    volume: MemoryVolume,
    /// What was found in them last, each as the byte that fills it.
    found: Cell<[u8; 2]>,
}

impl Witness {
    fn new(volume: MemoryVolume) -> Self {
        Witness { volume, found: Cell::new([0; 2]) }
    }

    fn blocks(&self) -> [u8; 2] {
        let data =
            self.volume.read(0, 2 * BLOCK_BYTES).now_or_never().expect("it is not held").unwrap();
        assert!(
            data.chunks(BLOCK_BYTES).all(|block| block.iter().all(|byte| *byte == block[0])),
            "a part of a block"
        );
        [data[0], data[BLOCK_BYTES]]
    }

    /// They hold one of `allowed`.
    fn see(&self, allowed: &[[u8; 2]], what: &str) {
        self.found.set(self.blocks());
        assert!(
            allowed.contains(&self.found.get()),
            "{:x?} {what}, not {allowed:x?}",
            self.found.get()
        );
    }

    /// Fills them, if they are what they were last.
    fn fill(&self) {
        assert_eq!(self.blocks(), self.found.get(), "something was applied late");
        let data = Bytes::from_static(&[BEFORE; 2 * BLOCK_BYTES]);
        self.volume.write(0, data).now_or_never().expect("it is not held").unwrap();
        self.found.set([BEFORE; 2]);
    }
}

/// What is held once the target has nothing to do. A last session goes before: with each the target
/// forgets what it noted of those that had ended.
fn held(rig: &mut Rig, witness: &Witness) -> Held {
    let files = open_files();
    rig.rest();
    drop(rig.host());
    eventually("the last session has ended", || open_files() <= files);
    rig.rest();
    witness.fill();
    // The daemon reads them all the time; who reads none holds the last of them.
    drop(rig.target.take_visits());
    AlignedBuf::free_kept();
    let files = open_files();
    Held { files, memory: allocations::live() }
}

/// Has `reset_after` end a session after each of `cuts`, and finds what was held before and nothing
/// else.
fn leaves_nothing(
    rig: &mut Rig,
    witness: &Witness,
    cuts: &[usize],
    reset_after: impl Fn(&Rig, usize),
) {
    let files = open_files();
    let pass = |rig: &mut Rig, stride: usize| {
        for cut in cuts.iter().step_by(stride) {
            reset_after(rig, *cut);
            eventually("the connection is closed", || open_files() <= files);
        }
        held(rig, witness)
    };
    // What the target keeps for ever it has after some sessions; then the same is found twice.
    let mut before = pass(rig, STRIDE);
    for _ in 0..10 {
        let last = before;
        before = pass(rig, STRIDE);
        if before == last {
            break;
        }
    }
    let mut after = pass(rig, 1);
    // What was on its way when it was counted is not, a moment later.
    for _ in 0..10 {
        if after == before {
            return;
        }
        after = held(rig, witness);
    }
    assert_eq!(after, before, "after {} sessions", cuts.len());
}

/// As many connections at a time as there never are again, and what they take while they last.
fn crowd(rig: &mut Rig, witness: &Witness) {
    let before = held(rig, witness);
    let crowd: Vec<Queue> = (0..CROWD).map(|_| rig.admin()).collect();
    let during = held(rig, witness);
    assert!(
        during.files >= before.files + 2 * CROWD,
        "the test would not notice a file: {before:?}, {during:?}"
    );
    assert!(
        during.memory.blocks > before.memory.blocks + CROWD as u64,
        "nor memory: {before:?}, {during:?}"
    );
    drop(crowd);
    eventually("every host is gone", || rig.target.connected_hosts().is_empty());
    eventually("every file is closed", || open_files() <= before.files);
}

fn admin_session(rig: &mut Rig, witness: &Witness) {
    let session = Session::new(ADMIN, CNTLID_DYNAMIC);
    let cuts: Vec<usize> = (0..=session.bytes.len()).collect();
    leaves_nothing(rig, witness, &cuts, |rig, cut| reset(session.send(rig.io, cut)));
}

fn io_session(rig: &mut Rig, witness: &Witness) {
    let _admin = Session::new(ADMIN, CNTLID_DYNAMIC).connect(rig.io);
    let controller_id = rig.target.connected_hosts()[0].controller_id;
    let session = Session::new(IO, controller_id);
    let cuts: Vec<usize> = (0..=session.bytes.len()).collect();
    leaves_nothing(rig, witness, &cuts, |rig, cut| {
        witness.fill();
        reset(session.send(rig.io, cut));
        eventually("the queue is gone", || rig.target.connected_hosts()[0].io_queues == 0);
        witness.see(&session.contents(cut), &format!("after {cut} bytes"));
    });
}

/// A queue of `admin`'s that the target has asked for the data of a write, and the PDU that they
/// come in.
fn asked(rig: &Rig, admin: &Queue) -> (Queue, Vec<u8>) {
    let mut queue = Queue::io(rig.io, admin, 1);
    let range = BlockRange { start: 0, count: 8 };
    let mut sqe = IoCommand::Write { range, force_unit_access: false }.to_sqe(queue.cid(), 2);
    sqe.sgl = SglDescriptor::transport(BLOCK_BYTES as u32);
    queue.send_command(sqe, &[]);
    let Some((Pdu::R2t(r2t), _)) = queue.receive() else { panic!("no R2T") };
    let (cid, ttag, length) = (r2t.cid, r2t.ttag, r2t.length);
    let header = DataHeader { cid, ttag, offset: 0, length, last: true, success: false };
    let bytes = queue.encode(&Pdu::H2cData(header), &[!BEFORE; BLOCK_BYTES]);
    (queue, bytes)
}

/// What the recording does not have: data that the target has asked for.
fn data_that_were_asked_for(rig: &mut Rig, witness: &Witness) {
    let admin = rig.admin();
    let cuts: Vec<usize> = (0..24 + BLOCK_BYTES).collect();
    leaves_nothing(rig, witness, &cuts, |rig, cut| {
        let (mut queue, bytes) = asked(rig, &admin);
        queue.send_raw(&bytes[..cut]);
        reset(queue);
        eventually("the queue is gone", || rig.target.connected_hosts()[0].io_queues == 0);
        witness.see(&[[BEFORE; 2]], &format!("after {cut} bytes of data"));
    });
}

#[test]
fn recorded_sessions_reset_after_every_byte_leave_nothing_and_apply_nothing_late() {
    let config = Config { idle_after: Duration::from_millis(50), ..Config::default() };
    let mut rig = Rig::configured(Limits::default(), config);
    let sectors = MemoryVolumeOptions { lba_bytes: 512, ..MemoryVolumeOptions::new(VOLUME_BYTES) };
    let witness = Witness::new(rig.door.add(Nsid(2), sectors));
    crowd(&mut rig, &witness);
    admin_session(&mut rig, &witness);
    io_session(&mut rig, &witness);
    eventually("every host is gone", || rig.target.connected_hosts().is_empty());
    data_that_were_asked_for(&mut rig, &witness);
    rig.shutdown();
}
