//! What a drive says of its health: the figures that operators know from `smartctl`.
//!
//! [`Smart`] reads them from the drive itself: by NVMe admin commands, by ATA commands through the
//! SCSI layer, or by SCSI log pages. Files, drives in memory, virtual disks and what stands on
//! several drives have none.
//!
//! 1. A drive that sleeps is not woken: what sysfs knows is looked at before any command, and of a
//!    disk that could have spun down the only command that comes before the answer is the one that
//!    asks for that.
//! 2. A figure that a drive does not report is `None`, and never 0.
//! 3. What a vendor's attribute means is not guessed.

mod ata;
mod link;
mod nvme;
mod place;
mod scsi;
mod transport;
mod warnings;

use std::io;
use std::path::PathBuf;

pub use link::Link;
use place::Kind;
pub use place::Silent;
use transport::Node;
pub use warnings::{Ill, Thresholds, Warning, warnings};

/// How a drive is, as it says itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DriveHealth {
    /// Its model.
    pub model: Option<String>,
    /// Its serial number.
    pub serial: Option<String>,
    /// The version of its firmware.
    pub firmware: Option<String>,
    /// What it takes power for.
    pub power: Option<Power>,
    /// Degrees Celsius.
    pub temperature_celsius: Option<i16>,
    /// From there on the drive calls itself too hot, in degrees Celsius.
    pub temperature_max_celsius: Option<i16>,
    /// From there on it may stop to save itself, in degrees Celsius.
    pub temperature_critical_celsius: Option<i16>,
    /// What it has spent of its life, in percent; more than 100 is possible.
    pub used_percent: Option<u8>,
    /// Spare blocks that are left, in percent.
    pub spare_percent: Option<u8>,
    /// Below that it warns.
    pub spare_threshold_percent: Option<u8>,
    /// Bytes that it was asked to read, over its life.
    pub read_bytes: Option<u64>,
    /// Bytes that it was given to write, over its life.
    pub written_bytes: Option<u64>,
    /// Times that it could not give back what it was to keep.
    pub media_errors: Option<u64>,
    /// Hours that it was on.
    pub power_on_hours: Option<u64>,
    /// Times that it lost its power without notice.
    pub unsafe_shutdowns: Option<u64>,
    /// Writes stay in a cache that a loss of power empties, until they are flushed.
    pub has_volatile_cache: Option<bool>,
    /// What connects it.
    pub link: Option<Link>,
    /// It has platters.
    pub is_rotational: Option<bool>,
    /// What it warns of itself.
    pub alarms: Vec<Alarm>,
}

/// What a drive takes power for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Power {
    /// It works, or could at once.
    Active,
    /// It saves power, and still answers at once.
    Idle,
    /// Its platters stand still.
    Standby,
    /// The state of an NVMe drive.
    State {
        /// Its number: 0 is the one that takes most.
        number: u8,
        /// What it takes at most, in milliwatts.
        max_milliwatts: Option<u32>,
    },
}

/// What a drive warns of: its own judgement, and not ours.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Alarm {
    /// Few spare blocks are left.
    Spare,
    /// It is too hot or too cold.
    Temperature,
    /// Its media or its electronics have errors.
    Reliability,
    /// It takes no writes.
    ReadOnly,
    /// What keeps its cache over a loss of power has failed.
    CacheBackup,
    /// It expects to fail soon.
    FailureExpected,
}

/// The answer to a look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Look {
    /// What the drive says.
    Awake(Box<DriveHealth>),
    /// It sleeps, and was not asked.
    Asleep,
}

/// A drive that can be asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Smart {
    kind: Kind,
    /// The device that takes commands.
    node: PathBuf,
    /// Its directory of sysfs, as `/sys/block/sda` is.
    disk: PathBuf,
    /// That of the NVMe controller or of the SCSI device.
    device: PathBuf,
}

impl Smart {
    /// Asks it. Blocks its thread until the drive has answered, which may take as long as the
    /// drive is busy: not for a reactor's.
    ///
    /// # Errors
    /// The node cannot be opened, or a command that every such drive knows is refused.
    pub fn look(&self) -> io::Result<Look> {
        if place::sleeps(&self.device) {
            return Ok(Look::Asleep);
        }
        let node = Node::open(&self.node)?;
        let health = match self.kind {
            Kind::Nvme => Some(nvme::look(&node)?),
            Kind::Ata => ata::look(&node)?,
            Kind::Scsi => scsi::look(&node)?,
        };
        Ok(health.map_or(Look::Asleep, |health| Look::Awake(Box::new(self.with_place(health)))))
    }

    /// What the kernel knows of it besides.
    fn with_place(&self, health: DriveHealth) -> DriveHealth {
        let link = link::of(&self.device, health.link.as_ref());
        DriveHealth { link, is_rotational: place::is_rotational(&self.disk), ..health }
    }
}

/// Text of a fixed width, as drives write it: filled with spaces at its end, or at its beginning.
fn padded_text(bytes: &[u8]) -> Option<String> {
    let printable = bytes.iter().filter(|byte| (0x20..0x7f).contains(*byte));
    let text: String = printable.map(|byte| char::from(*byte)).collect();
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests;
