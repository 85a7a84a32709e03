use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::super::queue::QUEUE_BYTES_MAX;
use super::*;

const LONG_WAIT: Duration = Duration::from_secs(600);

/// What a descriptor does with one write.
type Answer = io::Result<usize>;

/// A descriptor whose every write waits for the test to say what comes of it.
struct Scripted {
    begun: Sender<Vec<u8>>,
    answers: Receiver<Answer>,
    written: Arc<Mutex<Vec<u8>>>,
}

impl Write for Scripted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.begun.send(bytes.to_vec());
        // A test that has ended leaves the writer where it is.
        let Ok(answer) = self.answers.recv() else {
            thread::sleep(LONG_WAIT);
            return Ok(bytes.len());
        };
        let taken = answer?.min(bytes.len());
        self.written.lock().unwrap().extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Test {
    queue: Arc<Queue>,
    begun: Receiver<Vec<u8>>,
    answers: Sender<Answer>,
    written: Arc<Mutex<Vec<u8>>>,
}

impl Test {
    fn start() -> Self {
        let queue = Arc::new(Queue::default());
        let (begin, begun) = channel();
        let (answers, answered) = channel();
        let written = Arc::default();
        let out = Scripted { begun: begin, answers: answered, written: Arc::clone(&written) };
        let writes = queue.clone();
        thread::spawn(move || write_lines(&writes, out));
        Test { queue, begun, answers, written }
    }

    /// Lets the next write end in that way; returns what it was to write.
    fn answer(&self, answer: Answer) -> String {
        let bytes = self.begun.recv_timeout(LONG_WAIT).expect("a write");
        self.answers.send(answer).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    fn written(&self) -> String {
        assert!(self.queue.wait_until_written(LONG_WAIT));
        String::from_utf8(self.written.lock().unwrap().clone()).unwrap()
    }
}

const ALL: Answer = Ok(usize::MAX);

fn no_space() -> Answer {
    Err(io::Error::from_raw_os_error(28))
}

#[test]
fn lines_are_written_as_they_come() {
    let test = Test::start();
    test.queue.push(b"one\n");
    test.queue.push(b"two\n");
    assert_eq!(test.answer(ALL), "one\n");
    assert_eq!(test.answer(ALL), "two\n");
    assert_eq!(test.written(), "one\ntwo\n");
}

#[test]
fn a_write_that_stands_still_keeps_nobody_who_logs() {
    let test = Test::start();
    let line = vec![b'x'; 1024];
    // The first is taken by the writer, which stands still with it.
    test.queue.push(b"first\n");
    test.begun.recv_timeout(LONG_WAIT).expect("a write");
    (0..QUEUE_BYTES_MAX / line.len() + 12).for_each(|_| test.queue.push(&line));
    assert!(!test.queue.wait_until_written(Duration::from_millis(1)));
    test.answers.send(ALL).unwrap();
    (0..QUEUE_BYTES_MAX / line.len()).for_each(|_| drop(test.answer(ALL)));
    let notice = test.answer(ALL);
    assert!(notice.contains(" WARN ") && notice.contains("12 lines dropped"), "{notice}");
    assert!(test.written().ends_with(&notice));
}

#[test]
fn lines_that_could_not_be_written_are_told_of_by_the_next_that_can() {
    let test = Test::start();
    for _ in 0..2 {
        test.queue.push(b"lost\n");
        test.answer(no_space());
    }
    test.queue.push(b"seen\n");
    let notice = test.answer(ALL);
    assert!(notice.contains("2 lines dropped"), "{notice}");
    assert_eq!(test.answer(ALL), "seen\n");
    test.queue.push(b"seen, too\n");
    assert_eq!(test.answer(ALL), "seen, too\n");
    assert_eq!(test.written(), format!("{notice}seen\nseen, too\n"));
}

#[test]
fn a_line_that_was_written_in_part_does_not_run_into_the_next() {
    let test = Test::start();
    test.queue.push(b"partly\n");
    test.answer(Ok(4));
    test.answer(no_space());
    test.queue.push(b"whole\n");
    assert_eq!(test.answer(ALL), "\n");
    let notice = test.answer(ALL);
    assert!(notice.contains("1 line dropped"), "{notice}");
    test.answer(ALL);
    assert_eq!(test.written(), format!("part\n{notice}whole\n"));
}

#[test]
fn an_interrupted_write_is_repeated_and_one_that_takes_nothing_is_a_failure() {
    let test = Test::start();
    test.queue.push(b"one\n");
    test.answer(Err(ErrorKind::Interrupted.into()));
    assert_eq!(test.answer(ALL), "one\n");
    test.queue.push(b"two\n");
    test.answer(Ok(0));
    test.queue.push(b"three\n");
    assert!(test.answer(ALL).contains("1 line dropped"));
    assert_eq!(test.answer(ALL), "three\n");
}
