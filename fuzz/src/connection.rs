//! A whole target: what one connection sends, whatever it is, ends with that connection, harms
//! nobody else, and is answered by the rules of the protocol.

#[path = "../../crates/ashlar-target/tests/support/mod.rs"]
mod support;

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;

use ashlar_nvme::admin::{AdminCommand, GetLogPage, Identify};
use ashlar_nvme::fabrics::{CNTLID_DYNAMIC, ConnectData, FabricsCommand};
use ashlar_nvme::io::{BlockRange, IoCommand};
use ashlar_nvme::pdu::{DataHeader, Digests, Framing, IcReq, Pdu, TermReq, Ttag};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::{Cid, Sqe};
use ashlar_nvme::zerocopy::IntoBytes;
use ashlar_target::nvme_tcp::Limits;
use ashlar_volume::Nsid;
use ashlar_volume::memory_door::MemoryVolumeOptions;

use super::replay::Seed;
use support::{HOST, HOST_ID, Queue, Rig, SUBSYSTEM, VOLUME_BYTES, connect_command};

/// The host that the harness itself is: the one whose I/O queues inputs may continue.
const STANDING_HOST: &str = "nqn.2014-08.org.example:standing";
/// Bytes of an input that are sent; more than one turn of the target, less than a socket holds.
const STREAM_BYTES_MAX: usize = 48 << 10;
/// What the write that [`Stage::DataAwaited`] begins with wants to transfer.
const AWAITED_BYTES: u32 = 8192;

/// How far a connection is when the input takes it over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing was sent on it, to the I/O portal.
    Fresh,
    /// Nothing was sent on it, to the discovery portal.
    FreshDiscovery,
    /// The handshake is done.
    Shaken,
    /// An admin queue with an enabled controller.
    Admin,
    /// An I/O queue.
    Io,
    /// An I/O queue with an R2T (tag 0, command 1) that is not answered.
    DataAwaited,
}

impl Stage {
    const ALL: [Stage; 6] = [
        Stage::Fresh,
        Stage::FreshDiscovery,
        Stage::Shaken,
        Stage::Admin,
        Stage::Io,
        Stage::DataAwaited,
    ];

    fn of(byte: u8) -> Self {
        Self::ALL[usize::from(byte) % Self::ALL.len()]
    }

    /// Whether the digests and the alignment are those that the harness asked for.
    fn has_known_framing(self) -> bool {
        !matches!(self, Stage::Fresh | Stage::FreshDiscovery)
    }
}

/// A target that serves one input after the other.
pub struct Harness {
    rig: Rig,
    standing: Option<Queue>,
}

impl Harness {
    /// A target with one volume.
    pub fn start() -> Self {
        let limits = Limits { connections_max: 60_000, ..Limits::default() };
        Harness { rig: Rig::with_limits(limits), standing: None }
    }

    /// Sends the input on a connection of its own and reads what comes until the target has closed
    /// it.
    ///
    /// # Panics
    /// If the target does not close, breaks the protocol, or still knows the host afterwards.
    pub fn check(&mut self, input: &[u8]) {
        let Some((&stage, stream)) = input.split_first() else { return };
        let stage = Stage::of(stage);
        let mut queue = self.open(stage);
        let stream = &stream[..stream.len().min(STREAM_BYTES_MAX)];
        // The target may have closed before the last byte: that is for it to decide.
        let _ = queue.stream.write_all(stream);
        let _ = queue.stream.shutdown(Shutdown::Write);
        if stage.has_known_framing() {
            while queue.receive().is_some() {}
        }
        drain(&mut queue);
        self.check_nothing_left(stage);
    }

    fn open(&mut self, stage: Stage) -> Queue {
        let address = self.rig.io;
        match stage {
            Stage::Fresh => Queue::open(address),
            Stage::FreshDiscovery => Queue::open(self.rig.discovery),
            Stage::Shaken => Queue::shaken(address, Digests::NONE),
            Stage::Admin => Queue::admin(address, SUBSYSTEM, HOST),
            Stage::Io => Queue::io(address, self.standing(), 1),
            Stage::DataAwaited => self.open_awaiting_data(),
        }
    }

    /// The controller that inputs' I/O queues belong to; its host is no input's.
    fn standing(&mut self) -> &Queue {
        let (address, hosts) = (self.rig.io, self.rig.target.connected_hosts());
        let lives =
            |queue: &Queue| hosts.iter().any(|host| host.controller_id == queue.controller_id);
        if !self.standing.as_ref().is_some_and(lives) {
            self.standing = Some(Queue::admin(address, SUBSYSTEM, STANDING_HOST));
        }
        self.standing.as_ref().expect("made above")
    }

    fn open_awaiting_data(&mut self) -> Queue {
        let address = self.rig.io;
        let mut queue = Queue::io(address, self.standing(), 1);
        queue.send_command(write(Cid(1), SglDescriptor::transport(AWAITED_BYTES)), &[]);
        let asked = queue.receive();
        assert!(matches!(asked, Some((Pdu::R2t(_), _))), "no R2T but {asked:?}");
        queue
    }

    fn check_nothing_left(&self, stage: Stage) {
        let hosts = self.rig.target.connected_hosts();
        let others = hosts.iter().filter(|host| host.nqn.as_str() != STANDING_HOST);
        assert_eq!(others.count(), 0, "a host is left of a connection that has ended");
        // What an admin queue may have changed for good: the format, write protection.
        if matches!(stage, Stage::Admin | Stage::Fresh) {
            self.rig.door.add(Nsid(1), MemoryVolumeOptions::new(VOLUME_BYTES));
        }
    }
}

