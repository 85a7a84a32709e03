use std::io;

use ashlar_reactor::passthrough::{NvmeAdmin, NvmeAnswer, SENSE_BYTES_MAX, ScsiAnswer};

use super::transport::Commands;
use super::{Alarm, DriveHealth, Link, Look, Power, Silent, Smart, ata, nvme, scsi};

/// The recorded bytes of a page; what was not recorded is 0.
macro_rules! page {
    ($name:literal) => {{
        let mut page = [0; _];
        let recorded = include_bytes!(concat!("pages/", $name));
        page[..recorded.len()].copy_from_slice(recorded);
        page
    }};
}

const GOOD: ScsiAnswer = ScsiAnswer {
    status: 0,
    is_host_failure: false,
    sense: [0; SENSE_BYTES_MAX],
    sense_bytes: 0,
    missing_bytes: 0,
};

/// CHECK CONDITION with this sense data.
fn with_sense(bytes: &[u8]) -> ScsiAnswer {
    let mut sense = [0; SENSE_BYTES_MAX];
    sense[..bytes.len()].copy_from_slice(bytes);
    ScsiAnswer { status: 2, sense, sense_bytes: bytes.len(), ..GOOD }
}

/// The registers after a command, in the form that today's kernels give them.
fn with_registers(count: u8, lba_mid: u8, lba_high: u8) -> ScsiAnswer {
    let descriptor = [0x09, 12, 0, 0, 0, count, 0, 0, 0, lba_mid, 0, lba_high, 0, 0x50];
    with_sense(&[&[0x72, 1, 0, 0x1d, 0, 0, 0, 14][..], &descriptor].concat())
}

/// A drive that aborts what it does not know.
fn aborted() -> ScsiAnswer {
    let descriptor = [0x09, 12, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x51];
    with_sense(&[&[0x72, 0x0b, 0, 0, 0, 0, 0, 14][..], &descriptor].concat())
}

fn give(data: &mut [u8], page: &[u8]) {
    data.copy_from_slice(&page[..data.len()]);
}

struct NvmeDrive {
    identify: [u8; nvme::IDENTIFY_BYTES],
    smart: [u8; nvme::SMART_BYTES],
    cache: u32,
    power: u32,
}

impl Commands for NvmeDrive {
    fn nvme_admin(&self, command: &NvmeAdmin, data: &mut [u8]) -> io::Result<NvmeAnswer> {
        let result = match (command.opcode, command.nsid, command.dwords[0]) {
            (0x06, 0, 1) => {
                give(data, &self.identify);
                0
            }
            // The event that is pending stays: bit 15.
            (0x02, 0xffff_ffff, 0x007f_8002) => {
                give(data, &self.smart);
                0
            }
            (0x0a, 0, 2) => self.power,
            (0x0a, 0, 6) if self.identify[525] & 1 != 0 => self.cache,
            _ => return Ok(NvmeAnswer { status: 0x4002, result: 0 }),
        };
        Ok(NvmeAnswer { status: 0, result })
    }

    fn scsi(&self, _: &[u8], _: &mut [u8]) -> io::Result<ScsiAnswer> {
        unreachable!("an NVMe drive takes no SCSI commands")
    }
}

struct AtaDrive {
    identify: ata::Page,
    smart: Option<ata::Page>,
    statistics: Option<[u8; 4096]>,
    sct: Option<ata::Page>,
    power: ScsiAnswer,
    status: ScsiAnswer,
}

impl AtaDrive {
    fn new(identify: ata::Page, smart: ata::Page) -> Self {
        let (power, status) = (with_registers(0xff, 0, 0), with_registers(0, 0x4f, 0xc2));
        AtaDrive { identify, smart: Some(smart), statistics: None, sct: None, power, status }
    }
}

impl Commands for AtaDrive {
    fn nvme_admin(&self, _: &NvmeAdmin, _: &mut [u8]) -> io::Result<NvmeAnswer> {
        unreachable!("an ATA drive takes no NVMe commands")
    }

    fn scsi(&self, command: &[u8], data: &mut [u8]) -> io::Result<ScsiAnswer> {
        assert_eq!(command[0], 0x85, "ATA PASS-THROUGH (16)");
        let page = match (command[14], command[4], command[8]) {
            (0xe5, ..) => return Ok(self.power),
            (0xb0, 0xda, _) => return Ok(self.status),
            (0xec, ..) => Some(&self.identify[..]),
            (0xb0, 0xd0, _) => self.smart.as_ref().map(|page| &page[..]),
            (0xb0, 0xd5, 0x04) => self.statistics.as_ref().map(|page| &page[..]),
            (0xb0, 0xd5, 0xe0) => self.sct.as_ref().map(|page| &page[..]),
            _ => None,
        };
        assert_eq!(command[1..3], [4 << 1, 0x0e], "data comes in");
        assert_eq!(usize::from(command[6]) * 512, data.len(), "as much as the count says");
        let Some(page) = page else { return Ok(aborted()) };
        give(data, page);
        Ok(GOOD)
    }
}

