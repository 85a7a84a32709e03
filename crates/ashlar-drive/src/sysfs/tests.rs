use std::fs;

use super::*;

/// A directory tree as the kernel shows it for one disk with one partition.
fn tree(cache: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let disk = dir.path().join("nvme0n1");
    for sub in ["queue", "device", "nvme0n1p1"] {
        fs::create_dir_all(disk.join(sub)).unwrap();
    }
    let files = [
        ("queue/write_cache", cache),
        ("queue/rotational", "0\n"),
        ("queue/logical_block_size", "512\n"),
        ("queue/physical_block_size", "4096\n"),
        ("device/model", "FAST 9000                \n"),
        ("device/serial", "S123\n"),
        ("nvme0n1p1/partition", "1\n"),
    ];
    for (name, content) in files {
        fs::write(disk.join(name), content).unwrap();
    }
    dir
}

#[test]
fn a_write_back_cache_is_volatile_and_a_write_through_one_is_not() {
    for (cache, volatile) in [("write back\n", true), ("write through\n", false)] {
        let dir = tree(cache);
        let facts = read_facts(&dir.path().join("nvme0n1"));
        assert_eq!(facts.volatile_cache, Some(volatile));
    }
}

#[test]
fn a_partition_shares_the_facts_of_its_disk() {
    let dir = tree("write back\n");
    let disk = disk_dir(&dir.path().join("nvme0n1/nvme0n1p1")).unwrap();
    let facts = read_facts(&disk);
    assert_eq!(facts.model.as_deref(), Some("FAST 9000"));
    assert_eq!(facts.serial.as_deref(), Some("S123"));
    assert_eq!((facts.logical_sector_bytes, facts.physical_sector_bytes), (Some(512), Some(4096)));
    assert_eq!(facts.rotational, Some(false));
}

#[test]
fn a_device_that_the_kernel_does_not_have_has_no_facts() {
    assert_eq!(read_facts(Path::new("/nonexistent")), BlockFacts::default());
}