/// Reads to the end, which has to come by itself.
fn drain(queue: &mut Queue) {
    let mut buf = [0; 16 << 10];
    loop {
        match queue.stream.read(&mut buf) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("the target holds a connection whose host has closed its side");
            }
            Err(_) => return,
        }
    }
}

fn write(cid: Cid, sgl: SglDescriptor) -> Sqe {
    let range = BlockRange { start: 0, count: sgl.length.get() / 4096 };
    let mut sqe = IoCommand::Write { range, force_unit_access: false }.to_sqe(cid, 1);
    sqe.sgl = sgl;
    sqe
}

// --- seeds ---------------------------------------------------------------------------------------

/// Sessions of every stage, two of them recorded from Linux.
pub fn seeds() -> Vec<Seed> {
    let linux_admin =
        include_bytes!("../../crates/ashlar-target/tests/golden/linux-6.12-admin.bin");
    let linux_io = include_bytes!("../../crates/ashlar-target/tests/golden/linux-6.12-io.bin");
    vec![
        ("linux-admin", seed(Stage::Fresh, linux_admin)),
        ("linux-io", seed(Stage::Fresh, linux_io)),
        ("connect-by-hand", seed(Stage::Fresh, &connect_session())),
        ("discovery", seed(Stage::FreshDiscovery, &connect_session())),
        ("connect", seed(Stage::Shaken, &connect_capsule())),
        ("admin", seed(Stage::Admin, &admin_session())),
        ("io", seed(Stage::Io, &io_session())),
        ("data", seed(Stage::DataAwaited, &data_session())),
        (
            "terminate",
            seed(
                Stage::Io,
                &encode(&Pdu::HostTermReq(TermReq { status: 1, information: 4 }), &[9; 8]),
            ),
        ),
    ]
}

fn seed(stage: Stage, stream: &[u8]) -> Vec<u8> {
    let stage = Stage::ALL.iter().position(|known| *known == stage).expect("one of all");
    [&[stage as u8][..], stream].concat()
}

fn encode(pdu: &Pdu, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    pdu.encode(data.len() as u32, Framing::HANDSHAKE, &mut bytes);
    bytes.extend_from_slice(data);
    bytes
}

fn connect_session() -> Vec<u8> {
    let request =
        IcReq { format_version: 0, data_alignment_bytes: 8, digests: Digests::NONE, r2t_max: 1 };
    [encode(&Pdu::IcReq(request), &[]), connect_capsule(), admin_session()].concat()
}

fn connect_capsule() -> Vec<u8> {
    let data = ConnectData::new(HOST_ID, CNTLID_DYNAMIC, SUBSYSTEM, HOST);
    let command = FabricsCommand::Connect(connect_command(0));
    encode(&Pdu::Command(command.to_sqe(Cid(1), SglDescriptor::in_capsule(1024))), data.as_bytes())
}

fn admin_session() -> Vec<u8> {
    let log = GetLogPage {
        page: 2,
        specific: 0,
        specific_id: 0,
        retain_event: false,
        bytes: 512,
        offset: 0,
        offset_is_index: false,
        command_set: 0,
    };
    let commands = [
        (
            AdminCommand::Identify(Identify {
                cns: 1,
                controller_id: 0,
                specific_id: 0,
                command_set: 0,
            }),
            4096,
        ),
        (AdminCommand::GetLogPage(log), 512),
        (AdminCommand::SetFeatures { feature: 7, save: false, parameter: 0x0003_0003 }, 0),
        (AdminCommand::AsyncEventRequest, 0),
        (AdminCommand::Abort { queue_id: 0, cid: Cid(14) }, 0),
        (AdminCommand::KeepAlive, 0),
    ];
    let capsule = |(index, (command, length)): (usize, (AdminCommand, u32))| {
        let mut sqe = command.to_sqe(Cid(11 + index as u16), 0);
        sqe.sgl = SglDescriptor::transport(length);
        encode(&Pdu::Command(sqe), &[])
    };
    commands.into_iter().enumerate().flat_map(capsule).collect()
}

fn io_session() -> Vec<u8> {
    let range = BlockRange { start: 0, count: 1 };
    let mut read = IoCommand::Read(range).to_sqe(Cid(3), 1);
    read.sgl = SglDescriptor::transport(4096);
    let deallocate = IoCommand::DatasetManagement { range_count: 1, deallocate: true };
    let mut deallocate = deallocate.to_sqe(Cid(4), 1);
    deallocate.sgl = SglDescriptor::in_capsule(16);
    [
        encode(&Pdu::Command(write(Cid(2), SglDescriptor::in_capsule(4096))), &[1; 4096]),
        encode(&Pdu::Command(read), &[]),
        encode(&Pdu::Command(deallocate), &[0; 16]),
        encode(&Pdu::Command(IoCommand::Flush.to_sqe(Cid(5), 1)), &[]),
        encode(&Pdu::Command(write(Cid(6), SglDescriptor::transport(4096))), &[]),
    ]
    .concat()
}

fn data_session() -> Vec<u8> {
    let half = AWAITED_BYTES / 2;
    let header = |offset, last| DataHeader {
        cid: Cid(1),
        ttag: Ttag(0),
        offset,
        length: half,
        last,
        success: false,
    };
    let data = vec![3; half as usize];
    [
        encode(&Pdu::H2cData(header(0, false)), &data),
        encode(&Pdu::H2cData(header(half, true)), &data),
    ]
    .concat()
}
