use super::*;

/// So many windows in which one of `one_of` sectors is `asked` for, and the others for the first
/// time.
fn ask(sizing: &CacheSizing, windows: u32, one_of: u32, asked: Asked) {
    for nth in 0..windows * WINDOW_SAMPLES {
        let asked = if nth.is_multiple_of(one_of) { asked } else { Asked::First };
        sizing.asked(nth * SAMPLE_ONE_OF, asked);
        (1..SAMPLE_ONE_OF)
            .for_each(|other| sizing.asked(nth * SAMPLE_ONE_OF + other, Asked::LetGo));
    }
}

#[test]
fn more_is_held_while_that_would_help() {
    let sizing = CacheSizing::default();
    assert_eq!(sizing.held_max(), HELD_SECTORS_MIN);
    ask(&sizing, 2, 8, Asked::LetGo);
    assert_eq!(sizing.held_max(), 4 * HELD_SECTORS_MIN);
    ask(&sizing, 8, 4, Asked::Held);
    assert_eq!(sizing.held_max(), 4 * HELD_SECTORS_MIN, "that is enough");
    ask(&sizing, 8, 2, Asked::LetGo);
    assert_eq!(sizing.held_max(), HELD_SECTORS_MAX);
}

#[test]
fn what_is_hardly_wanted_again_is_not_held() {
    let sizing = CacheSizing::default();
    ask(&sizing, 3, 10, Asked::LetGo);
    assert_eq!(sizing.held_max(), HELD_SECTORS_MIN);
    ask(&sizing, 8, 2, Asked::LetGo);
    ask(&sizing, 8, 8, Asked::Held);
    assert_eq!(sizing.held_max(), HELD_SECTORS_MIN, "nor any more");
}
