//! A log of what has happened: the newest entries in memory, all that are kept in an archive, and
//! who follows them.
//!
//! A follower is a place in the log, and what was read from there at once. One that is slow makes
//! nothing wait and nothing grow: what leaves the memory before it has come there it reads from the
//! archive. What that does not have it misses, and the gap in the numbers says so.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::future::BoxFuture;
use humantime::format_rfc3339_millis;
use tokio::sync::{oneshot, watch};

pub(crate) mod query;

/// Entries that are kept in memory.
pub const RECENT_MAX: usize = 1024;
/// Clients that may follow at a time, those of one user or account, and places that are left for
/// the owners of the daemon, who may take all.
pub const FOLLOWERS_MAX: usize = 256;
const OF_ONE_MAX: usize = 16;
const OWNERS_MAX: usize = 16;

/// An entry of a log, with its number.
pub trait Entry: Clone + Send + Sync + 'static {
    /// What has happened.
    type What: Send;

    /// The entry of that number.
    fn new(seq: u64, time: String, what: Self::What) -> Self;
    /// Its number.
    fn seq(&self) -> u64;
}

/// Where entries are kept that outlive the daemon.
pub trait Archive<E>: Send + Sync + 'static {
    /// Takes an entry, at once: it is written by somebody else, who drops `written` once the entry
    /// is durable, or cannot be now.
    fn keep(&self, entry: &E, written: Option<oneshot::Sender<()>>);
    /// The entries that are wanted, the oldest first.
    ///
    /// # Errors
    /// Why they cannot be read.
    fn read(&self, wanted: Wanted<E>, reader: Reader) -> BoxFuture<'static, io::Result<Vec<E>>>;
    /// Whether entries are kept; nothing if that was told.
    fn take_change(&self) -> Option<Keeping>;
    /// Why they are not kept now, and how many are lost; nothing if they are kept.
    fn failure(&self) -> Option<(String, u64)>;
}

/// Who reads an archive. None of them waits for those of another kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reader {
    /// A client with a question: it may be asked to come again.
    Question,
    /// A client that follows.
    Follower,
    /// Somebody who is told of all that happens, as a webhook.
    Receiver,
}

/// Whether entries are kept, where that has changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Keeping {
    /// They are not, because of this.
    Not(String),
    /// They are again.
    Again {
        /// So many are in no archive.
        lost: u64,
    },
}

/// Which entries are wanted.
pub struct Wanted<E> {
    /// The first ones after this number; without it the last ones.
    pub after: Option<u64>,
    /// Those with a number below this one.
    pub before: u64,
    /// So many at most.
    pub limit: usize,
    /// Those for which this is true.
    pub filter: Arc<dyn Fn(&E) -> bool + Send + Sync>,
    /// Those in memory are of use where the archive cannot be read.
    pub or_recent: bool,
}

impl<E> Clone for Wanted<E> {
    fn clone(&self) -> Self {
        let Wanted { after, before, limit, filter, or_recent } = self;
        let (after, before, limit, or_recent) = (*after, *before, *limit, *or_recent);
        Wanted { after, before, limit, filter: filter.clone(), or_recent }
    }
}

impl<E: Entry> Wanted<E> {
    /// The last `limit` of all.
    pub fn last(limit: usize) -> Self {
        let filter = Arc::new(|_: &E| true);
        Wanted { after: None, before: u64::MAX, limit, filter, or_recent: true }
    }

    /// All of these entries, which come in their order, that are wanted.
    pub fn of(&self, entries: impl IntoIterator<Item = E>) -> Vec<E> {
        let wanted = entries.into_iter().filter(|entry| self.has(entry));
        match self.after {
            Some(_) => wanted.take(self.limit).collect(),
            None => {
                let mut last = VecDeque::new();
                for entry in wanted {
                    if last.len() == self.limit {
                        last.pop_front();
                    }
                    last.push_back(entry);
                }
                last.into()
            }
        }
    }

    /// The same of those in memory, of which no others are copied, nor looked at before `after`.
    fn of_recent(&self, entries: &VecDeque<E>) -> Vec<E> {
        match self.after {
            Some(after) => {
                let begin = entries.partition_point(|entry| entry.seq() <= after);
                let wanted = entries.range(begin..).filter(|entry| self.has(entry));
                wanted.take(self.limit).cloned().collect()
            }
            None => {
                let wanted = entries.iter().rev().filter(|entry| self.has(entry));
                let mut last: Vec<E> = wanted.take(self.limit).cloned().collect();
                last.reverse();
                last
            }
        }
    }

    /// Whether this one is wanted.
    fn has(&self, entry: &E) -> bool {
        let seq = entry.seq();
        let is_after = self.after.is_none_or(|after| seq > after);
        is_after && seq < self.before && (self.filter)(entry)
    }
}

/// The log of a daemon.
pub struct Log<E> {
    recent: Mutex<Recent<E>>,
    archive: Option<Arc<dyn Archive<E>>>,
    /// Changes with each addition; whether there will be no more.
    ended: watch::Sender<bool>,
    /// The number of the newest one, for those who read on behind it.
    newest: watch::Sender<u64>,
    /// How many follow of each user or account.
    following: Mutex<BTreeMap<String, usize>>,
}

