//! A drive that answers late, or for a long time not at all, holds up what needs it and nothing
//! else: reads of what others know go to those, and only writes wait for it, because to acknowledge
//! them without it would cost redundancy; until it has been silent for longer than the pool may
//! wait.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use crate::support::{
    Handles, TestDoor, TestNode, at_door, drive, drives, host, node, pool, volume, with_faults,
};
use ashlar_block::{AlignedBuf, Cause, DriveId, XorShift};
use ashlar_reactor::{sleep, spawn_joined};
use ashlar_store::{DriveCondition, DriveStatus, NewPool, OpenPolicy};
use ashlar_volume::{Door, DriveErase, EraseOutcome, Nsid, Removal, SettingsChange, VolumeIo};
use bytes::Bytes;
use futures_util::future::join;

const MIB: u64 = 1 << 20;
/// Bytes of a chunk of the pools, and of each write: what is written is spread over all drives.
const CHUNK_BYTES: u32 = 64 << 10;
/// Chunks of the slow pool that are read and written.
const CHUNKS: u64 = 96;
/// The drive that is slow: one of the pool `slow`.
const SLOW: &str = "mem:128MiB#slow0";
/// What each of its operations takes longer; an operation on a drive in memory takes some
/// microseconds.
const DELAY: Duration = Duration::from_millis(2);
/// Hosts' reads at a time, where they keep all drives busy.
const READERS: u64 = 16;
/// Pause between two looks at what has become of something, and how often it is looked for: only
/// what never comes takes that long.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);
const LOOKS_MAX: u32 = 60_000;

type Volume = <TestDoor as Door>::Volume;

fn open(door: &TestDoor, nsid: u32) -> Volume {
    door.with_namespace(&host("a"), Nsid(nsid), |_, volume| volume.clone())
        .expect("the host may see it")
}

/// Data that do not compress, so that every chunk takes its own place on a drive.
fn noise(seed: u64) -> Bytes {
    let mut random = XorShift::new(seed);
    let mut content = AlignedBuf::zeroed(CHUNK_BYTES as usize);
    content
        .chunks_exact_mut(8)
        .for_each(|word| word.copy_from_slice(&random.next_u64().to_le_bytes()));
    content.freeze()
}

async fn write(volume: &Volume, chunk: u64, seed: u64) {
    volume.write(chunk * u64::from(CHUNK_BYTES), noise(seed)).await.expect("it is written");
}

async fn check(volume: &Volume, chunk: u64, seed: u64) {
    let read = volume
        .read(chunk * u64::from(CHUNK_BYTES), CHUNK_BYTES as usize)
        .await
        .expect("it is read");
    assert!(read[..] == noise(seed)[..], "chunk {chunk}");
}

/// Two pools on one reactor, with one volume each: 1 is that of `slow`, 2 that of `other`.
async fn two_pools() -> (TestNode, Handles) {
    let (node, handles) = node(1);
    for name in ["slow", "other"] {
        let shape = NewPool { chunk_bytes: Some(CHUNK_BYTES), ..pool(name) };
        node.create_pool(shape, drives(name, 4), false).await.expect("it is made");
        let claim = node.table().claim_new().unwrap();
        node.create_volume(name, claim, volume("v0", 16 * MIB)).await.expect("it is made");
    }
    (node, handles)
}

async fn assert_all_drives_online(node: &TestNode) {
    let report = node.report("slow").await.expect("it is open");
    let online = |drive: &DriveStatus| drive.condition == DriveCondition::Online;
    assert!(report.status.drives.iter().all(online), "{:?}", report.status.drives);
}

