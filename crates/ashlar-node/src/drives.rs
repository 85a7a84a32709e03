//! Drives for the node's pools, by what people write.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use ashlar_block::{DeviceError, with_causes};
use ashlar_drive::{Drive, DriveKind, DriveSpec, DriveWorld, Faults, OpenMode, Slot};
use ashlar_volume::{DriveFacts, DriveProvider, DriveSlot, ProvidedDrive, Sought};

/// Where drives of this machine are, from whoever looks for them. Never waits.
pub trait KnownPlaces: Send + Sync {
    /// Where drives with the label of the pool of this UUID are, as far as it is known now.
    fn sought(&self, pool: &str) -> Sought;

    /// The name that is remembered and shown for the block device that the kernel calls so, if it
    /// has one that outlives restarts.
    fn stable_name(&self, kernel: &str) -> Option<String>;
}

/// The drives of this machine.
#[derive(Clone)]
pub struct MachineDrives {
    known: Arc<dyn KnownPlaces>,
    /// A file that says which drive's next write panics, for tests.
    panics: Option<Arc<Path>>,
}

impl MachineDrives {
    /// The drives that `known` finds. `panics`: a file that says which drive's next write panics,
    /// for tests.
    pub fn new(known: Arc<dyn KnownPlaces>, panics: Option<&Path>) -> Self {
        MachineDrives { known, panics: panics.map(Arc::from) }
    }
}

impl DriveProvider for MachineDrives {
    type Device = Drive;
    type World = DriveWorld;

    fn world(&self) -> DriveWorld {
        DriveWorld
    }

    async fn open(&self, spec: &str, make: bool) -> Result<ProvidedDrive<Drive>, String> {
        let parsed = parse(spec)?;
        if matches!(parsed, DriveSpec::Memory { .. } | DriveSpec::Null { .. }) && !make {
            return Err(format!("{spec}: memory is lost with the daemon that had it"));
        }
        let mode = if make { OpenMode::CreateIfMissing } else { OpenMode::Existing };
        let existed = self.exists(spec);
        let device = Drive::open_aside(&parsed, mode).await.map_err(|error| with_causes(&error))?;
        let device = match &self.panics {
            Some(file) => device.with_faults(Faults::asked_for_in(file.clone(), spec)),
            None => device,
        };
        let facts = facts(spec, &device);
        Ok(ProvidedDrive { device, facts, made: !existed })
    }

    fn exists(&self, spec: &str) -> bool {
        parse(spec).is_ok_and(|parsed| parsed.path().is_none_or(Path::exists))
    }

    fn identity(&self, spec: &str) -> Option<String> {
        identity(spec)
    }

    fn unmake(&self, spec: &str) {
        let Ok(DriveSpec::File { path, .. }) = parse(spec) else { return };
        if let Err(error) = fs::remove_file(&path) {
            tracing::warn!(path = %path.display(), %error, "removing a file that was made for a pool");
        }
    }

    async fn foreign(&self, device: &Drive) -> Result<Option<String>, DeviceError> {
        Ok(ashlar_drive::probe_foreign(device).await?.map(|content| content.to_string()))
    }

    fn is_present(&self, device: &Drive) -> bool {
        device.check_present().is_ok()
    }

    fn is_there(&self, device: &Drive) -> bool {
        device.is_there()
    }

    fn sought(&self, pool: &str) -> Sought {
        self.known.sought(pool)
    }

    fn stable_name(&self, kernel: &str) -> Option<String> {
        self.known.stable_name(kernel)
    }
}

/// What tells whether two texts name the same drive; `None` if each names one of its own.
pub fn identity(spec: &str) -> Option<String> {
    let parsed = parse(spec).ok()?;
    let path = parsed.path()?;
    let Ok(found) = fs::metadata(path) else { return Some(path.display().to_string()) };
    // Two nodes of one device are one drive; so are two names of one file.
    let is_device = found.file_type().is_block_device();
    Some(if is_device {
        format!("device {}", found.rdev())
    } else {
        format!("{}:{}", found.dev(), found.ino())
    })
}

/// Whether two texts name the same drive, whatever links lead to it.
pub fn name_the_same(one: &str, other: &str) -> bool {
    ashlar_volume::path_of(one) == ashlar_volume::path_of(other)
        || identity(one).is_some_and(|it| identity(other) == Some(it))
}

fn parse(spec: &str) -> Result<DriveSpec, String> {
    spec.parse().map_err(|error: ashlar_drive::ParseDriveSpecError| with_causes(&error))
}

fn facts(spec: &str, device: &Drive) -> DriveFacts {
    let info = device.info();
    DriveFacts {
        spec: spec.to_owned(),
        kernel: info.kernel_name.clone(),
        stable_name: None,
        kind: info.kind.to_string(),
        size_bytes: info.size_bytes,
        is_volatile: matches!(info.kind, DriveKind::Memory | DriveKind::Null),
        is_sparse: info.sparse,
        is_direct: info.direct,
        model: info.model.clone(),
        serial: info.serial.clone(),
        slot: info.slot.clone().map(|Slot { name, light }| DriveSlot { name, light }),
    }
}