/// Their numbers follow one another without a gap since the daemon was started.
struct Recent<E> {
    entries: VecDeque<E>,
    next_seq: u64,
    /// When the last one was.
    last: SystemTime,
}

impl<E: Entry> Recent<E> {
    /// The number of the first one in memory, or of the next one where there is none.
    fn first(&self) -> u64 {
        self.entries.front().map_or(self.next_seq, Entry::seq)
    }
}

impl<E: Entry> Log<E> {
    /// The log that goes on after `before`, the newest entries of the archive. Its numbers begin
    /// above these, and with the time in milliseconds: above all that an earlier daemon gave out
    /// and could not keep, as long as that had fewer than a thousand a second.
    pub fn new(archive: Option<Arc<dyn Archive<E>>>, before: Vec<E>) -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = since_1970.map_or(0, |time| time.as_millis() as u64);
        Self::beginning_at(now, archive, before)
    }

    fn beginning_at(seq: u64, archive: Option<Arc<dyn Archive<E>>>, before: Vec<E>) -> Self {
        let last = before.last().map_or(0, Entry::seq);
        let skipped = before.len().saturating_sub(RECENT_MAX);
        let entries = before.into_iter().skip(skipped).collect();
        let next_seq = seq.max(last.saturating_add(1));
        let recent = Mutex::new(Recent { entries, next_seq, last: SystemTime::UNIX_EPOCH });
        // Whatever the archive may have is before it, whether or not that could be read.
        let newest = watch::Sender::new(next_seq - 1);
        Log {
            recent,
            archive,
            ended: watch::Sender::new(false),
            newest,
            following: Mutex::default(),
        }
    }

    fn recent(&self) -> MutexGuard<'_, Recent<E>> {
        self.recent.lock().expect("no holder of the lock panics")
    }

    /// Adds what has happened now. The oldest entries leave the memory.
    pub(crate) fn add(&self, all: impl IntoIterator<Item = E::What>) {
        self.add_of(all.into_iter().map(|what| (None, what)));
    }

    /// The same, of what has happened at some time, or now. No entry has an earlier time than the
    /// one before it, unless the clock was set back, and none is in the future.
    pub(crate) fn add_of(&self, all: impl IntoIterator<Item = (Option<SystemTime>, E::What)>) {
        self.add_written(all, None);
    }

    /// Adds what has happened now. Ends once that is on disk, or cannot be now.
    pub(crate) fn add_durably(&self, what: E::What) -> impl Future<Output = ()> + use<E> {
        let (writes, written) = oneshot::channel();
        self.add_written([(None, what)], Some(writes));
        // It is dropped, in any case.
        async move { drop(written.await) }
    }

    /// `written` is of the first one.
    fn add_written(
        &self,
        all: impl IntoIterator<Item = (Option<SystemTime>, E::What)>,
        mut written: Option<oneshot::Sender<()>>,
    ) {
        let mut recent = self.recent();
        let now = SystemTime::now();
        let before = recent.next_seq;
        for (at, what) in all {
            let at = at.map_or(now, |at| at.max(recent.last).min(now));
            let time = format_rfc3339_millis(at).to_string();
            let entry = E::new(recent.next_seq, time, what);
            if let Some(archive) = &self.archive {
                archive.keep(&entry, written.take());
            }
            if recent.entries.len() == RECENT_MAX {
                recent.entries.pop_front();
            }
            recent.entries.push_back(entry);
            recent.next_seq += 1;
            recent.last = at;
        }
        let newest = recent.next_seq - 1;
        let has_changed = recent.next_seq > before;
        drop(recent);
        if has_changed {
            self.ended.send_modify(|_| ());
            self.newest.send_modify(|known| *known = newest.max(*known));
        }
    }

    /// The entries that are wanted, the oldest first. Where the archive cannot be read, the last
    /// ones are those in memory, if these are of use: they are asked for when a disk is broken,
    /// too.
    ///
    /// # Errors
    /// Why the others cannot be read: nobody who reads on is to miss any, and whoever asks what
    /// has happened is not told that nothing has.
    pub async fn list(&self, wanted: Wanted<E>, reader: Reader) -> io::Result<Vec<E>> {
        let (recent, older) = self.list_recent(&wanted);
        let (Some(archive), Some(older)) = (&self.archive, older) else { return Ok(recent) };
        let is_partial_of_use = wanted.or_recent && wanted.after.is_none();
        let mut found = match archive.read(older, reader).await {
            Err(error) if !is_partial_of_use => return Err(error),
            Err(error) => {
                tracing::warn!(%error, "entries that were written down cannot be read");
                Vec::new()
            }
            Ok(found) => found,
        };
        found.extend(recent);
        found.truncate(wanted.limit);
        Ok(found)
    }

    /// Those in memory, and which of the others are wanted, if any are. The newest entries may not
    /// have come to the archive yet.
    fn list_recent(&self, wanted: &Wanted<E>) -> (Vec<E>, Option<Wanted<E>>) {
        let recent = self.recent();
        let found = wanted.of_recent(&recent.entries);
        let first = recent.first();
        let left = match wanted.after {
            Some(after) if after.saturating_add(1) >= first => 0,
            Some(_) => wanted.limit,
            None => wanted.limit - found.len(),
        };
        let older = Wanted { before: wanted.before.min(first), limit: left, ..wanted.clone() };
        (found, (left > 0).then_some(older))
    }

    /// Whether entries are kept, where that was not told.
    pub(crate) fn take_change(&self) -> Option<Keeping> {
        self.archive.as_ref()?.take_change()
    }

    /// Why entries are not kept now, and how many are lost.
    pub(crate) fn failure(&self) -> Option<(String, u64)> {
        self.archive.as_ref()?.failure()
    }

    /// The number before the first one in memory: what comes after it needs no archive.
    pub fn before_memory(&self) -> u64 {
        self.recent().first().saturating_sub(1)
    }

    /// How many of those in memory are wanted, whatever the limit.
    pub fn count_recent(&self, wanted: &Wanted<E>) -> u64 {
        let recent = self.recent();
        let begin = recent.entries.partition_point(|entry| wanted.after >= Some(entry.seq()));
        recent.entries.range(begin..).filter(|entry| wanted.has(entry)).count() as u64
    }

    fn first_after(&self, seq: u64) -> Option<E> {
        let recent = self.recent();
        let at = recent.entries.partition_point(|entry| entry.seq() <= seq);
        recent.entries.get(at).cloned()
    }

    /// Follows what comes after that number, or all that is in memory. Nothing, if too many do.
    /// Who it is is said, and whether that is an owner of the daemon.
    pub(crate) fn follow(
        self: &Arc<Self>,
        after: Option<u64>,
        (name, is_owner): (impl Into<String>, bool),
    ) -> Option<Follower<E>> {
        let place = self.take_place(name.into(), is_owner)?;
        let seq = after.unwrap_or_else(|| self.before_memory());
        let (ended, read) = (self.ended.subscribe(), VecDeque::new());
        Some(Follower { place, ended, seq, read })
    }

    fn take_place(self: &Arc<Self>, name: String, is_owner: bool) -> Option<Place<E>> {
        let mut following = self.following();
        let all: usize = following.values().sum();
        let of_one = following.get(&name).copied().unwrap_or_default();
        let has_room = match is_owner {
            true => all < FOLLOWERS_MAX,
            false => all < FOLLOWERS_MAX - OWNERS_MAX && of_one < OF_ONE_MAX,
        };
        if !has_room {
            return None;
        }
        following.insert(name.clone(), of_one + 1);
        Some(Place { log: self.clone(), name })
    }

    fn following(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.following.lock().expect("no holder of the lock panics")
    }

    /// The number of the newest entry, which changes when more come. Whoever watches it is no
    /// follower: what it has missed it finds in the archive.
    pub fn newest(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    /// Clients that follow.
    pub fn followers(&self) -> usize {
        self.ended.receiver_count()
    }

    /// There will be no more: followers end once they have come to the last one.
    pub fn end(&self) {
        self.ended.send_replace(true);
    }
}

