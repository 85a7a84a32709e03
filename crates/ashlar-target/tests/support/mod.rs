//! A target on a thread of its own, and a host that speaks to it byte by byte.

#![allow(dead_code, reason = "each test file uses its part")]

mod commands;
pub mod left;
pub mod recording;

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use ashlar_nvme::cqe::Cqe;
use ashlar_nvme::fabrics::{CNTLID_DYNAMIC, Connect, ConnectData, FabricsCommand, PropertyWidth};
use ashlar_nvme::pdu::{
    DataDigest, DataHeader, Decoder, DecoderLimits, Digests, Framing, IcReq, Pdu, Receiver, Step,
};
use ashlar_nvme::property::{Configuration, offset};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::{Cid, Sqe};
use ashlar_nvme::status::Status;
use ashlar_nvme::zerocopy::IntoBytes;
use ashlar_reactor::{Config, Stats, mailbox, run};
use ashlar_target::nvme_tcp::{Limits, Portal, PortalKind, Target, TargetConfig};
use ashlar_volume::Nsid;
use ashlar_volume::memory_door::{MemoryDoor, MemoryVolume, MemoryVolumeOptions};

pub const SUBSYSTEM: &str = "nqn.2014-08.org.example:target";
pub const HOST: &str = "nqn.2014-08.org.example:host";
pub const DISCOVERY: &str = ashlar_nvme::text::DISCOVERY_NQN;
pub const HOST_ID: [u8; 16] = [7; 16];
pub const VOLUME_BYTES: u64 = 64 << 20;

/// Longer than anything takes on a machine that is busy; only a failing test waits for it.
const PATIENCE: Duration = Duration::from_secs(30);

/// A target with one volume of 4 KiB sectors as namespace 1.
pub struct Rig {
    pub target: Target,
    pub door: MemoryDoor,
    pub volume: MemoryVolume,
    pub io: SocketAddr,
    pub discovery: SocketAddr,
    stop: Option<mailbox::Sender<()>>,
    jobs: mailbox::Sender<Job>,
    thread: Option<JoinHandle<()>>,
}

/// What the target's thread is told to do.
type Job = Box<dyn FnOnce() + Send>;

/// The defaults, for a host that has that long to connect.
pub fn hurried(handshake_timeout: Duration) -> Limits {
    Limits { handshake_timeout, connect_wait: handshake_timeout / 2, ..Limits::default() }
}

