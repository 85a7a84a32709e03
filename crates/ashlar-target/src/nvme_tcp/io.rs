//! Commands of I/O queues.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ashlar_block::latency::OpKind;
use ashlar_block::{AlignedBuf, Cause, IoError};
use ashlar_nvme::io::{BlockRange, DSM_RANGE_BYTES, DsmRange, IoCommand};
use ashlar_nvme::sqe::{Fuse, NSID_ALL, Sqe};
use ashlar_nvme::status::{ErrorLocation, Rejection, Status};
use ashlar_nvme::zerocopy::FromBytes;
use ashlar_reactor::{WhenIdle, now, spawn, when_idle};
use ashlar_volume::{Door, VolumeIo};
use bytes::Bytes;

use super::admin::check_room;
use super::connection::Wire;
use super::footprint;
use super::fused;
use super::limits::PAGE_BYTES;
use super::memory::Payload;
use super::registry::Association;
use super::signal::Letter;
use super::status::of_cause;
use super::target::ServiceState;
use super::ticket::{Stop, Ticket};
use super::transfer::{bytes_to_come, fetch, fetch_into_held};

mod admission;
mod namespace;
mod sent_back;

pub(super) use namespace::{Geometry, Opened};
use sent_back::SentBack;

/// Bytes that a Dataset Management deallocates before it looks again whether its host is still
/// there.
const DEALLOCATED_BYTES_MAX: u64 = 64 << 30;

/// WZSL: the largest Write Zeroes, 2^n pages: 32 MiB, all that a command can say with 512-byte
/// blocks.
pub(super) const WRITE_ZEROES_PAGES_EXPONENT: u8 = 13;
const WRITE_ZEROES_BYTES_MAX: u64 = (PAGE_BYTES as u64) << WRITE_ZEROES_PAGES_EXPONENT;

/// Tasks of one queue that may wait for commands: about as many as hosts usually have outstanding.
const FREE_TASKS_MAX: usize = 128;

/// Most ranges of a Dataset Management.
const DSM_RANGES_MAX: usize = 256;

/// One I/O queue.
pub(super) struct IoQueue<D: Door> {
    service: Rc<ServiceState<D>>,
    pub(super) wire: Rc<Wire>,
    association: Arc<Association>,
    /// The first of two fused commands, until the second comes.
    fused_first: RefCell<Option<Ticket>>,
    /// Tasks that wait for a command to execute.
    free_tasks: RefCell<Vec<Seat<D>>>,
    /// Commands that are to come again.
    sent_back: RefCell<SentBack>,
    _when_idle: WhenIdle,
}

/// A command and its queue.
struct Job<D: Door> {
    queue: Rc<IoQueue<D>>,
    ticket: Ticket,
    command: IoCommand,
}

/// Where a task waits for its next job; none ends it.
type Seat<D> = Letter<Option<Job<D>>>;

/// Executes one job after the other. Only jobs keep their queue alive: its end ends the tasks that
/// wait for one.
async fn execute_jobs<D: Door>(first: Job<D>) {
    let letter = Letter::new();
    let mut next = Some(first);
    while let Some(Job { queue, ticket, command }) = next {
        queue.execute(ticket, command).await;
        if queue.free_tasks.borrow().len() == FREE_TASKS_MAX {
            return;
        }
        queue.free_tasks.borrow_mut().push(letter.clone());
        drop(queue);
        next = letter.take().await;
    }
}

impl<D: Door> Drop for IoQueue<D> {
    fn drop(&mut self) {
        self.free_tasks.get_mut().drain(..).for_each(|seat| seat.leave(None));
    }
}

fn length_of(range: &Range<u64>) -> u64 {
    range.end - range.start
}

impl<D: Door> IoQueue<D> {
    pub(super) fn new(
        service: Rc<ServiceState<D>>,
        wire: Rc<Wire>,
        association: Arc<Association>,
    ) -> Rc<Self> {
        Rc::new_cyclic(|queue: &Weak<Self>| {
            let queue = queue.clone();
            let give_back = move || queue.upgrade().into_iter().for_each(|queue| queue.give_back());
            IoQueue {
                service,
                wire,
                association,
                fused_first: RefCell::default(),
                free_tasks: RefCell::default(),
                sent_back: RefCell::default(),
                _when_idle: when_idle(give_back),
            }
        })
    }

    /// Gives back what it keeps for the next commands.
    fn give_back(&self) {
        self.free_tasks.take().into_iter().for_each(|seat| seat.leave(None));
        self.wire.outstanding.give_back();
    }

