//! One seed: a pool, its drives' faults, its hosts, and the power that fails.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{
    AlignedBuf, BLOCK_BYTES, Cause, Clock, Device, Lba, Nanos, SECTOR_BYTES, Spawn, VolumeId, XorShift,
};
use ashlar_raid::Level;
use ashlar_store::format::superblock::Superblock;
use ashlar_store::{
    FoundDrive, NewPool, OpenError, OpenPolicy, Options, Store, VolumeEntry, VolumeState, create,
};
use bytes::Bytes;

use crate::drive::{Faults, SharedPlatter, SimDrive};
use crate::model::{Model, Version, content, version_of};
use crate::world::{Ended, SimWorld};

type Pool = Store<SimWorld>;

/// What a seed has done.
#[derive(Clone, Copy, Default, Debug)]
pub struct Outcome {
    /// Power cuts and restarts.
    pub crashes: u64,
    /// Of these, during recovery.
    pub recovery_crashes: u64,
    /// Acknowledged writes and trims.
    pub acknowledged: u64,
    /// Batches that were replayed.
    pub replayed: u64,
    /// Torn batches that were dropped.
    pub torn: u64,
    /// Batches that were written anew.
    pub rewritten: u64,
    /// Segments that garbage collection emptied.
    pub collected: u64,
    /// Sweeps of the map, after which segment numbers came back.
    pub sweeps: u64,
    /// Drives that were lost.
    pub drives_lost: u64,
    /// Wrong bytes that were corrected.
    pub lies_corrected: u64,
}

impl Outcome {
    /// Both together.
    pub fn plus(&self, other: &Outcome) -> Outcome {
        Outcome {
            crashes: self.crashes + other.crashes,
            recovery_crashes: self.recovery_crashes + other.recovery_crashes,
            acknowledged: self.acknowledged + other.acknowledged,
            replayed: self.replayed + other.replayed,
            torn: self.torn + other.torn,
            rewritten: self.rewritten + other.rewritten,
            collected: self.collected + other.collected,
            sweeps: self.sweeps + other.sweeps,
            drives_lost: self.drives_lost + other.drives_lost,
            lies_corrected: self.lies_corrected + other.lies_corrected,
        }
    }
}

/// The shape of one seed's scenario.
#[derive(Clone, Debug)]
struct Plan {
    level: Level,
    drives: usize,
    drive_bytes: u64,
    chunk_bytes: u32,
    /// As few as there may be, or as many.
    segment_numbers: Option<u32>,
    volume_blocks: u64,
    hosts: u64,
    map_memory_bytes: usize,
    /// Drives that may do anything; no more than the level survives.
    bad_drives: Vec<usize>,
    cycles: u64,
}

impl Plan {
    fn of(rng: &mut XorShift) -> Self {
        let (level, drives) = match rng.below(6) {
            0 => (Level::Raid0, 1 + rng.below(3) as usize),
            1 => (Level::Raid1, 2 + rng.below(3) as usize),
            2 | 3 => (Level::Raid5, 3 + rng.below(4) as usize),
            _ => (Level::Raid6, 4 + rng.below(4) as usize),
        };
        let chunk_bytes = 64 << 10 << rng.below(2);
        let chunks = 48 + rng.below(48);
        let mut bad_drives: Vec<usize> = Vec::new();
        while bad_drives.len() < level.parity() && rng.below(4) > 0 {
            let drive = rng.below(drives as u64) as usize;
            if !bad_drives.contains(&drive) {
                bad_drives.push(drive);
            }
        }
        let data = level.data_columns(drives).expect("chosen to fit") as u64;
        let stripes = chunks * drives as u64 / (data + level.parity() as u64);
        let drive_bytes = (1 << 20) + chunks * u64::from(chunk_bytes);
        let segments_max = drive_bytes / u64::from(chunk_bytes) * drives as u64 / (level.parity() as u64 + 1);
        let usable_blocks = stripes * data * u64::from(chunk_bytes) / BLOCK_BYTES as u64;
        Plan {
            level,
            drives,
            drive_bytes,
            chunk_bytes,
            segment_numbers: (rng.below(4) > 0).then_some(4 * segments_max as u32),
            // From a nearly empty pool to one that is over-full when nothing compresses.
            volume_blocks: 64 + rng.below(usable_blocks * 9 / 10),
            hosts: 1 + rng.below(12),
            map_memory_bytes: if rng.below(2) == 0 { 32 << 10 } else { 4 << 20 },
            bad_drives,
            cycles: 2 + rng.below(4),
        }
    }
}

