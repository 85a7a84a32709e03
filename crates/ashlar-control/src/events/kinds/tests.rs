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
fn every_kind_is_in_the_document_for_receivers() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/notifications.md");
    let page = std::fs::read_to_string(page).expect("it is there");
    for kind in EventKind::ALL {
        let row = format!("| `{}` | {} |\n", kind.word(), kind.text());
        assert!(page.contains(&row), "{row}");
    }
}
