//! An ATA drive behind the SCSI layer: IDENTIFY DEVICE, SMART READ DATA, the Device Statistics log
//! and SCT status (ATA/ATAPI Command Set 4, sections 7.13, 9.5 and 8.1; SCSI/ATA Translation 5,
//! section 12).
//!
//! What the attributes of SMART READ DATA mean is a vendor's choice. Only those are read whose
//! meaning is the same for all; the Device Statistics log comes first where a drive has it.

use std::io;
use std::ops::Range;

use ashlar_reactor::passthrough::ScsiAnswer;

use super::transport::Commands;
use super::{Alarm, DriveHealth, Link, Power, padded_text};

/// Bytes of a page.
pub(super) const PAGE_BYTES: usize = 512;
/// Pages of the Device Statistics log that are read: 0 to 7.
pub(super) const STATISTICS_PAGES: usize = 8;

/// A page of a drive.
pub(super) type Page = [u8; PAGE_BYTES];

const CHECK_POWER_MODE: u8 = 0xe5;
const IDENTIFY_DEVICE: u8 = 0xec;
const SMART: u8 = 0xb0;
const SMART_READ_DATA: u8 = 0xd0;
const SMART_READ_LOG: u8 = 0xd5;
const SMART_RETURN_STATUS: u8 = 0xda;
const DEVICE_STATISTICS: u8 = 0x04;
const SCT_STATUS: u8 = 0xe0;

/// What a drive has answered. None: it does not know that.
#[derive(Clone, Copy)]
pub(super) struct Answers<'a> {
    pub(super) identify: &'a Page,
    pub(super) smart: Option<&'a Page>,
    /// SMART RETURN STATUS: false says that the drive expects to fail.
    pub(super) is_passed: Option<bool>,
    pub(super) statistics: Option<&'a [Page; STATISTICS_PAGES]>,
    pub(super) sct_status: Option<&'a Page>,
}

/// Asks a drive. None: it sleeps.
pub(super) fn look(drive: &impl Commands) -> io::Result<Option<DriveHealth>> {
    let Some(power) = power(drive)? else { return Ok(None) };
    let identify = read(drive, &Ata { command: IDENTIFY_DEVICE, ..Ata::default() })?
        .ok_or_else(|| io::Error::other("the drive refuses IDENTIFY DEVICE"))?;
    let says = Identify(&identify);
    let smart =
        says.has_smart().then(|| read(drive, &Ata::smart(SMART_READ_DATA, 0))).transpose()?;
    let is_passed = says.has_smart().then(|| return_status(drive)).transpose()?;
    let statistics = says.has_smart().then(|| statistics(drive)).transpose()?;
    let stalls_on_sct = says.text(27..47).is_some_and(|model| model.starts_with(SCT_STALLS));
    let has_sct = says.has_smart() && says.word(206) & 1 != 0 && !stalls_on_sct;
    let sct_status =
        has_sct.then(|| read(drive, &Ata::smart(SMART_READ_LOG, SCT_STATUS))).transpose()?;
    let health = health(Answers {
        identify: &identify,
        smart: smart.flatten().as_ref(),
        is_passed: is_passed.flatten(),
        statistics: statistics.flatten().as_ref(),
        sct_status: sct_status.flatten().as_ref(),
    });
    Ok(Some(DriveHealth { power, ..health }))
}

/// Reading SCT status of these makes queued writes of others time out.
const SCT_STALLS: &str = "TOSHIBA DT01ACA";

/// What the drive takes power for; inner none: it does not say. None: it sleeps.
fn power(drive: &impl Commands) -> io::Result<Option<Option<Power>>> {
    let answer =
        drive.scsi(&Ata { command: CHECK_POWER_MODE, ..Ata::default() }.registers(), &mut [])?;
    // One that does not know the command leaves a count that means nothing.
    let registers = Registers::of(&answer).filter(|registers| registers.status & ATA_ERROR == 0);
    let Some(registers) = registers else { return Ok(Some(None)) };
    Ok(match registers.count {
        0x00 | 0x01 => None,
        0x80..=0x83 => Some(Some(Power::Idle)),
        _ => Some(Some(Power::Active)),
    })
}

