//! Admin commands.

use std::rc::Rc;

use ashlar_block::AlignedBuf;
use ashlar_nvme::admin::{AdminCommand, FormatNvm, GetLogPage, opcode};
use ashlar_nvme::sgl::DataLocation;
use ashlar_nvme::sqe::{Cid, Fuse, NSID_ALL, Sqe};
use ashlar_nvme::status::{ErrorLocation, Rejection, Status};
use ashlar_reactor::now;
use ashlar_volume::{Door, FormatRequest, Nsid};

use super::controller::Controller;
use super::features;
use super::footprint;
use super::logs::part_of;
use super::memory::Payload;
use super::status::of_cause;
use super::ticket::Ticket;
use super::vendor;

/// Aborts that a controller takes at a time (ACL, decoded). Each is answered at once.
pub(super) const ABORTS_MAX: u8 = 4;

/// Answers that take no memory of the budget: those that a host needs to connect, whoever has the
/// budget. The output's bound on what is not sent is theirs.
const UNBUDGETED_BYTES_MAX: u64 = 4 << 10;

/// LBA formats, by index: bytes of a block.
pub(super) const LBA_FORMATS: [u32; 2] = [512, 4096];

/// The opcodes that a discovery controller takes (Base 2.1, section 3.1.3.3).
const DISCOVERY_OPCODES: [u8; 6] = [
    opcode::GET_LOG_PAGE,
    opcode::IDENTIFY,
    opcode::SET_FEATURES,
    opcode::GET_FEATURES,
    opcode::ASYNC_EVENT_REQUEST,
    opcode::KEEP_ALIVE,
];

/// A refusal of what the namespace identifier says.
pub(super) const NAMESPACE_INVALID: Rejection =
    Rejection { status: Status::INVALID_NAMESPACE.dnr(), location: ErrorLocation::byte(4) };

impl<D: Door> Controller<D> {
    /// Takes an admin command.
    pub(super) fn dispatch(self: &Rc<Self>, ticket: Ticket) {
        self.touch();
        let command = match self.check(ticket.sqe()) {
            Ok(command) => command,
            Err(rejection) => return ticket.reject(rejection),
        };
        match command {
            AdminCommand::Identify(identify) => {
                let structure = self.identify(ticket.sqe(), &identify);
                answer(ticket, structure);
            }
            AdminCommand::GetLogPage(get) if vendor::kind_of_latency(get.page).is_some() => {
                self.run(self.clone().latency_page(ticket, get));
            }
            AdminCommand::GetLogPage(get) if get.bytes > UNBUDGETED_BYTES_MAX => {
                self.run(self.clone().large_log_page(ticket, get));
            }
            AdminCommand::GetLogPage(get) => self.answer_log_page(ticket, &get, None),
            AdminCommand::GetFeatures { feature, select, parameter } => {
                features::get(self, ticket, feature, select, parameter);
            }
            AdminCommand::SetFeatures { feature, save, parameter } => {
                self.run(features::set(self.clone(), ticket, feature, save, parameter));
            }
            AdminCommand::AsyncEventRequest => self.events.borrow_mut().request(ticket),
            AdminCommand::Abort { queue_id, cid } => self.abort(ticket, queue_id, cid),
            AdminCommand::KeepAlive => ticket.succeed(),
            AdminCommand::Format(format) => self.run(self.clone().format(ticket, format)),
            AdminCommand::Sanitize(command) => {
                self.run(self.clone().sanitize(ticket, command));
            }
            AdminCommand::GetScaleFluxFeature { feature } => {
                vendor::get_feature(self, ticket, feature);
            }
            AdminCommand::SetScaleFluxFeature { feature, value } => {
                vendor::set_feature(self, ticket, feature, value);
            }
        }
    }

    fn check(&self, sqe: &Sqe) -> Result<AdminCommand, Rejection> {
        if !self.is_ready() {
            return Err(Rejection::new(Status::COMMAND_SEQUENCE_ERROR.dnr()));
        }
        if sqe.fuse()? != Fuse::Normal {
            return Err(Rejection::field(1));
        }
        if self.is_discovery() && !DISCOVERY_OPCODES.contains(&sqe.opcode) {
            return Err(Rejection::opcode());
        }
        AdminCommand::parse(sqe)
    }

    /// Ends an Asynchronous Event Request. Other commands are left to end by themselves, which the
    /// answer says: every one of them does, and soon.
    fn abort(&self, ticket: Ticket, queue_id: u16, cid: Cid) {
        const NOT_ABORTED: u64 = 1;
        let aborted = queue_id == 0 && self.events.borrow_mut().abort(cid);
        ticket.complete(Status::SUCCESS, if aborted { 0 } else { NOT_ABORTED });
    }