/// Everything that outlives a power cut.
struct Sim {
    seed: u64,
    plan: Plan,
    platters: Vec<SharedPlatter>,
    model: Rc<RefCell<BTreeMap<VolumeId, Model>>>,
    deleted: Rc<RefCell<BTreeSet<VolumeId>>>,
    next_version: Rc<Cell<Version>>,
    rng: XorShift,
    now: Nanos,
    outcome: Rc<Cell<Outcome>>,
    absent: Vec<usize>,
    failure: Rc<RefCell<Option<String>>>,
}

/// Runs one seed. An error is a bug, of the store or of the simulation.
pub fn run(seed: u64) -> Result<Outcome, String> {
    let mut rng = XorShift::new(seed);
    let plan = Plan::of(&mut rng);
    tracing::debug!(?plan, "seed {seed}");
    let mut sim = Sim {
        seed,
        platters: (0..plan.drives).map(|_| SharedPlatter::new(plan.drive_bytes)).collect(),
        plan,
        model: Rc::default(),
        deleted: Rc::default(),
        next_version: Rc::new(Cell::new(1)),
        rng,
        now: Nanos(0),
        outcome: Rc::default(),
        absent: Vec::new(),
        failure: Rc::default(),
    };
    sim.create()?;
    for cycle in 0..sim.plan.cycles {
        sim.cycle(cycle)?;
    }
    sim.last_look()?;
    Ok(sim.outcome.get())
}

impl Sim {
    fn world(&mut self) -> SimWorld {
        SimWorld::new(self.rng.next_u64(), self.now)
    }

    fn create(&mut self) -> Result<(), String> {
        let world = self.world();
        let drives = self.platters.iter().map(|platter| SimDrive::new(&world, platter)).collect();
        let new = NewPool {
            name: "sim".into(),
            level: self.plan.level,
            chunk_bytes: Some(self.plan.chunk_bytes),
            segment_numbers: self.plan.segment_numbers,
        };
        let failure = self.failure.clone();
        let own = world.clone();
        let main = async move {
            if let Err(error) = create(&own, &new, drives).await {
                *failure.borrow_mut() = Some(format!("create: {error}"));
            }
        };
        self.drive(&world, main, u64::MAX).map(drop)
    }

    /// Runs `main` until it is done, or until that many drive operations have been made.
    fn drive(
        &mut self,
        world: &SimWorld,
        main: impl Future<Output = ()> + 'static,
        operations: u64,
    ) -> Result<Ended, String> {
        let count = |platters: &[SharedPlatter]| {
            platters.iter().map(|platter| platter.0.borrow().operations).sum::<u64>()
        };
        let until = count(&self.platters).saturating_add(operations);
        let platters = self.platters.clone();
        let failure = self.failure.clone();
        let ended = world.run(main, move || failure.borrow().is_some() || count(&platters) >= until);
        self.now = world.now();
        if ended == Ended::Cut {
            self.platters.iter().for_each(|platter| platter.cut_power(world));
            self.model.borrow_mut().values_mut().for_each(Model::cut);
        }
        world.stop();
        match self.failure.borrow_mut().take() {
            Some(failure) => Err(format!("seed {}: {failure}", self.seed)),
            None => Ok(ended),
        }
    }

    /// A start, hosts at work, and the end of it: a power cut anywhere, or a clean stop.
    fn cycle(&mut self, cycle: u64) -> Result<(), String> {
        self.set_faults();
        let world = self.world();
        let clean = self.rng.below(6) == 0;
        let operations = match self.rng.below(3) {
            0 => self.rng.below(200),
            1 => self.rng.below(3000),
            _ => self.rng.below(20_000),
        };
        let hosts = self.hosts(&world, if clean { 200 } else { u64::MAX });
        let opened = Rc::new(Cell::new(false));
        let main = hosts.work(opened.clone());
        let ended = self.drive(&world, main, if clean { u64::MAX } else { operations })?;
        let mut outcome = self.outcome.get();
        outcome.crashes += 1;
        outcome.recovery_crashes += u64::from(ended == Ended::Cut && !opened.get());
        self.outcome.set(outcome);
        tracing::debug!("cycle {cycle}: {ended:?}, opened {}", opened.get());
        Ok(())
    }

    /// The last start: no more faults, everything is read and counted.
    fn last_look(&mut self) -> Result<(), String> {
        for platter in &self.platters {
            platter.0.borrow_mut().faults = Faults::default();
        }
        for hosts in [0, 1] {
            let world = self.world();
            let main = self.hosts(&world, 50 * hosts).work(Rc::default());
            self.drive(&world, main, u64::MAX)?;
        }
        Ok(())
    }

