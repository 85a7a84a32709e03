//! Commands that a drive is sent past the block layer: NVMe admin commands, SCSI and ATA commands.
//!
//! Each call blocks its thread until the drive answers, at most `TIMEOUT`: not for a reactor's.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// How long a drive has for an answer. One that has just been woken spins up meanwhile.
const TIMEOUT: Duration = Duration::from_secs(20);

/// An NVMe admin command that brings data to this machine, or none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct NvmeAdmin {
    /// Which.
    pub opcode: u8,
    /// The namespace that it is of.
    pub nsid: u32,
    /// Command dwords 10 to 15.
    pub dwords: [u32; 6],
}

/// How a drive has answered an NVMe command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NvmeAnswer {
    /// 0: it has done it. Else the status field of the completion, without its phase.
    pub status: u16,
    /// Dword 0 of the completion.
    pub result: u32,
}

/// `struct nvme_passthru_cmd` of linux/nvme_ioctl.h.
#[repr(C)]
#[derive(Default)]
struct NvmePassthru {
    opcode: u8,
    flags: u8,
    reserved: u16,
    nsid: u32,
    dwords_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_bytes: u32,
    data_bytes: u32,
    dwords_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

const _: () = assert!(size_of::<NvmePassthru>() == 72);

/// Sends an admin command to the controller of an NVMe device. `data` takes what it brings.
///
/// # Errors
/// What the operating system reports: EACCES without CAP_SYS_ADMIN, ENOTTY of what is no NVMe
/// device.
pub fn nvme_admin(
    device: impl AsFd,
    command: &NvmeAdmin,
    data: &mut [u8],
) -> io::Result<NvmeAnswer> {
    /// `_IOWR('N', 0x41, struct nvme_passthru_cmd)`.
    const NVME_IOCTL_ADMIN_CMD: libc::Ioctl = 0xc048_4e41_u32 as libc::Ioctl;
    let mut request = NvmePassthru {
        opcode: command.opcode,
        nsid: command.nsid,
        address: data.as_mut_ptr() as u64,
        data_bytes: data.len() as u32,
        dwords_10_15: command.dwords,
        timeout_ms: TIMEOUT.as_millis() as u32,
        ..NvmePassthru::default()
    };
    let descriptor = device.as_fd().as_raw_fd();
    // SAFETY: the request takes the address of a struct of its layout, and writes there and to
    // `data`, which it has the length of; both live until it returns.
    let status = unsafe { libc::ioctl(descriptor, NVME_IOCTL_ADMIN_CMD, &raw mut request) };
    match u16::try_from(status) {
        Ok(status) => Ok(NvmeAnswer { status, result: request.result }),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Bytes of sense data that an answer has room for.
pub const SENSE_BYTES_MAX: usize = 64;

/// How a drive has answered a SCSI command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScsiAnswer {
    /// SAM status: 0 is good, 2 is CHECK CONDITION.
    pub status: u8,
    /// The host or the driver has a reason of its own why the command failed.
    pub is_host_failure: bool,
    /// Sense data: what a command that asks for it, or has failed, gets with its status.
    pub sense: [u8; SENSE_BYTES_MAX],
    /// Bytes of it.
    pub sense_bytes: usize,
    /// Bytes of data that did not come.
    pub missing_bytes: usize,
}

/// `struct sg_io_hdr` of scsi/sg.h.
#[repr(C)]
struct SgIo {
    interface_id: i32,
    direction: i32,
    command_bytes: u8,
    sense_bytes_max: u8,
    vectors: u16,
    data_bytes: u32,
    data: *mut u8,
    command: *const u8,
    sense: *mut u8,
    timeout_ms: u32,
    flags: u32,
    pack_id: i32,
    user: *mut u8,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_bytes: u8,
    host_status: u16,
    driver_status: u16,
    missing_bytes: i32,
    duration_ms: u32,
    info: u32,
}

const _: () = assert!(size_of::<SgIo>() == 88);

/// Sends a SCSI command to a device. `data` takes what it brings; none: it brings nothing.
///
/// # Errors
/// What the operating system reports: EPERM without CAP_SYS_RAWIO, ENOTTY of what is no SCSI
/// device.
pub fn scsi(device: impl AsFd, command: &[u8], data: &mut [u8]) -> io::Result<ScsiAnswer> {
    const SG_IO: libc::Ioctl = 0x2285;
    let mut sense = [0; SENSE_BYTES_MAX];
    let mut request = SgIo::new(command, data, &mut sense);
    // SAFETY: the request takes the address of a struct of its layout, reads the command, and
    // writes to the struct, to `data` and to `sense`, each of which it has the length of; all of
    // them live until it returns.
    let result = unsafe { libc::ioctl(device.as_fd().as_raw_fd(), SG_IO, &raw mut request) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    /// What only says that there is sense data.
    const DRIVER_SENSE: u16 = 8;
    Ok(ScsiAnswer {
        status: request.status,
        is_host_failure: request.host_status != 0 || request.driver_status & !DRIVER_SENSE != 0,
        sense,
        sense_bytes: usize::from(request.sense_bytes).min(SENSE_BYTES_MAX),
        missing_bytes: request.missing_bytes.max(0) as usize,
    })
}

impl SgIo {
    fn new(command: &[u8], data: &mut [u8], sense: &mut [u8; SENSE_BYTES_MAX]) -> Self {
        const SG_DXFER_NONE: i32 = -1;
        const SG_DXFER_FROM_DEV: i32 = -3;
        assert!(command.len() <= 16, "a command of {} bytes", command.len());
        SgIo {
            interface_id: i32::from(b'S'),
            direction: if data.is_empty() { SG_DXFER_NONE } else { SG_DXFER_FROM_DEV },
            command_bytes: command.len() as u8,
            sense_bytes_max: SENSE_BYTES_MAX as u8,
            vectors: 0,
            data_bytes: data.len() as u32,
            data: data.as_mut_ptr(),
            command: command.as_ptr(),
            sense: sense.as_mut_ptr(),
            timeout_ms: TIMEOUT.as_millis() as u32,
            flags: 0,
            pack_id: 0,
            user: std::ptr::null_mut(),
            status: 0,
            masked_status: 0,
            message_status: 0,
            sense_bytes: 0,
            host_status: 0,
            driver_status: 0,
            missing_bytes: 0,
            duration_ms: 0,
            info: 0,
        }
    }
}
