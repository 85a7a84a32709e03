use std::fs;
use std::os::unix::fs::symlink;

use ashlar_block::{DriveId, DriveUuid, PoolUuid};
use ashlar_drive::{DeviceNumber, DriveMark, Machine};
use ashlar_raid::DriveLayout;
use ashlar_store::format::features::Features;
use ashlar_store::format::superblock::{DriveClass, Secret, Superblock};

use super::super::{Finder, FoundPlace};
use super::*;

const DRIVE_BYTES: u64 = 16 << 20;

/// A machine of files, and a directory of drives that are files.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for dir in ["sys/dev/block", "sys/block", "proc", "dev/disk/by-id", "a", "b"] {
            fs::create_dir_all(root.path().join(dir)).unwrap();
        }
        fs::write(root.path().join("proc/partitions"), "").unwrap();
        Place { root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn spec(&self, name: &str) -> String {
        format!("file:{}", self.path(name).display())
    }

    /// A file with the label of drive `drive`.
    fn label(&self, name: &str, drive: u8) {
        let superblock = Superblock {
            generation: 1,
            pool: PoolUuid([1; 16]),
            drive_uuid: DriveUuid([drive; 16]),
            drive: DriveId(u16::from(drive)),
            class: DriveClass::Unknown,
            parity: 1,
            data: 0,
            member_count: 3,
            drive_bytes: DRIVE_BYTES,
            layout: DriveLayout { chunks_start: 1 << 20, chunk_bytes: 1 << 20, chunk_count: 8 },
            secret: Secret([0; 32]),
            made_at: 0,
            segment_numbers: 1 << 12,
            features: Features::default(),
            pool_name: "tank".into(),
        };
        let mut content = superblock.encode();
        content.resize(DRIVE_BYTES as usize, 0);
        fs::write(self.path(name), content).unwrap();
    }

    /// Makes the kernel list a device whose node is the file of that name below `dev`.
    fn list(&self, minor: u32, name: &str) {
        let dir = self.path("sys/block").join(name);
        fs::create_dir_all(dir.join("holders")).unwrap();
        fs::write(dir.join("uevent"), format!("DEVNAME={name}\nDISKSEQ={minor}\n")).unwrap();
        let _ = symlink(&dir, self.path("sys/dev/block").join(format!("7:{minor}")));
        let known = fs::read_to_string(self.path("proc/partitions")).unwrap();
        fs::write(self.path("proc/partitions"), format!("{known}7 {minor} 16384 {name}\n"))
            .unwrap();
    }

    fn find(&self, drives: &[(&str, u8)], directories: &[&str]) -> Finder {
        let machine = Machine::below(self.root.path());
        Finder::start(machine, "nqn.own".to_owned(), self.wanted(drives, directories)).unwrap()
    }

    fn wanted(&self, drives: &[(&str, u8)], directories: &[&str]) -> Wanted {
        let drives = drives
            .iter()
            .map(|(name, drive)| (self.spec(name), DriveUuid([*drive; 16]).to_string()));
        let pool = WantedPool { uuid: pool(), drives: drives.collect() };
        Wanted {
            pools: vec![pool],
            directories: directories.iter().map(|name| self.path(name)).collect(),
        }
    }
}

fn pool() -> String {
    PoolUuid([1; 16]).to_string()
}

/// Waits until what is known of the pool is like this.
fn wait_until(finder: &Finder, what: &str, holds: impl Fn(&PoolPlaces) -> bool) -> PoolPlaces {
    let mut known = finder.subscribe();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let holds = |known: &Arc<Snapshot>| known.pools.get(&pool()).is_some_and(&holds);
        let waited = tokio::time::timeout(Duration::from_secs(120), known.wait_for(holds)).await;
        let known = waited.unwrap_or_else(|_| panic!("it does not happen that {what}"));
        known.expect("it looks").pools[&pool()].clone()
    })
}

fn specs(places: &PoolPlaces) -> Vec<String> {
    places.drives.iter().map(|found| found.spec.clone()).collect()
}

#[test]
fn drives_are_found_where_they_were_and_elsewhere_in_known_directories() {
    let place = Place::new();
    for (name, drive) in [("a/0.img", 0), ("b/renamed", 1), ("a/other", 9)] {
        place.label(name, drive);
    }
    place.label("dev/loop5", 2);
    place.list(5, "loop5");
    let finder = place.find(&[("a/0.img", 0), ("b/1.img", 1), ("a/2.img", 2)], &[]);
    let found = wait_until(&finder, "all are looked at", |known| {
        known.is_settled && known.drives.len() == 4
    });
    let device = place.path("dev/loop5").display().to_string();
    assert_eq!(
        specs(&found),
        [place.spec("a/0.img"), place.spec("b/renamed"), device, place.spec("a/other")]
    );
    assert_eq!(found.missed, []);
}

#[test]
fn a_drive_that_is_not_there_is_missed_with_what_is_in_its_place() {
    let place = Place::new();
    place.label("a/0.img", 0);
    fs::write(place.path("a/1.img"), vec![7; DRIVE_BYTES as usize]).unwrap();
    let finder = place.find(&[("a/0.img", 0), ("a/1.img", 1), ("b/2.img", 2)], &[]);
    let found = wait_until(&finder, "all are looked at", |known| known.is_settled);
    assert_eq!(specs(&found), [place.spec("a/0.img")]);
    let why: Vec<&str> = found.missed.iter().map(|missed| missed.why.as_str()).collect();
    assert!(why[0].ends_with("a/1.img holds data of an unknown kind"), "{why:?}");
    assert!(why[1].ends_with("b/2.img: there is no such file"), "{why:?}");
}

