//! Opening and making drives. Everything here may block: it is for the start, not for the data
//! path.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ashlar_block::{AlignedBuf, ByteSize, SECTOR_BYTES};
use rustix::fs::{FallocateFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::error::OpenError;
use crate::info::{DriveInfo, DriveKind};
use crate::model::{ModelName, Profile};
use crate::slot::slot_of;
use crate::spec::{DRIVE_BYTES_MIN, DriveSpec};
use crate::{lock, sysfs, users};

/// How long a drive is waited for that nobody has open any more, although its lock is still there.
const LEFT_LOCK_WAIT_MAX: Duration = Duration::from_secs(5);

/// Whether a drive may be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenMode {
    /// It exists. For opening a pool.
    Existing,
    /// A file with a given size is made if it does not exist. For creating a pool.
    CreateIfMissing,
}

/// A drive that is open, locked and known, for any thread.
pub(crate) struct Opened {
    pub(crate) descriptor: OwnedFd,
    pub(crate) info: DriveInfo,
    pub(crate) profile: Option<Profile>,
}

/// Opens a block device or a file, on any thread.
///
/// # Panics
/// If the drive is neither.
pub(crate) fn open(spec: &DriveSpec, mode: OpenMode) -> Result<Opened, OpenError> {
    let profile = profile_of(spec)?;
    let opened = match spec {
        DriveSpec::Block { path } => open_block(path),
        DriveSpec::File { path, size, sparse, .. } => open_file(path, *size, *sparse, mode),
        DriveSpec::Memory { .. } | DriveSpec::Null { .. } => unreachable!("memory is not opened"),
    }?;
    let info = as_modelled(opened.info, spec, profile.as_ref());
    Ok(Opened { info, profile, ..opened })
}

/// What the drive is to take as long as, if anything.
pub(crate) fn profile_of(spec: &DriveSpec) -> Result<Option<Profile>, OpenError> {
    let profile = spec.model().map(ModelName::profile).transpose();
    profile.map_err(|source| OpenError::Model { drive: spec.to_string(), source })
}

/// Wherever a modelled drive is shown, it says that it is one.
pub(crate) fn as_modelled(
    info: DriveInfo,
    spec: &DriveSpec,
    profile: Option<&Profile>,
) -> DriveInfo {
    match (spec.model(), profile) {
        (Some(name), Some(profile)) => DriveInfo {
            model: Some(format!("modelled {name}")),
            rotational: Some(profile.rotational),
            ..info
        },
        _ => info,
    }
}

pub(crate) fn open_block(path: &Path) -> Result<Opened, OpenError> {
    let found = existing(path)?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::BlockDevice => {}
        FileType::RegularFile => return Err(OpenError::IsFile { path: path.to_owned() }),
        _ => return Err(OpenError::NotADrive { path: path.to_owned() }),
    }
    // O_EXCL keeps out mounts, volume managers and other exclusive openers; the lock, daemons of
    // our kind.
    let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::EXCL | OFlags::CLOEXEC;
    let descriptor = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| match errno {
        Errno::BUSY => {
            OpenError::InUse { path: path.to_owned(), holder: users::user_of_device(&found) }
        }
        errno => cannot(path, "opening it", errno),
    })?;
    lock_or_name_holder(path, &descriptor)?;
    let info = block_info(path, &descriptor, &found)?;
    Ok(Opened { descriptor, info, profile: None })
}

