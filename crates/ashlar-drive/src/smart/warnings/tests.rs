use super::*;

const DEFAULTS: Thresholds = Thresholds { hot_celsius: None, worn_percent: 90 };

fn at(celsius: i16) -> DriveHealth {
    DriveHealth { temperature_celsius: Some(celsius), ..DriveHealth::default() }
}

fn used(percent: u8) -> DriveHealth {
    DriveHealth { used_percent: Some(percent), ..DriveHealth::default() }
}

fn spare(percent: u8, least: u8) -> DriveHealth {
    DriveHealth {
        spare_percent: Some(percent),
        spare_threshold_percent: Some(least),
        ..DriveHealth::default()
    }
}

fn with(alarms: &[Alarm]) -> DriveHealth {
    DriveHealth { alarms: alarms.to_vec(), ..DriveHealth::default() }
}

/// What is wrong with a drive of which nothing was wrong before.
fn of(health: &DriveHealth) -> Vec<(Ill, bool)> {
    in_short(&warnings(health, &[], 0, DEFAULTS))
}

fn in_short(warnings: &[Warning]) -> Vec<(Ill, bool)> {
    warnings.iter().map(|warning| (warning.ill, warning.is_critical)).collect()
}

#[test]
fn of_each_figure_there_is_a_warning_from_its_threshold_on() {
    let flash = |celsius| DriveHealth { is_rotational: Some(false), ..at(celsius) };
    let spinning = |celsius| DriveHealth { is_rotational: Some(true), ..at(celsius) };
    let own = |celsius| DriveHealth {
        temperature_max_celsius: Some(80),
        temperature_critical_celsius: Some(85),
        ..at(celsius)
    };
    let cases: &[(DriveHealth, &[(Ill, bool)])] = &[
        (DriveHealth::default(), &[]),
        (flash(69), &[]),
        (flash(70), &[(Ill::Hot, false)]),
        (spinning(54), &[]),
        (spinning(55), &[(Ill::Hot, false)]),
        (own(79), &[]),
        (own(80), &[(Ill::Hot, false)]),
        (own(85), &[(Ill::Hot, true)]),
        (with(&[Alarm::Temperature]), &[(Ill::Hot, false)]),
        (used(89), &[]),
        (used(90), &[(Ill::Worn, false)]),
        (used(100), &[(Ill::Worn, true)]),
        (used(255), &[(Ill::Worn, true)]),
        (spare(10, 10), &[]),
        (spare(9, 10), &[(Ill::SpareLow, true)]),
        (with(&[Alarm::Spare]), &[(Ill::SpareLow, true)]),
        (with(&[Alarm::Reliability]), &[(Ill::Failing, true)]),
        (with(&[Alarm::ReadOnly]), &[(Ill::Failing, true)]),
        (with(&[Alarm::CacheBackup]), &[(Ill::Failing, true)]),
        (with(&[Alarm::FailureExpected]), &[(Ill::Failing, true)]),
    ];
    for (health, wanted) in cases {
        assert_eq!(of(health), *wanted, "{health:?}");
    }
}

#[test]
fn what_an_operator_has_said_counts_instead_of_what_the_drive_says() {
    let thresholds = Thresholds { hot_celsius: Some(60), worn_percent: 50 };
    let health =
        DriveHealth { temperature_max_celsius: Some(80), used_percent: Some(50), ..at(60) };
    let found = in_short(&warnings(&health, &[], 0, thresholds));
    assert_eq!(found, [(Ill::Worn, false), (Ill::Hot, false)]);
}

/// What becomes of a drive that has these figures one after the other.
fn course(figures: &[DriveHealth]) -> Vec<Vec<(Ill, bool)>> {
    let mut before = Vec::new();
    let mut all = Vec::new();
    for health in figures {
        before = warnings(health, &before, 0, DEFAULTS);
        all.push(in_short(&before));
    }
    all
}

#[test]
fn what_is_at_a_threshold_does_not_come_and_go() {
    let hot = vec![(Ill::Hot, false)];
    assert_eq!(
        course(&[69, 70, 69, 67, 66, 69].map(at)),
        [vec![], hot.clone(), hot.clone(), hot, vec![], vec![]]
    );
    let worn = vec![(Ill::Worn, false)];
    assert_eq!(course(&[90, 89, 88].map(used)), [worn.clone(), worn, vec![]]);
    let low = vec![(Ill::SpareLow, true)];
    let spares = [9, 10, 11].map(|percent| spare(percent, 10));
    assert_eq!(course(&spares), [low.clone(), low, vec![]]);
}

#[test]
fn what_was_critical_stays_so_at_its_threshold_and_then_is_hot_still() {
    let own = |celsius| DriveHealth {
        temperature_max_celsius: Some(80),
        temperature_critical_celsius: Some(85),
        ..at(celsius)
    };
    let (hot, critical) = (vec![(Ill::Hot, false)], vec![(Ill::Hot, true)]);
    assert_eq!(
        course(&[85, 84, 82, 81, 77, 76].map(own)),
        [critical.clone(), critical.clone(), critical, hot.clone(), hot, vec![]]
    );
}

#[test]
fn media_errors_are_told_while_they_grow_alone() {
    let health = DriveHealth { media_errors: Some(7), ..DriveHealth::default() };
    assert_eq!(of(&health), []);
    let found = warnings(&health, &[], 2, DEFAULTS);
    assert_eq!(in_short(&found), [(Ill::MediaErrors, false)]);
    assert!(found[0].message.contains("2 more media errors"), "{}", found[0].message);
}

#[test]
fn a_degraded_link_is_told_with_what_it_could_be() {
    let link = Link {
        speed: Some("8.0 GT/s PCIe".to_owned()),
        speed_max: Some("16.0 GT/s PCIe".to_owned()),
        width: Some(2),
        width_max: Some(4),
        is_degraded: true,
    };
    let health = DriveHealth { link: Some(link.clone()), ..DriveHealth::default() };
    let found = warnings(&health, &[], 0, DEFAULTS);
    assert_eq!(in_short(&found), [(Ill::LinkDegraded, false)]);
    let wanted = "its link runs at 8.0 GT/s PCIe x2 instead of 16.0 GT/s PCIe x4";
    assert!(found[0].message.starts_with(wanted), "{}", found[0].message);
    let well = Some(Link { is_degraded: false, ..link });
    assert_eq!(of(&DriveHealth { link: well, ..DriveHealth::default() }), []);
}

#[test]
fn every_message_says_why_and_what_to_do() {
    let said = |health| warnings(&health, &[], 0, DEFAULTS)[0].message.clone();
    assert_eq!(said(at(73)), "it has 73 °C, and is hot from 70 °C on: look at its cooling");
    assert_eq!(
        said(used(103)),
        "it has spent 103 % of the life that it was made for: replace it (`ashlar pool replace`)"
    );
    assert_eq!(
        said(with(&[Alarm::ReadOnly, Alarm::FailureExpected])),
        "it takes no writes any more, it expects to fail soon, as it says itself: replace it \
         (`ashlar pool replace`)"
    );
}
