use std::time::Duration;

use ashlar_drive::{DriveHealth as Figures, Ill, Link};

use super::*;

#[test]
fn what_a_drive_has_said_goes_over_the_wire_as_it_is() {
    let link = Link {
        speed: Some("8.0 GT/s PCIe".to_owned()),
        speed_max: Some("16.0 GT/s PCIe".to_owned()),
        width: Some(2),
        width_max: Some(4),
        is_degraded: true,
    };
    let figures = Figures {
        power: Some(Power::State { number: 3, max_milliwatts: Some(50) }),
        temperature_celsius: Some(-5),
        has_volatile_cache: Some(false),
        link: Some(link),
        ..Figures::default()
    };
    let warning = |ill, is_critical| Warning { ill, is_critical, message: "why".to_owned() };
    let wire = health(Said {
        health: figures,
        warnings: vec![warning(Ill::SpareLow, true), warning(Ill::Hot, false)],
        age: Some(Duration::from_millis(2_900)),
        ..Said::default()
    });
    assert_eq!((wire.power.as_deref(), wire.power_max_milliwatts), (Some("3"), Some(50)));
    assert_eq!((wire.temperature_celsius, wire.write_cache), (Some(-5), Some(false)));
    assert_eq!((wire.link_speed.as_deref(), wire.link_width), (Some("8.0 GT/s PCIe"), Some(2)));
    assert_eq!(wire.link_speed_max.as_deref(), Some("16.0 GT/s PCIe"));
    assert_eq!((wire.answer_age_seconds, wire.absent), (Some(2), None));
    let warned: Vec<_> = wire.warnings.iter().map(|it| (it.kind.as_str(), it.severity)).collect();
    assert_eq!(warned, [("spare_low", Severity::Error), ("hot", Severity::Warning)]);
}

#[test]
fn what_a_drive_takes_power_for_is_a_word_or_the_number_of_a_state() {
    let word = |said, is_asleep| power(said, is_asleep).0;
    assert_eq!(word(None, false), None);
    assert_eq!(word(Some(Power::Active), false).as_deref(), Some("active"));
    assert_eq!(word(Some(Power::Idle), false).as_deref(), Some("idle"));
    assert_eq!(word(Some(Power::Standby), false).as_deref(), Some("standby"));
    assert_eq!(word(None, true).as_deref(), Some("asleep"));
}

#[test]
fn each_warning_of_a_drive_has_a_kind_of_event() {
    let all =
        [Ill::Failing, Ill::SpareLow, Ill::Worn, Ill::MediaErrors, Ill::Hot, Ill::LinkDegraded];
    for ill in all {
        let word = format!("drive_{}", ill.word());
        assert!(ashlar_control::EventKind::of_word(&word).is_some(), "{word}");
    }
}
