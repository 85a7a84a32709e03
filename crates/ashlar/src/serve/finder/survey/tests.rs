use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::time::Instant;

use super::super::table::Content;
use super::*;

/// A machine of files: what the kernel and udev show of it.
struct Tree {
    root: tempfile::TempDir,
    partitions: Vec<(String, String)>,
}

impl Tree {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for dir in ["sys/dev/block", "sys/block", "proc", "dev/disk/by-id"] {
            fs::create_dir_all(root.path().join(dir)).unwrap();
        }
        Tree { root, partitions: Vec::new() }
    }

    fn add(&mut self, number: &str, name: &str, diskseq: u64) {
        let dir = self.root.path().join("sys/block").join(name);
        fs::create_dir_all(dir.join("holders")).unwrap();
        fs::write(dir.join("uevent"), format!("DEVNAME={name}\nDISKSEQ={diskseq}\n")).unwrap();
        fs::write(dir.join("diskseq"), format!("{diskseq}\n")).unwrap();
        let _ = symlink(&dir, self.root.path().join("sys/dev/block").join(number));
        self.partitions.retain(|(listed, _)| listed != number);
        self.partitions.push((number.to_owned(), name.to_owned()));
        self.list();
    }

    fn list(&self) {
        let line = |(number, name): &(String, String)| {
            format!("{} 4096 {name}\n", number.replace(':', " "))
        };
        let text: String = self.partitions.iter().map(line).collect();
        fs::write(
            self.root.path().join("proc/partitions"),
            format!("major minor #blocks name\n\n{text}"),
        )
        .unwrap();
    }

    fn survey(&self) -> (Machine, Survey) {
        let machine = Machine::below(self.root.path());
        (machine.clone(), Survey::new(machine, "nqn.own".to_owned()))
    }
}

fn number(major: u32, minor: u32) -> DeviceNumber {
    DeviceNumber { major, minor }
}

/// Looks, and reads the labels that are to be read. Returns what that cost: looks at the machine,
/// and labels.
fn look(
    machine: &Machine,
    survey: &mut Survey,
    changed: &[DeviceNumber],
    is_thorough: bool,
) -> (u64, usize) {
    let before = machine.operations();
    survey.see_devices(&changed.iter().copied().collect(), is_thorough, &[]);
    survey.see_stable_names();
    let mut labels = 0;
    loop {
        let begun = survey.table.begin_reads(Instant::now());
        if begun.is_empty() {
            return (machine.operations() - before, labels);
        }
        labels += begun.len();
        for (place, mark, _) in begun {
            survey.table.end_read(&place, &mark, Known::Read(Content::Foreign));
        }
    }
}

/// Sixty drives of a pool, a thousand loop devices, and what must not be read.
#[test]
fn a_large_machine_costs_next_to_nothing_while_nothing_changes() {
    let mut tree = Tree::new();
    (0..60).for_each(|index| tree.add(&format!("259:{index}"), &format!("nvme{index}n1"), index));
    (0..1000)
        .for_each(|index| tree.add(&format!("7:{index}"), &format!("loop{index}"), 100 + index));
    for (number, name) in [("2:0", "fd0"), ("11:0", "sr0"), ("252:0", "zram0")] {
        tree.add(number, name, 9);
    }
    let (machine, mut survey) = tree.survey();
    let (looks, labels) = look(&machine, &mut survey, &[], true);
    assert_eq!(labels, 1060);
    assert!(looks < 5 * 1060, "{looks}");
    // By the clock: the list of devices, and the age of the directory with their names.
    assert_eq!(look(&machine, &mut survey, &[], false), (2, 0));
    assert_eq!(
        look(&machine, &mut survey, &[], true),
        (1060 + 2, 0),
        "each is asked once whether it is the same"
    );
    let (looks, labels) = look(&machine, &mut survey, &[number(7, 500)], false);
    assert!(looks < 10 && labels == 1, "{looks} looks, {labels} labels: one device has changed");
    tree.add("7:1000", "loop1000", 5000);
    let (looks, labels) = look(&machine, &mut survey, &[], false);
    assert!(looks < 10 && labels == 1, "{looks} looks, {labels} labels: one device is new");
}

