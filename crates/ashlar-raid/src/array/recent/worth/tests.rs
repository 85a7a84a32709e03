use super::*;

/// So many windows in which one of `one_of` sectors is asked for again.
fn ask(worth: &Worth, windows: u32, one_of: u32) {
    for nth in 0..windows * WINDOW_SAMPLES {
        worth.asked(nth * SAMPLE_ONE_OF, nth.is_multiple_of(one_of));
        (1..SAMPLE_ONE_OF).for_each(|other| worth.asked(nth * SAMPLE_ONE_OF + other, true));
    }
}

#[test]
fn more_is_held_while_it_is_wanted_again() {
    let worth = Worth::default();
    assert_eq!(worth.held_max(), HELD_SECTORS_MIN);
    ask(&worth, 2, 4);
    assert_eq!(worth.held_max(), 4 * HELD_SECTORS_MIN);
    ask(&worth, 8, 4);
    assert_eq!(worth.held_max(), HELD_SECTORS_MAX);
}

#[test]
fn what_is_hardly_wanted_again_is_not_held() {
    let worth = Worth::default();
    ask(&worth, 3, 8);
    assert_eq!(worth.held_max(), HELD_SECTORS_MIN);
    ask(&worth, 8, 2);
    ask(&worth, 8, 8);
    assert_eq!(worth.held_max(), HELD_SECTORS_MIN, "nor any more");
}
