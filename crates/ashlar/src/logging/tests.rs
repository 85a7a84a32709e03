use std::ffi::OsStr;

use super::*;

fn chosen(environment: Option<&str>) -> (String, Option<String>) {
    let (filter, complaint) = choose(environment.map(OsStr::new), "info").unwrap();
    (filter.to_string(), complaint)
}

#[test]
fn the_environment_goes_before_what_is_configured() {
    assert_eq!(chosen(None).0, "info");
    assert_eq!(chosen(Some("")).0, "info");
    assert_eq!(chosen(Some("ashlar_store=debug")), ("ashlar_store=debug".to_owned(), None));
}

#[test]
fn a_filter_in_the_environment_that_is_none_is_told_of_and_not_used() {
    let (filter, complaint) = chosen(Some("ashlar=loud"));
    assert_eq!(filter, "info");
    let complaint = complaint.unwrap();
    assert!(complaint.contains("RUST_LOG: 'ashlar=loud'"), "{complaint}");
    assert!(complaint.contains("'info' is used instead"), "{complaint}");
}

#[test]
fn a_module_that_may_be_mistyped_is_used_and_told_of_with_where_it_is_written() {
    let (filter, complaint) = chosen(Some("ashlar_sotre=debug"));
    assert_eq!(filter, "ashlar_sotre=debug");
    assert!(complaint.is_some_and(|it| it.starts_with("RUST_LOG: none of Ashlar's modules")));
    let (_, complaint) = choose(None, "info,hyper=warn").unwrap();
    assert!(complaint.is_some_and(|it| it.starts_with("log: none of Ashlar's modules")));
}

#[test]
fn a_configured_filter_that_is_none_is_refused_with_the_way_to_write_one() {
    let error = choose(None, "ashlar=loud").unwrap_err().to_string();
    assert!(error.contains("'ashlar=loud'") && error.contains("as in info"), "{error}");
}

#[test]
fn lines_of_the_subscriber_reach_the_queue_whole() {
    let queue = Arc::new(Queue::default());
    let subscriber =
        tracing_subscriber::fmt().with_writer(Lines(queue.clone())).with_ansi(false).finish();
    tracing::subscriber::with_default(subscriber, || tracing::info!(drive = 3, "it is lost"));
    let entry = queue.next();
    let line = String::from_utf8(entry.line.into()).unwrap();
    assert!(line.ends_with("it is lost drive=3\n"), "{line}");
}

/// Set for the process that is to panic.
const PANICS: &str = "ASHLAR_TEST_PANICS";

/// A pipe that takes nothing more, and its reader.
fn full_pipe() -> (io::PipeReader, io::PipeWriter) {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    let (reader, mut writer) = io::pipe().unwrap();
    let flags = fcntl_getfl(&writer).unwrap();
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).unwrap();
    while writer.write(&[b'x'; 4096]).is_ok() {}
    fcntl_setfl(&writer, flags).unwrap();
    (reader, writer)
}

/// Runs the test of this name in a process of its own, where it panics, with that standard error.
fn panic_elsewhere(standard_error: impl Into<std::process::Stdio>) -> std::process::Output {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "logging::tests::a_panic_ends_the_process_whatever_standard_error_takes",
    ]);
    command.args(["--nocapture", "--test-threads=1"]).env(PANICS, "1").env_remove(FILTER_VARIABLE);
    command.stdout(std::process::Stdio::null()).stderr(standard_error).output().unwrap()
}

#[test]
fn a_panic_ends_the_process_whatever_standard_error_takes() {
    use std::os::unix::process::ExitStatusExt;
    if std::env::var_os(PANICS).is_some() {
        let _log = Log::start("info", LogFormat::Text).unwrap();
        end_with_any_panic();
        tracing::info!("before the panic");
        panic!("an invariant failed");
    }
    let (closed, writer) = io::pipe().unwrap();
    drop(closed);
    let (_reader, full) = full_pipe();
    let no_space = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let outputs = [
        panic_elsewhere(std::process::Stdio::piped()),
        panic_elsewhere(writer),
        panic_elsewhere(full),
        panic_elsewhere(no_space),
    ];
    assert_eq!(outputs.each_ref().map(|output| output.status.signal()), [Some(6); 4], "aborted");
    let said = String::from_utf8_lossy(&outputs[0].stderr);
    let (before, panic) = (said.find("before the panic"), said.find("an invariant failed"));
    assert!(before.is_some() && before < panic, "{said}");
    assert!(said.contains("logging/tests.rs"), "{said}");
}
