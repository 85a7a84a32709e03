//! Sanitize Status (Base 2.1, section 5.1.12.1.33).

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The page.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct SanitizeStatusLog {
    /// SPROG: how much is done, of 65,536; FFFFh where none goes on.
    pub progress: U16,
    /// SSTAT: see [`sanitize_status`].
    pub status: U16,
    /// SCDW10: command dword 10 of the last one.
    pub command: U32,
    /// ETO, ETBE, ETCE, and ETOND, ETBEND, ETCEND: seconds that an overwrite, a block erase and a
    /// cryptographic erase take, the latter three where blocks stay allocated.
    pub estimates: [U32; 6],
    /// ETPVDS.
    pub estimate_verification: U32,
    /// SSI.
    pub state: u8,
    /// Reserved.
    pub reserved: [u8; 475],
}

const _: () = assert!(size_of::<SanitizeStatusLog>() == 512);

/// SPROG where none goes on.
pub const NO_SANITIZE_PROGRESS: u16 = u16::MAX;
/// Nobody can say how long it takes.
pub const NO_ESTIMATE: u32 = u32::MAX;

/// Values of SSTAT's bits 2:0.
pub mod sanitize_status {
    /// There was none.
    pub const NEVER: u16 = 0;
    /// The last one is done.
    pub const DONE: u16 = 1;
    /// One goes on.
    pub const UNDER_WAY: u16 = 2;
    /// The last one has failed.
    pub const FAILED: u16 = 3;
}