    /// Which drives are there, and how bad they are.
    fn set_faults(&mut self) {
        for drive in self.plan.bad_drives.clone() {
            let mut platter = self.platters[drive].0.borrow_mut();
            let mut rare = |times: u64| if self.rng.below(3) == 0 { 1 + self.rng.below(times) } else { 0 };
            platter.faults = Faults {
                lost_write: rare(400),
                misdirected_write: rare(800),
                rot: rare(400),
                read_error: rare(200),
                write_error: rare(3000),
                flush_error: rare(60),
                vanish: rare(8000),
            };
            platter.gone = false;
            drop(platter);
            // Once away, it may come back with what it had.
            let away = self.absent.contains(&drive);
            if away != (self.rng.below(4) == 0) {
                self.absent.retain(|absent| *absent != drive);
            } else if !away {
                self.absent.push(drive);
            }
        }
    }

    fn hosts(&mut self, world: &SimWorld, writes: u64) -> Hosts {
        let there = (0..self.plan.drives).filter(|drive| !self.absent.contains(drive));
        Hosts {
            world: world.clone(),
            plan: self.plan.clone(),
            drives: there.map(|drive| SimDrive::new(world, &self.platters[drive])).collect(),
            model: self.model.clone(),
            deleted: self.deleted.clone(),
            next_version: self.next_version.clone(),
            outcome: self.outcome.clone(),
            failure: self.failure.clone(),
            writes_left: Rc::new(Cell::new(writes)),
        }
    }
}

/// The hosts of one start.
struct Hosts {
    world: SimWorld,
    plan: Plan,
    drives: Vec<SimDrive>,
    model: Rc<RefCell<BTreeMap<VolumeId, Model>>>,
    /// Volumes whose deletion has been acknowledged.
    deleted: Rc<RefCell<BTreeSet<VolumeId>>>,
    next_version: Rc<Cell<Version>>,
    outcome: Rc<Cell<Outcome>>,
    failure: Rc<RefCell<Option<String>>>,
    writes_left: Rc<Cell<u64>>,
}

impl Hosts {
    async fn work(mut self, opened: Rc<Cell<bool>>) {
        let drives = std::mem::take(&mut self.drives);
        let Some(pool) = self.open(drives).await else { return };
        opened.set(true);
        let this = Rc::new(self);
        if let Err(error) = this.clone().check_and_work(&pool).await {
            this.failure.borrow_mut().get_or_insert(error);
        }
        let mut outcome = this.outcome.get();
        let status = pool.status();
        if let Some(why) = status.halted.as_ref().filter(|why| !why.contains("closed")) {
            this.failure.borrow_mut().get_or_insert(format!("the pool halted: {why}"));
        }
        outcome.collected += status.counters.segments_collected;
        outcome.sweeps += status.counters.sweeps;
        outcome.lies_corrected += status.counters.lies_corrected;
        outcome.drives_lost += status
            .drives
            .iter()
            .filter(|drive| drive.condition != ashlar_store::DriveCondition::Online)
            .count() as u64;
        this.outcome.set(outcome);
    }

    async fn open(&self, drives: Vec<SimDrive>) -> Option<Pool> {
        let mut found = Vec::new();
        for device in drives {
            found.extend(superblock(&device).await.map(|superblock| FoundDrive { superblock, device }));
        }
        let options = Options { map_memory_bytes: self.plan.map_memory_bytes, ..Options::default() };
        match Store::open(&self.world, found, options, OpenPolicy { degraded: true }).await {
            Ok((pool, opened)) => {
                let mut outcome = self.outcome.get();
                outcome.replayed += opened.replayed;
                outcome.torn += opened.torn;
                outcome.rewritten += opened.rewritten;
                self.outcome.set(outcome);
                Some(pool)
            }
            // A bad drive that dies while it is needed to open: nothing is lost, the next start may find it again.
            Err(OpenError::Io(error)) if error.cause == Cause::WriteFault => None,
            Err(error) => {
                self.failure.borrow_mut().get_or_insert(format!("open: {error}"));
                None
            }
        }
    }

