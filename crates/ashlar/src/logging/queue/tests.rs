use std::sync::Arc;
use std::thread;

use super::*;

const LONG_WAIT: Duration = Duration::from_secs(600);

fn line_of(bytes: usize) -> Vec<u8> {
    vec![b'x'; bytes]
}

/// Fills the queue; returns how many lines it took.
fn fill(queue: &Queue) -> usize {
    let lines = QUEUE_BYTES_MAX / LINE_BYTES_MAX;
    (0..lines).for_each(|_| queue.push(&line_of(LINE_BYTES_MAX)));
    lines
}

#[test]
fn lines_come_out_as_they_went_in() {
    let queue = Queue::default();
    queue.push(b"one\n");
    queue.push(b"two\n");
    for line in [b"one\n", b"two\n"] {
        assert_eq!(queue.next(), Entry { dropped_before: 0, line: line.as_slice().into() });
    }
}

#[test]
fn a_full_queue_drops_and_counts_lines_until_there_is_room() {
    let queue = Queue::default();
    fill(&queue);
    (0..12).for_each(|_| queue.push(b"dropped\n"));
    queue.next();
    queue.push(b"there is room\n");
    let entries: Vec<Entry> = (0..QUEUE_BYTES_MAX / LINE_BYTES_MAX).map(|_| queue.next()).collect();
    let last = entries.last().unwrap();
    assert_eq!(last, &Entry { dropped_before: 12, line: b"there is room\n".as_slice().into() });
    assert!(entries[..entries.len() - 1].iter().all(|entry| entry.dropped_before == 0));
}

#[test]
fn lines_that_were_dropped_last_are_told_of_without_another_line() {
    let queue = Queue::default();
    let lines = fill(&queue);
    queue.push(b"dropped\n");
    (0..lines).for_each(|_| drop(queue.next()));
    assert_eq!(queue.next(), Entry { dropped_before: 1, line: Box::default() });
}

#[test]
fn a_line_that_is_too_long_is_cut_and_says_so() {
    let queue = Queue::default();
    queue.push(&line_of(LINE_BYTES_MAX + 1));
    let Entry { line, .. } = queue.next();
    assert_eq!(line.len(), LINE_BYTES_MAX);
    assert!(line.ends_with(b"x ... (cut)\n"));
}

#[test]
fn a_panic_is_taken_by_a_full_queue_but_not_any_number_of_them() {
    let queue = Queue::default();
    let lines = fill(&queue);
    (0..10 * URGENT_LINES_MAX).for_each(|_| queue.push_in_any_case(&line_of(LINE_BYTES_MAX)));
    let waiting = queue.state().lines.len();
    assert!(
        (lines + URGENT_LINES_MAX..=lines + URGENT_LINES_MAX + 1).contains(&waiting),
        "{waiting}"
    );
}

#[test]
fn nobody_waits_longer_than_said_for_a_line_that_is_not_written() {
    let queue = Queue::default();
    assert!(queue.wait_until_written(Duration::ZERO), "there is nothing to wait for");
    queue.push(b"one\n");
    assert!(!queue.wait_until_written(Duration::from_millis(1)));
    queue.next();
    assert!(!queue.wait_until_written(Duration::from_millis(1)), "it was taken and is not written");
}

#[test]
fn who_waits_goes_on_once_everything_is_written() {
    let queue = Arc::new(Queue::default());
    queue.push(b"one\n");
    queue.push(b"two\n");
    let writes = queue.clone();
    thread::spawn(move || {
        loop {
            writes.next();
        }
    });
    assert!(queue.wait_until_written(LONG_WAIT));
}