#[test]
fn an_nvme_drive_of_a_data_centre() {
    let drive = NvmeDrive {
        identify: page!("nvme-data-centre.identify"),
        smart: page!("nvme-data-centre.smart"),
        cache: 0,
        power: 0,
    };
    let health = nvme::look(&drive).unwrap();
    let expected = DriveHealth {
        model: Some("ABCDEFGHIJKL-000GG".to_owned()),
        serial: Some("ASHLAR00000000".to_owned()),
        firmware: Some("MPKD0P21".to_owned()),
        power: Some(Power::State { number: 0, max_milliwatts: Some(25_000) }),
        temperature_celsius: Some(41),
        temperature_max_celsius: Some(72),
        temperature_critical_celsius: Some(85),
        used_percent: Some(0),
        spare_percent: Some(98),
        spare_threshold_percent: Some(10),
        read_bytes: Some(534_528_000),
        written_bytes: Some(7_680_000),
        media_errors: Some(0),
        power_on_hours: Some(408),
        unsafe_shutdowns: Some(1),
        has_volatile_cache: Some(false),
        ..DriveHealth::default()
    };
    assert_eq!(health, expected);
}

#[test]
fn an_nvme_drive_of_a_laptop() {
    let health = nvme::health(
        &page!("nvme-client.identify"),
        &page!("nvme-client.smart"),
        nvme::Features::default(),
    );
    assert_eq!(health.model.as_deref(), Some("SAMSUNG MZVLB256HBHQ-000L7"));
    assert_eq!((health.temperature_celsius, health.used_percent), (Some(31), Some(3)));
    assert_eq!(health.read_bytes, Some(43_221_964 * 512_000));
    assert_eq!(health.written_bytes, Some(27_172_830 * 512_000));
    assert_eq!((health.power_on_hours, health.unsafe_shutdowns), (Some(2_331), Some(96)));
    assert_eq!(health.power, None);
}

#[test]
fn a_serial_number_that_stands_on_the_right_is_read() {
    let smart = page!("nvme-client.smart");
    let health = nvme::health(&page!("nvme-old.identify"), &smart, nvme::Features::default());
    assert_eq!(health.serial.as_deref(), Some("ASHLAR000000"));
    assert_eq!(health.has_volatile_cache, None, "it has one, and was not asked");
}

#[test]
fn an_emulated_drive_has_no_spare_and_warns_of_what_was_set() {
    let drive = NvmeDrive {
        identify: page!("nvme-emulated.identify"),
        smart: page!("nvme-emulated.smart"),
        cache: 1,
        power: 0,
    };
    let health = nvme::look(&drive).unwrap();
    assert_eq!((health.spare_percent, health.spare_threshold_percent), (None, None));
    assert_eq!((health.temperature_celsius, health.has_volatile_cache), (Some(50), Some(true)));
    let all =
        [Alarm::Spare, Alarm::Temperature, Alarm::Reliability, Alarm::ReadOnly, Alarm::CacheBackup];
    assert_eq!(health.alarms, all);
}

#[test]
fn counters_beyond_64_bits_stay_at_the_largest() {
    let (identify, mut smart) = (page!("nvme-data-centre.identify"), page!("nvme-client.smart"));
    smart[32..64].fill(0xff);
    smart[128..144].fill(0xff);
    let health = nvme::health(&identify, &smart, nvme::Features::default());
    assert_eq!((health.read_bytes, health.power_on_hours), (Some(u64::MAX), Some(u64::MAX)));
}

#[test]
fn an_nvme_drive_that_refuses_a_page_says_which() {
    struct Refusing;
    impl Commands for Refusing {
        fn nvme_admin(&self, _: &NvmeAdmin, _: &mut [u8]) -> io::Result<NvmeAnswer> {
            Ok(NvmeAnswer { status: 0x400b, result: 0 })
        }
        fn scsi(&self, _: &[u8], _: &mut [u8]) -> io::Result<ScsiAnswer> {
            unreachable!()
        }
    }
    let said = nvme::look(&Refusing).unwrap_err().to_string();
    assert_eq!(said, "the drive refuses Identify Controller: status 0x400b");
}

fn sata(speed: &str, speed_max: &str) -> Link {
    Link { speed: Some(speed.to_owned()), speed_max: Some(speed_max.to_owned()), ..Link::default() }
}

#[test]
fn an_ata_drive_says_how_fast_it_is_connected_and_could_be() {
    let old = AtaDrive::new(page!("ata-old-ssd.identify"), page!("ata-old-ssd.smart"));
    let health = ata::look(&old).unwrap().unwrap();
    assert_eq!(health.link, Some(sata("3.0 Gbps", "6.0 Gbps")));
    let silent = AtaDrive::new([0; 512], [0; 512]);
    assert_eq!(ata::look(&silent).unwrap().unwrap().link, None);
}

