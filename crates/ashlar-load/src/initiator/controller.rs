//! The association as its user has it: it outlives broken connections.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{AlignedBuf, Notify, wait_for};
use ashlar_nvme::admin::{AdminCommand, FeatureSelect, FormatNvm, GetLogPage, Identify};
use ashlar_nvme::event::AsyncEvent;
use ashlar_nvme::identify::{IDENTIFY_BYTES, cns, namespaces_of_list};
use ashlar_nvme::sqe::{Cid, Sqe};
use ashlar_nvme::status::Status;
use ashlar_nvme::text::{ascii_trimmed, nqn_of_field};
use ashlar_reactor::{now, sleep, spawn};
use bytes::Bytes;

use super::error::{CommandError, ConnectError};
use super::namespace::Namespace;
use super::options::{ConnectOptions, ReconnectPolicy};
use super::queue::{Completion, Data, Queue};
use super::session::{Purpose, Session};

/// Times that a command is sent again after a status that allows it. Linux does as many.
const RETRIES_MAX: u32 = 5;
/// Pause before a command is sent again.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// What a controller says of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ControllerInfo {
    /// The subsystem's name.
    pub subsystem_nqn: String,
    /// Serial number.
    pub serial: String,
    /// Model.
    pub model: String,
    /// Firmware revision.
    pub firmware: String,
    /// Largest transfer of one command, in bytes; none if there is no limit.
    pub transfer_bytes_max: Option<u64>,
    /// The controller's identifier.
    pub controller_id: u16,
    /// I/O queues that are connected.
    pub io_queues: u16,
}

enum State {
    Up(Rc<Session>),
    Reconnecting,
    GaveUp(ConnectError),
    Closed,
}

struct Shared {
    options: ConnectOptions,
    purpose: Purpose,
    state: RefCell<State>,
    changed: Notify,
    reconnections: Cell<u64>,
}

/// A connected controller. Clones are the same one; it ends with [`Controller::disconnect`], or
/// without a word when the last clone is dropped.
#[derive(Clone)]
pub struct Controller {
    shared: Rc<Shared>,
}

impl Controller {
    /// Connects with I/O queues.
    ///
    /// # Errors
    /// What stood in the way.
    pub async fn connect(options: ConnectOptions) -> Result<Self, ConnectError> {
        Self::connect_for(options, Purpose::Io).await
    }

    /// Connects to a discovery service: an admin queue alone.
    ///
    /// # Errors
    /// What stood in the way.
    pub async fn connect_discovery(options: ConnectOptions) -> Result<Self, ConnectError> {
        Self::connect_for(options, Purpose::Discovery).await
    }

    async fn connect_for(options: ConnectOptions, purpose: Purpose) -> Result<Self, ConnectError> {
        let session = Rc::new(Session::connect(&options, purpose).await?);
        let shared = Shared {
            options,
            purpose,
            state: RefCell::new(State::Up(session)),
            changed: Notify::new(),
            reconnections: Cell::new(0),
        };
        Ok(Controller { shared: Rc::new(shared) })
    }

    /// What the controller says of itself.
    ///
    /// # Errors
    /// The association is not there and does not come back.
    pub async fn info(&self) -> Result<ControllerInfo, CommandError> {
        let session = self.session().await?;
        let identify = &session.identify;
        let exponent = u32::from(identify.max_transfer_exponent);
        Ok(ControllerInfo {
            subsystem_nqn: nqn_of_field(&identify.subsystem_nqn).unwrap_or_default().to_owned(),
            serial: ascii_trimmed(&identify.serial),
            model: ascii_trimmed(&identify.model),
            firmware: ascii_trimmed(&identify.firmware),
            transfer_bytes_max: (exponent > 0)
                .then(|| 4096_u64.checked_shl(exponent).unwrap_or(u64::MAX)),
            controller_id: session.controller_id,
            io_queues: session.io.len() as u16,
        })
    }

    /// Times that the association was made again.
    pub fn reconnections(&self) -> u64 {
        self.shared.reconnections.get()
    }

    /// The namespaces that the host may see.
    ///
    /// # Errors
    /// See [`CommandError`].
    pub async fn namespaces(&self) -> Result<Vec<u32>, CommandError> {
        let mut nsids = Vec::new();
        loop {
            let after = nsids.last().copied().unwrap_or(0);
            let list = self.identify(cns::ACTIVE_NAMESPACES, after).await?;
            let before = nsids.len();
            nsids.extend(namespaces_of_list(&list));
            if nsids.len() - before < ashlar_nvme::identify::NAMESPACE_LIST_MAX {
                return Ok(nsids);
            }
        }
    }

