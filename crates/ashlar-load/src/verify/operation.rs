//! What one step of the workload does.

use ashlar_block::XorShift;

use super::report::Mix;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    Read,
    Write,
    Deallocate,
    WriteZeroes,
    CompareAndWrite,
    Flush,
}

impl Operation {
    pub(super) fn name(self) -> &'static str {
        match self {
            Operation::Read => "reading",
            Operation::Write => "writing",
            Operation::Deallocate => "deallocation",
            Operation::WriteZeroes => "writing zeroes",
            Operation::CompareAndWrite => "comparing and writing",
            Operation::Flush => "flushing",
        }
    }

    /// Blocks that it may have, where a transfer has `transfer_max` at most.
    pub(super) fn blocks_max(self, transfer_max: u64) -> u64 {
        match self {
            Operation::Flush => 0,
            Operation::CompareAndWrite => 1,
            _ => transfer_max,
        }
    }
}

/// The next operation of a mix; a read if it has none.
pub(super) fn choose(mix: Mix, random: &mut XorShift) -> Operation {
    let trim = if random.below(2) == 0 { Operation::Deallocate } else { Operation::WriteZeroes };
    let shares = [
        (Operation::Read, mix.read),
        (Operation::Write, mix.write),
        (trim, mix.trim),
        (Operation::CompareAndWrite, mix.compare_and_write),
        (Operation::Flush, mix.flush),
    ];
    let total: u32 = shares.iter().map(|(_, share)| share).sum();
    let mut choice = random.below(u64::from(total).max(1)) as u32;
    for (operation, share) in shares {
        if choice < share {
            return operation;
        }
        choice -= share;
    }
    Operation::Read
}
