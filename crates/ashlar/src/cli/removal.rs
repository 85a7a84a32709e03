//! `ashlar pool remove-drive --wait`.

use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use ashlar_control::types::{Pool, PoolDrive, RemoveDrive};
use hyper::Method;

use super::client::Client;
use super::rebuild::{Wait, Work, check_able, check_open};
use super::verbs::is_named;

const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// How long a drive may take to be let go of: its label is taken off before.
const PARTING_MAX: Duration = Duration::from_secs(30);

/// A drive that is being removed.
struct Leaver {
    name: String,
    uuid: String,
    spec: Option<String>,
}

/// How far a drive is on its way out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// What lives on it goes to others.
    Moving,
    /// It is lost: what lived on it is restored from the others.
    Lost,
    /// It was lost, and all of that is restored. It is a member until somebody says that it is to go.
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
            pool.drives.iter().rfind(|drive| is_named(drive, name))?.clone();
        Some(Leaver { name, uuid, spec })
    }

    /// # Errors
    /// When it is not on its way out any more, with the reason.
    fn stage(&self, pool: &Pool) -> anyhow::Result<Stage> {
        // One that came back has a record for each of its numbers.
        let states =
            || pool.drives.iter().filter(|drive| drive.uuid == self.uuid).map(|drive| &*drive.states[0]);
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
                "{name} was lost while it was being removed, and somebody has brought it back: it is a member of pool \
                 '{pool_name}' as {back}. ashlar pool remove-drive {pool_name} {back} removes it",
                back = back.name
            ),
            None if self.spec.as_ref().is_some_and(|spec| pool.parting.contains(spec)) => Ok(Stage::Parting),
            None => Ok(Stage::Left),
        }
    }

    fn stays_open(&self, pool: &str) -> String {
        let (name, at) = (&self.name, self.spec.as_deref().unwrap_or("the drive"));
        format!(
            "{name} is no member of pool '{pool}' any more, but the daemon has {at} open still, because it does not answer: it is let \
             go of once it does"
        )
    }

    fn farewell(&self, pool: &str) -> String {
        let (name, at) = (&self.name, self.spec.as_deref().unwrap_or("the drive"));
        format!(
            "note: {name} was lost before it was empty. It is no member of pool '{pool}' any more, and what lived on it has been \
             restored from the others; but {at} carries its label still, if there is anything left of it: ashlar drive \
             label-clear takes that off"
        )
    }
}

/// Returns the pool at `path`, which was `pool` when the removal of the drive had begun, once that is no member any more and
/// the daemon has let go of it; and says so if it was lost on the way.
///
/// # Errors
/// When the pool cannot move what lives on it, or it stays after all, with the reason.
pub async fn wait(client: &Client, path: &str, mut pool: Pool, drive: &str) -> anyhow::Result<Pool> {
    let Some(leaver) = Leaver::named(&pool, drive) else { return Ok(pool) };
    let (mut was_lost, mut parting_since) = (false, None);
    let mut wait = Wait::begin(Work::Evacuation);
    loop {
        check_open(&pool)?;
        let stage = leaver.stage(&pool)?;
        was_lost |= matches!(stage, Stage::Lost | Stage::Released);
        // One that was lost may never answer, and keeps its label anyway.
        if stage == Stage::Left || (stage == Stage::Parting && was_lost) {
            break;
        }
        if stage == Stage::Parting {
            let since = *parting_since.get_or_insert_with(Instant::now);
            ensure!(since.elapsed() < PARTING_MAX, leaver.stays_open(&pool.name));
            tokio::time::sleep(LOOK_INTERVAL).await;
            pool = client.get(path).await?;
            continue;
        }
        check_able(&pool, Work::Evacuation)?;
        if stage == Stage::Released {
            forget(client, path, &leaver).await?;
        }
        wait.next_look(&pool).await?;
        pool = client.get(path).await?;
    }
    wait.end();
    if was_lost {
        eprintln!("{}", leaver.farewell(&pool.name));
    }
    Ok(pool)
}

/// Has the pool forget a drive of which nothing is left but its name.
async fn forget(client: &Client, path: &str, leaver: &Leaver) -> anyhow::Result<()> {
    let request = RemoveDrive { drive: leaver.name.clone(), cancel: false };
    let forgotten = client.send_body::<Pool>(Method::POST, &format!("{path}/remove-drive"), &request).await;
    let Err(error) = forgotten else { return Ok(()) };
    // The order to remove it may have been enough by now.
    let pool: Pool = client.get(path).await?;
    if matches!(leaver.stage(&pool)?, Stage::Parting | Stage::Left) { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests;
