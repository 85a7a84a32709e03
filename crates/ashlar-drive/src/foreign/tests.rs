use std::path::Path;
use std::process::Command;

use super::*;

const SIZE: u64 = 64 << 20;

type Part<'a> = (u64, &'a [u8]);

/// A drive of `SIZE` zeros with some bytes in it, as its two ends show it.
fn look_at(parts: &[Part]) -> Option<ForeignContent> {
    let (mut first, mut last) = (vec![0; PROBED_BYTES], vec![0; PROBED_BYTES]);
    let last_start = SIZE - PROBED_BYTES as u64;
    for (offset, bytes) in parts {
        let (end, start) =
            if *offset < last_start { (&mut first, 0) } else { (&mut last, last_start) };
        let from = (offset - start) as usize;
        end[from..from + bytes.len()].copy_from_slice(bytes);
    }
    identify(&first, &last, SIZE)
}

fn described(parts: &[Part]) -> String {
    look_at(parts).expect("not blank").to_string()
}

#[test]
fn zeros_at_both_ends_are_blank() {
    assert_eq!(look_at(&[]), None);
}

#[test]
fn other_data_at_either_end_is_unknown_but_not_blank() {
    assert_eq!(look_at(&[(0, b"x")]), Some(ForeignContent::Unknown));
    assert_eq!(look_at(&[(SIZE - 1, b"x")]), Some(ForeignContent::Unknown));
    assert_eq!(described(&[(0, b"x")]), "data of an unknown kind");
}

#[test]
fn formats_are_known_by_their_signatures() {
    let uberblock = 0x00ba_b10c_u64.to_le_bytes();
    let md = [0xfc, 0x4e, 0x2b, 0xa9];
    let cases: &[(&[Part], &str)] = &[
        (&[(512, b"EFI PART")], "a GPT partition table"),
        (&[(4096, b"EFI PART")], "a GPT partition table"),
        (&[(SIZE - 512, b"EFI PART")], "a GPT partition table"),
        (&[(0, b"XFSB"), (108, b"scratch")], "an XFS file system named 'scratch'"),
        (&[(0x1_0040, b"_BHRfS_M"), (0x1_012b, b"pool")], "a Btrfs file system named 'pool'"),
        (&[(4086, b"SWAPSPACE2")], "swap space"),
        (&[(512, b"LABELONE"), (536, b"LVM2 001")], "an LVM physical volume"),
        (&[(4096, &md), (4128, b"host:0")], "a Linux software RAID (mdraid) member named 'host:0'"),
        (&[(0, &md)], "a Linux software RAID (mdraid) member"),
        (&[(SIZE - 8192, &md)], "a Linux software RAID (mdraid) member"),
        (&[(SIZE - 65_536, &md)], "a Linux software RAID (mdraid) member"),
        (
            &[(0, b"LUKS\xba\xbe\x00\x02"), (24, b"secret")],
            "an encrypted (LUKS2) volume named 'secret'",
        ),
        (&[(0, b"LUKS\xba\xbe\x00\x01")], "an encrypted (LUKS1) volume"),
        (&[((128 << 10) + 5 * 1024, &uberblock)], "a ZFS pool member"),
        (&[(SIZE - (128 << 10), &uberblock)], "a ZFS pool member"),
        (&[(3, b"NTFS    "), (510, b"\x55\xaa")], "an NTFS file system"),
        (
            &[(82, b"FAT32   "), (71, b"BOOT       "), (510, b"\x55\xaa")],
            "a FAT file system named 'BOOT'",
        ),
        (&[(0x8001, b"CD001"), (0x8028, b"INSTALL ")], "an ISO 9660 image named 'INSTALL'"),
        (&[(0x438, b"\x53\xef")], "an ext2 file system"),
        (&[(0x438, b"\x53\xef"), (0x45c, &[4])], "an ext3 file system"),
        (
            &[(0x438, b"\x53\xef"), (0x460, &[0x40]), (0x478, b"data")],
            "an ext4 file system named 'data'",
        ),
        (
            &[(4120, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81")],
            "a bcache device",
        ),
    ];
    for (parts, wanted) in cases {
        assert_eq!(described(parts), *wanted);
    }
}

#[test]
fn an_mbr_needs_an_entry_that_makes_sense() {
    let entry = [0x80, 0, 2, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 1, 0];
    assert_eq!(described(&[(446, &entry), (510, b"\x55\xaa")]), "an MBR partition table");
    let code = [0x33, 0xc0, 0x8e, 0xd0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 1, 0];
    assert_eq!(look_at(&[(446, &code), (510, b"\x55\xaa")]), Some(ForeignContent::Unknown));
    assert_eq!(look_at(&[(510, b"\x55\xaa")]), Some(ForeignContent::Unknown));
}

#[test]
fn everything_found_is_named() {
    assert_eq!(
        described(&[(512, b"EFI PART"), (4086, b"SWAPSPACE2")]),
        "a GPT partition table, swap space"
    );
}

#[test]
fn a_label_with_control_characters_is_not_printed() {
    assert_eq!(described(&[(0, b"XFSB"), (108, b"a\x1b[2J")]), "an XFS file system");
}

#[test]
fn a_drive_smaller_than_what_is_looked_at_is_looked_at_whole() {
    let mut small = vec![0; 65_536];
    assert_eq!(identify(&small, &small, 65_536), None);
    small[4086..4096].copy_from_slice(b"SWAPSPACE2");
    assert_eq!(identify(&small, &small, 65_536).unwrap().to_string(), "swap space");
    assert_eq!(identify(&[], &[], 0), None);
}

/// What the real tool makes of a file, where it is installed.
fn made_by(program: &str, arguments: &[&str]) -> Option<String> {
    let image = tempfile::NamedTempFile::new().unwrap();
    image.as_file().set_len(SIZE).unwrap();
    let made = Command::new(program).args(arguments).arg(image.path()).output();
    let Ok(made) = made else {
        eprintln!("{program} is not installed: left out");
        return None;
    };
    assert!(made.status.success(), "{program}: {}", String::from_utf8_lossy(&made.stderr));
    let content = std::fs::read(image.path() as &Path).unwrap();
    let found = identify(&content[..PROBED_BYTES], &content[content.len() - PROBED_BYTES..], SIZE);
    Some(found.expect("not blank").to_string())
}

#[test]
fn what_real_tools_make_is_recognised() {
    let cases: &[(&str, &[&str], &str)] = &[
        ("/usr/sbin/mkfs.ext4", &["-q", "-F", "-L", "data"], "an ext4 file system named 'data'"),
        ("/usr/sbin/mkfs.ext3", &["-q", "-F"], "an ext3 file system"),
        ("/usr/sbin/mkfs.ext2", &["-q", "-F"], "an ext2 file system"),
        ("/usr/sbin/mkswap", &["-L", "swap0"], "swap space named 'swap0'"),
        ("/usr/sbin/mkfs.vfat", &["-n", "BOOT"], "a FAT file system named 'BOOT'"),
        ("/usr/sbin/mkfs.btrfs", &["-q", "-L", "pool"], "a Btrfs file system named 'pool'"),
        ("/usr/sbin/mke2fs", &["-q", "-F", "-t", "ext4"], "an ext4 file system"),
    ];
    for (program, arguments, wanted) in cases {
        if let Some(found) = made_by(program, arguments) {
            assert_eq!(found, *wanted, "{program}");
        }
    }
}
