use std::task::{Context, Poll, Waker};

use futures_util::FutureExt;

use super::*;
use crate::events::{EventKind, EventLog};
use crate::types::{Event, Happening, Severity};

fn log() -> Arc<EventLog> {
    Arc::new(EventLog::beginning_at(100, None, Vec::new()))
}

fn add(log: &EventLog, count: usize) {
    log.add((0..count).map(|_| Happening::new(Severity::Info, EventKind::PoolOpened, "something")));
}

/// What there is to read now.
fn read(follower: &mut Follower<Event>) -> Vec<u64> {
    std::iter::from_fn(|| follower.next().now_or_never().flatten().map(|event| event.seq)).collect()
}

#[test]
fn a_follower_gets_what_was_there_and_what_comes() {
    let log = log();
    add(&log, 3);
    let mut follower = log.follow(Some(100), ("a", false)).expect("there is room");
    assert_eq!(read(&mut follower), [101, 102]);
    let mut next = Box::pin(follower.next());
    let mut context = Context::from_waker(Waker::noop());
    assert!(next.as_mut().poll(&mut context).is_pending());
    add(&log, 1);
    assert!(
        matches!(next.as_mut().poll(&mut context), Poll::Ready(Some(event)) if event.seq == 103)
    );
    drop(next);
    log.end();
    assert_eq!(follower.next().now_or_never(), Some(None));
}

#[test]
fn a_log_that_ends_is_read_to_its_end() {
    let log = log();
    let mut follower = log.follow(Some(0), ("a", false)).expect("there is room");
    add(&log, 2);
    log.end();
    assert_eq!(read(&mut follower), [100, 101]);
}

#[test]
fn a_slow_follower_makes_nothing_grow_and_sees_the_gap() {
    let log = log();
    let mut follower = log.follow(Some(0), ("a", false)).expect("there is room");
    add(&log, 1);
    assert_eq!(read(&mut follower), [100]);
    (0..10).for_each(|_| add(&log, RECENT_MAX));
    assert_eq!(log.recent().entries.len(), RECENT_MAX);
    let all = read(&mut follower);
    assert_eq!((all.len(), all[0]), (RECENT_MAX, 101 + 9 * RECENT_MAX as u64));
    assert_eq!(after(&log, 0).len(), RECENT_MAX);
}

fn wanted(after: Option<u64>, limit: usize) -> Wanted<Event> {
    Wanted { after, ..Wanted::last(limit) }
}

fn numbers(events: io::Result<Vec<Event>>) -> Vec<u64> {
    events.expect("nothing fails").iter().map(|event| event.seq).collect()
}

/// The numbers of the events that are listed, with nothing to be waited for.
fn list(log: &EventLog, wanted: Wanted<Event>) -> Vec<u64> {
    numbers(log.list(wanted, Reader::Question).now_or_never().expect("it is in memory"))
}

fn after(log: &EventLog, seq: u64) -> Vec<u64> {
    list(log, wanted(Some(seq), usize::MAX))
}

#[test]
fn what_is_wanted_of_the_memory_is_counted_whatever_the_limit() {
    let log = log();
    add(&log, 5);
    assert_eq!(log.count_recent(&wanted(None, 1)), 5);
    assert_eq!(log.count_recent(&wanted(Some(101), 1)), 3);
    assert_eq!(log.count_recent(&wanted(Some(104), 1)), 0);
    let even =
        Wanted { filter: Arc::new(|it: &Event| it.seq.is_multiple_of(2)), ..wanted(Some(100), 1) };
    assert_eq!(log.count_recent(&even), 2);
}

#[test]
fn what_comes_after_a_number_is_listed() {
    let log = log();
    assert!(after(&log, 0).is_empty());
    add(&log, 5);
    assert_eq!(after(&log, 0), [100, 101, 102, 103, 104]);
    assert_eq!(after(&log, 102), [103, 104]);
    assert!(after(&log, 104).is_empty() && after(&log, u64::MAX).is_empty());
}

#[test]
fn the_first_ones_after_a_number_are_listed_and_without_one_the_last() {
    let log = log();
    add(&log, 5);
    assert_eq!(list(&log, wanted(Some(100), 2)), [101, 102]);
    assert_eq!(list(&log, wanted(None, 2)), [103, 104]);
    let odd = Wanted { filter: Arc::new(|event: &Event| event.seq % 2 == 1), ..wanted(None, 9) };
    assert_eq!(list(&log, odd), [101, 103]);
}

/// An archive that has every entry that it was given.
#[derive(Default)]
struct Kept(Mutex<Vec<Event>>);

impl Archive<Event> for Kept {
    fn keep(&self, event: &Event, _: Option<oneshot::Sender<()>>) {
        self.0.lock().unwrap().push(event.clone());
    }

    fn read(&self, wanted: Wanted<Event>, _: Reader) -> BoxFuture<'static, io::Result<Vec<Event>>> {
        let found = wanted.of(self.0.lock().unwrap().clone());
        Box::pin(std::future::ready(Ok(found)))
    }

    fn failure(&self) -> Option<(String, u64)> {
        None
    }

    fn take_change(&self) -> Option<Keeping> {
        None
    }
}

