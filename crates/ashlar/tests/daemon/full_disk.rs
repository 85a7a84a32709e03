//! The file system under file-backed drives is full, or the pool itself: hosts are told, nothing is
//! lost, no drive is dropped, and it goes on when there is room again.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use ashlar_block::AlignedBuf;
use ashlar_load::initiator::{ConnectOptions, Controller, HostIdentity, Namespace};
use bytes::Bytes;

use crate::disks::SmallDisk;
use crate::support::{Place, skip};

const BLOCK_BYTES: usize = 4096;
/// Blocks of each write of these tests.
pub const BLOCKS_PER_WRITE: u64 = 16;

/// What `work` makes of the only volume that there is.
pub fn connected<T: 'static, F: Future<Output = T>>(
    place: &Place,
    work: impl FnOnce(Namespace) -> F + 'static,
) -> T {
    let status = place.json(&["status"]);
    let port = status["portals"][0]["port"].as_u64().expect("a port") as u16;
    let nqn = status["subsystem_nqn"].as_str().expect("a name").to_owned();
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let session = async move {
        let host = HostIdentity { nqn: "nqn.2014-08.org.example:host".to_owned(), id: [7; 16] };
        let options = ConnectOptions { io_queues: 1, ..ConnectOptions::new(address, &nqn, host) };
        let controller = Controller::connect(options).await.expect("the daemon serves");
        let output = work(controller.namespace(1).await.expect("allowed")).await;
        controller.disconnect().await;
        output
    };
    ashlar_reactor::run(ashlar_reactor::Config::default(), session).expect("a reactor starts")
}

/// What write number `nth` holds: nothing that compresses.
pub fn noise(nth: u64) -> Bytes {
    let mut rng = ashlar_block::XorShift::new(nth);
    let mut buf = AlignedBuf::zeroed(BLOCKS_PER_WRITE as usize * BLOCK_BYTES);
    buf.chunks_exact_mut(8).for_each(|chunk| chunk.copy_from_slice(&rng.next_u64().to_le_bytes()));
    buf.freeze()
}

/// Writes from `first` on until a write is refused; returns which, and how.
async fn write_until_refused(namespace: &Namespace, first: u64) -> (u64, String) {
    for nth in first.. {
        if let Err(error) = namespace.write(nth * BLOCKS_PER_WRITE, noise(nth)).await {
            return (nth, error.to_string());
        }
    }
    unreachable!("the disk is small")
}

async fn check(namespace: &Namespace, end: u64) {
    for nth in 0..end {
        let read = namespace
            .read(nth * BLOCKS_PER_WRITE, BLOCKS_PER_WRITE as u32)
            .await
            .expect("readable");
        assert!(read[..] == noise(nth)[..], "write {nth} reads otherwise");
    }
}

fn create_pool(place: &Place, disk: &Path) {
    let drives: Vec<String> =
        (0..3).map(|n| format!("file:{}/{n}.img,size=256MiB,sparse=on", disk.display())).collect();
    let mut arguments = vec!["pool", "create", "tank", "--level", "5", "--overcommit"];
    drives.iter().for_each(|drive| arguments.extend(["--drive", drive]));
    place.ok(&arguments);
    place.ok(&["volume", "create", "tank/v0", "--size", "1GiB", "--allow", "any"]);
}

fn says(place: &Place, word: &str) -> bool {
    let pool = place.json(&["pool", "show", "tank"]);
    pool["states"].as_array().expect("states").iter().any(|state| state == word)
}

