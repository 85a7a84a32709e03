//! What all commands of a connection share.

use std::cell::{Cell, OnceCell};
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use ashlar_nvme::pdu::Framing;
use ashlar_nvme::sqe::Sqe;
use ashlar_nvme::status::{ErrorLocation, Status};
use ashlar_volume::Door;
use futures_util::future::{Either, select};

use crate::nvme_tcp::limits::Limits;
use crate::nvme_tcp::memory::{Budget, Payload, PayloadMemory, Reservation};
use crate::nvme_tcp::output::Output;
use crate::nvme_tcp::registry::{Association, Life};
use crate::nvme_tcp::target::ServiceState;
use crate::nvme_tcp::ticket::{Outstanding, Stop};
use crate::nvme_tcp::traffic::Traffic;
use crate::nvme_tcp::transfer::Transfers;

/// Entries of a queue before its Connect has said how many: the least of an admin queue.
const ENTRIES_BEFORE_CONNECT: u32 = 32;

/// A queue as its Connect made it.
#[derive(Clone, Copy, Debug)]
pub(in crate::nvme_tcp) struct QueueShape {
    pub id: u16,
    pub entries: u32,
    pub has_flow_control: bool,
}

/// The connection as its commands see it.
pub(in crate::nvme_tcp) struct Wire {
    pub peer: SocketAddr,
    /// This machine's address as the host reached it.
    pub local: IpAddr,
    pub limits: Arc<Limits>,
    pub output: Output,
    pub framing: Cell<Framing>,
    pub outstanding: Outstanding,
    pub transfers: Transfers,
    pub memory: PayloadMemory,
    pub traffic: Arc<Traffic>,
    pub life: Arc<Life>,
    pub association: OnceCell<Arc<Association>>,
    discarded: Rc<Cell<bool>>,
    queue: Cell<QueueShape>,
    sq_head: Cell<u32>,
    in_capsule: OnceCell<Reservation>,
}

impl Wire {
    pub fn new<D: Door>(service: &ServiceState<D>, peer: SocketAddr, local: IpAddr) -> Rc<Self> {
        let limits = service.target.limits.clone();
        let memory = PayloadMemory::new(limits.connection_bytes_max, service.memory.clone());
        let queue = QueueShape { id: 0, entries: ENTRIES_BEFORE_CONNECT, has_flow_control: true };
        Rc::new(Wire {
            peer,
            local,
            limits,
            output: Output::default(),
            framing: Cell::new(Framing::HANDSHAKE),
            outstanding: Outstanding::new(),
            transfers: Transfers::default(),
            memory,
            traffic: service.traffic.clone(),
            life: Life::new(),
            association: OnceCell::new(),
            discarded: service.discarded.clone(),
            queue: Cell::new(queue),
            sq_head: Cell::new(0),
            in_capsule: OnceCell::new(),
        })
    }

    /// The queue that Connect made, its host's budget, and the memory set aside for in-capsule data
    /// of all its entries.
    pub fn set_queue(
        &self,
        queue: QueueShape,
        association: Arc<Association>,
        host_budget: Budget,
        in_capsule: Option<Reservation>,
    ) {
        self.queue.set(queue);
        self.memory.belongs_to(host_budget);
        self.output.count_by(association.meters());
        let _ = self.association.set(association);
        if let Some(in_capsule) = in_capsule {
            let _ = self.in_capsule.set(in_capsule);
        }
    }

    pub fn queue_id(&self) -> u16 {
        self.queue.get().id
    }

    pub fn has_flow_control(&self) -> bool {
        self.queue.get().has_flow_control
    }

    /// Takes memory that a command needs, once there is enough: none for no bytes. Abandons the
    /// command if the connection ends first.
    #[inline]
    pub async fn reserve(&self, bytes: u64) -> Result<Option<Payload>, Stop> {
        if bytes == 0 {
            return Ok(None);
        }
        match self.memory.try_take(bytes) {
            Some(held) => Ok(Some(held)),
            None => self.wait_for_memory(bytes).await.map(Some),
        }
    }

    /// As [`Wire::reserve`], for a command that has found too little.
    pub async fn wait_for_memory(&self, bytes: u64) -> Result<Payload, Stop> {
        match select(pin!(self.life.stop.wait()), pin!(self.memory.take(bytes))).await {
            Either::Right((held, _)) => Ok(held),
            Either::Left(_) => Err(Stop::Abandon),
        }
    }

    /// Whether the host has more commands outstanding than its queue has entries.
    pub fn is_overrun(&self) -> bool {
        self.outstanding.count() >= self.queue.get().entries
    }

    /// SQHD of the next answer. An entry counts as taken when its command is answered: so a host
    /// that trusts SQHD can never have more commands outstanding than the queue has entries. FFFFh
    /// where flow control is off (Base 2.1, section 6.3: so Connect's answer says that it is).
    pub fn next_sq_head(&self) -> u16 {
        let queue = self.queue.get();
        if !queue.has_flow_control {
            return 0xffff;
        }
        let head = (self.sq_head.get() + 1) % queue.entries;
        self.sq_head.set(head);
        head as u16
    }

    /// Takes a failed command into the controller's error log. Returns the status with More set if
    /// it is there.
    pub fn note_error(&self, sqe: &Sqe, status: Status, location: ErrorLocation) -> Status {
        self.traffic.count_error();
        let Some(association) = self.association.get() else { return status };
        let status = status.more();
        association.errors().add(self.queue_id(), sqe, status, location);
        status
    }

    /// Whether the whole service was dropped, commands and all.
    pub fn is_discarded(&self) -> bool {
        self.discarded.get()
    }
}