#[test]
fn what_has_left_the_memory_comes_from_the_archive() {
    let archive = Arc::new(Kept::default());
    let log = EventLog::beginning_at(100, Some(archive), Vec::new());
    add(&log, RECENT_MAX + 10);
    let end = 110 + RECENT_MAX as u64;
    assert_eq!(list(&log, wanted(Some(0), 3)), [100, 101, 102]);
    assert_eq!(list(&log, wanted(None, 2)), [end - 2, end - 1]);
    assert_eq!(list(&log, wanted(None, RECENT_MAX + 1))[0], 109);
}

/// An archive that is behind by all that the log has in memory.
struct Behind(Kept);

impl Archive<Event> for Behind {
    fn keep(&self, event: &Event, _: Option<oneshot::Sender<()>>) {
        let mut kept = self.0.0.lock().unwrap();
        if event.seq < 110 {
            kept.push(event.clone());
        }
    }

    fn read(&self, wanted: Wanted<Event>, _: Reader) -> BoxFuture<'static, io::Result<Vec<Event>>> {
        self.0.read(wanted, Reader::Question)
    }

    fn failure(&self) -> Option<(String, u64)> {
        None
    }

    fn take_change(&self) -> Option<Keeping> {
        None
    }
}

/// The newest events were not listed until they were on the disk.
#[test]
fn what_is_not_in_the_archive_yet_is_listed_with_what_is() {
    let archive = Arc::new(Behind(Kept::default()));
    let log = EventLog::beginning_at(100, Some(archive), Vec::new());
    add(&log, RECENT_MAX + 10);
    let all: Vec<u64> = (100..110 + RECENT_MAX as u64).collect();
    assert_eq!(after(&log, 0), all);
    assert_eq!(list(&log, wanted(None, usize::MAX)), all);
    assert_eq!(list(&log, wanted(Some(107), 4)), [108, 109, 110, 111]);
}

#[test]
fn a_follower_is_told_what_has_left_the_memory_too() {
    let archive = Arc::new(Kept::default());
    let log = Arc::new(EventLog::beginning_at(100, Some(archive), Vec::new()));
    add(&log, 3 * RECENT_MAX);
    let mut follower = log.follow(Some(100), ("a", false)).expect("there is room");
    let all: Vec<u64> = (101..100 + 3 * RECENT_MAX as u64).collect();
    assert_eq!(read(&mut follower), all);
    let mut newest = log.follow(None, ("a", false)).expect("there is room");
    assert_eq!(
        read(&mut newest).len(),
        RECENT_MAX,
        "who names no number is told what is in memory"
    );
    add(&log, RECENT_MAX + 5);
    assert_eq!(read(&mut newest).len(), RECENT_MAX + 5, "nor does one that is slow miss any");
}

#[test]
fn a_log_goes_on_above_what_an_earlier_daemon_has_kept() {
    let event = |seq| {
        Event::new(seq, String::new(), Happening::new(Severity::Info, EventKind::PoolOpened, "it"))
    };
    let log = EventLog::beginning_at(100, None, vec![event(500), event(501)]);
    add(&log, 1);
    assert_eq!(after(&log, 0), [500, 501, 502]);
}

#[test]
fn a_log_whose_archive_could_not_be_read_begins_behind_all_that_is_in_it() {
    let log = log();
    assert_eq!((*log.newest().borrow(), log.before_memory()), (99, 99));
    add(&log, 2);
    assert_eq!((*log.newest().borrow(), log.before_memory()), (101, 99));
}

#[test]
fn only_so_many_follow_at_a_time_few_of_one_and_the_owners_have_places_of_their_own() {
    let log = log();
    let of_one: Vec<_> = (0..OF_ONE_MAX).map(|_| log.follow(None, ("a", false))).collect();
    assert!(of_one.iter().all(Option::is_some) && log.follow(None, ("a", false)).is_none());
    let others = (0..).map(|other| log.follow(None, (format!("b{other}"), false)));
    let others: Vec<_> = others.map_while(|follower| follower).collect();
    assert_eq!(of_one.len() + others.len(), FOLLOWERS_MAX - OWNERS_MAX);
    let owners = std::iter::from_fn(|| log.follow(None, ("user 0", true)));
    let owners: Vec<_> = owners.collect();
    assert_eq!(owners.len(), OWNERS_MAX);
    assert_eq!(log.followers(), FOLLOWERS_MAX);
    drop((of_one, owners));
    assert!(log.follow(None, ("a", false)).is_some());
    drop(others);
    assert_eq!((log.followers(), log.following().len()), (0, 0));
}

/// An archive that cannot be read.
struct Unreadable;

impl Archive<Event> for Unreadable {
    fn keep(&self, _: &Event, _: Option<oneshot::Sender<()>>) {}

    fn read(&self, _: Wanted<Event>, _: Reader) -> BoxFuture<'static, io::Result<Vec<Event>>> {
        Box::pin(std::future::ready(Err(io::Error::other("it is broken"))))
    }

    fn failure(&self) -> Option<(String, u64)> {
        None
    }

    fn take_change(&self) -> Option<Keeping> {
        None
    }
}

#[test]
fn whoever_asks_for_something_is_not_told_that_there_is_nothing_where_the_archive_is_broken() {
    let log = EventLog::beginning_at(100, Some(Arc::new(Unreadable)), Vec::new());
    add(&log, 2);
    assert_eq!(list(&log, wanted(None, 9)), [100, 101], "the newest are of use without the others");
    let some = Wanted { or_recent: false, ..wanted(None, 9) };
    for wanted in [some, wanted(Some(0), 9)] {
        let listed = log.list(wanted, Reader::Question).now_or_never().expect("at once");
        assert!(listed.is_err());
    }
}
