//! The thread that looks after devices and directories.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant, SystemTime};

use ashlar_drive::Uevents;
use ashlar_store::OPEN_ANSWER_MAX;
use ashlar_volume::NoMember;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::inotify;
use tokio::sync::watch;

use super::choose::{Candidate, Remembered, choose};
use super::jobs::{DIRECTORY_FILES_MAX, Done, Jobs, Listing};
use super::missed::{Missed, path_of};
use super::survey::Survey;
use super::table::{Content, Known, Place, QUICK_MAX};
use super::{PoolPlaces, Snapshot, Wanted, WantedPool};

/// How often it is looked by the clock: what tells of changes may be lost, or not be there at all.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);
/// How often each device is asked whether it is the same, where the kernel tells of changes.
const THOROUGH_INTERVAL: Duration = Duration::from_secs(60);
/// How long more of the same is waited for when a change is told of: many come at once, and udev's
/// links last.
const SETTLE: Duration = Duration::from_millis(200);

/// What the thread is told.
pub enum Message {
    Want(Wanted),
    LookAgain,
    Done(Done),
    Stop,
}

/// A directory in which drives may be files.
#[derive(Debug, Default)]
struct Directory {
    /// It is being looked at, since then.
    asked: Option<Instant>,
    /// When it had changed last, by the look before.
    changed: Option<SystemTime>,
    /// Something in it may have changed since the last look.
    is_due: bool,
    /// It was looked at.
    is_known: bool,
    /// It has more files than are looked at.
    is_cut: bool,
}

/// A place where a member was, and no member of its pool is.
#[derive(Debug, Default)]
struct Gap {
    asked: Option<Instant>,
    missed: Option<Missed>,
    is_due: bool,
}

/// How much of what is there is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Depth {
    /// What lists show.
    Lists,
    /// Each device and each directory.
    Thorough,
}

/// Looks after devices and directories.
pub struct Looker {
    survey: Survey,
    wanted: Wanted,
    jobs: Jobs,
    publish: watch::Sender<Arc<Snapshot>>,
    uevents: Option<Uevents>,
    directories: BTreeMap<PathBuf, Directory>,
    /// By pool and place.
    gaps: BTreeMap<(String, String), Gap>,
    next_look: Instant,
    next_thorough: Instant,
}

impl Looker {
    /// One that has seen nothing yet.
    pub fn new(
        survey: Survey,
        wanted: Wanted,
        jobs: Jobs,
        publish: watch::Sender<Arc<Snapshot>>,
    ) -> Self {
        let now = Instant::now();
        Looker {
            survey,
            wanted,
            jobs,
            publish,
            uevents: Uevents::listen().ok(),
            directories: BTreeMap::new(),
            gaps: BTreeMap::new(),
            next_look: now,
            next_thorough: now,
        }
    }

    /// Looks until it is told to stop.
    pub fn run(mut self, received: &Receiver<Message>, wake: &OwnedFd) {
        loop {
            self.look_by_clock();
            self.begin_jobs();
            self.publish_what_is_known();
            self.wait(wake);
            loop {
                match received.try_recv() {
                    Ok(Message::Stop) | Err(TryRecvError::Disconnected) => return,
                    Err(TryRecvError::Empty) => break,
                    Ok(message) => self.take(message),
                }
            }
            if self.take_events() {
                std::thread::sleep(SETTLE);
            }
        }
    }

    // --- what wakes it ---------------------------------------------------------------------------

    fn wait(&self, wake: &OwnedFd) {
        let uevents = self.uevents.iter().map(|uevents| PollFd::new(uevents, PollFlags::IN));
        let directories = self.jobs.watch.iter().map(|watch| PollFd::new(watch, PollFlags::IN));
        let woken = PollFd::new(wake, PollFlags::IN);
        let mut sources: Vec<PollFd<'_>> = uevents.chain(directories).chain([woken]).collect();
        let until =
            self.next_look.min(self.next_patience()).saturating_duration_since(Instant::now());
        let timeout =
            Timespec { tv_sec: until.as_secs() as i64, tv_nsec: until.subsec_nanos().into() };
        // An interruption is as good as a wake-up.
        let _ = poll(&mut sources, Some(&timeout));
        let mut count = [0; 8];
        let _ = rustix::io::read(wake, &mut count);
    }

