//! What is known of each place where a drive may be. No file is touched here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ashlar_block::{DriveId, DriveUuid, PoolUuid};
use ashlar_drive::{DeviceNumber, DriveMark, Unread};
use ashlar_store::OPEN_ANSWER_MAX;
use ashlar_store::format::superblock::Superblock;

/// Labels that are read at a time. One that has not come for [`OPEN_ANSWER_MAX`] does not count.
const READS_MAX: usize = 32;
/// Reads that never end, at most: after so many no further label is read.
const HUNG_MAX: usize = 256;
/// How long a label usually takes, at most.
pub const QUICK_MAX: Duration = Duration::from_secs(1);

/// Where a drive may be.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// A block device.
    Device(DeviceNumber),
    /// A file.
    File(PathBuf),
}

/// What a drive says that it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label {
    /// Its pool.
    pub pool: PoolUuid,
    /// Its number there.
    pub drive: DriveId,
    /// Its identity there.
    pub uuid: DriveUuid,
}

impl Label {
    /// What a superblock says.
    pub fn of(superblock: &Superblock) -> Self {
        Label { pool: superblock.pool, drive: superblock.drive, uuid: superblock.drive_uuid }
    }
}

/// What a drive holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Content {
    /// A label.
    Label(Label),
    /// Something else, or nothing.
    Foreign,
    /// It cannot be read.
    Failed(String),
}

/// What is known of a drive's label.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Known {
    /// It is to be read.
    Unread,
    /// It is being read, since then.
    Reading(Instant),
    /// It is being read, and has not come for too long.
    Hung,
    /// It was read.
    Read(Content),
    /// It is not read.
    LeftAlone(Unread),
}

/// A drive, and what is known of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Changes when the drive does.
    pub mark: DriveMark,
    /// How it is opened.
    pub path: PathBuf,
    /// What the kernel calls it.
    pub kernel: Option<String>,
    /// Its label.
    pub known: Known,
    /// What its label said before it changed, until it is read again.
    pub last: Option<Label>,
}

/// All drives that are there.
#[derive(Debug, Default)]
pub struct Table {
    pub entries: BTreeMap<Place, Entry>,
    /// Reads of drives that have gone or changed meanwhile, and that have not ended.
    orphans: usize,
}

impl Table {
    /// A drive is there. Its label is read, unless it was there before and has not changed.
    pub fn see(&mut self, place: Place, mut entry: Entry) {
        if let Some(known) = self.entries.get(&place) {
            if known.mark == entry.mark && same_reason(&known.known, &entry.known) {
                return;
            }
            entry.last = known.label().filter(|_| known.mark.is_same_drive(&entry.mark)).copied();
        }
        self.forget(&place);
        self.entries.insert(place, entry);
    }

    /// Of the places that `are_meant` only these are there.
    pub fn keep(&mut self, are_meant: impl Fn(&Place) -> bool, there: &BTreeSet<Place>) {
        let gone = self.entries.keys().filter(|place| are_meant(place) && !there.contains(place));
        let gone: Vec<Place> = gone.cloned().collect();
        gone.iter().for_each(|place| self.forget(place));
    }

    fn forget(&mut self, place: &Place) {
        if let Some(Entry { known: Known::Reading(_) | Known::Hung, .. }) =
            self.entries.remove(place)
        {
            self.orphans += 1;
        }
    }

    /// Labels may have been written: those that were read and are `meant` are read again.
    pub fn read_again(&mut self, are_meant: impl Fn(&Place, &Content) -> bool) {
        for (place, entry) in &mut self.entries {
            if matches!(&entry.known, Known::Read(content) if are_meant(place, content)) {
                (entry.last, entry.known) = (entry.label().copied(), Known::Unread);
            }
        }
    }

    /// The drives whose labels are to be read now: they are being read from then on.
    pub fn begin_reads(&mut self, now: Instant) -> Vec<(Place, DriveMark, PathBuf)> {
        self.give_up_hung(now);
        let count =
            |is: fn(&Known) -> bool| self.entries.values().filter(|entry| is(&entry.known)).count();
        let under_way = count(|known| matches!(known, Known::Reading(_)));
        let hung = self.orphans + count(|known| *known == Known::Hung);
        let room = if hung >= HUNG_MAX { 0 } else { READS_MAX.saturating_sub(under_way) };
        let unread = self.entries.iter_mut().filter(|(_, entry)| entry.known == Known::Unread);
        let begun = unread.take(room).map(|(place, entry)| {
            entry.known = Known::Reading(now);
            (place.clone(), entry.mark.clone(), entry.path.clone())
        });
        begun.collect()
    }

    /// A drive that does not answer keeps no other one waiting. Should it answer yet, that counts.
    fn give_up_hung(&mut self, now: Instant) {
        for entry in self.entries.values_mut() {
            if matches!(entry.known, Known::Reading(since) if now.duration_since(since) >= OPEN_ANSWER_MAX)
            {
                let (path, seconds) = (entry.path.display(), OPEN_ANSWER_MAX.as_secs());
                tracing::warn!(
                    "{path} has not answered for {seconds} s: Ashlar does not know whether it \
                     belongs to a pool"
                );
                entry.known = Known::Hung;
            }
        }
    }

    /// The label of a drive was read, or could not be begun to be read. It counts if the drive is
    /// still the same.
    pub fn end_read(&mut self, place: &Place, mark: &DriveMark, known: Known) {
        match self.entries.get_mut(place) {
            Some(entry)
                if entry.mark == *mark
                    && matches!(entry.known, Known::Reading(_) | Known::Hung) =>
            {
                (entry.known, entry.last) = (known, None);
            }
            _ => self.orphans = self.orphans.saturating_sub(1),
        }
    }

    /// The drive there carries this label, although not where it is looked for.
    pub fn note_label(&mut self, place: &Place, label: Label) {
        if let Some(entry @ Entry { known: Known::Read(Content::Foreign), .. }) =
            self.entries.get_mut(place)
        {
            entry.known = Known::Read(Content::Label(label));
        }
    }

    /// Since when the drive is awaited that is awaited longest, of those that have not been awaited
    /// for `longest`.
    pub fn awaited(&self, now: Instant, longest: Duration) -> Option<Instant> {
        let since = self.entries.values().filter_map(|entry| match entry.known {
            Known::Unread => Some(now),
            Known::Reading(since) => Some(since),
            Known::Hung | Known::Read(_) | Known::LeftAlone(_) => None,
        });
        since.filter(|since| now.duration_since(*since) < longest).min()
    }

    /// The drives with a label, and it.
    pub fn labelled(&self) -> impl Iterator<Item = (&Place, &Entry, &Label)> {
        self.entries.iter().filter_map(|(place, entry)| Some((place, entry, entry.label()?)))
    }
}

impl Entry {
    fn label(&self) -> Option<&Label> {
        match &self.known {
            Known::Read(Content::Label(label)) => Some(label),
            Known::Unread | Known::Reading(_) | Known::Hung => self.last.as_ref(),
            Known::Read(_) | Known::LeftAlone(_) => None,
        }
    }
}

/// Whether a drive that was read, or not, for one reason would be now.
fn same_reason(known: &Known, now: &Known) -> bool {
    let reason = |known: &Known| if let Known::LeftAlone(why) = known { Some(*why) } else { None };
    reason(known) == reason(now)
}

#[cfg(test)]
mod tests;
