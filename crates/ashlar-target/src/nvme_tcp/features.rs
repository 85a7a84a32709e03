//! Get and Set Features.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use ashlar_nvme::admin::FeatureSelect;
use ashlar_nvme::feature::{
    FeatureCapabilities, HostBehavior, QueueCounts, event_bits, id, write_protection,
};
use ashlar_nvme::sqe::NSID_ALL;
use ashlar_nvme::status::{ErrorLocation, Rejection, Status};
use ashlar_nvme::zerocopy::{FromBytes, FromZeros, IntoBytes};
use ashlar_volume::{Door, Nsid};

use super::admin::{NAMESPACE_INVALID, answer};
use super::connect::bound_keep_alive;
use super::controller::Controller;
use super::status::of_cause;
use super::ticket::{Stop, Ticket};
use super::transfer::fetch;

/// Temperature Threshold when nothing was set: above every temperature.
const NO_THRESHOLD: u32 = 0xffff;
/// The part of Temperature Threshold's parameter that says which threshold: sensor and kind.
const THRESHOLD_SELECT: u32 = 0x003f_0000;

/// What a host has set.
pub(super) struct Features {
    pub(super) event_configuration: u32,
    arbitration: u32,
    error_recovery: u32,
    write_atomicity: u32,
    thresholds: BTreeMap<u32, u32>,
    io_queues: u16,
    host_behavior: HostBehavior,
}

impl Features {
    /// As after a reset.
    pub(super) fn new(io_queues: u16) -> Self {
        Features {
            event_configuration: 0,
            arbitration: 0,
            error_recovery: 0,
            write_atomicity: 0,
            thresholds: BTreeMap::new(),
            io_queues,
            host_behavior: HostBehavior::new_zeroed(),
        }
    }
}

fn queue_counts(io_queues: u16) -> u32 {
    QueueCounts { submission: io_queues.into(), completion: io_queues.into() }.bits()
}

fn is_for_discovery(feature: u8) -> bool {
    matches!(feature, id::ASYNC_EVENT_CONFIGURATION | id::KEEP_ALIVE_TIMER | id::HOST_IDENTIFIER)
}

/// What can be done with a feature; an error if there is none of that number.
fn capabilities(feature: u8, is_discovery: bool) -> Result<FeatureCapabilities, Rejection> {
    if is_discovery && !is_for_discovery(feature) {
        return Err(Rejection::field(40));
    }
    let controller = FeatureCapabilities { changeable: true, ..FeatureCapabilities::default() };
    Ok(match feature {
        id::HOST_IDENTIFIER => FeatureCapabilities::default(),
        id::WRITE_PROTECTION => FeatureCapabilities { namespace_specific: true, ..controller },
        id::ARBITRATION
        | id::POWER_MANAGEMENT
        | id::TEMPERATURE_THRESHOLD
        | id::ERROR_RECOVERY
        | id::NUMBER_OF_QUEUES
        | id::WRITE_ATOMICITY
        | id::ASYNC_EVENT_CONFIGURATION
        | id::KEEP_ALIVE_TIMER
        | id::HOST_BEHAVIOR => controller,
        // No volatile write cache, no interrupts: these features do not exist here.
        _ => return Err(Rejection::field(40)),
    })
}

/// Answers Get Features.
pub(super) fn get<D: Door>(
    controller: &Rc<Controller<D>>,
    ticket: Ticket,
    feature: u8,
    select: FeatureSelect,
    parameter: u32,
) {
    let checked = check_namespace(controller, Nsid(ticket.sqe().nsid.get()));
    let capabilities = match checked.and_then(|()| capabilities(feature, controller.is_discovery()))
    {
        Ok(capabilities) => capabilities,
        Err(rejection) => return ticket.reject(rejection),
    };
    if select == FeatureSelect::Supported {
        return ticket.complete(Status::SUCCESS, capabilities.bits().into());
    }
    match (feature, select) {
        (id::HOST_IDENTIFIER, _) => answer(ticket, host_identifier(controller, parameter)),
        (id::HOST_BEHAVIOR, FeatureSelect::Current) => {
            let behavior = controller.features.borrow().host_behavior.as_bytes().to_vec();
            answer(ticket, Ok(behavior));
        }
        (id::HOST_BEHAVIOR, _) => {
            answer(ticket, Ok(HostBehavior::new_zeroed().as_bytes().to_vec()))
        }
        (id::WRITE_PROTECTION, FeatureSelect::Current) => {
            let nsid = Nsid(ticket.sqe().nsid.get());
            complete(ticket, write_protection_of(controller, nsid));
        }
        // Nothing is saved: the saved value is the default one.
        (_, FeatureSelect::Current) => complete(ticket, current(controller, feature, parameter)),
        _ => complete(ticket, default(controller, feature)),
    }
}