    /// Takes a command.
    pub(super) fn dispatch(self: &Rc<Self>, ticket: Ticket) {
        let fuse = match ticket.sqe().fuse() {
            Ok(fuse) => fuse,
            Err(rejection) => return ticket.reject(rejection),
        };
        let first = self.fused_first.take();
        match (fuse, first) {
            (Fuse::Second, Some(first)) => {
                return spawn(fused::compare_and_write(self.clone(), first, ticket));
            }
            (Fuse::Second, None) => return ticket.reject(Status::ABORTED_MISSING_FUSED),
            (_, Some(first)) => first.reject(Status::ABORTED_MISSING_FUSED),
            (_, None) => {}
        }
        if fuse == Fuse::First {
            self.fused_first.replace(Some(ticket));
            return;
        }
        match IoCommand::parse(ticket.sqe()) {
            Ok(command) => self.begin(Job { queue: self.clone(), ticket, command }),
            Err(rejection) => ticket.reject(rejection),
        }
    }

    /// Has a task execute a command: one that is done with another if there is one, so that steady
    /// I/O allocates none. It begins at once, while the command is in the caches: most end there.
    fn begin(&self, job: Job<D>) {
        let free = self.free_tasks.borrow_mut().pop();
        match free {
            Some(seat) => seat.hand_over(Some(job)),
            None => spawn(execute_jobs(job)),
        }
    }

    /// The connection ends.
    pub(super) fn end(&self) {
        if let Some(ticket) = self.fused_first.take() {
            ticket.abandon();
        }
    }

    async fn execute(&self, mut ticket: Ticket, command: IoCommand) {
        let nsid = ticket.nsid();
        let outcome = match command {
            IoCommand::Read(range) => return self.read(ticket, range).await,
            IoCommand::Write { range, .. } => self.write(&mut ticket, range).await,
            IoCommand::Flush => self.flush(nsid).await,
            IoCommand::Compare(range) => self.compare(&mut ticket, range).await,
            IoCommand::WriteZeroes { range, .. } => self.write_zeroes(&mut ticket, range).await,
            IoCommand::DatasetManagement { range_count, deallocate } => {
                self.dataset_management(&mut ticket, range_count, deallocate).await
            }
            IoCommand::Verify(range) => self.verify(&ticket, range).await,
        };
        match outcome {
            Ok(()) => ticket.succeed(),
            Err(stop) => ticket.stop(stop),
        }
    }

    /// The bytes of a command's blocks, within what one command may transfer.
    pub(super) fn transfer_range(
        &self,
        geometry: &Geometry,
        range: BlockRange,
    ) -> Result<Range<u64>, Rejection> {
        let bytes = geometry.bytes_of(range.start, range.count.into())?;
        if length_of(&bytes) > self.wire.limits.transfer_bytes_max.into() {
            return Err(Rejection::field(48));
        }
        Ok(bytes)
    }

    /// The blocks of a command that transfers them.
    fn open_range(&self, nsid: u32, range: BlockRange) -> Result<Opened<D>, Rejection> {
        let (geometry, volume) = self.open(nsid)?;
        let bytes = self.transfer_range(&geometry, range)?;
        Ok(Opened::new(&geometry, volume, bytes))
    }

    /// As [`IoQueue::open_range`], where they are to be written.
    pub(super) fn open_for_write(
        &self,
        nsid: u32,
        range: BlockRange,
    ) -> Result<Opened<D>, Rejection> {
        let (geometry, volume) = self.open(nsid)?;
        geometry.check_writable()?;
        let bytes = self.transfer_range(&geometry, range)?;
        Ok(Opened::new(&geometry, volume, bytes))
    }

    /// What `open` opens, and the memory that a command of that kind needs on it.
    async fn with_memory(
        &self,
        ticket: &mut Ticket,
        kind: OpKind,
        open: impl Fn() -> Result<Opened<D>, Rejection>,
        needed: impl FnOnce(&Range<u64>) -> u64,
    ) -> Result<(Opened<D>, Option<Payload>), Stop> {
        let opened = self.open_ready(ticket.nsid(), &open).await?;
        let length = length_of(&opened.bytes);
        ticket.measure(kind, &opened.volume, length);
        let needed = needed(&opened.bytes);
        let has_waited = self.admit_in_turn(ticket, &opened.volume, kind, length).await?;
        let held = match self.wire.memory.try_take(needed) {
            _ if needed == 0 => None,
            Some(held) => Some(held),
            None => {
                let held = self.wire.wait_for_memory(needed).await?;
                return Ok((opened.again(open)?, Some(held)));
            }
        };
        Ok((if has_waited { opened.again(open)? } else { opened }, held))
    }

