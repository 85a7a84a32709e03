use super::*;
use crate::log::Entry;
use crate::types::{Event, Happening, Severity};

#[test]
fn the_words_of_kinds_are_their_names() {
    for kind in EventKind::ALL {
        let mut word = String::new();
        for c in format!("{kind:?}").chars() {
            if c.is_uppercase() && !word.is_empty() {
                word.push('_');
            }
            word.push(c.to_ascii_lowercase());
        }
        assert_eq!(kind.word(), word);
        assert_eq!(EventKind::of_word(&word), Some(*kind));
        assert!(kind.text().ends_with('.'), "{word}");
    }
}

#[test]
fn what_to_do_names_the_pool_and_the_drive() {
    let happening = Happening::new(Severity::Error, EventKind::DriveFailing, "it fails");
    let about =
        Happening { pool: Some("tank".to_owned()), drive: Some("drive-2".to_owned()), ..happening };
    let event = Event::new(1, String::new(), about);
    let hint = event.what.hint.expect("there is something to do");
    assert!(hint.contains("ashlar pool replace tank drive-2 /dev/"), "{hint}");
}

#[test]
fn every_kind_says_how_bad_it_may_be_and_what_to_do_about_what_is_wrong() {
    use EventKind::{DriveState, PoolStateEntered, ScrubFinished, VerifyFinished};
    // The state, or what was found, says what to do.
    let tells_itself = [DriveState, PoolStateEntered, ScrubFinished, VerifyFinished];
    for kind in EventKind::ALL {
        let severities = kind.severities();
        assert!(severities.is_sorted_by(|one, next| one < next), "{kind:?}: {severities:?}");
        let is_wrong = severities.contains(&Severity::Error);
        assert!(!is_wrong || kind.hint().is_some() || tells_itself.contains(kind), "{kind:?}");
    }
}
