use super::*;

const POOL: PoolUuid = PoolUuid([7; 16]);

fn written(lines: &str) -> (tempfile::TempDir, Deaths) {
    let directory = tempfile::tempdir().unwrap();
    let deaths = Deaths::of(directory.path());
    fs::write(&deaths.path, lines).unwrap();
    (directory, deaths)
}

fn suspects(lines: &str) -> Vec<String> {
    written(lines).1.suspects().into_iter().collect()
}

#[test]
fn a_pool_is_suspected_once_two_ends_are_at_most_a_minute_apart() {
    assert!(suspects("").is_empty());
    assert!(suspects("a 100\n").is_empty());
    assert_eq!(suspects("a 100\na 160\n"), ["a"]);
    assert!(suspects("a 100\na 161\n").is_empty());
    assert_eq!(suspects("a 100\na 900\na 930\n"), ["a"]);
}

#[test]
fn ends_of_different_pools_do_not_add_up() {
    assert!(suspects("a 100\nb 101\n").is_empty());
    assert_eq!(suspects("a 100\nb 101\nb 102\n"), ["b"]);
}

/// Replays take minutes in large pools, and may end the daemon each time.
#[test]
fn two_long_openings_that_each_ended_the_daemon_count_however_long_they_took() {
    assert_eq!(suspects("a 100 400\na 401 700\n"), ["a"]);
    assert_eq!(suspects("a 100 400\na 460 460\n"), ["a"]);
    assert!(suspects("a 100 400\na 461 700\n").is_empty());
}

#[test]
fn an_opening_that_an_end_of_the_machine_has_cut_is_nobodys_fault() {
    let directory = tempfile::tempdir().unwrap();
    let deaths = Deaths::of(directory.path());
    fs::write(&deaths.opening_of("a").path, format!("{} another-boot", unix_seconds())).unwrap();
    deaths.note_cut_openings();
    assert!(deaths.read().unwrap().is_empty() && deaths.marks().is_empty());
}

#[test]
fn a_clock_that_was_set_back_hides_nothing() {
    assert_eq!(suspects("a 100\na 70\n"), ["a"]);
}

#[test]
fn lines_that_were_cut_off_or_are_not_ours_are_passed_over() {
    assert_eq!(suspects("a 100\nnonsense\n\u{fffd}\na\na 12x\na 101\nb 10"), ["a"]);
}

#[test]
fn without_a_file_nothing_is_suspected_and_nothing_is_to_be_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let deaths = Deaths::of(directory.path());
    assert!(deaths.suspects().is_empty());
    deaths.forget("a", "a");
    deaths.forget_all();
}

#[test]
fn what_is_noted_twice_is_suspected_until_it_is_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let deaths = Deaths::of(directory.path());
    deaths.note(POOL).unwrap();
    assert!(deaths.suspects().is_empty());
    deaths.note(POOL).unwrap();
    assert_eq!(deaths.suspects().into_iter().collect::<Vec<_>>(), [POOL.to_string()]);
    deaths.forget("another", "another");
    assert_eq!(deaths.suspects().len(), 1);
    deaths.forget(&POOL.to_string(), "tank");
    assert!(deaths.suspects().is_empty());
}

#[test]
fn forgetting_one_pool_keeps_the_others() {
    let (_directory, deaths) = written("a 1\nb 2\na 3\nb 4\n");
    deaths.forget("a", "a");
    assert_eq!(deaths.suspects().into_iter().collect::<Vec<_>>(), ["b"]);
    deaths.forget_all();
    assert!(deaths.suspects().is_empty());
}

#[test]
fn a_file_of_any_length_is_read_from_its_end() {
    let long: String = (0..1000).map(|at| format!("a {}\n", at * 1000)).collect();
    assert!(suspects(&long).is_empty());
    assert_eq!(suspects(&format!("{long}b 5\nb 6\n")), ["b"]);
}

