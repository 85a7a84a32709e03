use super::*;

fn made() -> OwnCertificate {
    OwnCertificate::make(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).expect("it is made")
}

#[test]
fn a_certificate_that_was_made_can_be_used_and_has_a_fingerprint_of_its_own() {
    let identity = |own: &OwnCertificate| {
        Identity::new(own.certificate_pem.as_bytes(), own.key_pem.as_bytes()).expect("it is well")
    };
    let (first, second) = (identity(&made()), identity(&made()));
    assert_ne!(first.fingerprint(), second.fingerprint());
    assert_eq!(first.fingerprint().split(':').count(), 32);
}

#[test]
fn what_is_no_certificate_no_key_or_of_another_pair_is_told_apart() {
    let (one, other) = (made(), made());
    let refused = |certificate: &str, key: &str| {
        Identity::new(certificate.as_bytes(), key.as_bytes()).err().expect("refused").to_string()
    };
    assert!(refused("", &one.key_pem).contains("no certificate"));
    assert!(refused(&one.certificate_pem, "").contains("no private key"));
    assert!(refused(&one.certificate_pem, &other.key_pem).contains("cannot be used with the key"));
}