#[test]
fn a_drive_that_does_not_answer_holds_up_only_what_needs_it() {
    drive(async {
        let (node, handles) = two_pools().await;
        at_door(&handles, 0, |door| async move {
            let slow = open(&door, 1);
            for chunk in 0..CHUNKS {
                write(&slow, chunk, chunk).await;
            }
        })
        .await;
        wait_at_most(&node, None).await;
        with_faults(&handles, SLOW, |faults| faults.stall()).await;
        let stalled = spawn_joined(go_on_beside_a_stall(handles.clone()));
        stalled.await;
        assert_all_drives_online(&node).await;
    });
}

/// While one drive stands still, another pool and whatever lies on other drives are used; then it
/// goes on.
async fn go_on_beside_a_stall(handles: Handles) {
    let to_resume = handles.clone();
    at_door(&handles, 0, move |door| async move {
        let (slow, other) = (open(&door, 1), open(&door, 2));
        let held = spawn_joined({
            let slow = slow.clone();
            async move { write(&slow, CHUNKS, 7).await }
        });
        let read = Rc::new(Cell::new(0));
        let readers: Vec<_> = (0..CHUNKS)
            .map(|chunk| {
                let (slow, read) = (slow.clone(), read.clone());
                spawn_joined(async move {
                    check(&slow, chunk, chunk).await;
                    read.set(read.get() + 1);
                })
            })
            .collect();
        for round in 0..200 {
            write(&other, round, round).await;
            check(&other, round, round).await;
        }
        until(|| read.get() == CHUNKS, || format!("{} of {CHUNKS} chunks are read", read.get()))
            .await;
        assert!(!held.is_finished(), "a write is not acknowledged before all its drives have it");
        with_faults(&to_resume, SLOW, |faults| faults.resume()).await;
        held.await;
        for reader in readers {
            reader.await;
        }
        check(&slow, CHUNKS, 7).await;
    })
    .await;
}

/// Looks until it is so.
async fn until(is_so: impl Fn() -> bool, seen: impl Fn() -> String) {
    let mut looks = 0..LOOKS_MAX;
    while !is_so() {
        looks.next().unwrap_or_else(|| panic!("it takes too long: {}", seen()));
        sleep(LOOK_INTERVAL).await;
    }
}

async fn wait_at_most(node: &TestNode, io_timeout: Option<Duration>) {
    let change = SettingsChange { io_timeout: Some(io_timeout), ..SettingsChange::default() };
    node.set_pool("slow", change).await.expect("it is well");
}

#[test]
fn a_drive_that_does_not_answer_for_too_long_is_given_up_and_hosts_go_on() {
    drive(async {
        let (node, handles) = two_pools().await;
        wait_at_most(&node, Some(Duration::from_secs(2))).await;
        with_faults(&handles, SLOW, |faults| faults.stall()).await;
        write_all(&handles).await;
        let drives = node.report("slow").await.expect("it is open").status.drives;
        // It is not among them any more if what it had has been restored meanwhile.
        let others =
            drives.iter().filter(|drive| drive.condition == DriveCondition::Online).count();
        assert_eq!(others, 3, "{drives:?}");
    });
}

/// Each of the others owed something at every look, and was taken for one that answers nothing:
/// then more answered nothing than may be lost, and writes waited as long as hosts read.
#[test]
fn a_drive_that_does_not_answer_is_given_up_also_while_hosts_keep_the_others_busy() {
    drive(async {
        let (node, handles) = two_pools().await;
        write_all(&handles).await;
        // At each look all of them owe answers.
        for spec in drives("slow", 4) {
            with_faults(&handles, &spec, |faults| faults.slow_down(DELAY)).await;
        }
        wait_at_most(&node, Some(Duration::from_secs(2))).await;
        with_faults(&handles, SLOW, |faults| faults.stall()).await;
        at_door(&handles, 0, |door| async move {
            let slow = open(&door, 1);
            let is_over = Rc::new(Cell::new(false));
            let readers: Vec<_> = (0..READERS)
                .map(|reader| {
                    let (slow, is_over) = (slow.clone(), is_over.clone());
                    spawn_joined(async move {
                        for chunk in (reader..CHUNKS).cycle().take_while(|_| !is_over.get()) {
                            check(&slow, chunk, chunk).await;
                        }
                    })
                })
                .collect();
            write(&slow, CHUNKS, 7).await;
            is_over.set(true);
            for reader in readers {
                reader.await;
            }
        })
        .await;
    });
}

