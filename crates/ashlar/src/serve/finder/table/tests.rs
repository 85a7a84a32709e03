use super::*;

fn place(minor: u32) -> Place {
    Place::Device(DeviceNumber { major: 8, minor })
}

fn entry(minor: u32, diskseq: u64, known: Known) -> Entry {
    let number = DeviceNumber { major: 8, minor };
    let mark = DriveMark::Device { number, size_kib: 1024, diskseq: Some(diskseq) };
    Entry { mark, path: format!("/dev/sd{minor}").into(), kernel: None, known, last: None }
}

fn label() -> Label {
    Label { pool: PoolUuid([1; 16]), drive: DriveId(3), uuid: DriveUuid([3; 16]) }
}

fn seen(table: &mut Table, minor: u32, diskseq: u64) {
    table.see(place(minor), entry(minor, diskseq, Known::Unread));
}

/// Reads all labels that are to be read: each is this. Returns how many.
fn read_all(table: &mut Table, now: Instant, content: &Content) -> usize {
    let begun = table.begin_reads(now);
    for (place, mark, _) in &begun {
        table.end_read(place, mark, Known::Read(content.clone()));
    }
    begun.len()
}

#[test]
fn a_label_is_read_once_until_something_about_the_drive_changes() {
    let (mut table, now) = (Table::default(), Instant::now());
    (0..3).for_each(|minor| seen(&mut table, minor, 1));
    assert_eq!(read_all(&mut table, now, &Content::Foreign), 3);
    (0..3).for_each(|minor| seen(&mut table, minor, 1));
    assert_eq!(read_all(&mut table, now, &Content::Foreign), 0);
    seen(&mut table, 1, 2);
    assert_eq!(read_all(&mut table, now, &Content::Label(label())), 1);
    assert_eq!(table.labelled().count(), 1);
    table.read_again(|_, content| matches!(content, Content::Label(_)));
    assert_eq!(table.labelled().count(), 1, "until it is read");
    assert_eq!(read_all(&mut table, now, &Content::Foreign), 1);
    assert_eq!(table.labelled().count(), 0);
}

#[test]
fn what_has_gone_has_no_label_and_is_read_again_when_it_comes_back() {
    let (mut table, now) = (Table::default(), Instant::now());
    seen(&mut table, 0, 1);
    read_all(&mut table, now, &Content::Label(label()));
    table.keep(|place| matches!(place, Place::Device(_)), &BTreeSet::new());
    assert_eq!(table.labelled().count(), 0);
    seen(&mut table, 0, 1);
    assert_eq!(read_all(&mut table, now, &Content::Foreign), 1);
}

#[test]
fn an_answer_about_a_drive_that_has_changed_meanwhile_does_not_count() {
    let (mut table, now) = (Table::default(), Instant::now());
    seen(&mut table, 0, 1);
    let begun = table.begin_reads(now);
    seen(&mut table, 0, 2);
    table.end_read(&begun[0].0, &begun[0].1, Known::Read(Content::Label(label())));
    assert_eq!(table.labelled().count(), 0);
    assert_eq!(read_all(&mut table, now, &Content::Foreign), 1);
}

#[test]
fn a_file_that_was_written_to_keeps_its_label_while_it_is_read_again() {
    let file = |changed| {
        let mark =
            DriveMark::File { device: 1, inode: 1, size_bytes: 1 << 30, changed: (changed, 0) };
        Entry { mark, path: "/d/0.img".into(), kernel: None, known: Known::Unread, last: None }
    };
    let (mut table, now, place) =
        (Table::default(), Instant::now(), Place::File("/d/0.img".into()));
    table.see(place.clone(), file(1));
    read_all(&mut table, now, &Content::Label(label()));
    table.see(place.clone(), file(2));
    assert_eq!(table.labelled().count(), 1);
    assert_eq!(table.begin_reads(now).len(), 1);
    table.see(place, file(3));
    assert_eq!(table.labelled().count(), 1);
    read_all(&mut table, now, &Content::Foreign);
    assert_eq!(table.labelled().count(), 0);
}

#[test]
fn drives_that_do_not_answer_are_not_awaited_for_ever_and_keep_no_other_one_waiting() {
    let (mut table, now) = (Table::default(), Instant::now());
    let count = READS_MAX as u32 + 1;
    (0..count).for_each(|minor| seen(&mut table, minor, 1));
    assert_eq!(table.begin_reads(now).len(), READS_MAX);
    assert_eq!(table.begin_reads(now).len(), 0, "so many are read at a time");
    assert!(table.awaited(now, QUICK_MAX).is_some());
    let later = now + OPEN_ANSWER_MAX;
    assert_eq!(table.begin_reads(later).len(), 1);
    assert_eq!(table.awaited(later, OPEN_ANSWER_MAX), Some(later), "the last one alone");
    // What has hung may answer yet.
    let mark = entry(0, 1, Known::Unread).mark;
    table.end_read(&place(0), &mark, Known::Read(Content::Label(label())));
    assert_eq!(table.labelled().count(), 1);
}

#[test]
fn after_many_reads_that_never_ended_no_more_are_begun() {
    let (mut table, mut now) = (Table::default(), Instant::now());
    for minor in 0..2 * HUNG_MAX as u32 {
        seen(&mut table, minor, 1);
    }
    let mut begun = 0;
    for _ in 0..100 {
        begun += table.begin_reads(now).len();
        now += OPEN_ANSWER_MAX;
    }
    assert!((HUNG_MAX..HUNG_MAX + READS_MAX).contains(&begun), "{begun}");
}

#[test]
fn a_device_that_something_else_holds_is_read_once_it_is_free() {
    let (mut table, now) = (Table::default(), Instant::now());
    table.see(place(0), entry(0, 1, Known::LeftAlone(Unread::Held)));
    assert_eq!(table.begin_reads(now).len(), 0);
    table.see(place(0), entry(0, 1, Known::LeftAlone(Unread::Held)));
    seen(&mut table, 0, 1);
    assert_eq!(table.begin_reads(now).len(), 1);
}
