//! Asynchronous events of one controller (Base 2.1, section 5.1.2).

use std::collections::{BTreeSet, VecDeque};

use ashlar_nvme::event::{AsyncEvent, EventKind};
use ashlar_nvme::feature::event_bits;
use ashlar_nvme::sqe::Cid;
use ashlar_nvme::status::Status;

use super::ticket::Ticket;

/// Requests that a controller takes at a time (AERL, decoded).
pub(super) const EVENT_REQUESTS_MAX: usize = 4;

/// Namespaces that the changed namespace list holds; one more, and it says only that many have
/// changed.
const CHANGED_MAX: usize = ashlar_nvme::log::CHANGED_NAMESPACES_MAX;

/// Which events wait, and which requests wait for events.
#[derive(Default)]
pub(super) struct Events {
    requests: VecDeque<Request>,
    queue: EventQueue,
    changed_namespaces: BTreeSet<u32>,
}

/// A request for an event.
struct Request {
    ticket: Ticket,
    /// Its host has given its identifier, or that of a later request, to another command.
    is_forgotten: bool,
}

impl Request {
    /// Ends it without an event. Its host would take the answer to one that it has forgotten for
    /// that of another command.
    fn end_aborted(self) {
        if self.is_forgotten {
            self.ticket.abandon()
        } else {
            self.ticket.complete(Status::ABORT_REQUESTED, 0)
        }
    }
}

/// Events that are not told yet, and those that are not to be told now.
#[derive(Default)]
struct EventQueue {
    pending: VecDeque<AsyncEvent>,
    /// Log pages of events that were told: the next one of the kind waits until the page is read.
    awaiting_read: BTreeSet<u8>,
}

impl EventQueue {
    fn add(&mut self, event: AsyncEvent) {
        if !self.pending.contains(&event) {
            self.pending.push_back(event);
        }
    }

    fn next(&mut self) -> Option<AsyncEvent> {
        let ready =
            self.pending.iter().position(|event| !self.awaiting_read.contains(&event.log_page))?;
        let event = self.pending.remove(ready)?;
        self.awaiting_read.insert(event.log_page);
        Some(event)
    }
}

/// Whether the host has asked for the event (Asynchronous Event Configuration).
fn is_enabled(event: AsyncEvent, configuration: u32) -> bool {
    let bit = match (event.kind, event) {
        // Nobody can switch these off.
        (EventKind::Error | EventKind::CommandSpecific, _) => return true,
        (EventKind::Smart, AsyncEvent::SPARE_LOW) => event_bits::SPARE,
        (EventKind::Smart, _) => event_bits::RELIABILITY | event_bits::READ_ONLY,
        (EventKind::Notice, AsyncEvent::DISCOVERY_CHANGED) => event_bits::DISCOVERY_LOG,
        (EventKind::Notice, _) => event_bits::NAMESPACE_ATTRIBUTE,
    };
    configuration & bit != 0
}

impl Events {
    /// Takes a request for the next event.
    pub(super) fn request(&mut self, ticket: Ticket) {
        if self.requests.len() >= EVENT_REQUESTS_MAX {
            return ticket.reject(Status::EVENT_REQUEST_LIMIT_EXCEEDED.dnr());
        }
        self.requests.push_back(Request { ticket, is_forgotten: false });
        self.tell();
    }

    /// The host has given `cid` to another command. If a request has it, the host has forgotten
    /// that one and all others that it has made so far. They stay: another host may still want the
    /// events.
    pub(super) fn forget(&mut self, cid: Cid) -> bool {
        let is_forgotten = self.requests.iter().any(|request| request.ticket.cid() == cid);
        if is_forgotten {
            self.requests.iter_mut().for_each(|request| request.is_forgotten = true);
        }
        is_forgotten
    }

    /// Tells of an event, now or when a request comes; not if the host does not want to know.
    pub(super) fn raise(&mut self, event: AsyncEvent, configuration: u32) {
        if is_enabled(event, configuration) {
            self.queue.add(event);
            self.tell();
        }
    }

    /// Adds namespaces to the changed namespace list, and tells of it.
    pub(super) fn namespaces_changed(&mut self, nsids: &[u32], configuration: u32) {
        self.changed_namespaces.extend(nsids);
        self.raise(AsyncEvent::NAMESPACE_CHANGED, configuration);
    }

    /// The changed namespace list: in order; FFFFFFFFh alone if there are too many.
    pub(super) fn changed_namespaces(&self) -> Vec<u32> {
        match self.changed_namespaces.len() {
            0..=CHANGED_MAX => self.changed_namespaces.iter().copied().collect(),
            _ => vec![u32::MAX],
        }
    }

    /// A log page was read: its list begins anew, and its events may be told again.
    pub(super) fn page_was_read(&mut self, page: u8) {
        if page == ashlar_nvme::log::page::CHANGED_NAMESPACES {
            self.changed_namespaces.clear();
        }
        self.queue.awaiting_read.remove(&page);
        self.tell();
    }

    /// Ends the request of that identifier with Command Abort Requested. False if there is none.
    pub(super) fn abort(&mut self, cid: Cid) -> bool {
        let place = self.requests.iter().position(|request| request.ticket.cid() == cid);
        let request = place.and_then(|place| self.requests.remove(place));
        request.map(|request| request.ticket.complete(Status::ABORT_REQUESTED, 0)).is_some()
    }

    /// Forgets everything: the connection ends.
    pub(super) fn abandon(&mut self) {
        self.requests.drain(..).for_each(|request| request.ticket.abandon());
        *self = Events::default();
    }

    /// The controller was reset while its connection goes on: requests end with Command Abort
    /// Requested, those that their host has forgotten without an answer.
    pub(super) fn abandon_with_answers(&mut self) {
        self.requests.drain(..).for_each(Request::end_aborted);
        *self = Events::default();
    }

    fn tell(&mut self) {
        while !self.requests.is_empty() {
            let Some(event) = self.queue.next() else { return };
            // One that its host has not forgotten, if there is one.
            let place = self.requests.iter().position(|request| !request.is_forgotten).unwrap_or(0);
            if let Some(Request { ticket, .. }) = self.requests.remove(place) {
                ticket.complete(Status::SUCCESS, event.result().into());
            }
        }
    }
}

#[cfg(test)]
mod tests;