/// Opens a block device or a file for reading alone. Whoever writes to it, a daemon for one, cannot
/// take it as long as it is open, nor can it be opened so while somebody has taken it.
pub(crate) fn open_to_read(path: &Path) -> Result<Opened, OpenError> {
    let found = existing(path)?;
    let kind = FileType::from_raw_mode(found.st_mode);
    match kind {
        FileType::BlockDevice => {}
        FileType::RegularFile => check_may_be_drive(path, &found)?,
        _ => return Err(OpenError::NotADrive { path: path.to_owned() }),
    }
    let (descriptor, direct) = open_direct(path, OFlags::RDONLY)?;
    let failed = |errno| cannot(path, "locking it", errno);
    let stat = rustix::fs::fstat(&descriptor).map_err(failed)?;
    if !lock::share_when_left(&descriptor, &stat, LEFT_LOCK_WAIT_MAX).map_err(failed)? {
        return Err(OpenError::InUse {
            path: path.to_owned(),
            holder: lock::holder_of_lock(&stat),
        });
    }
    let info = match kind {
        FileType::BlockDevice => DriveInfo { direct, ..block_info(path, &descriptor, &stat)? },
        _ => file_info(path, &stat, OpenMode::Existing, direct)?,
    };
    Ok(Opened { descriptor, info, profile: None })
}

fn block_info(path: &Path, descriptor: &OwnedFd, stat: &Stat) -> Result<DriveInfo, OpenError> {
    let facts = sysfs::block_facts(stat.st_rdev);
    let end = rustix::fs::seek(descriptor, rustix::fs::SeekFrom::End(0))
        .map_err(|errno| cannot(path, "asking for its size", errno))?;
    let logical_sector_bytes = match facts.logical_sector_bytes {
        Some(bytes) => bytes,
        None => rustix::fs::ioctl_blksszget(descriptor)
            .map_err(|errno| cannot(path, "asking for its sectors", errno))?,
    };
    if logical_sector_bytes as usize > SECTOR_BYTES {
        return Err(OpenError::SectorsTooLarge {
            path: path.to_owned(),
            sector_bytes: logical_sector_bytes,
        });
    }
    Ok(DriveInfo {
        path: Some(path.to_owned()),
        kind: DriveKind::Block,
        size_bytes: large_enough(path, end / SECTOR_BYTES as u64 * SECTOR_BYTES as u64)?,
        direct: true,
        // What the kernel does not vouch for is volatile.
        volatile_cache: facts.volatile_cache.unwrap_or(true),
        sparse: false,
        kernel_name: sysfs::kernel_name(stat.st_rdev),
        model: facts.model,
        serial: facts.serial,
        slot: slot_of(stat.st_rdev),
        rotational: facts.rotational,
        discards: facts.discards,
        logical_sector_bytes,
        physical_sector_bytes: facts.physical_sector_bytes.unwrap_or(logical_sector_bytes),
    })
}

pub(crate) fn open_file(
    path: &Path,
    size: Option<ByteSize>,
    sparse: bool,
    mode: OpenMode,
) -> Result<Opened, OpenError> {
    let found = match (existing(path), size, mode) {
        (Err(OpenError::NotFound { .. }), Some(size), OpenMode::CreateIfMissing) => {
            make_file(path, size, sparse)?;
            existing(path)?
        }
        (Err(OpenError::NotFound { path, what: "file" }), None, OpenMode::CreateIfMissing) => {
            return Err(OpenError::NoSize { path });
        }
        (found, ..) => found?,
    };
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => check_may_be_drive(path, &found)?,
        FileType::BlockDevice => return Err(OpenError::IsBlockDevice { path: path.to_owned() }),
        _ => return Err(OpenError::NotADrive { path: path.to_owned() }),
    }
    if let Some(holder) = users::user_of_file(&found) {
        return Err(OpenError::InUse { path: path.to_owned(), holder });
    }
    let (descriptor, direct) = open_direct_if_possible(path)?;
    lock_or_name_holder(path, &descriptor)?;
    let stat = rustix::fs::fstat(&descriptor)
        .map_err(|errno| cannot(path, "asking for its size", errno))?;
    check_size(path, ByteSize(stat.st_size as u64), size, mode)?;
    let info = file_info(path, &stat, mode, direct)?;
    Ok(Opened { descriptor, info, profile: None })
}

/// Refuses a file that is too small for a drive before it is opened or locked: it may be anybody's,
/// and one of the kernel's may do something at an open.
fn check_may_be_drive(path: &Path, found: &Stat) -> Result<(), OpenError> {
    large_enough(path, found.st_size as u64).map(drop)
}