/// A host is told nothing about a namespace that it may not see, not even what is the same for all
/// of them.
fn check_namespace<D: Door>(controller: &Controller<D>, nsid: Nsid) -> Result<(), Rejection> {
    if controller.is_discovery() || matches!(nsid.0, 0 | NSID_ALL) {
        return Ok(());
    }
    let (door, host) = (&controller.service.door, &controller.host().nqn);
    door.with_namespace(host, nsid, |_, _| ()).ok_or(NAMESPACE_INVALID)
}

fn complete(ticket: Ticket, value: Result<u32, Rejection>) {
    match value {
        Ok(value) => ticket.complete(Status::SUCCESS, value.into()),
        Err(rejection) => ticket.reject(rejection),
    }
}

fn host_identifier<D: Door>(
    controller: &Controller<D>,
    parameter: u32,
) -> Result<Vec<u8>, Rejection> {
    const EXTENDED: u32 = 1;
    if parameter & EXTENDED == 0 {
        return Err(Status::HOST_ID_INCONSISTENT.dnr().into());
    }
    Ok(controller.host().id.to_vec())
}

fn write_protection_of<D: Door>(controller: &Controller<D>, nsid: Nsid) -> Result<u32, Rejection> {
    let (door, host) = (&controller.service.door, &controller.host().nqn);
    let protected = door.with_namespace(host, nsid, |info, _| info.write_protected);
    let state =
        |protected| if protected { write_protection::PROTECTED } else { write_protection::NONE };
    protected.map(state).ok_or(NAMESPACE_INVALID)
}

fn default<D: Door>(controller: &Controller<D>, feature: u8) -> Result<u32, Rejection> {
    Ok(match feature {
        id::NUMBER_OF_QUEUES => queue_counts(controller.wire.limits.io_queues_max),
        id::TEMPERATURE_THRESHOLD => NO_THRESHOLD,
        _ => 0,
    })
}

fn current<D: Door>(
    controller: &Controller<D>,
    feature: u8,
    parameter: u32,
) -> Result<u32, Rejection> {
    let features = controller.features.borrow();
    Ok(match feature {
        id::ARBITRATION => features.arbitration,
        id::TEMPERATURE_THRESHOLD => {
            let select = parameter & THRESHOLD_SELECT;
            features.thresholds.get(&select).copied().unwrap_or(NO_THRESHOLD)
        }
        id::ERROR_RECOVERY => features.error_recovery,
        id::NUMBER_OF_QUEUES => queue_counts(features.io_queues),
        id::WRITE_ATOMICITY => features.write_atomicity,
        id::ASYNC_EVENT_CONFIGURATION => features.event_configuration,
        id::KEEP_ALIVE_TIMER => {
            controller.keep_alive().map_or(0, |timeout| timeout.as_millis() as u32)
        }
        _ => 0,
    })
}

/// Answers Set Features.
pub(super) async fn set<D: Door>(
    controller: Rc<Controller<D>>,
    mut ticket: Ticket,
    feature: u8,
    save: bool,
    parameter: u32,
) {
    if let Err(rejection) = check_set(&controller, ticket.nsid(), feature, save) {
        return ticket.reject(rejection);
    }
    let outcome = match feature {
        id::HOST_BEHAVIOR => set_host_behavior(&controller, &mut ticket).await.map(|()| 0),
        id::WRITE_PROTECTION => {
            let nsid = Nsid(ticket.nsid());
            // Nothing of what came with it is wanted while it waits.
            drop(ticket.take_data());
            set_write_protection(&controller, nsid, parameter).await.map(|()| 0).map_err(Stop::from)
        }
        _ => set_value(&controller, feature, parameter).map_err(Stop::from),
    };
    match outcome {
        Ok(result) => ticket.complete(Status::SUCCESS, result.into()),
        Err(stop) => ticket.stop(stop),
    }
}

fn check_set<D: Door>(
    controller: &Controller<D>,
    nsid: u32,
    feature: u8,
    save: bool,
) -> Result<(), Rejection> {
    let capabilities = capabilities(feature, controller.is_discovery())?;
    if feature == id::HOST_IDENTIFIER {
        // Connect has set it (Base 2.1, section 5.1.25.1.28.2).
        return Err(Status::COMMAND_SEQUENCE_ERROR.dnr().into());
    }
    if save {
        let location = ErrorLocation::bit(43, 7);
        return Err(Rejection { status: Status::FEATURE_NOT_SAVEABLE.dnr(), location });
    }
    if !capabilities.namespace_specific && !matches!(nsid, 0 | NSID_ALL) {
        let location = ErrorLocation::byte(4);
        return Err(Rejection { status: Status::FEATURE_NOT_NAMESPACE_SPECIFIC.dnr(), location });
    }
    Ok(())
}