fn return_status(drive: &impl Commands) -> io::Result<Option<bool>> {
    let answer = drive.scsi(&Ata::smart(SMART_RETURN_STATUS, 0).registers(), &mut [])?;
    Ok(Registers::of(&answer).and_then(|registers| match registers.lba_mid_high {
        [0x4f, 0xc2] => Some(true),
        [0xf4, 0x2c] => Some(false),
        _ => None,
    }))
}

fn statistics(drive: &impl Commands) -> io::Result<Option<[Page; STATISTICS_PAGES]>> {
    let mut bytes = [0; PAGE_BYTES * STATISTICS_PAGES];
    let command =
        Ata { count: STATISTICS_PAGES as u8, ..Ata::smart(SMART_READ_LOG, DEVICE_STATISTICS) };
    let answer = drive.scsi(&command.reads(), &mut bytes)?;
    if !is_good(&answer) {
        return Ok(None);
    }
    let mut pages = [[0; PAGE_BYTES]; STATISTICS_PAGES];
    for (page, bytes) in pages.iter_mut().zip(bytes.chunks_exact(PAGE_BYTES)) {
        page.copy_from_slice(bytes);
    }
    Ok(Some(pages))
}

/// A page; none: the drive does not know it.
fn read(drive: &impl Commands, command: &Ata) -> io::Result<Option<Page>> {
    let mut page = [0; PAGE_BYTES];
    let answer = drive.scsi(&command.reads(), &mut page)?;
    Ok(is_good(&answer).then_some(page))
}

/// A drive that has done it. Some layers say so by sense data, and no error in it.
fn is_good(answer: &ScsiAnswer) -> bool {
    let is_done = answer.status == 0
        || Registers::of(answer).is_some_and(|registers| registers.status & ATA_ERROR == 0);
    is_done && !answer.is_host_failure && answer.missing_bytes == 0
}

/// Bit ERR of the status register.
const ATA_ERROR: u8 = 1;

/// A command of ATA, by its registers.
#[derive(Clone, Copy, Default)]
struct Ata {
    command: u8,
    feature: u8,
    count: u8,
    lba_low: u8,
    lba_mid: u8,
    lba_high: u8,
}

impl Ata {
    fn smart(feature: u8, log: u8) -> Self {
        Ata { command: SMART, feature, count: 1, lba_low: log, lba_mid: 0x4f, lba_high: 0xc2 }
    }

    /// ATA PASS-THROUGH (16) of a command that brings pages: as many as its count says, or one.
    fn reads(&self) -> [u8; 16] {
        const PIO_IN: u8 = 4 << 1;
        /// From the device, in blocks, as many as the count says.
        const BLOCKS_BY_COUNT: u8 = 1 << 3 | 1 << 2 | 2;
        self.pass_through(PIO_IN, BLOCKS_BY_COUNT, self.count.max(1))
    }

    /// The same of a command whose answer is in the registers.
    fn registers(&self) -> [u8; 16] {
        const NO_DATA: u8 = 3 << 1;
        const WANTS_REGISTERS: u8 = 1 << 5;
        let count = if self.command == SMART { 0 } else { self.count };
        self.pass_through(NO_DATA, WANTS_REGISTERS, count)
    }

    fn pass_through(&self, protocol: u8, flags: u8, count: u8) -> [u8; 16] {
        const ATA_PASS_THROUGH_16: u8 = 0x85;
        let Ata { command, feature, lba_low, lba_mid, lba_high, .. } = *self;
        [
            ATA_PASS_THROUGH_16,
            protocol,
            flags,
            0,
            feature,
            0,
            count,
            0,
            lba_low,
            0,
            lba_mid,
            0,
            lba_high,
            0,
            command,
            0,
        ]
    }
}

