//! One association: its queues, from the first connection to the last.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use ashlar_nvme::admin::{AdminCommand, Identify};
use ashlar_nvme::fabrics::{CNTLID_DYNAMIC, Connect, ConnectData, FabricsCommand, PropertyWidth};
use ashlar_nvme::feature::{QueueCounts, id};
use ashlar_nvme::identify::{IDENTIFY_BYTES, IdentifyController, cns};
use ashlar_nvme::property::{Capabilities, Configuration, ControllerStatus, ShutdownState, offset};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::{Cid, SQE_BYTES, Sqe};
use ashlar_nvme::zerocopy::{FromBytes, IntoBytes};
use ashlar_reactor::{JoinHandle, sleep, spawn_joined, timeout};
use bytes::Bytes;

use super::error::{CommandError, ConnectError};
use super::options::ConnectOptions;
use super::queue::{Completion, Data, Queue, QueueLimits};

/// Entries of an admin queue.
const ADMIN_ENTRIES: u16 = 32;
/// In-capsule data of an admin queue (TCP Transport 1.1, section 3.3.2).
const ADMIN_IN_CAPSULE_BYTES: u32 = 8 << 10;
/// Pause between two looks at a property that is to change.
const PROPERTY_POLL: Duration = Duration::from_millis(10);
/// How long an orderly end may take.
const SHUTDOWN_MAX: Duration = Duration::from_secs(5);

/// Whether a session has I/O queues.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Reading and writing.
    Io,
    /// Asking a discovery service.
    Discovery,
}

/// One association.
pub(super) struct Session {
    pub(super) admin: Rc<Queue>,
    pub(super) io: Vec<Rc<Queue>>,
    pub(super) identify: Box<IdentifyController>,
    pub(super) controller_id: u16,
    keep_alive: RefCell<Option<JoinHandle<()>>>,
    next_queue: Cell<usize>,
}

impl Session {
    /// Connects all queues and enables the controller.
    pub(super) async fn connect(
        options: &ConnectOptions,
        purpose: Purpose,
    ) -> Result<Self, ConnectError> {
        let limits =
            QueueLimits { depth: ADMIN_ENTRIES - 1, in_capsule_bytes: ADMIN_IN_CAPSULE_BYTES };
        let admin = open_queue(options, limits).await?;
        let mut setup = Setup { options, admin: Some(admin.clone()), io: Vec::new() };
        let controller_id =
            connect_queue(options, &admin, 0, ADMIN_ENTRIES, CNTLID_DYNAMIC).await?;
        let capabilities = enable(options, &admin).await?;
        let identify = identify_controller(options, &admin).await?;
        if purpose == Purpose::Io {
            setup.connect_io(&admin, controller_id, capabilities, &identify).await?;
        }
        let keep_alive = (!options.keep_alive.is_zero()).then(|| {
            spawn_joined(keep_alive(admin.clone(), options.keep_alive, options.keep_alive_patience))
        });
        setup.admin = None;
        Ok(Session {
            admin,
            io: std::mem::take(&mut setup.io),
            identify,
            controller_id,
            keep_alive: RefCell::new(keep_alive),
            next_queue: Cell::new(0),
        })
    }

    /// The I/O queue whose turn it is.
    pub(super) fn next_io(&self) -> &Queue {
        let index = self.next_queue.get();
        self.next_queue.set(index + 1);
        &self.io[index % self.io.len()]
    }

    /// Why the session is broken, if any of its queues is.
    pub(super) fn broken(&self) -> Option<CommandError> {
        self.io.iter().chain([&self.admin]).find_map(|queue| queue.broken())
    }

    /// Ends all connections at once.
    pub(super) fn close(&self) {
        if let Some(keep_alive) = self.keep_alive.take() {
            keep_alive.abort();
        }
        self.io.iter().chain([&self.admin]).for_each(|queue| queue.close());
    }

