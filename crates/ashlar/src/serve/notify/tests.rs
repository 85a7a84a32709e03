use super::*;

fn received(socket: &UnixDatagram) -> Vec<u8> {
    let mut notice = [0; 64];
    let bytes = socket.recv(&mut notice).unwrap();
    notice[..bytes].to_vec()
}

#[test]
fn a_notice_reaches_a_socket_in_the_file_system() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    try_send(path.as_os_str().as_encoded_bytes(), "READY=1").unwrap();
    assert_eq!(received(&socket), b"READY=1");
}

#[test]
fn a_notice_reaches_an_abstract_socket() {
    let name = format!("ashlar-notify-{}", std::process::id());
    let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    try_send(format!("@{name}").as_bytes(), "STOPPING=1").unwrap();
    assert_eq!(received(&socket), b"STOPPING=1");
}

#[test]
fn nobody_who_listens_is_an_error_and_not_a_wait() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("nobody");
    assert!(try_send(path.as_os_str().as_encoded_bytes(), "READY=1").is_err());
}
