use super::*;

const MINUTE: Duration = Duration::from_secs(60);

fn healths() -> Healths {
    Healths::new(HealthConfig { interval: MINUTE, thresholds: Thresholds::default() })
}

fn drive(name: &str) -> Asked {
    Asked { uuid: format!("uuid of {name}"), kernel_name: name.to_owned() }
}

fn awake(celsius: i16, media_errors: u64) -> Answer {
    Ok(Look::Awake(Box::new(DriveHealth {
        temperature_celsius: Some(celsius),
        media_errors: Some(media_errors),
        ..DriveHealth::default()
    })))
}

fn ills(course: &Course) -> Vec<&'static str> {
    course.said.warnings.iter().map(|warning| warning.ill.word()).collect()
}

#[test]
fn drives_are_asked_when_they_come_and_then_at_each_interval() {
    let (healths, start) = (healths(), Instant::now());
    let (one, other) = (drive("sda"), drive("sdb"));
    assert_eq!(healths.to_ask(vec![one.clone()], start), std::slice::from_ref(&one));
    healths.take(&one, awake(30, 0), start);
    let soon = start + Duration::from_secs(2);
    assert_eq!(
        healths.to_ask(vec![one.clone(), other.clone()], soon),
        std::slice::from_ref(&other)
    );
    healths.take(&other, awake(30, 0), soon);
    assert_eq!(healths.to_ask(vec![one.clone(), other.clone()], soon), []);
    let both = vec![one, other];
    assert_eq!(healths.to_ask(both.clone(), start + MINUTE), both);
}

#[test]
fn a_drive_that_hangs_is_not_asked_again_and_keeps_no_other_from_it() {
    let (healths, start) = (healths(), Instant::now());
    let both = vec![drive("sda"), drive("sdb")];
    assert_eq!(healths.to_ask(both.clone(), start), both);
    healths.take(&both[1], awake(30, 0), start);
    assert_eq!(healths.to_ask(both.clone(), start + MINUTE), [both[1].clone()]);
    let course = healths.known().drives[&both[0]].clone();
    let said = course.said(start + 2 * MINUTE);
    assert_eq!(said.absent.as_deref(), Some("it has not answered for 120 s"));
    healths.take(&both[0], awake(30, 0), start + 2 * MINUTE);
    healths.take(&both[1], awake(30, 0), start + 2 * MINUTE);
    assert_eq!(healths.to_ask(both.clone(), start + 2 * MINUTE), both);
}

#[test]
fn another_drive_under_a_name_has_nothing_of_the_one_before() {
    let (healths, now) = (healths(), Instant::now());
    let before = drive("sda");
    healths.to_ask(vec![before.clone()], now);
    healths.take(&before, awake(90, 0), now);
    let after = Asked { uuid: "another".to_owned(), ..before.clone() };
    assert_eq!(healths.to_ask(vec![after.clone()], now), std::slice::from_ref(&after));
    assert!(healths.of(&after).warnings.is_empty());
    assert_eq!(healths.of(&before).absent.as_deref(), Some(NOT_YET), "it is forgotten");
}

#[test]
fn media_errors_are_warned_of_for_a_day_after_they_grew() {
    let (mut course, start) = (Course::default(), Instant::now());
    let mut take = |hours: u32, errors: u64| {
        course.take(awake(30, errors), start + hours * 60 * MINUTE, Thresholds::default());
        ills(&course)
    };
    assert!(take(0, 7).is_empty(), "nobody knows when those came");
    assert_eq!(take(1, 9), ["media_errors"]);
    assert_eq!(take(24, 9), ["media_errors"]);
    assert!(take(25, 9).is_empty());
}

#[test]
fn a_drive_that_fell_asleep_keeps_its_figures_and_is_not_hot() {
    let (mut course, start) = (Course::default(), Instant::now());
    course.take(awake(90, 7), start, Thresholds::default());
    assert_eq!(ills(&course), ["hot"]);
    course.take(Ok(Look::Asleep), start + MINUTE, Thresholds::default());
    let said = course.said(start + 2 * MINUTE);
    assert_eq!((said.health.media_errors, said.health.temperature_celsius), (Some(7), None));
    assert!(said.is_asleep && said.warnings.is_empty());
    assert_eq!((said.absent.as_deref(), said.age), (Some(ASLEEP), Some(2 * MINUTE)));
    course.take(awake(30, 7), start + 3 * MINUTE, Thresholds::default());
    let said = course.said(start + 3 * MINUTE);
    assert_eq!((said.is_asleep, said.absent), (false, None));
}

#[test]
fn a_drive_that_refuses_keeps_what_it_has_said_and_the_reason_is_told() {
    let (mut course, start) = (Course::default(), Instant::now());
    course.take(awake(90, 0), start, Thresholds::default());
    course.take(Err("it cannot be asked".to_owned()), start + MINUTE, Thresholds::default());
    let said = course.said(start + MINUTE);
    assert_eq!(said.health.temperature_celsius, Some(90));
    assert_eq!((ills(&course), said.absent.as_deref()), (vec!["hot"], Some("it cannot be asked")));
}