/// It was counted twice, as the one that had been lost and as the one that is silent, and so waited
/// for as long as it liked.
#[test]
fn a_drive_that_came_back_and_hangs_again_is_given_up_again() {
    drive(async {
        let (node, handles) = two_pools().await;
        write_all(&handles).await;
        let first = node.report("slow").await.expect("it is open").status.drives.remove(0).drive;
        keep_what_is_lost(&node, &handles).await;
        with_faults(&handles, SLOW, |faults| faults.stall()).await;
        write_one(&handles).await;
        with_faults(&handles, SLOW, |faults| faults.resume()).await;
        let back = node.return_drive("slow", first.0.to_string(), None, |_| Some(SLOW.to_owned()));
        back.await.expect("it answers again");
        with_faults(&handles, SLOW, |faults| faults.stall()).await;
        let drives = node.report("slow").await.expect("it is open").status.drives;
        assert_eq!(drives.len(), 5, "it has two numbers yet: {drives:?}");
        write_one(&handles).await;
    });
}

async fn conditions(node: &TestNode) -> Vec<(u16, DriveCondition)> {
    let drives = node.report("slow").await.expect("it is open").status.drives;
    drives.into_iter().map(|drive| (drive.drive.0, drive.condition)).collect()
}

/// They named the number that it had, and whoever gave it up or replaced it by them was refused, or
/// kept it unawares.
#[test]
fn a_drive_that_came_back_is_meant_by_its_path_and_its_old_names() {
    drive(async {
        let (node, handles) = two_pools().await;
        write_all(&handles).await;
        keep_what_is_lost(&node, &handles).await;
        node.fail_drive("slow", "drive-0".to_owned(), false).await.expect("one may be lost");
        write_one(&handles).await;
        let back = node.return_drive("slow", "drive-0".to_owned(), None, |_| None);
        back.await.expect("it is there");
        let returned = (0, DriveCondition::Returned(DriveId(4)));
        assert!(conditions(&node).await.contains(&returned), "{:?}", conditions(&node).await);
        for name in ["drive-0", "0"] {
            let refused =
                node.return_drive("slow", name.to_owned(), None, |_| None).await.unwrap_err();
            assert!(
                refused.to_string().contains("slow/drive-4 works: the pool has not lost it"),
                "{refused}"
            );
        }
        node.fail_drive("slow", SLOW.to_owned(), false)
            .await
            .expect("its path means what it is now");
        let back = node.return_drive("slow", SLOW.to_owned(), None, |_| None);
        back.await.expect("it is there");
        let replaced =
            node.replace_drive("slow", SLOW.to_owned(), "mem:128MiB#new".to_owned(), false);
        replaced.await.expect("there is room without it");
        let leaving = (5, DriveCondition::Leaving);
        assert!(conditions(&node).await.contains(&leaving), "{:?}", conditions(&node).await);
    });
}

/// The pool lets go of it a moment later, and whoever wrote down its drives before that had the
/// next start open it.
#[test]
fn what_was_removed_is_not_remembered_while_its_label_is_still_there() {
    drive(async {
        let (node, handles) = two_pools().await;
        write_all(&handles).await;
        node.remove_drive("slow", "drive-1".to_owned(), Removal::Begin)
            .await
            .expect("there is room without it");
        while node.report("slow").await.expect("it is open").drives.len() == 4 {
            write_one(&handles).await;
        }
        let record = node.record("slow").await.expect("it is open");
        assert_eq!((record.drives.len(), record.members.len()), (3, 3), "{record:?}");
    });
}