    /// When something that is awaited is not awaited any longer.
    fn next_patience(&self) -> Instant {
        let now = Instant::now();
        let patience = [QUICK_MAX, OPEN_ANSWER_MAX];
        let ends =
            patience.iter().filter_map(|longest| Some(self.awaited(now, *longest)? + *longest));
        ends.min().unwrap_or(self.next_look)
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Want(wanted) => self.want(wanted),
            Message::LookAgain => {
                self.survey.table.read_again(|_, content| matches!(content, Content::Label(_)));
                self.look(Depth::Thorough);
            }
            Message::Done(Done::Label { place, mark, content }) => {
                self.survey.table.end_read(&place, &mark, Known::Read(content));
            }
            Message::Done(Done::Directory { path, listing }) => self.see_directory(path, listing),
            Message::Done(Done::Missed { pool, spec, missed }) => {
                self.see_missed(pool, spec, missed)
            }
            Message::Stop => {}
        }
    }

    /// Labels of pools that have changed are read again, and those of drives that they have by now.
    fn want(&mut self, wanted: Wanted) {
        let before = std::mem::replace(&mut self.wanted, wanted);
        let changed: Vec<&WantedPool> =
            self.wanted.pools.iter().filter(|pool| !before.pools.contains(pool)).collect();
        let drives = changed.iter().flat_map(|pool| &pool.drives);
        let places: BTreeSet<Place> =
            drives.filter_map(|(spec, _)| self.survey.place_of(spec)).collect();
        let is_of_changed = |place: &Place, content: &Content| match content {
            Content::Label(label) => changed.iter().any(|pool| pool.uuid == label.pool.to_string()),
            _ => places.contains(place),
        };
        self.survey.table.read_again(is_of_changed);
        self.look(Depth::Lists);
    }

    /// True: something has changed.
    fn take_events(&mut self) -> bool {
        let changes = self.uevents.as_ref().map(Uevents::take).unwrap_or_default();
        let have_devices = changes.were_lost || !changes.devices.is_empty();
        if have_devices {
            let named = self.named_devices();
            self.survey.see_devices(
                &changes.devices.into_iter().collect(),
                changes.were_lost,
                &named,
            );
            self.survey.see_stable_names();
            self.gaps.values_mut().for_each(|gap| gap.is_due = true);
        }
        let have_directories =
            self.jobs.watch.as_ref().is_some_and(|watch| take_directory_events(watch));
        if have_directories {
            self.directories.values_mut().for_each(Directory::look_whatever);
        }
        have_devices || have_directories
    }

    // --- what it looks at ------------------------------------------------------------------------

    fn look_by_clock(&mut self) {
        let now = Instant::now();
        if now < self.next_look {
            return;
        }
        let is_thorough = now >= self.next_thorough || self.uevents.is_none();
        if is_thorough {
            self.next_thorough = now + THOROUGH_INTERVAL;
        }
        self.next_look = now + LOOK_INTERVAL;
        self.look(if is_thorough { Depth::Thorough } else { Depth::Lists });
    }

    fn look(&mut self, depth: Depth) {
        let named = self.named_devices();
        self.survey.see_devices(&BTreeSet::new(), depth == Depth::Thorough, &named);
        self.survey.see_stable_names();
        let wanted = self.wanted_directories();
        self.directories.retain(|path, _| wanted.contains(path));
        for path in wanted {
            let directory = self.directories.entry(path).or_default();
            directory.is_due = true;
            if depth == Depth::Thorough {
                directory.look_whatever();
            }
        }
        self.gaps.values_mut().for_each(|gap| gap.is_due = true);
        let directories = &self.directories;
        self.survey.keep_directories(|path| directories.contains_key(path));
    }

    fn drives_of_pools(&self) -> impl Iterator<Item = (&str, PathBuf)> {
        let drives = self.wanted.pools.iter().flat_map(|pool| &pool.drives);
        drives.filter_map(|(spec, _)| Some((spec.as_str(), path_of(spec)?)))
    }

    fn named_devices(&self) -> Vec<PathBuf> {
        self.drives_of_pools()
            .filter(|(spec, _)| !spec.starts_with("file:"))
            .map(|(_, path)| path)
            .collect()
    }

    fn files_of_pools(&self) -> Vec<PathBuf> {
        self.drives_of_pools()
            .filter(|(spec, _)| spec.starts_with("file:"))
            .map(|(_, path)| path)
            .collect()
    }

    /// Those that somebody has named, and those in which files are that pools have as drives.
    fn wanted_directories(&self) -> BTreeSet<PathBuf> {
        let files = self.files_of_pools();
        let parents = files.iter().filter_map(|path| Some(path.parent()?.to_owned()));
        parents.chain(self.wanted.directories.iter().cloned()).collect()
    }

    fn see_directory(&mut self, path: PathBuf, listing: Listing) {
        let Some(directory) = self.directories.get_mut(&path) else { return };
        (directory.asked, directory.is_known) = (None, true);
        directory.changed = listing.changed;
        let Some(files) = listing.files else { return };
        directory.note_cut(&path, listing.is_cut);
        self.survey.see_directory(&path, files);
        self.gaps.values_mut().for_each(|gap| gap.is_due = true);
    }

    fn see_missed(&mut self, pool: String, spec: String, missed: Missed) {
        if let Some(gap) = self.gaps.get_mut(&(pool, spec)) {
            (gap.asked, gap.missed) = (None, Some(missed));
        }
    }

    /// A member whose first label is gone is known by the second one, where it was.
    fn take_second_labels(&mut self) {
        for ((_, spec), gap) in &self.gaps {
            let label = gap.missed.as_ref().and_then(|missed| missed.label);
            if let Some((place, label)) = self.survey.place_of(spec).zip(label) {
                self.survey.table.note_label(&place, label);
            }
        }
    }

    /// No label is awaited that may come soon, and each directory was looked at.
    fn table_is_quiet(&self) -> bool {
        let are_known = self.directories.values().all(|directory| directory.is_known);
        are_known && self.survey.table.awaited(Instant::now(), QUICK_MAX).is_none()
    }

    // --- what it has done ------------------------------------------------------------------------

    fn begin_jobs(&mut self) {
        let now = Instant::now();
        for (place, mark, path) in self.survey.table.begin_reads(now) {
            if !self.jobs.read_label(place.clone(), mark.clone(), path) {
                self.survey.table.end_read(&place, &mark, Known::Unread);
            }
        }
        self.begin_listings(now);
        self.take_second_labels();
        self.see_gaps();
        for ((pool, spec), gap) in &mut self.gaps {
            if gap.is_due && gap.asked.is_none() {
                gap.is_due = false;
                let asked = self.jobs.explain(pool.clone(), spec.clone(), gap.missed.clone());
                gap.asked = asked.then_some(now);
            }
        }
    }

    fn begin_listings(&mut self, now: Instant) {
        let files = self.files_of_pools();
        for (path, directory) in &mut self.directories {
            if directory.is_due && directory.asked.is_none() {
                directory.is_due = false;
                let named =
                    files.iter().filter(|file| file.parent() == Some(path)).cloned().collect();
                // Of one that is not looked at as a whole other files may be known by now.
                let known = directory.changed.filter(|_| !directory.is_cut);
                directory.asked = self.jobs.list(path.clone(), known, named).then_some(now);
            }
        }
    }

    /// Places where members were, and no member of the pool is.
    fn see_gaps(&mut self) {
        let labelled = self.survey.table.labelled();
        let found: BTreeSet<String> =
            labelled.map(|(_, _, label)| label.uuid.to_string()).collect();
        let pools = self.wanted.pools.iter();
        let drives =
            pools.flat_map(|pool| pool.drives.iter().map(move |drive| (&pool.uuid, drive)));
        let missing = drives.filter(|(_, (_, uuid))| !found.contains(uuid));
        let gaps: BTreeSet<(String, String)> =
            missing.map(|(pool, (spec, _))| (pool.clone(), spec.clone())).collect();
        self.gaps.retain(|gap, _| gaps.contains(gap));
        // What is being read for its label is not to be read for this as well.
        let is_quiet = self.table_is_quiet();
        for gap in gaps.into_iter().filter(|_| is_quiet) {
            self.gaps.entry(gap).or_insert(Gap { is_due: true, ..Gap::default() });
        }
    }

    // --- what is known ---------------------------------------------------------------------------

    /// Since when something is awaited that has not been awaited for `longest`.
    fn awaited(&self, now: Instant, longest: Duration) -> Option<Instant> {
        let is_recent = |since: &Instant| now.duration_since(*since) < longest;
        let directories = self.directories.values().filter_map(|directory| match directory.asked {
            None if !directory.is_known => Some(now),
            asked => asked,
        });
        let gaps = self.gaps.values().filter_map(|gap| match gap.asked {
            None if gap.missed.is_none() => Some(now),
            asked => asked,
        });
        directories
            .chain(gaps)
            .filter(is_recent)
            .chain(self.survey.table.awaited(now, longest))
            .min()
    }

    fn publish_what_is_known(&self) {
        let snapshot = self.snapshot();
        self.publish.send_if_modified(|known| {
            let is_new = **known != snapshot;
            if is_new {
                *known = Arc::new(snapshot);
            }
            is_new
        });
    }

    fn snapshot(&self) -> Snapshot {
        let now = Instant::now();
        let before = self.publish.borrow().clone();
        let is_quiet = self.awaited(now, QUICK_MAX).is_none();
        let is_over = self.awaited(now, OPEN_ANSWER_MAX).is_none();
        let pools = self.wanted.pools.iter().map(|pool| {
            let mut places = self.places(pool);
            let is_found =
                |uuid: &String| places.drives.iter().any(|found| found.uuid.to_string() == *uuid);
            let all_found = pool.drives.iter().all(|(_, uuid)| is_found(uuid));
            places.is_settled = is_over || (all_found && is_quiet);
            (pool.uuid.clone(), as_told(places, before.pools.get(&pool.uuid)))
        });
        let named =
            |(kernel, path): (&String, &PathBuf)| (kernel.clone(), path.display().to_string());
        let stable_names = self.survey.stable_names.iter().map(named).collect();
        Snapshot { pools: pools.collect(), stable_names }
    }

    fn places(&self, pool: &WantedPool) -> PoolPlaces {
        let survey = &self.survey;
        let of_pool =
            survey.table.labelled().filter(|(_, _, label)| label.pool.to_string() == pool.uuid);
        let candidate = |(place, entry, label)| {
            let name = survey.name_of(place, entry)?;
            Some(Candidate { place, mark: &entry.mark, label, name })
        };
        let candidates: Vec<Candidate<'_>> = of_pool.filter_map(candidate).collect();
        let remembered = |(spec, uuid)| Remembered { spec, uuid, place: survey.place_of(spec) };
        let remembered: Vec<Remembered<'_>> =
            pool.drives.iter().map(|(spec, uuid)| remembered((spec, uuid))).collect();
        let (drives, copies) =
            choose(&candidates, &remembered, |one, other| survey.are_one_drive(one, other));
        let missed = self.gaps.iter().filter(|((of, _), _)| *of == pool.uuid);
        let missed = missed.filter_map(|((_, spec), gap)| {
            Some(NoMember { spec: spec.clone(), why: gap.missed.as_ref()?.why.clone() })
        });
        PoolPlaces { drives, copies, missed: missed.collect(), is_settled: false }
    }
}