#[test]
fn an_ata_drive_that_does_not_know_how_it_takes_power_is_asked_all_the_same() {
    let drive = AtaDrive {
        power: aborted(),
        ..AtaDrive::new(page!("ata-ssd.identify"), page!("ata-ssd.smart"))
    };
    let health = ata::look(&drive).unwrap().expect("nothing says that it sleeps");
    assert_eq!((health.power, health.temperature_celsius), (None, Some(29)));
}

#[test]
fn an_ata_ssd() {
    let drive = AtaDrive::new(page!("ata-ssd.identify"), page!("ata-ssd.smart"));
    let health = ata::look(&drive).unwrap().expect("it is awake");
    let expected = DriveHealth {
        model: Some("Samsung SSD 870 QVO 4TB".to_owned()),
        serial: Some("ASHLAR000000000".to_owned()),
        firmware: Some("SVQ02B6Q".to_owned()),
        power: Some(Power::Active),
        temperature_celsius: Some(29),
        media_errors: Some(0),
        power_on_hours: Some(1_379),
        has_volatile_cache: Some(true),
        link: Some(sata("6.0 Gbps", "6.0 Gbps")),
        ..DriveHealth::default()
    };
    assert_eq!(health, expected);
}

#[test]
fn an_ata_drive_with_statistics_is_believed_in_those() {
    let drive = AtaDrive {
        statistics: Some(page!("ata-statistics.log04")),
        sct: Some(page!("ata-statistics.logE0")),
        ..AtaDrive::new(page!("ata-statistics.identify"), page!("ata-ssd.smart"))
    };
    let health = ata::look(&drive).unwrap().expect("it is awake");
    assert_eq!((health.used_percent, health.temperature_celsius), (Some(19), Some(36)));
    assert_eq!(health.temperature_max_celsius, Some(70));
    assert_eq!(health.read_bytes, Some(17_873_686_704_128));
    assert_eq!(health.written_bytes, Some(33_166_218_315_776));
    assert_eq!((health.power_on_hours, health.media_errors), (Some(14_551), Some(0)));
}

#[test]
fn a_statistic_that_the_drive_does_not_vouch_for_is_absent() {
    let mut statistics: [u8; 4096] = page!("ata-statistics.log04");
    // Page 7, at 08h: flags.
    statistics[7 * 512 + 15] = 0x80;
    let drive = AtaDrive {
        statistics: Some(statistics),
        ..AtaDrive::new(page!("ata-statistics.identify"), page!("ata-ssd.smart"))
    };
    assert_eq!(ata::look(&drive).unwrap().unwrap().used_percent, None);
}

#[test]
fn a_disk_that_expects_to_fail_says_so() {
    let drive = AtaDrive {
        status: with_registers(0, 0xf4, 0x2c),
        ..AtaDrive::new(page!("ata-failing-disk.identify"), page!("ata-failing-disk.smart"))
    };
    let health = ata::look(&drive).unwrap().expect("it is awake");
    assert_eq!(health.alarms, [Alarm::FailureExpected]);
    assert_eq!((health.has_volatile_cache, health.temperature_celsius), (Some(false), Some(44)));
    assert_eq!(health.power_on_hours, Some(6_684));
}

#[test]
fn hours_that_are_minutes_are_not_believed() {
    let drive =
        AtaDrive::new(page!("ata-disk-in-minutes.identify"), page!("ata-disk-in-minutes.smart"));
    let health = ata::look(&drive).unwrap().unwrap();
    assert_eq!((health.power_on_hours, health.temperature_celsius), (None, Some(41)));
}

#[test]
fn counts_that_are_packed_above_a_raw_value_are_left_out() {
    let disk = AtaDrive::new(page!("ata-disk.identify"), page!("ata-disk.smart"));
    let health = ata::look(&disk).unwrap().unwrap();
    assert_eq!((health.media_errors, health.power_on_hours), (Some(0), Some(8_055)));
    let ssd = AtaDrive::new(page!("ata-old-ssd.identify"), page!("ata-old-ssd.smart"));
    assert_eq!(ata::look(&ssd).unwrap().unwrap().power_on_hours, Some(9_002));
}

#[test]
fn a_disk_in_standby_is_asked_nothing_more() {
    struct Sleeping(ScsiAnswer);
    impl Commands for Sleeping {
        fn nvme_admin(&self, _: &NvmeAdmin, _: &mut [u8]) -> io::Result<NvmeAnswer> {
            unreachable!()
        }
        fn scsi(&self, command: &[u8], _: &mut [u8]) -> io::Result<ScsiAnswer> {
            assert_eq!(command[14], 0xe5, "only CHECK POWER MODE");
            Ok(self.0)
        }
    }
    for count in [0x00, 0x01] {
        assert_eq!(ata::look(&Sleeping(with_registers(count, 0, 0))).unwrap(), None);
    }
}

