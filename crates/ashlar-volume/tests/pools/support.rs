//! A node of real reactors with drives in memory that outlive their pools.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::{Future, pending};
use std::rc::Rc;
use std::sync::{Arc, mpsc};

use ashlar_block::{AlignedBuf, Device, DeviceError, DriveUuid, Durability};
use ashlar_drive::{Drive, DriveWorld, Faults, OpenMode};
use ashlar_reactor::{Config, Handle, STACK_BYTES};
use ashlar_store::{Compression, NewPool, Options};
use ashlar_volume::{
    AccessList, Dispatcher, Door, DriveFacts, DriveProvider, Gone, HostNqn, NewVolume, Node,
    NodeDoor, Nsid, ProvidedDrive, ReactorIndex, ReactorPools, Resize, Sought, StoppedPool,
    SubsystemInfo, Table, VolumeChange,
};
use bytes::Bytes;

/// Drives in memory by their text, each the same at every opening.
#[derive(Clone, Default)]
pub struct MemoryBay(Rc<RefCell<BTreeMap<String, Drive>>>);

impl DriveProvider for MemoryBay {
    type Device = Drive;
    type World = DriveWorld;

    fn world(&self) -> DriveWorld {
        DriveWorld
    }

    async fn open(&self, spec: &str, _make: bool) -> Result<ProvidedDrive<Drive>, String> {
        if is_held(spec) {
            return Err(format!("{spec} is in use by process {}", std::process::id()));
        }
        let made = !self.exists(spec);
        let mut drives = self.0.borrow_mut();
        if !drives.contains_key(spec) {
            let size = spec.split_once('#').map_or(spec, |(size, _)| size);
            let parsed = size
                .parse()
                .map_err(|error: ashlar_drive::ParseDriveSpecError| error.to_string())?;
            let drive =
                Drive::open(&parsed, OpenMode::Existing).map_err(|error| error.to_string())?;
            drives.insert(spec.to_owned(), drive.with_faults(faults_here(spec)));
        }
        let device = drives[spec].clone();
        let facts = DriveFacts {
            spec: spec.to_owned(),
            kernel: None,
            stable_name: None,
            kind: "memory".to_owned(),
            size_bytes: device.info().size_bytes,
            is_volatile: true,
            is_sparse: false,
            is_direct: true,
            model: None,
            serial: None,
            slot: None,
        };
        Ok(ProvidedDrive { device, facts, made })
    }

    fn exists(&self, spec: &str) -> bool {
        self.0.borrow().contains_key(spec)
    }

    /// All that there are: there is one pool.
    fn sought(&self, _pool: &str) -> Sought {
        let drives = self.0.borrow();
        let named = drives.keys().zip(1..).map(|(spec, n)| (DriveUuid([n; 16]), spec.clone()));
        Sought { drives: named.collect(), ..Sought::default() }
    }

    fn identity(&self, spec: &str) -> Option<String> {
        Some(spec.to_owned())
    }

    fn unmake(&self, spec: &str) {
        self.0.borrow_mut().remove(spec);
    }

    async fn foreign(&self, device: &Drive) -> Result<Option<String>, DeviceError> {
        Ok(ashlar_drive::probe_foreign(device).await?.map(|found| found.to_string()))
    }

    fn is_present(&self, device: &Drive) -> bool {
        device.check_present().is_ok()
    }
}

thread_local! {
    static BAY: RefCell<MemoryBay> = RefCell::default();
    static HOME: RefCell<Option<Rc<ReactorPools<MemoryBay>>>> = const { RefCell::new(None) };
    static STOPPED: RefCell<Vec<StoppedPool>> = const { RefCell::new(Vec::new()) };
    static FAULTS: RefCell<BTreeMap<String, Faults>> = const { RefCell::new(BTreeMap::new()) };
    /// How many times drives are yet refused to whoever opens them.
    static HELD: RefCell<BTreeMap<String, u32>> = const { RefCell::new(BTreeMap::new()) };
}

fn is_held(spec: &str) -> bool {
    HELD.with_borrow_mut(|held| {
        let left = held.get_mut(spec).filter(|left| **left > 0);
        left.map(|left| *left -= 1).is_some()
    })
}

/// Lets whoever opens that drive of reactor 0 find it in use, so many times.
pub async fn hold_drive(handles: &Handles, spec: &str, times: u32) {
    let spec = spec.to_owned();
    let hold = move |_| async move { HELD.with_borrow_mut(|held| held.insert(spec, times)) };
    handles.call(ReactorIndex(0), hold).await.expect("it runs");
}

/// The pools that faults in Ashlar itself have stopped on reactor 0.
pub async fn stopped(handles: &Handles) -> Vec<StoppedPool> {
    handles
        .call(ReactorIndex(0), |_| async { STOPPED.with_borrow(Vec::clone) })
        .await
        .expect("it runs")
}

/// The faults of the drive that this reactor has by this text.
pub fn faults_here(spec: &str) -> Faults {
    FAULTS.with_borrow_mut(|faults| faults.entry(spec.to_owned()).or_default().clone())
}

/// Does something to the drive that reactor 0 has by this text.
pub async fn with_faults(handles: &Handles, spec: &str, act: impl FnOnce(Faults) + Send + 'static) {
    let spec = spec.to_owned();
    handles
        .call(ReactorIndex(0), move |_| async move { act(faults_here(&spec)) })
        .await
        .expect("it runs")
}

