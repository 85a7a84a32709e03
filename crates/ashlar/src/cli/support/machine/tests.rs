use std::time::Instant;

use super::*;

/// As one that waits for a disk in the kernel, which no signal ends: it was waited for.
#[tokio::test]
async fn a_program_that_does_not_die_is_left_behind() {
    let (begin, mut number) = (Instant::now(), None);
    let does_not_die = |child: &mut Child| {
        number = Some(child.id());
        Ok(())
    };
    let line = ["sleep", "60"];
    let said = said_by(&line, Duration::from_millis(10), does_not_die).await;
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    assert_eq!(said, Err("sleep has not ended within 10ms".to_owned()));
    let number = rustix::process::Pid::from_raw(number.expect("it ran") as i32).expect("a number");
    rustix::process::kill_process(number, rustix::process::Signal::KILL).expect("it runs still");
}

#[tokio::test]
async fn what_a_program_says_is_taken_and_one_that_says_nothing_has_failed() {
    let said_by = |line: &'static [&'static str]| said_by(line, PART_WAIT, Child::kill);
    assert_eq!(said_by(&["echo", "well"]).await, Ok(b"well\n".to_vec()));
    assert_eq!(said_by(&["true"]).await, Err("true has said nothing".to_owned()));
}

/// A pipe that nobody writes to stands for a file system that hangs.
#[tokio::test]
async fn a_file_that_hangs_is_left_out_with_the_reason() {
    let (reader, _writer) = io::pipe().expect("a pipe");
    let read = in_time("/mnt/state", Duration::from_millis(10), move || read_part(reader)).await;
    assert_eq!(read, Err("/mnt/state has not ended within 10ms".to_owned()));
}
