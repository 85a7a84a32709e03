//! The name of an open pool.

use ashlar_block::World;
use ashlar_format::superblock::Superblock;

use super::Store;
use crate::members::naming::RenameError;

impl<W: World> Store<W> {
    /// The pool's name.
    pub fn name(&self) -> String {
        self.pool.name()
    }

    /// Gives the pool another name. Durable when it returns.
    ///
    /// # Errors
    /// [`RenameError`]; it has its old name then, but for [`RenameError::Unsure`].
    pub async fn rename(&self, name: &str) -> Result<(), RenameError> {
        self.pool.rename(name).await
    }

    /// Gives the pool's name to those of its drives that say an older one, by the superblocks that
    /// it was opened with.
    pub async fn settle_name(&self, superblocks: &[Superblock]) {
        self.pool.settle_name(superblocks).await;
    }
}
