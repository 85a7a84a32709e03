//! The daemon is killed again and again while hosts write in several sizes, trim, write zeroes,
//! compare and write, flush and read, while volumes come and go, and while checkpoints and garbage
//! collection run. Whatever was acknowledged is there after each start.
//!
//! `CRASH_ROUNDS` says how often (20), `CRASH_SEED` repeats the choices of a run that has failed.
//! What it prints, how soon the daemon was ready again among it, needs `--nocapture`:
//!
//!     CRASH_ROUNDS=200 cargo test --profile testing -p ashlar --test daemon crash:: -- --nocapture

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use ashlar_block::XorShift;

use crate::hosts::{Load, Volume};
use crate::support::{Daemon, Place};

/// Drives of the pool, of 48 MiB each: two data columns.
const DRIVES: usize = 3;
/// Volumes that stay, with their options: together, when they are full, what the pool can take.
const LASTING: [(&str, &[&str]); 3] = [
    ("tank/plain", &["--compression", "none"]),
    ("tank/packed", &[]),
    ("tank/sectors", &["--sector-size", "512", "--compression", "zstd:1"]),
];
/// Blocks of a volume that stays: 12 MiB.
const LASTING_BLOCKS: u64 = 3072;
/// Blocks of a volume that comes and goes: 4 MiB.
const PASSING_BLOCKS: u64 = 1024;
/// Volumes that come and go, at a time.
const PASSING_MAX: usize = 3;
/// How long after the load has begun the daemon may be killed.
const LIFE_MS_MAX: u64 = 900;
/// How soon a daemon that was killed is to be ready again. How many starts take longer depends on
/// what else the machine does: that is printed.
const READY_TARGET: Duration = Duration::from_secs(2);

/// Whether a volume must be there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    There,
    Gone,
    /// No answer came.
    Unknown,
}

/// What an administrator has made, and what is known of it.
struct Administrator {
    made: u64,
    /// The daemon is being killed: what fails from now on has no answer, before it was refused.
    is_dying: Arc<AtomicBool>,
    fates: BTreeMap<String, Fate>,
}

/// What a daemon had done before it was killed.
#[derive(Default, Debug)]
struct Work {
    operations: u64,
    checkpoints: u64,
    segments_collected: u64,
    volumes_made: u64,
    volumes_deleted: u64,
}

/// How long each start after a kill took, from the daemon's first instruction to its word that
/// hosts are served.
#[derive(Default)]
struct Starts(Vec<Duration>);

impl Starts {
    fn start(&mut self, place: &Place) -> Daemon {
        let began = Instant::now();
        let daemon = place.start();
        self.0.push(began.elapsed());
        println!("start {}: ready after {:?}", self.0.len(), began.elapsed());
        daemon
    }
}

impl Starts {
    /// How many took longer than they should.
    fn late(&self) -> usize {
        self.0.iter().filter(|took| **took > READY_TARGET).count()
    }

    /// The shortest, how long one of two took at most, and the longest.
    fn spread(&self) -> [Duration; 3] {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        [sorted[0], sorted[(sorted.len() - 1) / 2], sorted[sorted.len() - 1]]
    }
}

impl fmt::Display for Starts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let late = self.late();
        let [shortest, median, longest] = self.spread().map(|took| took.as_millis());
        let count = self.0.len();
        write!(
            f,
            "ready again {count} times, after {shortest} ms at least, {median} ms (median), "
        )?;
        write!(f, "{longest} ms (longest); ")?;
        write!(f, "{late} times later than {READY_TARGET:?}")
    }
}

fn number_of(variable: &str) -> Option<u64> {
    std::env::var(variable)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{variable}={text}")))
}

fn fresh_seed() -> u64 {
    let since =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock that is right");
    since.as_nanos() as u64
}

#[test]
fn what_was_acknowledged_outlives_every_kill() {
    let rounds = number_of("CRASH_ROUNDS").unwrap_or(20);
    let seed = number_of("CRASH_SEED").unwrap_or_else(fresh_seed);
    println!("CRASH_SEED={seed} CRASH_ROUNDS={rounds}");
    let place = Place::new();
    let mut random = XorShift::new(seed);
    let (mut volumes, mut administrator) = make_pool(&place, seed);
    let (mut work, mut starts) = (Work::default(), Starts::default());
    for round in 0..rounds {
        let daemon = if round == 0 { place.start() } else { starts.start(&place) };
        administrator.check(&place);
        volumes = administrator.volumes_of(volumes, seed ^ round);
        volumes = one_life(&place, daemon, volumes, &mut administrator, &mut random, &mut work);
    }
    let daemon = starts.start(&place);
    last_check(&place, daemon, &mut administrator, volumes, seed);
    println!("{work:?}; {starts}");
    assert!(work.checkpoints > 0 && work.segments_collected > 0, "too little load: {work:?}");
    // What each start waits for is in the shortest, too: no machine stands still in all of them.
    assert!(starts.spread()[0] < READY_TARGET, "{starts}");
}

fn make_pool(place: &Place, seed: u64) -> (Vec<Volume>, Administrator) {
    let daemon = place.start();
    place.create_pool("tank", 0..DRIVES);
    let size = (LASTING_BLOCKS * 4096).to_string();
    let mut fates = BTreeMap::new();
    for (name, options) in LASTING {
        place.ok(&[&["volume", "create", name, "--size", &size, "--allow", "any"], options].concat());
        fates.insert(name.to_owned(), Fate::There);
    }
    daemon.terminate();
    let volume = |(index, (name, _))| Volume::new(name, LASTING_BLOCKS, seed ^ index as u64);
    (
        LASTING.into_iter().enumerate().map(volume).collect(),
        Administrator { made: 0, is_dying: Arc::default(), fates },
    )
}

