use super::*;

#[test]
fn a_spare_that_was_being_taken_is_known_among_the_members_by_what_tells_it_and_not_by_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let spec = |name: &str| format!("file:{}", directory.path().join(name).display());
    for name in ["spare", "other"] {
        fs::write(directory.path().join(name), name).unwrap();
    }
    let identity = identity_at(&spec("spare"));
    assert!(is_among(&[spec("other"), spec("spare")], &spec("spare"), identity.as_deref()));
    assert!(!is_among(&[spec("other")], &spec("spare"), identity.as_deref()));
    // Another drive has its name, and it has another one.
    fs::rename(directory.path().join("spare"), directory.path().join("moved")).unwrap();
    fs::rename(directory.path().join("other"), directory.path().join("spare")).unwrap();
    assert!(!is_among(&[spec("spare")], &spec("spare"), identity.as_deref()));
    assert!(is_among(&[spec("moved")], &spec("spare"), identity.as_deref()));
    assert!(is_among(&[spec("spare")], &spec("spare"), None), "nothing else tells");
}
