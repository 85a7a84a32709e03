//! The superblocks of each drive: one good copy is enough, and the scrub repairs the others from
//! the newest.

use ashlar_block::{AlignedBuf, Device, DeviceError, DriveId, DriveUuid, SECTOR_BYTES, World};
use ashlar_format::scrub::Findings;
use ashlar_format::superblock::Superblock;

use futures_util::future::join_all;

use super::repair::BatchCheck;
use crate::pool::Pool;

/// A copy, as its drive gave it.
pub(crate) struct Copy {
    offset: u64,
    read: Result<Vec<u8>, DeviceError>,
    /// What it says, if it is one of the drive's as the pool knows it.
    pub says: Option<Superblock>,
}

/// What the newest of the copies says.
pub(crate) fn newest_of(copies: &[Copy; 3]) -> Option<&Superblock> {
    copies.iter().filter_map(|copy| copy.says.as_ref()).max_by_key(|says| says.generation)
}

impl<W: World> Pool<W> {
    /// Looks at the superblocks of all drives that work, and repairs what is wrong.
    pub(crate) async fn check_superblocks(&self) -> BatchCheck {
        // Not while one says more than the others: what is right of them is not certain then.
        let _labels = self.membership.labels.lock().await;
        let members = self.array.working_drives().into_iter();
        let members = members.filter_map(|drive| Some((drive, self.uuid_of(drive)?)));
        let one =
            |(drive, uuid)| async move { (drive, self.check_superblocks_of(drive, uuid).await) };
        let all = join_all(members.map(one)).await;
        let drives =
            all.into_iter().filter(|(_, findings)| *findings != Findings::default()).collect();
        BatchCheck { drives, ..BatchCheck::default() }
    }

    async fn check_superblocks_of(&self, drive: DriveId, uuid: DriveUuid) -> Findings {
        let mut findings = Findings::default();
        let name = self.identity.naming.settled();
        let Some(copies) = self.copies_of(drive, uuid).await else { return findings };
        let right = newest_of(&copies).map(Superblock::encode);
        for copy in copies {
            let (wrong, unreadable) = match copy.read {
                Ok(read) if Some(&read) == right.as_ref() => continue,
                // The pool is being renamed.
                Ok(_) if name.is_none() || name != self.identity.naming.settled() => continue,
                Ok(_) => (1, 0),
                Err(DeviceError::Gone) => break,
                Err(_) => (0, 1),
            };
            let repaired = match &right {
                Some(right) => self.rewrite_superblock(drive, copy.offset, right).await,
                // Where the second one is, only a superblock tells for sure. The drive works until
                // the pool is closed: time to replace it.
                None => false,
            };
            let (repaired, unrepaired) = if repaired { (1, 0) } else { (0, 1) };
            findings += Findings { wrong, unreadable, repaired, unrepaired };
        }
        if findings.wrong > 0 {
            self.array.note_corrupt_reads(drive, findings.wrong);
        }
        findings
    }

    /// The copies of a member that works. The second one lies where the newer one of the others
    /// says that the drive ends, and nowhere else, whatever is there: where it was before the drive
    /// grew, there is a chunk now.
    pub(crate) async fn copies_of(&self, drive: DriveId, uuid: DriveUuid) -> Option<[Copy; 3]> {
        let member = self.array.working(drive)?;
        let first = self.superblock_at(drive, uuid, Superblock::FIRST_OFFSET).await;
        let inside = self.superblock_at(drive, uuid, Superblock::INSIDE_OFFSET).await;
        let (of_first, of_inside) = (first.says.as_ref(), inside.says.as_ref());
        let is_any = of_first.is_some() || of_inside.is_some();
        let end_bytes = if is_any { member.device.size_bytes() } else { member.used_bytes() };
        let likeliest = Superblock::second_offsets(of_first, of_inside, end_bytes)[0];
        let second = self.superblock_at(drive, uuid, likeliest).await;
        Some([first, second, inside])
    }

    async fn superblock_at(&self, drive: DriveId, uuid: DriveUuid, offset: u64) -> Copy {
        let read =
            self.array.read_raw(drive, offset).await.map(|sector| sector[..SECTOR_BYTES].to_vec());
        let says = read.as_ref().ok().and_then(|sector| Superblock::decode(sector).ok());
        let is_its_own = |says: &Superblock| {
            (says.pool, says.drive, says.drive_uuid) == (self.identity.pool, drive, uuid)
        };
        Copy { offset, read, says: says.filter(is_its_own) }
    }

    async fn rewrite_superblock(&self, drive: DriveId, offset: u64, right: &[u8]) -> bool {
        tracing::warn!(
            "{drive}: the superblock at {offset} is wrong or unreadable: the scrub writes it anew"
        );
        let repaired =
            self.array.rewrite_raw(drive, offset, AlignedBuf::copy_of(right).freeze()).await;
        if repaired {
            self.count(|counters| counters.repairs.sectors_repaired += 1);
        }
        repaired
    }
}
