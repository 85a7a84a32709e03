//! Connect: what makes a controller, and adds I/O queues to it (Base 2.1, section 6.3).

use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ashlar_nvme::fabrics::{
    CNTLID_DYNAMIC, CONNECT_DATA_BYTES, Connect, ConnectData, ConnectParameter,
};
use ashlar_nvme::status::{Rejection, Status};
use ashlar_nvme::text::{DISCOVERY_NQN, nqn_of_field};
use ashlar_nvme::zerocopy::FromBytes;
use ashlar_reactor::{now, timeout};
use ashlar_volume::{Door, HostNqn};
use futures_util::future::{Either, select};

use super::connected_host::HostId;
use super::connection::{Connection, QueueShape, Role};
use super::controller::Controller;
use super::io::IoQueue;
use super::limits::Limits;
use super::portal::PortalKind;
use super::registry::{Association, HostKey, JoinError, Life, drained};
use super::ticket::{Stop, Ticket};
use super::transfer::fetch_into_held;

/// Entries of an admin queue: hosts ask for 32. What its commands take while they wait is in no
/// budget.
const ADMIN_ENTRIES_MAX: u32 = 128;

/// A Connect that is refused.
enum Refusal {
    /// A parameter is not valid; and why, for the log.
    Parameter(ConnectParameter, &'static str),
    /// Something else is in the way; and what, for the log.
    Status(Status, &'static str),
    /// The connection is ending.
    Abandoned,
}

/// Answers a Connect.
pub(super) async fn connect<D: Door>(
    connection: Rc<Connection<D>>,
    mut ticket: Ticket,
    command: Connect,
) {
    // Their memory is in no budget: there are at most `connecting_max` of them, and a host that has
    // all of a budget is not to keep others out.
    let data = match fetch_into_held(&mut ticket, CONNECT_DATA_BYTES as u32).await {
        Ok(data) => data,
        Err(stop) => {
            connection.set_role(Role::Fresh);
            return ticket.stop(stop);
        }
    };
    let data = ConnectData::read_from_bytes(&data).expect("the length was checked");
    match establish(&connection, &command, &data).await {
        Ok(association) => ticket.complete(Status::SUCCESS, association.controller_id.into()),
        Err(refusal) => {
            connection.set_role(Role::Fresh);
            refuse(&connection, ticket, &data, refusal);
        }
    }
}

fn refuse<D: Door>(
    connection: &Connection<D>,
    ticket: Ticket,
    data: &ConnectData,
    refusal: Refusal,
) {
    match refusal {
        Refusal::Parameter(parameter, why) => {
            let status = Status::CONNECT_INVALID_PARAMETERS.dnr();
            tell_refusal(connection, data, status, why);
            ticket.reject_with_result(status, parameter.result().into());
        }
        Refusal::Status(status, why) => {
            tell_refusal(connection, data, status, why);
            ticket.reject(Rejection::new(status));
        }
        Refusal::Abandoned => ticket.stop(Stop::Abandon),
    }
}

fn tell_refusal<D: Door>(
    connection: &Connection<D>,
    data: &ConnectData,
    status: Status,
    why: &str,
) {
    if let Some(times) = connection.service.told.refusal.count(now()) {
        let (host, subsystem) = (field_text(&data.host_nqn), field_text(&data.subsystem_nqn));
        let (host_id, peer) = (HostId(data.host_id), connection.wire.peer);
        tracing::warn!(times, %host, %host_id, %peer, %subsystem, %status, "Connect refused: {why}");
    }
}

/// What stands in the field of a name, whatever it is.
fn field_text(field: &[u8; 256]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    field[..end].escape_ascii().to_string()
}

async fn establish<D: Door>(
    connection: &Rc<Connection<D>>,
    command: &Connect,
    data: &ConnectData,
) -> Result<Arc<Association>, Refusal> {
    let shape = check_command(&connection.wire.limits, command)?;
    let host = check_host(data)?;
    let is_discovery = check_subsystem(connection, data)?;
    if command.queue_id == 0 {
        return establish_admin(connection, command, data, shape, host, is_discovery).await;
    }
    establish_io(connection, data, shape, &host).await
}

/// The parameters that stand in the command.
fn check_command(limits: &Limits, command: &Connect) -> Result<QueueShape, Refusal> {
    if command.record_format != 0 {
        let status = Status::CONNECT_INCOMPATIBLE_FORMAT.dnr();
        return Err(Refusal::Status(status, "its record format is not known"));
    }
    let entries_max = match command.queue_id {
        0 => limits.queue_entries_max.min(ADMIN_ENTRIES_MAX),
        _ => limits.queue_entries_max,
    };
    if command.sq_size == 0 || u32::from(command.sq_size) >= entries_max {
        let why = "it asks for a queue of no entries, or of more than queue_entries_max (128 for an admin queue)";
        return Err(Refusal::Parameter(ConnectParameter::SqSize, why));
    }
    if command.queue_id > limits.io_queues_max {
        let why = "the number of its queue is above io_queues_max";
        return Err(Refusal::Parameter(ConnectParameter::QueueId, why));
    }
    Ok(QueueShape {
        id: command.queue_id,
        entries: u32::from(command.sq_size) + 1,
        has_flow_control: !command.disable_sq_flow_control,
    })
}

fn check_host(data: &ConnectData) -> Result<HostKey, Refusal> {
    let name = nqn_of_field(&data.host_nqn).and_then(|name| HostNqn::new(name).ok());
    let why = "the name of the host is no NVMe qualified name";
    let nqn = name.ok_or(Refusal::Parameter(ConnectParameter::HostNqn, why))?;
    if data.host_id == [0; 16] {
        return Err(Refusal::Parameter(ConnectParameter::HostId, "its host identifier is zero"));
    }
    Ok(HostKey { nqn, id: data.host_id })
}

/// Whether the subsystem is the discovery service.
fn check_subsystem<D: Door>(
    connection: &Connection<D>,
    data: &ConnectData,
) -> Result<bool, Refusal> {
    let name = nqn_of_field(&data.subsystem_nqn);
    if name == Some(DISCOVERY_NQN) {
        return Ok(true);
    }
    let is_ours = name.is_some_and(|name| name == connection.service.door.subsystem().nqn);
    let kind = connection.service.target.portals()[connection.portal].kind;
    match (is_ours, kind) {
        (true, PortalKind::Io) => Ok(false),
        (true, PortalKind::Discovery) => {
            let why = "it asks the portal of the discovery service for volumes";
            Err(Refusal::Parameter(ConnectParameter::SubsystemNqn, why))
        }
        (false, _) => {
            let why = "the subsystem that it asks for is not this one";
            Err(Refusal::Parameter(ConnectParameter::SubsystemNqn, why))
        }
    }
}

async fn establish_admin<D: Door>(
    connection: &Rc<Connection<D>>,
    command: &Connect,
    data: &ConnectData,
    shape: QueueShape,
    host: HostKey,
    is_discovery: bool,
) -> Result<Arc<Association>, Refusal> {
    if data.controller_id.get() != CNTLID_DYNAMIC {
        let why = "it names a controller, and controllers are made when a host connects";
        return Err(Refusal::Parameter(ConnectParameter::ControllerId, why));
    }
    let wire = &connection.wire;
    let too_long =
        |status| Refusal::Status(status, "its keep alive timeout is above keep_alive_max_seconds");
    let keep_alive = bound_keep_alive(&wire.limits, command.keep_alive_ms).map_err(too_long)?;
    let registry = &connection.service.target.registry;
    // The discovery service applies nothing that could be late.
    let draining = || registry.draining_of_host(&host.nqn).filter(|_| !is_discovery);
    await_earlier_work(connection, draining).await?;
    let association = registry.admit(host, wire.peer, is_discovery, &wire.life);
    let none_left =
        Refusal::Status(Status::CONNECT_CONTROLLER_BUSY, "all controller numbers are taken");
    let association = association.ok_or(none_left)?;
    let host_budget = connection.service.hosts.of(&association.host.nqn);
    wire.set_queue(shape, association.clone(), host_budget, None);
    tell_arrival(connection, &association, is_discovery);
    let controller = Controller::start(
        connection.service.clone(),
        wire.clone(),
        association.clone(),
        keep_alive,
    );
    connection.set_role(Role::Admin(controller));
    Ok(association)
}

fn tell_arrival<D: Door>(
    connection: &Connection<D>,
    association: &Association,
    is_discovery: bool,
) {
    if let Some(times) = connection.service.told.arrival.count(now()) {
        let (host, peer) = (&association.host.nqn, connection.wire.peer);
        let controller = association.controller_id;
        tracing::info!(times, %host, %peer, controller, discovery = is_discovery, "host connected");
    }
}

/// Waits until nothing that `draining` finds is there: what the host's earlier connections still
/// write must not come after what it writes by this one. Ends early with the connection, and, if it
/// takes too long, with a refusal after which the host may try again.
async fn await_earlier_work<D: Door>(
    connection: &Connection<D>,
    draining: impl Fn() -> Option<Arc<Life>>,
) -> Result<(), Refusal> {
    let wire = &connection.wire;
    let drained = timeout(wire.limits.connect_wait, drained(draining));
    let _held_up = connection.hold_up();
    match select(pin!(wire.life.stop.wait()), pin!(drained)).await {
        Either::Left(_) => Err(Refusal::Abandoned),
        Either::Right((Ok(()), _)) => Ok(()),
        Either::Right((Err(_), _)) => {
            let why =
                "commands of its earlier connections have not ended within connect_wait_seconds";
            Err(Refusal::Status(Status::CONNECT_CONTROLLER_BUSY, why))
        }
    }
}

/// The keep alive timeout that holds: none, or at least the least one.
pub(super) fn bound_keep_alive(limits: &Limits, asked_ms: u32) -> Result<Option<Duration>, Status> {
    if asked_ms == 0 {
        return Ok(None);
    }
    let asked = Duration::from_millis(asked_ms.into());
    if asked > limits.keep_alive_max {
        return Err(Status::KEEP_ALIVE_INVALID.dnr());
    }
    Ok(Some(asked.max(limits.keep_alive_min)))
}

async fn establish_io<D: Door>(
    connection: &Rc<Connection<D>>,
    data: &ConnectData,
    shape: QueueShape,
    host: &HostKey,
) -> Result<Arc<Association>, Refusal> {
    let (wire, service) = (&connection.wire, &connection.service);
    let in_capsule_bytes = u64::from(shape.entries) * u64::from(wire.limits.in_capsule_bytes_max);
    let no_memory = "in_capsule_total_bytes_max has no room for the data of another queue";
    let no_memory = Refusal::Status(Status::CONNECT_CONTROLLER_BUSY, no_memory);
    let in_capsule = service.in_capsule.try_reserve(in_capsule_bytes).ok_or(no_memory)?;
    let registry = &service.target.registry;
    let controller_id = data.controller_id.get();
    let invitation = registry.invite(controller_id, host, shape.id)?;
    await_earlier_work(connection, || registry.draining_of_controller(controller_id)).await?;
    let association = registry.join(invitation, &wire.life)?;
    wire.set_queue(shape, association.clone(), service.hosts.of(&host.nqn), Some(in_capsule));
    connection.set_role(Role::Io(IoQueue::new(service.clone(), wire.clone(), association.clone())));
    Ok(association)
}

impl From<JoinError> for Refusal {
    fn from(error: JoinError) -> Self {
        use Refusal::Parameter;
        let out_of_sequence = |why| Refusal::Status(Status::COMMAND_SEQUENCE_ERROR.dnr(), why);
        match error {
            JoinError::NoController => Parameter(
                ConnectParameter::ControllerId,
                "the controller of its queue is not there",
            ),
            JoinError::OtherHostNqn => Parameter(
                ConnectParameter::HostNqn,
                "the controller of its queue is of a host of another name",
            ),
            JoinError::OtherHostId => Parameter(
                ConnectParameter::HostId,
                "the controller of its queue is of a host of that name with another identifier",
            ),
            JoinError::QueueIdTooHigh => Parameter(
                ConnectParameter::QueueId,
                "its controller was not granted as many queues",
            ),
            JoinError::NotEnabled => {
                out_of_sequence("its controller is not enabled, or was reset meanwhile")
            }
            JoinError::QueueInUse => out_of_sequence("its queue is connected already"),
        }
    }
}
