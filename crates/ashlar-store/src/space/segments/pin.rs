//! Pins: whoever reads a segment keeps its chunks from being reused.

use std::cell::RefCell;
use std::rc::Rc;

use ashlar_format::location::SegmentId;
use ashlar_raid::Geometry;

use super::Segments;

/// Keeps a segment's chunks from being reused.
pub struct Pin {
    segments: Rc<RefCell<Segments>>,
    id: SegmentId,
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut segments = self.segments.borrow_mut();
        let Some(segment) = segments.entries.get_mut(self.id) else { return };
        segment.pins -= 1;
        if segment.pins == 0 && segment.is_empty() {
            segments.emptied.notify_one();
        }
    }
}

/// Pins a segment for as long as the result lives. `None` if it does not exist, or if a checkpoint
/// on its way may be about to free it: nothing lives in it, and nobody else has pinned it. One that
/// was pinned when that checkpoint began, or that somebody has pinned since, is not among those
/// that it frees.
pub fn pin(segments: &Rc<RefCell<Segments>>, id: SegmentId) -> Option<(Pin, Rc<Geometry>)> {
    let mut all = segments.borrow_mut();
    let is_noted = all.is_noted();
    let segment = all.entries.get_mut(id)?;
    if is_noted && segment.pins == 0 && segment.is_empty() {
        return None;
    }
    segment.pins += 1;
    let geometry = segment.geometry.clone();
    Some((Pin { segments: segments.clone(), id }, geometry))
}
