//! The group whose members may speak to the daemon.

use anyhow::{Context, ensure};
use ashlar_control::{Role, SocketGroup};
use nix::unistd::Group;

/// What its members may do where nobody says.
const ROLE_USUAL: Role = Role::Operator;

/// The group of that name, and what its members may do.
///
/// # Errors
/// When there is no such group, or a role is given and no group.
pub(super) fn resolve(
    name: Option<&str>,
    role: Option<Role>,
) -> anyhow::Result<Option<SocketGroup>> {
    let Some(name) = name else {
        ensure!(role.is_none(), "socket_group_role says what socket_group may do: name that, too");
        return Ok(None);
    };
    let found = Group::from_name(name).with_context(|| format!("socket_group '{name}'"))?;
    let group = found.with_context(|| {
        format!("there is no group '{name}': `groupadd --system {name}` makes it")
    })?;
    Ok(Some(SocketGroup { gid: group.gid.as_raw(), role: role.unwrap_or(ROLE_USUAL) }))
}

#[cfg(test)]
mod tests;