    /// A namespace to read and write.
    ///
    /// # Errors
    /// It is not there, or has a format that this host cannot use.
    pub async fn namespace(&self, nsid: u32) -> Result<Namespace, CommandError> {
        let data = self.identify(cns::NAMESPACE, nsid).await?;
        let transfer_bytes_max = self.info().await?.transfer_bytes_max;
        Namespace::new(self.clone(), nsid, &data, transfer_bytes_max)
    }

    /// An Identify structure.
    ///
    /// # Errors
    /// See [`CommandError`].
    pub async fn identify(&self, cns: u8, nsid: u32) -> Result<AlignedBuf, CommandError> {
        let identify = Identify { cns, controller_id: 0, specific_id: 0, command_set: 0 };
        let sqe = AdminCommand::Identify(identify).to_sqe(Cid(0), nsid);
        Ok(self.execute_admin(sqe, &Payload::Read(IDENTIFY_BYTES)).await?.data)
    }

    /// A part of a log page.
    ///
    /// # Errors
    /// See [`CommandError`].
    pub async fn log_page(
        &self,
        page: u8,
        offset: u64,
        bytes: u32,
    ) -> Result<AlignedBuf, CommandError> {
        let get = GetLogPage {
            page,
            specific: 0,
            specific_id: 0,
            retain_event: false,
            bytes: bytes.into(),
            offset,
            offset_is_index: false,
            command_set: 0,
        };
        let sqe = AdminCommand::GetLogPage(get).to_sqe(Cid(0), 0);
        Ok(self.execute_admin(sqe, &Payload::Read(bytes as usize)).await?.data)
    }

    /// The value of a feature that is a number.
    ///
    /// # Errors
    /// See [`CommandError`].
    pub async fn feature(&self, feature: u8) -> Result<u32, CommandError> {
        let command =
            AdminCommand::GetFeatures { feature, select: FeatureSelect::Current, parameter: 0 };
        let completion = self.execute_admin(command.to_sqe(Cid(0), 0), &Payload::None).await?;
        Ok(completion.cqe.result.get() as u32)
    }

    /// Sets a feature that is a number. Returns the command's result.
    ///
    /// # Errors
    /// See [`CommandError`].
    pub async fn set_feature(
        &self,
        feature: u8,
        nsid: u32,
        parameter: u32,
    ) -> Result<u32, CommandError> {
        let command = AdminCommand::SetFeatures { feature, save: false, parameter };
        let completion = self.execute_admin(command.to_sqe(Cid(0), nsid), &Payload::None).await?;
        Ok(completion.cqe.result.get() as u32)
    }

    /// Formats a namespace to the LBA format of that index. Everything in it is gone.
    ///
    /// # Errors
    /// See [`CommandError`].
    pub async fn format(&self, nsid: u32, lba_format: u8) -> Result<(), CommandError> {
        let format = FormatNvm { lba_format, metadata_settings: 0, secure_erase: 0 };
        let sqe = AdminCommand::Format(format).to_sqe(Cid(0), nsid);
        self.execute_admin(sqe, &Payload::None).await.map(drop)
    }

    /// Waits for the next asynchronous event; none if it is of a type that is not known.
    ///
    /// # Errors
    /// See [`CommandError`].
    pub async fn next_event(&self) -> Result<Option<AsyncEvent>, CommandError> {
        let sqe = AdminCommand::AsyncEventRequest.to_sqe(Cid(0), 0);
        let completion = self.execute_admin(sqe, &Payload::None).await?;
        Ok(AsyncEvent::from_result(completion.cqe.result.get() as u32))
    }

    /// Ends the association in order: running commands fail, the controller is shut down.
    pub async fn disconnect(self) {
        let state = self.shared.state.replace(State::Closed);
        self.shared.changed.notify_waiters();
        if let State::Up(session) = state {
            session.shutdown().await;
        }
    }

    /// The session, once there is one.
    async fn session(&self) -> Result<Rc<Session>, CommandError> {
        wait_for(&self.shared.changed, || match &*self.shared.state.borrow() {
            State::Up(session) => Some(Ok(session.clone())),
            State::GaveUp(error) => Some(Err(CommandError::GaveUp(Box::new(error.clone())))),
            State::Closed => Some(Err(CommandError::Closed)),
            State::Reconnecting => None,
        })
        .await
    }

