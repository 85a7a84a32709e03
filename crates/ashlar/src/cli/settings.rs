//! `SETTING=VALUE` of `ashlar pool set`.

use anyhow::{Context, bail, ensure};
use ashlar_control::types::ChangePool;

/// What is to change. Each setting at most once.
pub fn parse(settings: &[String]) -> anyhow::Result<ChangePool> {
    let mut change = ChangePool::default();
    for setting in settings {
        let (name, value) = setting
            .split_once('=')
            .with_context(|| format!("'{setting}' is not SETTING=VALUE, as recon-prio=10 is"))?;
        match name {
            "recon-prio" => {
                let prio = value.parse().ok().filter(|prio| (1..=100).contains(prio));
                let prio = prio.with_context(|| format!("recon-prio={value} cannot be: choose 1 to 100"))?;
                ensure!(change.recon_prio.replace(prio).is_none(), "recon-prio is given twice");
            }
            _ => bail!("'{name}' is not a setting: there is recon-prio"),
        }
    }
    Ok(change)
}

#[cfg(test)]
mod tests;