#[test]
fn another_disk_behind_a_number_is_noticed_by_a_thorough_look_or_by_its_size() {
    let mut tree = Tree::new();
    tree.add("7:0", "loop0", 1);
    let (machine, mut survey) = tree.survey();
    assert_eq!(look(&machine, &mut survey, &[], true).1, 1);
    tree.add("7:0", "loop0", 2);
    assert_eq!(look(&machine, &mut survey, &[], false).1, 0);
    assert_eq!(look(&machine, &mut survey, &[], true).1, 1);
    fs::write(tree.root.path().join("proc/partitions"), "7 0 8192 loop0\n").unwrap();
    assert_eq!(look(&machine, &mut survey, &[], false).1, 1);
}

#[test]
fn a_device_that_is_held_is_looked_at_again_when_others_change() {
    let mut tree = Tree::new();
    tree.add("8:0", "sda", 1);
    tree.add("253:0", "dm-0", 2);
    let holder = tree.root.path().join("sys/block/sda/holders/dm-0");
    fs::write(&holder, "").unwrap();
    let (machine, mut survey) = tree.survey();
    assert_eq!(look(&machine, &mut survey, &[], true).1, 1, "the device that is stacked on it");
    fs::remove_file(holder).unwrap();
    assert_eq!(look(&machine, &mut survey, &[], false).1, 0);
    assert_eq!(look(&machine, &mut survey, &[number(253, 0)], false).1, 2);
}

#[test]
fn drives_are_named_so_that_the_name_outlives_a_restart() {
    let mut tree = Tree::new();
    tree.add("259:0", "nvme0n1", 1);
    let (machine, mut survey) = tree.survey();
    look(&machine, &mut survey, &[], true);
    let place = Place::Device(number(259, 0));
    let name = |survey: &Survey| survey.name_of(&place, &survey.table.entries[&place]).unwrap();
    assert!(name(&survey).ends_with("dev/nvme0n1"), "{}", name(&survey));
    let link = tree.root.path().join("dev/disk/by-id/nvme-eui.0025385b71b10a3f");
    symlink("../../nvme0n1", &link).unwrap();
    look(&machine, &mut survey, &[], false);
    assert_eq!(name(&survey), link.display().to_string());
}

#[test]
fn a_file_that_no_text_can_name_is_no_drive() {
    let tree = Tree::new();
    let (_, mut survey) = tree.survey();
    let mark = DriveMark::File { device: 1, inode: 1, size_bytes: 1 << 30, changed: (0, 0) };
    let names: [&[u8]; 3] = [b"a,b.img", b"plain.img", b"\xff.img"];
    let path = |name| Path::new("/d").join(std::ffi::OsStr::from_bytes(name));
    survey.see_directory(Path::new("/d"), names.map(|name| (path(name), mark.clone())).into());
    let names: Vec<Option<String>> =
        survey.table.entries.iter().map(|(place, entry)| survey.name_of(place, entry)).collect();
    let named = |text: &str| Some(text.to_owned());
    assert_eq!(names, [named("file:/d/a\\,b.img"), named("file:/d/plain.img"), None]);
    survey.keep_directories(|path| path != Path::new("/d"));
    assert!(survey.table.entries.is_empty());
}

#[test]
fn where_the_kernel_lists_nothing_named_devices_are_looked_at() {
    let tree = Tree::new();
    let (_, mut survey) = tree.survey();
    survey.see_devices(
        &BTreeSet::new(),
        true,
        &[PathBuf::from("/dev/null"), PathBuf::from("/dev/none")],
    );
    assert!(survey.table.entries.is_empty(), "neither is a block device");
    let Some(device) =
        Machine::default().devices().first().map(|device| Path::new("/dev").join(&device.name))
    else {
        return;
    };
    if device.exists() {
        survey.see_devices(&BTreeSet::new(), true, std::slice::from_ref(&device));
        let paths: Vec<&PathBuf> = survey.table.entries.values().map(|entry| &entry.path).collect();
        assert_eq!(paths, [&device]);
    }
}
