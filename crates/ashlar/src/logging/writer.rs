//! The thread that writes the log, and standard error as it writes it.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};
use tracing::Level;

use super::format::{self, LogFormat};
use super::queue::{Entry, Queue};

/// Standard error without the lock of the standard library: whoever else prints there, a panic
/// above all, does not wait for a write that stands still.
pub struct StandardError(File);

impl StandardError {
    /// # Errors
    /// When the process cannot have another descriptor.
    pub fn open() -> io::Result<Self> {
        Ok(StandardError(File::from(io::stderr().as_fd().try_clone_to_owned()?)))
    }
}

impl Write for StandardError {
    /// Waits for room where the descriptor does not wait by itself: who shares it may have set it
    /// so.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    poll(&mut [PollFd::new(&self.0, PollFlags::OUT)], None)?;
                }
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes what comes into the queue to `out`, for ever. Lines that cannot be written are counted,
/// and told of by the next one that can.
pub fn write_lines(queue: &Queue, out: impl Write) {
    let mut writer = Writer { out, dropped: 0, is_in_line: false };
    loop {
        writer.write_entry(&queue.next());
    }
}

struct Writer<W> {
    out: W,
    /// Lines that were dropped and not told of.
    dropped: u64,
    /// The last line that was written is not whole.
    is_in_line: bool,
}

impl<W: Write> Writer<W> {
    fn write_entry(&mut self, entry: &Entry) {
        self.dropped += entry.dropped_before;
        if self.tell_dropped().and_then(|()| self.write_line(&entry.line)).is_err() {
            self.dropped += u64::from(!entry.line.is_empty());
        }
    }

    fn tell_dropped(&mut self) -> io::Result<()> {
        if self.dropped > 0 {
            self.write_line(drop_notice(self.dropped, format::chosen()).as_bytes())?;
            self.dropped = 0;
        }
        Ok(())
    }

    fn write_line(&mut self, line: &[u8]) -> io::Result<()> {
        if self.is_in_line {
            self.out.write_all(b"\n")?;
            self.is_in_line = false;
        }
        let mut rest = line;
        while !rest.is_empty() {
            match self.out.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            self.is_in_line = !rest.is_empty();
        }
        Ok(())
    }
}

/// The line that says how many are missing, in the shape of the others.
fn drop_notice(dropped: u64, format: LogFormat) -> String {
    let (target, lines) = ("ashlar::logging", if dropped == 1 { "line" } else { "lines" });
    let said = format!("{dropped} {lines} dropped: standard error could not take them");
    match format {
        LogFormat::Text => format!("{}  WARN {target}: {said}\n", format::now()),
        LogFormat::Json => format::json_line(Level::WARN, target, &said),
    }
}

#[cfg(test)]
mod tests;
