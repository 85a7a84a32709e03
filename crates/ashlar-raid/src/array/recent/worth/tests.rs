use super::*;

/// So many windows in which one of `one_of` sectors is `asked` for, and the others for the first
/// time.
fn ask(worth: &Worth, windows: u32, one_of: u32, asked: Asked) {
    for nth in 0..windows * WINDOW_SAMPLES {
        let asked = if nth.is_multiple_of(one_of) { asked } else { Asked::First };
        worth.asked(nth * SAMPLE_ONE_OF, asked);
        (1..SAMPLE_ONE_OF).for_each(|other| worth.asked(nth * SAMPLE_ONE_OF + other, Asked::LetGo));
    }
}

#[test]
fn more_is_held_while_that_would_help() {
    let worth = Worth::default();
    assert_eq!(worth.held_max(), HELD_SECTORS_MIN);
    ask(&worth, 2, 8, Asked::LetGo);
    assert_eq!(worth.held_max(), 4 * HELD_SECTORS_MIN);
    ask(&worth, 8, 4, Asked::Held);
    assert_eq!(worth.held_max(), 4 * HELD_SECTORS_MIN, "that is enough");
    ask(&worth, 8, 2, Asked::LetGo);
    assert_eq!(worth.held_max(), HELD_SECTORS_MAX);
}

#[test]
fn what_is_hardly_wanted_again_is_not_held() {
    let worth = Worth::default();
    ask(&worth, 3, 10, Asked::LetGo);
    assert_eq!(worth.held_max(), HELD_SECTORS_MIN);
    ask(&worth, 8, 2, Asked::LetGo);
    ask(&worth, 8, 8, Asked::Held);
    assert_eq!(worth.held_max(), HELD_SECTORS_MIN, "nor any more");
}