    /// What `open` opens, with as many bytes of data from the host, and the memory that a command
    /// on it needs. One of a `kind` is counted.
    async fn with_data(
        &self,
        ticket: &mut Ticket,
        kind: Option<OpKind>,
        open: impl Fn() -> Result<Opened<D>, Rejection>,
        needed: impl FnOnce(&Range<u64>, u32) -> u64,
    ) -> Result<(Bytes, Opened<D>, Option<Payload>), Stop> {
        let opened = self.open_ready(ticket.nsid(), &open).await?;
        let length = length_of(&opened.bytes) as u32;
        if let Some(kind) = kind {
            ticket.measure(kind, &opened.volume, length.into());
        }
        let needed = needed(&opened.bytes, bytes_to_come(ticket.sqe(), length)?);
        // What has no kind reads what is there.
        let kind = kind.unwrap_or(OpKind::Read);
        let has_waited = self.admit_in_turn(ticket, &opened.volume, kind, length.into()).await?;
        let held = self.wire.reserve(needed).await?;
        let data = fetch_into_held(ticket, length).await?;
        // Late data of an ended connection are never applied.
        if self.wire.life.has_ended() {
            return Err(Stop::Abandon);
        }
        let opened = if has_waited || held.is_some() { opened.again(open)? } else { opened };
        Ok((data, opened, held))
    }

    fn tell_failure(&self, error: &IoError) {
        if let Some(times) = self.service.told.failure.count(now()) {
            tracing::warn!(times, %error, host = %self.association.host.nqn, "command failed");
        }
    }

    /// The answer to a failed volume, told to the log where it is a fault.
    pub(super) fn failure(&self, error: &IoError) -> Stop {
        if matches!(error.cause, Cause::Internal | Cause::Unrecovered | Cause::WriteFault) {
            self.tell_failure(error);
        }
        of_cause(error.cause, self.association.retry_delays.load(Ordering::Acquire)).into()
    }

    async fn read(&self, mut ticket: Ticket, range: BlockRange) {
        match self.read_held(&mut ticket, range).await {
            Ok((buf, held)) => {
                self.wire.traffic.count_read();
                ticket.complete_with_data(buf, held);
            }
            Err(stop) => ticket.stop(stop),
        }
    }

    async fn read_held(
        &self,
        ticket: &mut Ticket,
        range: BlockRange,
    ) -> Result<(AlignedBuf, Option<Payload>), Stop> {
        let (nsid, sqe) = (ticket.nsid(), *ticket.sqe());
        let open = || {
            let opened = self.open_range(nsid, range)?;
            check_room(&sqe, length_of(&opened.bytes) as usize)?;
            Ok(opened)
        };
        let opened = self.with_memory(ticket, OpKind::Read, open, footprint::read).await?;
        let (Opened { volume, bytes, .. }, held) = opened;
        let read = volume.read(bytes.start, length_of(&bytes) as usize).await;
        Ok((read.map_err(|error| self.failure(&error))?, held))
    }

    async fn write(&self, ticket: &mut Ticket, range: BlockRange) -> Result<(), Stop> {
        let nsid = ticket.nsid();
        let open = || self.open_for_write(nsid, range);
        let (data, Opened { volume, bytes, .. }, _held) =
            self.with_data(ticket, Some(OpKind::Write), open, footprint::write).await?;
        volume.write(bytes.start, data).await.map_err(|error| self.failure(&error))?;
        self.wire.traffic.count_write();
        Ok(())
    }

    async fn compare(&self, ticket: &mut Ticket, range: BlockRange) -> Result<(), Stop> {
        let nsid = ticket.nsid();
        let open = || self.open_range(nsid, range);
        let (data, Opened { volume, bytes, .. }, _held) =
            self.with_data(ticket, None, open, footprint::compare).await?;
        self.wire.traffic.count_read();
        volume.compare(bytes.start, data).await.map_err(|error| self.failure(&error))
    }

    async fn flush(&self, nsid: u32) -> Result<(), Stop> {
        let volumes = if nsid == NSID_ALL {
            let namespaces = self.service.door.namespaces(&self.association.host.nqn);
            // Of one that is not ready everything acknowledged is durable.
            let ready = namespaces.iter().filter(|info| info.is_ready);
            let opened = ready.filter_map(|info| self.open(info.nsid.0).ok());
            opened.map(|(_, volume)| volume).collect()
        } else {
            vec![self.open_whole(nsid).await?.1]
        };
        for volume in volumes {
            volume.flush().await.map_err(|error| self.failure(&error))?;
        }
        Ok(())
    }

