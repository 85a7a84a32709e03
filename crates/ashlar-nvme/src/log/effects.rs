use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Commands Supported and Effects.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct EffectsLog {
    /// One entry per admin opcode.
    pub admin: [U32; 256],
    /// One entry per I/O opcode.
    pub io: [U32; 256],
    /// Reserved.
    pub reserved: [u8; 2048],
}

const _: () = assert!(size_of::<EffectsLog>() == 4096);

/// What a command may change: bits of an entry.
pub mod command_effects {
    /// CSUPP: supported.
    pub const SUPPORTED: u32 = 1 << 0;
    /// LBCC: logical blocks' content.
    pub const BLOCK_CONTENT: u32 = 1 << 1;
    /// NCC: a namespace's capabilities.
    pub const NAMESPACE_CAPABILITY: u32 = 1 << 2;
    /// CSE 1: no other command to that namespace meanwhile.
    pub const EXCLUSIVE_IN_NAMESPACE: u32 = 1 << 16;
    /// CSE 2: no other command to any namespace meanwhile.
    pub const EXCLUSIVE_IN_SUBSYSTEM: u32 = 2 << 16;
    /// CSP: it concerns a namespace.
    pub const SCOPE_NAMESPACE: u32 = 1 << 20;
    /// CSP: it concerns the controller.
    pub const SCOPE_CONTROLLER: u32 = 1 << 21;
    /// CSP: it concerns the subsystem.
    pub const SCOPE_SUBSYSTEM: u32 = 1 << 25;
}

/// Bits of an entry of Feature Identifiers Supported and Effects.
pub mod feature_effects {
    /// FSUPP: supported.
    pub const SUPPORTED: u32 = 1 << 0;
    /// NCC: it may change a namespace's capabilities.
    pub const NAMESPACE_CAPABILITY: u32 = 1 << 2;
    /// FSP: it concerns a namespace.
    pub const SCOPE_NAMESPACE: u32 = 1 << 20;
    /// FSP: it concerns the controller.
    pub const SCOPE_CONTROLLER: u32 = 1 << 21;
}

/// An opcode (or feature identifier) and its entry.
pub type CommandEffects = (u8, u32);

impl EffectsLog {
    /// The log of these commands; all others are not supported.
    pub fn new(admin: &[CommandEffects], io: &[CommandEffects]) -> Self {
        let mut log: EffectsLog = zerocopy::FromZeros::new_zeroed();
        admin
            .iter()
            .for_each(|(opcode, effects)| log.admin[usize::from(*opcode)] = (*effects).into());
        io.iter().for_each(|(opcode, effects)| log.io[usize::from(*opcode)] = (*effects).into());
        log
    }
}
