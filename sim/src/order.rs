//! In which order a host writes: anywhere, on from where it was, back from there, or the same
//! again.

use std::ops::Range;

use ashlar_block::VolumeId;

use crate::coverage::Issued;
use crate::hosts::Run;
use crate::start::Pool;

/// A host takes another order once in so many writes.
const CHANGES_ONCE_IN: u64 = 6;

/// Blocks of a write that fills a volume.
const FILL_BLOCKS: u64 = 256;

/// How a write lies to the one that its host has issued before.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Order {
    #[default]
    Random,
    /// It begins where that one ends.
    Ascending,
    /// It ends where that one begins.
    Descending,
    /// It begins with the same block.
    Again,
}

impl Order {
    fn of(before: &Range<u64>, next: &Range<u64>) -> Self {
        match before {
            before if before.start == next.start => Order::Again,
            before if before.end == next.start => Order::Ascending,
            before if before.start == next.end => Order::Descending,
            _ => Order::Random,
        }
    }

    /// At most `count` blocks that follow `before` in this order. `None`: there are none `within`
    /// these, or they may be any.
    fn next(self, before: &Range<u64>, count: u64, within: &Range<u64>) -> Option<Range<u64>> {
        let next = match self {
            Order::Random => return None,
            Order::Ascending => before.end..before.end + count,
            Order::Descending => before.start.saturating_sub(count)..before.start,
            Order::Again => before.clone(),
        };
        let next = next.start.max(within.start)..next.end.min(within.end);
        (next.start < next.end).then_some(next)
    }
}

/// What a host has issued last, and the order that it keeps for a while.
#[derive(Default)]
pub struct Course {
    last: Option<(VolumeId, Range<u64>)>,
    order: Order,
}

impl Course {
    /// The host issues a write, beside which so many commands are outstanding with it.
    pub fn issue(&mut self, id: VolumeId, blocks: &Range<u64>, outstanding: u64) -> Issued {
        let before = self.last.replace((id, blocks.clone())).filter(|(before, _)| *before == id);
        let order = before.map_or(Order::Random, |(_, before)| Order::of(&before, blocks));
        Issued { outstanding, order }
    }
}

impl Run {
    /// Writes a volume from its start to its end, in writes that are larger than an atomic one.
    pub async fn fill_volume(&self, pool: &Pool, id: VolumeId) -> Result<(), String> {
        let (mut first, mut course) = (0, Course::default());
        while first < self.known.model(id, |model| model.usable_blocks()) && pool.halted().is_none()
        {
            let usable = self.known.model(id, |model| model.usable_blocks());
            let end = (first + FILL_BLOCKS).min(usable);
            self.write_blocks(pool, id, first..end, &mut course).await?;
            first = end;
        }
        Ok(())
    }

    /// Where a host goes on that keeps an order, if there is room.
    pub fn next_in_order(&self, course: &mut Course, count: u64) -> Option<(VolumeId, Range<u64>)> {
        if !self.plan.in_order {
            return None;
        }
        if self.world.once_in(CHANGES_ONCE_IN) {
            let orders = [Order::Random, Order::Ascending, Order::Descending, Order::Again];
            course.order = orders[self.world.below(orders.len() as u64) as usize];
        }
        let (id, before) = course.last.as_ref()?;
        let island =
            self.plan.volume.islands.iter().find(|island| island.contains(&before.start))?;
        let usable = self.known.model(*id, |model| model.usable_blocks());
        let next = course.order.next(before, count, &(island.start..island.end.min(usable)))?;
        Some((*id, next))
    }
}

#[cfg(test)]
mod tests;