/// By a directory in its place: no right keeps root from writing.
#[test]
fn what_cannot_be_forgotten_is_told_and_forgotten_once_that_can_be() {
    let (directory, deaths) = written("a 1\na 2\n");
    let aside = directory.path().join("aside");
    fs::rename(&deaths.path, &aside).unwrap();
    fs::create_dir(&deaths.path).unwrap();
    deaths.forget("a", "tank");
    let said = deaths.warning().unwrap();
    assert_eq!(said.file, deaths.path.display().to_string());
    for part in ["directory", "pool 'tank' may stay closed", "take the directory"] {
        assert!(said.message.contains(part), "'{part}' is not in: {}", said.message);
    }
    assert!(deaths.note(POOL).is_err());
    fs::remove_dir(&deaths.path).unwrap();
    fs::rename(&aside, &deaths.path).unwrap();
    deaths.write_again();
    assert_eq!(deaths.warning(), None);
    assert!(deaths.suspects().is_empty());
}

/// As [`OpeningMark::set`] does, but by the thread of the test.
fn set_now(mark: &OpeningMark) {
    mark.is_wanted.store(true, Ordering::Release);
    mark.apply();
}

/// A pipe that nobody reads: whoever opens it waits for ever, as on a file system that hangs.
#[test]
fn a_mark_that_cannot_be_written_holds_nobody_up_and_is_what_was_wanted_last_once_it_can() {
    let directory = tempfile::tempdir().unwrap();
    let mark = Deaths::of(directory.path()).opening_of("a");
    make_pipe(&mark.path);
    mark.set();
    mark.is_wanted.store(false, Ordering::Release);
    // Whoever reads lets the write end.
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK;
    let reader = rustix::fs::open(&mark.path, flags, rustix::fs::Mode::empty());
    mark.clear_now();
    drop(reader);
    assert!(!mark.path.exists());
}

#[test]
fn an_end_without_a_word_counts_for_a_pool_that_was_being_opened() {
    let directory = tempfile::tempdir().unwrap();
    for start in 1..=2 {
        let deaths = Deaths::of(directory.path());
        deaths.note_cut_openings();
        assert!(deaths.suspects().is_empty(), "start {start}");
        set_now(&deaths.opening_of("a"));
        let opened = deaths.opening_of("b");
        set_now(&opened);
        opened.clear_now();
    }
    let deaths = Deaths::of(directory.path());
    deaths.note_cut_openings();
    assert_eq!(deaths.suspects().into_iter().collect::<Vec<_>>(), ["a"]);
    assert!(deaths.marks().is_empty());
    deaths.forget("a", "tank");
    deaths.note_cut_openings();
    assert!(deaths.suspects().is_empty());
}

#[test]
fn a_file_that_cannot_be_written_is_told_of_before_it_is_needed() {
    let directory = tempfile::tempdir().unwrap();
    let deaths = Deaths::of(directory.path());
    deaths.write();
    assert_eq!(deaths.warning(), None, "it is made when it is needed");
    fs::create_dir(&deaths.path).unwrap();
    deaths.write();
    assert!(deaths.warning().unwrap().message.contains("no start would leave that pool closed"));
    assert!(deaths.suspects().is_empty());
}

#[test]
fn an_end_that_was_noted_with_its_pool_counts_once() {
    let directory = tempfile::tempdir().unwrap();
    let deaths = Deaths::of(directory.path());
    set_now(&deaths.opening_of(&POOL.to_string()));
    deaths.note(POOL).unwrap();
    deaths.note_cut_openings();
    assert!(deaths.suspects().is_empty());
    assert_eq!(deaths.read().unwrap().len(), 1);
}

#[test]
fn marks_that_a_proper_end_has_left_or_that_say_nothing_do_not_count() {
    let directory = tempfile::tempdir().unwrap();
    let deaths = Deaths::of(directory.path());
    set_now(&deaths.opening_of("a"));
    deaths.clear_marks();
    fs::write(&deaths.opening_of("b").path, "").unwrap();
    deaths.note_cut_openings();
    assert!(deaths.read().unwrap().is_empty() && deaths.marks().is_empty());
}

fn make_pipe(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

/// A pipe that nobody reads: whoever opens it waits for ever, as on a file system that hangs.
#[test]
fn a_file_that_hangs_keeps_neither_the_last_words_nor_whoever_asks_waiting() {
    let directory = tempfile::tempdir().unwrap();
    let deaths = Deaths::of(directory.path());
    make_pipe(&deaths.path);
    let error = deaths.note_within(POOL, Duration::from_millis(1)).unwrap_err();
    assert!(error.to_string().contains("hangs"), "{error}");
    let writing = deaths.clone();
    thread::spawn(move || writing.forget_all());
    while !deaths.unwritten().all {}
    assert!(deaths.warning().is_none());
}
