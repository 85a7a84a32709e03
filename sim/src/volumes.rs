//! Making, deleting and resizing volumes.

use ashlar_block::{Cause, IoError, VolumeId};
use ashlar_store::{Compression, VolumeEntry, VolumeState, ZstdLevel};
use bytes::Bytes;

use crate::hosts::Run;
use crate::model::Model;
use crate::start::Pool;

/// Volumes in use.
const VOLUMES: usize = 2;

impl Run {
    /// Deletes what a crash left of creations and deletions on their way, and sometimes a volume
    /// that is in use: its blocks are discarded while the hosts work on the others.
    pub async fn delete_volumes(&self, pool: &Pool) -> Result<(), String> {
        let live = |(id, volume): (VolumeId, VolumeEntry)| {
            (volume.state == VolumeState::Live).then_some(id)
        };
        let live: Vec<VolumeId> = pool.volumes().into_iter().filter_map(live).collect();
        if let Some(back) = live.iter().find(|id| self.known.deleted.borrow().contains(id)) {
            return Err(format!("{back:?} was deleted and is back"));
        }
        let chosen =
            self.world.once_in(6).then(|| self.known.models.borrow_mut().pop_first()).flatten();
        let unknown = live.into_iter().filter(|id| !self.known.models.borrow().contains_key(id));
        let mut doomed: Vec<VolumeId> = unknown.collect();
        doomed.extend(chosen.map(|(id, _)| id).filter(|id| !doomed.contains(id)));
        for id in doomed {
            match pool.delete_volume(id).await {
                Ok(()) => drop(self.known.deleted.borrow_mut().insert(id)),
                Err(error) if error.cause == Cause::NoSuchVolume || may_fail(&error) => {}
                Err(error) => return Err(format!("delete {id:?}: {error}")),
            }
        }
        Ok(())
    }

    /// Makes volumes until there are enough.
    pub async fn make_volumes(&self, pool: &Pool) -> Result<(), String> {
        while self.known.models.borrow().len() < VOLUMES {
            let blocks = self.plan.volume.blocks;
            let compression = match self.world.below(4) {
                0 => Compression::None,
                1 => Compression::Lz4,
                2 => Compression::Zstd(ZstdLevel::DEFAULT),
                _ => Compression::Auto,
            };
            match pool.create_volume(blocks, compression, Bytes::from_static(b"sim")).await {
                Ok(id) => {
                    let model = Model::new(blocks, compression.compresses());
                    drop(self.known.models.borrow_mut().insert(id, model))
                }
                Err(error) if may_fail(&error) => return Ok(()),
                Err(error) => return Err(format!("create volume: {error}")),
            }
        }
        Ok(())
    }

    /// Makes a volume larger or smaller: to where hosts write, or whole again.
    pub async fn resize(&self, pool: &Pool, id: VolumeId) -> Result<(), String> {
        let islands = &self.plan.volume.islands;
        let island = &islands[self.world.below(islands.len() as u64) as usize];
        let within = island.start + 1 + self.world.below(island.end - island.start);
        let blocks = if self.world.once_in(2) { self.plan.volume.blocks } else { within };
        let Some(ticket) = self.known.model(id, |model| model.begin_resize(blocks)) else {
            return Ok(());
        };
        let resized = pool.resize_volume(id, blocks).await;
        tracing::debug!("{id:?} resized to {blocks} blocks: {resized:?}");
        let done = resized.is_ok();
        self.end(id, ticket, false, resized).map_err(|error| format!("resize: {error}"))?;
        self.known.count(|outcome| outcome.resized += u64::from(done));
        let seen = pool.volumes().get(&id).map(|volume| volume.blocks);
        match seen {
            Some(seen) if done && seen != blocks => {
                Err(format!("{id:?} has {seen} blocks, not {blocks}"))
            }
            Some(seen) => self.known.model(id, |model| model.see_size(seen)),
            None => Err(format!("{id:?} is gone")),
        }
    }
}

/// Failures that drives or a lack of room explain.
pub fn may_fail(error: &IoError) -> bool {
    matches!(error.cause, Cause::WriteFault | Cause::CapacityExceeded | Cause::NotReady)
}
