//! Comparing what the pool says with what it may say.

use std::ops::Range;

use ashlar_block::{BLOCK_BYTES, Lba, VolumeId};
use ashlar_store::VolumeState;

use crate::content::version_of;
use crate::hosts::{Action, Run};
use crate::model::Model;
use crate::start::Pool;

/// Blocks that are read at a time when everything is.
const RUN_BLOCKS: u64 = 32;

impl Run {
    /// Reads every block that something was ever written to, now and then twice. Nothing else goes
    /// on meanwhile.
    pub async fn check_all(&self, pool: &Pool) -> Result<(), String> {
        let ids: Vec<VolumeId> = self.known.models.borrow().keys().copied().collect();
        for id in ids {
            let volumes = pool.volumes();
            let volume = volumes.get(&id).filter(|volume| volume.state == VolumeState::Live);
            let blocks = volume.ok_or_else(|| format!("{id:?} is gone"))?.blocks;
            self.known.model(id, |model| model.see_size(blocks))?;
            self.check_volume(pool, id, RUN_BLOCKS).await?;
            self.known
                .model(id, Model::check_atomic)
                .map_err(|error| format!("{id:?}: {error}"))?;
            if self.world.once_in(4) {
                let run_blocks = 1 + self.world.below(RUN_BLOCKS);
                self.check_volume(pool, id, run_blocks).await?;
            }
        }
        Ok(())
    }

    async fn check_volume(&self, pool: &Pool, id: VolumeId, run_blocks: u64) -> Result<(), String> {
        for blocks in self.known.model(id, |model| model.known_runs(run_blocks)) {
            self.check_blocks(pool, id, blocks).await?;
        }
        Ok(())
    }

    /// Reads blocks, and remembers what they hold.
    pub async fn check_blocks(
        &self,
        pool: &Pool,
        id: VolumeId,
        blocks: Range<u64>,
    ) -> Result<(), String> {
        let begun = self.known.model(id, |model| model.begin_read(blocks.clone()));
        let read = pool.read(id, Lba(blocks.start), (blocks.end - blocks.start) as usize);
        let read = self.patiently(Action::Read, id, &blocks, read).await;
        let bytes = read.map_err(|error| format!("{blocks:?} of {id:?}: {error}"))?;
        let mut versions = Vec::new();
        for (block, bytes) in blocks.clone().zip(bytes.chunks(BLOCK_BYTES)) {
            let unknown =
                || format!("block {block} of {id:?} reads as nothing that was ever written to it");
            versions.push(version_of(block, bytes).ok_or_else(unknown)?);
        }
        tracing::trace!("{id:?} {blocks:?} reads as {versions:?}");
        let ended = self.known.model(id, |model| model.end_read(begun, &versions));
        ended.map_err(|error| format!("{id:?}: {error}"))
    }

    /// The counts of what lives, against a walk over the whole map.
    pub async fn audit(&self, pool: &Pool) -> Result<(), String> {
        let audit = pool.audit().await.map_err(|error| format!("audit: {error}"))?;
        if audit.wrong.is_empty() {
            Ok(())
        } else {
            Err(format!("audit: {}", audit.wrong.join("; ")))
        }
    }
}