    /// A page of latencies: those of all reactors are added up for it.
    async fn latency_page(self: Rc<Self>, ticket: Ticket, get: GetLogPage) {
        if let Err(rejection) = self.check_log_page(ticket.sqe(), &get) {
            return ticket.reject(rejection);
        }
        let held = match get.bytes > UNBUDGETED_BYTES_MAX {
            true => match ticket.wire().reserve(footprint::buffer(get.bytes)).await {
                Ok(held) => held,
                Err(stop) => return ticket.stop(stop),
            },
            false => None,
        };
        let kind = vendor::kind_of_latency(get.page).expect("it is such a page");
        let (door, host) = (&self.service.door, &self.host().nqn);
        let nsid = Some(ticket.nsid()).filter(|nsid| !matches!(*nsid, 0 | NSID_ALL)).map(Nsid);
        let is_there = |nsid| door.with_namespace(host, nsid, |_, _| ()).is_some();
        if !nsid.is_none_or(is_there) {
            return ticket.reject(NAMESPACE_INVALID);
        }
        let took = door.latency(host, nsid, kind).await;
        answer_held(ticket, part_of(vendor::latency_page(&took), &get), held);
    }

    /// As [`Controller::answer_log_page`], with memory from the budget.
    async fn large_log_page(self: Rc<Self>, ticket: Ticket, get: GetLogPage) {
        if let Err(rejection) = self.check_log_page(ticket.sqe(), &get) {
            return ticket.reject(rejection);
        }
        match ticket.wire().reserve(footprint::buffer(get.bytes)).await {
            Ok(held) => self.answer_log_page(ticket, &get, held),
            Err(stop) => ticket.stop(stop),
        }
    }

    fn answer_log_page(&self, ticket: Ticket, get: &GetLogPage, held: Option<Payload>) {
        let page = self.log_page(ticket.sqe(), get);
        let was_read = page.is_ok() && !get.retain_event;
        answer_held(ticket, page, held);
        if was_read {
            self.events.borrow_mut().page_was_read(get.page);
        }
    }

    async fn format(self: Rc<Self>, ticket: Ticket, format: FormatNvm) {
        let nsid = Nsid(ticket.nsid());
        let request = match self.check_format(nsid, &format) {
            Ok(request) => request,
            Err(rejection) => return ticket.reject(rejection),
        };
        match self.service.door.format(&self.host().nqn, nsid, request).await {
            Ok(()) => ticket.succeed(),
            Err(error) => {
                if let Some(times) = self.service.told.failure.count(now()) {
                    let host = &self.host().nqn;
                    tracing::warn!(times, %error, %host, nsid = nsid.0, "Format failed");
                }
                ticket.reject(of_cause(error.cause, false));
            }
        }
    }

    fn check_format(&self, nsid: Nsid, format: &FormatNvm) -> Result<FormatRequest, Rejection> {
        self.check_not_sanitizing()?;
        let at_cdw10 =
            |status: Status| Rejection { status: status.dnr(), location: ErrorLocation::byte(40) };
        let protected = self
            .service
            .door
            .with_namespace(&self.host().nqn, nsid, |info, _| info.write_protected);
        if protected.ok_or(NAMESPACE_INVALID)? {
            return Err(Status::WRITE_PROTECTED.dnr().into());
        }
        let lba_bytes = LBA_FORMATS.get(usize::from(format.lba_format));
        let lba_bytes = *lba_bytes.ok_or(at_cdw10(Status::INVALID_FORMAT))?;
        if format.metadata_settings != 0 {
            return Err(at_cdw10(Status::INVALID_FORMAT));
        }
        const ERASE_USER_DATA: u8 = 1;
        // SES. There are no keys that a cryptographic erase could change.
        if format.secure_erase > ERASE_USER_DATA {
            return Err(Rejection::field(41));
        }
        Ok(FormatRequest { lba_bytes, is_erase: format.secure_erase == ERASE_USER_DATA })
    }
}

/// Sends a structure of at most [`UNBUDGETED_BYTES_MAX`], or refuses.
pub(super) fn answer(ticket: Ticket, structure: Result<Vec<u8>, Rejection>) {
    answer_held(ticket, structure, None);
}

/// As [`answer`], with the memory that the structure takes if it is larger.
fn answer_held(ticket: Ticket, structure: Result<Vec<u8>, Rejection>, held: Option<Payload>) {
    let checked = structure.and_then(|structure| {
        check_room(ticket.sqe(), structure.len())?;
        Ok(structure)
    });
    match checked {
        Ok(structure) => ticket.complete_with_data(AlignedBuf::copy_of(&structure), held),
        Err(rejection) => ticket.reject(rejection),
    }
}

/// Whether the host has room for `bytes`, where the transport can put them.
pub(super) fn check_room(sqe: &Sqe, bytes: usize) -> Result<(), Rejection> {
    match sqe.sgl.location()? {
        DataLocation::Transport { length } if length as usize >= bytes => Ok(()),
        DataLocation::Transport { .. } => Err(Rejection {
            status: Status::SGL_LENGTH_INVALID.dnr(),
            location: ErrorLocation::byte(32),
        }),
        DataLocation::InCapsule { .. } => Err(Rejection {
            status: Status::SGL_TYPE_INVALID.dnr(),
            location: ErrorLocation::byte(39),
        }),
    }
}
