//! A SAS drive: log pages by LOG SENSE, and the caching mode page (SCSI Primary Commands 6, section
//! 7.3; SCSI Block Commands 5, section 6.5).

use std::io;

use super::transport::Commands;
use super::{Alarm, DriveHealth, Power, padded_text};

const REQUEST_SENSE: u8 = 0x03;
const INQUIRY: u8 = 0x12;
const MODE_SENSE_6: u8 = 0x1a;
const LOG_SENSE: u8 = 0x4d;

const WRITE_ERRORS: u8 = 0x02;
const READ_ERRORS: u8 = 0x03;
const TEMPERATURE: u8 = 0x0d;
const SOLID_STATE: u8 = 0x11;
const BACKGROUND_SCAN: u8 = 0x15;
const INFORMATIONAL: u8 = 0x2f;
const SERIAL_NUMBER: u8 = 0x80;
const CACHING: u8 = 0x08;

/// Longest log page that is read.
const LOG_BYTES_MAX: usize = 512;

/// Asks a drive. None: it sleeps.
pub(super) fn look(drive: &impl Commands) -> io::Result<Option<DriveHealth>> {
    let Some(power) = power(drive)? else { return Ok(None) };
    let inquiry =
        inquiry(drive, None)?.ok_or_else(|| io::Error::other("the drive refuses INQUIRY"))?;
    let serial = inquiry_serial(drive)?;
    let page = |code| log_page(drive, code);
    let (writes, reads) = (page(WRITE_ERRORS)?, page(READ_ERRORS)?);
    let figure = |page: &Option<Log>, code| page.as_ref()?.figure(code);
    let temperature = page(TEMPERATURE)?;
    let degrees = |code| {
        let celsius = *temperature.as_ref()?.parameter(code)?.last()?;
        // FFh: it does not know.
        (celsius != 0xff).then_some(i16::from(celsius))
    };
    let used = page(SOLID_STATE)?.and_then(|page| page.parameter(1)?.get(3).copied());
    let minutes = page(BACKGROUND_SCAN)?
        .and_then(|page| Some(u32::from_be_bytes(page.parameter(0)?.get(..4)?.try_into().ok()?)));
    let is_failing = page(INFORMATIONAL)?
        .is_some_and(|page| page.parameter(0).is_some_and(|it| it.first() == Some(&0x5d)));
    let errors = [&writes, &reads].map(|page| figure(page, 6));
    Ok(Some(DriveHealth {
        model: vendor_and_model(&inquiry),
        serial,
        firmware: padded_text(&inquiry[32..36]),
        power,
        temperature_celsius: degrees(0),
        temperature_max_celsius: degrees(1),
        used_percent: used,
        read_bytes: figure(&reads, 5),
        written_bytes: figure(&writes, 5),
        media_errors: errors.into_iter().flatten().reduce(u64::saturating_add),
        power_on_hours: minutes.map(|minutes| u64::from(minutes / 60)),
        has_volatile_cache: write_cache(drive)?,
        alarms: is_failing.then_some(Alarm::FailureExpected).into_iter().collect(),
        ..DriveHealth::default()
    }))
}

/// What the drive takes power for; inner none: it does not say. None: it sleeps.
fn power(drive: &impl Commands) -> io::Result<Option<Option<Power>>> {
    const POWER_CONDITION: u8 = 0x5e;
    let mut sense = [0; 18];
    let command = [REQUEST_SENSE, 0, 0, 0, sense.len() as u8, 0];
    let answer = drive.scsi(&command, &mut sense)?;
    if answer.status != 0 || answer.is_host_failure {
        return Ok(Some(None));
    }
    Ok(match (sense[12], sense[13]) {
        (POWER_CONDITION, 0x02 | 0x04 | 0x09 | 0x0a) => None,
        (POWER_CONDITION, _) => Some(Some(Power::Idle)),
        _ => Some(Some(Power::Active)),
    })
}

fn inquiry(drive: &impl Commands, page: Option<u8>) -> io::Result<Option<[u8; 96]>> {
    let mut data = [0; 96];
    let command = [INQUIRY, u8::from(page.is_some()), page.unwrap_or(0), 0, data.len() as u8, 0];
    let answer = drive.scsi(&command, &mut data)?;
    Ok((answer.status == 0 && !answer.is_host_failure).then_some(data))
}

/// Each is filled with spaces.
fn vendor_and_model(inquiry: &[u8; 96]) -> Option<String> {
    let parts = [padded_text(&inquiry[8..16]), padded_text(&inquiry[16..32])];
    let words: Vec<String> = parts.into_iter().flatten().collect();
    Some(words.join(" ")).filter(|text| !text.is_empty())
}

fn inquiry_serial(drive: &impl Commands) -> io::Result<Option<String>> {
    Ok(inquiry(drive, Some(SERIAL_NUMBER))?.and_then(|page| {
        let bytes = usize::from(u16::from_be_bytes([page[2], page[3]]));
        padded_text(page.get(4..4 + bytes)?)
    }))
}

/// Bit WCE of the caching mode page.
fn write_cache(drive: &impl Commands) -> io::Result<Option<bool>> {
    let mut data = [0; 64];
    let command = [MODE_SENSE_6, 1 << 3, CACHING, 0, data.len() as u8, 0];
    let answer = drive.scsi(&command, &mut data)?;
    let page = &data[4 + usize::from(data[3]).min(40)..];
    let is_it = answer.status == 0 && !answer.is_host_failure && page[0] & 0x3f == CACHING;
    Ok(is_it.then(|| page[2] & 1 << 2 != 0))
}

/// A log page.
struct Log(Vec<u8>);

/// A log page; none: the drive does not know it.
fn log_page(drive: &impl Commands, code: u8) -> io::Result<Option<Log>> {
    const CUMULATIVE: u8 = 1 << 6;
    let mut data = [0; LOG_BYTES_MAX];
    let [high, low] = (LOG_BYTES_MAX as u16).to_be_bytes();
    let command = [LOG_SENSE, 0, CUMULATIVE | code, 0, 0, 0, 0, high, low, 0];
    let answer = drive.scsi(&command, &mut data)?;
    let is_it = answer.status == 0 && !answer.is_host_failure && data[0] & 0x3f == code;
    let bytes = usize::from(u16::from_be_bytes([data[2], data[3]])).min(LOG_BYTES_MAX - 4);
    Ok(is_it.then(|| Log(data[4..4 + bytes].to_vec())))
}

impl Log {
    /// The value of a parameter.
    fn parameter(&self, code: u16) -> Option<&[u8]> {
        let mut rest = &self.0[..];
        while let [high, low, _, bytes, ..] = *rest {
            let value = rest.get(4..4 + usize::from(bytes))?;
            if u16::from_be_bytes([high, low]) == code {
                return Some(value);
            }
            rest = &rest[4 + value.len()..];
        }
        None
    }

    /// The same as a number, of whatever width.
    fn figure(&self, code: u16) -> Option<u64> {
        let value = self.parameter(code).filter(|value| !value.is_empty())?;
        let lowest = &value[value.len().saturating_sub(8)..];
        Some(lowest.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}
