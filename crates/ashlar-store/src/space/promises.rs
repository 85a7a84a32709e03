//! What volumes may be promised.
//!
//! Data compress, so a pool can hold more than it is *provisioned* with: its *formatted* capacity
//! is one to four times that. Volumes together are promised at most what is formatted, unless the
//! pool overcommits.
//!
//! 1. What an operator has set never shrinks by itself: a lost drive makes the factor larger, and
//!    the capacity stays.
//! 2. What is formatted is never less than what is provisioned.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use ashlar_block::{BLOCK_BYTES, ByteSize, IoError, World};
use ashlar_format::catalog::VolumeState;
use ashlar_format::location::SLOT_BYTES;

use crate::pool::Pool;
use crate::space::capacity::Request;

/// Thousandths of what is provisioned: 2,400 is 2.4x.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Factor(u32);

impl Factor {
    /// Once: what is provisioned.
    pub const ONE: Factor = Factor(1000);
    /// The largest that can be formatted.
    pub const MAX: Factor = Factor(4000);

    fn of(self, bytes: u64) -> u64 {
        let times = u128::from(bytes) * u128::from(self.0) / u128::from(Factor::ONE.0);
        times.min(u64::MAX.into()) as u64
    }

    /// As a number: 2.4.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(Factor::ONE.0)
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / Factor::ONE.0, self.0 % Factor::ONE.0);
        let part = format!("{part:03}");
        let part = part.trim_end_matches('0');
        write!(f, "{whole}.{}x", if part.is_empty() { "0" } else { part })
    }
}

/// Text that is no factor.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("'{0}' is not a factor: write one as 2.4x, with at most three digits after the point")]
pub struct ParseFactorError(String);

impl FromStr for Factor {
    type Err = ParseFactorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || ParseFactorError(text.to_owned());
        let number = text.strip_suffix(['x', 'X']).ok_or_else(refused)?;
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        let are_digits =
            |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
        if !are_digits(whole) || !are_digits(part) || part.len() > 3 {
            return Err(refused());
        }
        let whole: u32 = whole.parse().map_err(|_| refused())?;
        let part: u32 = format!("{part:0<3}").parse().map_err(|_| refused())?;
        let thousandths = whole.checked_mul(Factor::ONE.0).and_then(|it| it.checked_add(part));
        thousandths.map(Factor).ok_or_else(refused)
    }
}

/// How much a pool holds, and how much of it is promised, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Capacity {
    /// What may live: without redundancy, over-provisioning and reserve.
    pub provisioned: u64,
    /// What an operator has set, if anybody has.
    pub set: Option<NonZeroU64>,
    /// The sizes of all volumes.
    pub promised: u64,
    /// Volumes may be promised more than is formatted.
    pub overcommits: bool,
    /// What is safe to be formatted, if what comes compresses as what is there.
    pub safe: u64,
}

/// What somebody wants to be formatted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WantedCapacity {
    /// So many times what is provisioned.
    Times(Factor),
    /// So many bytes.
    Bytes(u64),
}

/// Why the formatted capacity of a pool stays as it is.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CapacityError {
    /// Less than is provisioned.
    #[error(
        "{wanted} are less than the {provisioned} that the pool is provisioned with: 1.0x is the \
         least"
    )]
    BelowProvisioned {
        /// What was asked for.
        wanted: ByteSize,
        /// See [`Capacity::provisioned`].
        provisioned: ByteSize,
    },
    /// More than four times what is provisioned.
    #[error(
        "{wanted} are more than {}, which is {} of the {provisioned} that the pool is provisioned \
         with: add drives, or choose less",
        ByteSize(Factor::MAX.of(provisioned.0)),
        Factor::MAX
    )]
    AboveMax {
        /// What was asked for.
        wanted: ByteSize,
        /// See [`Capacity::provisioned`].
        provisioned: ByteSize,
    },
    /// Less than volumes are promised.
    #[error(
        "{wanted} are less than the {promised} that volumes are promised, of {formatted} that are \
         formatted: delete volumes or make them smaller, or let the pool overcommit (`ashlar pool \
         set POOL overcommit=on`)"
    )]
    BelowPromised {
        /// What was asked for.
        wanted: ByteSize,
        /// See [`Capacity::promised`].
        promised: ByteSize,
        /// See [`Capacity::formatted`].
        formatted: ByteSize,
    },
    /// More than what is stored compresses to: it takes consent.
    #[error(
        "{wanted} are more than the {safe} that fit if data go on to compress as what is stored \
         ({}): the pool may be full before volumes are. Add `--force` to consent",
        of_provisioned(*safe, *provisioned)
    )]
    Unsafe {
        /// What was asked for.
        wanted: ByteSize,
        /// See [`Capacity::safe`].
        safe: ByteSize,
        /// See [`Capacity::provisioned`].
        provisioned: ByteSize,
    },
    /// The pool takes no writes, or has no room for a change.
    #[error("{0}")]
    Pool(#[from] IoError),
}

