//! The pool that is checked: its members, and how sectors of them are read.

use ashlar_block::{AlignedBuf, Device, DriveId, SECTOR_BYTES};
use ashlar_format::codec::crc32c;
use ashlar_format::location::{Codec, Location, Pointer};
use ashlar_format::root::Root;
use ashlar_format::superblock::{Secret, Superblock};
use ashlar_raid::{ChunkAddr, DriveLayout, Geometry, Recipes, Ways};
use futures_util::future::join_all;

use crate::report::{Finding, Findings, Kind, shown};

/// A member that is there and is believed.
pub(crate) struct Member<D> {
    pub name: String,
    pub device: D,
    pub layout: DriveLayout,
    /// It has not got the newest root. It may not have got that root's first table either: a drive
    /// that is being added gets both with the next start.
    pub is_behind: bool,
}

/// What all parts of a check use.
pub(crate) struct Pool<D> {
    /// By number.
    members: Vec<Option<Member<D>>>,
    pub root: Root,
    pub secret: Secret,
    /// Parity columns of the level.
    pub parity: usize,
    /// Rows of a segment.
    pub rows: u32,
    pub segment_numbers: u32,
    pub findings: Findings,
}

/// How a fragment was had.
pub(crate) enum Had {
    /// As its drive gave it.
    AsItIs(Vec<u8>),
    /// Made of the others of its rows.
    Restored(Vec<u8>),
    /// In no way.
    Not,
}

impl<D: Device> Pool<D> {
    pub fn new(
        superblock: &Superblock,
        root: Root,
        drives: Vec<(DriveId, Member<D>)>,
        findings: Findings,
    ) -> Self {
        let slots = drives.iter().map(|(drive, _)| usize::from(drive.0) + 1).max().unwrap_or(0);
        let mut members: Vec<Option<Member<D>>> = (0..slots).map(|_| None).collect();
        for (drive, member) in drives {
            members[usize::from(drive.0)] = Some(member);
        }
        Pool {
            members,
            root,
            secret: superblock.secret.clone(),
            parity: superblock.level().parity(),
            rows: superblock.layout.rows(),
            segment_numbers: superblock.segment_numbers,
            findings,
        }
    }

    pub fn member(&self, drive: DriveId) -> Option<&Member<D>> {
        self.members.get(usize::from(drive.0))?.as_ref()
    }

    pub fn members(&self) -> impl Iterator<Item = (DriveId, &Member<D>)> {
        let numbered = self.members.iter().enumerate();
        numbered.filter_map(|(number, member)| Some((DriveId(number as u16), member.as_ref()?)))
    }

    /// Where sector `row` of a chunk is on its drive, if that is there.
    pub fn offset(&self, chunk: ChunkAddr, row: u32) -> Option<u64> {
        let layout = self.member(chunk.drive)?.layout;
        let is_there = chunk.chunk < layout.chunk_count && row < layout.rows();
        is_there.then(|| layout.offset(chunk.chunk, row * SECTOR_BYTES as u32))
    }

    /// Rows of a chunk. `None`: they cannot be read at once, or the drive is not there.
    pub async fn read_rows(&self, chunk: ChunkAddr, row: u32, rows: u32) -> Option<AlignedBuf> {
        let (member, offset) = (self.member(chunk.drive)?, self.offset(chunk, row)?);
        let buf = AlignedBuf::stale(rows as usize * SECTOR_BYTES);
        let (read, buf) = member.device.read(offset, buf).await;
        read.ok().map(|()| buf)
    }

    /// Tells of something about sectors of a chunk, each sector once.
    pub fn tell(
        &self,
        kind: Kind,
        chunk: ChunkAddr,
        row: u32,
        rows: u32,
        is_lost: bool,
        text: &str,
    ) {
        let (member, offset) = (self.member(chunk.drive), self.offset(chunk, row));
        let sectors = offset.into_iter().flat_map(|offset| {
            (0..u64::from(rows)).map(move |nth| offset + nth * SECTOR_BYTES as u64)
        });
        let news = sectors.filter(|sector| self.findings.is_news(chunk.drive, *sector)).count();
        if news == 0 && offset.is_some() {
            return;
        }
        let name = member.map_or_else(String::new, |member| member.name.clone());
        let (drive, bytes) = (Some(chunk.drive), u64::from(rows) * SECTOR_BYTES as u64);
        self.findings.add(Finding {
            kind,
            drive,
            name,
            offset,
            bytes,
            is_lost,
            text: text.to_owned(),
        });
    }

    /// The fragment at `pointer`, in any way that its checksum takes. Tells of sectors that are
    /// wrong, as of a `kind`; and of a fragment that cannot be had.
    pub async fn fragment(
        &self,
        geometry: &Geometry,
        pointer: Pointer,
        kind: Kind,
        what: &str,
    ) -> Had {
        let (location, place) = (pointer.location, shown(pointer.location));
        if location.column() >= geometry.data() || location.sectors().end > self.rows {
            let text = format!("{what}: {place} is no place of its segment");
            self.findings.add_of_pool(Kind::NotHeld, text);
            return Had::Not;
        }
        let (rows, within) = (location.sectors(), location.within_sectors());
        let chunk = geometry.columns[location.column()];
        let own = self.read_rows(chunk, rows.start, rows.len() as u32).await;
        let is_right = |bytes: &[u8]| crc32c(&bytes[within.clone()]) == pointer.crc;
        if let Some(own) = own.as_ref().filter(|own| is_right(own)) {
            return Had::AsItIs(own[within].to_vec());
        }
        let Some(restored) = self.restored(geometry, location, is_right).await else {
            let text = format!("{what} ({place}) can neither be read nor restored");
            self.tell(kind, chunk, rows.start, rows.len() as u32, true, &text);
            return Had::Not;
        };
        let text = format!(
            "{what} ({place}) is wrong or cannot be read here, and was restored from parity"
        );
        let is_there = self.member(chunk.drive).is_some();
        let sectors = restored.chunks(SECTOR_BYTES).zip(rows);
        for (nth, (sector, row)) in sectors.enumerate().filter(|_| is_there) {
            let is_same = own
                .as_ref()
                .is_some_and(|own| own[nth * SECTOR_BYTES..][..SECTOR_BYTES] == *sector);
            if !is_same {
                self.tell(kind, chunk, row, 1, false, &text);
            }
        }
        Had::Restored(restored[within].to_vec())
    }

    async fn restored(
        &self,
        geometry: &Geometry,
        location: Location,
        is_right: impl Fn(&[u8]) -> bool,
    ) -> Option<Vec<u8>> {
        let each = geometry
            .columns
            .iter()
            .map(|chunk| join_all(location.sectors().map(|row| self.read_rows(*chunk, row, 1))));
        let columns = join_all(each).await;
        let recipes = Recipes::new(geometry.data(), location.column());
        let mut ways = Ways::new(&recipes);
        for nth in 0..location.sectors().len() {
            ways.add_row(columns.iter().map(|sectors| sectors[nth].as_deref().unwrap_or_default()));
        }
        ways.find(is_right)
    }
}

/// The page that a stored fragment holds.
pub(crate) fn page_of(stored: Vec<u8>, codec: Codec) -> Option<Vec<u8>> {
    match codec {
        Codec::Raw => Some(stored),
        Codec::Lz4 => {
            let (length, rest) = stored.split_first_chunk()?;
            let length = usize::from(u16::from_le_bytes(*length));
            lz4_flex::block::decompress(rest, length).ok().filter(|page| page.len() == length)
        }
        Codec::Zstd | Codec::Named => None,
    }
}
