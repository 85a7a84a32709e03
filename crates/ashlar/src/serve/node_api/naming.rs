//! How people name members: by whatever `pool show` lists.

use ashlar_control::ApiError;
use ashlar_control::types::PoolDrive;
use ashlar_node::name_the_same;

use super::super::errors::api_error;
use super::Shared;

impl Shared {
    /// The name of the member that is meant, of those that `are_meant` before the others. What
    /// names none stays as it is: whoever looks for it says so.
    pub(super) async fn member_called(
        &self,
        pool: &str,
        name: &str,
        are_meant: impl Fn(&PoolDrive) -> bool,
    ) -> Result<String, ApiError> {
        let report = self.node.report(pool).await.map_err(api_error)?;
        let drives = self.pool(&report).drives;
        let leads_there =
            |drive: &PoolDrive| drive.spec.as_deref().is_some_and(|spec| name_the_same(spec, name));
        // The newest record comes last.
        let found = |is: &dyn Fn(&PoolDrive) -> bool| {
            let first = drives.iter().rfind(|drive| is(drive) && are_meant(drive));
            first.or_else(|| drives.iter().rfind(|drive| is(drive))).map(|drive| drive.name.clone())
        };
        let found = found(&|drive| drive.is_named(name)).or_else(|| found(&leads_there));
        Ok(found.unwrap_or_else(|| name.to_owned()))
    }
}

/// Whether a member is not there, or not used.
pub(super) fn is_lost(drive: &PoolDrive) -> bool {
    !matches!(drive.states.first().map(String::as_str), Some("online" | "evacuating" | "returned"))
}
