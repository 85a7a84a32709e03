use super::*;

fn erase(spec: &str, state: &str, problem: Option<&str>) -> DriveErase {
    DriveErase {
        spec: spec.to_owned(),
        pool: "tank".to_owned(),
        states: vec![state.to_owned()],
        problem: problem.map(str::to_owned),
        ..DriveErase::default()
    }
}

fn told(before: &[DriveErase], now: &[DriveErase]) -> Vec<(Severity, String)> {
    happenings(before, now).into_iter().map(|told| (told.severity, told.message)).collect()
}

#[test]
fn the_end_of_an_erase_is_told_once_also_where_its_beginning_was_not_seen() {
    let (running, done) = (erase("/dev/sda", "running", None), erase("/dev/sda", "finished", None));
    let message = "/dev/sda, which was a drive of pool 'tank', is erased".to_owned();
    let expected = [(Severity::Info, message)];
    assert_eq!(told(&[], std::slice::from_ref(&running)), []);
    assert_eq!(told(&[running], std::slice::from_ref(&done)), expected);
    assert_eq!(told(&[], std::slice::from_ref(&done)), expected);
    assert_eq!(told(std::slice::from_ref(&done), std::slice::from_ref(&done)), []);
}

#[test]
fn a_drive_that_was_not_erased_or_was_not_there_is_an_error_that_says_why() {
    let now = [
        erase("/dev/sda", "failed", Some("it refuses writes")),
        erase("tank/drive-1", "missing", Some("the drive was not there")),
    ];
    let message = |spec: &str, why: &str| {
        let message = format!("{spec}, which was a drive of pool 'tank', is not erased: {why}");
        (Severity::Error, message)
    };
    let expected = [
        message("/dev/sda", "it refuses writes"),
        message("tank/drive-1", "the drive was not there"),
    ];
    assert_eq!(told(&[], &now), expected);
}
