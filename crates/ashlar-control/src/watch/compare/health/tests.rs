use super::*;
use crate::types::DriveHealth;

fn drive(warnings: &[(&str, Severity)]) -> PoolDrive {
    let warning = |(kind, severity): &(&str, Severity)| DriveWarning {
        kind: (*kind).to_owned(),
        severity: *severity,
        message: "it has 73 °C: look at its cooling".to_owned(),
    };
    let warnings = warnings.iter().map(warning).collect();
    let health = DriveHealth { warnings, answer_age_seconds: Some(0), ..DriveHealth::default() };
    PoolDrive { name: "drive-1".to_owned(), health, ..PoolDrive::default() }
}

/// What is told of a drive that was so, and is so.
fn told(before: Option<&[(&str, Severity)]>, now: &[(&str, Severity)]) -> Vec<(String, Severity)> {
    let pool = Pool { name: "tank".to_owned(), ..Pool::default() };
    let all = happenings(&pool, before.map(drive).as_ref(), &drive(now));
    all.into_iter().map(|it| (it.kind, it.severity)).collect()
}

#[test]
fn a_warning_is_told_when_it_begins_when_it_becomes_worse_or_better_and_when_it_is_over() {
    use Severity::{Error, Info, Warning};
    let hot = |severity| vec![("drive_hot".to_owned(), severity)];
    assert_eq!(told(Some(&[]), &[]), []);
    assert_eq!(told(None, &[("hot", Warning)]), hot(Warning), "also of a drive that is new");
    assert_eq!(told(Some(&[]), &[("hot", Warning)]), hot(Warning));
    assert_eq!(told(Some(&[("hot", Warning)]), &[("hot", Warning)]), []);
    assert_eq!(told(Some(&[("hot", Warning)]), &[("hot", Error)]), hot(Error));
    assert_eq!(told(Some(&[("hot", Error)]), &[("hot", Warning)]), hot(Warning));
    let over = vec![("drive_warning_ended".to_owned(), Info)];
    assert_eq!(told(Some(&[("hot", Warning)]), &[]), over);
    let both = told(Some(&[("hot", Warning)]), &[("worn", Warning)]);
    assert_eq!(both, [vec![("drive_worn".to_owned(), Warning)], over].concat());
}

#[test]
fn a_drive_that_has_gone_is_not_told_to_be_well() {
    let (pool, before) = (Pool::default(), drive(&[("failing", Severity::Error)]));
    assert_eq!(happenings(&pool, Some(&before), &PoolDrive::default()), []);
}

#[test]
fn an_event_names_the_pool_the_drive_and_what_warns() {
    let pool = Pool { name: "tank".to_owned(), ..Pool::default() };
    let [begun] = &happenings(&pool, None, &drive(&[("hot", Severity::Warning)]))[..] else {
        panic!("one event")
    };
    assert_eq!(begun.message, "drive-1 of pool 'tank': it has 73 °C: look at its cooling");
    assert_eq!((begun.pool.as_deref(), begun.drive.as_deref()), (Some("tank"), Some("drive-1")));
    assert_eq!(begun.states, ["hot"]);
}
