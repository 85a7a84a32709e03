//! Closing an open pool.

use std::pin::pin;

use ashlar_block::{Cause, IoError, World};
use futures_util::future::{Either, select};

use super::Store;

impl<W: World> Store<W> {
    /// Closes the pool: what is on its way is finished, and the next start has nothing to replay.
    /// The store takes nothing any more afterwards, and its drives are free once the last clone of
    /// it is gone.
    ///
    /// If the pool has halted, has no segment left for a last checkpoint, the file system under a
    /// file-backed drive is full, or a drive hangs that it cannot do without, there is no clean
    /// end. Then the pool stops as it is, with an error, and the next start replays what was
    /// acknowledged.
    pub async fn close(&self) -> Result<(), IoError> {
        let done = match select(pin!(self.finish()), pin!(self.cannot_finish())).await {
            Either::Left((done, _)) => done,
            Either::Right((why, _)) => Err(why),
        };
        // Not where something may be on its way that nobody waits for.
        if done.is_ok() && self.pool.discards_end().await {
            self.pool.hand_back().await;
        }
        self.pool.close();
        done.map_err(|error| {
            let left =
                "no last checkpoint was written, and the next start replays what was acknowledged";
            IoError::new(error.cause, format!("{left}: {error}"))
        })
    }

    /// Returns when the pool cannot be finished any more.
    async fn cannot_finish(&self) -> IoError {
        let lacks_room = async {
            self.pool.array.lacks_room().await;
            IoError::new(Cause::CapacityExceeded, "a file system under its drives is full")
        };
        let (lacks_room, hangs) = (pin!(lacks_room), pin!(self.pool.hangs()));
        match select(pin!(self.pool.halt.wait()), select(lacks_room, hangs)).await {
            Either::Left((error, _)) => error,
            Either::Right((waits, _)) => waits.factor_first().0,
        }
    }

    /// Returns once a drive that the pool cannot do without has been silent, or the file system
    /// under one full, for so long that the pool is closed without it.
    pub async fn hangs(&self) -> IoError {
        let (hangs, full) = (pin!(self.pool.hangs()), pin!(self.pool.stays_full_below()));
        select(hangs, full).await.factor_first().0
    }

    async fn finish(&self) -> Result<(), IoError> {
        let pool = &self.pool;
        pool.writer.commit.stop();
        // Who waits for a segment only to tidy up waits no more.
        pool.checkpoint.roots.announce();
        pool.writer.commit.stopped().await;
        pool.finish_striping().await;
        if !pool.could_checkpoint() {
            let why = "no segment is left for the maps: return a drive, or add one";
            return Err(IoError::new(Cause::CapacityExceeded, why));
        }
        pool.checkpoint_now().await?;
        pool.upkeep.stop();
        pool.requests.notify();
        pool.upkeep.stopped().await;
        pool.checkpoint(true).await
    }
}
