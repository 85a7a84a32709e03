use super::*;

#[test]
fn a_configuration_keeps_everything_but_secrets() {
    let text = r#"
# A comment, with hunter2 in it.
state = "/var/lib/ashlar"
io_timeout_seconds = 30
[[webhook]]
url = "https://user:hunter2@hooks.example.org/services/hunter2?sign=hunter2"
secret_file = "/etc/ashlar/ops.secret"
secret = "hunter2"
[mail]
password = "hunter2"
to = ["ops@example.org"]
"#;
    let plain = String::from_utf8(config(text).unwrap()).unwrap();
    assert!(!plain.contains("hunter2"), "{plain}");
    for kept in [
        "state = \"/var/lib/ashlar\"",
        "io_timeout_seconds = 30",
        "url = \"https://hooks.example.org/(left out)\"",
        "secret_file = \"/etc/ashlar/ops.secret\"",
        "to = [\"ops@example.org\"]",
    ] {
        assert!(plain.contains(kept), "{kept} in {plain}");
    }
}

#[test]
fn what_is_no_configuration_is_not_quoted() {
    let why = config("password = hunter2").unwrap_err();
    assert!(!why.contains("hunter2"), "{why}");
}

#[test]
fn an_address_is_no_more_than_its_server() {
    for (address, server) in [
        ("http://10.0.0.1:9000", "http://10.0.0.1:9000"),
        ("https://h/", "https://h/(left out)"),
        ("https://a:b@h?x=1", "https://h/(left out)"),
        ("ftp://x/y", "ftp://x/y"),
        ("mail.example.org", "mail.example.org"),
    ] {
        assert_eq!(server_of(address), server);
    }
}

#[test]
fn a_unit_keeps_everything_but_the_values_of_its_environment() {
    let text = r#"# /etc/systemd/system/ashlar.service.d/proxy.conf
[Service]
Environment="PROXY=http://ann:hunter2@proxy" \
    TOKEN=hunter2 \
# a comment, hunter2
    MORE=hunter2
EnvironmentFile=/etc/ashlar/environment
  Environment = A=hunter2
#Environment=OLD=hunter2 \
#    OLDER=hunter2
User=ashlar
SetCredential=token:hunter2
ExecStart=/usr/bin/ashlar serve \
    --state /var/lib/ashlar
"#;
    let plain = unit(text);
    assert!(!plain.contains("hunter2"), "{plain}");
    let expected = r#"# /etc/systemd/system/ashlar.service.d/proxy.conf
[Service]
Environment=(left out)
EnvironmentFile=/etc/ashlar/environment
  Environment =(left out)
#Environment=(left out)
User=ashlar
SetCredential=(left out)
ExecStart=/usr/bin/ashlar serve \
    --state /var/lib/ashlar
"#;
    assert_eq!(plain, expected);
}