/// While this lives, the target's thread stands still.
pub struct Frozen(#[allow(dead_code, reason = "its end is what counts")] mpsc::Sender<()>);

impl Rig {
    pub fn start() -> Self {
        Self::with_limits(Limits::default())
    }

    pub fn with_limits(limits: Limits) -> Self {
        Self::configured(limits, Config::default())
    }

    /// The same, on a reactor of this kind.
    pub fn configured(limits: Limits, config: Config) -> Self {
        let door = MemoryDoor::new(SUBSYSTEM);
        let volume = door.add(Nsid(1), MemoryVolumeOptions::new(VOLUME_BYTES));
        Self::serving(door, volume, limits, config)
    }

    /// Another target, elsewhere, for what this one served, which has ended.
    pub fn again(&mut self, limits: Limits) {
        self.shutdown();
        let (door, volume) = (self.door.clone(), self.volume.clone());
        *self = Self::serving(door, volume, limits, Config::default());
    }

    fn serving(door: MemoryDoor, volume: MemoryVolume, limits: Limits, config: Config) -> Self {
        let any: SocketAddr = ([127, 0, 0, 1], 0).into();
        let portals = vec![
            Portal { address: any, kind: PortalKind::Io },
            Portal { address: any, kind: PortalKind::Discovery },
        ];
        let target =
            Target::new(TargetConfig { portals, limits, several_reactors: false }).unwrap();
        let (stop, mut stopped) = mailbox::channel(1);
        let (jobs, mut orders) = mailbox::channel::<Job>(4);
        let (tell, told) = mpsc::channel();
        let (its_target, its_door) = (target.clone(), door.clone());
        let thread = std::thread::spawn(move || {
            run(config, async move {
                let service = its_target.serve(its_door).unwrap();
                tell.send(service.local_addrs()).unwrap();
                ashlar_reactor::spawn(async move {
                    while let Some(job) = orders.recv().await {
                        job();
                    }
                });
                stopped.recv().await;
                service.shutdown().await;
            })
            .unwrap();
        });
        let addresses: Vec<SocketAddr> = told.recv().unwrap();
        let (io, discovery) = (addresses[0], addresses[1]);
        Rig { target, door, volume, io, discovery, stop: Some(stop), jobs, thread: Some(thread) }
    }

    /// Ends the service in order, and fails if its thread failed.
    pub fn shutdown(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the target's thread does not panic");
        }
    }

    /// Lets the target's thread stand still, as a process does that is stopped or gets no
    /// processor.
    pub fn freeze(&mut self) -> Frozen {
        let ((entered, told), (thaw, thawed)) = (mpsc::channel(), mpsc::channel::<()>());
        self.have_done(move || {
            entered.send(()).unwrap();
            let _ = thawed.recv();
        });
        told.recv().unwrap();
        Frozen(thaw)
    }

    /// What the target's reactor has done so far.
    pub fn stats(&mut self) -> Stats {
        let (tell, told) = mpsc::channel();
        self.have_done(move || tell.send(ashlar_reactor::stats()).unwrap());
        told.recv().unwrap()
    }

    /// Has the target's thread do `job`.
    fn have_done(&mut self, job: impl FnOnce() + Send + 'static) {
        assert!(self.jobs.try_send(Box::new(job)).is_ok(), "the target runs");
    }

    /// An enabled I/O controller's admin queue.
    pub fn admin(&self) -> Queue {
        Queue::admin(self.io, SUBSYSTEM, HOST)
    }

    /// An enabled I/O controller with one I/O queue.
    pub fn host(&self) -> (Queue, Queue) {
        let admin = self.admin();
        let io = Queue::io(self.io, &admin, 1);
        (admin, io)
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        self.shutdown();
    }
}

/// One PDU received, and its payload.
pub type Received = (Pdu, Vec<u8>);

/// One connection.
pub struct Queue {
    pub stream: TcpStream,
    pub framing: Framing,
    pub controller_id: u16,
    host: String,
    decoder: Decoder,
    input: Vec<u8>,
    next_cid: u16,
}

pub fn connect_command(queue_id: u16) -> Connect {
    Connect {
        record_format: 0,
        queue_id,
        sq_size: 31,
        disable_sq_flow_control: false,
        keep_alive_ms: 0,
    }
}

impl Queue {
    /// A connection with nothing sent yet.
    pub fn open(address: SocketAddr) -> Self {
        Self::of(TcpStream::connect(address).unwrap())
    }

    /// The same by a socket that is connected.
    pub fn of(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let limits = DecoderLimits { command_data_bytes_max: 0, data_pdu_bytes_max: 16 << 20 };
        Queue {
            stream,
            framing: Framing::HANDSHAKE,
            controller_id: CNTLID_DYNAMIC,
            host: HOST.to_owned(),
            decoder: Decoder::new(Receiver::Host, limits),
            input: Vec::new(),
            next_cid: 0,
        }
    }

    pub fn shaken(address: SocketAddr, digests: Digests) -> Self {
        let mut queue = Self::open(address);
        queue.shake(digests);
        queue
    }

    pub fn shake(&mut self, digests: Digests) {
        let request = IcReq { format_version: 0, data_alignment_bytes: 4, digests, r2t_max: 1 };
        self.send(&Pdu::IcReq(request), &[]);
        let (Pdu::IcResp(response), _) = self.receive().unwrap() else { panic!("no ICResp") };
        assert_eq!(response.digests, digests);
        self.framing = Framing { digests, data_alignment_bytes: 4 };
        self.decoder.establish(self.framing);
    }

