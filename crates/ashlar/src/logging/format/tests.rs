use std::sync::{Arc, Mutex};

use serde_json::Value;
use tracing_subscriber::fmt::MakeWriter;

use super::*;

/// What is written, whole lines.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Said {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Said {
    type Writer = Said;

    fn make_writer(&self) -> Said {
        self.clone()
    }
}

/// The lines that `work` logs.
fn said(asked: fn() -> LogFormat, work: impl FnOnce()) -> Vec<String> {
    let said = Said::default();
    let subscriber = tracing_subscriber::fmt().with_writer(said.clone()).with_ansi(false);
    let subscriber = subscriber.event_format(Events::new(asked)).finish();
    tracing::subscriber::with_default(subscriber, work);
    let text = String::from_utf8(said.0.lock().unwrap().clone()).unwrap();
    assert!(text.ends_with('\n'), "{text}");
    text.lines().map(str::to_owned).collect()
}

/// What a line in JSON says, which has to be an object with these four.
fn object(line: &str) -> Value {
    let object: Value = serde_json::from_str(line).expect(line);
    for key in ["timestamp", "level", "message", "target"] {
        assert!(object[key].is_string(), "{key}: {line}");
    }
    object
}

#[test]
fn an_event_in_json_is_one_line_with_its_fields() {
    let error = "it has\nfailed";
    let said = said(|| LogFormat::Json, || tracing::warn!(drive = 3, error, "a \"drive\" is lost"));
    assert_eq!(said.len(), 1, "{said:?}");
    let object = object(&said[0]);
    assert_eq!((&object["level"], &object["drive"]), (&Value::from("WARN"), &Value::from(3)));
    assert_eq!(
        (object["error"].as_str(), object["message"].as_str()),
        (Some(error), Some("a \"drive\" is lost"))
    );
    assert_eq!(object["target"], module_path!());
}

#[test]
fn an_event_for_people_is_as_ever() {
    let said = said(|| LogFormat::Text, || tracing::info!(drive = 3, "it is lost"));
    assert!(said[0].ends_with("it is lost drive=3"), "{said:?}");
}

#[test]
fn an_event_that_is_too_long_is_an_object_with_the_beginning_of_its_message() {
    let long = "\u{1b}ä".repeat(LINE_BYTES_MAX);
    let said = said(|| LogFormat::Json, || tracing::info!(other = long, "{long}"));
    assert!(said[0].len() < LINE_BYTES_MAX, "{}", said[0].len());
    let object = object(&said[0]);
    assert!(object["message"].as_str().unwrap().ends_with(CUT), "{object}");
    assert!(object["message"].as_str().unwrap().starts_with("\u{1b}ä"), "{object}");
}

#[test]
fn what_does_not_come_from_the_subscriber_has_the_same_shape() {
    let line = json_line(Level::ERROR, "ashlar", "thread 'x' panicked:\nan invariant failed");
    assert!(line.ends_with('\n') && line.trim_end().lines().count() == 1, "{line}");
    assert_eq!(object(&line)["message"], "thread 'x' panicked:\nan invariant failed");
}
