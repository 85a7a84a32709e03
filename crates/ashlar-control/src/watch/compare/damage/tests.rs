use super::*;

fn pool(blocks_unrecovered: u64, wrong_blocks_corrected: u64, sectors_healed: u64) -> Pool {
    let counters = PoolCounters {
        blocks_unrecovered,
        wrong_blocks_corrected,
        sectors_healed,
        ..PoolCounters::default()
    };
    Pool { name: "tank".to_owned(), counters: Some(counters), ..Pool::default() }
}

/// What is told of looks at these seconds.
fn told(looks: impl IntoIterator<Item = (u64, Pool)>) -> Vec<(Severity, String)> {
    let (mut before, mut all) = (ToldDamage::default(), Vec::new());
    for (second, pool) in looks {
        let (next, told) = happenings(before, Duration::from_secs(second), &pool);
        all.extend(told.into_iter().map(|told| (told.severity, told.message)));
        before = next;
    }
    all
}

fn error(message: &str) -> (Severity, String) {
    (Severity::Error, message.to_owned())
}

fn warning(message: &str) -> (Severity, String) {
    (Severity::Warning, message.to_owned())
}

#[test]
fn what_cannot_be_read_is_told_at_once_and_what_follows_once_a_minute_with_how_many() {
    let counts = [(0, 0), (2, 1), (4, 5), (6, 9), (61, 9), (62, 9), (64, 9), (122, 9), (124, 10)];
    let expected = [
        error("one block of pool 'tank' could not be read right"),
        error("8 blocks of pool 'tank' could not be read right"),
        error("one block of pool 'tank' could not be read right"),
    ];
    assert_eq!(told(counts.map(|(second, count)| (second, pool(count, 0, 0)))), expected);
}

#[test]
fn what_was_wrong_and_is_right_again_is_a_warning_beside_what_cannot_be_read() {
    let looks = [(0, pool(0, 2, 0)), (60, pool(3, 5, 3)), (120, pool(3, 5, 4))];
    let expected = [
        warning("2 blocks of pool 'tank' came wrong, and were made right"),
        error("3 blocks of pool 'tank' could not be read right"),
        warning(
            "3 blocks of pool 'tank' came wrong, and were made right; 3 sectors that were wrong \
             or unreadable are repaired",
        ),
        warning("of pool 'tank' one sector that was wrong or unreadable is repaired"),
    ];
    assert_eq!(told(looks), expected);
}

#[test]
fn a_pool_that_is_opened_anew_counts_anew() {
    let closed = Pool { counters: None, ..pool(0, 0, 0) };
    let looks = [(0, pool(7, 0, 0)), (60, closed), (120, pool(0, 0, 0)), (180, pool(2, 0, 0))];
    let expected = [
        error("7 blocks of pool 'tank' could not be read right"),
        error("2 blocks of pool 'tank' could not be read right"),
    ];
    assert_eq!(told(looks), expected);
}

#[test]
fn the_drives_that_may_have_brought_it_about_are_the_cause() {
    let drive = |name: &str, state: &str, read_errors, wrong_answers| PoolDrive {
        name: name.to_owned(),
        states: vec![state.to_owned()],
        read_errors: Some(read_errors),
        wrong_answers: Some(wrong_answers),
        ..PoolDrive::default()
    };
    let drives = vec![
        drive("drive-0", "online", 0, 0),
        drive("drive-1", "absent", 0, 0),
        drive("drive-2", "online", 3, 1),
    ];
    let ill = Pool { drives, ..pool(1, 0, 0) };
    let (_, all) = happenings(ToldDamage::default(), Duration::ZERO, &ill);
    let cause = "drive-1 (lost), drive-2 (reads refused: 3, reads answered wrong: 1)";
    assert_eq!(all[0].cause.as_deref(), Some(cause));
    assert_eq!(all[0].pool.as_deref(), Some("tank"));
    assert!(all[0].hint.as_deref().is_some_and(|hint| hint.contains("scrub POOL")));
}