impl Directory {
    /// It is looked at although it may say itself that it has not changed: files in it may have.
    fn look_whatever(&mut self) {
        (self.is_due, self.changed) = (true, None);
    }

    /// Says once that not all of it is looked at.
    fn note_cut(&mut self, path: &Path, is_cut: bool) {
        if is_cut && !self.is_cut {
            tracing::warn!(
                "{} has more than {DIRECTORY_FILES_MAX} files of a drive's size, and Ashlar looks \
                 at no more: it may not find a drive that comes back there under another name. \
                 Move the others elsewhere",
                path.display()
            );
        }
        self.is_cut = is_cut;
    }
}

/// A new place is told of once nothing more is to be expected: a copy of the drive may be read yet,
/// and then nobody can tell which of the two is the drive.
fn as_told(mut now: PoolPlaces, before: Option<&PoolPlaces>) -> PoolPlaces {
    if !now.is_settled {
        now.drives.retain(|found| before.is_some_and(|before| before.drives.contains(found)));
    }
    now
}

/// Takes what has been told of directories. True: something was.
fn take_directory_events(watch: &OwnedFd) -> bool {
    let mut buf = [MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(watch, &mut buf);
    let mut any = false;
    while events.next().is_ok() {
        any = true;
    }
    any
}

#[cfg(test)]
mod tests;