/// A rebuild takes so long that what a drive had is not restored before it is back: of each step's
/// time, which is long because another drive is slow, the hundredfold is left to hosts.
async fn keep_what_is_lost(node: &TestNode, handles: &Handles) {
    let change = SettingsChange {
        recon_prio: Some(1),
        io_timeout: Some(Some(Duration::from_secs(2))),
        ..SettingsChange::default()
    };
    node.set_pool("slow", change).await.expect("it is well");
    with_faults(handles, "mem:128MiB#slow1", |faults| faults.slow_down(Duration::from_millis(50)))
        .await;
}

/// Writes and reads one chunk of the slow pool.
async fn write_one(handles: &Handles) {
    at_door(handles, 0, |door| async move {
        let slow = open(&door, 1);
        write(&slow, 0, 7).await;
        check(&slow, 0, 7).await;
    })
    .await;
}

/// Writes and reads every chunk of the slow pool.
async fn write_all(handles: &Handles) {
    at_door(handles, 0, |door| async move {
        let slow = open(&door, 1);
        for chunk in 0..CHUNKS {
            write(&slow, chunk, chunk).await;
            check(&slow, chunk, chunk).await;
        }
    })
    .await;
}

/// Every start waited for it, for ever, and with it all pools of the machine.
#[test]
fn a_pool_is_opened_without_a_drive_that_hangs() {
    drive(async {
        let (node, handles) = two_pools().await;
        write_all(&handles).await;
        node.close_pool("slow").await.expect("it is well");
        with_faults(&handles, SLOW, |faults| faults.stall()).await;
        let open = node.open_pool(None, drives("slow", 4), OpenPolicy::Most, Vec::new());
        open.await.expect("one may be lost");
        let report = node.report("slow").await.expect("it is open");
        let notes = report.notes.join("; ");
        assert!(notes.contains("#slow0: it has not answered for 30 s"), "{notes}");
        write_all(&handles).await;
    });
}

/// Each waited for ever, and with it whatever else was to change, or the end of the daemon.
#[test]
fn drives_that_hang_are_not_waited_for_for_ever_when_pools_are_closed_or_destroyed() {
    drive(async {
        let (node, handles) = two_pools().await;
        wait_at_most(&node, Some(Duration::from_secs(2))).await;
        for spec in [SLOW, "mem:128MiB#other0", "mem:128MiB#other1"] {
            with_faults(&handles, spec, |faults| faults.stall()).await;
        }
        let is_held = Arc::new(AtomicBool::new(false));
        let tell = is_held.clone();
        let host = async move |door: TestDoor| {
            let volume = open(&door, 2);
            let mut write = pin!(volume.write(0, noise(7)));
            let done =
                poll_fn(|context| Poll::Ready(write.as_mut().poll(context).is_ready())).await;
            assert!(!done, "its drives hang");
            tell.store(true, Ordering::Relaxed);
            write.await.expect_err("all its drives have to have it").cause
        };
        let held = spawn_joined(async move { at_door(&handles, 0, host).await });
        for _ in 0..LOOKS_MAX {
            if is_held.load(Ordering::Relaxed) {
                break;
            }
            sleep(LOOK_INTERVAL).await;
        }
        assert!(is_held.load(Ordering::Relaxed), "it waits for them");
        let waits =
            node.create_volume("other", node.table().claim_new().unwrap(), volume("v1", 16 * MIB));
        let changes_behind_it = async {
            let added = node.add_drive("other", "mem:128MiB#more".to_owned(), false).await;
            (added, node.close_pool("other").await)
        };
        let (destroyed, (created, (added, closed))) =
            join(node.destroy_pool("slow"), join(waits, changes_behind_it)).await;
        created.expect_err("nothing is durable without them");
        let added = added.expect_err("a change before it waits").to_string();
        assert!(added.contains("has not answered for"), "{added}");
        let destroyed = destroyed.expect_err("one drive is not empty").to_string();
        assert!(destroyed.contains(SLOW) && destroyed.contains("label-clear"), "{destroyed}");
        assert!(!destroyed.contains("#slow1"), "the others are empty: {destroyed}");
        let closed = closed.expect_err("nothing is durable without them").to_string();
        assert!(closed.contains("has not answered for") && closed.contains("replays"), "{closed}");
        assert!(node.reports().await.expect("it runs").is_empty());
        assert!(
            matches!(held.await, Cause::WriteFault | Cause::NotReady),
            "and hosts are answered"
        );
    });
}

