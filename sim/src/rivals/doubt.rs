//! A pool that several machines reach, while too few of its drives say whose it is: who waits for
//! that does not wait for ever.

use ashlar_block::{AlignedBuf, Device, DriveId, Durability, IoError, SECTOR_BYTES};
use ashlar_store::format::root::Root;
use ashlar_store::format::superblock::Superblock;
use ashlar_store::{DriveCondition, DriveStatus, FoundDrive, Incarnation, live_holder, read_roots};

use super::*;
use crate::drive::SimDrive;
use crate::platter::Platter;
use crate::start::superblock;

/// Longer than drives are waited for that hang.
const GIVEN_UP: Duration = Duration::from_secs(60);

impl Scene {
    fn first_platters(&self, count: usize, change: impl Fn(&mut Platter)) {
        self.platters.iter().take(count).for_each(|platter| change(&mut platter.0.borrow_mut()));
    }

    fn hang(&self, count: usize, time: Duration) {
        let until = Nanos(self.world.now().0.saturating_add(time.as_nanos() as u64));
        self.first_platters(count, |platter| platter.hung_until = until);
    }

    /// A read and a write of each block, all of which end.
    async fn ask_for_all(&self, open: &Open) -> Vec<Result<(), IoError>> {
        let ask = async |block| {
            let read = self.versions.read(&open.pool, open.volume, block).await;
            [read, self.versions.write(&open.pool, open.volume, block).await]
        };
        join_all((0..BLOCKS).map(ask)).await.concat()
    }
}

/// What connects the drives hangs for longer than a look is good for, and then more drives than may
/// be lost refuse all that is asked. `vanish`: or are not there any more.
async fn hang_and_then_fail(scene: Scene, vanish: bool) {
    let open = scene.make(A).await;
    let lost = scene.level.parity() + 2;
    (0..BLOCKS / 2).for_each(|_| scene.spawn_hosts(&open));
    scene.pause(5_000_000).await;
    scene.hang(scene.platters.len(), Duration::from_secs(8));
    scene.world.sleep(Duration::from_secs(7)).await;
    assert!(open.pool.status().is_uncertain);
    scene.first_platters(lost, |platter| match vanish {
        true => platter.gone = true,
        false => platter.glitch_until = Nanos(u64::MAX),
    });
    let asked = scene.ask_for_all(&open).await;
    assert!(asked.iter().all(Result::is_err), "too few drives are left to confirm the lease");
    scene.world.sleep(Duration::from_secs(5)).await;
    assert!(open.pool.halted().is_some());
    assert!(!open.pool.status().is_uncertain);
}

/// Of three copies two hang for good. Without them nothing new is safe, so that they would be
/// waited for; but then nothing could be read.
async fn two_of_three_copies_hang(scene: Scene) {
    let open = scene.make(A).await;
    for block in 0..BLOCKS {
        scene.versions.write(&open.pool, open.volume, block).await.expect("good drives");
    }
    scene.hang(2, Duration::from_secs(1 << 20));
    scene.world.sleep(GIVEN_UP).await;
    for block in 0..BLOCKS {
        scene.versions.read(&open.pool, open.volume, block).await.expect("one copy is left");
    }
    let status = open.pool.status();
    let given_up = |drive: &&DriveStatus| matches!(drive.condition, DriveCondition::Failed(_));
    assert_eq!(status.drives.iter().filter(given_up).count(), 2);
    assert_eq!((status.is_uncertain, status.halted), (false, None));
}

/// A drive is added while more drives hang than the pool can do without: that ends, though it
/// cannot be told how.
async fn add_while_drives_hang(scene: Scene) {
    let open = scene.make(A).await;
    let new = crate::good::platters(1, CHUNKS, CHUNK_BYTES).remove(0);
    scene.hang(scene.platters.len(), GIVEN_UP * 2);
    let began = scene.world.now();
    let own = scene.world.seen_from(A);
    let added = open.pool.add_drive(SimDrive::new(&own, &new), None).await;
    assert!(added.is_err());
    assert!(scene.world.now().since(began) < GIVEN_UP);
    scene.world.sleep(GIVEN_UP * 2).await;
    // It was on its way all the same.
    scene.check(&open).await;
    assert_eq!(open.pool.status().drives.len(), scene.platters.len() + 1);
}

