use super::*;

const LONG: Duration = Duration::from_secs(60);

fn at(delivered_seq: u64) -> Kept {
    Kept { delivered_seq, is_told: false }
}

#[tokio::test]
async fn the_last_that_is_kept_is_there_after_the_next_start_and_one_that_is_new_has_nothing() {
    let directory = tempfile::tempdir().expect("room");
    let place = Place::new(directory.path().join("receivers"), "ops");
    assert_eq!(place.load().await.expect("it is readable"), None);
    (1..=1000).for_each(|seq| place.keep(at(seq)));
    place.settled(LONG).await;
    let again = Place::new(directory.path().join("receivers"), "ops");
    assert_eq!(again.load().await.expect("it is readable"), Some(at(1000)));
}

#[tokio::test]
async fn what_an_earlier_version_has_kept_is_read_and_what_is_damaged_is_not_new() {
    let directory = tempfile::tempdir().expect("room");
    fs::write(directory.path().join("ops.json"), r#"{"delivered_seq":7}"#).expect("room");
    let place = Place::new(directory.path().to_owned(), "ops");
    assert_eq!(place.load().await.expect("it is readable"), Some(at(7)));
    fs::write(directory.path().join("ops.json"), "{").expect("room");
    assert!(place.load().await.is_err());
}

#[tokio::test]
async fn a_place_that_cannot_be_written_is_written_once_it_can_be() {
    let directory = tempfile::tempdir().expect("room");
    let path = directory.path().join("ops.json");
    fs::create_dir(&path).expect("room");
    let place = Place::new(directory.path().to_owned(), "ops");
    place.keep(at(1));
    place.settled(LONG).await;
    fs::remove_dir(&path).expect("it goes");
    place.keep(at(2));
    place.settled(LONG).await;
    assert_eq!(place.load().await.expect("it is readable"), Some(at(2)));
}

#[test]
fn receivers_that_are_no_more_are_forgotten_and_nothing_else_is() {
    let directory = tempfile::tempdir().expect("room");
    for name in ["ops.json", "gone.json", "mail.json", "notes.txt"] {
        fs::write(directory.path().join(name), "{}").expect("room");
    }
    forget_all_but(directory.path(), &["ops".to_owned(), "mail".to_owned()]);
    let mut left: Vec<_> =
        fs::read_dir(directory.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["mail.json", "notes.txt", "ops.json"]);
}
