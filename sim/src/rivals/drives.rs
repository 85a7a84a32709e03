//! What becomes of a pool that several machines reach when its drives fail as well.

use ashlar_block::DriveId;
use ashlar_store::FoundDrive;

use super::*;
use crate::drive::SimDrive;
use crate::start::superblock;

/// Longer than a drive is waited for by whoever closes a pool, and than all that happens before.
const CLOSED_MAX: Duration = Duration::from_secs(90);

impl Scene {
    fn drives_hang_for(&self, time: Duration) {
        let until = Nanos(self.world.now().0 + time.as_nanos() as u64);
        self.platters.iter().for_each(|platter| platter.0.borrow_mut().hung_until = until);
    }

    fn first_drives_are_gone(&self, count: usize, gone: bool) {
        self.platters.iter().take(count).for_each(|platter| platter.0.borrow_mut().gone = gone);
    }

    /// A pool of the first machine, which hosts have written to.
    async fn in_use(&self) -> Open {
        let open = self.make(A).await;
        self.spawn_hosts(&open);
        self.pause(5_000_000).await;
        open
    }

    async fn ends_in_time(&self, open: &Open) {
        let began = self.world.now();
        let closed = open.pool.close().await;
        assert!(closed.is_err(), "a last checkpoint cannot have been written");
        let took = self.world.now().since(began);
        assert!(took < CLOSED_MAX, "closing it took {took:?}");
    }
}

async fn close_while_drives_hang(scene: Scene) {
    let first = scene.in_use().await;
    scene.drives_hang_for(CLOSED_MAX * 2);
    scene.ends_in_time(&first).await;
    scene.world.sleep(CLOSED_MAX * 2).await;
    drop(first);
    scene.check(&scene.open(B).await.expect("nobody has it")).await;
}

async fn close_while_drives_are_gone(scene: Scene) {
    let first = scene.in_use().await;
    scene.first_drives_are_gone(scene.platters.len(), true);
    scene.pause(10_000_000).await;
    scene.ends_in_time(&first).await;
    scene.first_drives_are_gone(scene.platters.len(), false);
    drop(first);
    scene.check(&scene.open(B).await.expect("nobody has it")).await;
}

/// It has halted for want of drives before another machine, which reaches them all, opens it.
async fn halt_and_be_taken(scene: Scene) {
    let first = scene.in_use().await;
    scene.first_drives_are_gone(scene.level.parity() + 1, true);
    scene.world.sleep(Duration::from_secs(2)).await;
    assert!(first.pool.halted().is_some());
    assert_eq!(first.pool.taken_by(), None);
    scene.world.freeze(A);
    scene.first_drives_are_gone(scene.level.parity() + 1, false);
    let second = scene.open(B).await.expect("the other one is stopped");
    scene.spawn_hosts(&second);
    scene.world.thaw(A);
    scene.world.sleep(OPENED).await;
    assert_eq!(first.pool.taken_by().as_deref(), Some("machine 2"));
    scene.check(&second).await;
}

/// One machine reaches the first drive only from now on, and another one all the others. Both
/// answer hosts as long as they may.
async fn part_the_drives(scene: Scene) {
    let first = scene.in_use().await;
    for (at, platter) in scene.platters.iter().enumerate() {
        let cut_off = if at == 0 { B } else { A };
        platter.0.borrow_mut().unreachable_from.insert(cut_off);
    }
    let second = loop {
        match scene.open(B).await {
            Ok(second) => break second,
            Err(error) => {
                assert!(matches!(error, OpenError::InUse { .. } | OpenError::Unsure), "{error}")
            }
        }
    };
    let world = scene.world.seen_from(A);
    scene.spawn_hosts(&second);
    while !scene.write(&second, world.below(BLOCKS)).await {}
    for block in 0..BLOCKS {
        let read = first.pool.read(first.volume, Lba(block), 1).await;
        assert!(read.is_err(), "what it reads may be old by now");
    }
    scene.check(&second).await;
}

/// A drive comes back with the claim of another machine, which wanted the pool with that drive
/// alone and was stopped on the way.
async fn return_what_another_one_wanted(scene: Scene) {
    let first = scene.in_use().await;
    let drive = DriveId(2);
    first.pool.fail_drive(drive, false).await.expect("two copies are left");
    first.pool.forget_lost(drive).await.expect("a root says that it is lost");
    for platter in &scene.platters[..2] {
        platter.0.borrow_mut().unreachable_from.insert(B);
    }
    let (other, is_open) = (scene.clone(), Rc::new(Cell::new(false)));
    let opened = is_open.clone();
    scene.world.spawn(async move { opened.set(other.open(B).await.is_ok()) });
    // It watches for eight seconds, and settles for eight.
    scene.world.sleep(Duration::from_secs(9)).await;
    scene.pause(5_000_000).await;
    scene.world.freeze(B);
    let (own, platter) = (scene.world.seen_from(A), scene.platters[2].clone());
    let device = SimDrive::new(&own, &platter);
    let superblock = superblock(&device).await.expect("it is there");
    let back = first.pool.return_drive(drive, FoundDrive { superblock, device }).await;
    back.expect("nobody has gone on with it");
    scene.pause(20_000_000).await;
    scene.world.thaw(B);
    scene.world.sleep(OPENED).await;
    assert!(!is_open.get(), "both have it");
    scene.check(&first).await;
}

#[test]
fn a_drive_comes_back_though_another_machine_has_wanted_the_pool_with_it() {
    let three_copies = Level::of(1, 2).expect("three copies");
    for seed in 0..10 {
        Scene::new(seed, (three_copies, 3)).run(return_what_another_one_wanted);
    }
}

#[test]
fn a_machine_that_reaches_too_few_drives_answers_no_reads_from_those() {
    for seed in 0..5 {
        Scene::new(seed, (Level::RAID5, 4)).run(part_the_drives);
        Scene::new(seed, (Level::RAID6, 6)).run(part_the_drives);
    }
}

#[test]
fn a_pool_is_closed_though_its_drives_hang_and_can_be_opened_elsewhere() {
    for_all(3, |scene| scene.run(close_while_drives_hang));
}

#[test]
fn a_pool_is_closed_though_its_drives_are_gone_and_can_be_opened_elsewhere() {
    for_all(3, |scene| scene.run(close_while_drives_are_gone));
}

#[test]
fn a_pool_that_has_halted_says_that_another_machine_has_it_once_that_does() {
    for seed in 0..5 {
        Scene::new(seed, (Level::RAID5, 4)).run(halt_and_be_taken);
        Scene::new(seed, (Level::RAID6, 6)).run(halt_and_be_taken);
    }
}
