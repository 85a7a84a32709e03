//! Finds the members of pools by their labels: on all block devices of the machine, and in known
//! directories.
//!
//! One thread looks after the list of devices and directories. It reads a drive's label once, when
//! the drive is new or has changed, and each such read is done by a thread of its own, because a
//! drive may never answer. Nothing else waits for any of them: what is known by now is a
//! [`Snapshot`], which anybody may look at.
//!
//! A label only says what a drive claims to be. Whoever opens a pool or takes a drive back judges
//! that again, under the drive's lock.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};

use anyhow::Context;
use ashlar_block::{DriveId, DriveUuid};
use ashlar_drive::{DriveMark, Machine};
use ashlar_node::KnownPlaces;
use ashlar_volume::{NoMember, Sought};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use tokio::sync::watch;

use look::{Looker, Message};
pub use missed::path_of;
pub use newest::older_copy;
use survey::Survey;

mod choose;
mod copies;
mod jobs;
mod look;
mod missed;
mod newest;
mod survey;
mod table;

/// What is looked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wanted {
    /// The pools that the node has.
    pub pools: Vec<WantedPool>,
    /// Directories in which drives may be files.
    pub directories: Vec<PathBuf>,
}

/// A pool of which members are looked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WantedPool {
    /// Its UUID.
    pub uuid: String,
    /// Where its drives were last, with their identities.
    pub drives: Vec<(String, String)>,
}

/// What is known by now.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Snapshot {
    /// Where drives of pools are, by the pools' UUIDs. A pool stands here once somebody wants it.
    pub pools: BTreeMap<String, PoolPlaces>,
    /// The names that outlive restarts, by what the kernel calls block devices now.
    pub stable_names: BTreeMap<String, String>,
}

/// Where the drives of a pool are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PoolPlaces {
    /// One place for each drive.
    pub drives: Vec<FoundPlace>,
    /// Drives whose label is in several places: which of them is the drive nobody can tell.
    pub copies: Vec<Copies>,
    /// Where members were, and no member of the pool is now.
    pub missed: Vec<NoMember>,
    /// Nothing more is to be expected soon: all that is there has been looked at, or does not
    /// answer.
    pub is_settled: bool,
}

impl PoolPlaces {
    /// Why drives are not among those that were found.
    pub fn missed_and_copies(&self) -> Vec<NoMember> {
        let places = self.copies.iter().map(|copies| copies.specs[0].clone());
        let copies = places.zip(self.copies_in_words()).map(|(spec, why)| NoMember { spec, why });
        self.missed.iter().cloned().chain(copies).collect()
    }

    /// What there is to say of labels that several drives carry.
    pub fn copies_in_words(&self) -> Vec<String> {
        let words = |copies: &Copies| {
            let (specs, drive) = (copies.specs.join(" and "), copies.drive.0);
            format!(
                "{specs} carry one label, that of drive-{drive}: one is a copy of the other, so \
                 Ashlar uses none of them; take the copy away"
            )
        };
        self.copies.iter().map(words).collect()
    }
}

/// A drive with the label of a pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundPlace {
    /// Its identity by the label.
    pub uuid: DriveUuid,
    /// Its number by the label.
    pub drive: DriveId,
    /// How it is named to open it.
    pub spec: String,
    /// Changes when the drive does.
    pub mark: DriveMark,
    /// Other drives that carry its label.
    pub others: Vec<String>,
}

/// A label that several drives carry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Copies {
    /// The identity that it gives.
    pub uuid: DriveUuid,
    /// The number that it gives.
    pub drive: DriveId,
    /// Where they are.
    pub specs: Vec<String>,
}

/// What the search knows now.
struct Places(watch::Receiver<Arc<Snapshot>>);

impl KnownPlaces for Places {
    fn sought(&self, pool: &str) -> Sought {
        let known = self.0.borrow();
        let Some(places) = known.pools.get(pool) else { return Sought::default() };
        let drives = places.drives.iter().map(|found| (found.uuid, found.spec.clone())).collect();
        Sought { drives, missed: places.missed_and_copies() }
    }

    fn stable_name(&self, kernel: &str) -> Option<String> {
        self.0.borrow().stable_names.get(kernel).cloned()
    }
}

/// The way to the thread that looks. Clones lead to the same one, which ends with the last of them.
#[derive(Clone)]
pub struct Finder {
    shared: Arc<Shared>,
}

struct Shared {
    messages: Mutex<Sender<Message>>,
    wake: Arc<OwnedFd>,
    snapshot: watch::Receiver<Arc<Snapshot>>,
}

impl Finder {
    /// Begins to look on `machine`. Volumes of the subsystem `own_nqn` are left alone.
    ///
    /// # Errors
    /// When the operating system has no thread or descriptor to give.
    pub fn start(machine: Machine, own_nqn: String, wanted: Wanted) -> anyhow::Result<Self> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let wake = Arc::new(wake.context("the search for drives cannot be woken")?);
        let (messages, received) = mpsc::channel();
        let (publish, snapshot) = watch::channel(Arc::default());
        let jobs = jobs::Jobs::new(messages.clone(), wake.clone());
        let looker = Looker::new(Survey::new(machine, own_nqn), wanted, jobs, publish);
        let woken = wake.clone();
        let look = move || looker.run(&received, &woken);
        let thread = std::thread::Builder::new().name("finder".to_owned()).spawn(look);
        thread.context("the search for drives cannot be started")?;
        Ok(Finder { shared: Arc::new(Shared { messages: Mutex::new(messages), wake, snapshot }) })
    }

    /// What is known by now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.shared.snapshot.borrow().clone()
    }

    /// What is known at any time, for whoever opens drives. It does not keep the search going.
    pub fn known_places(&self) -> Arc<dyn KnownPlaces> {
        Arc::new(Places(self.subscribe()))
    }

    /// What is known, and each change of it.
    pub fn subscribe(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.shared.snapshot.clone()
    }

    /// This is looked for from now on. Labels of pools that have changed are read again.
    pub fn want(&self, wanted: Wanted) {
        self.shared.send(Message::Want(wanted));
    }

    /// Labels may have been written: they are read again.
    pub fn look_again(&self) {
        self.shared.send(Message::LookAgain);
    }
}

impl Shared {
    fn send(&self, message: Message) {
        let messages = self.messages.lock().expect("no holder of the lock panics");
        // Once the thread has ended, so has the daemon.
        if messages.send(message).is_ok() {
            jobs::wake(&self.wake);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.send(Message::Stop);
    }
}