/// The registers after a command, as sense data has them.
struct Registers {
    status: u8,
    count: u8,
    lba_mid_high: [u8; 2],
}

impl Registers {
    /// None: the answer has none, or they are not to be believed.
    fn of(answer: &ScsiAnswer) -> Option<Self> {
        let sense = &answer.sense[..answer.sense_bytes];
        match sense.first()? & 0x7f {
            0x72 => Self::of_descriptors(sense),
            0x70 => Self::of_fixed(sense),
            _ => None,
        }
    }

    /// The descriptor 09h of sense data.
    fn of_descriptors(sense: &[u8]) -> Option<Self> {
        let mut rest = sense.get(8..)?;
        while let [kind, bytes, ..] = *rest {
            let descriptor = rest.get(..usize::from(bytes) + 2)?;
            if kind == 0x09 && descriptor.len() >= 14 {
                return Some(Registers {
                    status: descriptor[13],
                    count: descriptor[5],
                    lba_mid_high: [descriptor[9], descriptor[11]],
                });
            }
            rest = &rest[descriptor.len()..];
        }
        None
    }

    /// Fixed sense data has them in its fields of information. Before Linux 6.11 they stand
    /// elsewhere, and the status there is 0, which no drive has.
    fn of_fixed(sense: &[u8]) -> Option<Self> {
        let sense = sense.get(..12).filter(|sense| sense[4] != 0)?;
        Some(Registers { status: sense[4], count: sense[6], lba_mid_high: [sense[10], sense[11]] })
    }
}

/// What the pages of a drive say.
pub(super) fn health(answers: Answers<'_>) -> DriveHealth {
    let identify = Identify(answers.identify);
    let statistic = |page, at, bytes| statistic(answers.statistics?, page, at, bytes);
    let attribute = |id| attribute(answers.smart?, id);
    let celsius = |at| statistic(5, at, 1).map(|byte| i16::from(byte as u8 as i8));
    let sectors = |at| Some(statistic(1, at, 6)?.saturating_mul(identify.logical_sector_bytes()));
    let is_failing = answers.is_passed == Some(false);
    DriveHealth {
        model: identify.text(27..47),
        serial: identify.text(10..20),
        firmware: identify.text(23..27),
        temperature_celsius: celsius(0x08)
            .or_else(|| answers.sct_status.and_then(sct_temperature))
            .or_else(|| [194, 190].into_iter().find_map(|id| temperature(attribute(id)?))),
        temperature_max_celsius: celsius(0x58),
        used_percent: statistic(7, 0x08, 1).map(|percent| percent as u8),
        read_bytes: sectors(0x28),
        written_bytes: sectors(0x18),
        media_errors: statistic(4, 0x08, 4).or_else(|| attribute(187).map(low_word)),
        power_on_hours: statistic(1, 0x10, 4).or_else(|| hours(attribute(9)?)),
        has_volatile_cache: identify.write_cache(),
        link: identify.link(),
        alarms: is_failing.then_some(Alarm::FailureExpected).into_iter().collect(),
        ..DriveHealth::default()
    }
}

/// IDENTIFY DEVICE.
struct Identify<'a>(&'a Page);

