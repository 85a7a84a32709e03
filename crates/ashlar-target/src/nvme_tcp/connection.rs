//! One TCP connection: what is shared by its parts, its reader, its life and its end.

mod handshake;
mod reader;
mod wire;

use std::cell::RefCell;
use std::net::Shutdown;
use std::rc::Rc;

use ashlar_nvme::fabrics::{FABRICS_OPCODE, FabricsCommand};
use ashlar_nvme::pdu::{Pdu, PduFault, TermReq};
use ashlar_nvme::sqe::Sqe;
use ashlar_nvme::status::{Rejection, Status};
use ashlar_reactor::net::TcpStream;
use ashlar_reactor::{JoinHandle, now, spawn_joined, timeout};
use ashlar_volume::Door;
use bytes::Bytes;

use super::connect;
use super::controller::Controller;
use super::io::IoQueue;
use super::newcomers::HeldUp;
use super::registry::EndReason;
use super::target::{Presence, ServiceState};
use super::ticket::Ticket;
use super::transfer::Capsule;
use handshake::Handshake;
pub(super) use wire::{QueueShape, Wire};

/// What a connection is.
pub(super) enum Role<D: Door> {
    /// Nothing yet: only Connect is accepted.
    Fresh,
    /// Its Connect is being answered.
    Connecting,
    /// The admin queue of a controller.
    Admin(Rc<Controller<D>>),
    /// An I/O queue.
    Io(Rc<IoQueue<D>>),
}

impl<D: Door> Clone for Role<D> {
    fn clone(&self) -> Self {
        match self {
            Role::Fresh => Role::Fresh,
            Role::Connecting => Role::Connecting,
            Role::Admin(controller) => Role::Admin(controller.clone()),
            Role::Io(queue) => Role::Io(queue.clone()),
        }
    }
}

/// One connection.
pub(super) struct Connection<D: Door> {
    pub(super) service: Rc<ServiceState<D>>,
    pub(super) wire: Rc<Wire>,
    /// Index of the portal that it came by.
    pub(super) portal: usize,
    role: RefCell<Role<D>>,
    /// Until it has finished Connect.
    handshake: RefCell<Option<Handshake>>,
}

/// Why reading ended, and what the host is to be told of it.
pub(super) struct ReadEnd {
    pub(super) reason: EndReason,
    pub(super) complaint: Option<Complaint>,
}

/// A fault of the host's, and the header that has it.
pub(super) struct Complaint {
    pub(super) fault: PduFault,
    pub(super) header: Bytes,
}

impl From<EndReason> for ReadEnd {
    fn from(reason: EndReason) -> Self {
        ReadEnd { reason, complaint: None }
    }
}

/// Serves a connection from its first byte to its last.
pub(super) async fn serve<D: Door>(service: Rc<ServiceState<D>>, stream: TcpStream, portal: usize) {
    let Ok(local) = stream.local_addr() else { return };
    let wire = Wire::new(&service, stream.peer_addr(), local.ip());
    let stream = Rc::new(stream);
    let _presence = Presence::new(&service, &wire.life);
    let handshake = RefCell::new(Some(Handshake::begin(&service, &wire)));
    let role = RefCell::new(Role::Fresh);
    let connection = Rc::new(Connection { service, wire: wire.clone(), portal, role, handshake });
    let drained = Drained(wire.clone());
    let mut writer = spawn_joined(write(wire.clone(), stream.clone()));
    let end = reader::read(&connection, &stream).await;
    tracing::debug!(peer = %wire.peer, reason = ?end.reason, "connection ends");
    connection.end(end.reason).await;
    drop(drained);
    if let Some(complaint) = end.complaint {
        connection.complain(complaint);
    }
    // Who has made room is not waited for.
    if end.reason != EndReason::MadeRoom {
        close(&wire, &stream, &mut writer).await;
    }
    writer.abort();
}

/// Says that no command of the connection will be applied any more, however its task ends.
struct Drained(Rc<Wire>);

impl Drop for Drained {
    fn drop(&mut self) {
        self.0.life.drained.set(());
    }
}

async fn write(wire: Rc<Wire>, stream: Rc<TcpStream>) {
    if !wire.output.write_to(&stream, wire.limits.transfer_timeout).await {
        wire.life.end(EndReason::SendFailed);
    }
}

/// Lets what is to be sent go out, tells the other side that nothing follows, and waits for it to
/// close: closing with unread data would reset the connection before the host has read the last
/// PDU.
async fn close(wire: &Wire, stream: &TcpStream, writer: &mut JoinHandle<()>) {
    wire.output.finish();
    let last_words = async {
        writer.await;
        if stream.shutdown(Shutdown::Write).await.is_ok() {
            while let Ok(Some(_)) = stream.recv().await {}
        }
    };
    let _ = timeout(wire.limits.closing_timeout, last_words).await;
}

impl<D: Door> Connection<D> {
    pub(super) fn role(&self) -> Role<D> {
        self.role.borrow().clone()
    }

    pub(super) fn set_role(&self, role: Role<D>) {
        if matches!(role, Role::Admin(_) | Role::Io(_)) {
            self.handshake.take();
            self.wire.output.connected();
        }
        self.role.replace(role);
    }