/// Whether the file has the size that was given with its name. One that is a drive already may
/// have grown since.
fn check_size(
    path: &Path,
    found: ByteSize,
    asked: Option<ByteSize>,
    mode: OpenMode,
) -> Result<(), OpenError> {
    let has_grown = |asked: &ByteSize| mode == OpenMode::Existing && found.0 > asked.0;
    let Some(asked) = asked.filter(|asked| *asked != found && !has_grown(asked)) else {
        return Ok(());
    };
    let path = path.to_owned();
    Err(match mode {
        OpenMode::CreateIfMissing => OpenError::SizeDiffers { path, found, asked },
        OpenMode::Existing => OpenError::SizeChanged { path, found, said: asked },
    })
}

fn file_info(
    path: &Path,
    stat: &Stat,
    mode: OpenMode,
    direct: bool,
) -> Result<DriveInfo, OpenError> {
    let bytes = stat.st_size as u64;
    let size_bytes = bytes / SECTOR_BYTES as u64 * SECTOR_BYTES as u64;
    // One that is a drive already may have grown by anything.
    if size_bytes != bytes && mode == OpenMode::CreateIfMissing {
        return Err(OpenError::Unaligned { path: path.to_owned(), bytes });
    }
    let facts = sysfs::block_facts(stat.st_dev);
    Ok(DriveInfo {
        path: Some(path.to_owned()),
        kind: DriveKind::File,
        size_bytes: large_enough(path, size_bytes)?,
        direct,
        // Its size and extents are the file system's to make durable, whatever the device below.
        volatile_cache: true,
        sparse: (stat.st_blocks as u64) * 512 < size_bytes,
        kernel_name: None,
        model: None,
        serial: None,
        slot: None,
        rotational: facts.rotational,
        // Most file systems can punch holes; the others say so.
        discards: true,
        logical_sector_bytes: facts.logical_sector_bytes.unwrap_or(SECTOR_BYTES as u32),
        physical_sector_bytes: facts.physical_sector_bytes.unwrap_or(SECTOR_BYTES as u32),
    })
}

/// Opens the file past the page cache, or with it, loudly, where its file system knows no other
/// way. Some say so at the open, some only at the first read.
fn open_direct_if_possible(path: &Path) -> Result<(OwnedFd, bool), OpenError> {
    let (descriptor, direct) = open_direct(path, OFlags::RDWR)?;
    if !direct {
        tracing::warn!(
            drive = %path.display(),
            "this file system refuses direct I/O: going on through the page cache, slower and with every byte in \
             memory twice. Writes are still made durable before they are acknowledged"
        );
    }
    Ok((descriptor, direct))
}

/// Opens it past the page cache, or with it where that is not possible.
fn open_direct(path: &Path, access: OFlags) -> Result<(OwnedFd, bool), OpenError> {
    let buffered = access | OFlags::CLOEXEC;
    match rustix::fs::open(path, buffered | OFlags::DIRECT, Mode::empty()) {
        Ok(descriptor) if reads_direct(&descriptor) => return Ok((descriptor, true)),
        Ok(_) | Err(Errno::INVAL) => {}
        Err(errno) => return Err(cannot(path, "opening it", errno)),
    }
    let descriptor = rustix::fs::open(path, buffered, Mode::empty())
        .map_err(|errno| cannot(path, "opening it", errno))?;
    Ok((descriptor, false))
}

fn reads_direct(descriptor: &OwnedFd) -> bool {
    let mut sector = AlignedBuf::stale(SECTOR_BYTES);
    rustix::io::pread(descriptor, &mut sector[..], 0) != Err(Errno::INVAL)
}

