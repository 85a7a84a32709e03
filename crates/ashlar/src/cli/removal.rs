//! `ashlar pool remove-drive --wait`, and of a replacement the same.

use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use ashlar_block::printable;
use ashlar_control::types::{Pool, PoolDrive, RemoveDrive};
use hyper::Method;

use super::client::Client;
use super::progress::{Bar, check_open};
use super::rebuild::{Watched, Work, check_able};
use crate::stdio::note;

const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// How long a drive may take to be let go of: its label is taken off before.
const PARTING_MAX: Duration = Duration::from_secs(30);

/// The same of one that is lost: it may never answer.
const LOST_PARTING_MAX: Duration = Duration::from_secs(10);

/// A drive that is to be removed, as it was before anybody said so: what is left of a lost one may
/// be gone with that.
pub struct Leaver {
    name: String,
    uuid: String,
    spec: Option<String>,
    was_lost: bool,
}

/// How far a drive is on its way out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// What lives on it goes to others.
    Moving,
    /// It is lost: what lived on it is restored from the others.
    Lost,
    /// It was lost, and all of that is restored. It is a member until somebody says that it is to
    /// go.
    Released,
    /// It is no member any more, and the daemon has it open still.
    Parting,
    /// It is nobody's.
    Left,
}

impl Leaver {
    /// The drive that was asked for. `None`: it is no member any more.
    fn named(pool: &Pool, name: &str) -> Option<Self> {
        // The newest record comes last.
        let PoolDrive { name, uuid, spec, .. } =
            pool.drives.iter().rfind(|drive| drive.is_named(name))?.clone();
        let works = |drive: &PoolDrive| matches!(&*drive.states[0], "online" | "evacuating");
        let was_lost = !pool.drives.iter().any(|drive| drive.uuid == uuid && works(drive));
        Some(Leaver { name, uuid, spec, was_lost })
    }

    /// The drive of the pool at `path` that somebody is about to remove. `None`: it has none of
    /// that name.
    ///
    /// # Errors
    /// When the pool cannot be asked for.
    pub async fn find(client: &Client, path: &str, name: &str) -> anyhow::Result<Option<Self>> {
        Ok(Leaver::named(&client.get(path).await?, name))
    }

    /// It goes for the one at `with`, which may be a new drive in the same place: that one stays.
    pub fn instead_of(mut self, with: &str) -> Self {
        self.spec = self.spec.filter(|spec| !ashlar_volume::is_at(spec, with));
        self
    }

    /// # Errors
    /// When it is not on its way out any more, with the reason.
    fn stage(&self, pool: &Pool) -> anyhow::Result<Stage> {
        // One that came back has a record for each of its numbers.
        let states = || {
            pool.drives
                .iter()
                .filter(|drive| drive.uuid == self.uuid)
                .map(|drive| &*drive.states[0])
        };
        let is = |state: &str| states().any(|its| its == state);
        if is("evacuating") {
            return Ok(Stage::Moving);
        }
        let (name, pool_name) = (&self.name, &pool.name);
        if is("online") {
            bail!("{name} stays in pool '{pool_name}': somebody has cancelled its removal");
        }
        if states().any(|its| its != "released") {
            return Ok(Stage::Lost);
        }
        if is("released") {
            return Ok(Stage::Released);
        }
        let is_back = |drive: &&PoolDrive| {
            self.spec.is_some() && drive.spec == self.spec && drive.states[0] == "online"
        };
        match pool.drives.iter().find(is_back) {
            Some(back) => bail!(
                "{name} was lost while it was being removed, and somebody has brought it back: it \
                 is a member of pool '{pool_name}' as {back}. `ashlar pool remove-drive \
                 {pool_name} {back}` removes it",
                back = back.name
            ),
            None if self.spec.as_ref().is_some_and(|spec| pool.parting.contains(spec)) => {
                Ok(Stage::Parting)
            }
            None => Ok(Stage::Left),
        }
    }

    fn place(&self) -> String {
        self.spec.as_deref().map_or_else(|| "the drive".to_owned(), printable)
    }

    fn stays_open(&self, pool: &str) -> String {
        let (name, at) = (&self.name, self.place());
        format!(
            "{name} has left pool '{pool}', but the daemon still has {at} open, because the drive \
             does not answer: the daemon closes it once it does"
        )
    }

    fn farewell(&self, pool: &str) -> String {
        let (name, at) = (&self.name, self.place());
        format!(
            "note: {name} was lost before it was empty. It has left pool '{pool}', and Ashlar has \
             restored what lived on it from the others. If there is anything left of {at}, it may \
             still carry its label: `ashlar drive label-clear` takes that off"
        )
    }
}

/// Returns the pool at `path`, which was `pool` when the removal of the drive had begun, once that
/// is no member any more and the daemon has let go of it; and says so if it was lost on the way.
///
/// # Errors
/// When the pool cannot move what lives on it, or it stays after all, with the reason.
pub async fn wait(
    client: &Client,
    path: &str,
    mut pool: Pool,
    leaver: &Leaver,
) -> anyhow::Result<Pool> {
    let mut is_seen_lost = false;
    let (bar, mut watched) = (Bar::new(), Watched::new(Work::Evacuation));
    loop {
        check_open(&pool)?;
        let stage = leaver.stage(&pool)?;
        is_seen_lost |= matches!(stage, Stage::Lost | Stage::Released);
        if matches!(stage, Stage::Parting | Stage::Left) {
            break;
        }
        check_able(&pool, Work::Evacuation)?;
        if stage == Stage::Released {
            forget(client, path, leaver).await?;
        }
        bar.next_look(watched.shown(&pool)?).await;
        pool = client.get(path).await?;
    }
    bar.end();
    let pool =
        wait_for_parting(client, path, pool, leaver, is_seen_lost || leaver.was_lost).await?;
    if is_seen_lost {
        note(leaver.farewell(&pool.name));
    }
    Ok(pool)
}

/// Returns the pool at `path` once the daemon has let go of the drive, which can be used then. One
/// that is lost may never answer: its label is a loss then, and no reason to fail.
async fn wait_for_parting(
    client: &Client,
    path: &str,
    mut pool: Pool,
    leaver: &Leaver,
    is_lost: bool,
) -> anyhow::Result<Pool> {
    let (since, max) = (Instant::now(), if is_lost { LOST_PARTING_MAX } else { PARTING_MAX });
    while leaver.stage(&pool)? == Stage::Parting {
        if since.elapsed() >= max {
            let why = leaver.stays_open(&pool.name);
            ensure!(is_lost, why);
            note(format_args!("note: {why}"));
            break;
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
        pool = client.get(path).await?;
        check_open(&pool)?;
    }
    Ok(pool)
}

/// Has the pool forget a drive of which nothing is left but its name.
async fn forget(client: &Client, path: &str, leaver: &Leaver) -> anyhow::Result<()> {
    let request = RemoveDrive { drive: leaver.name.clone(), cancel: false };
    let forgotten =
        client.send_body::<Pool>(Method::POST, &format!("{path}/remove-drive"), &request).await;
    let Err(error) = forgotten else { return Ok(()) };
    // The order to remove it may have been enough by now.
    let pool: Pool = client.get(path).await?;
    if matches!(leaver.stage(&pool)?, Stage::Parting | Stage::Left) { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests;
