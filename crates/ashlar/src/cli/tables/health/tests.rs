use ashlar_control::types::DriveWarning;

use super::*;

/// With the longest of all figures.
fn drive(number: u8) -> PoolDrive {
    let health = DriveHealth {
        answer_age_seconds: Some(12),
        firmware: Some("MPKD0P21".to_owned()),
        temperature_celsius: Some(-40),
        temperature_max_celsius: Some(72),
        temperature_critical_celsius: Some(85),
        power: Some("0".to_owned()),
        power_max_milliwatts: Some(25_000),
        used_percent: Some(255),
        spare_percent: Some(100),
        spare_threshold_percent: Some(10),
        written_bytes: Some(33_166_218_315_776),
        media_errors: Some(123_456),
        power_on_hours: Some(123_456),
        link_speed: Some("16.0 GT/s PCIe".to_owned()),
        link_speed_max: Some("32.0 GT/s PCIe".to_owned()),
        link_width: Some(4),
        link_width_max: Some(4),
        ..DriveHealth::default()
    };
    PoolDrive { name: format!("drive-{number}"), health, ..PoolDrive::default() }
}

#[test]
fn the_health_of_a_pools_drives_fits_a_terminal() {
    let text = of_drives(&[drive(0), drive(101)]);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for part in ["drive-101", "-40 °C", "255 %", "100 %", "123456", "30.16TiB", "GT/s"] {
        assert!(text.contains(part), "'{part}' is not in:\n{text}");
    }
}

#[test]
fn drives_that_say_nothing_for_the_same_reason_are_named_together() {
    let silent = |name: &str, why: &str| PoolDrive {
        name: name.to_owned(),
        health: DriveHealth { absent: Some(why.to_owned()), ..DriveHealth::default() },
        ..PoolDrive::default()
    };
    let file = "a file says nothing of its health";
    let text = of_drives(&[silent("a", file), silent("b", "it sleeps"), silent("c", file)]);
    let below: Vec<&str> = text.lines().skip(text.lines().count() - 2).collect();
    assert_eq!(below, ["a, c: a file says nothing of its health", "b: it sleeps"]);
}

#[test]
fn a_drive_is_shown_with_its_limits_and_a_dash_for_what_it_does_not_say() {
    let shown =
        |health: &DriveHealth| -> BTreeMap<&str, String> { of_drive(health).into_iter().collect() };
    let rows = shown(&drive(0).health);
    assert_eq!(rows["temperature"], "-40 °C (too hot at 72 °C, critical at 85 °C)");
    assert_eq!(rows["power"], "state 0 (at most 25.00 W)");
    assert_eq!(rows["spare blocks"], "100 % (at least 10 %)");
    assert_eq!(rows["link"], "16.0 GT/s PCIe x4 (at most 32.0 GT/s PCIe x4)");
    assert_eq!((&*rows["unsafe shutdowns"], &*rows["answered"]), ("-", "12s ago"));
    let nothing = shown(&DriveHealth::default());
    assert!(nothing.values().all(|value| value == "-"), "{nothing:?}");
}

#[test]
fn a_drive_that_warns_is_marked_by_the_worst_of_it() {
    let with = |severities: &[Severity]| {
        let warning =
            |severity: &Severity| DriveWarning { severity: *severity, ..DriveWarning::default() };
        let warnings = severities.iter().map(warning).collect();
        let health = DriveHealth { warnings, ..DriveHealth::default() };
        words(&PoolDrive { health, ..PoolDrive::default() })
    };
    assert!(with(&[]).is_empty());
    assert_eq!(with(&[Severity::Warning]), ["warning"]);
    assert_eq!(with(&[Severity::Warning, Severity::Error]), ["failing"]);
}
