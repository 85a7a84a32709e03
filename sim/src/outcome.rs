//! What has happened in a seed, or in many.

use std::ops::AddAssign;

use ashlar_raid::Failure;
use ashlar_store::{Activity, DriveCondition, DriveStatus};

use crate::fault::ByFault;
use crate::platter::CorruptionCounts;

/// How often a long run has to have met each fault.
const FAULTS_MIN: u64 = 100;

/// Counts of what the runs of a seed have met.
#[derive(Clone, Copy, Default, Debug)]
pub struct Outcome {
    /// Power cuts while hosts were at work, and the starts that followed.
    pub work_cuts: u64,
    /// Power cuts during recovery.
    pub recovery_cuts: u64,
    /// Power cuts while a pool was being made.
    pub creation_cuts: u64,
    /// Those of the cuts at work that came while upkeep did each of [`Activity::ALL`].
    pub cuts_during: [u64; Activity::ALL.len()],
    /// Those of pools that are full or nearly so.
    pub cuts_of_full: u64,
    /// Starts that were closed in order.
    pub clean_stops: u64,
    /// Starts at which the pool was not opened, because a file system was full on the way, or
    /// drives did not answer.
    pub given_up_opens: u64,
    /// Starts without one drive more than the level survives that were refused.
    pub overdrawn_refusals: u64,
    /// Those that were not, because nothing was missing.
    pub overdrawn_opens: u64,
    /// Acknowledged writes and trims.
    pub acknowledged: u64,
    /// Writes and trims that were refused for want of space.
    pub refused: u64,
    /// Times that a full pool was trimmed and filled again.
    pub filled_again: u64,
    /// Volumes that were made larger or smaller.
    pub resized: u64,
    /// Batches that were replayed.
    pub replayed: u64,
    /// Torn batches that were dropped.
    pub torn: u64,
    /// Batches that were written anew.
    pub rewritten: u64,
    /// Segments that garbage collection emptied.
    pub collected: u64,
    /// Fragments that were compressed anew when they were moved.
    pub recompressed: u64,
    /// Dictionaries that were made for volumes.
    pub dictionaries: u64,
    /// Sweeps of the map, after which segment numbers came back.
    pub sweeps: u64,
    /// Times that hosts were quiet for so long that a sweep ended.
    pub idle_sweeps: u64,
    /// Drives that starts were without in the end, summed.
    pub drives_lost: u64,
    /// Drives that were added.
    pub drives_added: u64,
    /// Drives that came back, and columns that they had as they should be.
    pub drives_returned: u64,
    pub columns_kept: u64,
    /// Starts at whose end a drive was no member any more.
    pub drives_removed: u64,
    /// Columns of segments that were restored on other drives.
    pub columns_restored: u64,
    /// Columns of segments that went to other drives for a rebalance.
    pub columns_moved: u64,
    /// Drives that were given up for too many faults.
    pub drives_faulty: u64,
    /// Those that were given up for their silence.
    pub drives_silent: u64,
    /// Drives that had been bad, and of which a start has healed.
    pub drives_healed: u64,
    /// Sectors that were wrong or could not be read, and were written anew.
    pub sectors_repaired: u64,
    /// Wrong bytes that were corrected.
    pub corrupt_reads_corrected: u64,
    /// Times that a pool was scrubbed until nothing was found, and nothing was wrong where anything
    /// lives.
    pub scrubbed: u64,
    /// Sectors that were corrupt before that where something lived.
    pub corrupt_alive: u64,
    /// What became of sectors that drives corrupted.
    pub corruption: CorruptionCounts,
    /// Those that were left in pools that were not scrubbed to the end.
    pub corrupt_unsought: u64,
    /// What drives did.
    pub faults: ByFault,
}

impl Outcome {
    /// Power cuts: states that the store had to recover from, and did.
    pub fn crash_states(&self) -> u64 {
        self.work_cuts + self.recovery_cuts + self.creation_cuts
    }

    /// The power was cut while upkeep did this.
    pub fn note_cut(&mut self, during: Activity) {
        let nth = Activity::ALL.iter().position(|activity| *activity == during);
        nth.into_iter().for_each(|nth| self.cuts_during[nth] += 1);
    }

    /// Notes what drives were given up for.
    pub fn note_failures(&mut self, drives: &[DriveStatus]) {
        for drive in drives {
            match drive.condition {
                DriveCondition::Failed(Failure::TooManyFaults { .. }) => self.drives_faulty += 1,
                DriveCondition::Failed(Failure::Silent { .. }) => self.drives_silent += 1,
                _ => {}
            }
        }
    }

    /// How often the power was cut while upkeep did what.
    pub fn cuts_by_activity(&self) -> impl Iterator<Item = (Activity, u64)> {
        Activity::ALL.into_iter().zip(self.cuts_during)
    }