    pub(super) async fn execute_admin(
        &self,
        sqe: Sqe,
        payload: &Payload,
    ) -> Result<Completion, CommandError> {
        self.execute(sqe, payload, |session| &session.admin).await
    }

    pub(super) async fn execute_io(
        &self,
        sqe: Sqe,
        payload: &Payload,
    ) -> Result<Completion, CommandError> {
        self.execute(sqe, payload, Session::next_io).await
    }

    /// Sends a command until it has an answer that is not to be followed by another attempt.
    async fn execute(
        &self,
        sqe: Sqe,
        payload: &Payload,
        queue_of: impl Fn(&Session) -> &Queue,
    ) -> Result<Completion, CommandError> {
        let mut retries = 0;
        loop {
            let session = self.session().await?;
            match queue_of(&session).submit(sqe, payload.to_data()).await {
                Ok(completion) if completion.cqe.status().is_success() => return Ok(completion),
                Ok(completion) => {
                    let status = completion.cqe.status();
                    if !may_retry(status) || retries == RETRIES_MAX {
                        return Err(CommandError::Status(status));
                    }
                    retries += 1;
                    sleep(RETRY_DELAY).await;
                }
                Err(error) => self.session_broke(&session, error)?,
            }
        }
    }

    /// Two commands that follow each other on one queue. Not sent again: what a lost answer would
    /// have said decides whether they may be.
    pub(super) async fn execute_pair(
        &self,
        first: (Sqe, Bytes),
        second: (Sqe, Bytes),
    ) -> Result<(Completion, Completion), CommandError> {
        let session = self.session().await?;
        let queue = session.next_io();
        let pair = queue.submit_pair(first, second).await;
        pair.inspect_err(|error| {
            let _ = self.session_broke(&session, error.clone());
        })
    }

    /// Begins to reconnect, if that is wanted and nobody has.
    fn session_broke(
        &self,
        session: &Rc<Session>,
        error: CommandError,
    ) -> Result<(), CommandError> {
        if session.broken().is_none() {
            // A status of the transport's, not a lost connection.
            return Err(error);
        }
        let Some(policy) = self.shared.options.reconnect.clone() else { return Err(error) };
        let mut state = self.shared.state.borrow_mut();
        if let State::Up(current) = &*state
            && Rc::ptr_eq(current, session)
        {
            tracing::info!(%error, address = %self.shared.options.address, "connection lost, reconnecting");
            session.close();
            *state = State::Reconnecting;
            spawn(reconnect(Rc::downgrade(&self.shared), policy));
        }
        Ok(())
    }
}

/// Statuses after which Linux would try again: those without Do Not Retry that speak of the moment.
fn may_retry(status: Status) -> bool {
    let passing = [
        Status::NAMESPACE_NOT_READY,
        Status::TRANSIENT_TRANSPORT_ERROR,
        Status::COMMAND_INTERRUPTED,
        Status::INTERNAL_ERROR,
        Status::WRITE_FAULT,
    ];
    !status.is_dnr() && passing.contains(&status.code())
}

async fn reconnect(shared: std::rc::Weak<Shared>, policy: ReconnectPolicy) {
    let start = now();
    while let Some(shared) = shared.upgrade() {
        let attempt = Session::connect(&shared.options, shared.purpose).await;
        if matches!(*shared.state.borrow(), State::Closed) {
            return;
        }
        match attempt {
            Ok(session) => {
                shared.reconnections.set(shared.reconnections.get() + 1);
                return shared.settle(State::Up(Rc::new(session)));
            }
            Err(error) if now().since(start) >= policy.give_up_after => {
                return shared.settle(State::GaveUp(error));
            }
            Err(error) => tracing::debug!(%error, "reconnecting"),
        }
        drop(shared);
        sleep(policy.delay).await;
    }
}

impl Shared {
    fn settle(&self, state: State) {
        self.state.replace(state);
        self.changed.notify_waiters();
    }
}

/// Data of a command that may be sent more than once.
pub(super) enum Payload {
    None,
    Write(Bytes),
    Read(usize),
}

impl Payload {
    fn to_data(&self) -> Data {
        match self {
            Payload::None => Data::None,
            Payload::Write(bytes) => Data::Write(bytes.clone()),
            Payload::Read(bytes) => Data::Read(*bytes),
        }
    }
}
