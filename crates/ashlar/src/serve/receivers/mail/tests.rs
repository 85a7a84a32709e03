use std::path::PathBuf;

use ashlar_control::EventKind;
use ashlar_control::types::Happening;

use super::super::Wants;
use super::*;

fn event(seq: u64, severity: Severity, message: &str) -> Event {
    let what = Happening::new(severity, EventKind::DriveState, message);
    Event { seq, time: "2026-01-01T00:00:00.000Z".to_owned(), what }
}

fn mail() -> Mail {
    let config = MailConfig {
        server: "mail.example.org".to_owned(),
        port: 587,
        tls: MailTls::Starttls,
        login: Some(("ashlar".to_owned(), PathBuf::from("/nowhere"))),
        ca_file: None,
        from: "ashlar@example.org".parse().unwrap(),
        to: vec!["a@example.org".parse().unwrap(), "b@example.org".parse().unwrap()],
        digest_seconds: 60,
        wants: Wants { severity: Severity::Warning, kinds: Vec::new() },
    };
    let (host, serial) = ("box".to_owned(), "A1".to_owned());
    Mail::new(config, Sender { host, subsystem_nqn: "nqn.x".to_owned(), serial })
}

#[test]
fn a_mail_names_the_worst_event_and_has_all_of_them() {
    let events = [
        event(7, Severity::Warning, "drive-1 is slow"),
        event(8, Severity::Error, "drive-2 is failed"),
    ];
    let message = mail().message(&events).unwrap();
    let text = String::from_utf8(message.formatted()).unwrap();
    for part in [
        "Subject: [ashlar box] error: drive-2 is failed (and 1 more)\r\n",
        "To: a@example.org, b@example.org\r\n",
        "Message-ID: <ashlar.A1.8@box>\r\n",
        "warning: drive-1 is slow",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[tokio::test]
async fn a_password_that_cannot_be_read_is_said_by_its_file() {
    let why = mail().send(&[event(1, Severity::Error, "x")]).await.unwrap_err();
    assert!(why.to_string().contains("cannot read /nowhere"), "{why}");
}