    /// What was agreed by hand.
    pub fn expect(&mut self, data_alignment_bytes: u32, digests: Digests) {
        self.framing = Framing { digests, data_alignment_bytes: 4 };
        self.decoder.establish(Framing { digests, data_alignment_bytes });
    }

    /// An admin queue whose controller is enabled.
    pub fn admin(address: SocketAddr, subsystem: &str, host: &str) -> Self {
        let mut queue = Self::shaken(address, Digests::NONE);
        host.clone_into(&mut queue.host);
        let data = ConnectData::new(HOST_ID, CNTLID_DYNAMIC, subsystem, host);
        let (cqe, _) = queue.connect(&connect_command(0), &data);
        assert_eq!(cqe.status(), Status::SUCCESS);
        queue.controller_id = cqe.result.get() as u16;
        queue.enable();
        queue
    }

    /// An I/O queue of `admin`'s controller.
    pub fn io(address: SocketAddr, admin: &Queue, queue_id: u16) -> Self {
        Self::io_with(address, admin, connect_command(queue_id), Digests::NONE)
    }

    pub fn io_with(address: SocketAddr, admin: &Queue, command: Connect, digests: Digests) -> Self {
        let mut queue = Self::shaken(address, digests);
        let data = ConnectData::new(HOST_ID, admin.controller_id, SUBSYSTEM, &admin.host);
        let (cqe, _) = queue.connect(&command, &data);
        assert_eq!(cqe.status(), Status::SUCCESS);
        queue
    }

    pub fn connect(&mut self, command: &Connect, data: &ConnectData) -> (Cqe, Vec<u8>) {
        let sgl = SglDescriptor::in_capsule(1024);
        let sqe = FabricsCommand::Connect(*command).to_sqe(self.cid(), sgl);
        self.exchange(sqe, data.as_bytes())
    }

    pub fn enable(&mut self) {
        self.set_cc(Configuration::enable());
        assert_eq!(self.property(offset::CSTS) & 1, 1);
    }

    pub fn set_cc(&mut self, configuration: Configuration) {
        let set = FabricsCommand::PropertySet {
            offset: offset::CC,
            width: PropertyWidth::Four,
            value: configuration.0.into(),
        };
        let sqe = set.to_sqe(self.next(), SglDescriptor::transport(0));
        let (cqe, _) = self.exchange(sqe, &[]);
        assert_eq!(cqe.status(), Status::SUCCESS);
    }

    pub fn property(&mut self, offset: u32) -> u64 {
        let width = if offset == offset::CAP { PropertyWidth::Eight } else { PropertyWidth::Four };
        let get = FabricsCommand::PropertyGet { offset, width };
        let sqe = get.to_sqe(self.next(), SglDescriptor::transport(0));
        let (cqe, _) = self.exchange(sqe, &[]);
        assert_eq!(cqe.status(), Status::SUCCESS);
        cqe.result.get()
    }

    fn next(&mut self) -> Cid {
        self.next_cid = self.next_cid.wrapping_add(1);
        Cid(self.next_cid)
    }

    pub fn cid(&mut self) -> Cid {
        self.next()
    }

    /// A PDU as it stands on the wire, with digests as agreed.
    pub fn encode(&self, pdu: &Pdu, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        pdu.encode(data.len() as u32, self.framing, &mut bytes);
        bytes.extend_from_slice(data);
        if self.framing.digests.data && !data.is_empty() {
            let mut digest = DataDigest::default();
            digest.update(data);
            bytes.extend_from_slice(&digest.to_bytes());
        }
        bytes
    }

    pub fn send(&mut self, pdu: &Pdu, data: &[u8]) {
        let bytes = self.encode(pdu, data);
        self.send_raw(&bytes);
    }

    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub fn send_command(&mut self, sqe: Sqe, in_capsule: &[u8]) {
        self.send(&Pdu::Command(sqe), in_capsule);
    }