#[test]
fn a_member_whose_first_label_is_gone_is_known_where_it_was_by_its_second_one() {
    let place = Place::new();
    place.label("a/0.img", 0);
    let mut content = fs::read(place.path("a/0.img")).unwrap();
    let end = content.len() - 4096;
    content.copy_within(..4096, end);
    content[..4096].fill(0xa5);
    fs::write(place.path("a/1.img"), &content).unwrap();
    fs::remove_file(place.path("a/0.img")).unwrap();
    let finder = place.find(&[("a/1.img", 0)], &[]);
    let found =
        wait_until(&finder, "it is found", |known| known.is_settled && !known.drives.is_empty());
    assert_eq!((specs(&found), found.missed), (vec![place.spec("a/1.img")], vec![]));
}

#[test]
fn a_drive_that_comes_later_is_found() {
    let place = Place::new();
    place.label("a/0.img", 0);
    fs::create_dir(place.path("c")).unwrap();
    let finder = place.find(&[("a/0.img", 0), ("a/1.img", 1), ("a/2.img", 2)], &["c"]);
    wait_until(&finder, "the first is there", |known| known.is_settled && known.drives.len() == 1);
    place.label("aside", 1);
    fs::rename(place.path("aside"), place.path("c/1.img")).unwrap();
    let found = wait_until(&finder, "the second is there", |known| known.drives.len() == 2);
    assert_eq!(specs(&found)[1], place.spec("c/1.img"));
    place.label("dev/loop6", 2);
    place.list(6, "loop6");
    finder.look_again();
    let found = wait_until(&finder, "the third is there", |known| known.drives.len() == 3);
    assert_eq!(found.missed, []);
    fs::remove_file(place.path("c/1.img")).unwrap();
    wait_until(&finder, "the second is gone", |known| {
        known.drives.len() == 2 && known.missed.len() == 1
    });
}

#[test]
fn a_device_that_cannot_be_read_keeps_nothing_from_being_known_of_the_others() {
    let place = Place::new();
    place.label("a/0.img", 0);
    // Whoever opened it and waited would wait for ever.
    let pipe = place.path("dev/loop7");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    place.list(7, "loop7");
    let finder = place.find(&[("a/0.img", 0)], &[]);
    let found = wait_until(&finder, "the pool's drive is known", |known| known.is_settled);
    assert_eq!(specs(&found), [place.spec("a/0.img")]);
}

#[test]
fn what_is_wanted_may_change() {
    let place = Place::new();
    place.label("a/0.img", 0);
    place.label("b/1.img", 1);
    let finder = place.find(&[("a/0.img", 0)], &[]);
    wait_until(&finder, "the first is there", |known| specs(known) == [place.spec("a/0.img")]);
    finder.want(place.wanted(&[("a/0.img", 0), ("b/1.img", 1)], &[]));
    wait_until(&finder, "both are there", |known| known.drives.len() == 2);
    // Its label is another by now.
    place.label("a/0.img", 5);
    finder.want(place.wanted(&[("a/0.img", 5)], &["b"]));
    let has = |known: &PoolPlaces, drive: u8| {
        known.drives.iter().any(|found| found.uuid == DriveUuid([drive; 16]))
    };
    wait_until(&finder, "the label is read again", |known| {
        has(known, 5) && has(known, 1) && !has(known, 0)
    });
    finder.want(Wanted::default());
    let mut known = finder.subscribe();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let is_empty = |known: &Arc<Snapshot>| known.pools.is_empty();
    let gone = async {
        tokio::time::timeout(Duration::from_secs(120), known.wait_for(is_empty)).await.map(drop)
    };
    runtime.block_on(gone).expect("no pool is wanted any more");
}

#[test]
fn names_that_outlive_restarts_are_told() {
    let place = Place::new();
    place.label("dev/loop3", 3);
    place.list(3, "loop3");
    symlink("../../loop3", place.path("dev/disk/by-id/wwn-0x5000c500a1b2c3d4")).unwrap();
    let finder = place.find(&[("a/3.img", 3)], &[]);
    let found = wait_until(&finder, "it is found", |known| known.drives.len() == 1);
    let by_id = place.path("dev/disk/by-id/wwn-0x5000c500a1b2c3d4");
    assert_eq!(specs(&found), [by_id.display().to_string()]);
    let names = finder.snapshot().stable_names.clone();
    assert_eq!(names.get("loop3"), Some(&by_id.display().to_string()));
}

#[test]
fn a_new_place_is_told_of_once_nothing_more_is_to_be_expected() {
    let mark = DriveMark::Device {
        number: DeviceNumber { major: 8, minor: 0 },
        size_kib: 1,
        diskseq: None,
    };
    let found = |drive: u8, spec: &str| FoundPlace {
        uuid: DriveUuid([drive; 16]),
        drive: DriveId(u16::from(drive)),
        spec: spec.to_owned(),
        mark: mark.clone(),
        others: Vec::new(),
    };
    let places = |drives: &[FoundPlace], is_settled| PoolPlaces {
        drives: drives.to_vec(),
        is_settled,
        ..PoolPlaces::default()
    };
    let (old, new, moved) = (found(0, "/dev/sda"), found(1, "/dev/sdb"), found(0, "/dev/sdc"));
    let before = places(std::slice::from_ref(&old), true);
    let told =
        |now: &[FoundPlace], is_settled, before| as_told(places(now, is_settled), before).drives;
    let both = [old.clone(), new.clone()];
    assert_eq!(told(&both, true, Some(&before)), both);
    assert_eq!(told(&both, false, Some(&before)), [old]);
    assert_eq!(told(&both, false, None), []);
    assert_eq!(told(&[moved, new], false, Some(&before)), [], "where it was, it is no more");
}