/// The command ended there, and nobody was told of the others.
#[test]
fn a_drive_whose_label_cannot_be_wiped_is_not_erased_and_the_others_are() {
    drive(async {
        let (node, handles) = two_pools().await;
        wait_at_most(&node, Some(Duration::from_secs(2))).await;
        with_faults(&handles, SLOW, |faults| faults.stall()).await;
        node.destroy_and_erase_pool("slow").await.expect("the pool is gone");
        let mut erases = node.drive_erases().await.expect("it runs");
        for _ in 0..LOOKS_MAX {
            if erases.iter().all(|erase| erase.outcome.is_some()) {
                break;
            }
            sleep(LOOK_INTERVAL).await;
            erases = node.drive_erases().await.expect("it runs");
        }
        let failed = |erase: &&DriveErase| erase.outcome != Some(EraseOutcome::Erased);
        let failed: Vec<&DriveErase> = erases.iter().filter(failed).collect();
        assert!(erases.len() > 1 && failed.len() == 1, "{erases:?}");
        assert_eq!((failed[0].spec.as_str(), failed[0].method), (SLOW, None));
        let Some(EraseOutcome::Failed(why)) = &failed[0].outcome else { panic!("{failed:?}") };
        assert!(why.contains("label-clear"), "{why}");
    });
}

/// Whatever connects them may have stopped: without both nothing could be read.
#[test]
fn of_drives_that_are_silent_together_none_is_given_up_where_one_may_be_lost() {
    drive(async {
        let (node, handles) = two_pools().await;
        wait_at_most(&node, Some(Duration::from_secs(2))).await;
        for spec in [SLOW, "mem:128MiB#slow1"] {
            with_faults(&handles, spec, |faults| faults.stall()).await;
        }
        let to_resume = handles.clone();
        at_door(&handles, 0, move |door| async move {
            let slow = open(&door, 1);
            let held = spawn_joined({
                let slow = slow.clone();
                async move { write(&slow, 0, 7).await }
            });
            sleep(Duration::from_secs(4)).await;
            assert!(!held.is_finished(), "all its drives have to have it");
            for spec in [SLOW, "mem:128MiB#slow1"] {
                with_faults(&to_resume, spec, |faults| faults.resume()).await;
            }
            held.await;
            check(&slow, 0, 7).await;
        })
        .await;
        assert_all_drives_online(&node).await;
    });
}

#[test]
fn a_pool_with_a_slow_drive_goes_at_its_pace_while_others_go_at_theirs() {
    drive(async {
        let (node, handles) = two_pools().await;
        with_faults(&handles, SLOW, |faults| faults.slow_down(DELAY)).await;
        at_door(&handles, 0, |door| async move {
            let (slow, other) = (open(&door, 1), open(&door, 2));
            let slow_work = spawn_joined(async move {
                for chunk in 0..CHUNKS {
                    write(&slow, chunk, chunk).await;
                    check(&slow, chunk / 2, chunk / 2).await;
                }
            });
            let mut of_other = 0;
            while !slow_work.is_finished() {
                write(&other, of_other % CHUNKS, of_other).await;
                check(&other, of_other % CHUNKS, of_other).await;
                of_other += 1;
            }
            slow_work.await;
            assert!(of_other > CHUNKS, "the other pool came to {of_other} rounds meanwhile");
        })
        .await;
        assert_all_drives_online(&node).await;
    });
}
