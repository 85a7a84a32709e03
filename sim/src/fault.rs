//! What drives do when they are bad, how often, and how often they did.

use std::ops::AddAssign;

/// A way to misbehave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A write is acknowledged and not done.
    LostWrite,
    /// Writes of a moment are acknowledged and not done; by all drives at the same moments, as far
    /// as they do that as often.
    LostMoment,
    /// A write goes to another place.
    MisdirectedWrite,
    /// A bit of what is read has changed, for good.
    Rot,
    /// A read is refused.
    ReadError,
    /// Sectors cannot be read until they are written again.
    BadSectors,
    /// A write is refused.
    WriteError,
    /// A flush is refused; the next one "succeeds". What the first was for can be read until the
    /// power is cut, and is lost then.
    FlushError,
    /// Everything is refused for a while, then the drive is as if nothing had been.
    Glitch,
    /// The drive vanishes.
    Vanish,
    /// The drive answers nothing for minutes, then goes on as if nothing had been.
    Hang,
    /// An operation takes very long.
    Stall,
    /// Operations that begin in a moment take very long, those of all drives.
    StallMoment,
    /// The file system under the drive is full for a while. Says nothing against the drive.
    NoSpace,
    /// Of a write that the power or an error ended some pieces of 512 bytes are done. Has no rate.
    TornWithinSectors,
    /// Likewise of 4 KiB.
    TornBetweenSectors,
    /// What was done and not flushed is gone with the power, while something later stayed. Has no
    /// rate.
    Reordered,
}

impl Fault {
    /// All of them, in the order of their declaration.
    pub const ALL: [Fault; 17] = [
        Fault::LostWrite,
        Fault::LostMoment,
        Fault::MisdirectedWrite,
        Fault::Rot,
        Fault::ReadError,
        Fault::BadSectors,
        Fault::WriteError,
        Fault::FlushError,
        Fault::Glitch,
        Fault::Vanish,
        Fault::Hang,
        Fault::Stall,
        Fault::StallMoment,
        Fault::NoSpace,
        Fault::TornWithinSectors,
        Fault::TornBetweenSectors,
        Fault::Reordered,
    ];
}

/// A number for each fault.
#[derive(Clone, Copy, Default, Debug)]
pub struct ByFault([u64; Fault::ALL.len()]);

impl ByFault {
    /// The fault's number.
    pub fn of(&self, fault: Fault) -> u64 {
        self.0[fault as usize]
    }

    /// The same, with another number for this fault.
    pub fn with(mut self, fault: Fault, number: u64) -> Self {
        self.0[fault as usize] = number;
        self
    }

    /// One more.
    pub fn count(&mut self, fault: Fault) {
        self.0[fault as usize] += 1;
    }

    /// Each fault with its number.
    pub fn iter(&self) -> impl Iterator<Item = (Fault, u64)> {
        Fault::ALL.into_iter().zip(self.0)
    }
}

impl AddAssign for ByFault {
    fn add_assign(&mut self, other: ByFault) {
        self.0.iter_mut().zip(other.0).for_each(|(all, more)| *all += more);
    }
}