    /// Its Connect has come whole and waits for us, for as long as what this returns lives.
    pub(super) fn hold_up(&self) -> Option<HeldUp> {
        self.handshake.borrow().as_ref().map(Handshake::hold_up)
    }

    /// Takes a command that has come whole.
    pub(super) fn dispatch(self: &Rc<Self>, capsule: Capsule) {
        let may_share = |sqe: &Sqe| self.is_of_forgotten_event_request(sqe);
        let Some(ticket) = Ticket::take(&self.wire, capsule, may_share) else { return };
        if let Err(rejection) = ticket.sqe().check_data_pointer() {
            return ticket.reject(rejection);
        }
        if ticket.sqe().opcode == FABRICS_OPCODE {
            return self.dispatch_fabrics(ticket);
        }
        match &*self.role.borrow() {
            Role::Admin(controller) => controller.dispatch(ticket),
            Role::Io(queue) => queue.dispatch(ticket),
            Role::Fresh | Role::Connecting => ticket.reject(Status::COMMAND_SEQUENCE_ERROR.dnr()),
        }
    }

    /// Whether a command that has the identifier of another one is to be taken nevertheless. A
    /// widespread user-space initiator forgets its Asynchronous Event Requests when it detaches,
    /// and gives their identifiers to the property commands that shut the controller down. Refusing
    /// those ends its connection without a shutdown. Every other command is held to the
    /// specification.
    fn is_of_forgotten_event_request(&self, sqe: &Sqe) -> bool {
        let is_of_property = sqe.opcode == FABRICS_OPCODE
            && matches!(
                FabricsCommand::parse(sqe),
                Ok(FabricsCommand::PropertyGet { .. } | FabricsCommand::PropertySet { .. })
            );
        match &*self.role.borrow() {
            Role::Admin(controller) if is_of_property => {
                controller.events.borrow_mut().forget(sqe.cid())
            }
            _ => false,
        }
    }

    fn dispatch_fabrics(self: &Rc<Self>, ticket: Ticket) {
        let command = match FabricsCommand::parse(ticket.sqe()) {
            Ok(command) => command,
            Err(rejection) => return ticket.reject(rejection),
        };
        match (command, self.role()) {
            (FabricsCommand::Connect(command), Role::Fresh) => {
                self.set_role(Role::Connecting);
                ashlar_reactor::spawn(connect::connect(self.clone(), ticket, command));
            }
            (FabricsCommand::Connect(_), _) | (_, Role::Fresh | Role::Connecting) => {
                ticket.reject(Status::COMMAND_SEQUENCE_ERROR.dnr());
            }
            (FabricsCommand::Disconnect { record_format: 0 }, Role::Io(_)) => {
                ticket.succeed();
                self.wire.life.end(EndReason::Disconnected);
            }
            (FabricsCommand::Disconnect { record_format: 0 }, _) => {
                ticket.reject(Status::INVALID_QUEUE_TYPE.dnr());
            }
            (FabricsCommand::Disconnect { .. }, _) => {
                ticket.reject(Status::CONNECT_INCOMPATIBLE_FORMAT.dnr());
            }
            (FabricsCommand::PropertyGet { offset, width }, Role::Admin(controller)) => {
                controller.get_property(ticket, offset, width);
            }
            (FabricsCommand::PropertySet { offset, width, value }, Role::Admin(controller)) => {
                controller.set_property(ticket, offset, width, value);
            }
            // No authentication protocol is supported, and properties belong to admin queues.
            (FabricsCommand::AuthSend(_) | FabricsCommand::AuthReceive(_), _)
            | (
                FabricsCommand::PropertyGet { .. } | FabricsCommand::PropertySet { .. },
                Role::Io(_),
            ) => {
                ticket.reject(Rejection::opcode());
            }
        }
    }

    /// Takes the connection out of service: nothing new begins, what waits for the host is
    /// abandoned, what runs is awaited. Then no command of it will be applied any more.
    async fn end(&self, reason: EndReason) {
        let wire = &self.wire;
        wire.life.end(reason);
        // Replies to commands that were accepted still go out in an orderly end.
        if !matches!(
            reason,
            EndReason::Shutdown | EndReason::Disconnected | EndReason::ControllerReset
        ) {
            wire.output.close();
        }
        match self.role() {
            Role::Admin(controller) => controller.end(),
            Role::Io(queue) => queue.end(),
            Role::Fresh | Role::Connecting => {}
        }
        if let Some(association) = wire.association.get() {
            self.service.target.registry.leave(
                association.controller_id,
                wire.queue_id(),
                &wire.life,
            );
        }
        wire.transfers.abandon_all();
        wire.outstanding.none_left().await;
    }

    fn complain(&self, complaint: Complaint) {
        let Complaint { fault, header } = complaint;
        if let Some(times) = self.service.told.fault.count(now()) {
            tracing::warn!(times, peer = %self.wire.peer, %fault, "protocol fault, connection terminated");
        }
        let term = Pdu::ControllerTermReq(TermReq::from(fault));
        self.wire.output.send_last(&term, &header);
    }
}
