//! Sanitize: a block erase of all namespaces that a host sees (Base 2.1, sections 5.1.22 and
//! 8.1.24).
//!
//! The specification has Sanitize erase the whole NVM subsystem. A host sees its own part of ours,
//! and nobody may erase what it does not see. So a sanitize is of all that its host sees, and each
//! host has its own status. It is refused with
//!
//! - Operation Denied, where another host may see one of the namespaces, or the host sees none:
//!   what two hosts share is not for one of them to erase;
//! - Namespace is Write Protected, where one of them is that.
//!
//! How far each namespace is, the door says, durably: a start goes on with what a crash has come
//! between.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard};

use ashlar_nvme::admin::{Sanitize, sanitize_action};
use ashlar_nvme::event::AsyncEvent;
use ashlar_nvme::log::{NO_ESTIMATE, NO_SANITIZE_PROGRESS, SanitizeStatusLog, sanitize_status};
use ashlar_nvme::status::{Rejection, Status};
use ashlar_nvme::zerocopy::{FromZeros, IntoBytes};
use ashlar_reactor::{now, spawn};
use ashlar_volume::{AccessList, Door, HostNqn, NamespaceInfo, SanitizeState};

use super::controller::Controller;
use super::status::of_cause;
use super::ticket::Ticket;

/// The last sanitize of each host since the daemon was started. Hosts that an access list names
/// alone have one: an operator bounds how many there are.
#[derive(Default)]
pub(super) struct Sanitizes(Mutex<BTreeMap<HostNqn, LastSanitize>>);

/// What a start forgets of a sanitize.
#[derive(Clone, Copy, Debug)]
struct LastSanitize {
    command: Sanitize,
    progress: u16,
}

/// What is known of one from before a start.
const FORGOTTEN: LastSanitize =
    LastSanitize { command: Sanitize(sanitize_action::BLOCK_ERASE as u32), progress: 0 };

impl Sanitizes {
    fn hosts(&self) -> MutexGuard<'_, BTreeMap<HostNqn, LastSanitize>> {
        self.0.lock().expect("no holder of the lock panics")
    }

    fn last(&self, host: &HostNqn) -> Option<LastSanitize> {
        self.hosts().get(host).copied()
    }

    fn note(&self, host: &HostNqn, command: Sanitize, progress: u16) {
        self.hosts().insert(host.clone(), LastSanitize { command, progress });
    }
}

/// The state of all that a host sees: of the parts that which matters most.
fn state_of(namespaces: &[NamespaceInfo]) -> SanitizeState {
    let by_weight = [SanitizeState::UnderWay, SanitizeState::Failed, SanitizeState::Done];
    let holds = |state: &SanitizeState| namespaces.iter().any(|info| info.sanitize == *state);
    by_weight.into_iter().find(holds).unwrap_or_default()
}

/// Whether `host` may have all of that erased.
fn check_namespaces(host: &HostNqn, namespaces: &[NamespaceInfo]) -> Result<(), Rejection> {
    let its_own = AccessList::Allow([host.clone()].into());
    if namespaces.is_empty() || namespaces.iter().any(|info| *info.access != its_own) {
        return Err(Status::OPERATION_DENIED.dnr().into());
    }
    if namespaces.iter().any(|info| info.write_protected) {
        return Err(Status::WRITE_PROTECTED.dnr().into());
    }
    if namespaces.iter().any(|info| !info.is_ready) {
        return Err(Status::NAMESPACE_NOT_READY.into());
    }
    Ok(())
}

/// What can be asked for, whatever the state.
fn check_command(command: Sanitize) -> Result<(), Rejection> {
    let is_known =
        matches!(command.action(), sanitize_action::EXIT_FAILURE | sanitize_action::BLOCK_ERASE);
    if !is_known {
        return Err(Rejection::field(40));
    }
    // SANICAP: neither is offered.
    if command.keeps_allocated() || command.enters_verification() {
        return Err(Rejection::field(41));
    }
    Ok(())
}

/// What may follow a failure: where it was restricted, nothing but another restricted erase.
fn check_after_failure(failed: Sanitize, next: Sanitize) -> Result<(), Rejection> {
    let is_restricted_erase =
        next.action() == sanitize_action::BLOCK_ERASE && !next.is_unrestricted();
    if failed.is_unrestricted() || is_restricted_erase {
        Ok(())
    } else {
        Err(Status::SANITIZE_FAILED.dnr().into())
    }
}

