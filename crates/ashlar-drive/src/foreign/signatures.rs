//! The bytes by which formats are known.

use super::Ends;

/// Where a signature stands.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// Bytes from the start.
    FromStart(u64),
    /// Bytes before the end.
    FromEnd(u64),
    /// Where mdraid 1.0 keeps its superblock.
    MdAtEnd,
    /// Where mdraid 0.90 keeps its superblock.
    OldMdAtEnd,
}

/// A format and what must stand where.
pub(super) struct Signature {
    pub(super) what: &'static str,
    pub(super) all_of: &'static [(Place, &'static [u8])],
    /// Where its label stands, and the longest it can be.
    pub(super) label: Option<(u64, usize)>,
}

const fn at_start(what: &'static str, all_of: &'static [(Place, &'static [u8])]) -> Signature {
    Signature { what, all_of, label: None }
}

const fn labelled(
    what: &'static str,
    all_of: &'static [(Place, &'static [u8])],
    offset: u64,
    len: usize,
) -> Signature {
    Signature { what, all_of, label: Some((offset, len)) }
}

use Place::{FromEnd, FromStart};

const MD_MAGIC: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];
const LUKS_MAGIC: &[u8] = b"LUKS\xba\xbe";
/// A boot sector's last two bytes.
const BOOT: (Place, &[u8]) = (FromStart(510), &[0x55, 0xaa]);
const SWAP: &str = "swap space";
const LVM: &str = "an LVM physical volume";
const MD: &str = "a Linux software RAID (mdraid) member";
const FAT: &str = "a FAT file system";

pub(super) const SIGNATURES: &[Signature] = &[
    labelled("an XFS file system", &[(FromStart(0), b"XFSB")], 108, 12),
    labelled("a Btrfs file system", &[(FromStart(0x1_0040), b"_BHRfS_M")], 0x1_012b, 256),
    labelled(SWAP, &[(FromStart(4096 - 10), b"SWAPSPACE2")], 1052, 16),
    at_start(SWAP, &[(FromStart(4096 - 10), b"SWAP-SPACE")]),
    at_start(SWAP, &[(FromStart(16_384 - 10), b"SWAPSPACE2")]),
    at_start(SWAP, &[(FromStart(65_536 - 10), b"SWAPSPACE2")]),
    at_start("a hibernated system's memory", &[(FromStart(4096 - 10), b"S1SUSPEND")]),
    at_start(LVM, &[(FromStart(0), b"LABELONE"), (FromStart(24), b"LVM2 001")]),
    at_start(LVM, &[(FromStart(512), b"LABELONE"), (FromStart(512 + 24), b"LVM2 001")]),
    at_start(LVM, &[(FromStart(1024), b"LABELONE"), (FromStart(1024 + 24), b"LVM2 001")]),
    at_start(LVM, &[(FromStart(1536), b"LABELONE"), (FromStart(1536 + 24), b"LVM2 001")]),
    labelled(MD, &[(FromStart(0), MD_MAGIC)], 32, 32),
    labelled(MD, &[(FromStart(4096), MD_MAGIC)], 4096 + 32, 32),
    at_start(MD, &[(Place::MdAtEnd, MD_MAGIC)]),
    at_start(MD, &[(Place::OldMdAtEnd, MD_MAGIC)]),
    labelled(
        "an encrypted (LUKS2) volume",
        &[(FromStart(0), LUKS_MAGIC), (FromStart(6), &[0, 2])],
        24,
        48,
    ),
    at_start("an encrypted (LUKS1) volume", &[(FromStart(0), LUKS_MAGIC), (FromStart(6), &[0, 1])]),
    at_start("an encrypted (LUKS2) volume", &[(FromStart(0x4000), b"SKUL\xba\xbe")]),
    at_start("an NTFS file system", &[(FromStart(3), b"NTFS    "), BOOT]),
    at_start("an exFAT file system", &[(FromStart(3), b"EXFAT   "), BOOT]),
    labelled(FAT, &[(FromStart(82), b"FAT32   "), BOOT], 71, 11),
    labelled(FAT, &[(FromStart(54), b"FAT16   "), BOOT], 43, 11),
    labelled(FAT, &[(FromStart(54), b"FAT12   "), BOOT], 43, 11),
    at_start(
        "a bcache device",
        &[(
            FromStart(4096 + 24),
            b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81",
        )],
    ),
    at_start(
        "a bcachefs file system",
        &[(
            FromStart(4096 + 24),
            b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef",
        )],
    ),
    labelled("an ISO 9660 image", &[(FromStart(0x8001), b"CD001")], 0x8028, 32),
    at_start("a UDF file system", &[(FromStart(0x8001), b"BEA01")]),
    at_start("an F2FS file system", &[(FromStart(0x400), b"\x10\x20\xf5\xf2")]),
    at_start("a ReiserFS file system", &[(FromStart(0x1_0034), b"ReIsEr")]),
    at_start("a JFS file system", &[(FromStart(0x8000), b"JFS1")]),
    at_start("a GFS2 file system", &[(FromStart(0x1_0000), b"\x01\x16\x19\x70")]),
    at_start("an OCFS2 file system", &[(FromStart(0x2000), b"OCFSV2")]),
    at_start("a SquashFS image", &[(FromStart(0), b"hsqs")]),
    at_start("a Ceph BlueStore device", &[(FromStart(0), b"bluestore block device")]),
    at_start("a VDO volume", &[(FromStart(0), b"dmvdo001")]),
    at_start("a DRBD volume", &[(FromEnd(4096 - 60), b"\x83\x74\x02\x6b")]),
];

/// The second, third and fourth extended file system share one superblock.
pub(super) const EXT: Signature =
    labelled("an ext file system", &[(FromStart(0x438), &[0x53, 0xef])], 0x478, 16);

/// Which of them it is, by the features that it uses.
pub(super) fn ext_kind(ends: &Ends<'_>) -> Option<&'static str> {
    const HAS_JOURNAL: u32 = 0x4;
    /// Extents, 64-bit block numbers, flexible groups: unknown before ext4.
    const SINCE_EXT4: u32 = 0x40 | 0x80 | 0x200;
    if !ends.matches(&EXT) {
        return None;
    }
    let feature = |offset| {
        let bytes = ends.at(offset, 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_le_bytes)
    };
    Some(match (feature(0x45c) & HAS_JOURNAL != 0, feature(0x460) & SINCE_EXT4 != 0) {
        (_, true) => "an ext4 file system",
        (true, false) => "an ext3 file system",
        (false, false) => "an ext2 file system",
    })
}

/// A ZFS label holds a ring of uberblocks in its upper half; one suffices, in any of the four
/// labels.
pub(super) fn is_zfs(ends: &Ends<'_>) -> bool {
    const LABEL_BYTES: u64 = 256 << 10;
    const RING: std::ops::Range<u64> = 128 << 10..256 << 10;
    const UBERBLOCK_BYTES_MIN: usize = 1 << 10;
    let little = 0x00ba_b10c_u64.to_le_bytes();
    let big = 0x00ba_b10c_u64.to_be_bytes();
    let end = ends.size_bytes / LABEL_BYTES * LABEL_BYTES;
    [Some(0), Some(LABEL_BYTES), end.checked_sub(2 * LABEL_BYTES), end.checked_sub(LABEL_BYTES)]
        .into_iter()
        .flatten()
        .flat_map(|label| RING.step_by(UBERBLOCK_BYTES_MIN).map(move |offset| label + offset))
        .any(|offset| ends.has(offset, &little) || ends.has(offset, &big))
}
