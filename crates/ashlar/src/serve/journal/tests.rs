use std::fs;
use std::os::unix::fs::PermissionsExt;

use ashlar_control::types::{AuditEntry, Deed};
use tempfile::TempDir;

use super::*;

const BOUNDS: Bounds = Bounds { file_bytes: 4096, total_bytes: 16 << 10 };
const LONG: Duration = Duration::from_secs(60);

fn entry(seq: u64) -> AuditEntry {
    let deed = Deed { command: "volume create".to_owned(), ..Deed::default() };
    AuditEntry { seq, time: "2026-01-01T00:00:00.000Z".to_owned(), what: deed }
}

/// A daemon that writes these entries and ends.
async fn written(directory: &TempDir, numbers: impl IntoIterator<Item = u64>) {
    let journal = Journal::start(directory.path().join("audit"), BOUNDS).expect("a thread");
    let archive: &dyn Archive<AuditEntry> = &journal;
    numbers.into_iter().for_each(|seq| archive.keep(&entry(seq), None));
    journal.end(LONG).await;
    assert_eq!(archive.take_change(), None);
}

fn read(directory: &TempDir, after: Option<u64>, limit: usize) -> Vec<u64> {
    let wanted = Wanted::<AuditEntry> { after, ..Wanted::last(limit) };
    let place = directory.path().join("audit");
    let entries = files::read(&place, &wanted, &|_, _| ()).expect("it is readable");
    entries.iter().map(|entry| entry.seq).collect()
}

#[tokio::test]
async fn what_was_kept_is_there_after_the_next_start() {
    let directory = TempDir::new().expect("room");
    written(&directory, 5..8).await;
    written(&directory, 8..10).await;
    assert_eq!(read(&directory, None, 100), [5, 6, 7, 8, 9]);
    assert_eq!(read(&directory, None, 2), [8, 9]);
    assert_eq!(read(&directory, Some(5), 3), [6, 7, 8]);
    assert_eq!(read(&directory, Some(8), 100), [9]);
    assert_eq!(read(&directory, Some(0), 1), [5]);
    let journal = Journal::start(directory.path().join("audit"), BOUNDS).expect("a thread");
    let newest: Vec<AuditEntry> = journal.newest().await;
    assert_eq!(newest.len(), 5);
}

#[tokio::test]
async fn the_oldest_files_go_and_the_newest_entries_stay() {
    let directory = TempDir::new().expect("room");
    // One start for each: what comes at once is one batch, however much it is.
    for seq in 0..20 {
        written(&directory, seq * 10..seq * 10 + 10).await;
    }
    let files: Vec<_> = fs::read_dir(directory.path().join("audit")).expect("it").collect();
    let sizes = files.iter().map(|file| file.as_ref().expect("one").metadata().expect("it").len());
    let total: u64 = sizes.sum();
    assert!(total <= BOUNDS.total_bytes + BOUNDS.file_bytes, "{total}");
    let kept = read(&directory, Some(0), 1000);
    assert!(kept.len() < 200 && kept.ends_with(&[197, 198, 199]), "{kept:?}");
}

#[tokio::test]
async fn a_line_that_a_crash_has_cut_off_is_passed_over_and_so_is_what_is_no_file_of_ours() {
    let directory = TempDir::new().expect("room");
    written(&directory, 5..8).await;
    let place = directory.path().join("audit");
    let file = place.join(format!("{:020}.jsonl", 5));
    let text = fs::read_to_string(&file).expect("it is text");
    fs::write(&file, &text[..text.len() - 40]).expect("room");
    fs::write(place.join("notes.jsonl"), "what is this").expect("room");
    fs::write(place.join("00000000000000000001.jsonl.old"), "what is this").expect("room");
    written(&directory, 8..9).await;
    assert_eq!(read(&directory, None, 100), [5, 6, 8]);
}

