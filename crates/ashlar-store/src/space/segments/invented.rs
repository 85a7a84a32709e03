//! Segments that hold nothing, so that a pool can be measured that is larger than anybody writes
//! for a measurement. Nothing names what their counts say lives in them.

use ashlar_block::{DriveId, XorShift};
use ashlar_format::ids::Lsn;
use ashlar_format::location::{SLOTS_PER_SECTOR, SegmentId};
use ashlar_format::table::{Occupancy, SegmentState};

use super::{Segments, Shape};

impl Segments {
    /// Adds so many sealed segments on `drives`, of each of which some half lives. Returns their
    /// numbers.
    pub fn invent(&mut self, count: usize, drives: &[DriveId], lsn: Lsn) -> Vec<SegmentId> {
        let wanted = self.usable_striped() as usize + count;
        let invented = self.form_window(Shape::Striped, wanted, drives, lsn);
        let rows = self.summary.segment_rows();
        let mut chance = XorShift::new(1);
        for id in &invented {
            self.change(*id, |segment| {
                (segment.state, segment.rows, segment.last_lsn) = (SegmentState::Sealed, rows, lsn);
            });
            let data = self.entries[*id].geometry.data() as u64;
            let slots = u64::from(rows) * data * u64::from(SLOTS_PER_SECTOR);
            let live = slots / 4 + chance.below(slots / 2);
            self.add_live(*id, Occupancy { slots: live, fragments: live / 16 });
        }
        invented
    }

    fn add_live(&mut self, id: SegmentId, more: Occupancy) {
        let segment = self.entries.get_mut(id).expect("it was invented");
        let before = segment.rank(self.summary.segment_rows());
        self.changes.count_of(id, segment);
        segment.live += more;
        self.live += more;
        self.summary.live_changed(id, segment, before);
    }
}