    /// The next PDU; none once the target has closed.
    pub fn receive(&mut self) -> Option<Received> {
        let mut found: Option<Received> = None;
        loop {
            let mut input = &self.input[..];
            let step = self.decoder.step(&mut input).expect("the target keeps to the protocol");
            let done = match step {
                Step::NeedMore => false,
                Step::Header(pdu) => {
                    found = Some((pdu, Vec::new()));
                    self.decoder.data_bytes_left() == 0
                }
                Step::Data(data) => {
                    found.as_mut().unwrap().1.extend_from_slice(data);
                    false
                }
                Step::DataEnd { digest_ok } => {
                    assert!(digest_ok);
                    true
                }
            };
            let used = self.input.len() - input.len();
            self.input.drain(..used);
            if done {
                return found;
            }
            if step_is_need_more(used, &self.input) && !self.read_more() {
                return None;
            }
        }
    }

    fn read_more(&mut self) -> bool {
        let mut buf = [0; 65536];
        let count = loop {
            match self.stream.read(&mut buf) {
                // With a time limit the kernel does not resume a read that a signal has
                // interrupted.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    panic!("the target neither answers nor closes");
                }
                other => break other.unwrap_or(0),
            }
        };
        self.input.extend_from_slice(&buf[..count]);
        count > 0
    }

    /// Sends a command and serves it until its answer: R2Ts get `data`, and what comes is returned.
    pub fn exchange(&mut self, sqe: Sqe, data: &[u8]) -> (Cqe, Vec<u8>) {
        let in_capsule = sqe.sgl.kind == 1;
        self.send_command(sqe, if in_capsule { data } else { &[] });
        self.finish(data)
    }

    /// Serves an outstanding command until its answer.
    pub fn finish(&mut self, data: &[u8]) -> (Cqe, Vec<u8>) {
        let mut read = Vec::new();
        loop {
            match self.receive().expect("the target answers") {
                (Pdu::Response(cqe), _) => return (cqe, read),
                (Pdu::C2hData(header), bytes) => {
                    read.extend_from_slice(&bytes);
                    if header.success {
                        return (Cqe::new(header.cid, Status::SUCCESS, 0), read);
                    }
                }
                (Pdu::R2t(r2t), _) => {
                    let range = r2t.offset as usize..(r2t.offset + r2t.length) as usize;
                    let header = DataHeader {
                        cid: r2t.cid,
                        ttag: r2t.ttag,
                        offset: r2t.offset,
                        length: r2t.length,
                        last: true,
                        success: false,
                    };
                    self.send(&Pdu::H2cData(header), &data[range]);
                }
                (other, _) => panic!("unexpected {other:?}"),
            }
        }
    }

    /// What the target says before it closes: its terminate request, if it sends one.
    pub fn last_words(&mut self) -> Option<(u16, u32, Vec<u8>)> {
        let mut words = None;
        while let Some((pdu, data)) = self.receive() {
            if let Pdu::ControllerTermReq(term) = pdu {
                words = Some((term.status, term.information, data));
            }
        }
        words
    }
}

/// Whether the decoder took nothing from an empty input.
fn step_is_need_more(used: usize, input: &[u8]) -> bool {
    used == 0 && input.is_empty()
}

/// Calls `probe` until it is true; a failing test waits long, a passing one hardly.
pub fn eventually(what: &str, mut probe: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !probe() {
        assert!(start.elapsed() < PATIENCE, "{what} does not happen");
        std::thread::yield_now();
    }
}

/// Bytes that differ at every place.
pub fn pattern(len: usize, seed: u32) -> Vec<u8> {
    let words = (0..len as u32).map(|word| word.wrapping_mul(0x9e37_79b1) ^ seed);
    words.flat_map(u32::to_le_bytes).take(len).collect()
}
