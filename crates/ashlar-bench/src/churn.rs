//! Overwriting a volume until garbage collection is steady: before that, what is moved for a write
//! says nothing.

use std::cell::RefCell;
use std::rc::Rc;

use ashlar_block::{BLOCK_BYTES, XorShift};
use ashlar_control::types::PoolCounters;
use ashlar_load::load::Content;
use serde::Serialize;

use super::daemon::Daemon;
use super::fill::{connect, write_each};
use super::servers::Server;

/// A pass overwrites as much as lives. At least so many passes, and at most so many, until two
/// successive ones agree.
const PASSES_MIN: u32 = 4;
const PASSES_MAX: u32 = 12;
/// How far the amplification of one pass may be from that of the pass before.
const AGREEMENT: f64 = 0.05;

/// Which blocks are overwritten.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// All alike.
    Uniform,
    /// Nine of ten writes go to a tenth of the blocks.
    HotCold,
}

/// What is written for each block that hosts write.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Amplification {
    /// Blocks written into stripes, moved ones included.
    pub blocks: f64,
    /// Bytes written to drives, parity, headers, journal and map included, for each byte.
    pub bytes: f64,
}

/// What overwriting came to.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Churned {
    /// How often as much as lives was overwritten.
    pub passes: u32,
    /// Whether the last two passes agree.
    pub is_steady: bool,
    /// Of these two.
    pub amplification: Amplification,
}

/// A volume and how it is overwritten.
#[derive(Clone, Copy)]
pub struct Churn<'a> {
    /// What serves it.
    pub daemon: &'a Daemon,
    /// Its pool, which has no other volume.
    pub pool: &'a str,
    /// The volume.
    pub server: &'a Server,
    /// Which blocks.
    pub pattern: Pattern,
    /// Bytes of a write.
    pub write_bytes: u32,
}

impl Pattern {
    /// A place of `places`.
    fn draw(self, random: &mut XorShift, places: u64) -> u64 {
        let tenth = places / 10;
        match self {
            Pattern::Uniform => random.below(places),
            Pattern::HotCold if random.below(10) > 0 => random.below(tenth),
            Pattern::HotCold => tenth + random.below(places - tenth),
        }
    }
}

impl Amplification {
    /// Of what was written between two looks.
    pub fn between(before: &PoolCounters, after: &PoolCounters) -> Self {
        let written = (after.blocks_written - before.blocks_written) as f64;
        let moved = (after.blocks_moved - before.blocks_moved) as f64;
        let bytes = (after.drive_written_bytes - before.drive_written_bytes) as f64;
        Amplification {
            blocks: 1.0 + moved / written,
            bytes: bytes / (written * BLOCK_BYTES as f64),
        }
    }
}

/// Whether one pass is as far as the next.
fn agree(one: f64, next: f64) -> bool {
    (next / one - 1.0).abs() <= AGREEMENT
}

impl Churn<'_> {
    /// Overwrites blocks that do not compress until two passes agree.
    ///
    /// # Errors
    /// The write that failed.
    pub async fn until_steady(self) -> anyhow::Result<Churned> {
        let random = Rc::new(RefCell::new(XorShift::new(1)));
        let mut looks = vec![self.daemon.counters(self.pool)?];
        loop {
            self.pass(&random).await?;
            looks.push(self.daemon.counters(self.pool)?);
            let passes = looks.len() - 1;
            let blocks =
                |pass: usize| Amplification::between(&looks[pass - 1], &looks[pass]).blocks;
            let is_steady =
                passes >= PASSES_MIN as usize && agree(blocks(passes - 1), blocks(passes));
            if is_steady || passes >= PASSES_MAX as usize {
                let amplification = Amplification::between(&looks[passes - 2], &looks[passes]);
                return Ok(Churned { passes: passes as u32, is_steady, amplification });
            }
        }
    }

    /// Overwrites as much as lives.
    async fn pass(self, random: &Rc<RefCell<XorShift>>) -> anyhow::Result<()> {
        let (controller, namespace) = connect(self.server).await?;
        let blocks_each = u64::from(self.write_bytes / namespace.lba_bytes());
        let writes = namespace.blocks() / blocks_each;
        let (random, pattern) = (random.clone(), self.pattern);
        let place = move |_| pattern.draw(&mut random.borrow_mut(), writes) * blocks_each;
        write_each(&namespace, Content::Incompressible, self.write_bytes, writes, place).await?;
        controller.disconnect().await;
        Ok(())
    }
}

impl Churned {
    /// In words.
    pub fn words(&self) -> String {
        let steady = if self.is_steady { "steady" } else { "NOT STEADY" };
        let Amplification { blocks, bytes } = self.amplification;
        format!(
            "{steady} after as much as lives was overwritten {} times: {blocks:.2} blocks, {bytes:.2} bytes for each",
            self.passes
        )
    }
}

#[cfg(test)]
mod tests;
