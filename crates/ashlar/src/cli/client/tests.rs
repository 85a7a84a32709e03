use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::thread;

use super::*;

/// What is answered to a question that takes no time.
const VERSION: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
const SHORT: Duration = Duration::from_millis(50);

/// A socket's path, in a directory that goes with it, and `serve` on a thread behind it.
fn served(serve: impl FnOnce(UnixListener) + Send + 'static) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    thread::spawn(move || serve(listener));
    (directory, socket)
}

fn on_runtime<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// A daemon that answers questions at once, if it `answers_questions`, and a change after so many.
fn serve(listener: &UnixListener, answers_questions: bool, questions: usize) {
    let mut changes = Vec::new();
    let mut asked = 0;
    while let Ok((mut stream, _)) = listener.accept() {
        let mut head = [0; 1024];
        let bytes = stream.read(&mut head).unwrap();
        if head[..bytes].starts_with(b"POST") {
            changes.push(stream);
            continue;
        }
        if answers_questions {
            stream.write_all(VERSION.as_bytes()).unwrap();
        }
        asked += 1;
        if asked == questions {
            changes.drain(..).for_each(|mut change| change.write_all(VERSION.as_bytes()).unwrap());
        }
    }
}

fn change(patience: Patience, answers_questions: bool) -> anyhow::Result<serde_json::Value> {
    let (_directory, socket) = served(move |listener| serve(&listener, answers_questions, 3));
    on_runtime(async {
        let client = Client::new(Some(socket), patience)?;
        client.send_body(Method::POST, "/pools", &()).await
    })
}

#[test]
fn a_change_is_waited_for_while_the_daemon_answers_questions() {
    let patience = Patience { limit: SHORT, is_longer_for_changes: true };
    assert_eq!(change(patience, true).unwrap(), serde_json::json!({}));
}

#[test]
fn a_change_is_not_waited_for_when_the_daemon_answers_nothing() {
    let patience = Patience { limit: SHORT, is_longer_for_changes: true };
    let error = change(patience, false).unwrap_err().to_string();
    assert!(
        error.contains("has not answered for 50ms") && error.contains("it may be doing"),
        "{error}"
    );
}

#[test]
fn a_change_is_waited_for_no_longer_than_asked() {
    let error = change(Patience::of(Some(SHORT)), true).unwrap_err().to_string();
    assert!(
        error.contains("has not answered for 50ms") && error.contains("it may be doing"),
        "{error}"
    );
}

#[test]
fn an_answer_that_stops_in_the_middle_is_no_answer() {
    let (_directory, socket) = served(|listener| {
        let (mut stream, _) = listener.accept().unwrap();
        // A client that has an answer before it has asked gives the connection up.
        assert!(stream.read(&mut [0; 1024]).unwrap() > 0);
        stream.write_all(&VERSION.as_bytes()[..VERSION.len() - 1]).unwrap();
        // Until the client has gone.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let asked = on_runtime(async {
        let client = Client::new(Some(socket), Patience::of(Some(SHORT))).unwrap();
        client.get::<serde_json::Value>("/status").await
    });
    let error = asked.unwrap_err().to_string();
    assert!(error.contains("has not answered") && !error.contains("it may be doing"), "{error}");
}