    /// Shuts the controller down, then ends all connections.
    pub(super) async fn shutdown(&self) {
        self.io.iter().for_each(|queue| queue.close());
        let _ = timeout(SHUTDOWN_MAX, shut_down(&self.admin)).await;
        self.close();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.close();
    }
}

/// Queues of a session that is being made: closed if it fails.
struct Setup<'a> {
    options: &'a ConnectOptions,
    admin: Option<Rc<Queue>>,
    io: Vec<Rc<Queue>>,
}

impl Drop for Setup<'_> {
    fn drop(&mut self) {
        self.admin.iter().chain(&self.io).for_each(|queue| queue.close());
    }
}

impl Setup<'_> {
    async fn connect_io(
        &mut self,
        admin: &Queue,
        controller_id: u16,
        capabilities: Capabilities,
        identify: &IdentifyController,
    ) -> Result<(), ConnectError> {
        let entries_max = u32::from(capabilities.max_queue_entries) + 1;
        let entries_max = match u32::from(identify.max_commands.get()) {
            0 => entries_max,
            commands => entries_max.min(commands),
        };
        let entries = self.options.queue_entries.clamp(2, entries_max) as u16;
        let capsule_bytes = identify.command_capsule_16b.get().saturating_mul(16);
        let limits = QueueLimits {
            depth: entries - 1,
            in_capsule_bytes: capsule_bytes.saturating_sub(SQE_BYTES as u32),
        };
        for queue_id in 1..=granted_queues(self.options, admin).await? {
            let queue = open_queue(self.options, limits).await?;
            self.io.push(queue.clone());
            connect_queue(self.options, &queue, queue_id, entries, controller_id).await?;
        }
        Ok(())
    }
}

async fn open_queue(
    options: &ConnectOptions,
    limits: QueueLimits,
) -> Result<Rc<Queue>, ConnectError> {
    let address = options.address;
    let opened =
        timeout(options.connect_timeout, Queue::open(address, options.digests, limits)).await;
    opened.map_err(|_| ConnectError::TimedOut { address })?
}

/// A command that has to succeed for the session to be usable.
async fn required(
    options: &ConnectOptions,
    queue: &Queue,
    step: &'static str,
    sqe: Sqe,
    data: Data,
) -> Result<Completion, ConnectError> {
    let address = options.address;
    let answer = timeout(options.connect_timeout, queue.submit(sqe, data)).await;
    let answer = answer.map_err(|_| ConnectError::TimedOut { address })?;
    let completion = answer.map_err(|reason| ConnectError::Broken { address, reason })?;
    let status = completion.cqe.status();
    if status.is_success() {
        return Ok(completion);
    }
    Err(ConnectError::Refused { step, status, result: completion.cqe.result.get() })
}

fn fabrics(command: FabricsCommand) -> Sqe {
    command.to_sqe(Cid(0), SglDescriptor::transport(0))
}

/// Connect. Returns the controller's identifier.
async fn connect_queue(
    options: &ConnectOptions,
    queue: &Queue,
    queue_id: u16,
    entries: u16,
    controller_id: u16,
) -> Result<u16, ConnectError> {
    let connect = Connect {
        record_format: 0,
        queue_id,
        sq_size: entries - 1,
        disable_sq_flow_control: options.disable_sq_flow_control,
        keep_alive_ms: if queue_id == 0 { options.keep_alive.as_millis() as u32 } else { 0 },
    };
    let data =
        ConnectData::new(options.host.id, controller_id, &options.subsystem_nqn, &options.host.nqn);
    let data = Data::Write(Bytes::copy_from_slice(data.as_bytes()));
    let sqe = fabrics(FabricsCommand::Connect(connect));
    let completion = required(options, queue, "connect a queue", sqe, data).await?;
    Ok(completion.cqe.result.get() as u16)
}

async fn property(
    options: &ConnectOptions,
    queue: &Queue,
    offset: u32,
) -> Result<u64, ConnectError> {
    let width = if offset == offset::CAP { PropertyWidth::Eight } else { PropertyWidth::Four };
    let sqe = fabrics(FabricsCommand::PropertyGet { offset, width });
    let completion = required(options, queue, "tell a property", sqe, Data::None).await?;
    Ok(completion.cqe.result.get())
}

