//! Partition tables.

use super::Ends;

const GPT: &str = "a GPT partition table";
const MBR: &str = "an MBR partition table";
const GPT_MAGIC: &[u8] = b"EFI PART";
/// The type of the one partition by which an MBR points to a GPT.
const PROTECTIVE: u8 = 0xee;

/// The tables found: a GPT by its header at either end, an MBR by its entries.
pub(super) fn find(ends: &Ends<'_>) -> Vec<&'static str> {
    let mut found = Vec::new();
    if has_gpt(ends) {
        found.push(GPT);
    } else if has_mbr(ends) {
        found.push(MBR);
    }
    found
}

fn has_gpt(ends: &Ends<'_>) -> bool {
    let headers = |sector: u64| [Some(sector), ends.size_bytes.checked_sub(sector)];
    [512, 4096].into_iter().flat_map(headers).flatten().any(|offset| ends.has(offset, GPT_MAGIC))
}

/// Boot sectors of FAT and NTFS end in the same two bytes, but hold code where an MBR has its
/// entries: so every entry must make sense and one must be used.
fn has_mbr(ends: &Ends<'_>) -> bool {
    let (Some(table), true) = (ends.at(446, 64), ends.has(510, &[0x55, 0xaa])) else {
        return false;
    };
    let used = |entry: &[u8]| entry[4] != 0 && entry[12..16] != [0; 4];
    let sensible = |entry: &[u8]| {
        matches!(entry[0], 0x00 | 0x80)
            && (entry[4] == PROTECTIVE || used(entry) || entry == [0; 16])
    };
    table.chunks(16).all(sensible) && table.chunks(16).any(used)
}
