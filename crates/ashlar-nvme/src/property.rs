//! Controller properties (Base 2.1, section 3.1.4), as Fabrics has them.

/// Version 2.1.0.
pub const VERSION_2_1: u32 = 0x0002_0100;

/// Offsets.
pub mod offset {
    /// Controller Capabilities, 8 bytes.
    pub const CAP: u32 = 0x00;
    /// Version, 4 bytes.
    pub const VS: u32 = 0x08;
    /// Controller Configuration, 4 bytes.
    pub const CC: u32 = 0x14;
    /// Controller Status, 4 bytes.
    pub const CSTS: u32 = 0x1c;
    /// Controller Ready Timeouts, 4 bytes.
    pub const CRTO: u32 = 0x68;
}

/// CAP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capabilities {
    /// MQES, 0's based: one less than the entries of the longest I/O queue.
    pub max_queue_entries: u16,
    /// TO: longest time to become ready, in units of 500 ms.
    pub timeout_500ms: u8,
    /// CSS.NCSS and CSS.IOCSS: the NVM command set, found by Identify. Off for discovery
    /// controllers.
    pub io_command_sets: bool,
}

impl Capabilities {
    const CQR: u64 = 1 << 16;
    const CSS_NVM: u64 = 1 << 37;
    const CSS_IO_SETS: u64 = 1 << 43;
    const CSS_ADMIN_ONLY: u64 = 1 << 44;
    const CRMS_WITH_MEDIA: u64 = 1 << 59;

    /// As the property has it. Pages are 4 KiB, doorbells are unused, ready means ready for
    /// everything.
    pub const fn bits(self) -> u64 {
        let sets = if self.io_command_sets {
            Self::CSS_NVM | Self::CSS_IO_SETS
        } else {
            Self::CSS_ADMIN_ONLY
        };
        self.max_queue_entries as u64
            | Self::CQR
            | (self.timeout_500ms as u64) << 24
            | sets
            | Self::CRMS_WITH_MEDIA
    }

    /// From the property.
    pub const fn from_bits(bits: u64) -> Self {
        Capabilities {
            max_queue_entries: bits as u16,
            timeout_500ms: (bits >> 24) as u8,
            io_command_sets: bits & (Self::CSS_NVM | Self::CSS_IO_SETS) != 0,
        }
    }
}

/// CC.SHN: what kind of shutdown is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShutdownRequest {
    /// None.
    None,
    /// Normal.
    Normal,
    /// Abrupt.
    Abrupt,
}

/// CC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Configuration(pub u32);

impl Configuration {
    /// EN.
    pub const fn enabled(self) -> bool {
        self.0 & 1 != 0
    }

    /// CSS: 0 the NVM command set, 6 all I/O command sets that CAP speaks of, 7 admin commands
    /// only.
    pub const fn command_sets(self) -> u8 {
        (self.0 >> 4 & 7) as u8
    }

    /// MPS: pages of 2^(12+n) bytes.
    pub const fn page_size_exponent(self) -> u8 {
        (self.0 >> 7 & 15) as u8
    }

    /// AMS: 0 is round robin.
    pub const fn arbitration(self) -> u8 {
        (self.0 >> 11 & 7) as u8
    }

    /// SHN.
    pub const fn shutdown(self) -> ShutdownRequest {
        match self.0 >> 14 & 3 {
            1 => ShutdownRequest::Normal,
            2 => ShutdownRequest::Abrupt,
            _ => ShutdownRequest::None,
        }
    }

    /// IOSQES: SQEs of 2^n bytes.
    pub const fn sqe_size_exponent(self) -> u8 {
        (self.0 >> 16 & 15) as u8
    }

    /// IOCQES: CQEs of 2^n bytes.
    pub const fn cqe_size_exponent(self) -> u8 {
        (self.0 >> 20 & 15) as u8
    }

    /// What a host sets to enable a controller: NVM command set, 4 KiB pages, 64-byte SQEs, 16-byte
    /// CQEs.
    pub const fn enable() -> Self {
        Configuration(1 | 6 << 16 | 4 << 20)
    }

    /// The same with a normal shutdown asked for.
    pub const fn with_shutdown(self) -> Self {
        Configuration(self.0 & !(3 << 14) | 1 << 14)
    }
}

/// CSTS.SHST.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ShutdownState {
    /// No shutdown.
    #[default]
    Normal = 0,
    /// Under way.
    Occurring = 1,
    /// Done.
    Complete = 2,
}

/// CSTS.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ControllerStatus {
    /// RDY.
    pub ready: bool,
    /// CFS: the controller has failed and wants a reset.
    pub fatal: bool,
    /// SHST.
    pub shutdown: ShutdownState,
}

impl ControllerStatus {
    /// As the property has it.
    pub const fn bits(self) -> u32 {
        self.ready as u32 | (self.fatal as u32) << 1 | (self.shutdown as u32) << 2
    }

    /// From the property.
    pub const fn from_bits(bits: u32) -> Self {
        ControllerStatus {
            ready: bits & 1 != 0,
            fatal: bits & 2 != 0,
            shutdown: match bits >> 2 & 3 {
                1 => ShutdownState::Occurring,
                2 => ShutdownState::Complete,
                _ => ShutdownState::Normal,
            },
        }
    }
}

#[cfg(test)]
mod tests;
