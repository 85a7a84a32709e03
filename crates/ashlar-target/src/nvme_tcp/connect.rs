//! Connect: what makes a controller, and adds I/O queues to it (Base 2.1, section 6.3).

use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ashlar_nvme::fabrics::{CNTLID_DYNAMIC, CONNECT_DATA_BYTES, Connect, ConnectData, ConnectParameter};
use ashlar_nvme::status::{Rejection, Status};
use ashlar_nvme::text::{DISCOVERY_NQN, nqn_of_field};
use ashlar_nvme::zerocopy::FromBytes;
use ashlar_reactor::{now, timeout};
use ashlar_volume::{Door, HostNqn};
use futures_util::future::{Either, select};

use super::connection::{Connection, QueueShape, Role};
use super::controller::Controller;
use super::io::IoQueue;
use super::limits::Limits;
use super::portal::PortalKind;
use super::registry::{Association, HostKey, JoinError, Life, drained};
use super::ticket::{Stop, Ticket};
use super::told::Tally;
use super::transfer::fetch_into_held;

/// A Connect that is refused.
enum Refusal {
    /// A parameter is not valid.
    Parameter(ConnectParameter),
    /// Something else is in the way.
    Status(Status),
    /// The connection is ending.
    Abandoned,
}

impl From<ConnectParameter> for Refusal {
    fn from(parameter: ConnectParameter) -> Self {
        Refusal::Parameter(parameter)
    }
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        Refusal::Status(status)
    }
}

/// Answers a Connect.
pub(super) async fn connect<D: Door>(connection: Rc<Connection<D>>, mut ticket: Ticket, command: Connect) {
    // Their memory is in no budget: there are at most `connecting_max` of them, and a host that has all of a budget is not to
    // keep others out.
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
            refuse(&connection.service.told.refusal, ticket, refusal);
        }
    }
}

fn refuse(told: &Tally, ticket: Ticket, refusal: Refusal) {
    match refusal {
        Refusal::Parameter(parameter) => {
            if let Some(times) = told.count(now()) {
                tracing::info!(times, ?parameter, "Connect refused");
            }
            let status = Status::CONNECT_INVALID_PARAMETERS.dnr();
            ticket.reject_with_result(status, parameter.result().into());
        }
        Refusal::Status(status) => {
            if let Some(times) = told.count(now()) {
                tracing::info!(times, %status, "Connect refused");
            }
            ticket.reject(Rejection::new(status));
        }
        Refusal::Abandoned => ticket.stop(Stop::Abandon),
    }
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
        return Err(Status::CONNECT_INCOMPATIBLE_FORMAT.dnr().into());
    }
    let size_max = limits.max_queue_size();
    if command.sq_size == 0 || command.sq_size > size_max {
        return Err(ConnectParameter::SqSize.into());
    }
    if command.queue_id > limits.io_queues_max {
        return Err(ConnectParameter::QueueId.into());
    }
    Ok(QueueShape {
        id: command.queue_id,
        entries: u32::from(command.sq_size) + 1,
        has_flow_control: !command.disable_sq_flow_control,
    })
}

fn check_host(data: &ConnectData) -> Result<HostKey, Refusal> {
    let name = nqn_of_field(&data.host_nqn).and_then(|name| HostNqn::new(name).ok());
    let nqn = name.ok_or(ConnectParameter::HostNqn)?;
    if data.host_id == [0; 16] {
        return Err(ConnectParameter::HostId.into());
    }
    Ok(HostKey { nqn, id: data.host_id })
}

/// Whether the subsystem is the discovery service.
fn check_subsystem<D: Door>(connection: &Connection<D>, data: &ConnectData) -> Result<bool, Refusal> {
    let name = nqn_of_field(&data.subsystem_nqn).ok_or(ConnectParameter::SubsystemNqn)?;
    if name == DISCOVERY_NQN {
        return Ok(true);
    }
    let kind = connection.service.target.portals()[connection.portal].kind;
    if kind == PortalKind::Io && name == connection.service.door.subsystem().nqn {
        return Ok(false);
    }
    Err(ConnectParameter::SubsystemNqn.into())
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
        return Err(ConnectParameter::ControllerId.into());
    }
    let wire = &connection.wire;
    let keep_alive = bound_keep_alive(&wire.limits, command.keep_alive_ms)?;
    let registry = &connection.service.target.registry;
    // The discovery service applies nothing that could be late.
    let draining = || registry.draining_of_host(&host.nqn).filter(|_| !is_discovery);
    await_earlier_work(connection, draining).await?;
    let association = registry.admit(host, wire.peer, is_discovery, &wire.life);
    let association = association.ok_or(Status::CONNECT_CONTROLLER_BUSY)?;
    let host_budget = connection.service.hosts.of(&association.host.nqn);
    wire.set_queue(shape, association.clone(), host_budget, None);
    if let Some(times) = connection.service.told.arrival.count(now()) {
        tracing::info!(
            times, host = %association.host.nqn, peer = %wire.peer, controller = association.controller_id,
            discovery = is_discovery, "host connected"
        );
    }
    let controller =
        Controller::start(connection.service.clone(), wire.clone(), association.clone(), keep_alive);
    connection.set_role(Role::Admin(controller));
    Ok(association)
}

/// Waits until nothing that `draining` finds is there: what the host's earlier connections still write must not come after
/// what it writes by this one. Ends early with the connection, and, if it takes too long, with a refusal after which the host
/// may try again.
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
        Either::Right((Err(_), _)) => Err(Status::CONNECT_CONTROLLER_BUSY.into()),
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
    let in_capsule =
        service.in_capsule.try_reserve(in_capsule_bytes).ok_or(Status::CONNECT_CONTROLLER_BUSY)?;
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
        match error {
            JoinError::NoController => ConnectParameter::ControllerId.into(),
            JoinError::OtherHostNqn => ConnectParameter::HostNqn.into(),
            JoinError::OtherHostId => ConnectParameter::HostId.into(),
            JoinError::QueueIdTooHigh => ConnectParameter::QueueId.into(),
            JoinError::NotEnabled | JoinError::QueueInUse => Status::COMMAND_SEQUENCE_ERROR.dnr().into(),
        }
    }
}