    async fn check_and_work(self: Rc<Self>, pool: &Pool) -> Result<(), String> {
        self.check_all(pool).await?;
        self.audit(pool).await?;
        self.delete_volumes(pool).await?;
        self.make_volumes(pool).await?;
        let mut done = Vec::new();
        for _ in 0..self.plan.hosts {
            let result: Rc<Cell<Option<Result<(), String>>>> = Rc::default();
            let (this, pool, own) = (self.clone(), pool.clone(), result.clone());
            self.world.spawn(async move { own.set(Some(this.host(&pool).await)) });
            done.push(result);
        }
        for result in done {
            loop {
                match result.take() {
                    Some(ended) => break ended?,
                    None => self.world.sleep(Duration::from_millis(1)).await,
                }
            }
        }
        self.check_all(pool).await?;
        self.audit(pool).await?;
        match pool.close().await {
            Err(error) if pool.status().halted.is_none() => Err(format!("close: {error}")),
            _ => Ok(()),
        }
    }

    // --- checking -----------------------------------------------------------------------------------------------

    /// Reads every block that may hold something, and some that may not.
    async fn check_all(&self, pool: &Pool) -> Result<(), String> {
        let volumes = pool.volumes();
        let ids: Vec<VolumeId> = self.model.borrow().keys().copied().collect();
        for id in ids {
            let Some(volume) = volumes.get(&id).filter(|volume| volume.state == VolumeState::Live) else {
                return Err(format!("{id:?} is gone"));
            };
            let blocks: Vec<u64> = self.model.borrow()[&id].known_blocks();
            let mut found = BTreeMap::new();
            for block in blocks.into_iter().filter(|block| *block < volume.blocks) {
                found.insert(block, self.check_block(pool, id, block).await?);
            }
            self.model.borrow_mut().get_mut(&id).expect("just seen").check_atomic(&found)?;
        }
        Ok(())
    }

    async fn check_block(&self, pool: &Pool, id: VolumeId, block: u64) -> Result<Version, String> {
        let before = self.model.borrow()[&id].versions(block);
        let read = pool.read(id, Lba(block), 1).await;
        let bytes = read.map_err(|error| format!("block {block} of {id:?}: {error}"))?;
        let Some(version) = version_of(block, &bytes) else {
            return Err(format!("block {block} of {id:?} reads as nothing that was ever written to it"));
        };
        let mut models = self.model.borrow_mut();
        let model = models.get_mut(&id).expect("just seen");
        // A write may have ended while the read went on.
        if !before.contains(&version) && !model.allows(block, version) {
            return Err(format!("block {block} of {id:?} reads as version {version}, and may be {before:?}"));
        }
        if model.allows(block, version) {
            model.decide(block, version);
        }
        Ok(version)
    }

    async fn audit(&self, pool: &Pool) -> Result<(), String> {
        let audit = pool.audit().await.map_err(|error| format!("audit: {error}"))?;
        if audit.wrong.is_empty() { Ok(()) } else { Err(format!("audit: {}", audit.wrong.join("; "))) }
    }

    // --- working ------------------------------------------------------------------------------------------------

    /// Deletes what a crash left of creations and deletions on their way, and sometimes a volume that is in use: its
    /// blocks are discarded while the hosts work on the others.
    async fn delete_volumes(&self, pool: &Pool) -> Result<(), String> {
        let live = |(id, volume): (VolumeId, VolumeEntry)| (volume.state == VolumeState::Live).then_some(id);
        let live: Vec<VolumeId> = pool.volumes().into_iter().filter_map(live).collect();
        if let Some(back) = live.iter().find(|id| self.deleted.borrow().contains(id)) {
            return Err(format!("{back:?} was deleted and is back"));
        }
        let chosen =
            self.world.once_in(4).then(|| self.model.borrow_mut().pop_first()).flatten().map(|(id, _)| id);
        let unknown =
            live.into_iter().filter(|id| !self.model.borrow().contains_key(id) && Some(*id) != chosen);
        for id in unknown.chain(chosen).collect::<Vec<_>>() {
            match pool.delete_volume(id).await {
                Ok(()) => drop(self.deleted.borrow_mut().insert(id)),
                Err(error) if matches!(error.cause, Cause::WriteFault | Cause::NoSuchVolume) => {}
                Err(error) => return Err(format!("delete {id:?}: {error}")),
            }
        }
        Ok(())
    }

    async fn make_volumes(&self, pool: &Pool) -> Result<(), String> {
        while self.model.borrow().len() < 2 {
            let blocks = self.plan.volume_blocks / 2;
            match pool.create_volume(blocks, !self.world.once_in(4), Bytes::from_static(b"sim")).await {
                Ok(id) => drop(self.model.borrow_mut().insert(id, Model::default())),
                Err(error) if error.cause == Cause::WriteFault => return Ok(()),
                Err(error) => return Err(format!("create volume: {error}")),
            }
        }
        Ok(())
    }

