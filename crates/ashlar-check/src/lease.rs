//! Whether some machine has the pool open.

use std::time::Duration;

use ashlar_block::{Clock, Device};
use ashlar_format::heartbeat::Heartbeat;
use futures_util::future::join_all;

use crate::Refused;
use crate::drives::{Given, sector};

/// How long a beat is watched before it is taken for that of a machine that has stopped: whoever
/// has the pool open writes one every 2 s, and whoever is about to claim it is silent for 8 s.
const WATCH: Duration = Duration::from_secs(12);

/// The beats of some drives.
pub struct Beats(Vec<Option<Heartbeat>>);

impl Beats {
    /// The beats that are on the drives now.
    async fn look<D: Device>(drives: &[Given<D>]) -> Self {
        let one = async |drive: &Given<D>| {
            let sector = sector(&drive.device, Heartbeat::OFFSET).await?;
            Heartbeat::decode(&sector).ok()
        };
        Beats(join_all(drives.iter().map(one)).await)
    }

    /// The one of the newest opening.
    fn newest(&self) -> Option<&Heartbeat> {
        self.0.iter().flatten().max_by_key(|beat| (beat.epoch, beat.count))
    }

    /// Refuses a pool that has been opened since: what was read of it means nothing.
    ///
    /// # Errors
    /// [`Refused::Open`].
    pub async fn check_unchanged<D: Device>(&self, drives: &[Given<D>]) -> Result<(), Refused> {
        let now = Beats::look(drives).await;
        self.changed(&now).map_or(Ok(()), |beat| Err(Refused::Open { holder: beat.holder_name.clone() }))
    }

    fn changed<'n>(&self, now: &'n Beats) -> Option<&'n Heartbeat> {
        let pairs = self.0.iter().zip(&now.0);
        pairs.filter(|(before, now)| now.is_some() && before != now).find_map(|(_, now)| now.as_ref())
    }
}

/// The beats of a pool that nobody has open. Where one was not handed back, it is watched for
/// twelve seconds.
///
/// # Errors
/// [`Refused::Open`] names the machine that beats.
pub async fn unused<D: Device>(clock: &impl Clock, drives: &[Given<D>]) -> Result<Beats, Refused> {
    let before = Beats::look(drives).await;
    if before.newest().is_none_or(|beat| !beat.is_open) {
        return Ok(before);
    }
    clock.sleep(WATCH).await;
    before.check_unchanged(drives).await.map(|()| before)
}