/// The first root of a start that came to no end, over the drive's own newest one.
async fn leave_a_stray_root_on(device: &SimDrive) {
    let superblock = superblock(device).await.expect("it is there");
    let last = read_roots(device, superblock.pool).await.pop().expect("it was a member");
    let line = [(Incarnation(!last.incarnation().0), last.generation)]
        .into_iter()
        .chain(last.line.clone());
    let mut stray = Root { line: line.collect(), ..last }.encode();
    stray.resize(stray.len().next_multiple_of(SECTOR_BYTES), 0);
    let slot = Superblock::root_offset(last.generation.0);
    let written =
        device.write(slot, AlignedBuf::copy_of(&stray).freeze(), Durability::Stable).await;
    written.expect("a good drive");
}

/// A drive comes back with a root that a start had brought to it alone when the power failed. It is
/// nobody's; but the roots decide who has the pool after a pause in the middle of a heartbeat.
async fn return_with_a_stray_root(scene: Scene) {
    let open = scene.make(A).await;
    scene.spawn_hosts(&open);
    scene.pause(5_000_000).await;
    open.pool.fail_drive(DriveId(0), false).await.expect("the others are there");
    let own = scene.world.seen_from(A);
    let device = SimDrive::new(&own, &scene.platters[0]);
    leave_a_stray_root_on(&device).await;
    open.pool.forget_lost(DriveId(0)).await.expect("a root says that it is lost");
    let superblock = superblock(&device).await.expect("it is there");
    open.pool
        .return_drive(DriveId(0), FoundDrive { superblock, device })
        .await
        .expect("nobody has gone on with it");
    scene.world.freeze_at(A, Heartbeat::OFFSET, 1 + scene.world.below(16));
    scene.world.sleep(Duration::from_secs(8)).await;
    scene.world.freeze(A);
    scene.world.sleep(Duration::from_secs(10)).await;
    scene.world.thaw(A);
    scene.world.sleep(OPENED).await;
    scene.check(&open).await;
}

/// Whoever wants to empty a drive looks whether a machine sends heartbeats to it. A machine that
/// has claimed the pool and waits has written one heartbeat, and writes the next when it has opened
/// it.
async fn look_for_life_while_it_is_claimed(scene: Scene) {
    let first = scene.make(A).await;
    scene.world.freeze(A);
    let (other, is_open) = (scene.clone(), Rc::new(Cell::new(false)));
    let opened = is_open.clone();
    scene.world.spawn(async move { opened.set(other.open(B).await.is_ok()) });
    // It watches for eight seconds, and settles for eight.
    scene.world.sleep(Duration::from_secs(9)).await;
    scene.pause(6_000_000).await;
    let third = scene.world.seen_from(Machine(3));
    let device = SimDrive::new(&third, &scene.platters[0]);
    let holder = live_holder(&third, &device, first.pool.status().uuid).await;
    assert_eq!(holder.as_deref(), Some("machine 2"));
    scene.world.sleep(OPENED).await;
    assert!(is_open.get());
}

/// Level 6 is still served with two of six drives less: more than that is lost.
const LOSING: [(Level, usize); 3] = [(Level::RAID5, 4), (Level::RAID6, 6), (Level::RAID1, 3)];

/// Writes waited for a look that nobody could take any more, and so did reads that had been
/// answered: for ever.
#[test]
fn what_waits_for_drives_that_fail_while_they_are_to_say_whose_the_pool_is_ends() {
    for (seed, pool) in (0..4).flat_map(|seed| LOSING.map(|pool| (seed, pool))) {
        for vanish in [false, true] {
            Scene::new(seed, pool).run(|scene| hang_and_then_fail(scene, vanish));
        }
    }
}

#[test]
fn what_is_left_of_three_copies_is_read_though_the_others_hang() {
    let three_copies = Level::of(1, 2).expect("three copies");
    for seed in 0..4 {
        Scene::new(seed, (three_copies, 3)).run(two_of_three_copies_hang);
    }
}

#[test]
fn a_drive_that_is_added_while_too_many_hang_is_not_waited_for_for_ever() {
    for seed in 0..4 {
        Scene::new(seed, (Level::RAID6, 6)).run(add_while_drives_hang);
    }
}

#[test]
fn a_root_that_came_to_one_drive_alone_is_not_taken_for_another_machines_when_that_is_back() {
    for seed in 0..20 {
        Scene::new(seed, (Level::RAID5, 4)).run(return_with_a_stray_root);
    }
}

#[test]
fn a_machine_that_is_about_to_open_a_pool_is_seen_by_who_looks_for_it() {
    for seed in 0..10 {
        Scene::new(seed, (Level::RAID5, 4)).run(look_for_life_while_it_is_claimed);
    }
}
