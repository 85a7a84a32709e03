use super::*;

#[test]
fn the_signature_is_that_of_the_example_of_standard_webhooks() {
    // The test vector of the reference libraries.
    let secret = secret_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    let signed =
        sign(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
    assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

#[test]
fn a_secret_that_can_be_guessed_or_is_not_understood_is_refused() {
    assert_eq!(secret_of("0123456789abcdef").unwrap(), b"0123456789abcdef");
    assert!(secret_of("short").is_err());
    assert!(secret_of("whsec_***").is_err());
    assert!(secret_of("whsec_c2hvcnQ=").is_err());
}

fn webhook(url: &str) -> Webhook {
    let (name, secret_file) = ("ops".to_owned(), "/nowhere".into());
    let (timeout, ca_file) = (Duration::from_secs(1), None);
    let wants =
        super::super::Wants { severity: ashlar_control::types::Severity::Info, kinds: Vec::new() };
    let url = url.parse().unwrap();
    let config = WebhookConfig { name, url, secret_file, ca_file, timeout, wants };
    let (host, subsystem_nqn, serial) = ("box".to_owned(), "nqn.x".to_owned(), "A1".to_owned());
    Webhook::new(config, Sender { host, subsystem_nqn, serial })
}

#[test]
fn what_may_be_a_secret_in_a_url_is_not_shown() {
    let shown = |url: &str| webhook(url).address();
    assert_eq!(
        shown("https://me:pw@hooks.example.org/T0/B0/xyz?k=1"),
        "https://hooks.example.org/..."
    );
    assert_eq!(shown("http://[::1]:8080/"), "http://[::1]:8080/");
}

#[test]
fn a_pause_that_is_asked_for_is_known_where_it_is_in_seconds() {
    let of = |asked: Option<&str>| {
        let headers = asked.map(|asked| (RETRY_AFTER, asked.parse().unwrap()));
        retry_after(&headers.into_iter().collect()).as_secs()
    };
    assert_eq!([None, Some("120"), Some("Wed, 21 Oct 2015 07:28:00 GMT")].map(of), [0, 120, 0]);
}
