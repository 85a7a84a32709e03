use super::*;

const FILE: &str = "[tank]
server = 'https://tank:8443'
token_file = '/home/ann/tank.token'
fingerprint = 'AB'
";

#[test]
fn a_profile_has_all_that_a_server_needs() {
    let found = find(FILE, "tank", Path::new("profiles.toml")).expect("it is there");
    assert_eq!(found.server.as_deref(), Some("https://tank:8443"));
    assert_eq!(found.token_file, Some("/home/ann/tank.token".into()));
}

#[test]
fn a_profile_that_is_not_there_or_not_understood_is_named_with_the_file() {
    let refused = |text: &str, name: &str| {
        format!("{:#}", find(text, name, Path::new("/p.toml")).expect_err("it is refused"))
    };
    let unknown = refused(FILE, "dozer");
    assert!(unknown.contains("'dozer' in /p.toml") && unknown.contains("tank"), "{unknown}");
    assert!(refused("[tank]\nport = 1", "tank").contains("/p.toml"));
    assert!(refused("[tank]\nca = '/c'", "tank").contains("names no server"));
}

#[test]
fn a_socket_and_a_server_are_not_meant_at_once() {
    let named =
        ServerArguments { server: Some("https://tank".to_owned()), ..ServerArguments::default() };
    assert!(server(&named, true).expect_err("both").to_string().contains("not both"));
    let half = ServerArguments { ca: Some("/c".into()), ..ServerArguments::default() };
    assert!(server(&half, false).expect_err("no server").to_string().contains("which server"));
}
