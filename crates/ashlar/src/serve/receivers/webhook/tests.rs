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