    async fn host(&self, pool: &Pool) -> Result<(), String> {
        while self.writes_left.get() > 0 && pool.halted().is_none() {
            self.writes_left.set(self.writes_left.get() - 1);
            let ids: Vec<VolumeId> = self.model.borrow().keys().copied().collect();
            let Some(id) = ids.get(self.world.below(ids.len().max(1) as u64) as usize).copied() else {
                return Ok(());
            };
            match self.world.below(20) {
                0..=10 => self.write(pool, id).await?,
                11 | 12 => self.zero(pool, id).await?,
                13 if self.world.once_in(40) => drop(pool.checkpoint().await),
                14 => self.world.sleep(Duration::from_micros(self.world.below(20_000))).await,
                _ => {
                    let block = self.world.below(self.plan.volume_blocks / 2);
                    self.check_block(pool, id, block).await?;
                }
            }
        }
        Ok(())
    }

    async fn write(&self, pool: &Pool, id: VolumeId) -> Result<(), String> {
        let count = match self.world.below(4) {
            0 | 1 => 1,
            2 => 1 + self.world.below(12),
            _ => 1 + self.world.below(80),
        };
        let blocks = self.some_blocks(count);
        let version = self.next_version.get();
        self.next_version.set(version + 1);
        let version = if self.world.once_in(30) { 0 } else { version };
        let atomic = blocks.len() <= 12;
        if !self.begin(id, &blocks, version, atomic) {
            return Ok(());
        }
        let data = blocks.iter().map(|block| content(*block, version)).collect::<Vec<_>>().concat();
        let written = pool.write(id, Lba(blocks[0]), AlignedBuf::copy_of(&data).freeze()).await;
        self.end(id, &blocks, version, written)
    }

    async fn zero(&self, pool: &Pool, id: VolumeId) -> Result<(), String> {
        let count = if self.world.once_in(10) { self.plan.volume_blocks } else { 1 + self.world.below(300) };
        let blocks = self.some_blocks(count);
        if !self.begin(id, &blocks, 0, false) {
            return Ok(());
        }
        let zeroed = pool.zero(id, Lba(blocks[0]), blocks.len() as u64).await;
        self.end(id, &blocks, 0, zeroed)
    }

    fn some_blocks(&self, count: u64) -> Vec<u64> {
        let volume_blocks = self.plan.volume_blocks / 2;
        // Some blocks are written much more often than others.
        let range = if self.world.once_in(2) { volume_blocks } else { volume_blocks.div_ceil(8) };
        let first = self.world.below(range);
        (first..(first + count).min(volume_blocks)).collect()
    }

    fn begin(&self, id: VolumeId, blocks: &[u64], version: Version, atomic: bool) -> bool {
        self.model.borrow_mut().get_mut(&id).expect("chosen from the model").begin(blocks, version, atomic)
    }

    fn end(
        &self,
        id: VolumeId,
        blocks: &[u64],
        version: Version,
        done: Result<(), ashlar_block::IoError>,
    ) -> Result<(), String> {
        tracing::debug!("{id:?} {}..+{} version {version}: {done:?}", blocks[0], blocks.len());
        let mut models = self.model.borrow_mut();
        let model = models.get_mut(&id).expect("chosen from the model");
        match done {
            Ok(()) => {
                model.acknowledge(blocks, version);
                let mut outcome = self.outcome.get();
                outcome.acknowledged += 1;
                self.outcome.set(outcome);
                Ok(())
            }
            Err(error)
                if matches!(
                    error.cause,
                    Cause::CapacityExceeded | Cause::WriteFault | Cause::WriteProtected | Cause::NotReady
                ) =>
            {
                model.failed(blocks, version);
                Ok(())
            }
            Err(error) => Err(format!("write: {error}")),
        }
    }
}

/// The drive's superblock, if one of its copies can be read.
async fn superblock(device: &SimDrive) -> Option<Superblock> {
    for offset in [Superblock::FIRST_OFFSET, Superblock::second_offset(device.size_bytes())] {
        for _ in 0..3 {
            let (read, buf) = device.read(offset, AlignedBuf::stale(SECTOR_BYTES)).await;
            if let (Ok(()), Ok(superblock)) = (read, Superblock::decode(&buf)) {
                return Some(superblock);
            }
        }
    }
    None
}
