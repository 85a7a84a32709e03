use std::io::Write;
use std::os::unix::net::UnixStream;

use std::io;

use super::*;

#[tokio::test]
async fn a_socket_is_made_again_with_its_directory_only_once_it_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state").join("socket");
    fs::create_dir(path.parent().unwrap()).unwrap();
    let first = Socket::bind(&path, None).unwrap();
    assert!(made_anew(first.place()).unwrap().is_none());
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    let second = made_anew(first.place()).unwrap().expect("it is gone");
    assert!(made_anew(second.place()).unwrap().is_none());
    drop(first);
    assert!(second.place().leads_to_it(), "what was bound later is another one's");
}

#[tokio::test]
async fn a_socket_that_takes_the_place_of_another_one_is_served() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let first = Socket::bind(&path, None).unwrap();
    let place = first.place().clone();
    let (renew, renewed) = mpsc::channel(1);
    let (stop, stopped) = oneshot::channel::<()>();
    let served = tokio::spawn(ashlar_control::serve(
        first,
        renewed,
        mpsc::channel(1).1,
        Router::new(),
        async move { drop(stopped.await) },
    ));
    fs::remove_file(&path).unwrap();
    renew.send(made_anew(&place).unwrap().expect("it is gone")).await.unwrap();
    let asked = apart("client", move || -> io::Result<String> {
        let mut stream = UnixStream::connect(&path)?;
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
        io::read_to_string(stream)
    });
    let answer = asked.unwrap().await.unwrap().unwrap();
    assert!(answer.contains("404"), "{answer}");
    stop.send(()).unwrap();
    served.await.unwrap();
    assert!(!directory.path().join("socket").exists());
}

#[tokio::test]
async fn a_socket_that_cannot_be_made_again_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("state");
    fs::create_dir(&state).unwrap();
    let socket = Socket::bind(&state.join("socket"), None).unwrap();
    fs::remove_dir_all(&state).unwrap();
    fs::write(&state, "a file").unwrap();
    let error = made_anew(socket.place()).err().expect("there is no room for it");
    assert!(error.to_string().contains("Not a directory"), "{error}");
}