impl<D: Door> Controller<D> {
    /// Answers once the sanitize has begun: it goes on by itself.
    pub(super) async fn sanitize(self: Rc<Self>, mut ticket: Ticket, command: Sanitize) {
        // Nothing of what came with it is wanted.
        drop(ticket.take_data());
        let state = match self.check_sanitize(command) {
            Ok(state) => state,
            Err(rejection) => return ticket.reject(rejection),
        };
        if command.action() == sanitize_action::BLOCK_ERASE {
            return spawn(self.erase_all(ticket, command));
        }
        if state != SanitizeState::Failed {
            return ticket.succeed();
        }
        match self.service.door.exit_sanitize_failure(&self.host().nqn).await {
            Ok(()) => ticket.succeed(),
            Err(error) => ticket.reject(of_cause(error.cause, self.honours_retry_delays())),
        }
    }

    fn check_sanitize(&self, command: Sanitize) -> Result<SanitizeState, Rejection> {
        check_command(command)?;
        let host = &self.host().nqn;
        let namespaces = self.service.door.namespaces(host);
        let state = state_of(&namespaces);
        match state {
            SanitizeState::UnderWay => return Err(Status::SANITIZE_IN_PROGRESS.into()),
            SanitizeState::Failed => {
                let failed = self.service.target.sanitizes.last(host).unwrap_or(FORGOTTEN);
                check_after_failure(failed.command, command)?;
            }
            SanitizeState::Never | SanitizeState::Done => {}
        }
        if command.action() == sanitize_action::BLOCK_ERASE {
            check_namespaces(host, &namespaces)?;
        }
        Ok(state)
    }

    /// The controller that has the command tells its host of the end; to others of the same host
    /// the log page tells it.
    async fn erase_all(self: Rc<Self>, ticket: Ticket, command: Sanitize) {
        // A reset waits until it has begun, and not for its end.
        let (host, begins) = (self.host().nqn.clone(), Cell::new(Some(self.begin_running())));
        let ticket = Cell::new(Some(ticket));
        let sanitizes = &self.service.target.sanitizes;
        let progress = |done| {
            sanitizes.note(&host, command, done);
            if let Some(ticket) = ticket.take() {
                tracing::warn!(%host, "a host has all that it sees sanitized");
                ticket.succeed();
                begins.take();
            }
        };
        let done = self.service.door.sanitize(&host, progress).await;
        if let Some(ticket) = ticket.take() {
            let error = done.expect_err("what has succeeded has begun");
            return ticket.reject(of_cause(error.cause, self.honours_retry_delays()));
        }
        if let Err(error) = done
            && let Some(times) = self.service.told.failure.count(now())
        {
            tracing::error!(times, %error, %host, "Sanitize failed");
        }
        let configuration = self.event_configuration();
        self.events.borrow_mut().raise(AsyncEvent::SANITIZE_COMPLETED, configuration);
    }

    /// Whether all that the host sees is being sanitized: other commands that change something are
    /// refused then.
    pub(super) fn check_not_sanitizing(&self) -> Result<(), Rejection> {
        match state_of(&self.service.door.namespaces(&self.host().nqn)) {
            SanitizeState::UnderWay => Err(Status::SANITIZE_IN_PROGRESS.into()),
            SanitizeState::Failed => Err(Status::SANITIZE_FAILED.dnr().into()),
            SanitizeState::Never | SanitizeState::Done => Ok(()),
        }
    }

    /// The data of Sanitize Status.
    pub(super) fn sanitize_log(&self) -> Vec<u8> {
        let host = &self.host().nqn;
        let state = state_of(&self.service.door.namespaces(host));
        let last = self.service.target.sanitizes.last(host).unwrap_or(FORGOTTEN);
        let mut log = SanitizeStatusLog::new_zeroed();
        log.estimates = [NO_ESTIMATE.into(); 6];
        log.estimate_verification = NO_ESTIMATE.into();
        log.progress = NO_SANITIZE_PROGRESS.into();
        if state == SanitizeState::UnderWay {
            log.progress = last.progress.min(NO_SANITIZE_PROGRESS - 1).into();
        }
        if state != SanitizeState::Never {
            log.command = last.command.0.into();
        }
        log.status = match state {
            SanitizeState::Never => sanitize_status::NEVER,
            SanitizeState::Done => sanitize_status::DONE,
            SanitizeState::UnderWay => sanitize_status::UNDER_WAY,
            SanitizeState::Failed => sanitize_status::FAILED,
        }
        .into();
        log.as_bytes().to_vec()
    }
}

#[cfg(test)]
mod tests;
