//! The capacity of a pool as ScaleFlux's driver tells that of its drives, for scripts that read it.

use std::fmt::{self, Display, Formatter};

use anyhow::Context;
use ashlar_control::types::Pool;
use serde::Serialize;

/// What the driver counts in.
const SECTOR_BYTES: u64 = 512;

/// The fields of `sfx_capacity_stat`, in their order; sizes are in sectors of 512 bytes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CapacityStat {
    /// What can surely be stored still.
    free_space: u64,
    /// What is stored, after compression.
    physical_size: u64,
    /// What hosts have written of it.
    logical_size: u64,
    /// The one over the other, with two digits; 1.00 where nothing is stored, and for noise.
    comp_ratio: String,
    /// What the pool is provisioned with.
    provisioned_cap: u64,
    /// 0: there is room; 1: little is left; 2: writes are refused.
    space_flag: u8,
}

impl CapacityStat {
    /// That of a pool.
    ///
    /// # Errors
    /// It is not open: nobody knows its figures.
    pub fn of(pool: &Pool) -> anyhow::Result<Self> {
        let space = pool.space.as_ref().with_context(|| {
            format!("pool '{}' is not open: `ashlar pool show {}` says why", pool.name, pool.name)
        })?;
        Ok(CapacityStat {
            free_space: space.safe_to_write_bytes / SECTOR_BYTES,
            physical_size: space.stored_bytes / SECTOR_BYTES,
            logical_size: space.logical_used_bytes / SECTOR_BYTES,
            comp_ratio: format!("{:.2}", space.compression_ratio.unwrap_or(1.0).max(1.0)),
            provisioned_cap: space.provisioned_bytes / SECTOR_BYTES,
            space_flag: space_flag(pool),
        })
    }
}

fn space_flag(pool: &Pool) -> u8 {
    let is = |state: &str| pool.states.iter().any(|is| is == state);
    match () {
        () if is("full") => 2,
        () if is("nearly-full") => 1,
        () => 0,
    }
}

impl Display for CapacityStat {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let CapacityStat { free_space, physical_size, logical_size, .. } = self;
        writeln!(f, "free_space: {free_space}")?;
        writeln!(f, "physical_size: {physical_size}")?;
        writeln!(f, "logical_size: {logical_size}")?;
        writeln!(f, "comp_ratio: {}", self.comp_ratio)?;
        writeln!(f, "provisioned_cap: {}", self.provisioned_cap)?;
        write!(f, "space_flag: {}", self.space_flag)
    }
}

#[cfg(test)]
mod tests;
