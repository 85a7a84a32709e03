//! Features (Base 2.1, section 5.1.25; NVM Command Set 1.1, section 4.1.3).

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Feature identifiers.
pub mod id {
    /// Arbitration.
    pub const ARBITRATION: u8 = 0x01;
    /// Power Management.
    pub const POWER_MANAGEMENT: u8 = 0x02;
    /// Temperature Threshold.
    pub const TEMPERATURE_THRESHOLD: u8 = 0x04;
    /// Error Recovery.
    pub const ERROR_RECOVERY: u8 = 0x05;
    /// Volatile Write Cache.
    pub const VOLATILE_WRITE_CACHE: u8 = 0x06;
    /// Number of Queues.
    pub const NUMBER_OF_QUEUES: u8 = 0x07;
    /// Interrupt Coalescing: PCIe only.
    pub const INTERRUPT_COALESCING: u8 = 0x08;
    /// Interrupt Vector Configuration: PCIe only.
    pub const INTERRUPT_VECTOR: u8 = 0x09;
    /// Write Atomicity Normal.
    pub const WRITE_ATOMICITY: u8 = 0x0a;
    /// Asynchronous Event Configuration.
    pub const ASYNC_EVENT_CONFIGURATION: u8 = 0x0b;
    /// Keep Alive Timer.
    pub const KEEP_ALIVE_TIMER: u8 = 0x0f;
    /// Host Behavior Support.
    pub const HOST_BEHAVIOR: u8 = 0x16;
    /// Host Identifier.
    pub const HOST_IDENTIFIER: u8 = 0x81;
    /// Namespace Write Protection Config.
    pub const WRITE_PROTECTION: u8 = 0x84;
}

/// What can be done with a feature: the answer to Get Features with SEL Supported Capabilities.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FeatureCapabilities {
    /// Its value can be saved.
    pub saveable: bool,
    /// Each namespace has its own value.
    pub namespace_specific: bool,
    /// Its value can be changed.
    pub changeable: bool,
}

impl FeatureCapabilities {
    /// As the result dword has it.
    pub const fn bits(self) -> u32 {
        self.saveable as u32 | (self.namespace_specific as u32) << 1 | (self.changeable as u32) << 2
    }
}

/// Number of Queues: counts of I/O submission and completion queues, 1 to 65,535.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueCounts {
    /// Submission queues.
    pub submission: u32,
    /// Completion queues.
    pub completion: u32,
}

impl QueueCounts {
    /// As dword 11 or the result has it: 0's based.
    pub const fn bits(self) -> u32 {
        (self.submission - 1) & 0xffff | (self.completion - 1) << 16
    }

    /// From dword 11 or the result; none for the reserved value of 65,536 queues.
    pub const fn from_bits(bits: u32) -> Option<Self> {
        if bits & 0xffff == 0xffff || bits >> 16 == 0xffff {
            return None;
        }
        Some(QueueCounts { submission: (bits & 0xffff) + 1, completion: (bits >> 16) + 1 })
    }
}

/// Bits of Asynchronous Event Configuration.
pub mod event_bits {
    /// SMART: spare space below its threshold.
    pub const SPARE: u32 = 1 << 0;
    /// SMART: reliability degraded.
    pub const RELIABILITY: u32 = 1 << 2;
    /// SMART: read-only.
    pub const READ_ONLY: u32 = 1 << 3;
    /// All SMART warnings that exist.
    pub const SMART: u32 = 0x3f;
    /// Attached Namespace Attribute Notices.
    pub const NAMESPACE_ATTRIBUTE: u32 = 1 << 8;
    /// Discovery Log Page Change Notices.
    pub const DISCOVERY_LOG: u32 = 1 << 31;
}

/// The data of Host Behavior Support.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct HostBehavior {
    /// ACRE: 1 if the host honours Command Retry Delays.
    pub retry_delays: u8,
    /// ETDAS.
    pub extended_telemetry: u8,
    /// LBAFEE: 1 if extended LBA formats may be used.
    pub extended_lba_formats: u8,
    /// What later versions add.
    pub reserved: [u8; 509],
}

/// States of Namespace Write Protection Config.
pub mod write_protection {
    /// Writes are accepted.
    pub const NONE: u32 = 0;
    /// Writes are refused until this is changed.
    pub const PROTECTED: u32 = 1;
}

#[cfg(test)]
mod tests;