#[tokio::test]
async fn only_the_daemon_may_read_it() {
    let directory = TempDir::new().expect("room");
    written(&directory, 5..6).await;
    let file = directory.path().join("audit").join(format!("{:020}.jsonl", 5));
    assert_eq!(fs::metadata(file).expect("it").permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn that_it_cannot_be_written_is_told_once_and_all_is_kept_once_it_can_be() {
    let directory = TempDir::new().expect("room");
    let place = directory.path().join("audit");
    fs::write(&place, "in its way").expect("room");
    let journal = Journal::start(place.clone(), BOUNDS).expect("a thread");
    let archive: &dyn Archive<AuditEntry> = &journal;
    archive.keep(&entry(1), None);
    let why = loop {
        if let Some(Keeping::Not(why)) = archive.take_change() {
            break why;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    assert!(why.contains("audit"), "{why}");
    assert_eq!(archive.take_change(), None, "it is told once");
    assert_eq!(archive.failure(), Some((why, 0)));
    fs::remove_file(&place).expect("it goes");
    archive.keep(&entry(2), None);
    journal.end(LONG).await;
    assert_eq!(read(&directory, None, 100), [1, 2]);
    assert_eq!(archive.take_change(), Some(Keeping::Again { lost: 0 }));
    assert_eq!(archive.failure(), None);
}

#[tokio::test]
async fn what_the_daemon_ends_with_and_cannot_write_is_counted() {
    let directory = TempDir::new().expect("room");
    fs::write(directory.path().join("audit"), "in its way").expect("room");
    let journal = Journal::start(directory.path().join("audit"), BOUNDS).expect("a thread");
    let archive: &dyn Archive<AuditEntry> = &journal;
    (0..3).for_each(|seq| archive.keep(&entry(seq), None));
    journal.end(LONG).await;
    assert!(archive.failure().is_some_and(|(_, lost)| lost == 3));
}

#[test]
fn a_file_that_nobody_finds_any_more_is_begun_anew() {
    let directory = TempDir::new().expect("room");
    let place = directory.path().join("audit");
    let mut files = Files::new(place.clone(), BOUNDS);
    let line = |seq: u64| Line {
        seq,
        text: serde_json::to_string(&entry(seq)).expect("JSON"),
        written: None,
    };
    files.append(&[line(1)]).expect("room");
    fs::remove_dir_all(&place).expect("it goes");
    files.append(&[line(2)]).expect("it is made again");
    assert_eq!(read(&directory, None, 100), [2]);
    fs::rename(&place, directory.path().join("aside")).expect("it goes");
    files.append(&[line(3)]).expect("it is made again");
    assert_eq!(read(&directory, None, 100), [3]);
}

/// Cuts the last line of the newest file off, as a crash does.
fn cut(place: &Path) {
    let files = fs::read_dir(place).expect("it").map(|file| file.expect("one").path());
    let newest = files.max().expect("one");
    let text = fs::read_to_string(&newest).expect("text");
    fs::write(&newest, text + "{").expect("room");
}

#[test]
fn a_daemon_that_starts_often_goes_on_in_the_newest_file_and_keeps_what_it_has() {
    let directory = TempDir::new().expect("room");
    let place = directory.path().join("audit");
    let line = |seq: u64| Line {
        seq,
        text: serde_json::to_string(&entry(seq)).expect("JSON"),
        written: None,
    };
    let bounds = Bounds { total_bytes: 1 << 30, ..BOUNDS };
    for seq in 0..600 {
        Files::new(place.clone(), bounds).append(&[line(seq)]).expect("room");
    }
    assert_eq!(read(&directory, None, 1000).len(), 600);
    let files = fs::read_dir(&place).expect("it").count();
    assert!(files < 100, "{files}");
}

#[test]
fn files_are_bounded_in_number_however_little_each_has() {
    let directory = TempDir::new().expect("room");
    let place = directory.path().join("audit");
    let line = |seq: u64| Line {
        seq,
        text: serde_json::to_string(&entry(seq)).expect("JSON"),
        written: None,
    };
    let bounds = Bounds { total_bytes: 1 << 30, ..BOUNDS };
    for seq in 0..600 {
        Files::new(place.clone(), bounds).append(&[line(seq)]).expect("room");
        cut(&place);
    }
    let kept = read(&directory, None, 1000);
    assert_eq!((kept.len(), kept.last()), (512, Some(&599)));
}

#[test]
fn entries_that_were_written_twice_are_read_once() {
    let directory = TempDir::new().expect("room");
    let place = directory.path().join("audit");
    let line = |seq: u64| Line {
        seq,
        text: serde_json::to_string(&entry(seq)).expect("JSON"),
        written: None,
    };
    Files::new(place.clone(), BOUNDS).append(&[line(1), line(2), line(3)]).expect("room");
    cut(&place);
    Files::new(place.clone(), BOUNDS).append(&[line(2), line(3), line(4)]).expect("room");
    cut(&place);
    // One whose end nobody could make durable, nor take back.
    Files::new(place, BOUNDS).append(&[line(4), line(5)]).expect("room");
    assert_eq!(read(&directory, None, 100), [1, 2, 3, 4, 5]);
    assert_eq!(read(&directory, Some(0), 100), [1, 2, 3, 4, 5]);
    assert_eq!(read(&directory, None, 2), [4, 5]);
    assert_eq!(read(&directory, Some(2), 3), [3, 4, 5], "repeated ones are not counted");
}

#[tokio::test]
async fn a_file_that_cannot_be_read_keeps_nobody_from_the_others() {
    let directory = TempDir::new().expect("room");
    written(&directory, 5..8).await;
    let place = directory.path().join("audit");
    fs::create_dir(place.join(format!("{:020}.jsonl", 8))).expect("room");
    written(&directory, 9..12).await;
    assert_eq!(read(&directory, Some(0), 100), [5, 6, 7, 9, 10, 11]);
    assert_eq!(read(&directory, None, 5), [6, 7, 9, 10, 11]);
    let told = std::cell::RefCell::new(Vec::new());
    let wanted = Wanted::<AuditEntry>::last(100);
    let bad = |file: &Path, _: &io::Error| told.borrow_mut().push(file.to_owned());
    files::read(&place, &wanted, &bad).expect("the others are readable");
    assert_eq!(told.into_inner(), [place.join(format!("{:020}.jsonl", 8))]);
}

#[tokio::test]
async fn whoever_waits_for_an_entry_waits_until_it_is_in_its_file_or_cannot_be() {
    let directory = TempDir::new().expect("room");
    let place = directory.path().join("audit");
    let journal = Journal::start(place.clone(), BOUNDS).expect("a thread");
    let archive: &dyn Archive<AuditEntry> = &journal;
    for seq in 1..20 {
        let (writes, written) = oneshot::channel();
        archive.keep(&entry(seq), Some(writes));
        let _ = timeout(LONG, written).await.expect("it is written");
        assert_eq!(read(&directory, None, 1), [seq]);
    }
    fs::remove_dir_all(&place).expect("it goes");
    fs::write(&place, "in its way").expect("room");
    let (writes, written) = oneshot::channel();
    archive.keep(&entry(20), Some(writes));
    let _ = timeout(LONG, written).await.expect("nobody waits for what cannot be written");
    assert!(archive.failure().is_some());
}
