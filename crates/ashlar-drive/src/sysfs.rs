//! What the kernel tells of block devices under `/sys/dev/block`.

use std::path::{Path, PathBuf};

use rustix::fs::{Dev, major, minor};

/// The kernel's description of a block device.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct BlockFacts {
    /// `None` where the kernel does not say.
    pub(crate) volatile_cache: Option<bool>,
    pub(crate) rotational: Option<bool>,
    pub(crate) model: Option<String>,
    pub(crate) serial: Option<String>,
    /// Whether it says that it takes discards. False where the kernel does not say.
    pub(crate) discards: bool,
    pub(crate) logical_sector_bytes: Option<u32>,
    pub(crate) physical_sector_bytes: Option<u32>,
}

/// The facts about `device`; nothing for one that has no block device behind it.
pub(crate) fn block_facts(device: Dev) -> BlockFacts {
    disk_dir(&device_dir(device)).map(|disk| read_facts(&disk)).unwrap_or_default()
}

/// What the kernel calls `device`.
pub(crate) fn kernel_name(device: Dev) -> Option<String> {
    Some(device_dir(device).canonicalize().ok()?.file_name()?.to_str()?.to_owned())
}

/// Whether the kernel still has `device`.
pub(crate) fn is_present(device: Dev) -> bool {
    device_dir(device).exists()
}

pub(crate) fn device_dir(device: Dev) -> PathBuf {
    format!("/sys/dev/block/{}:{}", major(device), minor(device)).into()
}

/// The directory of the whole disk: a partition has no queue of its own.
pub(crate) fn disk_dir(device: &Path) -> Option<PathBuf> {
    let dir = device.canonicalize().ok()?;
    if dir.join("partition").exists() { dir.parent().map(Path::to_owned) } else { Some(dir) }
}

fn read_facts(disk: &Path) -> BlockFacts {
    let text = |name: &str| {
        let text = std::fs::read_to_string(disk.join(name)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let number = |name: &str| text(name)?.parse::<u32>().ok();
    BlockFacts {
        volatile_cache: text("queue/write_cache").map(|cache| cache != "write through"),
        rotational: number("queue/rotational").map(|rotational| rotational != 0),
        model: text("device/model"),
        serial: text("device/serial").or_else(|| text("serial")),
        discards: text("queue/discard_max_bytes").is_some_and(|bytes| bytes != "0"),
        logical_sector_bytes: number("queue/logical_block_size"),
        physical_sector_bytes: number("queue/physical_block_size"),
    }
}

#[cfg(test)]
mod tests;