/// Sets a feature that is a number. Returns the command's result.
fn set_value<D: Door>(
    controller: &Rc<Controller<D>>,
    feature: u8,
    parameter: u32,
) -> Result<u32, Rejection> {
    match feature {
        id::KEEP_ALIVE_TIMER => {
            let timeout = bound_keep_alive(&controller.wire.limits, parameter)?;
            controller.set_keep_alive(timeout);
        }
        id::NUMBER_OF_QUEUES => return set_queues(controller, parameter),
        _ => controller.features.borrow_mut().set(feature, parameter, controller.is_discovery())?,
    }
    Ok(0)
}

impl Features {
    fn set(&mut self, feature: u8, parameter: u32, is_discovery: bool) -> Result<(), Rejection> {
        const DULBE: u32 = 1 << 16;
        let events =
            if is_discovery { event_bits::DISCOVERY_LOG } else { event_bits::NAMESPACE_ATTRIBUTE };
        match feature {
            id::ARBITRATION => self.arbitration = parameter,
            id::WRITE_ATOMICITY => self.write_atomicity = parameter & 1,
            id::TEMPERATURE_THRESHOLD => {
                self.thresholds.insert(parameter & THRESHOLD_SELECT, parameter & 0xffff);
            }
            // Only power state 0 exists, and deallocated blocks are not reported as errors.
            id::POWER_MANAGEMENT if parameter & 0x1f != 0 => return Err(Rejection::field(44)),
            id::ERROR_RECOVERY if parameter & DULBE != 0 => return Err(Rejection::field(46)),
            id::ERROR_RECOVERY => self.error_recovery = parameter,
            id::ASYNC_EVENT_CONFIGURATION if parameter & !(events | event_bits::SMART) != 0 => {
                return Err(Rejection::field(44));
            }
            id::ASYNC_EVENT_CONFIGURATION => self.event_configuration = parameter,
            _ => {}
        }
        Ok(())
    }
}

fn set_queues<D: Door>(controller: &Controller<D>, parameter: u32) -> Result<u32, Rejection> {
    let association = &controller.association;
    if controller.service.target.registry.has_io_queues(association.controller_id) {
        return Err(Status::COMMAND_SEQUENCE_ERROR.dnr().into());
    }
    let asked = QueueCounts::from_bits(parameter).ok_or(Rejection::field(44))?;
    let asked = asked.submission.min(asked.completion);
    let granted = asked.min(controller.wire.limits.io_queues_max.into()) as u16;
    controller.features.borrow_mut().io_queues = granted;
    association.io_queues.store(granted, Ordering::Release);
    Ok(queue_counts(granted))
}

async fn set_host_behavior<D: Door>(
    controller: &Rc<Controller<D>>,
    ticket: &mut Ticket,
) -> Result<(), Stop> {
    let received = fetch(ticket, size_of::<HostBehavior>() as u32).await?;
    let behavior = HostBehavior::read_from_bytes(&received.data).expect("the length was checked");
    if behavior.retry_delays > 1 || behavior.extended_lba_formats > 1 {
        return Err(Rejection::field(44).into());
    }
    controller.association.retry_delays.store(behavior.retry_delays == 1, Ordering::Release);
    controller.features.borrow_mut().host_behavior = behavior;
    Ok(())
}

async fn set_write_protection<D: Door>(
    controller: &Rc<Controller<D>>,
    nsid: Nsid,
    parameter: u32,
) -> Result<(), Rejection> {
    let door = &controller.service.door;
    let host = &controller.host().nqn;
    let is_protected = door.with_namespace(host, nsid, |info, _| info.write_protected);
    let is_protected = is_protected.ok_or(NAMESPACE_INVALID)?;
    let protected = match parameter & 7 {
        write_protection::NONE => false,
        write_protection::PROTECTED => true,
        // Until power cycle and permanent: not offered (NWPC).
        _ => return Err(Rejection::field(44)),
    };
    if protected == is_protected {
        return Ok(());
    }
    let _turn = controller.begin_protecting().ok_or(Status::COMMAND_INTERRUPTED)?;
    door.set_write_protected(host, nsid, protected)
        .await
        .map_err(|error| of_cause(error.cause, controller.honours_retry_delays()).into())
}
