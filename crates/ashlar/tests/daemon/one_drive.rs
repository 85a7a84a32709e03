//! A drive is one drive whatever it is called, and what somebody uses is not taken under any name.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::loops::Loop;
use crate::support::{Place, skip};

const DRIVE_BYTES: u64 = 48 << 20;

fn empty_image(place: &Place, index: usize) -> PathBuf {
    File::create(place.image(index)).and_then(|file| file.set_len(DRIVE_BYTES)).expect("room");
    place.image(index)
}

fn is_empty(path: &Path) -> bool {
    fs::read(path).expect("a file").iter().all(|byte| *byte == 0)
}

/// Makes a pool of these drives and two more, which are not there yet. Returns the refusal, after
/// which nothing has been made.
fn refused(place: &Place, drives: &[&str]) -> String {
    let more = [place.drive(20), place.drive(21)];
    let drives = drives.iter().copied().chain(more.iter().map(String::as_str));
    let drives: Vec<&str> = drives.flat_map(|drive| ["--drive", drive]).collect();
    let said = place
        .refused(&[&["pool", "create", "other", "--level", "5", "--force"][..], &drives].concat());
    assert!([20, 21].iter().all(|index| !place.image(*index).exists()), "a file was made");
    said
}

#[test]
fn one_file_by_two_paths_is_refused_with_both() {
    let place = Place::new();
    let _daemon = place.start();
    let image = empty_image(&place, 0);
    symlink(&image, place.path("link")).expect("room");
    fs::hard_link(&image, place.path("hard")).expect("room");
    for other in ["link", "hard"] {
        let other = format!("file:{}", place.path(other).display());
        let said = refused(&place, &[&place.file(0), &other]);
        let both = format!("{} and {other} are the same drive", place.file(0));
        assert!(said.contains(&both), "{said}");
    }
    assert!(is_empty(&image), "it was written to");
}

#[test]
fn a_file_and_a_device_over_it_are_one_drive_and_refused_with_both() {
    let place = Place::new();
    let image = empty_image(&place, 0);
    let (Some(one), Some(two)) = (Loop::over(&image), Loop::over(&image)) else {
        return skip("there are no loop devices");
    };
    let _daemon = place.start();
    let (file, one, two) = (place.file(0), one.0.clone(), two.0.clone());
    for (drive, other) in [(&file, &one), (&one, &file), (&one, &two)] {
        let said = refused(&place, &[drive, other]);
        assert!(said.contains(drive.as_str()) && said.contains(other.as_str()), "{said}");
        assert!(said.contains("the same drive") || said.contains("lies on"), "{said}");
    }
    // A link to a device is that device.
    symlink(&one, place.path("by-link")).expect("room");
    let link = place.path("by-link").display().to_string();
    let said = refused(&place, &[&one, &link]);
    assert!(said.contains(&format!("{one} and {link} are the same drive")), "{said}");
    assert!(is_empty(&image), "it was written to");
}

#[test]
fn a_drive_of_a_pool_is_not_taken_under_another_name() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    place.create_pool("dozer", 3..6);
    place.ok(&["pool", "spare", "add", "dozer", &place.drive(6)]);
    let Some(member) = Loop::over(&place.image(1)) else {
        return skip("there are no loop devices");
    };
    let spare = Loop::over(&place.image(6)).expect("a loop device");
    let verbs: [&[&str]; 3] = [
        &["pool", "add-drive", "tank"],
        &["pool", "replace", "dozer", "drive-0"],
        &["pool", "spare", "add", "tank"],
    ];
    for (device, image, whose) in [
        (&member.0, place.image(1), "pool 'tank'"),
        (&spare.0, place.image(6), "spare of pool 'dozer'"),
    ] {
        for verb in verbs {
            let said = place.refused(&[verb, &[device, "--force"]].concat());
            for part in [device.as_str(), &image.display().to_string(), whose] {
                assert!(said.contains(part), "{verb:?}: '{part}' is not in: {said}");
            }
        }
        assert!(refused(&place, &[device]).contains(whose));
    }
    assert_eq!((place.pool_states("tank"), place.pool_states("dozer")), (online(), online()));
}

fn online() -> Vec<String> {
    vec!["online".to_owned()]
}

/// A file system that is mounted, for as long as this lives.
struct Mounted {
    at: PathBuf,
    device: Loop,
}

impl Mounted {
    /// `None`: this machine makes or mounts none.
    fn over(image: &Path, at: &Path) -> Option<Self> {
        let runs =
            |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
        let device = Loop::over(image)?;
        fs::create_dir(at).expect("room");
        let is_made = runs(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&device.0));
        let is_mounted = is_made && runs(Command::new("mount").arg(&device.0).arg(at));
        is_mounted.then(|| Mounted { at: at.to_owned(), device })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.at).status();
    }
}

#[test]
fn a_file_that_is_mounted_through_a_device_is_refused_as_the_device_is() {
    let place = Place::new();
    let image = empty_image(&place, 0);
    let Some(mounted) = Mounted::over(&image, &place.path("mnt")) else {
        return skip("no file system can be mounted");
    };
    fs::write(place.path("mnt/precious"), "bytes").expect("room");
    let _daemon = place.start();
    place.create_pool("tank", 3..6);
    let (file, device) = (place.file(0), mounted.device.0.clone());
    let at = place.path("mnt").display().to_string();
    for drive in [&file, &device] {
        let said = refused(&place, &[drive]);
        assert!(said.contains("in use") && said.contains(&format!("is mounted on {at}")), "{said}");
        let verbs: [&[&str]; 4] = [
            &["pool", "add-drive", "tank", drive, "--force"],
            &["pool", "replace", "tank", "drive-0", drive, "--force"],
            &["pool", "spare", "add", "tank", drive, "--force"],
            &["drive", "label-clear", drive, "--force", "--yes"],
        ];
        for verb in verbs {
            let said = place.refused(verb);
            assert!(said.contains(&format!("is mounted on {at}")), "{verb:?}: {said}");
        }
    }
    assert_eq!(fs::read_to_string(place.path("mnt/precious")).expect("a file"), "bytes");
    drop(mounted);
    place.ok(&["pool", "add-drive", "tank", &file, "--force"]);
}

#[test]
fn a_file_that_a_program_has_locked_is_refused_with_the_program() {
    use rustix::fs::{FlockOperation, fcntl_lock};
    let place = Place::new();
    let image = empty_image(&place, 0);
    let _daemon = place.start();
    // As virtual machines lock their disks.
    let file = File::options().read(true).write(true).open(&image).expect("a file");
    fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).expect("it is free");
    let said = refused(&place, &[&place.file(0)]);
    assert!(
        said.contains("has locked a part of it") && said.contains(&std::process::id().to_string()),
        "{said}"
    );
    assert!(is_empty(&image), "it was written to");
}