/// Volumes would be promised more than is formatted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{more} more cannot be promised: volumes have {promised} of the {formatted} that are formatted, \
     and the pool is provisioned with {provisioned}. `ashlar pool set-capacity POOL 2x` formats \
     more, up to {}; `ashlar pool set POOL overcommit=on` lifts the bound",
    Factor::MAX
)]
pub struct OverPromised {
    /// What was asked for.
    pub more: ByteSize,
    /// See [`Capacity::promised`].
    pub promised: ByteSize,
    /// See [`Capacity::formatted`].
    pub formatted: ByteSize,
    /// See [`Capacity::provisioned`].
    pub provisioned: ByteSize,
}

impl Capacity {
    /// What volumes may be promised without overcommitting.
    pub fn formatted(&self) -> u64 {
        self.set.map_or(0, NonZeroU64::get).max(self.provisioned)
    }

    /// How many times what is provisioned that is.
    pub fn factor(&self) -> Factor {
        of_provisioned(ByteSize(self.formatted()), ByteSize(self.provisioned))
    }

    /// Refuses to promise volumes `more` bytes than they have been.
    ///
    /// # Errors
    /// [`OverPromised`].
    pub fn promise(&self, more: u64) -> Result<(), OverPromised> {
        let promised = self.promised.checked_add(more);
        // A pool may have promised more before; what asks for none is no matter of that.
        if more == 0
            || self.overcommits
            || promised.is_some_and(|promised| promised <= self.formatted())
        {
            return Ok(());
        }
        Err(OverPromised {
            more: ByteSize(more),
            promised: ByteSize(self.promised),
            formatted: ByteSize(self.formatted()),
            provisioned: ByteSize(self.provisioned),
        })
    }

    /// The bytes that are to be formatted. With `is_forced` more than what is safe.
    fn check(&self, wanted: WantedCapacity, is_forced: bool) -> Result<u64, CapacityError> {
        let bytes = match wanted {
            WantedCapacity::Times(factor) => factor.of(self.provisioned),
            WantedCapacity::Bytes(bytes) => bytes,
        };
        let (wanted, provisioned) = (ByteSize(bytes), ByteSize(self.provisioned));
        if bytes < self.provisioned {
            Err(CapacityError::BelowProvisioned { wanted, provisioned })
        } else if bytes > Factor::MAX.of(self.provisioned) {
            Err(CapacityError::AboveMax { wanted, provisioned })
        } else if bytes < self.promised && !self.overcommits {
            let (promised, formatted) = (ByteSize(self.promised), ByteSize(self.formatted()));
            Err(CapacityError::BelowPromised { wanted, promised, formatted })
        } else if bytes > self.safe && bytes > self.formatted() && !is_forced {
            Err(CapacityError::Unsafe { wanted, safe: ByteSize(self.safe), provisioned })
        } else {
            Ok(bytes)
        }
    }
}

fn of_provisioned(bytes: ByteSize, provisioned: ByteSize) -> Factor {
    let times = u128::from(bytes.0) * u128::from(Factor::ONE.0);
    let times = times.checked_div(provisioned.0.into());
    times.map_or(Factor::ONE, |times| Factor(u32::try_from(times).unwrap_or(u32::MAX)))
}

/// What is safe to be formatted, if what comes compresses as what is there: `stored` bytes, of
/// `written` ones. Of an empty pool nothing is known but that noise fits.
fn safe(provisioned: u64, written: u64, stored: u64) -> u64 {
    let scaled = u128::from(provisioned) * u128::from(written);
    let by_ratio = scaled.checked_div(stored.into()).unwrap_or(0).min(u64::MAX.into()) as u64;
    by_ratio.clamp(provisioned, Factor::MAX.of(provisioned))
}

impl<W: World> Pool<W> {
    /// How much the pool holds, and how much of it is promised.
    pub fn capacity(&self) -> Capacity {
        let provisioned = self.limit_on(&self.allocation_targets());
        let usage = self.space.ledger.total();
        let catalog = self.catalog.borrow();
        let live = catalog.volumes.values().filter(|volume| volume.state == VolumeState::Live);
        let blocks = live.fold(0_u64, |sum, volume| sum.saturating_add(volume.blocks));
        let [written, stored] =
            [usage.blocks * BLOCK_BYTES as u64, usage.slots * SLOT_BYTES as u64];
        Capacity {
            provisioned,
            set: catalog.formatted_bytes,
            promised: blocks.saturating_mul(BLOCK_BYTES as u64),
            overcommits: catalog.settings.overcommit,
            safe: safe(provisioned, written, stored),
        }
    }

    /// Formats more or less of the pool. Durable when it returns.
    ///
    /// # Errors
    /// [`CapacityError`]; the capacity is as it was.
    pub async fn set_capacity(
        &self,
        wanted: WantedCapacity,
        is_forced: bool,
    ) -> Result<(), CapacityError> {
        self.halt.check()?;
        // Nothing is provisioned by too few drives.
        self.enough_drives()?;
        self.admit_request(Request::Change)?;
        let bytes = self.capacity().check(wanted, is_forced)?;
        let before = self.catalog.borrow().formatted_bytes;
        self.catalog.borrow_mut().formatted_bytes = NonZeroU64::new(bytes);
        self.checkpoint_now().await.inspect_err(|_| {
            self.catalog.borrow_mut().formatted_bytes = before;
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
