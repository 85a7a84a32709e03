use std::os::unix::fs::symlink;

use super::*;

/// A directory tree, made of directories, files with what they hold, and links.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        Tree(tempfile::tempdir().unwrap())
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn file(&self, path: &str, content: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), content).unwrap();
    }

    fn link(&self, path: &str, to: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        symlink(self.at(to), self.at(path)).unwrap();
    }
}

/// A SAS drive in an enclosure, as `ses` shows it.
fn sas() -> Tree {
    let tree = Tree::new();
    tree.file("host0/0:0:3:0/model", "SAS 18TB\n");
    tree.file("host0/0:0:3:0/block/sdc/size", "1\n");
    tree.link("host0/0:0:3:0/block/sdc/device", "host0/0:0:3:0");
    tree.file("enclosure/0:0:8:0/id", "0x500304801ef2a93f\n");
    tree.file("enclosure/0:0:8:0/Slot 03/slot", "3\n");
    tree.file("enclosure/0:0:8:0/Slot 03/locate", "0\n");
    tree.link("host0/0:0:3:0/enclosure_device:Slot 03", "enclosure/0:0:8:0/Slot 03");
    tree
}

#[test]
fn a_drive_in_an_enclosure_is_in_a_slot_whose_light_is_switched() {
    let tree = sas();
    let slot = slot_of_disk(&tree.at("host0/0:0:3:0/block/sdc")).unwrap();
    assert_eq!(slot.name, "slot 3 of enclosure 500304801ef2a93f");
    for (on, holds) in [(true, "1"), (false, "0")] {
        switch_light(&slot.light, on).unwrap();
        let file = tree.at("enclosure/0:0:8:0/Slot 03/locate");
        assert_eq!(fs::read_to_string(file).unwrap(), holds);
    }
}

#[test]
fn a_slot_without_number_and_an_enclosure_without_id_have_the_kernels_names() {
    let tree = sas();
    fs::remove_file(tree.at("enclosure/0:0:8:0/Slot 03/slot")).unwrap();
    fs::remove_file(tree.at("enclosure/0:0:8:0/id")).unwrap();
    let slot = slot_of_disk(&tree.at("host0/0:0:3:0/block/sdc")).unwrap();
    assert_eq!(slot.name, "Slot 03 of enclosure 0:0:8:0");
}

#[test]
fn a_slot_without_a_light_is_none() {
    let tree = sas();
    fs::remove_file(tree.at("enclosure/0:0:8:0/Slot 03/locate")).unwrap();
    assert_eq!(slot_of_disk(&tree.at("host0/0:0:3:0/block/sdc")), None);
}

/// An NVMe drive behind a port of a switch; its namespace is the subsystem's if it has two
/// controllers.
fn nvme(light_of: &str, is_multipath: bool) -> Tree {
    let tree = Tree::new();
    let controller = "pci/port/0000:01:00.0/nvme/nvme0";
    tree.file(&format!("{controller}/model"), "FAST 9000\n");
    tree.link(&format!("{controller}/device"), "pci/port/0000:01:00.0");
    let light = format!("{light_of}/leds/0000:00:1d.0{LED_END}/brightness");
    tree.file(&light, "0\n");
    tree.file("nvme0n1/size", "1\n");
    if is_multipath {
        tree.link("nvme-subsys0/nvme0", controller);
        tree.file("nvme-subsys0/nvme0n1/size", "1\n");
        tree.link("nvme0n1/device", "nvme-subsys0");
    } else {
        tree.link("nvme0n1/device", controller);
    }
    tree
}

#[test]
fn an_nvme_drive_is_found_by_its_own_light_or_its_ports() {
    for light_of in ["pci/port", "pci/port/0000:01:00.0"] {
        for is_multipath in [false, true] {
            let tree = nvme(light_of, is_multipath);
            let slot = slot_of_disk(&tree.at("nvme0n1")).unwrap();
            assert_eq!(slot.name, "slot of PCI device 0000:00:1d.0");
            switch_light(&slot.light, true).unwrap();
            assert_eq!(fs::read_to_string(&slot.light).unwrap(), "1");
        }
    }
}

#[test]
fn a_drive_in_no_enclosure_has_no_slot() {
    let tree = nvme("elsewhere", false);
    assert_eq!(slot_of_disk(&tree.at("nvme0n1")), None);
    assert_eq!(slot_of_disk(&tree.at("absent")), None);
}

#[test]
fn what_is_no_block_device_is_refused() {
    let tree = sas();
    let error = slot_at(&tree.at("enclosure/0:0:8:0/id")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert_eq!(slot_at(&tree.at("absent")).unwrap_err().kind(), io::ErrorKind::NotFound);
}
