//! An NVMe drive: Identify Controller and the SMART / Health log (NVM Express Base 2.1, sections
//! 5.1.13.2.1 and 5.1.12.1.3).

use std::io;

use ashlar_reactor::passthrough::NvmeAdmin;

use super::transport::Commands;
use super::{Alarm, DriveHealth, Power, padded_text};

/// Bytes of the page of Identify Controller.
pub(super) const IDENTIFY_BYTES: usize = 4096;
/// Bytes of the SMART / Health log.
pub(super) const SMART_BYTES: usize = 512;

const GET_LOG_PAGE: u8 = 0x02;
const IDENTIFY: u8 = 0x06;
const GET_FEATURES: u8 = 0x0a;
const POWER_MANAGEMENT: u32 = 0x02;
const VOLATILE_WRITE_CACHE: u32 = 0x06;
const NSID_ALL: u32 = u32::MAX;

/// Bytes of a data unit.
const DATA_UNIT_BYTES: u128 = 512_000;
/// 0 degrees Celsius, in kelvin.
const FREEZING_KELVIN: i32 = 273;

/// What the drive knows of features: none where it does not know one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Features {
    /// Power Management, dword 0.
    pub(super) power: Option<u32>,
    /// Volatile Write Cache, dword 0.
    pub(super) cache: Option<u32>,
}

/// Asks a drive.
pub(super) fn look(drive: &impl Commands) -> io::Result<DriveHealth> {
    let mut identify = [0; IDENTIFY_BYTES];
    // Of no namespace: some drives note an error where all are named.
    let command = NvmeAdmin { opcode: IDENTIFY, nsid: 0, dwords: [1, 0, 0, 0, 0, 0] };
    ask(drive, "Identify Controller", &command, &mut identify)?;
    let mut smart = [0; SMART_BYTES];
    ask(drive, "the SMART log", &read_smart(), &mut smart)?;
    let features = Features {
        power: feature(drive, POWER_MANAGEMENT),
        cache: has_cache(&identify).then(|| feature(drive, VOLATILE_WRITE_CACHE)).flatten(),
    };
    Ok(health(&identify, &smart, features))
}

/// Get Log Page 02h of all namespaces. With bit 15 (RAE): the kernel's own events stay pending.
fn read_smart() -> NvmeAdmin {
    const RETAIN_EVENTS: u32 = 1 << 15;
    let dwords_less_one = (SMART_BYTES / 4 - 1) as u32;
    let first = 0x02 | RETAIN_EVENTS | dwords_less_one << 16;
    NvmeAdmin { opcode: GET_LOG_PAGE, nsid: NSID_ALL, dwords: [first, 0, 0, 0, 0, 0] }
}

fn ask(drive: &impl Commands, what: &str, command: &NvmeAdmin, data: &mut [u8]) -> io::Result<()> {
    let answer = drive.nvme_admin(command, data)?;
    if answer.status == 0 {
        return Ok(());
    }
    Err(io::Error::other(format!("the drive refuses {what}: status {:#x}", answer.status)))
}

fn feature(drive: &impl Commands, id: u32) -> Option<u32> {
    let command = NvmeAdmin { opcode: GET_FEATURES, nsid: 0, dwords: [id, 0, 0, 0, 0, 0] };
    let answer = drive.nvme_admin(&command, &mut []).ok()?;
    (answer.status == 0).then_some(answer.result)
}

/// What the pages of a drive say.
pub(super) fn health(
    identify: &[u8; IDENTIFY_BYTES],
    smart: &[u8; SMART_BYTES],
    features: Features,
) -> DriveHealth {
    let (spare, spare_threshold) = (smart[3], smart[4]);
    // Emulated drives have neither; a real one that has used up its spare still has a threshold.
    let has_spare = (spare, spare_threshold) != (0, 0);
    let counter = |at: usize| u64::try_from(u128_at(smart, at)).unwrap_or(u64::MAX);
    let bytes = |at: usize| {
        u64::try_from(u128_at(smart, at).saturating_mul(DATA_UNIT_BYTES)).unwrap_or(u64::MAX)
    };
    DriveHealth {
        serial: padded_text(&identify[4..24]),
        model: padded_text(&identify[24..64]),
        firmware: padded_text(&identify[64..72]),
        power: features.power.map(|dword| power(identify, dword)),
        temperature_celsius: celsius(u16_at(smart, 1)),
        temperature_max_celsius: celsius(u16_at(identify, 266)),
        temperature_critical_celsius: celsius(u16_at(identify, 268)),
        used_percent: Some(smart[5]),
        spare_percent: has_spare.then_some(spare),
        spare_threshold_percent: has_spare.then_some(spare_threshold),
        read_bytes: Some(bytes(32)),
        written_bytes: Some(bytes(48)),
        power_on_hours: Some(counter(128)),
        unsafe_shutdowns: Some(counter(144)),
        media_errors: Some(counter(160)),
        has_volatile_cache: if has_cache(identify) {
            features.cache.map(|dword| dword & 1 != 0)
        } else {
            Some(false)
        },
        alarms: alarms(smart[0]),
        ..DriveHealth::default()
    }
}

/// Whether the drive has a volatile write cache: only then it knows the feature that says whether
/// the cache is on.
fn has_cache(identify: &[u8; IDENTIFY_BYTES]) -> bool {
    identify[525] & 1 != 0
}

/// The power state of which `dword` has the number, with its descriptor.
fn power(identify: &[u8; IDENTIFY_BYTES], dword: u32) -> Power {
    let number = (dword & 0x1f) as u8;
    let descriptor = &identify[2048 + 32 * usize::from(number)..][..32];
    let in_tenths_of_milliwatts = descriptor[3] & 1 != 0;
    let hundredths = u32::from(u16_at(descriptor, 0));
    let max = if in_tenths_of_milliwatts { hundredths.div_ceil(10) } else { hundredths * 10 };
    Power::State { number, max_milliwatts: Some(max).filter(|max| *max > 0) }
}

fn alarms(bits: u8) -> Vec<Alarm> {
    let all =
        [Alarm::Spare, Alarm::Temperature, Alarm::Reliability, Alarm::ReadOnly, Alarm::CacheBackup];
    let is_set = |(bit, alarm)| (bits >> bit & 1 != 0).then_some(alarm);
    all.into_iter().enumerate().filter_map(is_set).collect()
}

/// None: the drive does not say.
fn celsius(kelvin: u16) -> Option<i16> {
    (kelvin != 0).then(|| (i32::from(kelvin) - FREEZING_KELVIN) as i16)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u128_at(bytes: &[u8], at: usize) -> u128 {
    u128::from_le_bytes(bytes[at..at + 16].try_into().expect("16 bytes"))
}