    async fn write_zeroes(&self, ticket: &mut Ticket, range: BlockRange) -> Result<(), Stop> {
        let nsid = ticket.nsid();
        let open = || {
            let (geometry, volume) = self.open(nsid)?;
            geometry.check_writable()?;
            let bytes = geometry.bytes_of(range.start, range.count.into())?;
            let is_short = length_of(&bytes) <= WRITE_ZEROES_BYTES_MAX;
            if is_short {
                Ok(Opened::new(&geometry, volume, bytes))
            } else {
                Err(Rejection::field(48))
            }
        };
        let (Opened { volume, bytes, .. }, _held) =
            self.with_memory(ticket, OpKind::Trim, open, footprint::write_zeroes).await?;
        self.wire.traffic.count_write();
        let zeroed = volume.write_zeroes(bytes.start, length_of(&bytes)).await;
        zeroed.map_err(|error| self.failure(&error))
    }

    async fn verify(&self, ticket: &Ticket, range: BlockRange) -> Result<(), Stop> {
        let nsid = ticket.nsid();
        let (geometry, volume) = self.open_whole(nsid).await?;
        let bytes = geometry.bytes_of(range.start, range.count.into())?;
        // Once for all of it: parts that each waited would be longer than hosts wait.
        if self.admit(ticket, &volume, OpKind::Read, length_of(&bytes)).await? {
            self.open(nsid)?.0.bytes_of(range.start, range.count.into())?;
        }
        self.wire.traffic.count_read();
        for part in footprint::verified_parts(bytes, self.wire.limits.transfer_bytes_max) {
            let _held = self.wire.reserve(footprint::verify(&part)).await?;
            if self.wire.life.has_ended() {
                return Err(Stop::Abandon);
            }
            let (_, volume) = self.open(nsid)?;
            let verified = volume.verify(part.start, length_of(&part)).await;
            verified.map_err(|error| self.failure(&error))?;
        }
        Ok(())
    }

    async fn dataset_management(
        &self,
        ticket: &mut Ticket,
        range_count: u16,
        deallocate: bool,
    ) -> Result<(), Stop> {
        let nsid = ticket.nsid();
        let (_, volume) = self.open_whole(nsid).await?;
        let bytes = usize::from(range_count) * DSM_RANGE_BYTES;
        let sent_bytes = sent_range_bytes(ticket.sqe(), bytes)?;
        if deallocate {
            self.admit(ticket, &volume, OpKind::Trim, 0).await?;
        }
        let received = fetch(ticket, sent_bytes).await?;
        if self.wire.life.has_ended() {
            return Err(Stop::Abandon);
        }
        let (geometry, volume) = self.open(nsid)?;
        let ranges = byte_ranges(&received.data[..bytes], &geometry)?;
        if !deallocate {
            return Ok(());
        }
        geometry.check_writable()?;
        ticket.measure(OpKind::Trim, &volume, ranges.iter().map(length_of).sum());
        for part in ranges.into_iter().flat_map(|range| parts(range, DEALLOCATED_BYTES_MAX)) {
            if self.wire.life.has_ended() {
                return Err(Stop::Abandon);
            }
            volume.deallocate(part).await.map_err(|error| self.failure(&error))?;
        }
        Ok(())
    }
}

/// Bytes that a host sends with a Dataset Management that needs `bytes`. Linux sends room for all
/// 256 ranges, however many there are.
fn sent_range_bytes(sqe: &Sqe, bytes: usize) -> Result<u32, Rejection> {
    let sent_bytes = sqe.sgl.location()?.length();
    if (bytes..=DSM_RANGES_MAX * DSM_RANGE_BYTES).contains(&(sent_bytes as usize)) {
        return Ok(sent_bytes);
    }
    Err(Rejection { status: Status::SGL_LENGTH_INVALID.dnr(), location: ErrorLocation::byte(32) })
}

/// The ranges of a Dataset Management, all checked before any is touched; empty ones left out. A
/// byte is in one of them only: hosts may name one range 256 times.
fn byte_ranges(data: &[u8], geometry: &Geometry) -> Result<Vec<Range<u64>>, Rejection> {
    let ranges = data.chunks_exact(DSM_RANGE_BYTES).map(|raw| {
        let range = DsmRange::read_from_bytes(raw).expect("chunks have the range's size");
        geometry.bytes_of(range.start.get(), range.count.get().into())
    });
    let ranges = ranges.filter(|range| !matches!(range, Ok(range) if range.is_empty()));
    Ok(merged(ranges.collect::<Result<_, _>>()?))
}

/// The same bytes in ranges that neither overlap nor touch, in order.
fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => merged.push(range),
        }
    }
    merged
}

/// A range in parts of at most `bytes_max`.
fn parts(range: Range<u64>, bytes_max: u64) -> impl Iterator<Item = Range<u64>> {
    let end = range.end;
    range
        .step_by(bytes_max as usize)
        .map(move |start| start..end.min(start.saturating_add(bytes_max)))
}

#[cfg(test)]
mod tests;