/// From a start to the kill. Returns the volumes, with what is known of their blocks.
fn one_life(
    place: &Place,
    daemon: Daemon,
    volumes: Vec<Volume>,
    administrator: &mut Administrator,
    random: &mut XorShift,
    work: &mut Work,
) -> Vec<Volume> {
    let (mut doomed, kept): (Vec<_>, Vec<_>) = volumes
        .into_iter()
        .partition(|volume| volume.name.contains("passing") && random.below(2) == 0);
    let mut load = Load::start_until_lost(place, kept, random.next_u64());
    load.await_rounds();
    let life = Duration::from_millis(random.below(LIFE_MS_MAX));
    let counters = place.json(&["pool", "show", "tank"])["counters"].clone();
    let is_dying = Arc::new(AtomicBool::new(false));
    administrator.is_dying = is_dying.clone();
    let killer = std::thread::spawn(move || {
        std::thread::sleep(life);
        is_dying.store(true, Ordering::SeqCst);
        daemon.kill();
    });
    administrator.work_until_killed(place, &doomed, work);
    killer.join().expect("the daemon is killed");
    let (mut kept, operations) = load.join();
    work.operations += operations;
    work.checkpoints += counters["checkpoints"].as_u64().expect("a number");
    work.segments_collected += counters["segments_collected"].as_u64().expect("a number");
    kept.append(&mut doomed);
    kept
}

impl Administrator {
    /// Deletes what is doomed, and makes new volumes and deletes some of them at once, until the
    /// daemon no longer answers.
    fn work_until_killed(&mut self, place: &Place, doomed: &[Volume], work: &mut Work) {
        for volume in doomed {
            if !self.delete(place, &volume.name, work) {
                return;
            }
        }
        loop {
            self.made += 1;
            let name = format!("tank/passing-{}", self.made);
            let there = self.fates.values().filter(|fate| **fate == Fate::There).count();
            if !self.create(place, &name, work) {
                return;
            }
            if there >= LASTING.len() + PASSING_MAX && !self.delete(place, &name, work) {
                return;
            }
        }
    }

    fn create(&mut self, place: &Place, name: &str, work: &mut Work) -> bool {
        let size = (PASSING_BLOCKS * 4096).to_string();
        let acknowledged =
            self.ask(place, name, &["volume", "create", name, "--size", &size, "--allow", "any"]);
        if acknowledged {
            self.fates.insert(name.to_owned(), Fate::There);
            work.volumes_made += 1;
        }
        acknowledged
    }

    fn delete(&mut self, place: &Place, name: &str, work: &mut Work) -> bool {
        let acknowledged = self.ask(place, name, &["volume", "delete", name, "--yes"]);
        if acknowledged {
            self.fates.insert(name.to_owned(), Fate::Gone);
            work.volumes_deleted += 1;
        }
        acknowledged
    }

    /// Asks for a change. False if no answer came: then it may have been made or not.
    fn ask(&mut self, place: &Place, name: &str, arguments: &[&str]) -> bool {
        self.fates.insert(name.to_owned(), Fate::Unknown);
        let output = place.run(arguments);
        let acknowledged = output.status.success();
        let refused = !acknowledged && !self.is_dying.load(Ordering::SeqCst);
        assert!(!refused, "{arguments:?} was refused: {}", crate::support::text(&output.stderr));
        acknowledged
    }

    /// The daemon has all its drives, and exactly the volumes that it must have.
    fn check(&mut self, place: &Place) {
        assert_eq!(place.pool_states("tank"), ["online"]);
        let listed = place.json(&["volume", "list"]);
        let listed = listed.as_array().expect("a list").iter();
        let listed: Vec<String> = listed
            .map(|volume| format!("tank/{}", volume["name"].as_str().expect("a name")))
            .collect();
        for (name, fate) in &mut self.fates {
            let is_there = if listed.contains(name) { Fate::There } else { Fate::Gone };
            assert!(
                *fate == is_there || *fate == Fate::Unknown,
                "{name} must be {fate:?}: there are {listed:?}"
            );
            *fate = is_there;
        }
        for name in &listed {
            assert!(self.fates.contains_key(name), "nobody has made {name}");
        }
    }

    /// The volumes that are there; new ones hold zeros.
    fn volumes_of(&self, known: Vec<Volume>, seed: u64) -> Vec<Volume> {
        let mut known: BTreeMap<_, _> =
            known.into_iter().map(|volume| (volume.name.clone(), volume)).collect();
        let there = self.fates.iter().filter(|(_, fate)| **fate == Fate::There);
        let volume = |name: &String| {
            known.remove(name).unwrap_or_else(|| Volume::new(name, PASSING_BLOCKS, seed))
        };
        there.map(|(name, _)| name).map(volume).collect()
    }
}

/// Everything once more, and the end of the daemon as it should be.
fn last_check(
    place: &Place,
    daemon: Daemon,
    administrator: &mut Administrator,
    volumes: Vec<Volume>,
    seed: u64,
) {
    administrator.check(place);
    let volumes = administrator.volumes_of(volumes, seed);
    let mut load = Load::start(place, volumes, seed);
    load.await_rounds();
    load.join();
    daemon.terminate();
}
