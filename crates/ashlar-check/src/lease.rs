//! Whether some machine has the pool open.

use std::time::Duration;

use ashlar_block::{Clock, Device};
use ashlar_format::heartbeat::Heartbeat;
use futures_util::future::join_all;

use crate::Refused;
use crate::drives::{Given, sector};

/// How long a heartbeat is watched before it is taken for that of a machine that has stopped:
/// whoever has the pool open writes one every 2 s, and whoever is about to claim it is silent for
/// 8 s.
const WATCH: Duration = Duration::from_secs(12);

/// The heartbeats of some drives.
pub struct Heartbeats(Vec<Option<Heartbeat>>);

impl Heartbeats {
    /// The heartbeats that are on the drives now.
    async fn look<D: Device>(drives: &[Given<D>]) -> Self {
        let one = async |drive: &Given<D>| {
            let sector = sector(&drive.device, Heartbeat::OFFSET).await?;
            Heartbeat::decode(&sector).ok()
        };
        Heartbeats(join_all(drives.iter().map(one)).await)
    }

    /// The one of the newest opening.
    fn newest(&self) -> Option<&Heartbeat> {
        self.0.iter().flatten().max_by_key(|heartbeat| (heartbeat.epoch, heartbeat.count))
    }

    /// Refuses a pool that has been opened since: what was read of it means nothing.
    ///
    /// # Errors
    /// [`Refused::Open`].
    pub async fn check_unchanged<D: Device>(&self, drives: &[Given<D>]) -> Result<(), Refused> {
        let now = Heartbeats::look(drives).await;
        self.changed(&now).map_or(Ok(()), |heartbeat| {
            Err(Refused::Open { holder: heartbeat.holder_name.clone() })
        })
    }

    fn changed<'n>(&self, now: &'n Heartbeats) -> Option<&'n Heartbeat> {
        let pairs = self.0.iter().zip(&now.0);
        pairs
            .filter(|(before, now)| now.is_some() && before != now)
            .find_map(|(_, now)| now.as_ref())
    }
}

/// The heartbeats of a pool that nobody has open. Where one was not handed back, it is watched for
/// twelve seconds.
///
/// # Errors
/// [`Refused::Open`] names the machine that sends heartbeats.
pub async fn unused<D: Device>(
    clock: &impl Clock,
    drives: &[Given<D>],
) -> Result<Heartbeats, Refused> {
    let before = Heartbeats::look(drives).await;
    if before.newest().is_none_or(|heartbeat| !heartbeat.is_open) {
        return Ok(before);
    }
    clock.sleep(WATCH).await;
    before.check_unchanged(drives).await.map(|()| before)
}
