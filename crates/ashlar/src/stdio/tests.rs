use std::fs::File;
use std::io::{self, ErrorKind};

use super::*;

/// A descriptor that buffers, as standard output does, before one that takes nothing.
fn full() -> impl Write {
    io::BufWriter::new(File::options().write(true).open("/dev/full").unwrap())
}

#[test]
fn what_cannot_be_written_is_an_error_and_not_left_in_a_buffer() {
    let error = write_to(&mut full(), format_args!("a line without an end")).unwrap_err();
    assert!(!error.is_closed_pipe());
    assert!(
        error.to_string().starts_with("cannot write to standard output: No space left"),
        "{error}"
    );
}

#[test]
fn a_reader_that_has_gone_is_told_from_what_is_wrong() {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut out = io::LineWriter::new(writer);
    assert!(write_to(&mut out, format_args!("one\ntwo\n")).unwrap_err().is_closed_pipe());
    assert!(!StdoutError::from(io::Error::from(ErrorKind::StorageFull)).is_closed_pipe());
}