/// One of the places for those who follow.
struct Place<E> {
    log: Arc<Log<E>>,
    name: String,
}

impl<E> Drop for Place<E> {
    fn drop(&mut self) {
        let mut following = self.log.following.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of_one) = following.get_mut(&self.name) {
            *of_one -= 1;
            if *of_one == 0 {
                following.remove(&self.name);
            }
        }
    }
}

/// A client's place in the log.
pub(crate) struct Follower<E> {
    place: Place<E>,
    ended: watch::Receiver<bool>,
    seq: u64,
    /// What comes next, where it was read from the archive.
    read: VecDeque<E>,
}

impl<E: Entry> Follower<E> {
    /// The next entry, when it is there; nothing once the log has ended.
    pub(crate) async fn next(&mut self) -> Option<E> {
        loop {
            // Marked as seen before the log is looked at: what comes in between wakes.
            let ended = *self.ended.borrow_and_update();
            self.read_what_has_left_memory().await;
            let read = self.read.pop_front();
            if let Some(entry) = read.or_else(|| self.place.log.first_after(self.seq)) {
                self.seq = entry.seq();
                return Some(entry);
            }
            if ended || self.ended.changed().await.is_err() {
                return None;
            }
        }
    }

    /// Reads on in the archive, where what comes next is no more in memory. What cannot be read is
    /// missed.
    async fn read_what_has_left_memory(&mut self) {
        if !self.read.is_empty() || self.seq >= self.place.log.before_memory() {
            return;
        }
        let wanted = Wanted { after: Some(self.seq), ..Wanted::last(RECENT_MAX) };
        match self.place.log.list(wanted, Reader::Follower).await {
            Ok(found) => self.read = found.into(),
            Err(error) => tracing::warn!(%error, "a follower misses what cannot be read"),
        }
    }

    /// Ends once the log has ended.
    pub(crate) async fn ended(&mut self) {
        // An error is the end of the log as well.
        let _ = self.ended.wait_for(|ended| *ended).await;
    }
}

#[cfg(test)]
mod tests;