/// Enables the controller and waits until it is ready.
async fn enable(options: &ConnectOptions, queue: &Queue) -> Result<Capabilities, ConnectError> {
    let capabilities = Capabilities::from_bits(property(options, queue, offset::CAP).await?);
    let sqe = set_configuration(Configuration::enable());
    required(options, queue, "enable the controller", sqe, Data::None).await?;
    let ready = async {
        loop {
            let status =
                ControllerStatus::from_bits(property(options, queue, offset::CSTS).await? as u32);
            if status.fatal {
                return Err(ConnectError::Unusable(
                    "the controller reports a fatal status".to_owned(),
                ));
            }
            if status.ready {
                return Ok(());
            }
            sleep(PROPERTY_POLL).await;
        }
    };
    let patience = Duration::from_millis(500) * u32::from(capabilities.timeout_500ms).max(1);
    let address = options.address;
    timeout(patience, ready).await.map_err(|_| ConnectError::TimedOut { address })??;
    Ok(capabilities)
}

fn set_configuration(configuration: Configuration) -> Sqe {
    let value = configuration.0.into();
    fabrics(FabricsCommand::PropertySet { offset: offset::CC, width: PropertyWidth::Four, value })
}

async fn identify_controller(
    options: &ConnectOptions,
    queue: &Queue,
) -> Result<Box<IdentifyController>, ConnectError> {
    let identify =
        Identify { cns: cns::CONTROLLER, controller_id: 0, specific_id: 0, command_set: 0 };
    let sqe = AdminCommand::Identify(identify).to_sqe(Cid(0), 0);
    let completion =
        required(options, queue, "identify the controller", sqe, Data::Read(IDENTIFY_BYTES))
            .await?;
    let short = || ConnectError::Unusable("it identifies itself with too few bytes".to_owned());
    IdentifyController::read_from_bytes(&completion.data).map(Box::new).map_err(|_| short())
}

async fn granted_queues(options: &ConnectOptions, queue: &Queue) -> Result<u16, ConnectError> {
    let asked = u32::from(options.io_queues.clamp(1, u16::MAX - 1));
    let parameter = QueueCounts { submission: asked, completion: asked }.bits();
    let command =
        AdminCommand::SetFeatures { feature: id::NUMBER_OF_QUEUES, save: false, parameter };
    let completion =
        required(options, queue, "grant I/O queues", command.to_sqe(Cid(0), 0), Data::None).await?;
    let granted = QueueCounts::from_bits(completion.cqe.result.get() as u32);
    let granted = granted.map_or(1, |counts| counts.submission.min(counts.completion));
    Ok(granted.min(asked) as u16)
}

/// Sends Keep Alives; one that is not answered in time breaks the session.
async fn keep_alive(admin: Rc<Queue>, period: Duration, patience: Duration) {
    loop {
        sleep(period / 2).await;
        let sqe = AdminCommand::KeepAlive.to_sqe(Cid(0), 0);
        match timeout(patience, admin.submit(sqe, Data::None)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return admin.fail(error),
            Err(_) => {
                return admin.fail(CommandError::lost("a Keep Alive was not answered in time"));
            }
        }
    }
}

async fn shut_down(admin: &Queue) -> Result<(), CommandError> {
    admin.submit(set_configuration(Configuration::enable().with_shutdown()), Data::None).await?;
    loop {
        let get = FabricsCommand::PropertyGet { offset: offset::CSTS, width: PropertyWidth::Four };
        let completion = admin.submit(fabrics(get), Data::None).await?;
        let status = ControllerStatus::from_bits(completion.cqe.result.get() as u32);
        if status.shutdown == ShutdownState::Complete {
            return Ok(());
        }
        sleep(PROPERTY_POLL).await;
    }
}