#[test]
fn a_full_file_system_under_the_drives_refuses_writes_and_loses_nothing() {
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(place.path("disk"), 96 << 10) else {
        return skip("mounting a file system is not permitted here");
    };
    let filler = disk.0.join("filler");
    fs::write(&filler, vec![1; 32 << 20]).expect("room");
    let daemon = place.start();
    create_pool(&place, &disk.0);
    let (refused, error) = connected(&place, |namespace| async move {
        let (refused, error) = write_until_refused(&namespace, 0).await;
        check(&namespace, refused).await;
        (refused, error)
    });
    assert!(refused > 0);
    assert!(error.contains("CAPACITY_EXCEEDED"), "{error}");
    assert!(says(&place, "out-of-room"));
    assert!(!says(&place, "degraded"), "no drive is to blame");
    let safe_to_write = |place: &Place| {
        place.json(&["pool", "show", "tank"])["space"]["safe_to_write_bytes"].clone()
    };
    assert_eq!(safe_to_write(&place), 0, "1.42 GiB were said to be");
    fs::remove_file(&filler).expect("it is there");
    place.wait_until("there is room again", |place| !says(place, "out-of-room"));
    assert_ne!(safe_to_write(&place), 0);
    connected(&place, move |namespace| async move {
        check(&namespace, refused).await;
        namespace
            .write(refused * BLOCKS_PER_WRITE, noise(refused))
            .await
            .expect("there is room again");
    });
    daemon.kill();
    let daemon = place.start();
    connected(&place, move |namespace| async move { check(&namespace, refused + 1).await });
    daemon.terminate();
}

// They waited for room, and the end of the daemon for them.
#[test]
fn changes_are_refused_while_a_file_system_under_the_drives_is_full_and_the_daemon_ends() {
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(place.path("disk"), 96 << 10) else {
        return skip("mounting a file system is not permitted here");
    };
    let daemon = place.start();
    create_pool(&place, &disk.0);
    connected(&place, |namespace| async move { write_until_refused(&namespace, 0).await });
    for change in [
        &["volume", "create", "tank/v1", "--size", "1MiB"][..],
        &["pool", "set", "tank", "scrub-prio=7"],
        &["volume", "deny", "tank/v0", "any"],
    ] {
        let said = place.refused(change);
        assert!(
            said.contains("file system under a file-backed drive is full"),
            "{change:?}: {said}"
        );
    }
    // Whether the root that says so finds room is for the file system: it comes to an end.
    place.run(&["drive", "fail", "tank/drive-0", "--yes"]);
    daemon.terminate();
}

fn number(place: &Place, field: &str) -> u64 {
    place.json(&["pool", "show", "tank"])["space"][field].as_u64().expect("a number")
}

fn is_released(place: &Place) -> bool {
    place.json(&["pool", "show", "tank"])["space"]["reserve_released"] == true
}

// With one volume and no spare drive there was no way out: mount and fsck need room, too.
#[test]
fn a_full_pool_takes_writes_again_once_its_reserve_is_released() {
    let place = Place::new();
    let configuration = "over_provisioning_percent = 50\n";
    let daemon = place.start_configured(configuration);
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "1GiB", "--allow", "any"]);
    let (limit, reserve) = (number(&place, "limit_bytes"), number(&place, "reserve_bytes"));
    assert!(reserve > 256 << 10, "{reserve}");
    let said = place.refused(&["pool", "release-reserve", "tank"]);
    assert!(said.contains("is not full") && said.contains("Nothing was released"), "{said}");
    let (refused, error) =
        connected(&place, |namespace| async move { write_until_refused(&namespace, 0).await });
    assert!(error.contains("CAPACITY_EXCEEDED"), "{error}");
    let said = place.ok(&["pool", "release-reserve", "tank"]);
    assert!(said.contains("safe to write"), "{said}");
    assert_eq!(number(&place, "limit_bytes"), limit + reserve);
    assert!(is_released(&place));
    daemon.kill();
    let _daemon = place.start_configured(configuration);
    assert!(is_released(&place), "until it is not needed any more");
    connected(&place, move |namespace| async move {
        check(&namespace, refused).await;
        namespace
            .write(refused * BLOCKS_PER_WRITE, noise(refused))
            .await
            .expect("there is room again");
        check(&namespace, refused + 1).await;
    });
    place.ok(&["volume", "delete", "tank/v0", "--yes"]);
    place.wait_until("the reserve is kept again", |place| {
        // Each change is a checkpoint, with which that is decided.
        place.ok(&["pool", "set", "tank", "scrub-prio=7"]);
        !is_released(place)
    });
    assert_eq!((number(&place, "limit_bytes"), number(&place, "reserve_bytes")), (limit, reserve));
}
