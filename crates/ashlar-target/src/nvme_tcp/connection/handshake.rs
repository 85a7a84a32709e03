//! How long a connection has until it has finished Connect.

use std::sync::Arc;

use ashlar_reactor::{JoinHandle, spawn_joined};
use ashlar_volume::Door;

use super::Wire;
use crate::nvme_tcp::idle_timeout::wait_out;
use crate::nvme_tcp::newcomers::{HeldUp, Place};
use crate::nvme_tcp::registry::EndReason;
use crate::nvme_tcp::target::ServiceState;

/// A connection's handshake, from its first moment until it has finished Connect: dropped then,
/// which stops the clock.
///
/// There is one clock, which nothing sets back: neither bytes that trickle in, nor a Connect that
/// waits or is refused.
pub(super) struct Handshake {
    place: Place,
    watch: Option<JoinHandle<()>>,
}

impl Handshake {
    /// Takes a place among the connections that have not finished Connect, and ends this one if its
    /// time is up before it has.
    pub(super) fn begin<D: Door>(service: &ServiceState<D>, wire: &Wire) -> Self {
        let (life, patience) = (Arc::clone(&wire.life), wire.limits.handshake_timeout);
        let watch = spawn_joined(async move {
            wait_out(patience).await;
            life.end(EndReason::HandshakeTimeout);
        });
        Handshake { place: service.begin_connecting(&wire.life), watch: Some(watch) }
    }

    /// Its Connect waits for us.
    pub(super) fn hold_up(&self) -> HeldUp {
        self.place.hold_up()
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        self.watch.take().into_iter().for_each(JoinHandle::abort);
    }
}
