use super::*;

#[test]
fn a_url_names_a_host_and_a_port() {
    let place = |url: &str| place_of(url).map(|(host, port)| format!("{host} {port}")).ok();
    for (url, expected) in [
        ("https://tank.example:443", Some("tank.example 443")),
        ("https://tank.example/", Some("tank.example 8443")),
        ("https://192.0.2.1", Some("192.0.2.1 8443")),
        ("https://[2001:db8::1]:9443", Some("2001:db8::1 9443")),
        ("https://[2001:db8::1]", Some("2001:db8::1 8443")),
        ("http://tank.example", None),
        ("tank.example", None),
        ("https://", None),
        ("https://tank:port", None),
        ("https://tank/api", None),
    ] {
        assert_eq!(place(url).as_deref(), expected, "{url}");
    }
}

#[test]
fn a_fingerprint_is_taken_in_each_form_that_tools_print() {
    let bare = "AB".repeat(32);
    let with_colons = vec!["ab"; 32].join(":");
    for form in [bare.clone(), with_colons.clone(), format!("sha256:{with_colons}")] {
        assert_eq!(plain(&form).expect("it is one"), bare, "{form}");
    }
    assert!(plain("AB:CD").is_err() && plain(&"XY".repeat(32)).is_err());
}

#[test]
fn what_a_server_needs_and_lacks_is_named() {
    let directory = tempfile::tempdir().expect("room");
    let token = directory.path().join("token");
    fs::write(&token, "ashlar_1\n").expect("room");
    let whole = ServerOptions {
        server: Some("https://127.0.0.1:1".to_owned()),
        token_file: Some(token),
        fingerprint: Some("AB".repeat(32)),
        ca: None,
    };
    let server = Server::new(&whole).expect("it is whole");
    assert_eq!(
        (server.authorization(), server.authority()),
        ("Bearer ashlar_1".to_owned(), "127.0.0.1:1".to_owned())
    );
    let lacks = |options: ServerOptions, what: &str| {
        let said = Server::new(&options).err().expect("it lacks something").to_string();
        assert!(said.contains(what), "{said}");
    };
    lacks(ServerOptions { token_file: None, ..whole.clone() }, "--token-file");
    lacks(ServerOptions { fingerprint: None, ..whole.clone() }, "--fingerprint");
    lacks(ServerOptions { ca: Some("/ca".into()), ..whole.clone() }, "not both");
    let nothing = directory.path().join("nothing");
    fs::write(&nothing, "\n").expect("room");
    lacks(ServerOptions { token_file: Some(nothing), ..whole }, "has no token");
}