#[test]
fn registers_in_fixed_sense_data_are_read_where_their_status_is_one() {
    let fixed = |status| with_sense(&[0x70, 0, 1, 0, status, 0, 0x80, 10, 0, 0, 0x4f, 0xc2]);
    let power = |answer| {
        let drive = AtaDrive {
            power: answer,
            ..AtaDrive::new(page!("ata-ssd.identify"), page!("ata-ssd.smart"))
        };
        ata::look(&drive).unwrap().unwrap().power
    };
    assert_eq!(power(fixed(0x50)), Some(Power::Idle));
    assert_eq!(power(fixed(0)), None, "an older kernel's");
}

#[test]
fn an_ata_drive_that_knows_no_smart_still_has_its_name() {
    let drive = AtaDrive { smart: None, ..AtaDrive::new(page!("ata-ssd.identify"), [0; 512]) };
    let health = ata::look(&drive).unwrap().unwrap();
    assert_eq!((health.temperature_celsius, health.power_on_hours), (None, None));
    assert_eq!(health.firmware.as_deref(), Some("SVQ02B6Q"));
}

/// A SAS drive, of the log pages that the kernel's `scsi_debug` answers with, and of others by the
/// standard.
struct SasDrive {
    sense: [u8; 18],
}

impl Commands for SasDrive {
    fn nvme_admin(&self, _: &NvmeAdmin, _: &mut [u8]) -> io::Result<NvmeAnswer> {
        unreachable!("a SAS drive takes no NVMe commands")
    }

    fn scsi(&self, command: &[u8], data: &mut [u8]) -> io::Result<ScsiAnswer> {
        let page: &[u8] = match (command[0], command[2]) {
            (0x03, _) => &self.sense,
            (0x12, 0) => b"\0\0\x06\x02\x5b\0\0\0HGST    HUSMR3280ASS200 0004",
            (0x12, 0x80) => b"\0\x80\0\x08Z1Z00000",
            (0x1a, 0x08) => &[23, 0, 0x10, 0, 0x08, 0x12, 0x14],
            (0x4d, 0x4d) => &[0x0d, 0, 0, 12, 0, 0, 3, 2, 0, 0x26, 0, 1, 3, 2, 0, 0x41],
            (0x4d, 0x42) => &[0x02, 0, 0, 18, 0, 5, 2, 8, 0, 0, 1, 0, 0, 0, 0, 0, 0, 6, 2, 2, 0, 3],
            (0x4d, 0x43) => &[0x03, 0, 0, 18, 0, 5, 2, 8, 0, 0, 2, 0, 0, 0, 0, 0, 0, 6, 2, 2, 0, 4],
            (0x4d, 0x51) => &[0x11, 0, 0, 8, 0, 1, 3, 4, 0, 0, 0, 7],
            (0x4d, 0x55) => &[0x15, 0, 0, 8, 0, 0, 3, 4, 0, 0, 0x0e, 0x10],
            (0x4d, 0x6f) => &[0x2f, 0, 0, 7, 0, 0, 3, 3, 0x5d, 0x10, 0x26],
            _ => return Ok(with_sense(&[0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x24, 0])),
        };
        data[..page.len()].copy_from_slice(page);
        Ok(GOOD)
    }
}

#[test]
fn a_sas_drive() {
    let drive = SasDrive { sense: [0; 18] };
    let health = scsi::look(&drive).unwrap().expect("it is awake");
    let expected = DriveHealth {
        model: Some("HGST HUSMR3280ASS200".to_owned()),
        serial: Some("Z1Z00000".to_owned()),
        firmware: Some("0004".to_owned()),
        power: Some(Power::Active),
        temperature_celsius: Some(38),
        temperature_max_celsius: Some(65),
        used_percent: Some(7),
        read_bytes: Some(2 << 40),
        written_bytes: Some(1 << 40),
        media_errors: Some(7),
        power_on_hours: Some(60),
        has_volatile_cache: Some(true),
        alarms: vec![Alarm::FailureExpected],
        ..DriveHealth::default()
    };
    assert_eq!(health, expected);
}

#[test]
fn a_sas_drive_in_standby_is_not_asked() {
    let mut sense = [0; 18];
    (sense[0], sense[12], sense[13]) = (0x70, 0x5e, 0x04);
    assert_eq!(scsi::look(&SasDrive { sense }).unwrap(), None);
    sense[13] = 0x01;
    assert_eq!(scsi::look(&SasDrive { sense }).unwrap().unwrap().power, Some(Power::Idle));
}

mod hostile;
mod places;
