//! Identifiers, each a type of its own so that they cannot be mixed up.

use std::fmt;

/// Index of a 4 KiB logical block within a volume. (A host that formats a volume with 512-byte
/// sectors has its own addresses; they end at the volume's door.)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Lba(pub u64);

impl Lba {
    /// The block that holds the byte at `offset`.
    pub const fn of_byte(offset: u64) -> Self {
        Lba(offset / crate::BLOCK_BYTES as u64)
    }

    /// The block `count` further on.
    pub const fn plus(self, count: u64) -> Self {
        Lba(self.0 + count)
    }
}

impl fmt::Display for Lba {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {}", self.0)
    }
}

/// A volume within its pool. Never reused while the pool exists.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VolumeId(pub u32);

/// A drive within its pool: a small number that stripes and tables use. Never reused while the pool
/// exists.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DriveId(pub u16);

impl fmt::Display for DriveId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "drive {}", self.0)
    }
}

macro_rules! uuid_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; 16]);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                for (index, byte) in self.0.iter().enumerate() {
                    if matches!(index, 4 | 6 | 8 | 10) {
                        f.write_str("-")?;
                    }
                    write!(f, "{byte:02x}")?;
                }
                Ok(())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }
    };
}

uuid_type! {
    /// A pool, for ever: written on every drive of it.
    PoolUuid
}
uuid_type! {
    /// A drive's identity as a member of a pool, drawn when it is taken into the pool.
    DriveUuid
}
uuid_type! {
    /// A volume, for ever: hosts see it as the namespace's UUID.
    VolumeUuid
}