/// Makes a file of `size`, all of it reserved unless it is to be sparse; none at all after an
/// error.
fn make_file(path: &Path, size: ByteSize, sparse: bool) -> Result<(), OpenError> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let space = rustix::fs::statvfs(parent).map_err(|errno| match errno {
        Errno::NOENT | Errno::NOTDIR => {
            OpenError::NoParent { path: path.to_owned(), parent: parent.to_owned() }
        }
        errno => cannot(path, "looking at its directory", errno),
    })?;
    let free = ByteSize(space.f_bavail.saturating_mul(space.f_frsize));
    if !sparse && free < size {
        return Err(OpenError::NoRoom { path: path.to_owned(), asked: size, free });
    }
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)
        .map_err(|errno| cannot(path, "making it", errno))?;
    let made =
        set_size(path, &file, size, sparse, free).and_then(|()| make_durable(path, &file, parent));
    if made.is_err() {
        // Nobody has seen it yet; if it cannot be removed, the error below still tells the story.
        let _ = rustix::fs::unlink(path);
    }
    made
}

fn set_size(
    path: &Path,
    file: &OwnedFd,
    size: ByteSize,
    sparse: bool,
    free: ByteSize,
) -> Result<(), OpenError> {
    if sparse {
        return rustix::fs::ftruncate(file, size.0)
            .map_err(|errno| cannot(path, "setting its size", errno));
    }
    rustix::fs::fallocate(file, FallocateFlags::empty(), 0, size.0).map_err(|errno| match errno {
        Errno::NOSPC | Errno::DQUOT => {
            OpenError::NoRoom { path: path.to_owned(), asked: size, free }
        }
        Errno::OPNOTSUPP => OpenError::NoReservation { path: path.to_owned() },
        errno => cannot(path, "reserving its space", errno),
    })
}

/// The file and its name survive a power cut before anything relies on them.
fn make_durable(path: &Path, file: &OwnedFd, parent: &Path) -> Result<(), OpenError> {
    let sync = |errno| cannot(path, "making it durable", errno);
    rustix::fs::fsync(file).map_err(sync)?;
    let directory = rustix::fs::open(
        parent,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    );
    rustix::fs::fsync(directory.map_err(sync)?).map_err(sync)
}

fn existing(path: &Path) -> Result<Stat, OpenError> {
    rustix::fs::stat(path).map_err(|errno| cannot(path, "looking at it", errno))
}

fn lock_or_name_holder(path: &Path, descriptor: &OwnedFd) -> Result<(), OpenError> {
    let failed = |errno| cannot(path, "locking it", errno);
    let stat = rustix::fs::fstat(descriptor).map_err(failed)?;
    if lock::lock_when_left(descriptor, &stat, LEFT_LOCK_WAIT_MAX).map_err(failed)? {
        return Ok(());
    }
    Err(OpenError::InUse { path: path.to_owned(), holder: lock::holder_of_lock(&stat) })
}

fn large_enough(path: &Path, size_bytes: u64) -> Result<u64, OpenError> {
    if size_bytes < DRIVE_BYTES_MIN {
        return Err(OpenError::TooSmall { path: path.to_owned(), size: ByteSize(size_bytes) });
    }
    Ok(size_bytes)
}

fn cannot(path: &Path, step: &'static str, errno: Errno) -> OpenError {
    let path = PathBuf::from(path);
    match errno {
        Errno::NOENT | Errno::NXIO | Errno::NODEV => {
            let what = if path.starts_with("/dev") { "device" } else { "file" };
            OpenError::NotFound { path, what }
        }
        Errno::ACCESS | Errno::PERM => OpenError::Denied { path, source: errno.into() },
        errno => OpenError::Os { path, step, source: io::Error::from(errno) },
    }
}

/// What memory says of itself.
pub(crate) fn memory_info(kind: DriveKind, size: ByteSize) -> DriveInfo {
    DriveInfo {
        path: None,
        kind,
        size_bytes: size.0,
        direct: true,
        volatile_cache: false,
        sparse: false,
        kernel_name: None,
        model: None,
        serial: None,
        slot: None,
        rotational: Some(false),
        discards: kind == DriveKind::Memory,
        logical_sector_bytes: SECTOR_BYTES as u32,
        physical_sector_bytes: SECTOR_BYTES as u32,
    }
}

#[cfg(test)]
mod tests;
