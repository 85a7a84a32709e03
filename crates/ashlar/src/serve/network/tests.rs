use super::*;

#[test]
fn the_daemon_makes_its_certificate_once() {
    let directory = tempfile::tempdir().expect("room");
    let addresses = ["127.0.0.1:0".parse().expect("an address")];
    let first = own(directory.path(), &addresses).expect("it is made");
    let second = own(directory.path(), &addresses).expect("it is read");
    assert_eq!(first.fingerprint(), second.fingerprint());
    fs::remove_file(directory.path().join("tls/key.pem")).expect("it is there");
    let said = own(directory.path(), &addresses).err().expect("one is missing").to_string();
    assert!(said.contains("without its key"), "{said}");
    fs::remove_file(directory.path().join("tls/certificate.pem")).expect("it is there");
    fs::write(directory.path().join("tls/key.pem"), "as after a crash").expect("room");
    own(directory.path(), &addresses).expect("it is made anew");
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let directory = tempfile::tempdir().expect("room");
    let (certificate, key) = (directory.path().join("c.pem"), directory.path().join("k.pem"));
    let said = |why: &str| {
        let said = format!("{:#}", read(&certificate, &key).err().expect("it is refused"));
        assert!(said.contains(why) && said.contains("c.pem"), "{said}");
    };
    said("cannot read");
    fs::write(&certificate, "nothing").expect("room");
    fs::write(&key, "nothing").expect("room");
    said("no certificate");
}

#[test]
fn a_certificate_names_where_it_is_listened_and_no_wildcard() {
    let addresses = ["192.0.2.7:443", "0.0.0.0:443", "[::]:443"];
    let names = names(&addresses.map(|address| address.parse().expect("an address")));
    assert!(names.contains(&"192.0.2.7".to_owned()) && names.contains(&"localhost".to_owned()));
    assert!(!names.iter().any(|name| name == "0.0.0.0" || name == "::"), "{names:?}");
}