    /// What a long run has to have met, and has not met often enough: then it shows less than it
    /// should.
    pub fn lacks(&self, crashes: bool) -> Vec<String> {
        let few = |what: &str, times: u64, wanted: u64| {
            (times < wanted).then(|| format!("{what}: {times} times, not {wanted}"))
        };
        // These hardly have anything to do with drives themselves.
        let is_brief = |activity| {
            use Activity::{Audit, Purge, Sweep, Verify};
            matches!(activity, Sweep | Purge | Audit | Verify)
        };
        let during = self.cuts_by_activity().filter(|(activity, _)| !is_brief(*activity));
        let cut_in =
            |(activity, cuts): (Activity, u64)| few(&format!("a cut during {activity:?}"), cuts, 1);
        let mut lacks: Vec<String> = during.filter_map(cut_in).collect();
        if !crashes {
            lacks.extend(few(
                "a full pool that is trimmed and filled again",
                self.filled_again,
                500,
            ));
            lacks.extend(few("a cut of a full pool", self.cuts_of_full, 1));
        }
        let faults = self.faults.iter();
        lacks.extend(
            faults.filter_map(|(fault, times)| few(&format!("a {fault:?}"), times, FAULTS_MIN)),
        );
        let once = self.needed_once().into_iter();
        lacks.extend(once.filter_map(|(what, times)| few(what, times, 1)));
        lacks
    }

    /// What a long run has to have met at least once, and how often it has.
    fn needed_once(&self) -> [(&'static str, u64); 22] {
        [
            ("a cut in recovery", self.recovery_cuts),
            ("a cut in creation", self.creation_cuts),
            ("a drive too many away", self.overdrawn_refusals),
            ("a drive that was lost", self.drives_lost),
            ("a drive that was given up for its faults", self.drives_faulty),
            ("a drive that was given up for its silence", self.drives_silent),
            ("a drive that healed", self.drives_healed),
            ("a drive that came back", self.drives_returned),
            ("a drive that was added", self.drives_added),
            ("a drive that was removed", self.drives_removed),
            ("a column that was restored", self.columns_restored),
            ("a column that was moved for a rebalance", self.columns_moved),
            ("a fragment that was compressed anew", self.recompressed),
            ("a dictionary that was made", self.dictionaries),
            ("a sweep while hosts were quiet", self.idle_sweeps),
            ("a torn batch", self.torn),
            ("a corrupt read that was corrected", self.corrupt_reads_corrected),
            ("a sector that was repaired", self.sectors_repaired),
            ("a corrupt sector that was read", self.corruption.met),
            ("a corrupt sector that was repaired in place", self.corruption.repaired),
            ("a corrupt sector that was overwritten", self.corruption.overwritten),
            ("a corrupt sector that a scrub had to find", self.corrupt_alive),
        ]
    }
}

impl AddAssign for Outcome {
    fn add_assign(&mut self, other: Outcome) {
        self.work_cuts += other.work_cuts;
        self.recovery_cuts += other.recovery_cuts;
        self.creation_cuts += other.creation_cuts;
        self.cuts_during.iter_mut().zip(other.cuts_during).for_each(|(all, more)| *all += more);
        self.cuts_of_full += other.cuts_of_full;
        self.clean_stops += other.clean_stops;
        self.given_up_opens += other.given_up_opens;
        self.overdrawn_refusals += other.overdrawn_refusals;
        self.overdrawn_opens += other.overdrawn_opens;
        self.acknowledged += other.acknowledged;
        self.refused += other.refused;
        self.filled_again += other.filled_again;
        self.resized += other.resized;
        self.replayed += other.replayed;
        self.torn += other.torn;
        self.rewritten += other.rewritten;
        self.collected += other.collected;
        self.recompressed += other.recompressed;
        self.dictionaries += other.dictionaries;
        self.sweeps += other.sweeps;
        self.idle_sweeps += other.idle_sweeps;
        self.drives_lost += other.drives_lost;
        self.drives_added += other.drives_added;
        self.drives_returned += other.drives_returned;
        self.columns_kept += other.columns_kept;
        self.drives_removed += other.drives_removed;
        self.columns_restored += other.columns_restored;
        self.columns_moved += other.columns_moved;
        self.drives_faulty += other.drives_faulty;
        self.drives_silent += other.drives_silent;
        self.drives_healed += other.drives_healed;
        self.sectors_repaired += other.sectors_repaired;
        self.corrupt_reads_corrected += other.corrupt_reads_corrected;
        self.scrubbed += other.scrubbed;
        self.corrupt_alive += other.corrupt_alive;
        self.corruption += other.corruption;
        self.corrupt_unsought += other.corrupt_unsought;
        self.faults += other.faults;
    }
}
