//! The wait for what a volume is limited to.
//!
//! A command waits before it takes memory and before its host is asked for data: so the commands of
//! a volume that is limited keep nothing from those of others. What came in its capsule was set
//! aside when its queue was connected.

use std::pin::pin;

use ashlar_block::latency::OpKind;
use ashlar_nvme::status::Status;
use ashlar_reactor::timeout;
use ashlar_volume::{Door, VolumeIo};
use futures_util::future::{Either, select};

use super::IoQueue;
use crate::nvme_tcp::ticket::Stop;

impl<D: Door> IoQueue<D> {
    /// Returns once a command for so many bytes of `volume` may begin: whether it has waited. Then
    /// the namespace may be another one by now. Abandons the command if the connection ends first.
    #[inline]
    pub(in crate::nvme_tcp) async fn admit(
        &self,
        volume: &D::Volume,
        kind: OpKind,
        bytes: u64,
    ) -> Result<bool, Stop> {
        if volume.try_admit(kind, bytes) {
            return Ok(false);
        }
        // In a place of its own: most commands never need it.
        Box::pin(self.wait_for_limits(volume, kind, bytes)).await.map(|()| true)
    }

    /// A command that would wait longer than hosts wait for an answer is to come again: a host that
    /// hears nothing gives up the whole controller.
    async fn wait_for_limits(
        &self,
        volume: &D::Volume,
        kind: OpKind,
        bytes: u64,
    ) -> Result<(), Stop> {
        let wait = timeout(self.wire.limits.ready_wait, volume.admit(kind, bytes));
        match select(pin!(self.wire.life.stop.wait()), pin!(wait)).await {
            Either::Left(_) => Err(Stop::Abandon),
            Either::Right((Ok(()), _)) => Ok(()),
            Either::Right((Err(_), _)) => Err(Status::COMMAND_INTERRUPTED.into()),
        }
    }
}
