//! The daemon's log: one thread writes it to standard error, and nothing that serves waits for that
//! thread.
//!
//! Whoever logs puts a whole line into a bounded [`Queue`] and goes on. The writer thread
//! ([`writer`]) alone writes to standard error. If it cannot keep up (the reader stands still, the
//! file system is full, the pipe is closed), further lines are dropped and counted, and the writer
//! says how many once it can write again. The price: what is still in the queue when the process is
//! killed is lost. A panic's message and the last lines before an end are waited for, for a bounded
//! time.

mod filter;
mod format;
mod queue;
mod writer;

use std::io::{self, Write};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow};
use ashlar_block::PoolUuid;
use tracing::Level;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::colours;
pub use filter::{doubt, parse};
use format::Events;
pub use format::LogFormat;
use queue::Queue;
use writer::StandardError;

/// Chooses what is logged, and goes before what is configured.
pub const FILTER_VARIABLE: &str = "RUST_LOG";

/// How long an end waits for lines that are not written yet.
const END_WAIT: Duration = Duration::from_secs(2);
/// How long a panic waits for its message. Other threads go on meanwhile.
const PANIC_WAIT: Duration = Duration::from_secs(1);

/// The queue of this process, once it logs.
static QUEUE: OnceLock<Arc<Queue>> = OnceLock::new();

type SetFilter = Box<dyn Fn(EnvFilter) -> anyhow::Result<()>>;

/// The log of this process. Its end waits for lines that are not written yet, but not for long.
pub struct Log {
    queue: Arc<Queue>,
    set_filter: SetFilter,
}

impl Log {
    /// Starts to log to standard error, in that format, what RUST_LOG lets through, or else what
    /// `filter` does.
    ///
    /// # Errors
    /// When `filter` is none, or the thread that writes cannot be started.
    pub fn start(filter: &str, format: LogFormat) -> anyhow::Result<Self> {
        format::choose(format);
        let (chosen, complaint) = choose(std::env::var_os(FILTER_VARIABLE).as_deref(), filter)?;
        let queue = Arc::new(Queue::default());
        start_writer(&queue)?;
        let subscriber = tracing_subscriber::fmt()
            .with_writer(Lines(queue.clone()))
            .with_ansi(colours::wanted(&io::stderr()))
            .log_internal_errors(false)
            .event_format(Events::new(format::chosen))
            .with_env_filter(chosen)
            .with_filter_reloading();
        let handle = subscriber.reload_handle();
        let set_filter: SetFilter = Box::new(move |filter| Ok(handle.reload(filter)?));
        subscriber.try_init().map_err(|error| anyhow!("cannot start the log: {error}"))?;
        let _ = QUEUE.set(queue.clone());
        complain(complaint);
        Ok(Log { queue, set_filter })
    }

    /// One of which the filter cannot be set.
    #[cfg(test)]
    pub fn that_keeps_its_filter() -> Self {
        Log { queue: Arc::default(), set_filter: Box::new(|_| Err(anyhow!("the filter stays"))) }
    }

    /// Logs from now on what RUST_LOG lets through, or else what `filter` does.
    ///
    /// # Errors
    /// When `filter` is none.
    pub fn set_filter(&self, filter: &str) -> anyhow::Result<()> {
        let (chosen, complaint) = choose(std::env::var_os(FILTER_VARIABLE).as_deref(), filter)?;
        (self.set_filter)(chosen)?;
        complain(complaint);
        Ok(())
    }

    /// Writes lines in that format from now on.
    pub fn set_format(&self, format: LogFormat) {
        format::choose(format);
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.queue.wait_until_written(END_WAIT);
    }
}

/// Tells of a complaint about the filter, whatever that lets through.
fn complain(complaint: Option<String>) {
    match complaint {
        Some(complaint) if tracing::enabled!(Level::WARN) => tracing::warn!("{complaint}"),
        Some(complaint) => print(&complaint),
        None => {}
    }
}

/// What is logged: what the environment says, or else `configured`. With a complaint where the
/// environment says what is no filter, or the filter names modules that may be mistyped.
fn choose(
    environment: Option<&std::ffi::OsStr>,
    configured: &str,
) -> anyhow::Result<(EnvFilter, Option<String>)> {
    let asked = environment.filter(|asked| !asked.is_empty()).map(|asked| asked.to_string_lossy());
    let why = match asked.as_deref().map(|asked| (asked, parse(asked))) {
        Some((asked, Ok(filter))) => {
            return Ok((filter, doubt(asked).map(|doubt| format!("{FILTER_VARIABLE}: {doubt}"))));
        }
        Some((_, Err(why))) => why,
        None => {
            let doubt = doubt(configured).map(|doubt| format!("log: {doubt}"));
            return Ok((parse(configured)?, doubt));
        }
    };
    let complaint = format!("{FILTER_VARIABLE}: {why:#}; '{configured}' is used instead");
    Ok((parse(configured)?, Some(complaint)))
}

fn start_writer(queue: &Arc<Queue>) -> anyhow::Result<()> {
    let standard_error = StandardError::open().context("cannot use standard error for the log")?;
    let queue = queue.clone();
    let thread = thread::Builder::new().name("log".to_owned());
    let started = thread.spawn(move || writer::write_lines(&queue, standard_error));
    started.context("cannot start the thread that writes the log")?;
    Ok(())
}

/// Where the subscriber puts its lines.
struct Lines(Arc<Queue>);

/// Takes one line, whole: the subscriber writes each at once.
struct Line<'a>(&'a Queue);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(&self.0)
    }
}

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a line to standard error in any case that allows it: behind the log if there is one, for
/// which it waits at most a moment, else at once. Nothing comes of it where standard error takes
/// nothing.
pub fn print(text: &str) {
    print_within(text, END_WAIT);
}

/// Who is told that the process is about to end by the work of a pool.
static LAST_WORDS: OnceLock<Box<dyn Fn(PoolUuid) + Send + Sync>> = OnceLock::new();

/// Has `told` called before the process ends by the work of a pool. The first one to ask is.
pub fn tell_of_the_end(told: impl Fn(PoolUuid) + Send + Sync + 'static) {
    let _ = LAST_WORDS.set(Box::new(told));
}

/// Ends the process with any panic, whatever thread it is on, but for those in the work of a pool,
/// which stop that pool alone. The message never keeps the process alive.
pub fn end_with_any_panic() {
    std::panic::set_hook(Box::new(|panic| {
        let thread = thread::current();
        let said = format!("thread '{}' {panic}", thread.name().unwrap_or("without a name"));
        let backtrace = std::backtrace::Backtrace::capture();
        let text = match backtrace.status() {
            std::backtrace::BacktraceStatus::Captured => format!("{said}\n{backtrace}"),
            _ => said.clone(),
        };
        if ashlar_block::note_panic(&said) {
            return print_within(&text, Duration::ZERO);
        }
        if let (Some(pool), Some(told)) = (ashlar_block::contained_pool(), LAST_WORDS.get()) {
            told(pool);
        }
        print_within(&text, PANIC_WAIT);
        std::process::abort();
    }));
}

fn print_within(text: &str, wait: Duration) {
    match QUEUE.get() {
        Some(queue) => {
            let line = match format::chosen() {
                LogFormat::Text => format!("{text}\n"),
                LogFormat::Json => format::json_line(Level::ERROR, "ashlar", text),
            };
            queue.push_in_any_case(line.as_bytes());
            queue.wait_until_written(wait);
        }
        None => drop(io::stderr().write_all(format!("{text}\n").as_bytes())),
    }
}

#[cfg(test)]
mod tests;