impl Identify<'_> {
    fn word(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.0[at * 2], self.0[at * 2 + 1]])
    }

    /// The first character of a word is in its high byte.
    fn text(&self, words: Range<usize>) -> Option<String> {
        let bytes: Vec<u8> = words.flat_map(|at| self.word(at).to_be_bytes()).collect();
        padded_text(&bytes)
    }

    /// Words 106, 117 and 118: a logical sector has 512 bytes unless they say otherwise.
    fn logical_sector_bytes(&self) -> u64 {
        let words = u64::from(self.word(117)) | u64::from(self.word(118)) << 16;
        if self.is_set(106, 12) { words * 2 } else { PAGE_BYTES as u64 }
    }

    /// Words 82 and 85, bit 5. None: word 83 does not make them valid.
    fn write_cache(&self) -> Option<bool> {
        (self.word(83) >> 14 == 0b01).then(|| self.word(82) & self.word(85) & 1 << 5 != 0)
    }

    /// Words 76 and 77: the speeds that it knows, a bit each, and the one that it has.
    fn link(&self) -> Option<Link> {
        let is_said = |word: &u16| *word != 0 && *word != u16::MAX && *word & 1 == 0;
        let known = Some(self.word(76)).filter(is_said)?;
        let now = Some(self.word(77)).filter(is_said).map_or(0, |word| word >> 1 & 0b111);
        let fastest = (1..=3).rev().find(|speed| known >> speed & 1 != 0);
        Some(Link {
            speed: sata_speed(now),
            speed_max: fastest.and_then(sata_speed),
            ..Link::default()
        })
    }

    /// SMART is there, and on.
    fn has_smart(&self) -> bool {
        self.word(83) >> 14 == 0b01 && self.word(82) & self.word(85) & 1 != 0
    }

    /// A bit of a word that says by its two highest whether it is valid.
    fn is_set(&self, word: usize, bit: u8) -> bool {
        self.word(word) >> 14 == 0b01 && self.word(word) >> bit & 1 != 0
    }
}

/// A generation of SATA, as the kernel writes its speed.
fn sata_speed(generation: u16) -> Option<String> {
    let speed = match generation {
        1 => "1.5 Gbps",
        2 => "3.0 Gbps",
        3 => "6.0 Gbps",
        _ => return None,
    };
    Some(speed.to_owned())
}

/// A figure of the Device Statistics log that the drive knows and vouches for.
fn statistic(
    pages: &[Page; STATISTICS_PAGES],
    page: usize,
    at: usize,
    bytes: usize,
) -> Option<u64> {
    const SUPPORTED_AND_VALID: u8 = 1 << 7 | 1 << 6;
    let header_is_right = usize::from(pages[page][2]) == page && pages[page][..2] != [0, 0];
    let is_valid = pages[page][at + 7] & SUPPORTED_AND_VALID == SUPPORTED_AND_VALID;
    (header_is_right && is_valid).then(|| {
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(&pages[page][at..at + bytes]);
        u64::from_le_bytes(value)
    })
}

/// The current temperature of SCT status; 80h says that there is none.
fn sct_temperature(page: &Page) -> Option<i16> {
    (page[200] != 0x80).then(|| i16::from(page[200] as i8))
}

/// The raw value of an attribute of SMART READ DATA.
fn attribute(page: &Page, id: u8) -> Option<[u8; 6]> {
    let entry = page[2..362].chunks_exact(12).find(|entry| entry[0] == id)?;
    entry[5..11].try_into().ok()
}

/// The lowest byte; the others are the lowest and highest that there were, in vendors' orders.
fn temperature(raw: [u8; 6]) -> Option<i16> {
    /// More is no temperature.
    const MAX_CELSIUS: i16 = 110;
    let celsius = i16::from(raw[0] as i8);
    (1..=MAX_CELSIUS).contains(&celsius).then_some(celsius)
}

/// Some vendors have milliseconds above the lowest three bytes. Some count minutes: more than a
/// drive's life of hours is not believed.
fn hours(raw: [u8; 6]) -> Option<u64> {
    const YEARS_MAX: u64 = 20;
    let hours = u64::from_le_bytes([raw[0], raw[1], raw[2], 0, 0, 0, 0, 0]);
    (hours <= YEARS_MAX * 8_766).then_some(hours)
}

/// Some vendors pack other counts above it.
fn low_word(raw: [u8; 6]) -> u64 {
    u64::from(u16::from_le_bytes([raw[0], raw[1]]))
}
