//! The wait for what a volume is limited to, and for the turn of its commands.
//!
//! A command waits before it takes memory and before its host is asked for data: so the commands of
//! a volume that is limited keep nothing from those of others. What came in its capsule was set
//! aside when its queue was connected.
//!
//! A host that hears nothing of a command gives up the whole controller, and one that is told a few
//! times to send it again has it fail. So a command waits for a while, is sent back, keeps its
//! place, and after [`SENT_BACK_MAX`] times it begins, whatever the limits say: hosts that have
//! more outstanding than their limit lets through in that time are served more than it, and none of
//! their commands fails for it.

use std::pin::pin;

use ashlar_block::latency::OpKind;
use ashlar_nvme::status::Status;
use ashlar_reactor::{now, timeout};
use ashlar_volume::{Door, VolumeIo};
use futures_util::future::{Either, select};

use super::IoQueue;
use super::sent_back::{Doing, Place};
use crate::nvme_tcp::ticket::{Stop, Ticket};

/// How often a command is sent back. Linux sends one five times again, and SPDK three times, before
/// it fails.
const SENT_BACK_MAX: u8 = 3;

impl<D: Door> IoQueue<D> {
    /// The same as [`IoQueue::admit`], and then its turn has come among those of other volumes.
    #[inline]
    pub(super) async fn admit_in_turn(
        &self,
        ticket: &Ticket,
        volume: &D::Volume,
        kind: OpKind,
        bytes: u64,
    ) -> Result<bool, Stop> {
        let has_waited = self.admit(ticket, volume, kind, bytes).await?;
        Ok(self.take_turn(volume, kind, bytes).await? || has_waited)
    }

    /// Returns once the turn of a command has come: whether it may have waited for that. Abandons
    /// the command if the connection ends first.
    #[inline]
    pub(in crate::nvme_tcp) async fn take_turn(
        &self,
        volume: &D::Volume,
        kind: OpKind,
        bytes: u64,
    ) -> Result<bool, Stop> {
        if !volume.needs_turn(kind, bytes) {
            return Ok(false);
        }
        let turn = Box::pin(volume.take_turn(kind, bytes));
        match select(pin!(self.wire.life.stop.wait()), turn).await {
            Either::Left(_) => Err(Stop::Abandon),
            Either::Right(_) => Ok(true),
        }
    }

    /// Returns once a command for so many bytes of `volume` may begin: whether it has waited. Then
    /// the namespace may be another one by now. Abandons the command if the connection ends first.
    #[inline]
    pub(in crate::nvme_tcp) async fn admit(
        &self,
        ticket: &Ticket,
        volume: &D::Volume,
        kind: OpKind,
        bytes: u64,
    ) -> Result<bool, Stop> {
        if volume.try_admit(kind, bytes) {
            return Ok(false);
        }
        // In a place of its own: most commands never need it.
        Box::pin(self.wait_for_limits(ticket, volume, kind, bytes)).await.map(|()| true)
    }

    async fn wait_for_limits(
        &self,
        ticket: &Ticket,
        volume: &D::Volume,
        kind: OpKind,
        bytes: u64,
    ) -> Result<(), Stop> {
        let (doing, arrived) = (Doing::of(ticket.sqe()), ticket.arrived());
        let place = self.sent_back.borrow_mut().take(doing, arrived);
        let place = place.unwrap_or(Place { since: arrived, times: 0 });
        // What it has waited for its namespace to be ready counts.
        let left = self.wire.limits.throttle_wait.saturating_sub(now().since(arrived));
        let wait = timeout(left, volume.admit(kind, bytes, place.since));
        match select(pin!(self.wire.life.stop.wait()), pin!(wait)).await {
            Either::Left(_) => Err(Stop::Abandon),
            Either::Right((Ok(()), _)) => Ok(()),
            Either::Right((Err(_), _)) if place.times >= SENT_BACK_MAX => {
                self.tell_excess();
                Ok(())
            }
            Either::Right((Err(_), _)) => {
                let count_max = self.wire.limits.queue_entries_max as usize;
                self.sent_back.borrow_mut().put(doing, place, now(), count_max);
                Err(Status::COMMAND_INTERRUPTED.into())
            }
        }
    }

    fn tell_excess(&self) {
        if let Some(times) = self.service.told.excess.count(now()) {
            tracing::warn!(
                times,
                host = %self.association.host.nqn,
                "command begun beyond the limits of its volume: its host has more outstanding than \
                 they let through before it gives up"
            );
        }
    }
}