/// Does something with the drive that reactor 0 has by this text.
pub async fn with_drive<F, T>(
    handles: &Handles,
    spec: &str,
    act: impl FnOnce(Drive) -> F + Send + 'static,
) -> T
where
    F: Future<Output = T> + 'static,
    T: Send + 'static,
{
    let spec = spec.to_owned();
    let work = move |_| async move {
        let opened = BAY.with_borrow(MemoryBay::clone).open(&spec, false).await;
        act(opened.expect("it is there").device).await
    };
    handles.call(ReactorIndex(0), work).await.expect("it runs")
}

/// Leaves of the drive that reactor 0 has by this text what is before `bytes`.
pub async fn cut_drive(handles: &Handles, spec: &str, bytes: u64) {
    const STEP: usize = 1 << 20;
    let spec = spec.to_owned();
    let cut = move |_| async move {
        let parsed = format!("mem:{bytes}").parse().expect("a drive");
        let shorter = Drive::open(&parsed, OpenMode::Existing).expect("memory");
        let whole = BAY.with_borrow(|provider| provider.0.borrow()[&spec].clone());
        for offset in (0..bytes).step_by(STEP) {
            let (read, held) = whole.read(offset, AlignedBuf::stale(STEP)).await;
            read.expect("it works");
            shorter.write(offset, held.freeze(), Durability::Stable).await.expect("it works");
        }
        BAY.with_borrow(|provider| provider.0.borrow_mut().insert(spec, shorter));
    };
    handles.call(ReactorIndex(0), cut).await.expect("it runs");
}

#[derive(Clone)]
pub struct Handles(Arc<Vec<Handle>>);

impl Dispatcher<MemoryBay> for Handles {
    fn reactors(&self) -> usize {
        self.0.len()
    }

    fn call<M, F>(
        &self,
        to: ReactorIndex,
        make: M,
    ) -> impl Future<Output = Result<F::Output, Gone>> + Send + use<M, F>
    where
        M: FnOnce(Rc<ReactorPools<MemoryBay>>) -> F + Send + 'static,
        F: Future + 'static,
        F::Output: Send + 'static,
    {
        let reply = self.0[to.0].call(move || make(home()));
        async move { reply.await.map_err(|_| Gone) }
    }
}

fn home() -> Rc<ReactorPools<MemoryBay>> {
    HOME.with_borrow(|home| home.clone()).expect("the reactor has been started")
}

pub type TestNode = Node<MemoryBay, Handles>;
pub type TestDoor = NodeDoor<MemoryBay, Handles>;

/// A node of `reactors` reactors on threads of their own, and a way to them.
pub fn node(reactors: usize) -> (TestNode, Handles) {
    let subsystem = SubsystemInfo {
        nqn: "nqn.2014-08.org.example:node".to_owned(),
        serial: "S".to_owned(),
        model: "M".to_owned(),
        firmware: "1".to_owned(),
    };
    let table = Table::new(subsystem, 0, 1);
    let start = |index| {
        let (sender, receiver) = mpsc::channel();
        let table = table.clone();
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
            let serve = async move {
                let provider = BAY.with_borrow(MemoryBay::clone);
                let told = |pool| STOPPED.with_borrow_mut(|stopped| stopped.push(pool));
                HOME.set(Some(ReactorPools::new(ReactorIndex(index), provider, table, told)));
                sender.send(ashlar_reactor::handle()).expect("the test waits");
                pending::<()>().await
            };
            ashlar_reactor::run(Config::default(), serve)
        });
        thread.expect("the system has a thread");
        receiver.recv().expect("the reactor starts")
    };
    let handles = Handles(Arc::new((0..reactors).map(start).collect()));
    (Node::new(table, handles.clone(), Options::default()), handles)
}

/// Runs `work` on a thread that is no reactor of the node.
pub fn drive<T: 'static>(work: impl Future<Output = T> + 'static) -> T {
    ashlar_reactor::run(Config::default(), work).expect("a reactor starts")
}

/// Runs `work` with the door on reactor `index`.
pub async fn at_door<F, T>(
    handles: &Handles,
    index: usize,
    work: impl FnOnce(TestDoor) -> F + Send + 'static,
) -> T
where
    F: Future<Output = T> + 'static,
    T: Send + 'static,
{
    let dispatcher = handles.clone();
    handles
        .call(ReactorIndex(index), move |home| work(NodeDoor::new(home, dispatcher)))
        .await
        .expect("it runs")
}

pub fn pool(name: &str) -> NewPool {
    NewPool {
        name: name.to_owned(),
        level: ashlar_raid::Level::RAID5,
        chunk_bytes: None,
        segment_numbers: None,
    }
}

pub fn drives(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|index| format!("mem:128MiB#{prefix}{index}")).collect()
}

pub fn volume(name: &str, size_bytes: u64) -> NewVolume {
    NewVolume {
        name: name.parse().expect("a name"),
        size_bytes,
        lba_bytes: 4096,
        compression: Compression::Auto,
        access: AccessList::AllowAny,
    }
}

pub fn resized(size_bytes: u64) -> VolumeChange {
    VolumeChange { size: Some(Resize { size_bytes, may_shrink: false }), ..Default::default() }
}

pub fn renamed(name: &str) -> VolumeChange {
    VolumeChange { name: Some(name.parse().expect("a name")), ..Default::default() }
}

pub fn host(name: &str) -> HostNqn {
    HostNqn::new(&format!("nqn.2014-08.org.example:{name}")).expect("an NQN")
}

/// A namespace as host a sees it.
pub fn open(door: &TestDoor, nsid: u32) -> <TestDoor as Door>::Volume {
    door.with_namespace(&host("a"), Nsid(nsid), |_, volume| volume.clone())
        .expect("the host may see it")
}

/// A block that is no zeros.
pub fn data() -> Bytes {
    vec![7; 4096].into()
}
