//! Log pages (Base 2.1, section 5.1.12; discovery log: section 5.1.12.3.1).

mod discovery;
mod effects;
mod endurance;
mod error;
mod health;
mod sanitize;
pub mod scaleflux;

pub use discovery::{
    DISCOVERY_ENTRY_BYTES, DiscoveryEntry, DiscoveryHeader, address_family, discovery_flags,
    subsystem_type, transport_requirements,
};
pub use effects::{CommandEffects, EffectsLog, command_effects, feature_effects};
pub use endurance::EnduranceGroupLog;
pub use error::{ERROR_LOG_VERSION, ErrorLogEntry, transport_type};
pub use health::{FirmwareSlotLog, SmartLog, critical_warning};
pub use sanitize::{NO_ESTIMATE, NO_SANITIZE_PROGRESS, SanitizeStatusLog, sanitize_status};

/// Log page identifiers.
pub mod page {
    /// Supported Log Pages.
    pub const SUPPORTED: u8 = 0x00;
    /// Error Information.
    pub const ERROR: u8 = 0x01;
    /// SMART / Health Information.
    pub const SMART: u8 = 0x02;
    /// Firmware Slot Information.
    pub const FIRMWARE_SLOT: u8 = 0x03;
    /// Changed Attached Namespace List.
    pub const CHANGED_NAMESPACES: u8 = 0x04;
    /// Commands Supported and Effects.
    pub const EFFECTS: u8 = 0x05;
    /// Endurance Group Information.
    pub const ENDURANCE_GROUP: u8 = 0x09;
    /// Asymmetric Namespace Access.
    pub const ANA: u8 = 0x0c;
    /// Feature Identifiers Supported and Effects.
    pub const FEATURE_EFFECTS: u8 = 0x12;
    /// NVMe-MI Commands Supported and Effects.
    pub const MANAGEMENT_EFFECTS: u8 = 0x13;
    /// Discovery.
    pub const DISCOVERY: u8 = 0x70;
    /// Sanitize Status.
    pub const SANITIZE_STATUS: u8 = 0x81;
}

/// Most namespaces of the changed namespace list; one more, and it says only that many have
/// changed.
pub const CHANGED_NAMESPACES_MAX: usize = 1024;

/// Supported Log Pages: one dword per page; bit 0 says that it is supported.
pub fn supported_pages(pages: &[u8]) -> Vec<u8> {
    let mut log = vec![0; 1024];
    pages.iter().for_each(|page| log[usize::from(*page) * 4] = 1);
    log
}

#[cfg(test)]
mod tests;
